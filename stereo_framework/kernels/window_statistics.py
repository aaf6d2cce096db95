"""Sums and variances of intensities in the windows of an image.

Stages that compare windows by correlation use them. Intensities are rounded to
multiples of 1/4096 grey level. In windows of at most 64 pixels width, the sums of these
values and of their products are exact in float64. Therefore the results do not depend
on the row in which a strip starts, and the variance is exactly 0 in a window of
constant intensity.

A window of size w covers ``(w - 1) // 2`` pixels before its centre and ``w // 2``
pixels after it, in both directions. Outside the image, the border pixels are repeated.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pad_for_windows(image: NDArray, size: int) -> Floats:
    """Pad and round an image, so that each pixel has a whole window around it.

    Parameters
    ----------
    image : ndarray, (rows, columns) or (rows, columns, channels)
        Intensities.
    size : int
        Width of the windows in pixels.

    Returns
    -------
    ndarray, float64, (rows + size - 1, columns + size - 1, channels)
        Rounded intensities.
    """
    margins = ((size - 1) // 2, size // 2)
    channels = image.reshape(*image.shape[:2], -1)
    return round_intensities(np.pad(channels, (margins, margins, (0, 0)), mode="edge"))


def round_intensities(values: NDArray) -> Floats:
    """Round values to multiples of 1/4096."""
    return np.rint(np.asarray(values, np.float64) * 4096) / 4096


def sum_windows(values: Floats, size: int) -> Floats:
    """Sum the values of each window of an image from `pad_for_windows`.

    The result is float64 (rows, columns, channels), of the image before it was padded.
    """
    rows = values.shape[0] - size + 1
    columns = values.shape[1] - size + 1
    sums = cv2.boxFilter(
        values, -1, (size, size), anchor=(0, 0), normalize=False, borderType=cv2.BORDER_CONSTANT
    )
    return sums.reshape(values.shape)[:rows, :columns]


def compute_scaled_variance(values: Floats, size: int) -> Floats:
    """Compute ``size**4`` times the variance of each window of a padded image.

    The factor avoids divisions. Their rounding would make the variance of a window with
    constant intensity differ from 0. The variances of the channels are added up. The
    result is float64 (rows, columns).
    """
    sums_of_squares = sum_windows(values**2, size)
    return (size**2 * sums_of_squares - sum_windows(values, size) ** 2).sum(axis=2)


def compute_window_variance(image: NDArray, size: int) -> Floats:
    """Compute the variance of the intensities in the window around each pixel.

    The result is the mean over the channels, in squared grey levels, (rows, columns).
    """
    values = pad_for_windows(image, size)
    return compute_scaled_variance(values, size) / (size**4 * values.shape[2])
