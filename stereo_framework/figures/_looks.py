"""What curves and charts look like, legible in print: colours for the colour-blind, and markers and line styles that tell curves apart in grey.

Figures are built without pyplot, so that nothing global is touched.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.errors import ParameterError
from stereo_framework.figures._drawing import FONT
from stereo_framework.figures._shown import new_figure
from stereo_framework.tables.standings import Standings
from stereo_framework.tables.values import NOT_APPLICABLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's, without the yellow, which is too light for lines."""

_MARKERS = "os^DvPX*"
_STYLES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
_MOST_LINES = len(_COLOURS) * len(_STYLES)
SMALL = 7.0
LARGE = 11.0
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


def of_method(index: int) -> str:
    """The name, in an SVG file, of what a chart shows of one method: pages find it there, to hide it or to set it off."""
    return f"method-{index}"


def mark_missing(
    axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], values: NDArray[np.float64], gid: str | None = None
) -> None:
    """A cross where a line goes through the place of a score that is missing."""
    missing = np.isnan(values)
    if missing.any():  # an empty line would spoil the layout
        axes.plot(x[missing], y[missing], clip_on=False, zorder=4, gid=gid, **_MISSING)


def method_lines(found: Standings, labels: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[Any]]:
    """The look of the line of each method, and what the legend shows of them and of the crosses of missing scores.

    Raises
    ------
    ParameterError
        More methods than lines can be told apart.
    """
    if len(found.methods) > _MOST_LINES:
        raise ParameterError(
            f"{len(found.methods)} methods and settings are more than the {_MOST_LINES} lines that can be told apart; choose some with where"
        )
    looks = list(styles([(method,) for method in found.methods], joined=True).values())
    handles = [handle(look, labels.get(method, method)) for look, method in zip(looks, found.methods, strict=True)]
    return looks, handles + ([handle(_MISSING, NO_SCORE)] if np.isnan(found.means).any() else [])


def longest(texts: Iterable[str]) -> float:
    """Inches of the longest of some texts."""
    return CHARACTER * max(map(len, texts))


def new_chart(inside: float, beside: float, height: float, title: str = "", footnote: str = "") -> Figure:
    """An empty figure with the frame that all charts share: a title above the panels, small print below everything.

    Parameters
    ----------
    inside, beside : float
        Inches of the panels' width, over which the title stands, and of the legend beside them.
    height : float
        Inches without the title.
    title, footnote : str
        Folded where they are too long; nothing where they are empty.
    """
    width, title = inside + beside, _folded(title, inside, LARGE)
    size = width, height + 0.25 * len(title.splitlines())
    figure = new_figure(photographs=False, figsize=size, layout="constrained", facecolor="white")
    if title:
        figure.suptitle(title, x=inside / width / 2, fontsize=LARGE, parse_math=False)
    if footnote:
        figure.supxlabel(_folded(footnote, width, SMALL), fontsize=SMALL, color="0.35", parse_math=False)
    return figure


def _folded(text: str, inches: float, size: float) -> str:
    return textwrap.fill(text, int(inches / CHARACTER * FONT / size))


def legend_beside(figure: Figure, handles: Sequence[Any], title: str = "") -> None:
    """A legend at the right of all panels."""
    legend = figure.legend(
        handles=handles, loc="outside right upper", frameon=False, fontsize=FONT, title=title, handlelength=3.2
    )
    legend.get_title().set_fontsize(FONT)
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)
