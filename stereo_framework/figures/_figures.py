"""Figures of one disparity map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stereo_framework.figures._drawing import (
    FONT,
    axes_at,
    beyond,
    colour_bar,
    draw_difference,
    draw_disparity,
    draw_image,
    holes_legend,
    legend,
    new_figure,
    panel_at,
    panel_size,
    title_line,
)
from stereo_framework.scene import Disparity, Image

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHORTEST = 200
"""Screen pixels that the frame around a small or narrow image keeps, so that bar and labels have room."""


def disparity_figure(disparity: Disparity, shown: tuple[float, float], title: str) -> Figure:
    """A disparity map with axes and a colour bar in pixels; see `pictures.disparity_picture`."""
    rows, columns = disparity.shape
    factor = max(1, round(640 / max(rows, columns)))
    width, height = columns * factor, rows * factor
    left, right, bottom, top = 76, 118, 60, 40 if title else 16
    frame_width, frame_height = max(width, _SHORTEST), max(height, _SHORTEST)
    figure = new_figure(left + frame_width + right, bottom + frame_height + top)
    axes = axes_at(figure, left + (frame_width - width) // 2, bottom + (frame_height - height) // 2, width, height)
    picture = draw_disparity(axes, disparity, shown)
    axes.spines[:].set_visible(False)  # they and the ticks would cover some of the outermost pixels
    picture.set_zorder(3)
    axes.tick_params(labelsize=FONT)
    axes.set_xlabel("x (pixels)", fontsize=FONT)
    axes.set_ylabel("y (pixels)", fontsize=FONT)
    bar = axes_at(figure, left + frame_width + 20, bottom, 22, frame_height)
    colour_bar(figure, picture, bar, "disparity (pixels)", extend=beyond([disparity], shown), orientation="vertical")
    title_line(figure, title, top)
    if not np.isfinite(disparity).all():
        legend(figure, "no estimate", "lower right", (1.0, 0.0))
    return figure


def overview_figure(
    image: Image, disparity: Disparity, shown: tuple[float, float], truth: Disparity | None, title: str
) -> Figure:
    """Reference image, truth, disparity and error side by side; see `pictures.overview`."""
    maps = [("disparity", disparity)] if truth is None else [("truth", truth), ("disparity", disparity)]
    names = ["reference image", *(name for name, _ in maps)] + ([] if truth is None else ["error: disparity − truth"])
    width, height = panel_size(disparity.shape, len(names))
    gap, bottom, top = 12, 84, 68 if title else 36
    figure = new_figure(gap + len(names) * (width + gap), bottom + height + top)
    places = [panel_at(figure, gap + i * (width + gap), bottom, width, height, name) for i, name in enumerate(names)]
    draw_image(places[0], image)
    for axes, (_, values) in zip(places[1:], maps, strict=False):
        picture = draw_disparity(axes, values, shown)
    bar_bottom, bar_height, inset = bottom - 26, 14, width // 12
    bar = axes_at(figure, gap + width + gap + inset, bar_bottom, len(maps) * (width + gap) - gap - 2 * inset, bar_height)
    colour_bar(figure, picture, bar, "disparity (pixels)", extend=beyond([values for _, values in maps], shown))
    if truth is not None:
        picture = draw_difference(places[3], disparity, truth)
        bar = axes_at(figure, gap + 3 * (width + gap) + inset, bar_bottom, width - 2 * inset, bar_height)
        colour_bar(figure, picture, bar, "disparity error (pixels)")
    title_line(figure, title, 36)
    holes_legend(figure, [disparity], truth, bottom)
    return figure
