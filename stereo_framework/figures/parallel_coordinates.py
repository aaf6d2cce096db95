"""Parallel coordinates: every method a line through all measures, each on an axis with its own unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stereo_framework.figures._looks import (
    CHARACTER,
    FONT,
    LINE,
    NO_LABELS,
    footnote_below,
    handle,
    legend_beside,
    mark_missing,
    missing_handle,
    styles,
)
from stereo_framework.tables.standings import DEFAULT_MEASURES, standings
from stereo_framework.tables.values import show
from stereo_framework.tables.words import measure_symbol, unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stereo_framework.sweep import Result


def parallel_coordinates_figure(
    results: Sequence[Result],
    measures: Sequence[str] = DEFAULT_MEASURES,
    *,
    title: str = "",
    labels: Mapping[str, str] = NO_LABELS,
) -> Figure:
    """A line for each method over an axis for each measure; the lower, the better.

    Parameters
    ----------
    results : sequence of Result
        Of one protocol; scores are means over their scenes.
    measures : sequence of str
        Statistics, or names of groups. Default: the nine HCI metrics.
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
        As `standings`; more methods than lines can be told apart.

    Notes
    -----
    Honauer et al. 2015, Figure 10. Every axis begins at the perfect score and ends at the worst method's, which are written there in the measure's
    unit; `standings` tells what they are.
    """
    from matplotlib.figure import Figure

    found = standings(results, measures)
    found.check_few("parallel_coordinates")
    names = [labels.get(method, method) for method in found.methods]
    symbols = [measure_symbol(name, labels) for name in found.measures]
    # Room for the widest label: a symbol above, a unit below.
    step = max(
        0.62,
        CHARACTER * (1.5 + max(len(text) for name, s in zip(found.measures, symbols, strict=True) for text in (s, unit(name)))),
    )
    width = step * (len(symbols) + 0.4) + CHARACTER * max(map(len, names)) + 1.4
    height = max(3.6, LINE * len(names) + 0.5) + 0.3 * bool(title)
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    places = np.arange(len(symbols), dtype=np.float64)
    for place, (perfect, worst) in zip(places.tolist(), found.ends.T, strict=True):
        axes.axvline(place, color="0.8", linewidth=0.8, zorder=1)
        for y, value, align in ((1.04, worst, "bottom"), (-0.04, perfect, "top")):
            axes.text(place, y, show(float(value)), ha="center", va=align, fontsize=FONT - 1, color="0.3")
    looks = list(styles([(method,) for method in found.methods], joined=True).values())
    for row, mean, look in zip(found.normalized, found.means, looks, strict=True):
        axes.plot(places, row, clip_on=False, zorder=3, **look)
        mark_missing(axes, places, row, mean)
    axes.set_xticks(
        places, [f"{s}\n{unit(n)}" for s, n in zip(symbols, found.measures, strict=True)], fontsize=FONT, parse_math=False
    )
    axes.tick_params(axis="x", length=0, pad=18)
    axes.set_yticks([])
    axes.set(xlim=(-0.4, len(symbols) - 0.6), ylim=(0, 1))
    axes.spines[:].set_visible(False)
    axes.set_ylabel("perfect  ←  score  →  worst", fontsize=FONT)
    if title:
        axes.set_title(title, fontsize=FONT + 1, pad=20, parse_math=False)
    handles = [handle(look, name) for look, name in zip(looks, names, strict=True)]
    legend_beside(figure, handles + missing_handle(found.means))
    footnote_below(figure, found.footnote("means over", "the lower, the better"))
    return figure
