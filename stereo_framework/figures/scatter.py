"""Scatter plots of several groups of points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stereo_framework.figures._looks import FONT, new_chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def scatter_figure(groups: Mapping[str, Sequence[tuple[float, float]]], x_label: str, y_label: str, title: str = "") -> Figure:
    """Draw points, each group with a mark of its own.

    Parameters
    ----------
    groups : mapping of str to sequence of (float, float)
        Points by the name of their group.
    x_label, y_label : str
        With the unit.
    title : str
    """
    figure = new_chart(4.0, 0.4, 3.2, title)
    axes = figure.add_subplot(1, 1, 1)
    for mark, (name, points) in zip("o^sD", groups.items(), strict=False):
        axes.plot([x for x, _ in points], [y for _, y in points], mark, markersize=4, linestyle="none", label=name, alpha=0.8)
    axes.set_xlabel(x_label, fontsize=FONT)
    axes.set_ylabel(y_label, fontsize=FONT)
    axes.tick_params(labelsize=FONT - 1)
    axes.legend(fontsize=FONT - 1, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
