"""The judges of the paper's sentences, by their names in ``paper.yaml``. They take the results of an experiment unless they say otherwise."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from stereo_framework.papers.claim import Cases, claims
from stereo_framework.papers.paper import short
from stereo_framework.papers.published import PublishedTable
from stereo_framework.sweep import Result
from stereo_framework.tables.ranking import competition_ranks

Results = Sequence[Result]

REGIONS = ("nonocc", "textureless", "discont")
"""Regions of Figures 8 to 14."""

COST, INTERVAL, TRUNCATION = "matching_cost.use", "matching_cost.interval", "matching_cost.truncation"
WEIGHT, PENALTY, OCCLUSION = "smoothness.weight", "smoothness.gradient_penalty", "optimization.occlusion_cost"

METHODS = {"ssd": "SSD + MF", "dp": "Dyn. prog.", "so": "Scanl. opt.", "gc": "Graph cuts (4)", "bayesian": "Bay. diff."}
"""Our methods, with their rows in Table 5."""

_NOISE, _GOOD = (1, 2), (5, 10, 20, 50)
"""Truncation values below the image noise, and the good ones."""

Curve = Mapping[float | None, float]
"""Percent of bad pixels by truncation value, None = no truncation."""


def errors(results: Iterable[Result], region: str, *keys: str) -> dict[str, dict[tuple, float]]:
    """Percent of bad pixels by scene and by the values of `keys`, the median where several results share them.

    Failed results are left out, and so is what the paper does not measure: its map scene has hardly any textureless region (Table 5).
    """
    found: dict[str, dict[tuple, list[float]]] = {}
    for r in results:
        value = r.statistics.get(f"bad_pixels_{region}", math.nan)
        scene = short(r.scene)
        if not math.isnan(value) and (scene, region) != ("map", "textureless"):
            key = tuple(r.method if k == "method" else r.parameters.get(k) for k in keys)
            found.setdefault(scene, {}).setdefault(key, []).append(value)
    return {scene: {key: statistics.median(values) for key, values in own.items()} for scene, own in found.items()}


def told(values: Mapping[Any, float], unit: str = " %") -> str:
    """Names and numbers as text."""
    return ", ".join(f"{name} {value:.2f}{unit}" for name, value in values.items())


# --- Experiments 1 to 3 -----------------------------------------------------------------------------------------------


def _curves(results: Results, region: str = "nonocc") -> dict[str, dict[tuple, Curve]]:
    """The curves by scene and by series, which is method, cost and whether intervals are matched; without scenes on which runs failed."""
    found: dict[str, dict[tuple, Any]] = {}
    for scene, own in errors(results, region, "method", COST, INTERVAL, TRUNCATION).items():
        for (*series, truncation), value in own.items():
            found.setdefault(scene, {}).setdefault(tuple(series), {})[truncation] = value
    return {scene: own for scene, own in found.items() if all(len(curve) == 7 for curve in own.values())}


def _everywhere(results: Results) -> Iterator[tuple[str, Mapping[tuple, Curve]]]:
    for region in REGIONS:
        for scene, series in _curves(results, region).items():
            yield f"{scene} {region}:", series


def _intervals(series: Mapping[tuple, Curve]) -> list[tuple[Curve, Curve]]:
    """Curves without and with intervals."""
    return [(series[m, c, False], series[m, c, True]) for m, c, i in series if i]


def costs_alike(results: Results) -> Cases:
    above = (*_GOOD, None)
    for where, series in _everywhere(results):
        pairs = [(series[m, "absolute_difference", i], own) for (m, c, i), own in series.items() if c == "squared_difference"]
        apart = statistics.mean(abs(a[t] - s[t]) for a, s in pairs for t in above)
        spread = statistics.mean(max(c[t] for t in above) - min(c[t] for t in above) for c in series.values())
        yield f"{where} {apart:.2f} points apart, {spread:.2f} between truncation values", apart < spread


def truncation_near_discontinuities(results: Results) -> Cases:
    gains: dict[str, dict[str, float]] = {}
    for region in REGIONS:
        for scene, series in _curves(results, region).items():
            saved = [c[None] - min(c[t] for t in (*_NOISE, *_GOOD)) for c in series.values()]
            gains.setdefault(scene, {})[region] = statistics.mean(saved)
    for scene, own in gains.items():
        yield f"{scene}: {told(own, '')}", own["discont"] == max(own.values())


def _best(curve: Curve) -> float | None:
    return min(curve, key=curve.__getitem__)


def truncation_5_to_50(results: Results) -> Cases:
    for scene, series in _curves(results).items():
        best = [_best(c) for c in series.values()]
        yield f"{scene}: {_listed(best)}", set(best) <= set(_GOOD)


def truncation_20(results: Results) -> Cases:
    best = Counter(_best(c) for series in _curves(results).values() for c in series.values())
    if best:
        figures = ", ".join(f"{_listed([value])} in {count}" for value, count in best.most_common())
        yield figures, all(best[20] > count for value, count in best.items() if value != 20)


def _listed(truncations: Iterable[float | None]) -> str:
    return ", ".join("none" if t is None else f"{t:g}" for t in truncations)


def noise(results: Results) -> Cases:
    for where, series in _everywhere(results):
        plain = [c for (_, _, interval), c in series.items() if not interval]
        worse = [min(c[t] for t in _NOISE) >= 2 * min(c[t] for t in _GOOD) for c in plain]
        yield f"{where} {sum(worse)} of {len(worse)} curves", all(worse)


def interval_in_noise(results: Results) -> Cases:
    for where, series in _everywhere(results):
        better = [with_it[t] < plain[t] for plain, with_it in _intervals(series) for t in _NOISE]
        yield f"{where} {sum(better)} of {len(better)} settings", all(better)


def _gains_less(good: Sequence[float | None], results: Results) -> Iterator[tuple[str, bool]]:
    """Whether intervals gain less at `good` truncation values than in the noise."""
    for where, series in _everywhere(results):
        pairs = _intervals(series)
        low, high = (statistics.mean(a[t] - b[t] for a, b in pairs for t in some) for some in (_NOISE, good))
        yield f"{where} {high:+.2f} points against {low:+.2f}", high < low


def best_varies(results: Results) -> Cases:
    best = {}
    for scene, series in _curves(results).items():
        best[scene] = _best({t: statistics.mean(c[t] for c in series.values()) for t in (*_NOISE, *_GOOD, None)})
    if len(best) > 1:
        yield ", ".join(f"{scene} {_listed([value])}" for scene, value in best.items()), len(set(best.values())) > 1


def window_21(small: Results, large: Results) -> Cases:
    """Takes the results with windows of 9 and of 21."""
    from scipy.stats import spearmanr

    for region in REGIONS:
        first, second = (errors(own, region, COST, INTERVAL, TRUNCATION) for own in (small, large))
        for scene in first.keys() & second.keys():
            keys = sorted(first[scene], key=str)
            rho = float(spearmanr([first[scene][k] for k in keys], [second[scene][k] for k in keys]).statistic)
            yield f"{scene} {region}: {rho:.2f}", rho >= 0.7


def untruncated_best(results: Results) -> Cases:
    for where, series in _everywhere(results):
        best = [c[None] <= min(c.values()) for c in series.values()]
        yield f"{where} {sum(best)} of {len(best)} curves", all(best)


def lowest_at_discontinuities(shifted: Results, plain: Results) -> Cases:
    """Takes the results of Experiments 2 and 1, as `comparable` does."""
    ours, others = _curves(shifted, "discont"), _curves(plain, "discont")
    for scene in sorted(ours.keys() & others.keys()):
        low = min(c[None] for c in ours[scene].values())
        other = min(min(c.values()) for c in (*others[scene].values(), *ours[scene].values()))
        yield f"{scene}: {low:.2f} % without truncation, {other:.2f} % of all settings", low <= other


def comparable(shifted: Results, plain: Results) -> Cases:
    ours, others = _curves(shifted), _curves(plain)
    for scene in sorted(ours.keys() & others.keys()):
        low, best = (
            statistics.mean(c[None] for c in ours[scene].values()),
            statistics.mean(min(c.values()) for c in others[scene].values()),
        )
        yield f"{scene}: {low:.2f} % shifted, {best:.2f} % truncated", low <= 1.1 * best


def global_truncation_helps(results: Results) -> Cases:
    curves = [c for series in _curves(results).values() for c in series.values()]
    better = sum(_best(c) in _GOOD for c in curves)
    if curves:
        yield f"{better} of {len(curves)} curves", better > 0


def global_interval_mixed(results: Results) -> Cases:
    pairs = [pair for series in _curves(results).values() for pair in _intervals(series)]
    gains = [plain[t] - with_it[t] for plain, with_it in pairs for t in (*_GOOD, None)]
    better, worse = sum(g > 0 for g in gains), sum(g < 0 for g in gains)
    if gains:
        yield f"lower in {better} of {len(gains)} settings, higher in {worse}", better > 0 and worse > 0


def interval_in_scanlines(results: Results) -> Cases:
    for scene, series in _curves(results).items():
        gains = {m: statistics.mean(series[m, c, False][t] - curve[t] for t in curve) for (m, c, i), curve in series.items() if i}
        yield f"{scene}: {told(gains, '')}", gains["so"] == max(gains.values())


# --- Experiment 4 -----------------------------------------------------------------------------------------------------


def _by_support(results: Results, region: str) -> dict[str, dict[str, list[float]]]:
    """Percent of bad pixels by scene and method, from small to large support, as the script lists them."""
    found: dict[str, dict[str, list[float]]] = {}
    for r in results:
        if r.error is None:
            found.setdefault(short(r.scene), {}).setdefault(r.method, []).append(r.statistics[f"bad_pixels_{region}"])
    return found


def _flat_and_edge(results: Results) -> Iterator[tuple[str, str, list[float], list[float]]]:
    """Scene, method, and the percentages in textureless regions and near discontinuities, from small to large support."""
    flat, edge = (_by_support(results, region) for region in ("textureless", "discont"))
    return ((scene, m, flat[scene][m], near) for scene, methods in edge.items() for m, near in methods.items())


def trade_off(results: Results) -> Cases:
    for scene, method, flat, near in _flat_and_edge(results):
        figures = f"textureless {flat[0]:.1f} to {flat[-1]:.1f} %, discontinuities {min(near):.1f} at best to {near[-1]:.1f} %"
        yield f"{scene} {method}: {figures}", flat[-1] < flat[0] and near[-1] > min(near)


def intermediate_best(results: Results) -> Cases:
    curves = [own for methods in _by_support(results, "nonocc").values() for own in methods.values()]
    between = sum(min(own[1:-1]) < min(own[0], own[-1]) for own in curves)
    if curves:
        yield f"{between} of {len(curves)} curves", 2 * between > len(curves)


def _lowest(results: Results, region: str) -> dict[str, dict[str, float]]:
    return {scene: {m: min(own) for m, own in methods.items()} for scene, methods in _by_support(results, region).items()}


def _lead(best: Mapping[str, float]) -> float:
    """By how many points shiftable windows are better than the best of the others."""
    return min(value for method, value in best.items() if method != "shiftable") - best["shiftable"]


def shiftable_best(results: Results) -> Cases:
    for scene, best in _lowest(results, "nonocc").items():
        yield f"{scene}: {told(best)}", _lead(best) >= 0


def shiftable_best_at_discontinuities(results: Results) -> Cases:
    overall = _lowest(results, "nonocc")
    for scene, best in _lowest(results, "discont").items():
        leads = _lead(best), _lead(overall[scene])
        yield f"{scene}: {told(best)}; lead {leads[0]:.2f} points, overall {leads[1]:.2f}", leads[0] >= max(0, leads[1])


def others_alike(results: Results) -> Cases:
    for scene, best in _lowest(results, "nonocc").items():
        others = [value for method, value in best.items() if method != "shiftable"]
        apart, lead = max(others) - min(others), statistics.mean(others) - best["shiftable"]
        yield f"{scene}: {apart:.2f} points apart, lead {lead:.2f}", apart < lead


def shiftable_sizes(results: Results) -> Cases:
    for scene, method, *curves in _flat_and_edge(results):
        if method == "shiftable":
            flat, near = (3 + 2 * int(np.argmin(own)) for own in curves)
            yield f"{scene}: {flat} in textureless areas, {near} near discontinuities", flat >= 2 * near


def large_support(results: Results) -> Cases:
    for scene, method, *curves in _flat_and_edge(results):
        # Of equal errors the smaller support is the best.
        flat, near = (int(np.argmin(own)) for own in curves)
        yield f"{scene} {method}: best at {flat + 1} of {len(curves[0])}, near discontinuities at {near + 1}", flat > near


def fattening(shares: Mapping[str, float]) -> Cases:
    """Takes the percentages of pixels near discontinuities that are too near, by method."""
    if shares:
        yield told(shares), shares["shiftable"] < shares["box"]


# --- Experiments 5 and 6 ----------------------------------------------------------------------------------------------


def _at_best_weights(results: Results, region: str) -> dict[str, dict[str, tuple[float, float]]]:
    """The lowest error and its weight, by scene and method."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for scene, own in errors(results, region, "method", WEIGHT, OCCLUSION).items():
        for (method, weight, _), error in own.items():
            best = found.setdefault(scene, {})
            best[method] = min(best.get(method, (math.inf, 0.0)), (error, weight))
    return found


def _cuts_first(regions: Sequence[str], results: Results) -> Iterator[tuple[str, bool]]:
    for region in regions:
        for scene, own in _at_best_weights(results, region).items():
            best = {method: error for method, (error, _) in own.items()}
            yield f"{scene} {region}: {told(best)}", all(best["gc"] < v for m, v in best.items() if m != "gc")


def no_clear_ranking(results: Results) -> Cases:
    best = _at_best_weights(results, "nonocc")
    orders = {scene: sorted(own.keys() - {"gc"}, key=own.__getitem__) for scene, own in best.items()}
    if len(orders) > 1:
        yield (
            "; ".join(f"{scene} {' < '.join(order)}" for scene, order in orders.items()),
            len(set(map(tuple, orders.values()))) > 1,
        )


def _weights(results: Results) -> dict[str, dict[str, float]]:
    """The best weight by method and scene."""
    found: dict[str, dict[str, float]] = {}
    for scene, own in _at_best_weights(results, "nonocc").items():
        for method, (_, weight) in own.items():
            found.setdefault(method, {})[scene] = weight
    return found


def weights_vary(results: Results) -> Cases:
    for method, own in _weights(results).items():
        if len(own) > 1:
            yield f"{method}: {', '.join(f'{s} {w:g}' for s, w in own.items())}", len(set(own.values())) > 1


def _weights_on(scene: str, low: float, high: float, results: Results) -> Iterator[tuple[str, bool]]:
    return ((f"{method} {own[scene]:g}", low <= own[scene] <= high) for method, own in _weights(results).items() if scene in own)


def occlusion_cost(results: Results) -> Cases:
    weights: dict[str, list[float]] = {}
    for scene, own in errors((r for r in results if r.method == "dp"), "nonocc", OCCLUSION, WEIGHT).items():
        best: dict[float, tuple[float, float]] = {}
        for (cost, weight), error in own.items():
            best[cost] = min(best.get(cost, (math.inf, 0.0)), (error, weight))
        low, high = (which(error for error, _ in best.values()) for which in (min, max))
        weights[scene] = [weight for _, weight in best.values()]
        yield f"{scene}: {told({f'{cost:g}': error for cost, (error, _) in best.items()})}", high < 2 * low
    yield f"best weights {weights}", any(len(set(own)) > 1 for own in weights.values())


def clearly_superior(results: Results) -> Cases:
    for scene, own in errors(results, "nonocc", "method", "optimization.seed", WEIGHT).items():
        best = {m: min((v for (name, *_), v in own.items() if name == m), default=math.inf) for m in ("gc", "sa")}
        yield f"{scene}: {told(best)}", best["gc"] < best["sa"] < math.inf


def lowest_energy(results: Results) -> Cases:
    energies: dict[str, dict[float, dict[str, list[float]]]] = {}
    for r in results:
        if r.energy is not None:
            energies.setdefault(short(r.scene), {}).setdefault(r.parameters[WEIGHT], {}).setdefault(r.method, []).append(r.energy)
    for scene, by_weight in energies.items():
        lost = [w for w, e in by_weight.items() if "gc" in e and max(e["gc"]) > min(v for own in e.values() for v in own)]
        yield f"{scene}: {len(by_weight) - len(lost)} of {len(by_weight)} weights", not lost


def streaks(changes: Mapping[str, Mapping[str, float]]) -> Cases:
    """Takes the percentages of pixels that differ from the one below, by scene and method."""
    for scene, own in changes.items():
        yield f"{scene}: {told(own)}", min(own["dp"], own["so"]) > own["gc"]


_RUNS = {"p1": (False, 1), "p1 + BT": (True, 1), "p2 + BT": (True, 2), "p4 + BT": (True, 4)}
"""The runs of Figure 14: intervals, and the penalty."""


def _four(results: Results, region: str) -> dict[tuple[str, str], dict[str, float]]:
    """Errors of the four runs of Figure 14 by scene and method: at its weights, which are 20 and on map 50, and an occlusion cost of 20."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for scene, own in errors(results, region, "method", WEIGHT, OCCLUSION, INTERVAL, PENALTY).items():
        weight = 50 if scene == "map" else 20
        for (method, w, cost, *run), error in own.items():
            if w == weight and cost in (None, 20) and tuple(run) in _RUNS.values():
                name = next(name for name, setting in _RUNS.items() if setting == tuple(run))
                found.setdefault((scene, method), {})[name] = error
    # Nothing can be said where a run failed.
    return {place: own for place, own in found.items() if len(own) == len(_RUNS)}


def penalty_helps(results: Results) -> Cases:
    for region in REGIONS:
        for (scene, _), own in _four(results, region).items():
            yield f"{scene} {region}: {told(own)}", min(own["p2 + BT"], own["p4 + BT"]) < own["p1 + BT"]


def penalty_varies(results: Results) -> Cases:
    better = {scene: min(("p2 + BT", "p4 + BT"), key=own.__getitem__) for (scene, _), own in _four(results, "nonocc").items()}
    if len(better) > 1:
        yield ", ".join(f"{scene} {run}" for scene, run in better.items()), len(set(better.values())) > 1


def interval_helps(results: Results) -> Cases:
    for (scene, method), own in _four(results, "nonocc").items():
        yield f"{scene} {method}: {own['p1']:.2f} % without, {own['p1 + BT']:.2f} % with", own["p1 + BT"] < own["p1"]


def penalty_usually_helps(results: Results) -> Cases:
    gains = [own["p1 + BT"] - own[run] for own in _four(results, "nonocc").values() for run in ("p2 + BT", "p4 + BT")]
    better = sum(g > 0 for g in gains)
    if gains:
        yield f"{better} of {len(gains)} cases", 2 * better > len(gains)


def penalty_helps_so(results: Results) -> Cases:
    gains: dict[str, list[float]] = {}
    for (_, method), own in _four(results, "nonocc").items():
        gains.setdefault(method, []).extend(own["p1 + BT"] - own[run] for run in ("p2 + BT", "p4 + BT"))
    means = {method: statistics.mean(own) for method, own in gains.items()}
    if {"so", "dp"} <= means.keys():
        yield told(means, " points"), means["so"] > means["dp"]


def interval_hurts_textureless(results: Results) -> Cases:
    four = _four(results, "textureless")
    worse = [f"{scene} {method}" for (scene, method), own in four.items() if own["p1 + BT"] > own["p1"]]
    if four:
        yield f"{len(worse)} of {len(four)}: {', '.join(worse) or 'nowhere'}", bool(worse)


# --- Experiment 7 -----------------------------------------------------------------------------------------------------

ERROR, PREDICTION = "rms_error_textured", "predict_err_match"

_AXES = {"fit": "refinement", "interval": "matching_cost.interval", "blur": "preprocessing", "step": "search.step"}


def pairs(results: Results, switch: str, statistic: str, **where: Any) -> dict[str, list[tuple[float, float]]]:
    """A statistic without and with the fit, intervals or blur, all else being equal, by scene; `where` says of which settings.

    `where` takes ``fit``, ``interval`` and ``blur``, True or False, and ``step``, a tuple of steps.
    """
    found: dict[tuple, dict[bool, float]] = {}
    for r in results:
        setting = {name: r.axes[key] if name == "step" else r.axes[key] not in ("none", False) for name, key in _AXES.items()}
        if all(setting[name] in (value if name == "step" else (value,)) for name, value in where.items()):
            on = setting.pop(switch)
            found.setdefault((r.scene, *setting.values()), {})[on] = r.statistics[statistic]
    both: dict[str, list[tuple[float, float]]] = {}
    for (scene, *_), values in found.items():
        if len(values) == 2:
            both.setdefault(scene, []).append((values[False], values[True]))
    return both


def _lower(switch: str, results: Results, lower: bool = True, **where: Any) -> Cases:
    """Whether the RMS error is always lower with the fit, intervals or blur, or always higher."""
    for scene, own in pairs(results, switch, ERROR, **where).items():
        right = sum(b < a if lower else b > a for a, b in own)
        means = ", ".join(f"{float(np.mean(side)):.4f}" for side in zip(*own, strict=True))
        yield f"{scene}: {right} of {len(own)} settings, mean without and with it {means}", right == len(own)


def fit_predicts_alike(results: Results) -> Cases:
    for scene, own in pairs(results, "fit", PREDICTION).items():
        change = float(np.mean([b / a - 1 for a, b in own]))
        yield f"{scene}: {100 * change:+.1f} %", abs(change) < 0.05


def blur_staircase(heights: Mapping[str, Mapping[str, float]]) -> Cases:
    """Takes the ranges of the mean error over the phase of a pixel, by scene and setting, as `staircase` does."""
    for scene, own in heights.items():
        yield f"{scene}: {told(own, ' px')}", own["whole pixels, fitted, blurred"] < own["whole pixels, fitted"]


def staircase(heights: Mapping[str, Mapping[str, float]]) -> Cases:
    for scene, own in heights.items():
        yield f"{scene}: {told(own, ' px')}", own["half pixels, fitted"] < own["whole pixels, fitted"] / 2


# --- Section 7 --------------------------------------------------------------------------------------------------------

_MRF, _DIFFUSION = (4, 8, 10, 11, 19, 20), (5, 9, 15)
_LOCAL, _SCANLINES = (1, 12, 14, 16), (2, 3, 7)
_NUMBERS = {"SSD + MF": 1, "Dyn. prog.": 2, "Scanl. opt.": 3, "Graph cuts (4)": 4, "Bay. diff.": 5}

Rows = Mapping[str, Mapping[str, float]]
"""Percent of bad pixels by row of Table 5 and column."""


def printed_parameters(different: Sequence[str]) -> Cases:
    """Takes the parameters that differ, in words."""
    yield "; ".join(different) or "all are equal", not different


def table_ranks(rows: Rows, region: str = "") -> dict[str, list[int]]:
    """Ranks by row over the columns that all rows have, of one region if it is named."""
    columns = [c for c in next(iter(rows.values())) if c.endswith(region) and all(c in values for values in rows.values())]
    by_column = [competition_ranks([values[c] for values in rows.values()]).tolist() for c in columns]
    return {label: [column[i] for column in by_column] for i, label in enumerate(rows)} if columns else {}


def with_ours(published: PublishedTable, ours: Rows) -> Rows:
    """The printed rows, ours in place of the paper's own five."""
    return {label: ours.get(label) or values for label, values in published.rows.items()}


def listed_by_performance(published: PublishedTable, ours: Rows) -> Cases:
    ranks = {label: statistics.mean(r) for label, r in table_ranks(with_ours(published, ours)).items() if label in ours and r}
    if ranks:
        found = sorted(ranks, key=ranks.__getitem__)
        yield (
            ", ".join(f"{label} {ranks[label]:.1f}" for label in found),
            found == [label for label in published.rows if label in ranks],
        )


def two_dimensions_best(published: PublishedTable, ours: Rows) -> Cases:
    for region in REGIONS:
        ranks = {label: statistics.mean(r) for label, r in table_ranks(ours, f"_{region}").items() if r}
        if ranks:
            best = all(ranks[METHODS["gc"]] < rank for label, rank in ranks.items() if label != METHODS["gc"])
            yield f"{region}: {told(ranks, '')}", best


def _numbered(rows: Rows, numbers: Mapping[str, int], kind: Sequence[int]) -> dict[str, Mapping[str, float]]:
    return {label: row for label, row in rows.items() if numbers[label] in kind}


def map_outperforms(rows: Rows, numbers: Mapping[str, int]) -> Cases:
    """Takes rows of Table 5 and their numbers, as `local_perform_less` does."""
    diffusion, mrf = (
        {label: row["map_nonocc"] for label, row in _numbered(rows, numbers, kind).items()} for kind in (_DIFFUSION, _MRF)
    )
    yield f"{told(diffusion)} against {told(mrf)}", min(diffusion.values()) < max(mrf.values())


def local_perform_less(rows: Rows, numbers: Mapping[str, int]) -> Cases:
    ranks = {label: statistics.mean(r) for label, r in table_ranks(rows).items()}
    means = {}
    for name, kind in (("2-D MRFs", _MRF), ("diffusion", _DIFFUSION), ("local", _LOCAL), ("scanline", _SCANLINES)):
        means[name] = statistics.mean(ranks[label] for label in _numbered(rows, numbers, kind))
    better = max(means["2-D MRFs"], means["diffusion"])
    yield told(means, ""), better < min(means["local"], means["scanline"])


def printed_ranks(ranks: Mapping[str, Mapping[str, tuple[float, float]]]) -> Cases:
    """Takes the printed rank and ours by row and column."""
    for row, own in ranks.items():
        other = [f"{column} {ours:g}, printed {printed:g}" for column, (printed, ours) in own.items() if ours != printed]
        yield f"{row}: {len(own) - len(other)} of {len(own)}{': ' if other else ''}{'; '.join(other)}", not other


def between_the_orders(published: PublishedTable, graph_cuts: Mapping[str, Sequence[float]]) -> Cases:
    """Takes the percentages of several orders of moves by column."""
    for column, printed in published.rows[METHODS["gc"]].items():
        ours = graph_cuts.get(column, ())
        if len(ours) > 1:
            low, high = min(ours), max(ours)
            half = 0.005  # the printed number is rounded to two digits
            yield f"{column}: printed {printed:g}, ours {low:.2f} to {high:.2f}", low - half <= printed <= high + half


def gains_with_parameters(table6: Rows) -> Cases:
    """Takes ``SCENE_fixed`` and ``SCENE_best`` by method, as `map_is_solved` does."""
    scenes = ("tsukuba", "sawtooth", "venus", "map")
    gains = {m: min(row[f"{s}_best"] / row[f"{s}_fixed"] for s in scenes if f"{s}_best" in row) for m, row in table6.items()}
    yield f"lowest share that is left: {told(gains, '')}", sum(gain < 0.5 for gain in gains.values()) >= 2


def map_is_solved(table6: Rows) -> Cases:
    for method in ("GC", "Bay", "SSD"):
        if "map_best" in table6.get(method, {}):
            yield f"{method} {table6[method]['map_best']:.2f} %", table6[method]["map_best"] < 0.5


interval_at_good_values = partial(_gains_less, _GOOD)
shiftable_interval = partial(_gains_less, (None,))
graph_cuts_best = partial(_cuts_first, REGIONS[:1])
graph_cuts_best_in_regions = partial(_cuts_first, REGIONS[1:])
weight_on_map = partial(_weights_on, "map", 200, 1000)
weight_on_tsukuba = partial(_weights_on, "tsukuba", 20, 200)
fit_drops = partial(_lower, "fit", interval=False, blur=False, step=(1,))
interval_at_integral = partial(_lower, "interval", fit=True, blur=False, step=(1,))
interval_elsewhere = partial(_lower, "interval", lower=False, step=(0.5, 0.25))
blur_degrades = partial(_lower, "blur", lower=False, fit=True, interval=False, step=(1,))
fit_always_helps = partial(_lower, "fit")
shiftable_costs_alike, shiftable_window_21, interval_always_helps = costs_alike, window_21, interval_helps
global_noise, global_interval_in_noise, global_best_varies = noise, interval_in_noise, best_varies

CLAIMS = claims("taxonomy2002", globals())
"""All sentences by name."""
