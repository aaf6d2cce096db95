"""The judges of the sentences of sections 6.3, 6.4 and 7, as those in ``claims``."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pandas import DataFrame, Series

from stereo_framework.papers.claim import Cases, cases, listed_numbers, more_than_half, tally
from stereo_framework.papers.comparison import PublishedTable
from stereo_framework.papers.paper import short
from stereo_framework.papers.taxonomy2002.claims import (
    KEYS,
    METHODS,
    REGIONS,
    Results,
    each,
    errors,
    only,
)

# --- Experiments 5 and 6 ----------------------------------------------------------------------------------------------


def best_weights(results: Results, region: str, key: str = "method") -> DataFrame:
    """The lowest error at any weight, and this weight, by scene and method or occlusion cost; of equal errors at the lower weight."""
    rows = (
        only(errors(results, "method", "weight", "occlusion"), region=region)
        .reset_index()
        .sort_values(["error", "weight"])
    )
    return (
        rows.drop_duplicates(["scene", key])
        .set_index(["scene", key])[["error", "weight"]]
        .sort_index()
    )


def graph_cuts_first(results: Results, *, regions: Sequence[str]) -> Cases:
    for region in regions:
        best = (
            (f"{scene} {region}", own)
            for scene, own in each(best_weights(results, region)["error"])
        )
        yield from cases(best, lambda own: own["gc"] < own.drop("gc").min())


def no_clear_ranking(results: Results) -> Cases:
    best = each(best_weights(results, "nonocc")["error"])
    orders = {
        scene: " < ".join(own.drop("gc", errors="ignore").sort_values().index)
        for scene, own in best
    }
    if len(orders) > 1:
        yield (
            "; ".join(f"{scene} {order}" for scene, order in orders.items()),
            len(set(orders.values())) > 1,
        )


def weights_vary(results: Results) -> Cases:
    for method, own in each(best_weights(results, "nonocc")["weight"], "method"):
        if len(own) > 1:
            yield f"{method}, best weight: {listed_numbers(own, form='g')}", own.nunique() > 1


def weights_between(results: Results, *, scene: str, low: float, high: float) -> Cases:
    own = only(best_weights(results, "nonocc")["weight"], scene=scene)
    return (
        (f"{method}: best weight {weight:g}", low <= weight <= high)
        for method, weight in own.items()
    )


def occlusion_cost(results: Results) -> Cases:
    best = best_weights([r for r in results if r.method == "dp"], "nonocc", "occlusion")
    lowest = best["error"].rename("{:g}".format, level="occlusion")
    yield from cases(each(lowest), lambda own: own.max() < 2 * own.min())
    weights = {scene: own.tolist() for scene, own in each(best["weight"])}
    yield (
        f"best weights by occlusion cost: {weights}",
        any(len(set(own)) > 1 for own in weights.values()),
    )


def clearly_superior(results: Results) -> Cases:
    lowest = (
        only(errors(results, "method", "seed", "weight"), region="nonocc")
        .groupby(level=["scene", "method"])
        .min()
    )
    both = ((scene, own.reindex(["gc", "sa"]).fillna(math.inf)) for scene, own in each(lowest))
    return cases(both, lambda own: own["gc"] < own["sa"] < math.inf)


def lowest_energy(results: Results) -> Cases:
    rows = [
        (short(r.scene), r.parameters[KEYS["weight"]], r.method, r.energy)
        for r in results
        if r.energy is not None
    ]
    energies = DataFrame(rows, columns=["scene", "weight", "method", "energy"]).set_index(
        ["scene", "weight", "method"]
    )["energy"]
    cuts = only(energies, method="gc").groupby(level=["scene", "weight"]).max()
    found = cuts <= energies.groupby(level=["scene", "weight"]).min().reindex(cuts.index)
    for scene, own in found.groupby(level="scene"):
        yield from tally(own, "weights with the lowest energy for graph cuts", prefix=f"{scene}: ")


def streaks(changes: Mapping[str, Mapping[str, float]]) -> Cases:
    """Takes the percentages of pixels that differ from the one below, by scene and method."""
    return cases(changes.items(), lambda own: min(own["dp"], own["so"]) > own["gc"])


_RUNS = {"p1": (False, 1), "p1 + BT": (True, 1), "p2 + BT": (True, 2), "p4 + BT": (True, 4)}
"""The runs of Figure 14: intervals, and the penalty."""


def four(results: Results, region: str) -> DataFrame:
    """Errors of the four runs of Figure 14 by scene and method: at its weights, which are 20 and on map 50, and an occlusion cost of 20."""
    rows = only(
        errors(results, "method", "weight", "occlusion", "birchfield_tomasi", "penalty"),
        region=region,
    ).reset_index()
    weight = np.where(rows["scene"] == "map", 50, 20)
    shown = rows[
        (rows["weight"] == weight) & (rows["occlusion"].isna() | (rows["occlusion"] == 20))
    ].copy()
    shown["run"] = list(zip(shown["birchfield_tomasi"], shown["penalty"], strict=True))
    found = shown.pivot(index=["scene", "method"], columns="run", values="error").reindex(
        columns=_RUNS.values()
    )
    # Nothing can be said where a run failed.
    return found.set_axis(list(_RUNS), axis=1).dropna()


def penalty_helps(results: Results) -> Cases:
    for region in REGIONS:
        runs = ((f"{scene} {region}", own) for (scene, _), own in four(results, region).iterrows())
        yield from cases(runs, lambda own: min(own["p2 + BT"], own["p4 + BT"]) < own["p1 + BT"])


def penalty_varies(results: Results) -> Cases:
    better = four(results, "nonocc")[["p2 + BT", "p4 + BT"]].idxmin(axis=1)
    if len(better) > 1:
        yield (
            "lower errors with "
            + ", ".join(f"{run} on {scene}" for (scene, _), run in better.items()),
            better.nunique() > 1,
        )


def interval_helps(results: Results) -> Cases:
    for (scene, method), own in four(results, "nonocc").iterrows():
        yield (
            f"{scene} {method}: {own['p1']:.2f} % without BT, {own['p1 + BT']:.2f} % with it",
            own["p1 + BT"] < own["p1"],
        )


def _penalty_gains(results: Results) -> Series:
    """By how many points either penalty lowers the errors, by scene, method and run."""
    runs = four(results, "nonocc")
    return (-runs[["p2 + BT", "p4 + BT"]]).add(runs["p1 + BT"], axis=0).stack()


def penalty_usually_helps(results: Results) -> Cases:
    return tally(_penalty_gains(results) > 0, "runs better with a penalty", more_than_half)


def penalty_helps_so(results: Results) -> Cases:
    means = _penalty_gains(results).groupby(level="method").mean()
    if {"so", "dp"} <= set(means.index):
        yield f"gain by a penalty: {listed_numbers(means, ' points')}", means["so"] > means["dp"]


def interval_hurts_textureless(results: Results) -> Cases:
    runs = four(results, "textureless")
    worse = [f"{scene} {method}" for scene, method in runs.index[runs["p1 + BT"] > runs["p1"]]]
    if len(runs):
        yield (
            f"worse with BT in {len(worse)} of {len(runs)} runs: {', '.join(worse) or 'nowhere'}",
            bool(worse),
        )


# --- Experiment 7 -----------------------------------------------------------------------------------------------------

ERROR, PREDICTION = "rms_error_textured", "predict_err_match"

_AXES = {
    "fit": "refinement",
    "birchfield_tomasi": "matching_cost.birchfield_tomasi",
    "blur": "preprocessing",
    "step": "search.step",
}


def _pairs(
    results: Results, switch: str, statistic: str, step: Collection[float], **where: bool
) -> Iterator[tuple[str, Any]]:
    """By scene a statistic without and with the fit, intervals or blur, all else being equal: columns False and True.

    Only of settings with these steps and, where they are given, with or without ``fit``, ``birchfield_tomasi`` and ``blur``.
    """
    rows = [
        {
            "scene": r.scene,
            **{name: r.axes[key] not in ("none", False) for name, key in _AXES.items()},
        }
        | {"step": r.axes["search.step"], "value": r.statistics[statistic]}
        for r in results
    ]
    frame = DataFrame(rows, columns=["scene", *_AXES, "value"])
    frame = frame[
        frame["step"].isin(list(step)) & (frame[list(where)] == list(where.values())).all(axis=1)
    ]
    both = frame.pivot(
        index=["scene", *(name for name in _AXES if name != switch)], columns=switch, values="value"
    )
    return iter(both.reindex(columns=[False, True]).dropna().groupby(level="scene", sort=False))


_STEPS = (1, 0.5, 0.25)


def error_drops(
    results: Results,
    *,
    switch: str,
    step: Collection[float] = _STEPS,
    lower: bool = True,
    **where: bool,
) -> Cases:
    """Whether the RMS error is always lower with the fit, intervals or blur, or always higher."""
    for scene, own in _pairs(results, switch, ERROR, step, **where):
        right = (own[True] < own[False]) if lower else (own[True] > own[False])
        means = ", ".join(f"{mean:.4f}" for mean in own.mean())
        yield (
            f"{scene}: {right.sum()} of {len(own)} settings, mean without and with it {means}",
            right.all(),
        )


def fit_predicts_alike(results: Results) -> Cases:
    for scene, own in _pairs(results, "fit", PREDICTION, _STEPS):
        change = (own[True] / own[False] - 1).mean()
        yield f"{scene}: {100 * change:+.1f} %", abs(change) < 0.05


Heights = Mapping[str, Mapping[str, float]]
"""The ranges of the mean error over the phase of a pixel, by scene and setting."""


def blur_staircase(heights: Heights) -> Cases:
    return cases(
        heights.items(),
        lambda own: own["whole pixels, fitted, blurred"] < own["whole pixels, fitted"],
        " px",
    )


def staircase(heights: Heights) -> Cases:
    return cases(
        heights.items(),
        lambda own: own["half pixels, fitted"] < own["whole pixels, fitted"] / 2,
        " px",
    )


# --- Section 7 --------------------------------------------------------------------------------------------------------

_KINDS = {
    "2-D MRFs": (4, 8, 10, 11, 19, 20),
    "diffusion": (5, 9, 15),
    "local": (1, 12, 14, 16),
    "scanline": (2, 3, 7),
}
"""The methods of Table 5 by their numbers, as section 7 groups them."""

Rows = Mapping[str, Mapping[str, float]]
"""Percent of bad pixels by row of Table 5 and column."""


def printed_parameters(different: Sequence[str]) -> Cases:
    """Takes the parameters that differ, in words."""
    yield "; ".join(different) or "all are equal", not different


def table_ranks(rows: Rows, region: str = "") -> DataFrame:
    """Ranks by row and column, over the columns that all rows have, of one region if it is named: 1 plus the number of lower numbers."""
    table = DataFrame.from_dict(rows, orient="index").dropna(axis=1)
    return table[[c for c in table if c.endswith(region)]].rank(method="min")


def with_ours(published: PublishedTable, ours: Rows) -> Rows:
    """The printed rows, ours in place of the paper's own five."""
    return {label: ours.get(label) or values for label, values in published.rows.items()}


def listed_by_performance(published: PublishedTable, ours: Rows) -> Cases:
    ranks = (
        table_ranks(with_ours(published, ours)).mean(axis=1)[list(ours)].sort_values(kind="stable")
    )
    yield (
        listed_numbers(ranks, form=".1f"),
        [*ranks.index] == [label for label in published.rows if label in ours],
    )


def two_dimensions_best(ours: Rows) -> Cases:
    ranks = ((region, table_ranks(ours, f"_{region}").mean(axis=1)) for region in REGIONS)
    return cases(ranks, lambda own: own[METHODS["gc"]] < own.drop(METHODS["gc"]).min(), "")


def _by_kind(values: Series, numbers: Mapping[str, int]) -> Callable[[str], Series]:
    return lambda kind: values[[label for label in values.index if numbers[label] in _KINDS[kind]]]


def map_outperforms(rows: Rows, numbers: Mapping[str, int]) -> Cases:
    """Takes rows of Table 5 and their numbers, as `local_perform_less` does."""
    of = _by_kind(Series({label: row["map_nonocc"] for label, row in rows.items()}), numbers)
    yield (
        f"{listed_numbers(of('diffusion'), ' %')} against {listed_numbers(of('2-D MRFs'), ' %')}",
        of("diffusion").min() < of("2-D MRFs").max(),
    )


def local_perform_less(rows: Rows, numbers: Mapping[str, int]) -> Cases:
    of = _by_kind(table_ranks(rows).mean(axis=1), numbers)
    means = {kind: of(kind).mean() for kind in _KINDS}
    yield (
        listed_numbers(means),
        max(means["2-D MRFs"], means["diffusion"]) < min(means["local"], means["scanline"]),
    )


def printed_ranks(ranks: Mapping[str, Mapping[str, tuple[float, float]]]) -> Cases:
    """Takes the printed rank and ours by row and column."""
    for row, own in ranks.items():
        other = [
            f"{column} {ours:g}, printed {printed:g}"
            for column, (printed, ours) in own.items()
            if ours != printed
        ]
        yield (
            f"{row}: {len(own) - len(other)} of {len(own)}{': ' if other else ''}{'; '.join(other)}",
            not other,
        )


def between_the_orders(
    published: PublishedTable, graph_cuts: Mapping[str, Sequence[float]]
) -> Cases:
    """Takes the percentages of several orders of moves by column."""
    half = 0.005  # the printed number is rounded to two digits
    for column, printed in published.rows[METHODS["gc"]].items():
        ours = graph_cuts.get(column, ())
        if len(ours) > 1:
            low, high = min(ours), max(ours)
            yield (
                f"{column}: printed {printed:g}, ours {low:.2f} to {high:.2f}",
                low - half <= printed <= high + half,
            )


def gains_with_parameters(table6: Rows) -> Cases:
    """Takes ``SCENE_fixed`` and ``SCENE_best`` by method, as `map_is_solved` does."""
    scenes = ("tsukuba", "sawtooth", "venus", "map")
    left = {
        m: min(row[f"{s}_best"] / row[f"{s}_fixed"] for s in scenes if f"{s}_best" in row)
        for m, row in table6.items()
    }
    yield (
        f"lowest share that is left: {listed_numbers(left)}",
        sum(share < 0.5 for share in left.values()) >= 2,
    )


def map_is_solved(table6: Rows) -> Cases:
    for method in ("GC", "Bay", "SSD"):
        if "map_best" in table6.get(method, {}):
            yield f"{method} {table6[method]['map_best']:.2f} %", table6[method]["map_best"] < 0.5
