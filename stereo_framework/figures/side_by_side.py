"""Several disparity maps of one scene side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.scene import Disparity, Image
from stereo_framework.figures._drawing import (
    Sheet,
    beyond,
    check_image,
    draw_difference,
    draw_disparity,
    draw_image,
    panel_size,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 5
"""Largest number of columns of panels; further columns start a new row."""


def side_by_side_figure(
    image: Image, maps: Mapping[str, Disparity], shown: tuple[float, float], truth: Disparity | None = None, title: str = ""
) -> Figure:
    """The reference image and two or more disparity maps side by side, each with its error or its difference from the first.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        The reference image, intensities 0..255.
    maps : mapping of str to ndarray, float32, (rows, columns)
        Disparity maps in pixels, NaN = no estimate (grey), by the names that are written above them. More than four maps make several rows.
    shown : (float, float)
        Disparities in pixels at the ends of the colours of all maps and the truth.
    truth : ndarray, float32, (rows, columns), optional
        Pixels, NaN = unknown (grey). It is drawn below the image, and the signed error, map minus truth, below each map. Without it, the difference
        from the first map is drawn below each of the other maps or, if there are two maps, beside them.
    title : str

    Raises
    ------
    DataError
        Image and maps differ in size.
    ParameterError
        There are fewer than two maps, or `shown` is not a range.
    """
    if len(maps) < 2:
        raise ParameterError(f"maps: {len(maps)} given; a comparison needs two or more")
    known = [] if truth is None else [("truth", truth)]
    check_image(image, *known, *maps.items())
    columns = _columns(image, maps, shown, truth)
    lines = math.ceil(len(columns) / _MOST)
    across = math.ceil(len(columns) / lines)
    width, height = panel_size(image.shape, across)
    gap, heading, bottom, top = 12, 30, 84, 40 if title else 4
    line = max(map(len, columns)) * (heading + height)
    sheet = Sheet(gap + across * (width + gap), bottom + lines * (line + gap) - gap + top)
    pictures = {}
    for i, column in enumerate(columns):
        x = gap + i % across * (width + gap)
        upper = bottom + (lines - 1 - i // across) * (line + gap) + line
        for j, (name, draw, *values) in enumerate(column, 1):
            pictures[draw] = draw(sheet.panel_at(x, upper - j * (heading + height), width, height, name), *values)
    # The legend for grey stands below the first column; the bars share the others.
    left, inset = gap + width + gap, width // 12
    half = ((across - 1) * (width + gap) - gap) // 2
    bars = [sheet.axes_at(left + i * half + inset, bottom - 26, half - 2 * inset, 14) for i in range(2)]
    shown_maps = [*maps.values()] if truth is None else [truth, *maps.values()]
    sheet.colour_bar(pictures[draw_disparity], bars[0], "disparity (pixels)", extend=beyond(shown_maps, shown))
    label = "difference (pixels)" if truth is None else "disparity error (pixels)"
    sheet.colour_bar(pictures[draw_difference], bars[1], label)
    sheet.title_line(title, 40)
    sheet.holes_legend([*maps.values()], truth, bottom)
    return sheet.figure


def _columns(
    image: Image, maps: Mapping[str, Disparity], shown: tuple[float, float], truth: Disparity | None
) -> list[list[tuple[Any, ...]]]:
    """The panels of each column from top to bottom: title, drawing function and its arguments after the axes."""
    reference = ("reference image", draw_image, image)
    if truth is not None:
        errors = [
            [(name, draw_disparity, values, shown), ("error: disparity − truth", draw_difference, values, truth)]
            for name, values in maps.items()
        ]
        return [[reference, ("truth", draw_disparity, truth, shown)], *errors]
    first, *others = maps
    columns: list[list[tuple[Any, ...]]] = [[reference], [(first, draw_disparity, maps[first], shown)]]
    for name in others:
        below = (f"difference from {first}", draw_difference, maps[name], maps[first])
        columns.append([(name, draw_disparity, maps[name], shown), below])
    # For two maps a single row shows everything.
    return columns if len(others) > 1 else [[panel] for column in columns for panel in column]
