"""The energies that optimizers reach, over time, with their bounds and errors, on the study's scenes and on later ones."""

import itertools
from collections.abc import Mapping

import numpy as np
from pandas import DataFrame

from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.volume import Energy, Levels
from stereo_framework.datasets import load_scene
from stereo_framework.figures.energies import energies_figure, nonocc_errors
from stereo_framework.page.page import Block
from stereo_framework.page.stored_pictures import Scenes, scene_row, stored_map
from stereo_framework.papers.claim import Cases
from stereo_framework.papers.comparison import compared, plain_table, published_table
from stereo_framework.papers.paper import Context, Outcome, drawn, short
from stereo_framework.script import load
from stereo_framework.sweep import Result, ResultSet


def energies(context: Context) -> Outcome:
    """The three problems, with the numbers of the study's library."""
    published = published_table("energies2008", "energies")
    problems = published.columns[:1] if context.quick else published.columns
    # The scripts of the problems have the names of their scenes.
    context.request(published.columns)
    results = ResultSet(r for name in problems for r in context.run(name, maps=True))
    found = _energies(context, results, zero=True)
    by_row = {
        row: {scene: own[row] for scene, own in found.items() if row in own}
        for row in published.rows
    }
    comparisons = compared(published, by_row)
    return Outcome(
        [*_shown(context, results)], comparisons, {"found": _energies(context, results, zero=False)}
    )


def later(context: Context) -> Outcome:
    """Photographs and roads with census costs."""
    results = context.run("later", maps=True) + context.run("later_road", maps=True)
    found = _energies(context, results, zero=False)
    if not found:
        return Outcome([])
    points: dict[str, dict[str, tuple[float, float]]] = {scene: {} for scene in found}
    for r in results:
        if r.energy is not None:
            points[short(r.scene)][r.method] = r.energy, nonocc_errors(r)
    above = DataFrame(found).T
    above = 100 * (above.div(above["lower bound"], axis=0) - 1)
    errors = DataFrame(
        {scene: {m: error for m, (_, error) in own.items()} for scene, own in points.items()}
    ).T
    tables = [
        plain_table(
            "Energy above the bound, in percent of it", ["scene", *above], above.itertuples()
        ),
        plain_table(
            "Errors, in percent of the non-occluded pixels", ["scene", *errors], errors.itertuples()
        ),
    ]
    return Outcome([*tables, *_shown(context, results)], data={"found": found, "points": points})


def _energies(context: Context, results: ResultSet, *, zero: bool) -> dict[str, dict[str, float]]:
    """Energies by scene and method, with the bound's and the truth's; where the truth is unknown, it has level 0 or those of the best map."""
    found: dict[str, dict[str, float]] = {}
    for r in results:
        if r.energy is not None:
            own = found.setdefault(short(r.scene), {})
            own[r.method] = r.energy
            own |= (
                {"lower bound": r.statistics["lower_bound"]}
                if "lower_bound" in r.statistics
                else {}
            )
    for best in _best(results):
        scene = load_scene(best.scene, data=context.data)
        if scene.truth is not None:
            found[short(best.scene)]["truth"] = _energy(best, scene).of(
                _truth(scene, None if zero else best.disparity)
            )
    return found


def _best(results: ResultSet) -> list[Result]:
    """Return the result with the lowest energy on each scene."""
    solved = ResultSet(result for result in results if result.energy is not None)
    return [
        min(results_of_scene, key=lambda result: result.energy or 0.0)
        for results_of_scene in solved.by("scene").values()
    ]


def _energy(result: Result, scene: Scene) -> Energy:
    """Return the energy that the optimizer of a result minimized."""
    # A store may come from other people, and loading a script executes its plug-ins.
    slots = {key: value for key, value in result.script.items() if key in SLOTS}
    [setting] = load(slots).settings
    [cost] = setting.pipeline.in_slot("matching_cost")
    [prior] = setting.pipeline.in_slot("smoothness")
    volume = cost.stage.function(scene.reference, scene.match, scene.search, **cost.parameters)
    return Energy(volume, prior.stage.function(scene.reference, scene.search, **prior.parameters))


def _truth(scene: Scene, elsewhere: Disparity | None) -> Levels:
    """The levels of the truth, rounded half to even; elsewhere those of another map, or 0."""
    search, truth = scene.search, scene.truth
    assert search is not None
    assert truth is not None
    return search.levels_of(
        np.where(np.isfinite(truth), truth, np.float32(0) if elsewhere is None else elsewhere)
    )


def _shown(context: Context, results: ResultSet) -> list[Block]:
    """Return a chart of each scene and the disparity maps of all optimizers."""
    rows, charts = [], []
    for best in _best(results):
        name, stored = short(best.scene), {}
        own = {
            r.method: r
            for r in results
            if r.scene == best.scene and r.energy is not None and r.error is None
        }
        description = f"energy over time and errors over energy, {name}"
        charts.append(drawn(f"energies_{name}", energies_figure(own, name), description, name))
        for method, r in own.items():
            caption = (
                f"{r.energy:,.0f}, {nonocc_errors(r):.2f} % bad, {r.matching_seconds or 0:.0f} s"
            )
            if r.disparity is not None:
                stored[method] = stored_map(r.disparity, caption=caption)
        rows.append(scene_row(load_scene(best.scene, data=context.data), stored))
    return [*charts, Scenes(rows, "Below each map: energy, errors, time.")]


# --- The judges of sentences, by their names in ``paper.yaml`` --------------------------------------------------------


Energies = Mapping[str, Mapping[str, float]]
"""Energies by scene and by optimizer, ``truth`` or ``lower bound``."""


def bound_is_below(found: Energies) -> Cases:
    for scene, energies in found.items():
        if "lower bound" in energies:
            lowest, name = min((e, name) for name, e in energies.items() if name != "lower bound")
            yield (
                f"{scene}: bound {energies['lower bound']:.0f}, {name} {lowest:.0f}",
                energies["lower bound"] <= lowest,
            )


def truth_costs_more(found: Energies) -> Cases:
    for scene, energies in found.items():
        optimized = [e for name, e in energies.items() if name not in ("lower bound", "truth")]
        if "truth" in energies and optimized:
            yield (
                f"{scene}: the truth costs {energies['truth'] / min(optimized):.2f} times the lowest energy",
                energies["truth"] > min(optimized),
            )


def lower_energy_fewer_errors(points: Mapping[str, Mapping[str, tuple[float, float]]]) -> Cases:
    """By scene and optimizer energy and share of errors."""
    for scene, own in points.items():
        for (a, (low, error)), (b, (high, other)) in itertools.combinations(
            sorted(own.items(), key=lambda p: p[1]), 2
        ):
            yield f"{scene}: {a} {error:.2f} %, {b} {other:.2f} %", low == high or error < other
