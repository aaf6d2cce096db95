"""Sums and variances over the windows of an image: what correlations and the confidence in them share.

Intensities are rounded to 1/4096 grey level. Sums of them and of their products are then exact in float64 (windows up to 64 pixels wide),
so that no result depends on where a row range starts, and a window is flat when its variance is 0. A window of size w covers
``(w - 1) // 2`` pixels before and ``w // 2`` after its centre; beyond the borders of an image its outermost pixels repeat.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def extended(image: NDArray, size: int) -> Floats:
    """An image with as many pixels more on each side as windows need, rounded: float64 (rows + size - 1, columns + size - 1, channels)."""
    around = ((size - 1) // 2, size // 2)
    return rounded(
        np.pad(image.reshape(*image.shape[:2], -1), (around, around, (0, 0)), mode="edge")
    )


def rounded(values: NDArray) -> Floats:
    """Values rounded to multiples of 1/4096."""
    return np.rint(np.asarray(values, np.float64) * 4096) / 4096


def window_sums(values: Floats, size: int) -> Floats:
    """Sums over all whole windows of `extended` values: float64 (rows, columns, channels)."""
    rows, columns = values.shape[0] - size + 1, values.shape[1] - size + 1
    sums = cv2.boxFilter(
        values, -1, (size, size), anchor=(0, 0), normalize=False, borderType=cv2.BORDER_CONSTANT
    )
    return sums.reshape(values.shape)[:rows, :columns]


def window_spread(values: Floats, size: int) -> Floats:
    """The variances of all whole windows, summed over the channels, times the fourth power of `size`: float64 (rows, columns)."""
    return (size**2 * window_sums(values**2, size) - window_sums(values, size) ** 2).sum(axis=2)


def window_variance(image: NDArray, size: int) -> Floats:
    """Variance of the intensities in the window around each pixel, mean over the channels; squared grey levels, (rows, columns)."""
    values = extended(image, size)
    return window_spread(values, size) / (size**4 * values.shape[2])
