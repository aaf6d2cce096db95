"""The judges of the sentences of sections 6.1 and 6.2, by their names in ``paper.yaml``. They take the results of an experiment unless they say otherwise."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pandas import DataFrame, Series, concat

from stereo_framework.papers.claim import Cases, cases, listed_numbers, more_than_half, tally
from stereo_framework.papers.paper import short
from stereo_framework.sweep import Result

Results = Sequence[Result]

REGIONS = ("nonocc", "textureless", "discont")
"""Regions of Figures 8 to 14."""

KEYS = {
    "cost": "matching_cost.use",
    "birchfield_tomasi": "matching_cost.birchfield_tomasi",
    "truncation": "matching_cost.truncation",
    "weight": "smoothness.weight",
    "penalty": "smoothness.gradient_penalty",
    "occlusion": "optimization.occlusion_cost",
    "seed": "optimization.seed",
}
"""The parameters that experiments vary."""

METHODS = {
    "ssd": "SSD + MF",
    "dp": "Dyn. prog.",
    "so": "Scanl. opt.",
    "gc": "Graph cuts (4)",
    "bayesian": "Bay. diff.",
}
"""Our methods, with their rows in Table 5."""

_NOISE, _GOOD, _NONE = [1, 2], [5, 10, 20, 50], math.inf
"""Truncation values below the image noise, the good ones, and no truncation."""


def errors(results: Results, *keys: str) -> Series:
    """Percent of bad pixels by region, scene and the method or parameters `keys`, the median where several results share them.

    Failed results are left out, and so is what the paper does not measure: its map scene has hardly any textureless region (Table 5).
    """
    rows = [
        {
            "region": region,
            "scene": short(r.scene),
            "method": r.method,
            **_parameters(r),
            "error": error,
        }
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


def each(data: Any, level: str = "scene") -> Iterator[tuple[str, Any]]:
    """The rows of each scene, or of each value of another level of the index, without it."""
    for value, own in data.groupby(level=level, sort=False):
        yield value, own.droplevel(level)


def _places(data: Any) -> Iterator[tuple[str, Any]]:
    """The rows of each region on each scene."""
    return (
        (f"{scene} {region}", own)
        for (region, scene), own in data.groupby(level=["region", "scene"], sort=False)
    )


def _everywhere(holds: Series, things: str) -> Cases:
    """Whether something holds of all things, in each region and on each scene."""
    return (
        case for where, own in _places(holds) for case in tally(own, things, prefix=f"{where}: ")
    )


def _listed(truncations: Any) -> str:
    return ", ".join("none" if t == _NONE else f"{t:g}" for t in truncations)


# --- Experiments 1 to 3 -----------------------------------------------------------------------------------------------


def curves(results: Results, **levels: str) -> DataFrame:
    """A row for each curve, by region, scene, method, cost and whether intervals are matched, with truncation values as columns; without scenes on which runs failed."""
    wide = errors(results, "method", "cost", "birchfield_tomasi", "truncation").unstack(
        "truncation"
    )
    wide = wide.reindex(columns=[*_NOISE, *_GOOD, _NONE])
    broken = wide.isna().any(axis=1).groupby(level=["region", "scene"]).transform("any")
    return only(wide[~broken.astype(bool)], **levels)


def _gains(results: Results, **levels: str) -> DataFrame:
    """By how many points intervals lower the errors, by curve and truncation value."""
    wide = curves(results, **levels)
    return (only(wide, birchfield_tomasi=False) - only(wide, birchfield_tomasi=True)).dropna()


def costs_alike(results: Results) -> Cases:
    wide = curves(results)[[*_GOOD, _NONE]]
    apart = (
        (only(wide, cost="absolute_difference") - only(wide, cost="squared_difference"))
        .abs()
        .mean(axis=1)
    )
    spread = dict(_places(wide.max(axis=1) - wide.min(axis=1)))
    for where, own in _places(apart):
        here, points = own.mean(), spread[where].mean()
        yield (
            f"{where}: AD and SD {here:.2f} points apart, {points:.2f} between truncation values",
            here < points,
        )


def truncation_near_discontinuities(results: Results) -> Cases:
    wide = curves(results)
    saved = (
        (wide[_NONE] - wide[[*_NOISE, *_GOOD]].min(axis=1))
        .groupby(level=["scene", "region"])
        .mean()
    )
    rows = (
        (f"{scene}, points saved by truncation", own)
        for scene, own in saved.unstack().reindex(columns=REGIONS).iterrows()
    )
    return cases(rows, lambda own: own["discont"] == own.max(), "")


def truncation_5_to_50(results: Results) -> Cases:
    for scene, own in each(curves(results, region="nonocc")):
        best = own.idxmin(axis=1)
        yield f"{scene}: best truncation {_listed(best)}", best.isin(_GOOD).all()


def truncation_20(results: Results) -> Cases:
    counts = curves(results, region="nonocc").idxmin(axis=1).value_counts()
    if len(counts):
        figures = ", ".join(f"{_listed([value])} in {count}" for value, count in counts.items())
        yield (
            f"best truncation: {figures} of {counts.sum()} curves",
            (counts.drop(20, errors="ignore") < counts.get(20, 0)).all(),
        )


def noise(results: Results) -> Cases:
    wide = only(curves(results), birchfield_tomasi=False)
    return _everywhere(
        wide[_NOISE].min(axis=1) >= 2 * wide[_GOOD].min(axis=1),
        "curves with twice the errors in the noise",
    )


def interval_in_noise(results: Results) -> Cases:
    return _everywhere(_gains(results)[_NOISE].stack() > 0, "settings better with intervals")


def gains_less(results: Results, *, good: Sequence[float]) -> Cases:
    """Whether intervals gain less at `good` truncation values than in the noise."""
    for where, own in _places(_gains(results)):
        low, high = (own[some].mean(axis=1).mean() for some in (_NOISE, good))
        yield f"{where}: intervals gain {high:+.2f} points, in the noise {low:+.2f}", high < low


def best_varies(results: Results) -> Cases:
    best = curves(results, region="nonocc").groupby(level="scene", sort=False).mean().idxmin(axis=1)
    if len(best) > 1:
        figures = ", ".join(f"{scene} {_listed([value])}" for scene, value in best.items())
        yield f"best truncation: {figures}", best.nunique() > 1


def window_21(small: Results, large: Results) -> Cases:
    """Takes the results with windows of 9 and of 21."""
    both = concat(
        [errors(own, "cost", "birchfield_tomasi", "truncation") for own in (small, large)], axis=1
    ).dropna()
    for where, own in _places(both):
        rho = own.corr(method="spearman").iloc[0, 1]
        yield f"{where}: rank correlation {rho:.2f}", rho >= 0.7


def untruncated_best(results: Results) -> Cases:
    wide = curves(results)
    return _everywhere(wide[_NONE] <= wide.min(axis=1), "curves lowest without truncation")


def lowest_at_discontinuities(shifted: Results, plain: Results) -> Cases:
    """Takes the results of Experiments 2 and 1, as `comparable` does."""
    ours, others = (
        curves(own, region="discont").groupby(level="scene").min() for own in (shifted, plain)
    )
    lowest = concat([ours.min(axis=1), others.min(axis=1)], axis=1, join="inner").min(axis=1)
    for scene, other in lowest.items():
        low = ours[_NONE][scene]
        yield (
            f"{scene}: {low:.2f} % without truncation, {other:.2f} % of all settings",
            low <= other,
        )


def comparable(shifted: Results, plain: Results) -> Cases:
    ours, others = (
        curves(shifted, region="nonocc")[_NONE],
        curves(plain, region="nonocc").min(axis=1),
    )
    both = concat(
        [own.groupby(level="scene").mean() for own in (ours, others)], axis=1, join="inner"
    )
    for scene, low, other in both.itertuples():
        yield f"{scene}: {low:.2f} % shifted, {other:.2f} % truncated", low <= 1.1 * other


def global_truncation_helps(results: Results) -> Cases:
    return tally(
        curves(results, region="nonocc").idxmin(axis=1).isin(_GOOD),
        "curves with the best truncation from 5 to 50",
        Series.any,
    )


def global_interval_mixed(results: Results) -> Cases:
    gained = _gains(results, region="nonocc")[[*_GOOD, _NONE]].stack()
    better, worse = (gained > 0).sum(), (gained < 0).sum()
    if len(gained):
        yield (
            f"errors with intervals: lower in {better} of {len(gained)} settings, higher in {worse}",
            better > 0 and worse > 0,
        )


def interval_in_scanlines(results: Results) -> Cases:
    by_method = (
        _gains(results, region="nonocc")
        .mean(axis=1)
        .groupby(level=["scene", "method"], sort=False)
        .mean()
    )
    gains = ((f"{scene}, points gained by intervals", own) for scene, own in each(by_method))
    return cases(gains, lambda own: own["so"] == own.max(), "")


# --- Experiment 4 -----------------------------------------------------------------------------------------------------


def _supports(results: Results) -> DataFrame:
    """Percent of bad pixels by scene, method and region, in the order of the script: from small to large support."""
    rows = [
        (short(r.scene), r.method, *(r.statistics[f"bad_pixels_{n}"] for n in REGIONS))
        for r in results
        if r.error is None
    ]
    return DataFrame(rows, columns=["scene", "method", *REGIONS]).set_index(["scene", "method"])


def _each_method(results: Results, *regions: str) -> Iterator[tuple[str, str, list[Series]]]:
    """Scene, method and the percentages in these regions."""
    for (scene, method), own in _supports(results).groupby(level=["scene", "method"], sort=False):
        yield scene, method, [own[region].reset_index(drop=True) for region in regions]


def trade_off(results: Results) -> Cases:
    for scene, method, (flat, near) in _each_method(results, "textureless", "discont"):
        first, last, end = flat.iloc[0], flat.iloc[-1], near.iloc[-1]
        figures = f"textureless {first:.1f} to {last:.1f} %, discontinuities {near.min():.1f} at best to {end:.1f} %"
        yield f"{scene} {method}: {figures}", last < first and end > near.min()


def intermediate_best(results: Results) -> Cases:
    between = [
        own[1:-1].min() < min(own.iloc[0], own.iloc[-1])
        for _, _, (own,) in _each_method(results, "nonocc")
    ]
    yield from tally(
        Series(between, dtype=bool),
        "curves lowest between the smallest and the largest support",
        more_than_half,
    )


def _lowest(results: Results, region: str) -> Iterator[tuple[str, Series]]:
    """The lowest error of each method by scene."""
    return each(_supports(results)[region].groupby(level=["scene", "method"], sort=False).min())


def _lead(best: Series) -> float:
    """By how much shiftable windows lead the best of the others."""
    return float(best.drop("shiftable").min() - best["shiftable"])


def shiftable_best(results: Results) -> Cases:
    return cases(_lowest(results, "nonocc"), lambda own: _lead(own) >= 0)


def shiftable_best_at_discontinuities(results: Results) -> Cases:
    overall = {scene: _lead(best) for scene, best in _lowest(results, "nonocc")}
    for scene, best in _lowest(results, "discont"):
        figures = f"{scene}: {listed_numbers(best, ' %')}; lead {_lead(best):.2f} points, overall {overall[scene]:.2f}"
        yield figures, _lead(best) >= max(0, overall[scene])


def others_alike(results: Results) -> Cases:
    for scene, best in _lowest(results, "nonocc"):
        others = best.drop("shiftable")
        apart, lead = others.max() - others.min(), others.mean() - best["shiftable"]
        yield (
            f"{scene}: the others {apart:.2f} points apart, lead of shiftable windows {lead:.2f}",
            apart < lead,
        )


def shiftable_sizes(results: Results) -> Cases:
    for scene, method, both in _each_method(results, "textureless", "discont"):
        if method == "shiftable":
            flat, near = (3 + 2 * own.idxmin() for own in both)
            yield (
                f"{scene}: best size {flat} in textureless areas, {near} near discontinuities",
                flat >= 2 * near,
            )


def large_support(results: Results) -> Cases:
    for scene, method, both in _each_method(results, "textureless", "discont"):
        # Of equal errors the smaller support is the best.
        flat, near = (own.idxmin() + 1 for own in both)
        yield (
            f"{scene} {method}: best at {flat} of {len(both[0])}, near discontinuities at {near}",
            flat > near,
        )


def fattening(shares: Mapping[str, float]) -> Cases:
    """Takes the percentages of pixels near discontinuities that are too near, by method."""
    if shares:
        yield listed_numbers(shares, " %"), shares["shiftable"] < shares["box"]
