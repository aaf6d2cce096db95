"""The paper's charts of several methods: stacked bars (Figure 7), radar charts (Figure 9) and histograms (Figure 12)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError
from stereo_framework.figures._looks import FONT, LINE, handle, legend_beside, longest, new_chart, styles
from stereo_framework.tables.standings import Standings
from stereo_framework.tables.words import measure_name, measure_symbol, unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes

COLOURS = (
    *("#08519c", "#4292c6", "#9ecae1"),  # edges: blues
    *("#a63603", "#f16913", "#fdae6b"),  # planes: oranges
    *("#252525", "#737373", "#bdbdbd"),  # fine structures: greys
)
"""Colours of the nine metrics. The colour-blind can distinguish the hues, and the shades remain different in grey print."""

NO_SCORE = "no score: as the worst"

_MOST_METHODS = 28
"""Lines of a radar chart that colours and dashes can tell apart."""

_HATCH = "////"
_MISSING: Mapping[str, Any] = {"color": "black", "marker": "x", "markersize": 8, "linestyle": "none"}
_MARK = "#d55e00"


def stacked_bars_figure(found: Standings, weights: Mapping[str, float]) -> Figure:
    """A bar for each method, stacked from its weighted scores, the best method at the top.

    Parameters
    ----------
    found : Standings
    weights : mapping of str to float
        By measure; 1 where nothing is given.

    Notes
    -----
    Honauer et al. 2015, Figure 7. The length of a bar is the weighted mean of the normalized scores; `standings` explains how they are normalized.
    """
    from matplotlib.patches import Patch

    shares = np.array([weights.get(name, 1.0) for name in found.measures])
    parts = found.normalized * (shares / shares.sum())
    order = np.argsort(parts.sum(axis=1), kind="stable")
    names = [found.methods[i] for i in order]
    legend = [measure_name(n) + ("" if w == 1 else f" × {w:g}") for n, w in zip(found.measures, shares, strict=True)]
    height = max(0.28 * len(names) + 0.6, LINE * (len(legend) + 2)) + 0.4
    footnote = found.footnote("means over", "each score as a share of the worst method's")
    figure = new_chart(4.0 + longest(names), longest(legend) + 0.6, height, "", footnote)
    axes = figure.add_subplot()
    for place, i in enumerate(order):
        left = np.concatenate([[0.0], np.cumsum(parts[i])])
        for j, length in enumerate(parts[i]):
            hatch = _HATCH if math.isnan(found.means[i, j]) else ""
            axes.barh(place, length, 0.72, left[j], color=COLOURS[j % 9], hatch=hatch, edgecolor="white", linewidth=0.5)
        axes.text(left[-1], place, f" {left[-1]:.2f}", va="center", fontsize=FONT - 1)
    axes.set_yticks(range(len(names)), names, fontsize=FONT, parse_math=False)
    axes.set(xlim=(0, 1.1), ylim=(len(names) - 0.4, -0.6), xticks=np.linspace(0, 1, 6))
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=FONT - 1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("weighted score (0 = perfect, 1 = the worst in everything)", fontsize=FONT)
    handles = [Patch(facecolor=COLOURS[j % 9], label=name) for j, name in enumerate(legend)]
    if np.isnan(found.means).any():
        handles.append(Patch(facecolor="0.6", edgecolor="white", hatch=_HATCH, label=NO_SCORE))
    legend_beside(figure, handles)
    return figure


def radar_figure(found: Standings) -> Figure:
    """Two radar charts, one of ranks and one of scores. The closer to the centre, the better.

    Raises
    ------
    ParameterError
        There are more methods than lines that can be told apart.

    Notes
    -----
    Honauer et al. 2015, Figure 9. Ranks are means over the scenes and scores are normalized means, as `standings` explains. The area within a
    line has no meaning of its own, since it depends on the order of the measures.
    """
    count = len(found.methods)
    if count > _MOST_METHODS:
        raise ParameterError(f"{count} methods are more than the {_MOST_METHODS} lines that can be told apart")
    looks = list(styles([(method,) for method in found.methods], joined=True).values())
    handles = [handle(look, method) for look, method in zip(looks, found.methods, strict=True)]
    if np.isnan(found.means).any():
        handles.append(handle(_MISSING, NO_SCORE))
    symbols = list(map(measure_symbol, found.measures))
    side, beside = 2.7, longest(handle.get_label() for handle in handles) + 0.9
    height = max(side + 0.4, LINE * count) + 0.4
    figure = new_chart(
        2 * (side + 2 * longest(symbols)), beside, height, "", found.footnote("means over", "the further in, the better")
    )
    step = math.ceil(count / 4)
    rings = sorted({1, *range(step, count - step // 2, step), count})
    panels: tuple[tuple[str, NDArray[np.float64], Sequence[float]], ...] = (
        (f"rank, 1 = best of {count}", found.ranks, rings),
        ("score, 1 = the worst method's", found.normalized, (0.25, 0.5, 0.75, 1)),
    )
    for i, (name, values, numbers) in enumerate(panels, 1):
        axes: PolarAxes = figure.add_subplot(1, 2, i, projection="polar")  # type: ignore[assignment]
        _draw_radar(axes, found, values, looks, symbols, numbers)
        axes.set_title(name, fontsize=FONT, pad=14)
    legend_beside(figure, handles)
    return figure


def _draw_radar(
    axes: PolarAxes,
    found: Standings,
    values: NDArray[np.float64],
    looks: Sequence[Mapping],
    symbols: Sequence[str],
    rings: Sequence[float],
) -> None:
    angles = 2 * np.pi * np.arange(len(symbols)) / len(symbols)
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    for row, mean, look in zip(values, found.means, looks, strict=True):
        axes.plot(np.append(angles, angles[0]), np.append(row, row[0]), clip_on=False, zorder=3, **look)
        if (missing := np.isnan(mean)).any():  # an empty line would spoil the layout
            axes.plot(angles[missing], row[missing], clip_on=False, zorder=4, **_MISSING)
    axes.set_xticks(angles, symbols, fontsize=FONT, parse_math=False)
    axes.tick_params(axis="x", pad=0)
    for angle, text in zip(angles, axes.get_xticklabels(), strict=True):
        side = round(float(np.sin(angle)), 6)
        text.set_horizontalalignment("left" if side > 0 else "right" if side < 0 else "center")
    axes.grid(color="0.85", linewidth=0.6)
    axes.spines["polar"].set_color("0.7")
    axes.set_ylim(0, rings[-1])
    axes.set_yticks(rings, [""] * len(rings))
    behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
    for ring in rings:
        axes.text(np.pi / len(symbols), ring, f"{ring:g}", fontsize=FONT - 1, ha="center", va="center", zorder=5, bbox=behind)


def histogram_figure(found: Standings, method: str) -> Figure:
    """A histogram for each measure, with the scores of one method marked: a line for each scene, a triangle at their mean.

    Notes
    -----
    Honauer et al. 2015, Figure 12. Every pair of scene and method counts once. Bins have equal widths, and begin at 0 if that is near.
    """
    from matplotlib.ticker import MaxNLocator

    marked, columns = found.methods.index(method), min(len(found.measures), 3)
    rows = math.ceil(len(found.measures) / columns)
    footnote = found.footnote("scores on", "lower is better" if found.all_lower else "")
    figure = new_chart(columns * 2.7, 1.7, rows * 1.75 + 0.4, "", footnote)
    for j, name in enumerate(found.measures):
        axes = figure.add_subplot(rows, columns, j + 1)
        column = found.scores[..., j]
        there = column[np.isfinite(column)]
        axes.hist(there, bin_edges(there), color="0.75", edgecolor="white", linewidth=0.5)
        axes.margins(y=0.2)
        axes.set_title(measure_name(name), fontsize=FONT, parse_math=False)
        axes.set_xlabel(unit(name), fontsize=FONT - 1, labelpad=1, parse_math=False)
        axes.set_ylabel("" if j % columns else "scores", fontsize=FONT)
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.tick_params(labelsize=FONT - 1)
        axes.spines[["top", "right"]].set_visible(False)
        for score in column[marked][np.isfinite(column[marked])]:
            axes.axvline(score, color=_MARK, linewidth=1.2)
        if np.isfinite(mean := found.means[marked, j]):
            axes.plot(mean, 0.95, "v", color=_MARK, markersize=7, transform=axes.get_xaxis_transform(), clip_on=False)
    on_scene = handle({"color": _MARK, "linewidth": 1.2}, "on a scene")
    legend_beside(
        figure, [on_scene, handle({"color": _MARK, "marker": "v", "linestyle": "none", "markersize": 7}, "mean")], method
    )
    return figure


def bin_edges(values: NDArray[np.float64]) -> list[float]:
    """The edges of 12 equal bins over values, beginning at 0 unless that would leave most of the range empty."""
    low, high = float(values.min()), float(values.max())
    if 0 < low <= high / 2:
        low = 0.0
    return np.linspace(low, high if high > low else low + (abs(low) or 1.0), 13).tolist()
