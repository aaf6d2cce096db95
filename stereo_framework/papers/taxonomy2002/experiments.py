"""Experiments 1 to 6 (Figures 8 to 14), and what the paper concludes from them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from stereo_framework.page.page import Statement
from stereo_framework.papers.paper import Context, Outcome, checked, results_details
from stereo_framework.sweep import Result

_COST, _INTERVAL, _TRUNCATION = "matching_cost.use", "matching_cost.interval", "matching_cost.truncation"
_ERROR = "bad_pixels_nonocc"


def experiment1(context: Context) -> Outcome:
    """Matching costs and truncation with a plain 9x9 window."""
    results = context.run("experiment1")
    return _outcome(context, "experiment1", results, [_truncation_helps(results), _interval_helps(results)])


def experiment2(context: Context) -> Outcome:
    """Matching costs and truncation with a shiftable 9x9 window."""
    results, plain = context.run("experiment2"), context.run("experiment1")
    return _outcome(context, "experiment2", results, [_truncation_no_longer_helps(results, plain)])


def experiment3(context: Context) -> Outcome:
    """Matching costs and truncation with dynamic programming, scanline optimization and graph cuts."""
    return _outcome(context, "experiment3", context.run("experiment3"), [])


def experiment4(context: Context) -> Outcome:
    """Aggregation from small to large support."""
    results = context.run("experiment4")
    return _outcome(context, "experiment4", results, [_large_windows(results), _shiftable_windows(results)])


def experiment5(context: Context) -> Outcome:
    """The weight of smoothness in the global methods."""
    results = context.run("experiment5")
    return _outcome(context, "experiment5", results, [_lowest_error(results), _lowest_energy(results)])


def experiment6(context: Context) -> Outcome:
    """Gradient-dependent smoothness and interval matching in graph cuts."""
    results = [*context.run("experiment6"), *context.run("experiment6_map")]
    return _outcome(context, "experiment6", results, [_penalty_helps(results)])


def _outcome(context: Context, name: str, results: Sequence[Result], statements: Sequence[Statement]) -> Outcome:
    return Outcome([*context.plots(name, results), results_details(results)], statements=statements)


def _by_scene(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Results by scene; failed ones are left out."""
    found: dict[str, list[Result]] = {}
    for r in results:
        found.setdefault(r.scene, []).extend([r] if r.error is None else [])
    return found


def _gains(results: Sequence[Result]) -> dict[str, float]:
    """Percentage points that the best truncation saves over none, by scene, mean over the four costs."""
    found = {}
    for scene, own in _by_scene(results).items():
        errors: dict[tuple[str, bool], dict[float | None, float]] = {}
        for r in own:
            of_cost = errors.setdefault((r.parameters[_COST], r.parameters[_INTERVAL]), {})
            of_cost[r.parameters[_TRUNCATION]] = r.statistics[_ERROR]
        gains = [by.pop(None) - min(by.values()) for by in errors.values() if None in by and len(by) > 1]
        if gains:
            found[scene] = statistics.mean(gains)
    return found


def _truncation_helps(results: Sequence[Result]) -> Statement:
    cases = [(f"{scene}: {gain:.2f} percentage points fewer bad pixels", gain > 0) for scene, gain in _gains(results).items()]
    return checked("With plain windows, truncating the matching cost at the best value helps (mean over the four costs)", cases)


def _truncation_no_longer_helps(results: Sequence[Result], plain: Sequence[Result]) -> Statement:
    with_shifts, without = _gains(results), _gains(plain)
    cases = [
        (
            f"{scene}: {with_shifts[scene]:.2f} percentage points, {without[scene]:.2f} with plain windows",
            with_shifts[scene] < without[scene] / 2,
        )
        for scene in with_shifts
        if scene in without
    ]
    return checked("With shiftable windows truncation gains less than half of that", cases)


def _interval_helps(results: Sequence[Result]) -> Statement:
    cases = []
    for scene, own in _by_scene(results).items():
        errors: dict[bool, list[float]] = {False: [], True: []}
        for r in own:
            if r.parameters[_TRUNCATION] in (1, 2):
                errors[r.parameters[_INTERVAL]].append(r.statistics[_ERROR])
        if errors[False] and errors[True]:
            plain, interval = statistics.mean(errors[False]), statistics.mean(errors[True])
            cases.append((f"{scene}: {interval:.2f} % with, {plain:.2f} % without", interval < plain))
    return checked("Interval matching (Birchfield & Tomasi) helps at small truncation values (1 and 2)", cases)


def _large_windows(results: Sequence[Result]) -> Statement:
    cases = []
    for scene, own in _by_scene(results).items():
        edge, flat = (
            {r.parameters["aggregation.box.size"]: r.statistics[name] for r in own if r.method == "box"}
            for name in ("bad_pixels_discont", "bad_pixels_textureless")
        )
        if edge:
            figures = f"discontinuities {edge[9]:.1f} % at 9, {edge[29]:.1f} % at 29; textureless {flat[3]:.1f} % at 3, {flat[29]:.1f} % at 29"
            cases.append((f"{scene}: {figures}", edge[29] > edge[9] and flat[29] < flat[3]))
    text = "Larger windows are worse near discontinuities (29 pixels against 9) and better in textureless areas (29 against 3)"
    return checked(text, cases)


def _shiftable_windows(results: Sequence[Result]) -> Statement:
    cases = []
    for scene, own in _by_scene(results).items():
        best = _lowest(own, lambda r: r.statistics["bad_pixels_discont"])
        if "shiftable" in best:
            told = ", ".join(f"{name} {value:.1f} %" for name, value in best.items())
            cases.append((f"{scene}: {told}", best["shiftable"] == min(best.values())))
    return checked("Near discontinuities shiftable windows are best, each method at its best size", cases)


def _lowest_error(results: Sequence[Result]) -> Statement:
    errors = {scene: _lowest(own, lambda r: r.statistics[_ERROR]) for scene, own in _by_scene(results).items()}
    methods = dict.fromkeys(name for best in errors.values() for name in best)
    complete = [name for name in methods if all(name in best for best in errors.values())]
    mean = {name: statistics.mean(best[name] for best in errors.values()) for name in complete}
    # On a single scene a lucky random order of annealing may be better.
    cases = [(f"mean: {_told(mean)}", mean["gc"] == min(mean.values()))] if "gc" in mean else []
    cases += [(f"{scene}: {_told(best)}", True) for scene, best in errors.items()]
    text = "Of the global methods graph cuts give the fewest bad pixels (mean over the scenes, each method at its best weight on each)"
    return checked(text, cases)


def _told(percentages: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f} %" for name, value in percentages.items())


def _lowest_energy(results: Sequence[Result]) -> Statement:
    cases = []
    for scene, own in _by_scene(results).items():
        weights = sorted({r.parameters["smoothness.weight"] for r in results if r.scene == scene})
        lost = []
        for weight in weights:
            energy = _lowest((r for r in own if r.parameters["smoothness.weight"] == weight), lambda r: r.energy)
            if energy and energy["gc"] > min(energy.values()):
                lost.append(f"{weight:g}")
        where = f" (not at {', '.join(lost)})" if lost else ""
        cases.append((f"{scene}: {len(weights) - len(lost)} of {len(weights)} weights{where}", not lost))
    return checked("Graph cuts find the lowest energy of the global methods at every weight", cases)


def _lowest(results: Iterable[Result], value: Callable[[Result], Any]) -> dict[str, float]:
    """Lowest value by method."""
    best: dict[str, float] = {}
    for r in results:
        if value(r) is not None:
            best[r.method] = min(best.get(r.method, float("inf")), value(r))
    return best


def _penalty_helps(results: Sequence[Result]) -> Statement:
    cases = []
    for scene, own in _by_scene(results).items():
        errors = {(r.parameters["smoothness.gradient_penalty"], r.parameters[_INTERVAL]): r.statistics[_ERROR] for r in own}
        if len(errors) == 4:
            best = min(errors[2.0, True], errors[4.0, True])
            cases.append(
                (f"{scene}: {best:.2f} % with a penalty of 2 or 4, {errors[1.0, True]:.2f} % without", best < errors[1.0, True])
            )
    return checked("A gradient penalty of 2 or 4 helps graph cuts", cases)
