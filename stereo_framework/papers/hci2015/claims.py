"""The judges of the paper's sentences, by their names in ``paper.yaml``. Metrics have the paper's names.

`ranks` (1 is best) and `scores` have a row for each method and a column for each metric; `r2` has a row and a column for each metric.
"""

import itertools

import numpy as np
from pandas import DataFrame, Series

from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.papers.claim import Cases, listed_numbers

COLUMNS = {
    "RMS": "rms_error_nonocc",
    "Bad1.0": "bad1_nonocc",
    "Bad4.0": "bad4_nonocc",
    **{metric.symbol: name for name, metric in HCI_METRICS.items()},
}
"""The paper's names of the metrics, with our statistics."""

GEOMETRIC = [metric.symbol for metric in HCI_METRICS.values()]
"""The paper's names of the nine metrics."""

THREE = ["sgbm", "gc", "window"]
"""The methods of Figure 1."""


def rms_is_limited(ranks: DataFrame) -> Cases:
    best = ranks["RMS"].idxmin()
    own = ranks.loc[best, GEOMETRIC]
    yield (
        f"{best}, first by RMS, has the ranks {listed_numbers(own, form='')}",
        2 * (own == 1).sum() < len(own),
    )


def rankings_reveal(ranks: DataFrame) -> Cases:
    for name in GEOMETRIC:
        apart = ranks[["Bad1.0", "Bad4.0", "RMS"]].sub(ranks[name], axis=0).abs()
        method = apart.min(axis=1).idxmax()
        nearest = apart.loc[method].idxmin()
        figures = (
            f"{name}: {method} is {ranks[name][method]}, by {nearest} {ranks[nearest][method]}"
        )
        yield figures, apart[nearest][method] >= 3


def rank_differently(ranks: DataFrame) -> Cases:
    if set(THREE) <= set(ranks.index):
        orders = {
            name: " < ".join(ranks.loc[THREE, name].sort_values(kind="stable").index)
            for name in GEOMETRIC
        }
        yield (
            "; ".join(f"{name} {order}" for name, order in orders.items()),
            len(set(orders.values())) > 1,
        )


def _share(pair: Series) -> float:
    """The difference of two values as a share of the larger one."""
    return float((pair.max() - pair.min()) / pair.max()) if pair.max() > 0 else 0.0


def opposed(scores: DataFrame) -> Cases:
    """Of two metrics, whether a quarter of the pairs that both tell apart by a tenth is ordered in opposite ways."""
    pairs = [scores.loc[list(pair)] for pair in itertools.combinations(scores.index, 2)]
    both = [
        pair
        for pair in pairs
        if pair.apply(lambda own: own.max() - own.min() >= 0.1 * own.max() > 0).all()
    ]
    opposed = [pair for pair in both if pair.idxmin().nunique() > 1]
    if both:
        figures = [
            f"{name} {first:.3g} and {second:.3g}"
            for name, first, second in (opposed or both)[0].itertuples()
        ]
        yield (
            f"{' and '.join(scores)}: {len(opposed)} of {len(both)} pairs, such as {', '.join(figures)}",
            4 * len(opposed) >= len(both),
        )


def similar_rms(scores: DataFrame) -> Cases:
    pairs = [scores.loc[list(pair)] for pair in itertools.combinations(scores.index, 2)]
    if pairs:
        pair = min(pairs, key=lambda pair: _share(pair["RMS"]))
        figures = (
            f"{name} RMS {rms:.2f}, F_por {porosity:.2f}"
            for name, rms, porosity in pair[["RMS", "F_por"]].itertuples()
        )
        yield " and ".join(figures), _share(pair["RMS"]) < 0.05 and _share(pair["F_por"]) > 0.25


def weights_change_ranks(scores: DataFrame) -> Cases:
    """Takes the means over the images."""
    shares = scores[GEOMETRIC] / scores[GEOMETRIC].max()
    orders = [
        list(
            (shares @ [weight if name.startswith("F_") else 1.0 for name in GEOMETRIC])
            .sort_values()
            .index
        )
        for weight in (1, 3)
    ]
    if len(shares) > 1:
        yield " becomes ".join(map(" < ".join, orders)), orders[0] != orders[1]


def more_with_badpix(r2: DataFrame) -> Cases:
    mean = r2["RMS"][GEOMETRIC].mean(skipna=False)
    for name in ("Bad1.0", "Bad4.0"):
        yield (
            f"RMS and {name} {r2['RMS'][name]:.2f}, mean of the nine {mean:.2f}",
            r2["RMS"][name] > mean,
        )


def little_with_rms(r2: DataFrame) -> Cases:
    own = r2["RMS"][GEOMETRIC]
    middle = own.median(skipna=False)
    yield f"median {middle:.2f}: {listed_numbers(own)}", middle < 0.5


def _low(values: list[float]) -> tuple[str, bool]:
    low = sum(value < 0.2 for value in values)
    return (
        f"{low} of {len(values)} pairs are below 0.2, median {np.median(values):.2f}",
        2 * low > len(values),
    )


def very_low(r2: DataFrame, table: list[tuple[str, str]]) -> Cases:
    """Takes the pairs that the printed table shows, too."""
    yield _low([r2[a][b] for a, b in table])


def uncorrelated(r2: DataFrame) -> Cases:
    yield _low([r2[a][b] for a, b in itertools.combinations(GEOMETRIC, 2)])


def correlated_pairs(r2: DataFrame) -> Cases:
    for a, b in (("Bad1.0", "Bad4.0"), ("D_fat", "F_fat")):
        yield f"{a} and {b} {r2[a][b]:.2f}", r2[a][b] >= 0.5


def subset_rankings(correlations: DataFrame) -> Cases:
    """Takes the rank correlations of each metric with the RMS of the image and with that of its own subset."""
    whole, own = correlations.mean(skipna=False)
    yield (
        f"mean rank correlation {whole:.2f} with the image's, {own:.2f} with the subset's",
        own > whole,
    )
    for name, _, rho in correlations.itertuples():
        yield f"{name} {rho:.2f}", rho < 1 - 1e-9
