"""Sums and variances of the intensities in square windows around pixels.

Correlation-based stages use these sums. Intensities are rounded to multiples of 1/4096
grey level. Float64 sums of intensities, and of products of two intensities, are then
exact for windows up to 64 pixels wide. Therefore results do not depend on the division
of the image into strips of rows. The variance of a window of constant intensity is
exactly 0.

A window of w pixels extends ``(w - 1) // 2`` pixels to the left and upwards, and ``w //
2`` pixels to the right and downwards. Outside the image, border pixels are repeated.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def pad_for_windows(image: NDArray, size: int) -> Floats:
    """Round the intensities of an image, and add a margin for windows at the border.

    Parameters
    ----------
    image : ndarray, (rows, columns) or (rows, columns, channels)
        Intensities.
    size : int
        Width of the windows in pixels.

    Returns
    -------
    ndarray, float64, (rows + size - 1, columns + size - 1, channels)
        Extended image with rounded intensities.
    """
    margins = ((size - 1) // 2, size // 2)
    channels = image.reshape(*image.shape[:2], -1)
    return round_intensities(np.pad(channels, (margins, margins, (0, 0)), mode="edge"))


def round_intensities(values: NDArray) -> Floats:
    """Round intensities to multiples of 1/4096 grey level."""
    return np.rint(np.asarray(values, np.float64) * 4096) / 4096


def sum_windows(values: Floats, size: int) -> Floats:
    """Sum the values in the window around each pixel.

    `values` is an image with the margin of `pad_for_windows`. The result is float64
    (rows, columns, channels) without the margin.
    """
    rows = values.shape[0] - size + 1
    columns = values.shape[1] - size + 1
    sums = cv2.boxFilter(
        values, -1, (size, size), anchor=(0, 0), normalize=False, borderType=cv2.BORDER_CONSTANT
    )
    return sums.reshape(values.shape)[:rows, :columns]


def compute_scaled_variance(values: Floats, size: int) -> Floats:
    """Compute the variance in the window around each pixel, multiplied by ``size**4``.

    `values` is an image from `pad_for_windows`. The result is float64 (rows, columns),
    the sum over all channels. The factor ``size**4`` avoids divisions, which would
    cause rounding errors.
    """
    sums_of_squares = sum_windows(values**2, size)
    return (size**2 * sums_of_squares - sum_windows(values, size) ** 2).sum(axis=2)


def compute_window_variance(image: NDArray, size: int) -> Floats:
    """Compute the variance of the intensities in the window around each pixel.

    The result is float64 (rows, columns), in squared grey levels. For a colour image,
    the result is the mean over all channels.
    """
    values = pad_for_windows(image, size)
    return compute_scaled_variance(values, size) / (size**4 * values.shape[2])
