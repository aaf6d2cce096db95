"""Pictures of disparity maps and their errors.

Disparities are float32 pixels; what is not finite in an estimate is missing, in a truth unknown.
"""

from __future__ import annotations

import numpy as np

from stereo_framework.figures._drawing import check_shapes, save_picture
from stereo_framework.figures._figures import disparity_figure, overview_figure
from stereo_framework.io import PathLike, write_image
from stereo_framework.scene import Disparity, Image, Mask

MISSING_RGB = (255, 0, 255)
"""Missing estimates in an error picture: magenta, since every grey level stands for an error."""


def disparity_picture(path: PathLike, disparity: Disparity, shown: tuple[float, float], *, title: str = "") -> None:
    """Write a disparity map in colours with a colour bar in pixels.

    Parameters
    ----------
    path : path-like
        A ``.png`` file.
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate (grey). Drawn at its own resolution; maps of less than some 430 pixels a side are enlarged
        by a whole number, nothing is interpolated.
    shown : (float, float)
        Disparities in pixels at the ends of the colours; the bar ends in an arrow where the map goes beyond.
    title : str

    Raises
    ------
    DataError
        The map is not two-dimensional, or the file cannot be written.
    ParameterError
        `shown` is no range.
    """
    check_shapes(("disparity", disparity))
    save_picture(path, disparity_figure(disparity, shown, title))


def error_picture(path: PathLike, disparity: Disparity, truth: Disparity, *, scale: float = 16.0, border: int = 0) -> None:
    """Write the signed error, disparity minus truth, as grey levels around 128.

    Parameters
    ----------
    path : path-like
        A ``.png`` file: 8-bit grey, or RGB when an estimate is missing.
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels.
    scale : float
        Grey levels per pixel of error. The default shows errors up to 8 pixels; larger ones are clipped.
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
    for its other scenes. It has no missing estimates; here they are `MISSING_RGB`.
    """
    evaluated = _evaluated(disparity, truth, border)
    known = evaluated & np.isfinite(disparity)
    error = np.zeros(truth.shape, np.float32)
    error[known] = disparity[known] - truth[known]
    grey = np.clip(128 + np.trunc(error * np.float32(scale) + np.float32(0.5)), 0, 255).astype(np.uint8)
    missing = evaluated & ~known
    if missing.any():
        grey = np.repeat(grey[..., None], 3, axis=2)
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
    """Write where a disparity map is wrong: bad pixels black, bad ones that are occluded light grey, all else white.

    Parameters
    ----------
    path : path-like
        A ``.png`` file, 8-bit grey.
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels. A missing estimate is bad.
    threshold : float
        Pixels; an error of exactly this is not bad.
    occluded : ndarray, bool, (rows, columns), optional
        Pixels that the match frame does not show.
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
    # Asks what is good, as the statistics do: a comparison with a missing estimate is false.
    good = np.abs(disparity - np.where(evaluated, truth, 0)) <= np.float32(threshold)
    grey = np.where(good | ~evaluated, 255, 0).astype(np.uint8)
    if occluded is not None:
        check_shapes(("truth", truth), ("mask of occluded pixels", occluded))
        grey[occluded & (grey == 0)] = 200
    write_image(path, grey)


def overview(
    path: PathLike,
    image: Image,
    disparity: Disparity,
    shown: tuple[float, float],
    *,
    truth: Disparity | None = None,
    title: str = "",
) -> None:
    """Write the reference image, the truth, the disparity map and its signed error side by side.

    Parameters
    ----------
    path : path-like
        A ``.png`` file.
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate (grey).
    shown : (float, float)
        Disparities in pixels at the ends of the colours of truth and disparity.
    truth : ndarray, float32, (rows, columns), optional
        Pixels, NaN = unknown (grey). Without it the picture shows image and disparity alone.
    title : str

    Raises
    ------
    DataError
        Image and maps differ in size, or the file cannot be written.
    ParameterError
        `shown` is no range.
    """
    maps = [("disparity", disparity)] if truth is None else [("truth", truth), ("disparity", disparity)]
    check_shapes(("image", image[..., 0] if image.ndim == 3 else image), *maps)
    save_picture(path, overview_figure(image, disparity, shown, truth, title))


def _evaluated(disparity: Disparity, truth: Disparity, border: int) -> Mask:
    """Pixels within the border whose truth is known."""
    check_shapes(("disparity", disparity), ("truth", truth))
    rows, columns = truth.shape
    inside = np.zeros(truth.shape, bool)
    inside[border : max(rows - border, 0), border : max(columns - border, 0)] = True
    return inside & np.isfinite(truth)
