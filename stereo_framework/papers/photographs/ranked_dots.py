"""Methods one below the other, with a panel for each group of scenes: their mean errors, and those of the scenes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stereo_framework.figures._looks import FONT, longest, new_chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH, _LINE = 2.1, 0.21
"""Of a panel and of a method's line, in inches."""


def ranked_dots_figure(groups: Mapping[str, Mapping[str, Sequence[float]]], x_label: str, title: str = "") -> Figure:
    """Draw the mean of each method as a dot and its values as small rings, lower values to the left.

    Parameters
    ----------
    groups : mapping of str to mapping of str to sequence of float
        By the title of a panel and by method the values. The first panel's methods stand in this order from above.
    x_label : str
        With the unit; the same for all panels.
    title : str
    """
    methods = list(next(iter(groups.values())))
    figure = new_chart(_WIDTH * len(groups) + longest(methods), 0, 0.9 + _LINE * len(methods), title)
    for i, (name, values) in enumerate(groups.items()):
        axes = figure.add_subplot(1, len(groups), i + 1)
        for y, method in enumerate(methods):
            own = values.get(method, ())
            axes.plot(own, [y] * len(own), "o", markersize=3, markerfacecolor="none", markeredgecolor="0.6", markeredgewidth=0.6)
            if len(own):
                axes.plot(sum(own) / len(own), y, "o", markersize=5, color="#0072b2")
        axes.set_ylim(len(methods) - 0.5, -0.5)
        axes.set_yticks(range(len(methods)), methods if i == 0 else [""] * len(methods), parse_math=False)
        axes.set_xlim(left=0)
        axes.grid(axis="y", color="0.92", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_title(name, fontsize=FONT, parse_math=False)
        axes.set_xlabel(x_label, fontsize=FONT)
        axes.tick_params(labelsize=FONT - 1)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
