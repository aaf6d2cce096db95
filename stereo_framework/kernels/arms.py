"""Arms: how far colours stay alike on either side of each pixel of an image, along its row and its column."""

from __future__ import annotations

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
    # Three channels, known to the compiler; of grey images two are 0.
    channels = np.moveaxis(image.reshape(rows, columns, -1), 2, 0)
    colours = np.zeros((3, rows, columns), np.float32)
    colours[: len(channels)] = channels
    found = np.zeros((4, rows, columns), np.uint8)
    near_limit, far_limit = _least_above(threshold), _least_above(min(threshold, far_threshold))

    def run(start: int, stop: int) -> None:
        _kernel(colours, start, stop, length, near_limit, far, far_limit, found)

    over_rows(run, rows, 40 * rows * columns)
    return found


def _least_above(limit: float) -> np.float32:
    """The least float32 that is not below a limit: float32 differences are below it when they are below the limit."""
    found = np.float32(limit)
    return found if float(found) >= limit else np.nextafter(found, np.float32(np.inf))


@kernel
def _kernel(
    colours: NDArray[np.float32], start: int, stop: int, length: int, threshold: float, far: int, far_threshold: float, arms: Arms
) -> None:
    """Arms of the rows from `start` to `stop` - 1 of a whole image ``(channels, rows, columns)``."""
    _, rows, columns = colours.shape
    flat, alive = colours.reshape(-1), np.empty(columns, np.uint8)
    for y in range(start, stop):
        for side, (down, right) in enumerate(_SIDES):
            # Arms of a row grow together, pixel by pixel, as long as one of them does.
            alive[:] = 1
            for i in range(1, length):
                v = y + i * down
                first, last = max(-i * right, 0), columns - max(i * right, 0)
                if not 0 <= v < rows or first >= last:
                    break
                limit = threshold if i <= far else far_threshold
                own, end = y * columns + first, v * columns + first + i * right
                before, plane = end - down * columns - right, rows * columns
                if _grow(flat, own, end, before, plane, limit, threshold, alive[first:last], arms[side, y, first:last]) == 0:
                    break


@kernel
def _grow(
    colours: NDArray[np.float32],
    own: int,
    end: int,
    before: int,
    plane: int,
    limit: float,
    threshold: float,
    alive: NDArray[np.uint8],
    arms: NDArray[np.uint8],
) -> int:
    """Let the arms of pixels from `own` on that still grow take the pixels from `end` on, which come after those from `before` on; how many did.

    `plane`: from one channel to the next.
    """
    a, b, c = np.uint64(own), np.uint64(end), np.uint64(before)
    second, third = np.uint64(plane), np.uint64(2 * plane)
    grown = 0
    for n in range(alive.shape[0]):
        i = np.uint64(n)
        red, green, blue = colours[b + i], colours[b + second + i], colours[b + third + i]
        apart = max(max(abs(red - colours[a + i]), abs(green - colours[a + second + i])), abs(blue - colours[a + third + i]))
        step = max(max(abs(red - colours[c + i]), abs(green - colours[c + second + i])), abs(blue - colours[c + third + i]))
        alive[i] &= np.uint8((apart < limit) & (step < threshold))
        arms[i] += alive[i]
        grown += alive[i]
    return grown
