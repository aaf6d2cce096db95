"""Figure 5: fine structures on Pipes, what the published numbers mean, and our numbers beside them."""

from __future__ import annotations

import math

import numpy as np

from stereo_framework.evaluation.hci import Subsets, extract_subsets, porosity
from stereo_framework.evaluation.regions import hci_subsets
from stereo_framework.page.page import Block, Cell, PageTable, Text
from stereo_framework.papers.claim import Verdict, claims
from stereo_framework.papers.comparison import Comparison
from stereo_framework.papers.hci2015.runs import COLUMNS, FOLDER, on, results
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.papers.published import PublishedTable, published_table
from stereo_framework.scene import Disparity

_WALL, _BAR = 10.0, 20.0
"""Pixels of disparity."""


def figure5(context: Context) -> Outcome:
    """Porosity, fragmentation and detail fattening on Pipes: published and ours, and which distances the published ones stand for."""
    published = published_table("hci2015", "figure5")
    reason = "the algorithm's map is not to be had"
    comparisons = [
        Comparison(method, measure, value, None, None, None, reason)
        for measure, row in published.rows.items()
        for method, value in row.items()
    ]
    text = (
        "The published numbers are of one structure: equation 11 gives 0.50 for one in two pieces (LCU) and 0.67 for one in three (MeshS). None of them "
        "can be measured again, since the six maps are not to be had."
    )
    blocks: list[Block] = [Text(text), Text(_logarithm(context, published.rows["F_por"]["LDSM"])), _beside(context, published)]
    return Outcome(blocks, comparisons, [LOWEST_RMS.asked(published)])


def _bar(height: int) -> tuple[Disparity, Subsets]:
    """The truth of an upright bar, three pixels wide, in front of a wall, and its subsets."""
    truth = np.full((height + 60, 100), _WALL, np.float32)
    truth[30:-30, 50:53] = _BAR
    return truth, extract_subsets(truth)


def _logarithm(context: Context, printed: float) -> str:
    """Which logarithm makes LDSM's published porosity plausible."""
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
    """The shortest bar that can have this porosity in one piece by our metric: porosity is highest if only an end of the bar is found."""

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


def _decides(published: PublishedTable) -> Verdict:
    rows = published.rows
    lowest = min(rows["RMS"], key=rows["RMS"].__getitem__)
    best = {name: min(rows[name].values()) for name in ("F_por", "F_fat")}
    told = ", ".join(f"{name} {rows[name][lowest]:g}, the best {value:g}" for name, value in best.items())
    return Verdict(all(rows[name][lowest] > value for name, value in best.items()), f"{lowest}: {told}")


(LOWEST_RMS,) = claims("hci2015", {"lowest_rms_in_print": _decides})


def _beside(context: Context, published: PublishedTable) -> PageTable:
    names = ("RMS", "F_por", "F_frag", "F_fat")
    rows = [
        [Cell(f"{method} (published)"), *(Cell.number(published.rows[name][method]) for name in names), Cell("-"), Cell("-")]
        for method in published.columns
    ]
    for method, result in on(results(context), "Pipes").items():
        scores = [Cell.number(result.statistics[COLUMNS[name]]) for name in names]
        missed, measured = result.statistics["hci_missed_structures"], 100 * result.statistics["hci_coverage_porosity"]
        rows.append([Cell(method), *scores, Cell.number(missed, ".0f"), Cell.number(measured, ".0f")])
    note = (
        "Other methods, so nothing is judged. Published: one structure at full size; ours: all structures of a quarter of the size, where a hole's pixels are "
        "a quarter as far from what is found. RMS in pixels of the full size; published, it is not told of which region. Missed: structures of which nothing "
        "is found, which fragmentation leaves out. Measured: percent of the structures' pixels that have an estimate."
    )
    return PageTable("Pipes: published methods and ours", ["method", *names, "missed", "measured"], rows, note)
