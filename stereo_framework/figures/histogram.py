"""Histograms of the scores of all methods on all scenes, which put a single one into context."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stereo_framework.errors import ParameterError, nearest
from stereo_framework.figures._looks import FONT, NO_LABELS, footnote_below, legend_beside
from stereo_framework.tables.standings import DEFAULT_MEASURES, standings
from stereo_framework.tables.words import measure_name, unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stereo_framework.sweep import Result

_ACROSS = 3
_PANEL = (2.7, 1.75)
"""Inches."""

_BINS = 12
_MARK = "#d55e00"
"""Colour of the method that is marked."""


def histogram_figure(
    results: Sequence[Result],
    measures: Sequence[str] = DEFAULT_MEASURES,
    *,
    method: str | None = None,
    title: str = "",
    labels: Mapping[str, str] = NO_LABELS,
) -> Figure:
    """A histogram for each measure, with the scores of one method marked.

    Parameters
    ----------
    results : sequence of Result
        Of one protocol; every pair of scene and method counts once.
    measures : sequence of str
        Statistics, or names of groups. Default: the nine HCI metrics.
    method : str, optional
        Whose scores are marked: one line for each scene, a triangle at their mean. Default: nobody's.
    title : str
    labels : mapping of str to str
        Other words for methods and measures.

    Returns
    -------
    Figure
        `plots.save_figure` writes it.

    Raises
    ------
    ParameterError
        As `standings`, or no such method.

    Notes
    -----
    Honauer et al. 2015, Figure 12. Bins are of equal width, from 0 where that lies near.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    found = standings(results, measures)
    if method is not None and method not in found.methods:
        raise ParameterError(f"no method {method!r} among the results; {nearest(method, found.methods, kind='methods')}")
    rows = math.ceil(len(found.measures) / _ACROSS)
    columns = min(len(found.measures), _ACROSS)
    size = (columns * _PANEL[0] + (1.7 if method else 0.2), rows * _PANEL[1] + 0.4 + 0.3 * bool(title))
    figure = Figure(figsize=size, layout="constrained", facecolor="white")
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
        if method is not None:
            own = column[found.methods.index(method)]
            for score in own[np.isfinite(own)]:
                axes.axvline(score, color=_MARK, linewidth=1.2)
            mean = found.means[found.methods.index(method), j]
            if np.isfinite(mean):
                axes.plot(mean, 0.95, "v", color=_MARK, markersize=7, transform=axes.get_xaxis_transform(), clip_on=False)
    if method is not None:
        handles = [
            Line2D([], [], color=_MARK, linewidth=1.2, label="on a scene"),
            Line2D([], [], color=_MARK, marker="v", linestyle="none", markersize=7, label="mean"),
        ]
        legend_beside(figure, handles, labels.get(method, method))
    if title:
        figure.suptitle(title, fontsize=FONT + 1, parse_math=False)
    footnote_below(figure, found.footnote("scores on", "lower is better" if found.all_lower else ""))
    return figure


def bin_edges(values: NDArray[np.float64]) -> list[float]:
    """Edges of equal bins over values, from 0 unless that leaves most of the range empty."""
    low, high = float(values.min()), float(values.max())
    if 0 < low <= high / 2:
        low = 0.0
    return np.linspace(low, high if high > low else low + (abs(low) or 1.0), _BINS + 1).tolist()
