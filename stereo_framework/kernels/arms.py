"""Arms: how far colours stay alike on either side of each pixel of an image, along its row and its column."""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

Arms = NDArray[np.uint8]
"""Pixels beside the pixel itself, to the left, to the right, up and down; (4, rows, positions)."""

# Rows and columns from a pixel to the next one on its arms.
_SIDES = ((0, -1), (0, 1), (-1, 0), (1, 0))

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
    # Three channels, known to the compiler; of grey images all are the same.
    colours = np.broadcast_to(image.reshape(rows, columns, -1), (rows, columns, 3)).astype(
        np.float32
    )
    found = np.zeros((4, rows, columns), np.uint8)
    near_limit, far_limit = _least_above(threshold), _least_above(min(threshold, far_threshold))
    limits = length, near_limit, far, far_limit
    over_rows(
        lambda start, stop: _kernel(colours, start, stop, *limits, found), rows, 40 * rows * columns
    )
    return found


def _least_above(limit: float) -> np.float32:
    """The least float32 that is not below a limit: float32 differences are below it when they are below the limit."""
    found = np.float32(limit)
    return found if float(found) >= limit else np.nextafter(found, np.float32(np.inf))


@kernel
def _kernel(
    colours: NDArray[np.float32],
    start: int,
    stop: int,
    length: int,
    threshold: float,
    far: int,
    far_threshold: float,
    arms: Arms,
) -> None:
    """Arms of the rows from `start` to `stop` - 1 of a whole image ``(rows, columns, channels)``."""
    rows, columns, _ = colours.shape
    for y in range(start, stop):
        for x in range(columns):
            for side, (down, right) in enumerate(_SIDES):
                for i in range(1, length):
                    v, u, limit = (
                        y + i * down,
                        x + i * right,
                        threshold if i <= far else far_threshold,
                    )
                    if (
                        not (0 <= v < rows and 0 <= u < columns)
                        or _apart(colours, v, u, y, x) >= limit
                    ):
                        break
                    if _apart(colours, v, u, v - down, u - right) >= threshold:
                        break
                    arms[side, y, x] = i


@kernel(inline="always")
def _apart(colours: NDArray[np.float32], v: int, u: int, y: int, x: int) -> float:
    """The largest difference of two pixels in a channel."""
    red, green = abs(colours[v, u, 0] - colours[y, x, 0]), abs(colours[v, u, 1] - colours[y, x, 1])
    return max(red, green, abs(colours[v, u, 2] - colours[y, x, 2]))
