"""Stacked bars of weighted scores, which show what method is best if some faults matter more than others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stereo_framework.figures._looks import FONT, LINE, NO_SCORE, PARTS, legend_beside, longest, new_chart
from stereo_framework.script.report import Chart
from stereo_framework.tables.standings import Standings, weights_of
from stereo_framework.tables.words import measure_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BAR = 0.28
"""Distance from one bar to the next, in inches."""

_HATCH = "////"
"""Pattern of missing scores."""


def stacked_bars_figure(chart: Chart, found: Standings) -> Figure:
    """Draw a bar for each method that is stacked from its weighted scores, with the best method at the top.

    Raises
    ------
    ParameterError
        As in `weights_of`.

    Notes
    -----
    Honauer et al. 2015, Figure 7. The length of a bar is the weighted mean of the normalized scores, which are means over the scenes; `standings`
    explains how they are normalized.
    """
    from matplotlib.patches import Patch

    shares = weights_of(found.measures, chart.weights)
    totals, order = found.totals(shares), found.best(len(found.methods), shares)
    names = [chart.labels.get(found.methods[i], found.methods[i]) for i in order]
    legend = [
        measure_name(name, chart.labels) + ("" if w == 1 else f" × {w:g}") for name, w in zip(found.measures, shares, strict=True)
    ]
    height = max(_BAR * len(order) + 0.6, LINE * (len(legend) + 2)) + 0.4
    footnote = found.footnote("means over", "each score as a share of the worst method's")
    figure = new_chart(4.0 + longest(names), longest(legend) + 0.6, height, chart.title, footnote)
    axes = figure.add_subplot()
    for place, i in enumerate(order):
        left = 0.0
        for j, weight in enumerate(shares):
            length = weight / sum(shares) * found.normalized[i, j]
            hatch = _HATCH if math.isnan(found.means[i, j]) else ""
            # When the weights change, pages find bars, numbers and names by these ids in the SVG and move them.
            axes.barh(
                place, length, 0.72, left, color=_colour(j), hatch=hatch, edgecolor="white", linewidth=0.5, gid=f"bar-{i}-{j}"
            )
            left += length
        axes.text(left, place, f" {totals[i]:.2f}", va="center", fontsize=FONT - 1, gid=f"total-{i}")
    axes.set_yticks(range(len(order)), names, fontsize=FONT, parse_math=False)
    for i, label in zip(order, axes.get_yticklabels(), strict=True):
        label.set_gid(f"name-{i}")
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlim(0, 1.1)
    axes.set_xticks(np.linspace(0, 1, 6))
    axes.patch.set_gid("frame")
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=FONT - 1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("weighted score (0 = perfect, 1 = the worst in everything)", fontsize=FONT)
    handles = [Patch(facecolor=_colour(j), label=name) for j, name in enumerate(legend)]
    if np.isnan(found.means).any():
        handles.append(Patch(facecolor="0.6", edgecolor="white", hatch=_HATCH, label=NO_SCORE))
    legend_beside(figure, handles)
    return figure


def _colour(index: int) -> str:
    return PARTS[index % len(PARTS)]
