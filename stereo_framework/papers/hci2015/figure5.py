"""Figure 5: fine structures on Pipes; what the published numbers mean, and ours beside them."""

from __future__ import annotations

import math

import numpy as np

from stereo_framework.evaluation.hci import Subsets, extract_subsets, fragmentation, porosity
from stereo_framework.evaluation.regions import hci_subsets
from stereo_framework.page.page import Cell, PageTable, Statement, Text
from stereo_framework.papers.comparison import Comparison, comparison_table
from stereo_framework.papers.hci2015.runs import COLUMNS, FOLDER, on, results
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.papers.published import PublishedTable, published_table
from stereo_framework.scene import Disparity

_WALL, _BAR = 10.0, 20.0
"""Pixels of disparity."""


def figure5(context: Context) -> Outcome:
    """Porosity, fragmentation and detail fattening on Pipes, and which pieces and distances the published numbers stand for."""
    published = published_table("hci2015", "figure5")
    comparisons = _fragments(published)
    return Outcome(
        [
            Text(
                "The published numbers are of one structure. Its fragmentation is then 1 - 1 / pieces, which tells the pieces: measured here on a bar "
                "that is found in so many of them."
            ),
            comparison_table("Fragmentation of one bar", comparisons),
            Text(_logarithm(context, published.rows["F_por"]["LDSM"])),
            _beside(context, published),
        ],
        comparisons,
        [_decides(published)],
    )


def _bar(height: int) -> tuple[Disparity, Subsets]:
    """The truth of an upright bar, three pixels wide, before a wall, and its subsets."""
    truth = np.full((height + 60, 100), _WALL, np.float32)
    truth[30:-30, 50:53] = _BAR
    return truth, extract_subsets(truth)


def _fragments(published: PublishedTable) -> list[Comparison]:
    truth, subsets = _bar(90)
    found = []
    for method, printed in published.rows["F_frag"].items():
        pieces = round(1 / (1 - printed))
        disparity = truth.copy()
        for gap in range(1, pieces):
            disparity[30 + gap * 90 // pieces, 50:53] = _WALL
        ours = fragmentation(disparity, truth, subsets).value
        found.append(Comparison(method, f"F_frag, {pieces} found", printed, ours, 0.005, 0.005, "two digits are printed"))
    return found


def _logarithm(context: Context, printed: float) -> str:
    """Which logarithm makes LDSM's porosity likely."""
    natural, decimal = (_shortest(printed * factor) for factor in (1.0, math.log(10)))
    text = (
        f"Equation 10 does not say which logarithm. LDSM's porosity of {printed:g} in one piece is that of a bar of {natural} pixels with one end found if it is the "
        f"natural one, a mean distance of {math.exp(printed) - 1:.0f} pixels; with decimal ones, of a bar of {decimal}."
    )
    for scene in context.scenes([FOLDER + "Pipes"]):
        subsets = hci_subsets(scene)
        counted = np.where(subsets.evaluated, subsets.structures, 0)
        heights = sorted(int(np.ptp(np.nonzero(counted == label)[0])) + 1 for label in np.unique(counted)[1:])
        tallest = " and ".join(str(scene.reduction * height) for height in heights[:-3:-1])
        text += f" The tallest structures that we find in Pipes have {tallest} pixels at full size."
    return text + " So we take natural logarithms; a proof it is not."


def _shortest(value: float) -> int:
    """The lowest bar that can be so porous in one piece, by our metric: most porous is one of which the end alone is found."""

    def reached(height: int) -> bool:
        truth, subsets = _bar(height)
        disparity = np.full_like(truth, _WALL)
        disparity[30, 50:53] = _BAR
        return porosity(disparity, truth, subsets).value >= value

    low, high = 10, 20
    while not reached(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _decides(published: PublishedTable) -> Statement:
    rows = published.rows
    lowest = min(rows["RMS"], key=rows["RMS"].__getitem__)
    better = {name: min(rows[name].values()) for name in ("F_por", "F_fat") if rows[name][lowest] > min(rows[name].values())}
    figures = ", ".join(f"{name} {rows[name][lowest]:g}, the best {value:g}" for name, value in better.items())
    return Statement(
        "In the published numbers the method with the lowest RMS is the best neither in porosity nor in fattening",
        len(better) == 2,
        f"{lowest}: {figures}",
    )


def _beside(context: Context, published: PublishedTable) -> PageTable:
    names = ("RMS", "F_por", "F_frag", "F_fat")
    rows = [
        [Cell(f"{method} (published)"), *(Cell.number(published.rows[name][method]) for name in names), Cell("-"), Cell("-")]
        for method in published.columns
    ]
    for method, result in on(results(context), "Pipes").items():
        values = result.statistics
        rows.append(
            [
                Cell(method),
                *(Cell.number(values[COLUMNS[name]]) for name in names),
                Cell.number(values["hci_missed_structures"], ".0f"),
                Cell.number(100 * values["hci_coverage_porosity"], ".0f"),
            ]
        )
    note = (
        "Other methods, so nothing is judged. Published: one structure at full size; ours: all structures of a quarter of the size, where a hole's pixels are "
        "a quarter as far from what is found. RMS in pixels of the full size; published, it is not told of which region. Missed: structures of which nothing "
        "is found, which fragmentation leaves out. Measured: percent of the structures' pixels that have an estimate."
    )
    return PageTable("Pipes: published methods and ours", ["method", *names, "missed", "measured"], rows, note)
