"""Experiments 5 and 6 (section 6.3, Figures 13 and 14): the weight of smoothness, gradients and intervals in global methods."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from stereo_framework.papers.claim import Cases, Verdict, by_cases, claims
from stereo_framework.papers.paper import Context, Outcome, results_details, short
from stereo_framework.papers.taxonomy2002.readings import (
    INTERVAL,
    OCCLUSION,
    PENALTY,
    REGIONS,
    WEIGHT,
    Errors,
    errors,
    plotted,
    told,
)
from stereo_framework.sweep import Result

Results = Sequence[Result]


@by_cases
def _graph_cuts_best(results: Results) -> Cases:
    for region in REGIONS:
        for scene, own in errors(results, region, "method", WEIGHT, OCCLUSION).items():
            best = {m: min(v for (method, *_), v in own.items() if method == m) for m, *_ in own}
            if "gc" in best:
                yield f"{scene} {region}: {told(best.items())}", all(best["gc"] < v for m, v in best.items() if m != "gc")


@by_cases
def _before_annealing(results: Results) -> Cases:
    for scene, own in errors(results, "nonocc", "method", WEIGHT, "optimization.seed").items():
        weights = sorted({weight for method, weight, _ in own if method == "gc"})
        errors_at = {w: {m: [v for (n, x, _), v in own.items() if (n, x) == (m, w)] for m in ("gc", "sa")} for w in weights}
        lost = [w for w, e in errors_at.items() if e["sa"] and max(e["gc"]) >= min(e["sa"])]
        yield f"{scene}: {_of(weights, lost)}", not lost


def _of(weights: Sequence[float], lost: Sequence[float]) -> str:
    where = f", not at {', '.join(f'{w:g}' for w in lost)}" if lost else ""
    return f"{len(weights) - len(lost)} of {len(weights)} weights{where}"


@by_cases
def _weights_vary(results: Results) -> Cases:
    best: dict[str, dict[str, float]] = {}
    for scene, own in errors(results, "nonocc", "method", WEIGHT, OCCLUSION).items():
        for method in dict.fromkeys(m for m, *_ in own):
            lowest = min((key for key in own if key[0] == method), key=own.__getitem__)
            best.setdefault(method, {})[scene] = lowest[1]
    for method, by_scene in best.items():
        if len(by_scene) > 1:
            yield f"{method}: {', '.join(f'{s} {w:g}' for s, w in by_scene.items())}", len(set(by_scene.values())) > 1


@by_cases
def _lowest_energy(results: Results) -> Cases:
    energies: dict[str, dict[float, dict[str, list[float]]]] = {}
    for r in results:
        if r.energy is not None:
            energies.setdefault(short(r.scene), {}).setdefault(r.parameters[WEIGHT], {}).setdefault(r.method, []).append(r.energy)
    for scene, by_weight in energies.items():
        lost = [w for w, e in by_weight.items() if "gc" in e and max(e["gc"]) > min(v for own in e.values() for v in own)]
        yield f"{scene}: {_of(list(by_weight), lost)}", not lost


def _by_penalty(results: Results) -> Errors:
    """Errors by scene, interval and penalty; scenes on which runs failed are left out."""
    return {scene: own for scene, own in errors(results, "nonocc", INTERVAL, PENALTY).items() if len(own) == 6}


@by_cases
def _penalty_helps(results: Results) -> Cases:
    for scene, own in _by_penalty(results).items():
        for interval in (False, True):
            plain, better = own[interval, 1], min(own[interval, 2], own[interval, 4])
            words = "with" if interval else "without"
            yield f"{scene} {words} intervals: {better:.2f} % with a penalty, {plain:.2f} % without", better < plain


@by_cases
def _interval_helps(results: Results) -> Cases:
    for scene, own in _by_penalty(results).items():
        for penalty in (1, 2, 4):
            plain, with_it = own[False, penalty], own[True, penalty]
            yield f"{scene} penalty {penalty}: {with_it:.2f} % with, {plain:.2f} % without", with_it < plain


def _image_specific(results: Results) -> Verdict:
    found = _by_penalty(results)
    best = {scene: min(own, key=own.__getitem__)[1] for scene, own in found.items()}
    figures = ", ".join(f"{scene} {penalty:g}" for scene, penalty in best.items())
    return Verdict(len(set(best.values())) > 1 if len(best) > 1 else None, figures or "no data")


def _gains(results: Results, key: str, without: object) -> dict[tuple[str, str], list[float]]:
    """Percentage points that other values of `key` gain over `without`, all else being equal, by scene and method."""
    found: dict[tuple[str, str], list[float]] = {}
    keys = ("method", key, *(k for k in (WEIGHT, OCCLUSION, INTERVAL, PENALTY) if k != key))
    for scene, own in errors(results, "nonocc", *keys).items():
        for (method, value, *rest), error in own.items():
            if value != without:
                found.setdefault((scene, method), []).append(own[(method, without, *rest)] - error)
    return found


@by_cases
def _gain_in(at_least: Callable[[float], bool], key: str, without: object, results: Results) -> Cases:
    """The share of the settings in which something other than `without` gains, by scene and method."""
    for (scene, method), own in _gains(results, key, without).items():
        better = sum(g > 0 for g in own)
        yield f"{scene} {method}: {better} of {len(own)} pairs", at_least(better / len(own))


@by_cases
def _penalty_helps_so(results: Results) -> Cases:
    means = {key: statistics.mean(own) for key, own in _gains(results, PENALTY, 1).items()}
    for scene in dict.fromkeys(scene for scene, _ in means):
        so, dp = means[scene, "so"], means[scene, "dp"]
        yield f"{scene}: {so:+.2f} points, dp {dp:+.2f}", so > dp


_FIVE = claims(
    "taxonomy2002",
    {
        "graph_cuts_best": _graph_cuts_best,
        "before_annealing": _before_annealing,
        "weights_vary": _weights_vary,
        "lowest_energy": _lowest_energy,
    },
)
_SIX = claims(
    "taxonomy2002", {"penalty_helps": _penalty_helps, "interval_helps": _interval_helps, "penalty_varies": _image_specific}
)
_SCANLINES = claims(
    "taxonomy2002",
    {
        "penalty_usually_helps": partial(_gain_in, lambda share: share > 0.5, PENALTY, 1),
        "penalty_helps_so": _penalty_helps_so,
        "interval_always_helps": partial(_gain_in, lambda share: share == 1, INTERVAL, False),
    },
)
CLAIMS = (*_FIVE, *_SIX, *_SCANLINES)


def experiment5(context: Context) -> Outcome:
    """The weight of smoothness in the global methods."""
    (results,), outcome = plotted(context, "experiment5")
    return replace(outcome, statements=[c.asked(results) for c in _FIVE])


def experiment6(context: Context) -> Outcome:
    """Gradient-dependent smoothness and interval matching in graph cuts, dynamic programming and scanline optimization."""
    cuts = [*context.run("experiment6"), *context.run("experiment6_map")]
    (scanlines,), outcome = plotted(context, "experiment6_scanlines")
    return replace(
        outcome,
        blocks=[*context.plots("experiment6", cuts), results_details(cuts), *outcome.blocks],
        statements=[*(c.asked(cuts) for c in _SIX), *(c.asked(scanlines) for c in _SCANLINES)],
    )
