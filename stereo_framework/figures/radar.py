"""Radar charts: the profile of each method over all measures, by rank and by score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
from stereo_framework.tables.standings import DEFAULT_MEASURES, Standings, standings
from stereo_framework.tables.words import measure_symbol

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes

    from stereo_framework.sweep import Result

_SIDE = 2.7
"""Inches of a panel without the labels of its measures."""

_BEHIND: Mapping[str, Any] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
"""Lines go through the numbers of the rings; they stay legible."""


def radar_figure(
    results: Sequence[Result],
    measures: Sequence[str] = DEFAULT_MEASURES,
    *,
    title: str = "",
    labels: Mapping[str, str] = NO_LABELS,
) -> Figure:
    """Two radar charts, of ranks and of scores; the further in, the better.

    Parameters
    ----------
    results : sequence of Result
        Of one protocol.
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
        As `standings`, or `too_many`.

    Notes
    -----
    Honauer et al. 2015, Figure 9. Ranks are means over the scenes, scores normalized means; `standings` tells how. The area within a line
    has no meaning of its own: it depends on the order of the measures.
    """
    from matplotlib.figure import Figure

    found = standings(results, measures)
    found.check_few("radar")
    names = [labels.get(method, method) for method in found.methods]
    symbols = [measure_symbol(name, labels) for name in found.measures]
    width = 2 * (_SIDE + 2 * CHARACTER * max(map(len, symbols))) + CHARACTER * max(map(len, names)) + 0.9
    height = max(_SIDE + 0.4, LINE * len(names)) + 0.4 + 0.3 * bool(title)
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    looks = list(styles([(method,) for method in found.methods], joined=True).values())
    count = len(found.methods)
    step = math.ceil(count / 4)
    rings = sorted({1, *range(step, count - step // 2, step), count})
    ranks: PolarAxes = figure.add_subplot(1, 2, 1, projection="polar")  # type: ignore[assignment]
    _draw(ranks, found, found.ranks, looks, symbols)
    ranks.set_title(f"rank, 1 = best of {count}", fontsize=FONT, pad=14)
    _rings(ranks, rings, len(found.measures))
    scores: PolarAxes = figure.add_subplot(1, 2, 2, projection="polar")  # type: ignore[assignment]
    _draw(scores, found, found.normalized, looks, symbols)
    scores.set_title("score, 1 = the worst method's", fontsize=FONT, pad=14)
    _rings(scores, (0.25, 0.5, 0.75, 1), len(found.measures))
    handles = [handle(look, name) for look, name in zip(looks, names, strict=True)]
    legend_beside(figure, handles + missing_handle(found.means))
    if title:
        figure.suptitle(title, fontsize=FONT + 1, parse_math=False)
    footnote_below(figure, found.footnote("means over", "the further in, the better"))
    return figure


def _draw(
    axes: PolarAxes, found: Standings, values: NDArray[np.float64], looks: Sequence[Mapping], symbols: Sequence[str]
) -> None:
    angles = 2 * np.pi * np.arange(len(found.measures)) / len(found.measures)
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    for row, mean, look in zip(values, found.means, looks, strict=True):
        axes.plot(np.append(angles, angles[0]), np.append(row, row[0]), clip_on=False, zorder=3, **look)
        mark_missing(axes, angles, row, mean)
    axes.set_xticks(angles, symbols, fontsize=FONT, parse_math=False)
    axes.tick_params(axis="x", pad=0)
    for angle, text in zip(angles, axes.get_xticklabels(), strict=True):
        side = round(float(np.sin(angle)), 6)
        text.set_horizontalalignment("left" if side > 0 else "right" if side < 0 else "center")
    axes.grid(color="0.85", linewidth=0.6)
    axes.spines["polar"].set_color("0.7")


def _rings(axes: PolarAxes, rings: Sequence[float], spokes: int) -> None:
    """Numbers of the rings, between the first two spokes and above the lines."""
    axes.set_ylim(0, rings[-1])
    axes.set_yticks(rings, [""] * len(rings))
    for ring in rings:
        axes.text(np.pi / spokes, ring, f"{ring:g}", fontsize=FONT - 1, ha="center", va="center", zorder=5, bbox=dict(_BEHIND))
