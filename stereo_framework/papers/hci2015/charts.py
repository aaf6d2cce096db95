"""The paper's charts of several methods: stacked bars (Figure 7), radar charts (Figure 9) and histograms (Figure 12)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stereo_framework.figures._looks import FONT, LINE, handle, legend_beside, longest, new_chart, styles
from stereo_framework.tables.standings import Standings
from stereo_framework.tables.words import measure_name, measure_symbol, unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (
    *("#08519c", "#4292c6", "#9ecae1"),  # edges: blues
    *("#a63603", "#f16913", "#fdae6b"),  # planes: oranges
    *("#252525", "#737373", "#bdbdbd"),  # fine structures: greys
)
"""Colours of the nine metrics. The colour-blind can distinguish the hues, and the shades remain different in grey print."""

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
    shares = np.array([weights.get(name, 1.0) for name in found.measures])
    parts = found.normalized * (shares / shares.sum())
    order = np.argsort(parts.sum(axis=1), kind="stable")
    names = [found.methods[i] for i in order]
    legend = [measure_name(n) + ("" if w == 1 else f" × {w:g}") for n, w in zip(found.measures, shares, strict=True)]
    height = max(0.28 * len(names) + 0.6, LINE * (len(legend) + 2)) + 0.4
    footnote = found.footnote("means over", "each score as a share of the worst method's")
    figure = new_chart(4.0 + longest(names), longest(legend) + 0.6, height, "", footnote)
    axes, left = figure.add_subplot(), np.zeros(len(names))
    for j, name in enumerate(legend):
        bars = axes.barh(range(len(names)), parts[order, j], 0.72, left, color=COLOURS[j % 9], edgecolor="white", label=name)
        left = left + parts[order, j]
    axes.bar_label(bars, [f" {total:.2f}" for total in left], fontsize=FONT - 1)
    axes.set_yticks(range(len(names)), names, fontsize=FONT, parse_math=False)
    axes.set(xlim=(0, 1.1), ylim=(len(names) - 0.4, -0.6))
    axes.tick_params(labelsize=FONT - 1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("weighted score (0 = perfect, 1 = the worst in everything)", fontsize=FONT)
    legend_beside(figure, axes.get_legend_handles_labels()[0])
    return figure


def radar_figure(found: Standings) -> Figure:
    """Two radar charts, one of ranks and one of scores. The closer to the centre, the better.

    Notes
    -----
    Honauer et al. 2015, Figure 9. Ranks are means over the scenes and scores are normalized means, as `standings` explains. The area within a
    line has no meaning of its own, since it depends on the order of the measures.
    """
    count, symbols = len(found.methods), list(map(measure_symbol, found.measures))
    looks = list(styles([(method,) for method in found.methods], joined=True).values())
    handles = [handle(look, method) for look, method in zip(looks, found.methods, strict=True)]
    inside, beside = 2 * (2.7 + 2 * longest(symbols)), longest(found.methods) + 0.9
    height = max(3.1, LINE * count) + 0.4
    figure = new_chart(inside, beside, height, "", found.footnote("means over", "the further in, the better"))
    angles = 2 * np.pi * np.arange(len(symbols) + 1) / len(symbols)
    panels = (f"rank, 1 = best of {count}", found.ranks, count), ("score, 1 = the worst method's", found.normalized, 1)
    for i, (title, values, end) in enumerate(panels, 1):
        axes = figure.add_subplot(1, 2, i, projection="polar", theta_offset=np.pi / 2, theta_direction=-1)
        for row, look in zip(values, looks, strict=True):
            axes.plot(angles, [*row, row[0]], clip_on=False, zorder=3, **look)
        axes.set_xticks(angles[:-1], symbols, fontsize=FONT, parse_math=False)
        axes.set_ylim(0, end)
        axes.tick_params(axis="y", labelsize=FONT - 1)
        axes.grid(color="0.85", linewidth=0.6)
        axes.set_title(title, fontsize=FONT, pad=14)
    legend_beside(figure, handles)
    return figure


def histogram_figure(found: Standings, method: str) -> Figure:
    """A histogram for each measure, with the scores of one method marked: a line for each scene.

    Notes
    -----
    Honauer et al. 2015, Figure 12. Every pair of scene and method counts once. Bins have equal widths, and begin at 0 if that is near.
    """
    columns = min(len(found.measures), 3)
    rows = math.ceil(len(found.measures) / columns)
    figure = new_chart(columns * 2.7, 1.7, rows * 1.75 + 0.4, "", found.footnote("scores on"))
    for j, name in enumerate(found.measures):
        axes = figure.add_subplot(rows, columns, j + 1)
        column, marked = found.scores[..., j], found.scores[found.methods.index(method), :, j]
        there = column[np.isfinite(column)]
        axes.hist(there, bin_edges(there), color="0.75", edgecolor="white", linewidth=0.5)
        axes.vlines(marked[np.isfinite(marked)], 0, 1, _MARK, linewidth=1.2, transform=axes.get_xaxis_transform())
        axes.set_title(measure_name(name), fontsize=FONT, parse_math=False)
        axes.set_xlabel(unit(name), fontsize=FONT - 1, labelpad=1, parse_math=False)
        axes.set_ylabel("" if j % columns else "scores", fontsize=FONT)
        axes.tick_params(labelsize=FONT - 1)
        axes.spines[["top", "right"]].set_visible(False)
    legend_beside(figure, [handle({"color": _MARK, "linewidth": 1.2}, "on a scene")], method)
    return figure


def bin_edges(values: NDArray[np.float64]) -> list[float]:
    """The edges of 12 equal bins over values, beginning at 0 unless that would leave most of the range empty."""
    low, high = float(values.min()), float(values.max())
    low = 0.0 if 0 < low <= high / 2 else low
    return np.linspace(low, high if high > low else low + (abs(low) or 1.0), 13).tolist()
