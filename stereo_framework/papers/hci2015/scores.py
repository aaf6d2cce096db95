"""All nine scores of every method, with what they are measured on and the time they took."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from stereo_framework.page.page import Cell, Table, mark_best
from stereo_framework.papers.hci2015.runs import COLUMNS, dense, results
from stereo_framework.papers.paper import Context, Outcome, results_details
from stereo_framework.sweep import Result
from stereo_framework.tables.standings import standings


def scores(context: Context) -> Outcome:
    """Means over the scenes."""
    found = results(context)
    if not found:
        return Outcome([])
    of = standings(found, list(COLUMNS.values()))
    kept = {r.method for r in dense(found)}
    rows: list[list[Cell]] = []
    semi: list[list[Cell]] = []
    for i, method in enumerate(of.methods):
        own = [r for r in found if r.method == method]
        cells = [
            Cell(method),
            *(
                _number(of.means[i, j], 1 if name in ("RMS", "Bad1.0", "Bad4.0", "P_orient") else 3)
                for j, name in enumerate(COLUMNS)
            ),
            _number(_mean(own, "hci_missed_structures"), 1),
            _number(100 * _mean(own, "fraction_matched"), 0),
            *(_number(100 * _mean(own, f"hci_coverage_{part}"), 0) for part in ("fuzziness", "offset", "porosity")),
            _number(statistics.mean(s for r in own if (s := r.matching_seconds) is not None), 1),
        ]
        (rows if method in kept else semi).append(cells)
    # Semi-dense methods are measured where they are certain: they take no part in what is best.
    marked = mark_best(rows, ["", *["lower"] * (len(COLUMNS) + 1), *[""] * 4, "lower"]) + semi
    header = ["method", *COLUMNS, "missed", "% estimated", "% of M_e", "% of M_p", "% of M_s", "seconds"]
    note = (
        f"{of.footnote('Means over')}. Lower is better. RMS in pixels of the full size, Bad in percent, the nine metrics in pixels of a quarter of the size. Missed: "
        "structures of which nothing is found. Estimated: of all pixels, and of the subsets at edges, on planes and of fine structures; pixels without an estimate are not "
        "measured. Methods below the dense ones are semi-dense and not compared. Seconds without evaluation, one thread each, several runs at a time."
    )
    return Outcome([Table("Scores of all methods", header, marked, note), results_details(found)])


def _mean(own: Sequence[Result], statistic: str) -> float:
    """Over the scenes that have the statistic."""
    known = [value for r in own if not math.isnan(value := r.statistics[statistic])]
    return statistics.mean(known) if known else math.nan


def _number(value: float, digits: int) -> Cell:
    return Cell("-") if math.isnan(value) else Cell(f"{value:.{digits}f}", value)
