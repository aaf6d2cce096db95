"""Radar charts: the profile of each method over all measures, by rank and by score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.figures._looks import FONT, LINE, legend_beside, longest, mark_missing, method_lines, new_chart, of_method
from stereo_framework.script.report import Chart
from stereo_framework.tables.standings import Standings
from stereo_framework.tables.words import measure_symbol

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes

_SIDE = 2.7
"""Side of a panel without the labels of its measures, in inches."""

_BEHIND: Mapping[str, Any] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
"""Boxes behind the numbers of the rings, which keep them legible where lines pass through."""


def radar_figure(chart: Chart, found: Standings) -> Figure:
    """Draw two radar charts, one of ranks and one of scores. The closer to the centre, the better.

    Raises
    ------
    ParameterError
        There are more methods than lines that can be told apart.

    Notes
    -----
    Honauer et al. 2015, Figure 9. Ranks are means over the scenes and scores are normalized means, as `standings` explains. The area within a
    line has no meaning of its own, since it depends on the order of the measures.
    """
    looks, handles = method_lines(found, chart.labels)
    symbols = [measure_symbol(name, chart.labels) for name in found.measures]
    count = len(found.methods)
    beside = longest(handle.get_label() for handle in handles) + 0.9
    height = max(_SIDE + 0.4, LINE * count) + 0.4
    footnote = found.footnote("means over", "the further in, the better")
    figure = new_chart(2 * (_SIDE + 2 * longest(symbols)), beside, height, chart.title, footnote)
    step = math.ceil(count / 4)
    rings = sorted({1, *range(step, count - step // 2, step), count})
    panels: tuple[tuple[str, NDArray[np.float64], Sequence[float]], ...] = (
        (f"rank, 1 = best of {count}", found.ranks, rings),
        ("score, 1 = the worst method's", found.normalized, (0.25, 0.5, 0.75, 1)),
    )
    for i, (name, values, numbers) in enumerate(panels, 1):
        axes: PolarAxes = figure.add_subplot(1, 2, i, projection="polar")  # type: ignore[assignment]
        _draw(axes, found, values, looks, symbols)
        axes.set_title(name, fontsize=FONT, pad=14)
        _rings(axes, numbers, len(symbols))
    legend_beside(figure, handles)
    return figure


def _draw(
    axes: PolarAxes, found: Standings, values: NDArray[np.float64], looks: Sequence[Mapping], symbols: Sequence[str]
) -> None:
    angles = 2 * np.pi * np.arange(len(found.measures)) / len(found.measures)
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    for i, (row, mean, look) in enumerate(zip(values, found.means, looks, strict=True)):
        axes.plot(np.append(angles, angles[0]), np.append(row, row[0]), clip_on=False, zorder=3, gid=of_method(i), **look)
        mark_missing(axes, angles, row, mean, of_method(i))
    axes.set_xticks(angles, symbols, fontsize=FONT, parse_math=False)
    axes.tick_params(axis="x", pad=0)
    for angle, text in zip(angles, axes.get_xticklabels(), strict=True):
        side = round(float(np.sin(angle)), 6)
        text.set_horizontalalignment("left" if side > 0 else "right" if side < 0 else "center")
    axes.grid(color="0.85", linewidth=0.6)
    axes.spines["polar"].set_color("0.7")


def _rings(axes: PolarAxes, rings: Sequence[float], spokes: int) -> None:
    """Draw the numbers of the rings between the first two spokes, above the lines."""
    axes.set_ylim(0, rings[-1])
    axes.set_yticks(rings, [""] * len(rings))
    for ring in rings:
        axes.text(np.pi / spokes, ring, f"{ring:g}", fontsize=FONT - 1, ha="center", va="center", zorder=5, bbox=dict(_BEHIND))
