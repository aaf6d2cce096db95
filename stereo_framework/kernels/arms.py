"""Arms: how far colours stay alike on either side of each pixel of an image, along its row and its column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

Arms = NDArray[np.uint8]
"""Pixels beside the pixel itself, to the left, to the right, up and down; (4, rows, positions)."""

LONGEST = 255
"""Arms are shorter, so that they fit into a byte."""


def arms(image: NDArray, length: int, threshold: float, far: int, far_threshold: float) -> Arms:
    """The arms of each pixel.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Colours differ by the largest difference of a channel.
    length : int
        Arms are shorter than this, in pixels.
    threshold : float
        In grey levels: the colours on an arm differ by less from the pixel's, and each from the one before it.
    far, far_threshold : int, float
        At a greater distance than `far` pixels they differ from the pixel's by less than `far_threshold` grey levels too.

    Returns
    -------
    ndarray, uint8, (4, rows, columns)
        Read-only to whoever gets it: it may be kept for others.
    """
    rows, columns = image.shape[:2]
    pixels = np.ascontiguousarray(image).reshape(rows, columns, -1)
    found = np.empty((4, rows, columns), np.uint8)

    def run(start: int, stop: int) -> None:
        _kernel(pixels, start, length, threshold, far, far_threshold, found[:, start:stop])

    over_rows(run, rows, 40 * rows * columns)
    return found


@kernel
def _kernel(image: NDArray, start: int, length: int, threshold: float, far: int, far_threshold: float, arms: Arms) -> None:
    """Arms of the rows from `start` on of a whole image ``(rows, columns, channels)``."""
    last, end = image.shape[0] - 1, image.shape[1] - 1
    for y in range(arms.shape[1]):
        at = start + y
        for x in range(arms.shape[2]):
            arms[0, y, x] = _arm(image, at, x, 0, -1, min(length - 1, x), threshold, far, far_threshold)
            arms[1, y, x] = _arm(image, at, x, 0, 1, min(length - 1, end - x), threshold, far, far_threshold)
            arms[2, y, x] = _arm(image, at, x, -1, 0, min(length - 1, at), threshold, far, far_threshold)
            arms[3, y, x] = _arm(image, at, x, 1, 0, min(length - 1, last - at), threshold, far, far_threshold)


@kernel
def _arm(
    image: NDArray, y: int, x: int, down: int, right: int, most: int, threshold: float, far: int, far_threshold: float
) -> int:
    """Length of an arm of at most `most` pixels."""
    v, u = y, x
    for i in range(1, most + 1):
        v, u = v + down, u + right
        limit = threshold if i <= far else min(threshold, far_threshold)
        # Unsigned indices need no wraparound check.
        row, column, row_before, column_before = np.uint64(v), np.uint64(u), np.uint64(v - down), np.uint64(u - right)
        for c in range(image.shape[2]):
            value = np.float32(image[row, column, c])
            apart = abs(value - np.float32(image[np.uint64(y), np.uint64(x), c]))
            step = abs(value - np.float32(image[row_before, column_before, c]))
            if not (apart < limit and step < threshold):
                return i - 1
    return most
