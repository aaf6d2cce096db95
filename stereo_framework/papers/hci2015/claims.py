"""The judges of the paper's sentences, by their names in ``paper.yaml``. Measures have the paper's names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np

from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.papers.claim import Cases

COLUMNS = {
    "RMS": "rms_error_nonocc",
    "Bad1.0": "bad1_nonocc",
    "Bad4.0": "bad4_nonocc",
    **{metric.symbol: name for name, metric in HCI_METRICS.items()},
}
"""The paper's names of the measures, with our statistics."""

GEOMETRIC = tuple(metric.symbol for metric in HCI_METRICS.values())
"""The paper's names of the nine metrics."""

THREE = ("sgbm", "gc", "window")
"""The methods of Figure 1."""

Ranks = Mapping[str, Mapping[str, int]]
"""By measure and method; 1 is best."""

Scores = Mapping[str, Mapping[str, float]]
"""By measure and method, on one image."""

R2 = Mapping[tuple[str, str], float]
"""By two measures."""


def rms_is_limited(ranks: Ranks) -> Cases:
    if "RMS" in ranks:
        best = min(ranks["RMS"], key=ranks["RMS"].__getitem__)
        places = {name: ranks[name][best] for name in GEOMETRIC}
        told = ", ".join(f"{name} {place}" for name, place in places.items())
        yield f"{best}, first by RMS, has the ranks {told}", 2 * sum(place == 1 for place in places.values()) < len(places)


def rankings_reveal(ranks: Ranks) -> Cases:
    for name in GEOMETRIC if ranks else ():
        distance = {m: min((abs(ranks[name][m] - ranks[e][m]), e) for e in ("RMS", "Bad1.0", "Bad4.0")) for m in ranks[name]}
        method = max(distance, key=lambda m: distance[m][0])
        places, nearest = distance[method]
        yield f"{name}: {method} is {ranks[name][method]}, by {nearest} {ranks[nearest][method]}", places >= 3


def rank_differently(ranks: Ranks) -> Cases:
    if ranks and set(THREE) <= ranks["RMS"].keys():
        orders = {name: " < ".join(sorted(THREE, key=ranks[name].__getitem__)) for name in GEOMETRIC}
        yield "; ".join(f"{name} {order}" for name, order in orders.items()), len(set(orders.values())) > 1


def _opposed(scores: Scores) -> Iterator[tuple[str, bool]]:
    """Of two measures, whether a quarter of the pairs that both tell apart by a tenth is ordered in opposite ways."""
    first, second = scores.values()
    both = [(a, b) for a, b in itertools.combinations(first, 2) if all(_apart(of[a], of[b]) for of in (first, second))]
    opposed = [(a, b) for a, b in both if (first[a] < first[b]) != (second[a] < second[b])]
    if both:
        told = [f"{name} {first[name]:.3g} and {second[name]:.3g}" for name in (opposed or both)[0]]
        yield (
            f"{' and '.join(scores)}: {len(opposed)} of {len(both)} pairs, such as {', '.join(told)}",
            4 * len(opposed) >= len(both),
        )


def _apart(a: float, b: float) -> bool:
    return abs(a - b) >= 0.1 * max(a, b) > 0


def similar_rms(scores: Scores) -> Cases:
    rms, porosity = scores["RMS"], scores["F_por"]
    pairs = itertools.combinations(rms, 2)
    if pair := min(pairs, key=lambda p: _share(rms, p), default=None):
        told = " and ".join(f"{name} RMS {rms[name]:.2f}, F_por {porosity[name]:.2f}" for name in pair)
        yield told, _share(rms, pair) < 0.05 and _share(porosity, pair) > 0.25


def _share(values: Mapping[str, float], pair: tuple[str, str]) -> float:
    """The difference of two values as a share of the larger one."""
    a, b = (values[name] for name in pair)
    return abs(a - b) / max(a, b) if max(a, b) > 0 else 0.0


def weights_change_ranks(scores: Scores) -> Cases:
    """Takes the means over the images."""
    methods = list(next(iter(scores.values()), ()))
    if len(methods) > 1:
        shares = np.array([[scores[c][m] / max(scores[c].values()) for c in GEOMETRIC] for m in methods])
        weights = np.where([c.startswith("F_") for c in GEOMETRIC], 3.0, 1.0)
        orders = [[methods[i] for i in np.argsort(shares @ w)] for w in (np.ones(len(GEOMETRIC)), weights)]
        yield " becomes ".join(" < ".join(order) for order in orders), orders[0] != orders[1]


def more_with_badpix(r2: R2) -> Cases:
    mean = float(np.mean([r2["RMS", name] for name in GEOMETRIC]))
    for name in ("Bad1.0", "Bad4.0"):
        yield f"RMS and {name} {r2['RMS', name]:.2f}, mean of the nine {mean:.2f}", r2["RMS", name] > mean


def little_with_rms(r2: R2) -> Cases:
    own = {name: r2["RMS", name] for name in GEOMETRIC}
    middle = float(np.median(list(own.values())))
    yield f"median {middle:.2f}: {', '.join(f'{name} {value:.2f}' for name, value in own.items())}", middle < 0.5


def _low(values: list[float]) -> tuple[str, bool]:
    low = sum(value < 0.2 for value in values)
    return f"{low} of {len(values)} pairs are below 0.2, median {float(np.median(values)):.2f}", 2 * low > len(values)


def very_low(r2: R2, table: list[tuple[str, str]]) -> Cases:
    """Takes the pairs that the printed table shows, too."""
    yield _low([r2[pair] for pair in table])


def uncorrelated(r2: R2) -> Cases:
    yield _low([r2[pair] for pair in itertools.combinations(GEOMETRIC, 2)])


def correlated_pairs(r2: R2) -> Cases:
    for a, b in (("Bad1.0", "Bad4.0"), ("D_fat", "F_fat")):
        yield f"{a} and {b} {r2[a, b]:.2f}", r2[a, b] >= 0.5


def subset_rankings(correlations: Mapping[str, tuple[float, float]]) -> Cases:
    """Takes the rank correlations of each metric with the RMS of the image and with that of its own subset."""
    if correlations:
        whole, own = (float(np.mean([pair[i] for pair in correlations.values()])) for i in (0, 1))
        yield f"mean rank correlation {whole:.2f} with the image's, {own:.2f} with the subset's", own > whole
        for name, (_, rho) in correlations.items():
            yield f"{name} {rho:.2f}", rho < 1 - 1e-9


planes_apart = order_changes = _opposed
