"""Parallel coordinates: every method is a line through all measures, each of which has an axis with its own unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stereo_framework.figures._looks import (
    CHARACTER,
    FONT,
    LINE,
    legend_beside,
    longest,
    mark_missing,
    method_lines,
    new_chart,
    of_method,
)
from stereo_framework.script.report import Chart
from stereo_framework.tables.standings import Standings
from stereo_framework.tables.values import show
from stereo_framework.tables.words import measure_symbol, unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def parallel_coordinates_figure(chart: Chart, found: Standings) -> Figure:
    """A line for each method over an axis for each measure; the lower, the better.

    Raises
    ------
    ParameterError
        There are more methods than lines that can be told apart.

    Notes
    -----
    Honauer et al. 2015, Figure 10. Scores are means over the scenes. Every axis begins at the perfect score and ends at that of the worst
    method, and both are written there in the unit of the measure; `standings` explains them.
    """
    looks, handles = method_lines(found, chart.labels)
    symbols = [measure_symbol(name, chart.labels) for name in found.measures]
    # Room for the widest label: a symbol above, a unit below.
    step = max(0.62, 1.5 * CHARACTER + longest([*symbols, *map(unit, found.measures)]))
    beside = longest(handle.get_label() for handle in handles) + 1.4
    height = max(3.6, LINE * len(found.methods) + 0.5)
    footnote = found.footnote("means over", "the lower, the better")
    figure = new_chart(step * (len(symbols) + 0.4), beside, height, chart.title, footnote)
    axes = figure.add_subplot()
    places = np.arange(len(symbols), dtype=np.float64)
    for place, (perfect, worst) in zip(places.tolist(), found.ends.T, strict=True):
        axes.axvline(place, color="0.8", linewidth=0.8, zorder=1)
        for y, value, align in ((1.04, worst, "bottom"), (-0.04, perfect, "top")):
            axes.text(place, y, show(float(value)), ha="center", va=align, fontsize=FONT - 1, color="0.3")
    for i, (row, mean, look) in enumerate(zip(found.normalized, found.means, looks, strict=True)):
        axes.plot(places, row, clip_on=False, zorder=3, gid=of_method(i), **look)
        mark_missing(axes, places, row, mean, of_method(i))
    axes.set_xticks(
        places, [f"{s}\n{unit(n)}" for s, n in zip(symbols, found.measures, strict=True)], fontsize=FONT, parse_math=False
    )
    axes.tick_params(axis="x", length=0, pad=18)
    axes.set_yticks([])
    axes.set(xlim=(-0.4, len(symbols) - 0.6), ylim=(0, 1))
    axes.spines[:].set_visible(False)
    axes.set_ylabel("perfect  ←  score  →  worst", fontsize=FONT)
    legend_beside(figure, handles)
    return figure
