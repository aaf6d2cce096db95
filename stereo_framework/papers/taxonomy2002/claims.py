"""The judges of the sentences of sections 6.1 and 6.2, by their names in ``paper.yaml``. They take the results of an experiment unless they say otherwise."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from pandas import DataFrame, Series, concat

from stereo_framework.papers.claim import Cases
from stereo_framework.papers.paper import short
from stereo_framework.sweep import Result

Results = Sequence[Result]

REGIONS = ("nonocc", "textureless", "discont")
"""Regions of Figures 8 to 14."""

KEYS = {
    "cost": "matching_cost.use",
    "interval": "matching_cost.interval",
    "truncation": "matching_cost.truncation",
    "weight": "smoothness.weight",
    "penalty": "smoothness.gradient_penalty",
    "occlusion": "optimization.occlusion_cost",
    "seed": "optimization.seed",
}
"""The parameters that experiments vary."""

METHODS = {"ssd": "SSD + MF", "dp": "Dyn. prog.", "so": "Scanl. opt.", "gc": "Graph cuts (4)", "bayesian": "Bay. diff."}
"""Our methods, with their rows in Table 5."""

_NOISE, _GOOD, _NONE = [1, 2], [5, 10, 20, 50], math.inf
"""Truncation values below the image noise, the good ones, and no truncation."""


def errors(results: Results, *keys: str) -> Series:
    """Percent of bad pixels by region, scene and the method or parameters `keys`, the median where several results share them.

    Failed results are left out, and so is what the paper does not measure: its map scene has hardly any textureless region (Table 5).
    """
    rows = [
        {"region": region, "scene": short(r.scene), "method": r.method, **_parameters(r), "error": error}
        for region in REGIONS
        for r in results
        if not math.isnan(error := r.statistics.get(f"bad_pixels_{region}", math.nan))
        and (short(r.scene), region) != ("map", "textureless")
    ]
    frame = DataFrame(rows, columns=["region", "scene", "method", *KEYS, "error"])
    return frame.groupby(["region", "scene", *keys], sort=False, dropna=False)["error"].median()


def _parameters(result: Result) -> dict[str, Any]:
    found = {name: result.parameters.get(key) for name, key in KEYS.items()}
    return found | {"truncation": _NONE if found["truncation"] is None else found["truncation"]}


def only(data: Any, **levels: Any) -> Any:
    """The rows of these values of the index, without them."""
    for level, value in levels.items():
        data = data[data.index.get_level_values(level) == value].droplevel(level)
    return data


def places(data: Any) -> Iterator[tuple[str, Any]]:
    """The rows of each region on each scene."""
    for (region, scene), own in data.groupby(level=["region", "scene"], sort=False):
        yield f"{scene} {region}:", own


def each(data: Any, level: str = "scene") -> Iterator[tuple[str, Any]]:
    """The rows of each scene, or of each value of another level of the index, without it."""
    for value, own in data.groupby(level=level, sort=False):
        yield value, own.droplevel(level)


def every(holds: Series, things: str) -> Cases:
    """Whether something holds of all things, in each region and on each scene."""
    for where, own in places(holds):
        yield f"{where} {own.sum()} of {len(own)} {things}", bool(own.all())


def told(values: Any, unit: str = " %") -> str:
    """Names and numbers as text."""
    return ", ".join(f"{name} {value:.2f}{unit}" for name, value in values.items())


def listed(truncations: Iterable[float]) -> str:
    """Truncation values as text."""
    return ", ".join("none" if t == _NONE else f"{t:g}" for t in truncations)


# --- Experiments 1 to 3 -----------------------------------------------------------------------------------------------


def curves(results: Results, **levels: str) -> DataFrame:
    """A row for each curve, by region, scene, method, cost and whether intervals are matched, with truncation values as columns; without scenes on which runs failed."""
    wide = (
        errors(results, "method", "cost", "interval", "truncation")
        .unstack("truncation")
        .reindex(columns=[*_NOISE, *_GOOD, _NONE])
    )
    broken = wide.isna().any(axis=1).groupby(level=["region", "scene"]).transform("any")
    return only(wide[~broken.astype(bool)], **levels)


def gains(wide: DataFrame) -> DataFrame:
    """By how many points intervals lower the errors, by curve and truncation value."""
    return (only(wide, interval=False) - only(wide, interval=True)).dropna()


def _means(rows: Series) -> Series:
    return rows.groupby(level=["region", "scene"], sort=False).mean()


def costs_alike(results: Results) -> Cases:
    wide = curves(results)[[*_GOOD, _NONE]]
    apart = _means((only(wide, cost="absolute_difference") - only(wide, cost="squared_difference")).abs().mean(axis=1))
    spread = _means(wide.max(axis=1) - wide.min(axis=1))
    for (region, scene), points in spread.items():
        here = apart[region, scene]
        yield f"{scene} {region}: {here:.2f} points apart, {points:.2f} between truncation values", here < points


def truncation_near_discontinuities(results: Results) -> Cases:
    wide = curves(results)
    saved = _means(wide[_NONE] - wide[[*_NOISE, *_GOOD]].min(axis=1))
    for scene, own in saved.unstack("region").reindex(columns=REGIONS).iterrows():
        yield f"{scene}: {told(own, '')}", own["discont"] == own.max()


def truncation_5_to_50(results: Results) -> Cases:
    for scene, own in each(curves(results, region="nonocc")):
        best = own.idxmin(axis=1)
        yield f"{scene}: {listed(best)}", best.isin(_GOOD).all()


def truncation_20(results: Results) -> Cases:
    counts = curves(results, region="nonocc").idxmin(axis=1).value_counts()
    if len(counts):
        figures = ", ".join(f"{listed([value])} in {count}" for value, count in counts.items())
        yield figures, (counts.drop(20, errors="ignore") < counts.get(20, 0)).all()


def noise(results: Results) -> Cases:
    wide = only(curves(results), interval=False)
    return every(wide[_NOISE].min(axis=1) >= 2 * wide[_GOOD].min(axis=1), "curves")


def interval_in_noise(results: Results) -> Cases:
    return every(gains(curves(results))[_NOISE].stack() > 0, "settings")


def _gains_less(good: Sequence[float], results: Results) -> Iterator[tuple[str, bool]]:
    """Whether intervals gain less at `good` truncation values than in the noise."""
    gained = gains(curves(results))
    for where, own in places(gained):
        low, high = (own[some].mean(axis=1).mean() for some in (_NOISE, list(good)))
        yield f"{where} {high:+.2f} points against {low:+.2f}", high < low


def best_varies(results: Results) -> Cases:
    best = curves(results, region="nonocc").groupby(level="scene", sort=False).mean().idxmin(axis=1)
    if len(best) > 1:
        yield ", ".join(f"{scene} {listed([value])}" for scene, value in best.items()), best.nunique() > 1


def window_21(small: Results, large: Results) -> Cases:
    """Takes the results with windows of 9 and of 21."""
    both = concat([errors(own, "cost", "interval", "truncation") for own in (small, large)], axis=1).dropna()
    for where, own in places(both):
        rho = own.corr(method="spearman").iloc[0, 1]
        yield f"{where} {rho:.2f}", rho >= 0.7


def untruncated_best(results: Results) -> Cases:
    wide = curves(results)
    return every(wide[_NONE] <= wide.min(axis=1), "curves")


def lowest_at_discontinuities(shifted: Results, plain: Results) -> Cases:
    """Takes the results of Experiments 2 and 1, as `comparable` does."""
    ours, others = (curves(own, region="discont").groupby(level="scene").min() for own in (shifted, plain))
    for scene in ours.index.intersection(others.index):
        low, other = ours[_NONE][scene], min(ours.loc[scene].min(), others.loc[scene].min())
        yield f"{scene}: {low:.2f} % without truncation, {other:.2f} % of all settings", low <= other


def comparable(shifted: Results, plain: Results) -> Cases:
    ours = curves(shifted, region="nonocc")[_NONE].groupby(level="scene").mean()
    others = curves(plain, region="nonocc").min(axis=1).groupby(level="scene").mean()
    for scene in ours.index.intersection(others.index):
        yield f"{scene}: {ours[scene]:.2f} % shifted, {others[scene]:.2f} % truncated", ours[scene] <= 1.1 * others[scene]


def global_truncation_helps(results: Results) -> Cases:
    better = curves(results, region="nonocc").idxmin(axis=1).isin(_GOOD)
    if len(better):
        yield f"{better.sum()} of {len(better)} curves", better.any()


def global_interval_mixed(results: Results) -> Cases:
    gained = gains(curves(results, region="nonocc"))[[*_GOOD, _NONE]].stack()
    better, worse = (gained > 0).sum(), (gained < 0).sum()
    if len(gained):
        yield f"lower in {better} of {len(gained)} settings, higher in {worse}", better > 0 and worse > 0


def interval_in_scanlines(results: Results) -> Cases:
    gained = gains(curves(results, region="nonocc")).mean(axis=1)
    for scene, own in each(gained):
        by_method = own.groupby(level="method", sort=False).mean()
        yield f"{scene}: {told(by_method, '')}", by_method["so"] == by_method.max()


# --- Experiment 4 -----------------------------------------------------------------------------------------------------


def supports(results: Results, region: str) -> dict[str, dict[str, list[float]]]:
    """Percent of bad pixels by scene and method, from small to large support, as the script lists them."""
    found: dict[str, dict[str, list[float]]] = {}
    for r in results:
        if r.error is None:
            found.setdefault(short(r.scene), {}).setdefault(r.method, []).append(r.statistics[f"bad_pixels_{region}"])
    return found


def _flat_and_edge(results: Results) -> Iterator[tuple[str, str, list[float], list[float]]]:
    """Scene, method, and the percentages in textureless regions and near discontinuities, from small to large support."""
    flat, edge = (supports(results, region) for region in ("textureless", "discont"))
    return ((scene, m, flat[scene][m], near) for scene, methods in edge.items() for m, near in methods.items())


def trade_off(results: Results) -> Cases:
    for scene, method, flat, near in _flat_and_edge(results):
        figures = f"textureless {flat[0]:.1f} to {flat[-1]:.1f} %, discontinuities {min(near):.1f} at best to {near[-1]:.1f} %"
        yield f"{scene} {method}: {figures}", flat[-1] < flat[0] and near[-1] > min(near)


def intermediate_best(results: Results) -> Cases:
    all_curves = [own for methods in supports(results, "nonocc").values() for own in methods.values()]
    between = sum(min(own[1:-1]) < min(own[0], own[-1]) for own in all_curves)
    if all_curves:
        yield f"{between} of {len(all_curves)} curves", 2 * between > len(all_curves)


def _lowest(results: Results, region: str) -> Iterator[tuple[str, dict[str, float], float, list[float]]]:
    """By scene the lowest error of each method, by how much shiftable windows lead the best of the others, and these."""
    for scene, methods in supports(results, region).items():
        best = {m: min(own) for m, own in methods.items()}
        others = [error for m, error in best.items() if m != "shiftable"]
        yield scene, best, min(others) - best["shiftable"], others


def shiftable_best(results: Results) -> Cases:
    for scene, best, lead, _ in _lowest(results, "nonocc"):
        yield f"{scene}: {told(best)}", lead >= 0


def shiftable_best_at_discontinuities(results: Results) -> Cases:
    for (scene, best, lead, _), (*_, overall, _) in zip(_lowest(results, "discont"), _lowest(results, "nonocc"), strict=True):
        yield f"{scene}: {told(best)}; lead {lead:.2f} points, overall {overall:.2f}", lead >= max(0, overall)


def others_alike(results: Results) -> Cases:
    for scene, best, _, others in _lowest(results, "nonocc"):
        apart, lead = max(others) - min(others), statistics.mean(others) - best["shiftable"]
        yield f"{scene}: {apart:.2f} points apart, lead {lead:.2f}", apart < lead


def shiftable_sizes(results: Results) -> Cases:
    for scene, method, *both in _flat_and_edge(results):
        if method == "shiftable":
            flat, near = (3 + 2 * int(np.argmin(own)) for own in both)
            yield f"{scene}: {flat} in textureless areas, {near} near discontinuities", flat >= 2 * near


def large_support(results: Results) -> Cases:
    for scene, method, *both in _flat_and_edge(results):
        # Of equal errors the smaller support is the best.
        flat, near = (int(np.argmin(own)) for own in both)
        yield f"{scene} {method}: best at {flat + 1} of {len(both[0])}, near discontinuities at {near + 1}", flat > near


def fattening(shares: Mapping[str, float]) -> Cases:
    """Takes the percentages of pixels near discontinuities that are too near, by method."""
    if shares:
        yield told(shares), shares["shiftable"] < shares["box"]


interval_at_good_values = partial(_gains_less, _GOOD)
shiftable_interval = partial(_gains_less, (_NONE,))
shiftable_costs_alike, shiftable_window_21 = costs_alike, window_21
global_noise, global_interval_in_noise, global_best_varies = noise, interval_in_noise, best_varies
