"""The look of curves and charts: colours that the colour-blind can distinguish, and markers and line styles that distinguish curves in grey print.

Figures are made without pyplot, so that nothing global is changed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stereo_framework.figures.grid import FONT
from stereo_framework.figures.saving import new_figure
from stereo_framework.sweep.missing import MISSING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""The palette of Okabe and Ito without its yellow, which is too light for lines."""

_MARKERS = "os^DvPX*"
_STYLES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
SMALL = 7.0
LARGE = 11.0
CHARACTER = 0.07
"""Average width of a character in ticks and legends, in inches."""

LINE = 0.2
"""Distance from one line of a legend to the next, in inches."""


def styles(
    series: Sequence[tuple[Any, ...]], *, joined: bool
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The look of each series: its first key decides colour and marker, the other keys line style and filling, as long as there are enough of them."""
    first = list(dict.fromkeys(one[:1] for one in series))
    # A series without further keys gets the plain line.
    rest = sorted(
        dict.fromkeys(one[1:] for one in series),
        key=lambda keys: any(value is not MISSING for value in keys),
    )
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


def longest(texts: Iterable[str]) -> float:
    """Width of the longest of some texts, in inches."""
    return CHARACTER * max(map(len, texts))


def new_chart(
    inside: float, beside: float, height: float, title: str = "", footnote: str = ""
) -> Figure:
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
    figure = new_figure(figsize=size, layout="constrained", facecolor="white")
    if title:
        figure.suptitle(title, x=inside / width / 2, fontsize=LARGE, parse_math=False)
    if footnote:
        figure.supxlabel(
            _folded(footnote, width, SMALL), fontsize=SMALL, color="0.35", parse_math=False
        )
    return figure


def plain_axes(axes: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Small print, no formulas in names, and no lines above and at the right."""
    look: dict[str, Any] = {"fontsize": FONT, "parse_math": False}
    axes.set_title(title, **look)
    axes.set_xlabel(x, **look)
    axes.set_ylabel(y, **look)
    axes.tick_params(labelsize=FONT - 1)
    axes.spines[["top", "right"]].set_visible(False)


def _folded(text: str, inches: float, size: float) -> str:
    return textwrap.fill(text, int(inches / CHARACTER * FONT / size))


def legend_beside(figure: Figure, handles: Sequence[Any], title: str = "") -> None:
    """Draw a legend to the right of all panels."""
    legend = figure.legend(
        handles=handles,
        loc="outside right upper",
        frameon=False,
        fontsize=FONT,
        title=title,
        handlelength=3.2,
    )
    legend.get_title().set_fontsize(FONT)
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)
