"""Figures with curves in one or several panels."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stereo_framework.core.errors import ParameterError
from stereo_framework.figures._chart_style import (
    CHARACTER,
    LINE,
    handle,
    legend_beside,
    longest,
    new_chart,
    plain_axes,
    styles,
)
from stereo_framework.sweep.numbers import is_number
from stereo_framework.sweep.value_text import setting_text
from stereo_framework.tables.grouping import group_items

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_ASLANT: dict[str, Any] = {"rotation": 25, "rotation_mode": "anchor", "ha": "right"}

_WIDE = 28
"""Characters of a line of a legend's title, and of a name at an axis: longer ones would leave no room for the curves."""

_PANEL = (3.1, 2.5)
"""Width and height of a panel with its labels, in inches."""

_ROOM = 0.8 * _PANEL[0] / CHARACTER
"""Characters side by side below a panel."""

_APART, _BELOW = 0.35, 0.9
"""Width that a line of a name aslant needs, and height that a panel has for names, in inches."""


@dataclass(frozen=True)
class Mark:
    """A mean at a value of the horizontal axis; `ends` are those of its error bar."""

    x: Any
    y: float
    ends: tuple[float, float] | None = None


@dataclass(frozen=True)
class Line:
    """The points of one series; `series` holds the values of its keys."""

    series: tuple[Any, ...]
    points: tuple[Mark, ...]


@dataclass(frozen=True)
class Panel:
    """Curves on the same axes, at a row and column of the figure. Panels with the same `x_label` or `y_label` share the limits of that axis."""

    row: int
    column: int
    title: str
    x_label: str
    y_label: str
    curves: tuple[Line, ...]


def curves_figure(
    panels: Sequence[Panel],
    names: Mapping[tuple[Any, ...], str],
    *,
    legend_title: str = "",
    x_scale: str = "linear",
    y_scale: str = "linear",
    title: str = "",
    footnote: str = "",
    labels: Mapping[str, str] | None = None,
) -> Figure:
    """Draw panels.

    Parameters
    ----------
    panels : sequence of Panel
    names : mapping
        The name of each series, in the order of the legend. There is no legend if the only series has an empty name.
    legend_title, title, footnote : str
    x_scale, y_scale : str
        ``linear``, ``log`` or, for x, ``category``.
    labels : mapping of str to str, optional
        Labels that replace values of the horizontal axis.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator

    rows, columns = 1 + max(p.row for p in panels), 1 + max(p.column for p in panels)
    with_legend = list(names.values()) != [""]
    legend_title = textwrap.fill(legend_title, _WIDE)
    lines = [*names.values(), *legend_title.splitlines()]
    beside = longest(lines) + 0.9 if with_legend else 0.2
    x_axes = {
        label: Positions(
            [point.x for panel in own for point in _points(panel)], x_scale, labels or {}
        )
        for label, own in group_items(panels, lambda panel: panel.x_label).items()
    }
    width, height = map(max, zip(*(x.panel for x in x_axes.values()), strict=True))
    figure = new_chart(
        columns * width, beside, max(rows * height, LINE * len(lines)) + 0.4, title, footnote
    )
    looks = styles(list(names), joined=any(x.ordered for x in x_axes.values()))
    for panel in panels:
        axes = figure.add_subplot(rows, columns, panel.row * columns + panel.column + 1)
        _draw(axes, panel, x_axes[panel.x_label], looks, y_scale)
        limits = _limits(
            [q for p in panels if p.y_label == panel.y_label for q in _points(p)], y_scale
        )
        axes.set_ylim(*limits)
        if y_scale == "log":
            # Powers of ten, or even steps where these would be too few.
            axes.yaxis.set_major_locator(
                LogLocator() if limits[1] > 100 * limits[0] else MaxNLocator(5)
            )
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("")
        left = any(
            p.row == panel.row and p.column < panel.column and p.y_label == panel.y_label
            for p in panels
        )
        below = any(
            p.column == panel.column and p.row > panel.row and p.x_label == panel.x_label
            for p in panels
        )
        plain_axes(axes, panel.title, "" if below else panel.x_label, "" if left else panel.y_label)
    if with_legend:
        legend_beside(
            figure, [handle(looks[series], name) for series, name in names.items()], legend_title
        )
    return figure


def _draw(
    axes: Axes,
    panel: Panel,
    positions: Positions,
    looks: Mapping[tuple[Any, ...], dict[str, Any]],
    y_scale: str,
) -> None:
    axes.set_yscale(y_scale)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    for curve in panel.curves:
        points = sorted(
            ((positions[p.x] + _aside(panel, curve, p, positions), p) for p in curve.points),
            key=lambda item: item[0],
        )
        style = looks[curve.series]
        axes.plot(
            [x for x, _ in points], [p.y for _, p in points], clip_on=False, zorder=3, **style
        )
        bars = [(x, p.y, *p.ends) for x, p in points if p.ends]
        if bars:
            x, y, low, high = zip(*bars, strict=True)
            lengths = [
                [b - a for a, b in zip(low, y, strict=True)],
                [b - a for a, b in zip(y, high, strict=True)],
            ]
            axes.errorbar(
                x,
                y,
                lengths,
                fmt="none",
                ecolor=style["color"],
                elinewidth=0.8,
                capsize=2,
                alpha=0.7,
            )
    if positions.none is not None:
        axes.axvline(positions.none, color="0.6", linewidth=0.8, linestyle=":")
    axes.set_xticks([x for x, _ in positions.ticks], minor=True)
    places, texts = zip(*positions.ticks_that_fit(_ROOM), strict=True)
    axes.set_xticks(places, texts, parse_math=False, **(_ASLANT if positions.crowded else {}))
    axes.set_xlim(*positions.limits)


def _aside(panel: Panel, curve: Line, point: Mark, positions: Positions) -> float:
    """By how much a point is moved sideways: without lines to join them, points of several series would hide each other."""
    if positions.ordered:
        return 0.0
    there = [c.series for c in panel.curves if any(p.x == point.x for p in c.points)]
    return 0.12 * (there.index(curve.series) - (len(there) - 1) / 2) / max(1, len(there) / 6)


def _points(panel: Panel) -> Iterable[Mark]:
    return itertools.chain.from_iterable(curve.points for curve in panel.curves)


def _limits(points: Sequence[Mark], scale: str) -> tuple[float, float]:
    """The ends of the vertical axis. It begins at 0 if that leaves at most half of it empty."""
    values = [v for p in points for v in (p.y, *(p.ends or ()))]
    if scale == "log":
        values = [v for v in values if v > 0] or [1.0]
        margin = (max(values) / min(values)) ** 0.06 if max(values) > min(values) else 1.5
        return min(values) / margin, max(values) * margin
    low, high = min(values), max(values)
    if 0 < low <= high / 2:
        low = 0.0
    margin = 0.05 * (high - low) or 0.5 * math.fabs(high) or 1.0
    return (0.0 if low == 0 else low - margin), high + margin


_GAP = 0.18
"""Distance of "none" from the last number, as a share of the width of the axis."""


class Positions:
    """Coordinates of the values of an axis.

    Parameters
    ----------
    values : iterable
        Numbers, texts, booleans, None.
    scale : str
        ``linear``, ``log`` or ``category``. If some values are not numbers, it is a category in any case.
    labels : mapping of str to str
        Labels that replace values.

    Raises
    ------
    ParameterError
        The scale is logarithmic and a number is not above 0.
    """

    def __init__(self, values: Iterable[Any], scale: str, labels: Mapping[str, str]):
        different = list(dict.fromkeys(values))
        numbers: list[Any] = sorted(v for v in different if is_number(v))
        names = [v for v in different if v is not None and not is_number(v)]
        self.ordered = not names
        """Whether the values have an order, so that a line may join neighbours."""
        to_scale = self.ordered and bool(numbers) and scale != "category"
        log = to_scale and scale == "log"
        if log and numbers[0] <= 0:
            raise ParameterError(f"x_scale: log: {numbers[0]:g} is not above 0")
        places = (
            math.log(v) if log else float(v if to_scale else i)
            for i, v in enumerate([*numbers, *names])
        )
        found = dict(zip([*numbers, *names], places, strict=True))
        low, high = min(found.values(), default=0.0), max(found.values(), default=0.0)
        self.none: float | None = None
        """Position between the last number and "none", where the scale ends; None if there is no such place."""
        if None in different:
            distance = _GAP * (high - low) if to_scale and high > low else 1.0
            found[None] = high + distance if found else 0.0
            self.none = found[None] - distance / 2 if to_scale else None
            high = found[None]
        margin = 0.05 * (high - low) if to_scale and high > low else 0.5
        self.limits = low - margin, high + margin
        self._found = found
        self._texts = {
            v: textwrap.fill(labels.get(setting_text(v), setting_text(v)), _WIDE) for v in found
        }

    def __getitem__(self, value: Any) -> float:
        return self._found[value]

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The position and text of every value, from left to right."""
        return sorted((place, self._texts[value]) for value, place in self._found.items())

    def ticks_that_fit(self, characters: float) -> list[tuple[float, str]]:
        """The ticks that can be labelled without texts touching on an axis that is so many characters wide, the last one always; names are never left out."""
        scale = characters / (self.limits[1] - self.limits[0])
        chosen: list[tuple[float, str]] = []
        for place, text in reversed(self.ticks):
            if (
                not self.ordered
                or not chosen
                or (chosen[0][0] - place) * scale >= (len(text) + len(chosen[0][1]) + 1) / 2
            ):
                chosen.insert(0, (place, text))
        return chosen

    @property
    def crowded(self) -> bool:
        """Whether names would touch, so that they must be written at an angle."""
        return (
            not self.ordered
            and len(self._texts) * (1 + max(map(len, self._texts.values()))) > _ROOM
        )

    @property
    def panel(self) -> tuple[float, float]:
        """Width and height of a panel in which names at an angle do not touch and leave room for curves, in inches."""
        names = [text.splitlines() for text in self._texts.values()]
        if not self.crowded:
            return _PANEL
        reach = longest(itertools.chain(*names))
        below = reach / 2 + LINE * max(map(len, names))
        return max(_PANEL[0], _APART * sum(map(len, names)) + reach), _PANEL[1] + max(
            0, below - _BELOW
        )
