"""Figure 11: which measures agree, by r^2 of linear fits over all images and methods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stereo_framework.figures.correlation import told_counts
from stereo_framework.page.page import Cell, PageTable, Text
from stereo_framework.papers.claim import Cases, by_cases, claims
from stereo_framework.papers.comparison import Comparison
from stereo_framework.papers.hci2015.runs import COLUMNS, GEOMETRIC, dense, results
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.papers.published import PublishedTable, published_table
from stereo_framework.sweep import Result
from stereo_framework.tables.ranking import r_squared
from stereo_framework.tables.standings import standings

R2 = Mapping[tuple[str, str], float]
"""The values, by the paper's names of two measures."""

_NEAR = 2.0
"""Pixels."""


def figure11(context: Context) -> Outcome:
    """r^2 between RMS, bad pixels and the nine metrics, beside the published part of the table."""
    published = published_table("hci2015", "figure11")
    printed = {(row, column): value for row, values in published.rows.items() for column, value in values.items()}
    found = dense(results(context))
    ours: R2 = {}
    texts = ["Nothing to fit: no results."]
    if found:
        r2, counts = standings(found, list(COLUMNS.values())).correlations
        fits = {(a, b): float(r2[i, j]) for i, a in enumerate(COLUMNS) for j, b in enumerate(COLUMNS) if i != j}
        ours = {pair: value for pair, value in fits.items() if not math.isnan(value)}
        texts = [
            f"Ours over {told_counts(counts)}; semi-dense methods are left out. Published: over 12 images and 13 other methods, so no number is judged, only "
            "what they are used to say.",
            _differences(found),
        ]
    reason = "other methods, on images of a quarter of the size"
    comparisons = [
        Comparison(row, column, value, ours.get((row, column)), None, None, reason) for (row, column), value in printed.items()
    ]
    return Outcome([*map(Text, texts), _table(published, ours)], comparisons, [c.asked(printed, ours) for c in CLAIMS])


def _differences(found: Sequence[Result]) -> str:
    """r^2 over only those maps that lack the particular faults of our methods."""
    near = [r for r in found if r.statistics[COLUMNS["P_off"]] < _NEAR]
    whole = [r for r in found if r.statistics["hci_missed_structures"] == 0]
    rms, porous = _with_first(near, "RMS", "P_off", "D_fuz"), _with_first(whole, "F_por", "F_frag", "D_thin")
    return (
        "RMS and the mean offset of planes both count gross errors, and ours make those on plain surfaces: over the "
        f"{len(near)} of {len(found)} maps with planes off by less than {_NEAR:g} pixels of a quarter of the size, RMS has {rms[0]:.2f} with P_off and "
        f"{rms[1]:.2f} with D_fuz (the former is lower in any such choice, the latter is not). Structures that are lost altogether are porous and have no pieces to count: "
        f"over the {len(whole)} maps with something of every structure, F_por has {porous[0]:.2f} with F_frag and {porous[1]:.2f} with D_thin."
    )


def _with_first(found: Sequence[Result], *columns: str) -> NDArray[np.float64]:
    """r^2 of the first column with each of the others."""
    scores = np.array([[r.statistics[COLUMNS[c]] for c in columns] for r in found])
    return r_squared(scores.reshape(-1, len(columns)))[0][0, 1:]


def _table(published: PublishedTable, ours: R2) -> PageTable:
    rows = []
    for row, values in published.rows.items():
        pairs = [(row, column) for column in published.columns]
        rows.append([Cell(row), Cell("published"), *(Cell.number(values.get(column)) for column in published.columns)])
        rows.append([Cell(row), Cell("ours"), *(Cell.number(ours.get(pair)) for pair in pairs)])
    return PageTable("r^2 of linear fits between scores", ["measure", "", *published.columns], rows)


@by_cases
def _most(row: str, columns: Sequence[str], printed: R2, ours: R2) -> Cases:
    """Whether these columns have the largest numbers in a row of the table."""
    others = [name for name in GEOMETRIC if name != row and name not in columns]
    if any((row, name) not in ours for name in (*columns, *others)):
        return
    largest = max(others, key=lambda name: ours[row, name])
    told = ", ".join(f"{name} {ours[row, name]:.2f} (published {printed[row, name]:.2f})" for name in columns)
    least = min(ours[row, name] for name in columns)
    yield f"{row}: {told}; of the others at most {largest} {ours[row, largest]:.2f}", least > ours[row, largest]


@by_cases
def _little(row: str, columns: Sequence[str], printed: R2, ours: R2) -> Cases:
    """Whether these columns are below one half in a row of the table."""
    for name in columns:
        if (row, name) in ours:
            theirs = printed.get((row, name), printed.get((name, row)))
            yield f"{name} {ours[row, name]:.2f} (published {theirs:.2f})", ours[row, name] < 0.5


CLAIMS = claims(
    "hci2015",
    {
        "rms_and_fuzziness": partial(_most, "RMS", ("D_fuz",)),
        "rms_tells_little": partial(_little, "RMS", [name for name in GEOMETRIC if name != "D_fuz"]),
        "fattening_of_both_kinds": partial(_most, "D_fat", ("F_fat",)),
        "porosity_and_fragmentation": partial(_most, "F_por", ("F_frag",)),
        "planes_go_together": partial(_most, "P_bump", ("P_off", "P_orient")),
        "bad_pixels_tell_little": partial(_little, "Bad4.0", ("D_fat", "F_por", "P_bump")),
    },
)
"""What the figure shows, in our words; each statement is tested on the published and on our r^2."""
