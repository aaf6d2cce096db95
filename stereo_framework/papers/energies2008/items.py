"""The energies that optimizers reach, over time, with their bounds and errors, on the study's scenes and on later ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.core.volume import Energy, Labels
from stereo_framework.datasets import load_scene
from stereo_framework.page.energy_charts import energy_chart, visible_errors
from stereo_framework.page.page import Block, Cell, PageTable, Picture, Text
from stereo_framework.page.stored_pictures import Scenes, Stored, scene_row, stored_map, stored_picture
from stereo_framework.papers.comparison import Comparison, comparison_table
from stereo_framework.papers.energies2008.claims import CLAIMS
from stereo_framework.papers.paper import Context, Outcome, results_details, short
from stereo_framework.papers.published import published_table
from stereo_framework.script import load
from stereo_framework.sweep import Result

_LIMITS: dict[str, tuple[float | None, float | None, str]] = {
    # Shares of the library's number, below and above.
    "lower bound": (1e-4, 1e-4, "messages of another precision: within 0.01 %"),
    "trw_s": (None, 5e-4, "lower is better: at most 0.05 % higher"),
    "expansion": (None, 3e-3, "lower is better; moves in another order: at most 0.3 % higher"),
    "swap": (None, 3e-3, "lower is better; moves in another order: at most 0.3 % higher"),
    "bp_accelerated": (None, 3e-2, "lower is better; messages in another order: at most 3 % higher"),
    "bp_sequential": (None, 3e-2, "lower is better: at most 3 % higher"),
    "icm": (None, None, "depends on the order of its pixels, for which no goal was set"),
    "wta": (0, 0, "the same energy"),
    "truth": (0, 0, "the same energy"),
}


def energies(context: Context) -> Outcome:
    """The three problems, with the numbers of the study's library."""
    published = published_table("energies2008", "energies")
    results = [r for name in published.columns[: 1 if context.quick else None] for r in context.run(name, maps=True)]
    found = _energies(context, results, zero=True)
    comparisons = [
        _compared(row, column, value, found.get(column, {}).get(row))
        for row, values in published.rows.items()
        for column, value in values.items()
    ]
    fair = _energies(context, results, zero=False)
    statements = [CLAIMS[name].asked(fair) for name in ("bound_is_below", "truth_costs_more")]
    text = "Energies of float64. Maps of the truth are rounded, half to even, and unknown disparities are 0; in our own checks they are those of the map of the lowest energy."
    blocks = [Text(text), comparison_table("Energies, the library's and ours", comparisons), *_shown(context, results)]
    return Outcome([*blocks, results_details(results)], comparisons, statements, _drawn(results))


def later(context: Context) -> Outcome:
    """Photographs and roads with census costs."""
    results = [*context.run("later", maps=True), *context.run("later_road", maps=True)]
    found = _energies(context, results, zero=False)
    columns = list(dict.fromkeys(name for energies in found.values() for name in energies))
    rows = [
        [Cell(scene), *(Cell.number(_above(energies.get(name), energies.get("lower bound"))) for name in columns)]
        for scene, energies in found.items()
    ]
    note = "Where the truth is unknown its map is that of the lowest energy, so that the rest alone decides."
    points = {
        scene: {r.method: (r.energy, visible_errors(r)) for r in results if short(r.scene) == scene and r.energy is not None}
        for scene in found
    }
    errors = [
        [Cell(scene), *(Cell.number(own[name][1] if name in own else None) for name in columns)] for scene, own in points.items()
    ]
    tables = [
        PageTable("Energy above the bound, in percent of it", ["scene", *columns], rows, note),
        PageTable("Errors, in percent of the non-occluded pixels", ["scene", *columns], errors),
    ]
    names = ("bound_is_below", "truth_costs_more")
    statements = [*(CLAIMS[n].asked(found) for n in names), CLAIMS["lower_energy_fewer_errors"].asked(points)]
    return Outcome([*tables, *_shown(context, results, costly=True), results_details(results)], (), statements, _drawn(results))


def _compared(row: str, column: str, value: float, ours: float | None) -> Comparison:
    below, above, reason = _LIMITS[row]
    # In whole units of the energy.
    low, high = (None if share is None else math.floor(share * value) for share in (below, above))
    return Comparison(row, column, value, ours, low, high, reason)


def _energies(context: Context, results: Sequence[Result], *, zero: bool) -> dict[str, dict[str, float]]:
    """Energies by scene and method, with the bound's and the truth's; where the truth is unknown, it has level 0 or those of the best map."""
    found: dict[str, dict[str, float]] = {}
    for r in results:
        if r.energy is not None:
            own = found.setdefault(short(r.scene), {})
            own[r.method] = r.energy
            own |= {"lower bound": r.statistics["lower_bound"]} if "lower_bound" in r.statistics else {}
    for best in _best(results):
        scene = load_scene(best.scene, data=context.data)
        if scene.truth is not None:
            own = found[short(best.scene)]
            own["truth"] = _energy(best, scene).of(_truth(scene, None if zero else best.disparity))
    return found


def _best(results: Sequence[Result]) -> list[Result]:
    """The result of the lowest energy of each scene."""
    lowest: dict[str, Result] = {}
    for r in sorted((r for r in results if r.energy is not None), key=lambda r: r.energy or 0.0):
        lowest.setdefault(r.scene, r)
    return list(lowest.values())


def _energy(result: Result, scene: Scene) -> Energy:
    """What the optimizer minimized, of the volume and the smoothness that the result's script names."""
    [run] = load(result.script).settings
    [cost], [prior] = (run.pipeline.in_slot(slot) for slot in ("matching_cost", "smoothness"))
    volume = cost.stage.function(scene.reference, scene.match, scene.search, **cost.parameters)
    return Energy(volume, prior.stage.function(scene.reference, scene.search, **prior.parameters))


def _truth(scene: Scene, elsewhere: Disparity | None) -> Labels:
    """The levels of the truth, rounded half to even; elsewhere those of another map, or 0."""
    assert scene.truth is not None
    return _levels(scene, np.where(np.isfinite(scene.truth), scene.truth, np.float32(0) if elsewhere is None else elsewhere))


def _levels(scene: Scene, disparity: Disparity) -> Labels:
    search = scene.search
    assert search is not None
    return np.rint((disparity - search.minimum) / search.step).clip(0, search.levels - 1).astype(np.int16)


def _shares(energy: Energy, labels: Labels) -> NDArray[np.float64]:
    """The energy of each pixel: its data cost, and half of what each of its edges costs."""
    shares, prior, wide = energy.volume.chosen(labels).astype(np.float64), energy.smoothness, labels.astype(np.int32)
    assert prior is not None
    across, along = (prior.rho[np.abs(np.diff(wide, axis=axis))] / 2 for axis in (1, 0))
    for half, weights, ends in (
        (across, prior.right[:, :-1], (np.s_[:, :-1], np.s_[:, 1:])),
        (along, prior.down[:-1], (np.s_[:-1], np.s_[1:])),
    ):
        for end in ends:
            shares[end] += half * weights
    return shares


def _costly(best: Result, scene: Scene) -> Stored:
    """Where the truth costs more than the best map, red, and where it costs less, blue; the mean of 11 x 11 pixels."""
    assert best.disparity is not None
    energy = _energy(best, scene)
    truth, found = (_shares(energy, labels) for labels in (_truth(scene, best.disparity), _levels(scene, best.disparity)))
    more: NDArray[np.float64] = cv2.blur(truth - found, (11, 11))
    largest = max(float(np.quantile(np.abs(more), 0.99)), 1e-9)
    pale = (255 * (1 - np.abs(more) / largest)).clip(0, 255)
    red, blue = (np.where(sign * more > 0, 255, pale) for sign in (1, -1))
    caption = f"The truth costs more than {best.method} around {100 * np.mean(more > 0):.0f} % of the pixels."
    return stored_picture(np.dstack([red, pale, blue]).astype(np.uint8), caption)


def _shown(context: Context, results: Sequence[Result], *, costly: bool = False) -> list[Block]:
    """The charts of all scenes and the maps of all optimizers."""
    rows = []
    for best in _best(results):
        scene = load_scene(best.scene, data=context.data)
        told = {
            r.method: stored_map(
                r.disparity, caption=f"{r.energy:,.0f}, {visible_errors(r):.2f} % bad, {r.matching_seconds or 0:.0f} s"
            )
            for r in results
            if r.scene == best.scene and r.disparity is not None
        }
        extra = {"truth against lowest energy": _costly(best, scene)} if costly and scene.truth is not None else {}
        rows.append(scene_row(scene, {**told, **extra}))
    charts = [
        Picture(text, f"energy over time and errors over energy, {name}", short(name)) for name, text in _charts(results).items()
    ]
    return [*charts, Scenes(rows, "Below each map: energy, errors, time.")]


def _charts(results: Sequence[Result]) -> dict[str, str]:
    """A chart of each scene, as SVG."""
    by_scene: dict[str, list[Result]] = {}
    for r in results:
        if r.error is None and r.energy is not None:
            by_scene.setdefault(r.scene, []).append(r)
    return {scene: energy_chart({r.method: r for r in own}, short(scene)) for scene, own in by_scene.items()}


def _drawn(results: Sequence[Result]) -> dict[str, str | bytes]:
    return {f"energies_{short(scene)}.svg": text for scene, text in _charts(results).items()}


def _above(energy: float | None, bound: float | None) -> float | None:
    return None if energy is None or not bound else 100 * (energy / bound - 1)
