"""How far measures say the same: r^2 of linear fits between every two, as a table with colours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.figures._looks import CHARACTER, FONT, NO_LABELS, footnote_below
from stereo_framework.tables.ranking import r_squared
from stereo_framework.tables.standings import DEFAULT_MEASURES, standings
from stereo_framework.tables.words import measure_symbol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stereo_framework.sweep import Result

_CELL = (0.55, 0.3)
"""Inches."""


def correlations(
    results: Sequence[Result], measures: Sequence[str] = DEFAULT_MEASURES
) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.int64]]:
    """r^2 of the linear fit between every two measures over all pairs of scene and method.

    Parameters
    ----------
    results : sequence of Result
        Of one protocol.
    measures : sequence of str
        Statistics, or names of groups. Default: the nine HCI metrics.

    Returns
    -------
    measures : tuple of str
        Statistics: the rows and the columns.
    r2 : ndarray, float64, (measures, measures)
        0 = no linear relation, 1 = the one follows from the other; NaN where there is nothing to fit. See `r_squared`.
    counts : ndarray, int64, (measures, measures)
        Pairs of scene and method that have both scores; the others are left out.

    Raises
    ------
    ParameterError
        As `standings`.

    Notes
    -----
    Honauer et al. 2015, Figure 11.
    """
    found = standings(results, measures)
    return found.measures, *r_squared(found.scores.reshape(-1, len(found.measures)))


def correlation_figure(
    results: Sequence[Result],
    measures: Sequence[str] = DEFAULT_MEASURES,
    *,
    title: str = "",
    labels: Mapping[str, str] = NO_LABELS,
) -> Figure:
    """The table of `correlations` with a colour for every cell.

    Parameters
    ----------
    results : sequence of Result
        Of one protocol.
    measures : sequence of str
        Statistics, or names of groups. Default: the nine HCI metrics.
    title : str
    labels : mapping of str to str
        Other words for measures.

    Returns
    -------
    Figure
        `plots.save_figure` writes it.

    Raises
    ------
    ParameterError
        As `standings`.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    names, r2, counts = correlations(results, measures)
    symbols = [measure_symbol(name, labels) for name in names]
    longest = CHARACTER * max(map(len, symbols))
    aslant = longest > _CELL[0]
    width = max(longest + _CELL[0] * (len(names) + aslant) + 0.5, 4.0)
    height = (longest if aslant else 0.2) + _CELL[1] * len(names) + 0.6 + 0.3 * bool(title)
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    axes = figure.add_subplot()
    colours = colormaps["Blues"]
    for i, row in enumerate(r2):
        for j, value in enumerate(row):
            if i == j:
                continue
            known = not math.isnan(value)
            axes.fill(
                [j - 0.5, j + 0.5, j + 0.5, j - 0.5],
                [i - 0.5, i - 0.5, i + 0.5, i + 0.5],
                color=colours(value) if known else "0.9",
            )
            dark = known and value > 0.6
            axes.text(
                j,
                i,
                f"{value:.2f}" if known else "-",
                ha="center",
                va="center",
                fontsize=FONT,
                color="white" if dark else "black",
            )
    places = range(len(names))
    turned: dict[str, Any] = {"rotation": 45, "rotation_mode": "anchor", "ha": "left"} if aslant else {}
    axes.set_xticks(places, symbols, fontsize=FONT, parse_math=False, **turned)
    axes.set_yticks(places, symbols, fontsize=FONT, parse_math=False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(names) - 0.5, -0.5))
    axes.spines[:].set_visible(False)
    if title:
        axes.set_title(title, fontsize=FONT + 1, parse_math=False)
    footnote_below(
        figure, "; ".join(filter(None, ("r² of linear fits between scores", told_counts(counts), results[0].protocol)))
    )
    return figure


def told_counts(counts: NDArray[np.int64]) -> str:
    """Of how many pairs of scene and method the fits are."""
    off = counts[~np.eye(len(counts), dtype=bool)]
    if not off.size:
        return ""
    few = f"{off.min()} to {off.max()}" if off.min() < off.max() else f"{off.max()}"
    return f"{few} pairs of scene and method" + (", those that lack a score left out" if off.min() < off.max() else "")
