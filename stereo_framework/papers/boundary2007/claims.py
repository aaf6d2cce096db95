"""The judges of the paper's sentences, by their names in ``paper.yaml``. Each takes the `Boundary` of all six scenes unless it says otherwise."""

import itertools
from collections.abc import Sequence

import numpy as np
from pandas import DataFrame

from stereo_framework.evaluation.roc import (
    Point,
    best_case,
    feasibility_boundary,
    minimal_points,
    roc_curve,
    worst_case,
)
from stereo_framework.papers.claim import Cases, cases, listed_numbers
from stereo_framework.tables.boundary import Boundary

STABLE, STRONG = ("CSM", "SDM"), ("GC", "DP", "BP")
"""Methods with a weak and with a strong model of continuity."""

SHOWN = 0.001
"""Sparsity rates up to this are 0 in the paper's plots, whose axes are log(x + 0.001)."""

_EMPTY = 1 - 1e-9
"""Sparsity rate from which on a map counts as empty; rounding may put a mean of ones slightly below 1."""

_RATES = np.linspace(0, 1, 1000, endpoint=False) + 0.0005
"""Sparsity rates at which curves are compared."""

_THREE = ("venus", "teddy", "cones")


def shown(points: Sequence[Point]) -> list[Point]:
    """Points without empty maps."""
    return [p for p in points if p.sparsity_rate < _EMPTY]


def _of(found: Boundary, scene: str, *methods: str) -> list[Point]:
    return [
        p for method, points in found.points[scene].items() if method in methods for p in points
    ]


def _below(found: Boundary, scene: str, first: str, second: str) -> tuple[str, bool]:
    """Whether the curve of one method lies below another's over more than half of the sparsity rates."""
    a, b = (roc_curve(_of(found, scene, name))(_RATES) for name in (first, second))
    # Where both are the zero-algorithm, rounding does not decide.
    share = float(np.mean(a < b - 1e-9))
    return (
        f"{scene}: {first} below {second} over {100 * share:.0f} % of the sparsity rates",
        share > 0.5,
    )


def _ratio(found: Boundary, scene: str, over: str, under: str) -> np.ndarray:
    """The ratio of two methods' curves at the sparsity rates that both reach with an error rate above 0."""
    points = [_of(found, scene, name) for name in (over, under)]
    start = max(min(p.sparsity_rate for p in own) for own in points)
    curves = [roc_curve(own)(_RATES) for own in points]
    both = (start <= _RATES) & (curves[0] > 0) & (curves[1] > 0)
    return np.asarray(curves[0][both] / curves[1][both])


def weak_models_are_accurate(found: Boundary) -> Cases:
    strong, weak = (
        np.median([p.rates for p in shown(_of(found, "stripes", *names))], axis=0)
        for names in (STRONG, STABLE)
    )
    yield (
        f"median ER {strong[1]:.4f} of strong models, {weak[1]:.4f} of weak ones",
        strong[1] >= 10**0.5 * weak[1],
    )
    yield (
        f"median SR {strong[0]:.3f} of strong models, {weak[0]:.3f} of weak ones",
        strong[0] < weak[0],
    )


def density_varies(found: Boundary) -> Cases:
    for name in ("GC", "DP"):
        rates = [p.sparsity_rate for p in _of(found, "stripes", name)]
        yield (
            f"{name} leaves out {min(rates):.3f} to {max(rates):.3f}",
            min(rates) < 0.5 and max(rates) >= _EMPTY,
        )
    yield from bp_is_a_point(found)


def dp_before_gc_on_stripes(found: Boundary) -> Cases:
    yield _below(found, "stripes", "DP", "GC")


def sdm_halves(found: Boundary) -> Cases:
    ratio = float(np.median(_ratio(found, "stripes", "CSM", "SDM")))
    yield f"ER of CSM over that of SDM: median ratio {ratio:.2f}", 2**0.5 <= ratio <= 2**1.5


def bp_is_a_point(found: Boundary) -> Cases:
    rates = [p.sparsity_rate for p in _of(found, "stripes", "BP")]
    yield f"BP leaves out {min(rates):.5f} to {max(rates):.5f}", max(rates) - min(rates) <= SHOWN


def csm_on_stripes(found: Boundary) -> Cases:
    yield _below(found, "stripes", "SDM", "CSM")
    rates = [p.sparsity_rate for p in found.feasible("stripes") if p.method == "CSM"]
    yield (
        f"CSM has {len(rates)} points on the SFB, SR {min(rates, default=0):.3f} and more",
        bool(rates) and min(rates) >= _EMPTY,
    )


def occlusion_not_found(rates: dict[str, Sequence[tuple[float, float]]], occluded: int) -> Cases:
    """Takes sparsity rates and false positives on Slits by method, and the number of occluded pixels."""
    for name, settings in rates.items():
        positives = [wrong for sparsity, wrong in settings if sparsity < 0.5]
        middle = float(np.median(positives)) if positives else 0.0
        yield (
            f"{name}: {middle:.0f} of {occluded} pixels, {len(positives)} settings",
            2 * middle >= occluded,
        )


def _count(found: Boundary, scene: str) -> int:
    return sum(p.method == "GC" for p in shown(found.feasible(scene)))


def gc_reaches_tsukuba_only(found: Boundary, *, scenes: Sequence[str] = ()) -> Cases:
    """Takes the scenes that are meant, all by default."""
    for scene in scenes or found.points:
        yield (
            f"{scene}: GC has {_count(found, scene)} points on the boundary",
            (_count(found, scene) > 0) == (scene == "tsukuba"),
        )


def gc_behind_dp(found: Boundary) -> Cases:
    ratio = float(
        np.exp(np.mean([np.mean(np.log(_ratio(found, scene, "GC", "DP"))) for scene in _THREE]))
    )
    yield f"ER of GC over that of DP: {ratio:.2f} times in the mean", 2.5 <= ratio <= 10


def same_character(found: Boundary) -> Cases:
    for scene in _THREE:
        names = {p.method for p in shown(found.feasible(scene))}
        yield (
            f"{scene}, methods on the boundary: {', '.join(sorted(names))}",
            names == {"BP", "DP", "SDM", "CSM"},
        )


def dp_is_monotonous(found: Boundary) -> Cases:
    worse = {
        scene: len(own) - len(minimal_points(own))
        for scene in found.points
        if (own := _of(found, scene, "DP"))
    }
    mean = len(found.mean["DP"]) - len(minimal_points(found.mean["DP"]))
    yield f"{mean} of {len(found.mean['DP'])} mean points of DP are worse than another", not mean
    yield f"worse points on the scenes: {listed_numbers(worse, form='d')}", any(worse.values())


def _mean_boundary(found: Boundary) -> list[Point]:
    return shown(feasibility_boundary(p for points in found.mean.values() for p in points))


def gc_not_in_mean(found: Boundary) -> Cases:
    counts = {name: sum(p.method == name for p in _mean_boundary(found)) for name in found.mean}
    yield f"settings on M: {listed_numbers(counts, form='d')}", not counts["GC"]


def sdm_and_csm_alternate(found: Boundary) -> Cases:
    order = [p.method for p in _mean_boundary(found) if p.method in STABLE]
    changes = sum(a != b for a, b in itertools.pairwise(order))
    yield f"SDM and CSM: {changes} changes over {len(order)} points", changes >= 2


def most_are_of(found: Boundary, *, scene: str, case: str, methods: Sequence[str]) -> Cases:
    """Of the points of some methods on the ``worst`` or ``best`` boundary over all scenes more than half are of one scene."""
    over_all = {"worst": worst_case, "best": best_case}[case](
        found.feasible(name) for name in found.points
    )
    points = [p for p in shown(over_all) if p.method in methods]
    own = sum(p.scene == scene for p in points)
    yield f"{own} of {len(points)} points of {', '.join(methods)}", 2 * own > len(points)


def _efficiencies(found: Boundary) -> DataFrame:
    """By scene and method."""
    return DataFrame(found.efficiencies()).loc[list(found.points)]


def tsukuba_hardest_for_stable(found: Boundary) -> Cases:
    return cases(
        _efficiencies(found)[["SDM", "CSM"]].items(),
        lambda own: own.idxmin() == "tsukuba",
        "",
        ".3f",
    )


def most_efficient(found: Boundary, *, methods: Sequence[str], scenes: Sequence[str]) -> Cases:
    return cases(
        _efficiencies(found).loc[scenes].iterrows(), lambda own: own.idxmax() in methods, "", ".3f"
    )


def dp_before(found: Boundary, *, other: str, without: Sequence[str] = ()) -> Cases:
    for scene, own in _efficiencies(found).drop(list(without)).iterrows():
        yield (
            f"{scene}: E of DP {own['DP']:.3f}, of {other} {own[other]:.3f}",
            own["DP"] > own[other],
        )


def no_single_winner(found: Boundary) -> Cases:
    for a, row in found.improvements().items():
        for b, gain in row.items():
            yield f"I({a}|{b}) {gain:.3f}", gain >= 0.0005


def which_method_when(found: Boundary) -> Cases:
    points = _mean_boundary(found)
    yield (
        f"densest: {points[0].method}, SR {points[0].sparsity_rate:.3f}",
        points[0].method in STRONG,
    )
    yield (
        f"most accurate: {points[-1].method}, ER {points[-1].error_rate:.4f}",
        points[-1].method in STABLE,
    )


def only_bp_is_dense(found: Boundary) -> Cases:
    for scene, methods in found.points.items():
        for name, points in methods.items():
            most = max(p.sparsity_rate for p in points)
            yield f"{scene}: {name} leaves out up to {most:.5f}", (most <= SHOWN) == (name == "BP")
