"""Figures and pictures of a single disparity map and its errors.

Disparities are float32 in pixels. A value that is not finite is missing in an estimate, and unknown in a truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stereo_framework.core.scene import Disparity, Image, Mask, inside_border
from stereo_framework.figures._drawing import (
    FONT,
    Sheet,
    beyond,
    check_image,
    check_shapes,
    draw_difference,
    draw_disparity,
    draw_image,
    panel_size,
)
from stereo_framework.figures.colours import rgb
from stereo_framework.io import PathLike, write_image

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHORTEST = 200
"""Smallest side, in screen pixels, of the frame around an image, so that bar and labels have room."""

MISSING_RGB = (255, 0, 255)
"""Colour of missing estimates in an error picture. It is magenta, since every grey level stands for an error."""


def disparity_figure(disparity: Disparity, shown: tuple[float, float], title: str = "") -> Figure:
    """A disparity map in colours with a colour bar in pixels.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate (grey). The map is drawn at its own resolution; if its sides are shorter than about 430 pixels, it is enlarged by a whole
        factor without interpolation.
    shown : (float, float)
        Disparities in pixels at the ends of the colour scale. The colour bar ends in an arrow if the map goes beyond it.
    title : str

    Raises
    ------
    DataError
        The map is not two-dimensional.
    ParameterError
        `shown` is not a range.
    """
    check_shapes(("disparity", disparity))
    rows, columns = disparity.shape
    factor = max(1, round(640 / max(rows, columns)))
    width, height = columns * factor, rows * factor
    left, right, bottom, top = 76, 118, 60, 40 if title else 16
    frame_width, frame_height = max(width, _SHORTEST), max(height, _SHORTEST)
    sheet = Sheet(left + frame_width + right, bottom + frame_height + top)
    axes = sheet.axes_at(left + (frame_width - width) // 2, bottom + (frame_height - height) // 2, width, height)
    picture = draw_disparity(axes, disparity, shown)
    axes.spines[:].set_visible(False)  # they and the ticks would cover some of the outermost pixels
    picture.set_zorder(3)
    axes.tick_params(labelsize=FONT)
    axes.set_xlabel("x (pixels)", fontsize=FONT)
    axes.set_ylabel("y (pixels)", fontsize=FONT)
    bar = sheet.axes_at(left + frame_width + 20, bottom, 22, frame_height)
    sheet.colour_bar(picture, bar, "disparity (pixels)", extend=beyond([disparity], shown), orientation="vertical")
    sheet.title_line(title, top)
    if not np.isfinite(disparity).all():
        sheet.legend("no estimate", "lower right", (1.0, 0.0))
    return sheet.figure


def error_picture(path: PathLike, disparity: Disparity, truth: Disparity, *, scale: float = 16.0, border: int = 0) -> None:
    """Write a picture of the signed error, disparity minus truth, in grey levels around 128.

    Parameters
    ----------
    path : path-like
        A ``.png`` file: 8-bit grey, or RGB when an estimate is missing.
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels.
    scale : float
        Grey levels per pixel of error. The default shows errors up to 8 pixels; larger errors are clipped.
    border : int
        Pixels on all four sides that are not evaluated.

    Raises
    ------
    DataError
        The maps differ in size, or the file cannot be written.

    Notes
    -----
    128 + trunc(error * scale + 0.5), clipped to 0..255; 128 in the border and where the truth is unknown. The rule is that of
    Scharstein & Szeliski's program (2002), whose scale is twice the grey levels per pixel of its disparity maps: 32 for Tsukuba, 16
    for its other scenes. In that program no estimates are missing; here missing ones are `MISSING_RGB`.
    """
    evaluated = _evaluated(disparity, truth, border)
    known = evaluated & np.isfinite(disparity)
    error = np.zeros(truth.shape, np.float32)
    error[known] = disparity[known] - truth[known]
    grey = np.clip(128 + np.trunc(error * np.float32(scale) + np.float32(0.5)), 0, 255).astype(np.uint8)
    missing = evaluated & ~known
    if missing.any():
        grey = rgb(grey)
        grey[missing] = MISSING_RGB
    write_image(path, grey)


def bad_pixel_picture(
    path: PathLike,
    disparity: Disparity,
    truth: Disparity,
    *,
    threshold: float,
    occluded: Mask | None = None,
    border: int = 0,
) -> None:
    """Write a picture of where a disparity map is wrong: bad pixels black, occluded bad pixels light grey, all others white.

    Parameters
    ----------
    path : path-like
        A ``.png`` file, 8-bit grey.
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels. A missing estimate is bad.
    threshold : float
        Pixels; an error of exactly this is not bad.
    occluded : ndarray, bool, (rows, columns), optional
        Pixels that are hidden in the match frame.
    border : int
        Pixels on all four sides that are not evaluated.

    Raises
    ------
    DataError
        The maps differ in size, or the file cannot be written.

    Notes
    -----
    0 for bad, 200 for bad and occluded, 255 for good, in the border and where the truth is unknown: the rule of Scharstein &
    Szeliski's program (2002).
    """
    evaluated = _evaluated(disparity, truth, border)
    # Find what is good, as the statistics do: a comparison with a missing estimate is false.
    good = np.abs(disparity - np.where(evaluated, truth, 0)) <= np.float32(threshold)
    grey = np.where(good | ~evaluated, 255, 0).astype(np.uint8)
    if occluded is not None:
        check_shapes(("truth", truth), ("mask of occluded pixels", occluded))
        grey[occluded & (grey == 0)] = 200
    write_image(path, grey)


def overview_figure(
    image: Image, disparity: Disparity, shown: tuple[float, float], truth: Disparity | None = None, title: str = ""
) -> Figure:
    """The reference image, the truth, the disparity map and its signed error side by side.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate (grey).
    shown : (float, float)
        Disparities in pixels at the ends of the colours of truth and disparity.
    truth : ndarray, float32, (rows, columns), optional
        Pixels, NaN = unknown (grey). Without it the figure shows only image and disparity.
    title : str

    Raises
    ------
    DataError
        Image and maps differ in size.
    ParameterError
        `shown` is no range.
    """
    maps = ({} if truth is None else {"truth": truth}) | {"disparity": disparity}
    check_image(image, *maps.items())
    names = ["reference image", *maps, *["error: disparity − truth"] * (truth is not None)]
    width, height = panel_size(disparity.shape, len(names))
    gap, bottom, top = 12, 84, 68 if title else 36
    sheet = Sheet(gap + len(names) * (width + gap), bottom + height + top)
    places = [sheet.panel_at(gap + i * (width + gap), bottom, width, height, name) for i, name in enumerate(names)]
    draw_image(places[0], image)
    for axes, values in zip(places[1:], maps.values(), strict=False):
        picture = draw_disparity(axes, values, shown)
    bar_bottom, bar_height, inset = bottom - 26, 14, width // 12
    bar = sheet.axes_at(gap + width + gap + inset, bar_bottom, len(maps) * (width + gap) - gap - 2 * inset, bar_height)
    sheet.colour_bar(picture, bar, "disparity (pixels)", extend=beyond([*maps.values()], shown))
    if truth is not None:
        picture = draw_difference(places[3], disparity, truth)
        bar = sheet.axes_at(gap + 3 * (width + gap) + inset, bar_bottom, width - 2 * inset, bar_height)
        sheet.colour_bar(picture, bar, "disparity error (pixels)")
    sheet.title_line(title, 36)
    sheet.holes_legend([disparity], truth, bottom)
    return sheet.figure


def _evaluated(disparity: Disparity, truth: Disparity, border: int) -> Mask:
    """Pixels within the border whose truth is known."""
    check_shapes(("disparity", disparity), ("truth", truth))
    return inside_border(truth.shape, border) & np.isfinite(truth)
