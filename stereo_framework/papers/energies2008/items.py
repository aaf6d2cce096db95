"""The energies that optimizers reach, over time, with their bounds and errors, on the study's scenes and on later ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.core.volume import Energy, Labels
from stereo_framework.datasets import load_scene
from stereo_framework.page.energy_charts import energy_chart, visible_errors
from stereo_framework.page.page import Block, Picture, Text
from stereo_framework.page.stored_pictures import Scenes, scene_row, stored_map
from stereo_framework.papers.comparison import Limits, compared, comparison_table, plain_table
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
    by_row = {row: {scene: own[row] for scene, own in found.items() if row in own} for row in published.rows}
    comparisons = compared(published.rows, by_row, limits)
    text = "Energies of float64. Maps of the truth are rounded, half to even, and unknown disparities are 0; in our own checks they are those of the map of the lowest energy."
    blocks: list[Block] = [Text(text), comparison_table("Energies, the library's and ours", comparisons)]
    data = {"found": _energies(context, results, zero=False)}
    return _shown(context, results, blocks, Outcome([], comparisons, data))


def limits(row: str, column: str, value: float) -> Limits:
    """How far ours may lie from an energy of the library, in whole units of the energy."""
    below, above, reason = _LIMITS[row]
    low, high = (None if share is None else math.floor(share * value) for share in (below, above))
    return low, high, reason


def later(context: Context) -> Outcome:
    """Photographs and roads with census costs."""
    results = [*context.run("later", maps=True), *context.run("later_road", maps=True)]
    found = _energies(context, results, zero=False)
    columns = list(dict.fromkeys(name for own in found.values() for name in own))
    points = {
        scene: {r.method: (r.energy, visible_errors(r)) for r in results if short(r.scene) == scene and r.energy is not None}
        for scene in found
    }
    above = [
        [
            scene,
            *(100 * (own[name] / own["lower bound"] - 1) if name in own and "lower bound" in own else None for name in columns),
        ]
        for scene, own in found.items()
    ]
    errors = [[scene, *(own[name][1] if name in own else None for name in columns)] for scene, own in points.items()]
    note = "Where the truth is unknown its map is that of the lowest energy, so that the rest alone decides."
    tables = [
        plain_table("Energy above the bound, in percent of it", ["scene", *columns], above, note=note),
        plain_table("Errors, in percent of the non-occluded pixels", ["scene", *columns], errors),
    ]
    return _shown(context, results, tables, Outcome([], data={"found": found, "points": points}))


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
    search, truth = scene.search, scene.truth
    assert search is not None
    assert truth is not None
    disparity = np.where(np.isfinite(truth), truth, np.float32(0) if elsewhere is None else elsewhere)
    return np.rint((disparity - search.minimum) / search.step).clip(0, search.levels - 1).astype(np.int16)


def _shown(context: Context, results: Sequence[Result], tables: Sequence[Block], outcome: Outcome) -> Outcome:
    """The outcome with these tables, a chart of each scene and the maps of all optimizers."""
    rows, charts = [], {}
    for best in _best(results):
        scene, name = load_scene(best.scene, data=context.data), short(best.scene)
        own = {r.method: r for r in results if r.scene == best.scene and r.energy is not None and r.error is None}
        charts[name] = energy_chart(own, name)
        told = {
            method: stored_map(
                r.disparity, caption=f"{r.energy:,.0f}, {visible_errors(r):.2f} % bad, {r.matching_seconds or 0:.0f} s"
            )
            for method, r in own.items()
            if r.disparity is not None
        }
        rows.append(scene_row(scene, told))
    pictures = [Picture(svg, f"energy over time and errors over energy, {name}", name) for name, svg in charts.items()]
    blocks = [*tables, *pictures, Scenes(rows, "Below each map: energy, errors, time."), results_details(results)]
    return replace(outcome, blocks=blocks, files={f"energies_{name}.svg": svg for name, svg in charts.items()})
