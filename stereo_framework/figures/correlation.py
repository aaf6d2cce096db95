"""How far measures agree: a coloured table of r^2 of the linear fits between every two measures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.figures._looks import FONT, longest, new_chart
from stereo_framework.script.report import Chart
from stereo_framework.tables.standings import Standings
from stereo_framework.tables.words import measure_symbol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CELL = (0.55, 0.3)
"""Width and height of a cell, in inches."""


def correlation_figure(chart: Chart, found: Standings) -> Figure:
    """Draw r^2 of the linear fit between every two measures, over all pairs of scene and method, as a table with a colour for every cell.

    Notes
    -----
    Honauer et al. 2015, Figure 11; see `r_squared`.
    """
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    r2, counts = found.correlations
    symbols = [measure_symbol(name, chart.labels) for name in found.measures]
    label = longest(symbols)
    aslant = label > _CELL[0]
    width = max(label + _CELL[0] * (len(symbols) + aslant) + 0.5, 4.0)
    height = (label if aslant else 0.2) + _CELL[1] * len(symbols) + 0.6
    remarks = ("r² of linear fits between scores", told_counts(counts), found.protocol)
    figure = new_chart(width, 0, height, chart.title, "; ".join(filter(None, remarks)))
    axes = figure.add_subplot()
    colours = colormaps["Blues"]
    for i, row in enumerate(r2):
        for j, value in enumerate(row):
            if i == j:
                continue
            known = not math.isnan(value)
            axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, color=colours(value) if known else "0.9"))
            ink = "white" if known and value > 0.6 else "black"
            axes.text(j, i, f"{value:.2f}" if known else "-", ha="center", va="center", fontsize=FONT, color=ink)
    places = range(len(symbols))
    turned: dict[str, Any] = {"rotation": 45, "rotation_mode": "anchor", "ha": "left"} if aslant else {}
    axes.set_xticks(places, symbols, fontsize=FONT, parse_math=False, **turned)
    axes.set_yticks(places, symbols, fontsize=FONT, parse_math=False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set(xlim=(-0.5, len(symbols) - 0.5), ylim=(len(symbols) - 0.5, -0.5))
    axes.spines[:].set_visible(False)
    return figure


def told_counts(counts: NDArray[np.int64]) -> str:
    """A text that says over how many pairs of scene and method the fits were made."""
    off = counts[~np.eye(len(counts), dtype=bool)]
    if not off.size:
        return ""
    if off.min() == off.max():
        return f"{off.max()} pairs of scene and method"
    return f"{off.min()} to {off.max()} pairs of scene and method, those that lack a score left out"
