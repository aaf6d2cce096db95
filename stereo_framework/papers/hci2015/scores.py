"""All nine scores of every method, the pixels they are measured on, and the time they took."""

from __future__ import annotations

import math

from stereo_framework.page.page import Cell, PageTable, mark_best
from stereo_framework.papers.hci2015.runs import COLUMNS, dense, results
from stereo_framework.papers.paper import Context, Outcome, results_details
from stereo_framework.script.result_names import STATISTIC
from stereo_framework.tables.means import means
from stereo_framework.tables.standings import standings

_OTHERS = {
    "hci_missed_structures": (1, ".1f"),
    "fraction_matched": (100, ".0f"),
    **{f"hci_coverage_{part}": (100, ".0f") for part in ("fuzziness", "offset", "porosity")},
    "seconds": (1, ".1f"),
}
"""Further columns beside the scores: the factor to the unit that is shown, and the number of digits."""


def scores(context: Context) -> Outcome:
    """Means over the scenes."""
    found = results(context)
    if not found:
        return Outcome([])
    of = standings(found, list(COLUMNS.values()))
    by_key = means(found, ["method", STATISTIC], list(_OTHERS)).cells
    others = {key: math.nan if mean.value is None else mean.value for key, mean in by_key.items()}
    forms = [".1f" if name in ("RMS", "Bad1.0", "Bad4.0", "P_orient") else ".3f" for name in COLUMNS]
    kept = {r.method for r in dense(found)}
    rows: list[list[Cell]] = []
    semi: list[list[Cell]] = []
    for i, method in enumerate(of.methods):
        row = [Cell(method), *map(Cell.number, of.means[i], forms)]
        row += [Cell.number(factor * others.get((method, name), math.nan), form) for name, (factor, form) in _OTHERS.items()]
        (rows if method in kept else semi).append(row)
    # Semi-dense methods are only measured where they are certain, so they do not compete for the best score.
    marked = mark_best(rows, ["", *["lower"] * (len(COLUMNS) + 1), *[""] * 4, "lower"]) + semi
    header = ["method", *COLUMNS, "missed", "% estimated", "% of M_e", "% of M_p", "% of M_s", "seconds"]
    note = (
        f"{of.footnote('Means over')}. Lower is better. RMS in pixels of the full size, Bad in percent, the nine metrics in pixels of a quarter of the size. Missed: "
        "structures of which nothing is found. Estimated: of all pixels, and of the subsets at edges, on planes and of fine structures; pixels without an estimate are not "
        "measured. Methods below the dense ones are semi-dense and not compared. Seconds without evaluation, one thread each, several runs at a time."
    )
    return Outcome([PageTable("Scores of all methods", header, marked, note), results_details(found)])
