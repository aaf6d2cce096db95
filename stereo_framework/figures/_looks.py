"""The look of curves and charts: colours that the colour-blind can distinguish, and markers and line styles that distinguish curves in grey print.

Figures are made without pyplot, so that nothing global is changed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError
from stereo_framework.figures._drawing import FONT
from stereo_framework.figures._shown import new_figure
from stereo_framework.tables.standings import Standings
from stereo_framework.tables.values import NOT_APPLICABLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""The palette of Okabe and Ito without its yellow, which is too light for lines."""

_MARKERS = "os^DvPX*"
_STYLES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
_MOST_LINES = len(_COLOURS) * len(_STYLES)
SMALL = 7.0
LARGE = 11.0
CHARACTER = 0.07
"""Average width of a character in ticks and legends, in inches."""

LINE = 0.2
"""Distance from one line of a legend to the next, in inches."""

PARTS = (
    *("#08519c", "#4292c6", "#9ecae1"),  # blues
    *("#a63603", "#f16913", "#fdae6b"),  # oranges
    *("#252525", "#737373", "#bdbdbd"),  # greys
    *("#54278f", "#807dba", "#bcbddc"),  # purples
)
"""Colours of areas, in groups of three from dark to light for measures of one kind: the HCI metrics of edges are blue, those of planes orange, those of
structures grey. The colour-blind can distinguish the hues, and the shades remain different in grey print."""

NO_SCORE = "no score: as the worst"
_MISSING: Mapping[str, Any] = {"color": "black", "marker": "x", "markersize": 8, "linestyle": "none"}


def styles(series: Sequence[tuple[Any, ...]], *, joined: bool) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The look of each series: its first key decides colour and marker, the other keys line style and filling, as long as there are enough of them."""
    first = list(dict.fromkeys(one[:1] for one in series))
    # A series without further keys gets the plain line.
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
    """The entry of a curve in a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=name, **style)


def of_method(index: int) -> str:
    """The id, in an SVG file, of the parts of a chart that show one method. Pages use it to hide or highlight them."""
    return f"method-{index}"


def mark_missing(
    axes: Axes, x: NDArray[np.float64], y: NDArray[np.float64], values: NDArray[np.float64], gid: str | None = None
) -> None:
    """Draw a cross where a line passes through the place of a missing score."""
    missing = np.isnan(values)
    if missing.any():  # an empty line would spoil the layout
        axes.plot(x[missing], y[missing], clip_on=False, zorder=4, gid=gid, **_MISSING)


def method_lines(found: Standings, labels: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[Any]]:
    """The look of the line of each method, and the entries of the legend for these lines and for the crosses of missing scores.

    Raises
    ------
    ParameterError
        There are more methods than lines that can be told apart.
    """
    if len(found.methods) > _MOST_LINES:
        raise ParameterError(
            f"{len(found.methods)} methods and settings are more than the {_MOST_LINES} lines that can be told apart; choose some with where"
        )
    looks = list(styles([(method,) for method in found.methods], joined=True).values())
    handles = [handle(look, labels.get(method, method)) for look, method in zip(looks, found.methods, strict=True)]
    return looks, handles + ([handle(_MISSING, NO_SCORE)] if np.isnan(found.means).any() else [])


def longest(texts: Iterable[str]) -> float:
    """Width of the longest of some texts, in inches."""
    return CHARACTER * max(map(len, texts))


def new_chart(inside: float, beside: float, height: float, title: str = "", footnote: str = "") -> Figure:
    """An empty figure with the layout that all charts share: a title above the panels, and a footnote in small print at the bottom.

    Parameters
    ----------
    inside, beside : float
        Width of the panels, above which the title stands, and width of the legend beside them, in inches.
    height : float
        Height without the title, in inches.
    title, footnote : str
        They are broken into lines if they are too long, and left out if they are empty.
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
    """Draw a legend to the right of all panels."""
    legend = figure.legend(
        handles=handles, loc="outside right upper", frameon=False, fontsize=FONT, title=title, handlelength=3.2
    )
    legend.get_title().set_fontsize(FONT)
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)
