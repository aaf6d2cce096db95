"""Figure 6: methods ranked by every measure, and what the abstract says about such rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stereo_framework.page.page import Cell, PageTable, Text
from stereo_framework.papers.claim import Cases, Verdict, by_cases, claims
from stereo_framework.papers.hci2015.runs import COLUMNS, GEOMETRIC, dense, results
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.sweep import Result
from stereo_framework.tables.ranking import competition_ranks
from stereo_framework.tables.standings import standings

Ranks = Mapping[str, Mapping[str, int]]
"""By measure (the paper's symbols) and method; 1 is best."""

_EXISTING = ("RMS", "Bad1.0", "Bad4.0")

_FAR = 3
"""Smallest difference of a method's ranks that counts as a different strength or weakness."""


def figure6(context: Context) -> Outcome:
    """Ranks of the dense methods by the mean over the scenes, in each measure."""
    found = dense(results(context))
    if not found:
        return Outcome([Text("No results to rank.")], statements=[c.unasked("no data") for c in CLAIMS])
    ranks = _ranks(found)
    rows = [
        [Cell(method), *(Cell.number(ranks[column][method], "d") for column in COLUMNS)]
        for method in sorted(ranks["RMS"], key=ranks["RMS"].__getitem__)
    ]
    note = "1 is best, of the mean over the scenes; equal means share the better rank, a missing one is last. Semi-dense methods are left out."
    table = PageTable("Ranks by each measure, in the order of RMS", ["method", *COLUMNS], rows, note)
    return Outcome([table], statements=[c.asked(ranks) for c in CLAIMS])


def _ranks(found: Sequence[Result]) -> dict[str, dict[str, int]]:
    of = standings(found, list(COLUMNS.values()))
    # A method without a score where others have one is last, as in the charts.
    means = np.where(np.isnan(of.means), np.inf, of.means)
    return {
        column: dict(zip(of.methods, competition_ranks(means[:, i]).tolist(), strict=True)) for i, column in enumerate(COLUMNS)
    }


def _limited(ranks: Ranks) -> Verdict:
    """The method that RMS puts first is first in less than half of the metrics."""
    best = min(ranks["RMS"], key=ranks["RMS"].__getitem__)
    places = {name: ranks[name][best] for name in GEOMETRIC}
    told = ", ".join(f"{name} {place}" for name, place in places.items())
    return Verdict(2 * sum(place == 1 for place in places.values()) < len(places), f"{best}, first by RMS, has the ranks {told}")


@by_cases
def _reveals(ranks: Ranks) -> Cases:
    """Every metric ranks some method far from where each existing measure ranks it."""
    for name in GEOMETRIC:
        distance = {m: min((abs(ranks[name][m] - ranks[e][m]), e) for e in _EXISTING) for m in ranks[name]}
        method = max(distance, key=lambda m: distance[m][0])
        places, nearest = distance[method]
        yield f"{name}: {method} is {ranks[name][method]}, by {nearest} {ranks[nearest][method]}", places >= _FAR


CLAIMS = claims("hci2015", {"rms_is_limited": _limited, "rankings_reveal": _reveals})
"""The abstract's statements, tested on `Ranks`."""
