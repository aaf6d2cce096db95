"""Histograms of the scores of all methods on all scenes, in which the scores of a single method are marked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.figures._looks import FONT, handle, legend_beside, new_chart, of_method
from stereo_framework.script.report import Chart
from stereo_framework.tables.standings import Standings
from stereo_framework.tables.words import measure_name, unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ACROSS = 3
_PANEL = (2.7, 1.75)
"""Width and height of a panel, in inches."""

_BINS = 12
_MARK = "#d55e00"
"""Colour of the method that is marked."""


def histogram_figure(chart: Chart, found: Standings, *, every: bool = False) -> Figure:
    """A histogram for each measure, with the scores of one method marked: a line for each scene, a triangle at their mean.

    Parameters
    ----------
    chart : Chart
    found : Standings
    every : bool
        Mark the scores of all methods. Pages need this, since they show one method at a time.

    Raises
    ------
    ParameterError
        There is no such method.

    Notes
    -----
    Honauer et al. 2015, Figure 12. Every pair of scene and method counts once. Bins have equal widths, and begin at 0 if
    that is near.
    """
    from matplotlib.ticker import MaxNLocator

    method, labels = chart.method, chart.labels
    if method is not None and method not in found.methods:
        raise ParameterError(f"no method {method!r} among the results; {nearest(method, found.methods, kind='methods')}")
    rows = math.ceil(len(found.measures) / _ACROSS)
    columns = min(len(found.measures), _ACROSS)
    footnote = found.footnote("scores on", "lower is better" if found.all_lower else "")
    marked = range(len(found.methods)) if every else [found.methods.index(method)] if method else []
    beside = 1.7 if marked else 0.2
    figure = new_chart(columns * _PANEL[0], beside, rows * _PANEL[1] + 0.4, chart.title, footnote)
    for j, name in enumerate(found.measures):
        axes = figure.add_subplot(rows, columns, j + 1)
        column = found.scores[..., j]
        there = column[np.isfinite(column)]
        axes.hist(there, bin_edges(there), color="0.75", edgecolor="white", linewidth=0.5)
        axes.margins(y=0.2)
        axes.set_title(measure_name(name, labels), fontsize=FONT, parse_math=False)
        axes.set_xlabel(unit(name), fontsize=FONT - 1, labelpad=1, parse_math=False)
        axes.set_ylabel("" if j % columns else "scores", fontsize=FONT)
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.tick_params(labelsize=FONT - 1)
        axes.spines[["top", "right"]].set_visible(False)
        for i in marked:
            own, mean = column[i], found.means[i, j]
            for score in own[np.isfinite(own)]:
                axes.axvline(score, color=_MARK, linewidth=1.2, gid=of_method(i))
            if np.isfinite(mean):
                place = axes.get_xaxis_transform()
                axes.plot(mean, 0.95, "v", color=_MARK, markersize=7, transform=place, clip_on=False, gid=of_method(i))
    if marked:
        handles = [
            handle({"color": _MARK, "linewidth": 1.2}, "on a scene"),
            handle({"color": _MARK, "marker": "v", "linestyle": "none", "markersize": 7}, "mean"),
        ]
        legend_beside(figure, handles, "" if every or method is None else labels.get(method, method))
    return figure


def bin_edges(values: NDArray[np.float64]) -> list[float]:
    """The edges of equal bins over values, beginning at 0 unless that would leave most of the range empty."""
    low, high = float(values.min()), float(values.max())
    if 0 < low <= high / 2:
        low = 0.0
    return np.linspace(low, high if high > low else low + (abs(low) or 1.0), _BINS + 1).tolist()
