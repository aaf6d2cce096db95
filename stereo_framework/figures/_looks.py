"""What curves and charts look like, legible in print: colours for the colour-blind, and markers and line styles that tell curves apart in grey.

Figures are built without pyplot, so that nothing global is touched.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.tables.values import NOT_APPLICABLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's, without the yellow, which is too light for lines."""

_MARKERS = "os^DvPX*"
_STYLES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
FONT = 9.0
SMALL = 7.0
LARGE = 11.0
NO_LABELS: Mapping[str, str] = {}
"""Charts' default: everything by its own name."""

CHARACTER = 0.07
"""Inches of a character of the ticks and the legend, on average."""

LINE = 0.2
"""Inches from a line of the legend to the next."""

PARTS = (
    *("#08519c", "#4292c6", "#9ecae1"),  # blues
    *("#a63603", "#f16913", "#fdae6b"),  # oranges
    *("#252525", "#737373", "#bdbdbd"),  # greys
    *("#54278f", "#807dba", "#bcbddc"),  # purples
)
"""Colours of areas in threes of falling darkness, for measures of one kind: the HCI metrics of edges are blue, those of planes orange, those of
structures grey. The colour-blind tell these hues apart, and grey print the shades."""

NO_SCORE = "no score: as the worst"
_MISSING: Mapping[str, Any] = {"color": "black", "marker": "x", "markersize": 8, "linestyle": "none"}


def styles(series: Sequence[tuple[Any, ...]], *, joined: bool) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Colour and marker by the first key of a series, line and filling by the others, where there are enough of them."""
    first = list(dict.fromkeys(one[:1] for one in series))
    # What has no further keys gets the plain line.
    rest = sorted(dict.fromkeys(one[1:] for one in series), key=lambda keys: any(v != NOT_APPLICABLE for v in keys))
    by_key = 1 < len(rest) <= len(_STYLES) and len(first) <= len(_COLOURS)
    found = {}
    for i, one in enumerate(series):
        a, b = (first.index(one[:1]), rest.index(one[1:])) if by_key else (i, i)
        colour = _COLOURS[a % len(_COLOURS)]
        found[one] = {
            "color": colour,
            "marker": _MARKERS[a % len(_MARKERS)],
            "markersize": 4.5,
            "markerfacecolor": "white" if b % 2 else colour,
            "linestyle": _STYLES[b % len(_STYLES)] if joined else "none",
            "linewidth": 1.3,
        }
    return found


def handle(style: Mapping[str, Any], name: str) -> Any:
    """What a legend shows of a curve."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=name, **style)


def mark_missing(axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    """A cross where a line goes through the place of a score that is missing."""
    missing = np.isnan(values)
    if missing.any():  # an empty line would spoil the layout
        axes.plot(x[missing], y[missing], clip_on=False, zorder=4, **_MISSING)


def missing_handle(values: NDArray[np.float64]) -> list[Any]:
    """What the legend says of the crosses, where there are any."""
    return [handle(_MISSING, NO_SCORE)] if np.isnan(values).any() else []


def legend_beside(figure: Figure, handles: Sequence[Any], title: str = "") -> None:
    """A legend at the right of all panels."""
    legend = figure.legend(
        handles=handles, loc="outside right upper", frameon=False, fontsize=FONT, title=title, handlelength=3.2
    )
    legend.get_title().set_fontsize(FONT)
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)


def footnote_below(figure: Figure, footnote: str) -> None:
    """Small print over the figure's width, below everything; nothing where there is none."""
    if footnote:
        folded = textwrap.fill(footnote, int(figure.get_figwidth() / CHARACTER * FONT / SMALL))
        figure.supxlabel(folded, fontsize=SMALL, color="0.35", parse_math=False)
