"""What the paper concludes from its curves, as statements that our own curves are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stereo_framework.evaluation.roc import Point, dominant_intervals, minimal_points, roc_curve
from stereo_framework.page.page import Statement, Text
from stereo_framework.papers.boundary2007.sweeps import measured
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.tables.boundary import Boundary

_STABLE = ("csm", "stratified")
_DENSE = ("bp", "gc")

_POINT = 0.001
"""Sparsity rates below cannot be told apart in the paper's plots, whose axes are log(x + 0.001)."""

_HALF = 0.5
"""Sparsity rate: half of what could be matched is not."""


def conclusions(context: Context) -> Outcome:
    """The paper's findings, each true or false here; a quick reproduction has too few scenes and settings to tell."""
    statements = findings(measured(context))
    if context.quick:
        statements = [replace(s, holds=None, figures=f"one scene and few settings only; {s.figures}") for s in statements]
    text = (
        "The statements are about algorithms; the curves that they are asked are those of our implementations and of the scenes that are there. What "
        "does not hold may be a matter of the implementation, and what holds too: the paper does not name the graph cuts' matching cost, and with squared "
        "differences, which were tried as well, graph cuts are semi-dense and the best method on every scene (configs/boundary2007/gc_grid.yaml)."
    )
    return Outcome([Text(text)], statements=statements)


def findings(found: Boundary) -> list[Statement]:
    """The statements about measured curves."""
    return [
        _lowest_errors(found),
        _reaches_tsukuba_only(found),
        _programming_before_propagation(found),
        _one_point(found),
        _no_winner(found),
    ]


def _lowest_errors(found: Boundary) -> Statement:
    starts = {scene: _best_from(methods) for scene, methods in {**found.points, "mean": found.mean}.items()}
    told = [f"{scene}: {'nowhere' if start is None else f'from {start:.3f} on'}" for scene, start in starts.items()]
    start = starts["mean"]
    return Statement(
        "Where half of the pixels and fewer are matched, stable matching (csm, stratified) gives the lowest error rates in the mean over the scenes",
        start is not None and start <= _HALF,
        f"sparsity rates at which it does: {'; '.join(told)}",
    )


def _best_from(methods: Mapping[str, Sequence[Point]]) -> float | None:
    """The sparsity rate from which on only stable matching has the lowest error rate; None if another one has it in the end."""
    best = dominant_intervals({name: roc_curve(points) for name, points in methods.items()})
    others = max((high for name, intervals in best.items() if name not in _STABLE for _, high in intervals), default=0.0)
    after = [max(low, others) for name in _STABLE for low, high in best.get(name, []) if high > others]
    return min(after, default=None)


def _reaches_tsukuba_only(found: Boundary) -> Statement:
    counts = {scene: sum(p.method == "gc" and p.sparsity_rate < 1 for p in found.feasible(scene)) for scene in found.points}
    reached = [scene for scene, count in counts.items() if count]
    told = ", ".join(f"{scene} {count}" for scene, count in counts.items())
    return Statement(
        "Graph cuts reach the feasibility boundary on tsukuba only",
        reached == ["tsukuba"],
        f"settings on the boundary, empty maps aside: {told}",
    )


def _programming_before_propagation(found: Boundary) -> Statement:
    e = found.efficiencies()
    pairs = {scene: (e["dp"][scene], e["bp"][scene]) for scene in found.points if scene in e["dp"] and scene in e["bp"]}
    figures = "; ".join(f"{scene}: E {dp:.3f} and {bp:.3f}" for scene, (dp, bp) in pairs.items())
    return Statement(
        "Dynamic programming is better than belief propagation on every scene", all(dp > bp for dp, bp in pairs.values()), figures
    )


def _one_point(found: Boundary) -> Statement:
    widest = {
        scene: {name: _most_left_out(methods[name]) for name in _DENSE if name in methods}
        for scene, methods in found.points.items()
    }
    figures = "; ".join(
        f"{scene}: {', '.join(f'{name} {rate:.5f}' for name, rate in by.items())}" for scene, by in widest.items()
    )
    return Statement(
        "The dense methods, belief propagation and graph cuts, give curves of one point (sparsity rates up to 0.001 are one in the plots)",
        all(rate <= _POINT for by in widest.values() for rate in by.values()),
        f"largest sparsity rates of the curves, empty maps aside: {figures}",
    )


def _most_left_out(points: Sequence[Point]) -> float:
    return max((p.sparsity_rate for p in minimal_points(points) if p.sparsity_rate < 1), default=1.0)


def _no_winner(found: Boundary) -> Statement:
    e = found.efficiencies()
    winners = {scene: max((name for name in e if scene in e[name]), key=lambda name: e[name][scene]) for scene in found.points}
    told = ", ".join(f"{scene} {name} ({e[name][scene]:.3f})" for scene, name in winners.items())
    return Statement("No method is the most efficient one on every scene", len(set(winners.values())) > 1, told)
