"""Experiments 1 to 3 (section 6.1, Figures 8 to 10): matching costs and their truncation."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from stereo_framework.papers.claim import Cases, Claim, Verdict, by_cases, claims, verdict_word
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.papers.taxonomy2002.readings import COST, INTERVAL, REGIONS, TRUNCATION, errors, plotted, told
from stereo_framework.sweep import Result

Results = Sequence[Result]
Curve = Mapping[float | None, float]
"""Percent of bad pixels by truncation value, None = no truncation."""

Case = tuple[str, bool]
"""Figures, and whether the claim holds."""

_NOISE, _GOOD = (1, 2), (5, 10, 20, 50)
"""Truncation values below the image noise, and the others."""


def _curves(results: Results, region: str = "nonocc") -> dict[str, dict[tuple, Curve]]:
    """The curves by scene and by series, which is method, cost and whether intervals are matched."""
    found: dict[str, dict[tuple, Any]] = {}
    for scene, own in errors(results, region, "method", COST, INTERVAL, TRUNCATION).items():
        for (*series, truncation), value in own.items():
            found.setdefault(scene, {}).setdefault(tuple(series), {})[truncation] = value
    # Nothing can be said about a scene on which runs failed.
    return {scene: own for scene, own in found.items() if all(len(curve) == 7 for curve in own.values())}


def _by_region(judge: Callable[[Mapping[tuple, Curve]], Case]) -> Callable[..., Verdict]:
    """A case for each region and scene, made from the curves there; only the first results are used."""

    @by_cases
    def judged(results: Results, *others: Results) -> Cases:
        for region in REGIONS:
            for scene, series in _curves(results, region).items():
                figures, holds = judge(series)
                yield f"{scene} {region} {figures}", holds

    return judged


def _alike(series: Mapping[tuple, Curve]) -> Case:
    above = (*_GOOD, None)
    pairs = [
        (series[m, "absolute_difference", i], series[m, "squared_difference", i])
        for m, c, i in series
        if c == "absolute_difference"
    ]
    apart = statistics.mean(abs(a[t] - s[t]) for a, s in pairs for t in above)
    spread = statistics.mean(max(c[t] for t in above) - min(c[t] for t in above) for c in series.values())
    return f"{apart:.2f} points apart, {spread:.2f} between truncation values", apart < spread


def _noise(series: Mapping[tuple, Curve]) -> Case:
    worse = [min(c[t] for t in _NOISE) > max(c[t] for t in (*_GOOD, None)) for c in series.values()]
    return f"{sum(worse)} of {len(worse)} curves", all(worse)


def _intervals(series: Mapping[tuple, Curve]) -> list[tuple[Curve, Curve]]:
    """Curves without and with intervals."""
    return [(series[m, c, False], series[m, c, True]) for m, c, i in series if i]


def _interval_helps(series: Mapping[tuple, Curve]) -> Case:
    better = [with_it[t] < plain[t] for plain, with_it in _intervals(series) for t in _NOISE]
    return f"{sum(better)} of {len(better)} settings", all(better)


def _interval_gain(good: Sequence[float | None], series: Mapping[tuple, Curve]) -> Case:
    """Whether intervals gain less at `good` truncation values than in the noise."""
    low, high = (
        statistics.mean(plain[t] - with_it[t] for plain, with_it in _intervals(series) for t in some) for some in (_NOISE, good)
    )
    return f"{high:+.2f} points against {low:+.2f}", high < low


def _untruncated(series: Mapping[tuple, Curve]) -> Case:
    best = [c[None] <= min(c.values()) for c in series.values()]
    return f"{sum(best)} of {len(best)} curves", all(best)


@by_cases
def _near_discontinuities(results: Results) -> Cases:
    gains: dict[str, dict[str, float]] = {}
    for region in REGIONS:
        for scene, series in _curves(results, region).items():
            saved = [c[None] - min(c[t] for t in (*_NOISE, *_GOOD)) for c in series.values()]
            gains.setdefault(scene, {})[region] = statistics.mean(saved)
    for scene, own in gains.items():
        yield f"{scene}: {told(own.items(), '')}", own["discont"] == max(own.values())


def _best(curve: Curve) -> float | None:
    return min(curve, key=curve.__getitem__)


@by_cases
def _from_5_to_50(results: Results) -> Cases:
    for scene, series in _curves(results).items():
        best = [_best(c) for c in series.values()]
        yield f"{scene}: {_listed(best)}", set(best) <= set(_GOOD)


def _around_20(results: Results) -> Verdict:
    best = Counter(_best(c) for series in _curves(results).values() for c in series.values())
    figures = ", ".join(f"{_listed([value])} in {count}" for value, count in best.most_common())
    return Verdict(all(best[20] > count for value, count in best.items() if value != 20) if best else None, figures or "no data")


@by_cases
def _best_varies(results: Results) -> Cases:
    found: dict[tuple, list[float | None]] = {}
    for own in _curves(results).values():
        for series, curve in own.items():
            found.setdefault(series, []).append(_best(curve))
    for series, best in found.items():
        if len(best) > 1:
            yield f"{_named(series)}: {_listed(best)}", len(set(best)) > 1


def _listed(truncations: Sequence[float | None]) -> str:
    return ", ".join("none" if t is None else f"{t:g}" for t in truncations)


def _named(series: tuple) -> str:
    method, cost, interval = series
    words = f"{cost.replace('_', ' ')}{' with intervals' if interval else ''}"
    return f"{method} {words}" if method in ("dp", "so", "gc") else words


@by_cases
def _lowest_at_discontinuities(shifted: Results, plain: Results) -> Cases:
    ours, others = _curves(shifted, "discont"), _curves(plain, "discont")
    for scene in sorted(ours.keys() & others.keys()):
        low = min(c[None] for c in ours[scene].values())
        other = min(min(c.values()) for c in (*others[scene].values(), *ours[scene].values()))
        yield (
            f"{scene}: {low:.2f} % without truncation, {other:.2f} % the lowest of all settings of both experiments",
            low <= other,
        )


@by_cases
def _shifting_before_truncating(shifted: Results, plain: Results) -> Cases:
    ours, others = _curves(shifted), _curves(plain)
    for scene in sorted(ours.keys() & others.keys()):
        # The two experiments are two scripts, and their results bear the scripts' names.
        best_plain = {tuple(series): min(curve.values()) for (_, *series), curve in others[scene].items()}
        for series, curve in ours[scene].items():
            best = best_plain[series[1:]]
            yield f"{scene} {_named(series)}: {curve[None]:.2f} % shifted, {best:.2f} % truncated", curve[None] < best


@by_cases
def _scanlines_benefit(results: Results) -> Cases:
    for scene, series in _curves(results).items():
        gains = {m: statistics.mean(series[m, c, False][t] - curve[t] for t in curve) for (m, c, i), curve in series.items() if i}
        yield f"{scene}: {told(gains.items(), '')}", gains["so"] == max(gains.values())


@by_cases
def _same_verdicts(judged: Sequence[Claim], small: Sequence[Results], large: Sequence[Results]) -> Cases:
    """Whether claims get the same verdicts with one window as with the other."""
    for claim in judged:
        with_small, with_large = claim.judge(*small).holds, claim.judge(*large).holds
        if with_small is not None and with_large is not None:
            words = f"{claim.name.replace('_', ' ')} {verdict_word(with_small)} with 9, {verdict_word(with_large)} with 21"
            yield words, with_small == with_large


_ONE = claims(
    "taxonomy2002",
    {
        "costs_alike": _by_region(_alike),
        "truncation_near_discontinuities": _near_discontinuities,
        "truncation_5_to_50": _from_5_to_50,
        "truncation_20": _around_20,
        "noise": _by_region(_noise),
        "interval_in_noise": _by_region(_interval_helps),
        "interval_at_good_values": _by_region(partial(_interval_gain, _GOOD)),
        "best_varies": _best_varies,
    },
)
_TWO = claims(
    "taxonomy2002",
    {
        "shiftable_costs_alike": _by_region(_alike),
        "untruncated_best": _by_region(_untruncated),
        "lowest_at_discontinuities": _lowest_at_discontinuities,
        "shifting_before_truncating": _shifting_before_truncating,
        "shiftable_interval": _by_region(partial(_interval_gain, (None,))),
    },
)
_THREE = claims(
    "taxonomy2002",
    {
        "global_noise": _by_region(_noise),
        "global_interval_in_noise": _by_region(_interval_helps),
        "interval_in_scanlines": _scanlines_benefit,
        "global_best_varies": _best_varies,
    },
)
_WINDOW_1, _WINDOW_2 = claims(
    "taxonomy2002", {"window_21": partial(_same_verdicts, _ONE), "shiftable_window_21": partial(_same_verdicts, _TWO)}
)
CLAIMS = (*_ONE, _WINDOW_1, *_TWO, _WINDOW_2, *_THREE)


def experiment1(context: Context) -> Outcome:
    """Matching costs and truncation with a plain window, of 9x9 and of 21x21 pixels."""
    (small, large), outcome = plotted(context, "experiment1", "experiment1_window21")
    return replace(outcome, statements=[*(c.asked(small) for c in _ONE), _WINDOW_1.asked((small,), (large,))])


def experiment2(context: Context) -> Outcome:
    """Matching costs and truncation with a shiftable window, of 9x9 and of 21x21 pixels."""
    (small, large), outcome = plotted(context, "experiment2", "experiment2_window21")
    plain = context.run("experiment1"), context.run("experiment1_window21")
    told_of = [*(c.asked(small, plain[0]) for c in _TWO), _WINDOW_2.asked((small, plain[0]), (large, plain[1]))]
    return replace(outcome, statements=told_of)


def experiment3(context: Context) -> Outcome:
    """Matching costs and truncation with dynamic programming, scanline optimization and graph cuts."""
    (results,), outcome = plotted(context, "experiment3")
    return replace(outcome, statements=[c.asked(results) for c in _THREE])
