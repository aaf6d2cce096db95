"""What the paper says about its curves and tables, as statements that are tested on our own curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from stereo_framework.evaluation.roc import (
    Point,
    best_case,
    dominant_intervals,
    efficiency,
    feasibility_boundary,
    minimal_points,
    roc_curve,
    worst_case,
)
from stereo_framework.page.page import Text
from stereo_framework.papers.boundary2007.sweeps import METHODS, SCENES, measured
from stereo_framework.papers.claim import Cases, Claim, Verdict, by_cases, claims
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.papers.published import published_table
from stereo_framework.tables.boundary import Boundary

_STABLE = ("csm", "stratified")

_DENSE = 0.001
"""Sparsity rates up to this are 0 in the paper's plots, whose axes are log(x + 0.001)."""

_EMPTY = 1 - 1e-9
"""Sparsity rate from which on a map counts as empty; rounding may put a mean of ones slightly below 1."""

_HALF = 0.5
"""Sparsity rate at which half of the pixels that could be matched are not."""


def conclusions(context: Context) -> Outcome:
    """The paper's findings; a quick reproduction has too few scenes and settings to judge them."""
    found = measured(context)
    absent = [name for name in SCENES if name not in found.points]
    reason = "one scene and few settings only" if context.quick else f"not measured: {', '.join(absent)}"
    # On fewer scenes than the paper's, this would be a different statement.
    statements = [c.unasked(reason) if context.quick or absent else c.asked(found) for c in CLAIMS]
    text = (
        "The statements are about algorithms; the curves that they are asked are those of our implementations. Stripes and slits are scenes of our own in "
        "the place of the paper's. A match that would lie outside the match image has no cell in the table of equations 3 to 5; it counts as an error "
        "here, since a dense map could otherwise go without its errors at the image's side."
    )
    return Outcome([Text(text)], statements=statements)


@by_cases
def _density_varies(found: Boundary) -> Cases:
    for name in ("gc", "dp"):
        for scene, methods in found.points.items():
            rates = [p.sparsity_rate for p in methods[name]]
            yield f"{scene}: {name} leaves out {min(rates):.3f} to {max(rates):.3f}", max(rates) - min(rates) > _DENSE
        empty = [scene for scene, methods in found.points.items() if any(p.sparsity_rate == 1 for p in methods[name])]
        yield f"{name} is empty at some setting on {', '.join(empty) or 'no scene'}", bool(empty)


@by_cases
def _only_propagation_is_dense(found: Boundary) -> Cases:
    for scene, methods in found.points.items():
        for name, points in methods.items():
            most = max(p.sparsity_rate for p in points)
            yield f"{scene}: {name} leaves out up to {most:.5f}", (most <= _DENSE) == (name == "bp")


@by_cases
def _one_point(found: Boundary) -> Cases:
    for scene, methods in found.points.items():
        count = len({p.rates for p in minimal_points(methods["bp"])})
        yield f"{scene}: {count}", count == 1


def _lowest_errors(found: Boundary) -> Verdict:
    starts = {scene: _best_from(methods) for scene, methods in {**found.points, "mean": found.mean}.items()}
    told = [f"{scene}: {'nowhere' if start is None else f'from {start:.3f} on'}" for scene, start in starts.items()]
    start = starts["mean"]
    return Verdict(start is not None and start <= _HALF, f"sparsity rates at which it does: {'; '.join(told)}")


def _best_from(methods: Mapping[str, Sequence[Point]]) -> float | None:
    """The sparsity rate from which on only stable matching has the lowest error rate; None if another one has it in the end."""
    best = dominant_intervals({name: roc_curve(points) for name, points in methods.items()})
    others = max((high for name, intervals in best.items() if name not in _STABLE for _, high in intervals), default=0.0)
    after = [max(low, others) for name in _STABLE for low, high in best.get(name, []) if high > others]
    return min(after, default=None)


def _reaches_tsukuba_only(found: Boundary) -> Verdict:
    counts = {scene: sum(p.method == "gc" and p.sparsity_rate < _EMPTY for p in found.feasible(scene)) for scene in found.points}
    told = ", ".join(f"{scene} {count}" for scene, count in counts.items())
    reached = [scene for scene, count in counts.items() if count]
    return Verdict(reached == ["tsukuba"], f"settings on the boundary, empty maps aside: {told}")


def _on_the_mean_boundary(found: Boundary) -> Verdict:
    boundary = feasibility_boundary([p for points in found.mean.values() for p in points])
    counts = {name: sum(p.method == name and p.sparsity_rate < _EMPTY for p in boundary) for name in found.mean}
    return Verdict(counts["gc"] > 0, f"settings on M, empty maps aside: {', '.join(f'{n} {c}' for n, c in counts.items())}")


def _only_empty_on_a_boundary(found: Boundary) -> Verdict:
    of = {scene: [p.sparsity_rate for p in found.feasible(scene) if p.method == "csm"] for scene in found.points}
    told = "; ".join(f"{scene}: {len(rates)} points, SR {min(rates, default=1):.3f} and more" for scene, rates in of.items())
    return Verdict(any(rates and min(rates) == 1 for rates in of.values()), told)


@by_cases
def _programming_before_propagation(found: Boundary) -> Cases:
    e = found.efficiencies()
    for scene in found.points:
        dp, bp = e["dp"][scene], e["bp"][scene]
        yield f"{scene}: E {dp:.3f} and {bp:.3f}", dp > bp


def _no_winner(found: Boundary) -> Verdict:
    winners = {scene: _extreme(found, scene, max) for scene in found.points}
    told = ", ".join(f"{scene} {name} ({value:.3f})" for scene, (name, value) in winners.items())
    return Verdict(len({name for name, _ in winners.values()}) > 1, told)


def _case_of(scene: str, case: Callable[..., list[Point]], found: Boundary) -> Verdict:
    """Of the points of a case over all scenes, without empty maps, most belong to one scene."""
    boundaries = {name: found.feasible(name) for name in found.points}
    points = [p for p in case(boundaries.values()) if p.sparsity_rate < _EMPTY]
    own = sum(p.scene == scene for p in points)
    told = ", ".join(f"{name} {efficiency(roc_curve(some)):.3f}" for name, some in boundaries.items())
    return Verdict(2 * own > len(points), f"{own} of {len(points)} points; efficiencies of the scenes' boundaries: {told}")


def _extreme(found: Boundary, column: str, which: Callable[..., str]) -> tuple[str, float]:
    """The method with the highest or lowest efficiency in a column, and that efficiency."""
    e = found.efficiencies()
    name = which(e, key=lambda method: e[method][column])
    return name, e[name][column]


def _marked(column: str, method: str, which: Callable[..., str], found: Boundary) -> Verdict:
    """A method has the best or the worst efficiency of a column."""
    name, value = _extreme(found, column, which)
    return Verdict(name == method, f"{name} {value:.3f}, {method} {found.efficiencies()[method][column]:.3f}")


def _table_1() -> list[Claim]:
    """Which method is most and which is least efficient on each scene, as the marks in Table 1 say."""
    rows, ours = published_table("boundary2007", "table1").rows, {label: name for name, label in METHODS.items()}
    (pattern,) = claims("boundary2007", {"efficient": _marked})
    found = []
    for column in ("tsukuba", "teddy", "cones", "venus", "stripes", "slits", "Expected"):
        printed = {label: row[SCENES.get(column, column)] for label, row in rows.items()}
        where = f"on {column}" if column in SCENES else "in the mean"
        for degree, which in (("most", max), ("least", min)):
            label = which(printed, key=printed.__getitem__)
            text = pattern.text.format(method=label, degree=degree, where=where)
            judge = partial(_marked, column, ours[label], which)
            found.append(replace(pattern, name=f"{degree}_efficient_{column}", text=text, judge=judge))
    return found


CLAIMS = (
    *claims(
        "boundary2007",
        {
            "density_varies": _density_varies,
            "only_bp_is_dense": _only_propagation_is_dense,
            "dense_curve_is_a_point": _one_point,
            "stable_at_low_density": _lowest_errors,
            "gc_reaches_tsukuba_only": _reaches_tsukuba_only,
            "gc_in_mean": _on_the_mean_boundary,
            "csm_empty_on_a_boundary": _only_empty_on_a_boundary,
            "dp_before_bp": _programming_before_propagation,
            "no_winner": _no_winner,
            "stripes_is_worst": partial(_case_of, "stripes", worst_case),
            "slits_is_best": partial(_case_of, "slits", best_case),
        },
    ),
    *_table_1(),
)
"""What the paper says: each statement is true or false for a `Boundary` of all six scenes."""
