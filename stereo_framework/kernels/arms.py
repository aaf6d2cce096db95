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


def arms(image: NDArray, max_arm: int, tau: float, far_arm: int, tau_far: float) -> Arms:
    """Measure the four arms of each pixel.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Colours differ by the largest difference of a channel.
    max_arm : int
        Length that every arm stays below, in pixels.
    tau : float
        Colour difference, in grey levels, below which an arm continues. The colour of
        each of its pixels is compared with the colour of the centre and with that of
        the pixel before it.
    far_arm, tau_far : int, float
        Beyond `far_arm` pixels the difference from the centre must also be below
        `tau_far`.

    Returns
    -------
    ndarray, uint8, (4, rows, columns)
        Callers must not write into it, because other stages may share it.
    """
    rows, columns = image.shape[:2]
    # Three channels, known to the compiler; of grey images all are the same.
    colours = np.broadcast_to(image.reshape(rows, columns, -1), (rows, columns, 3)).astype(
        np.float32
    )
    result = np.zeros((4, rows, columns), np.uint8)
    limits = max_arm, _least_above(tau), far_arm, _least_above(min(tau, tau_far))

    def measure(start: int, stop: int) -> None:
        _kernel(colours, start, stop, *limits, result)

    over_rows(measure, rows, 40 * rows * columns)
    return result


def _least_above(limit: float) -> np.float32:
    """The least float32 that is not below a limit: float32 differences are below it when they are below the limit."""
    found = np.float32(limit)
    return found if float(found) >= limit else np.nextafter(found, np.float32(np.inf))


@kernel
def _kernel(
    colours: NDArray[np.float32],
    start: int,
    stop: int,
    max_arm: int,
    tau: float,
    far_arm: int,
    tau_far: float,
    arms: Arms,
) -> None:
    """Arms of the rows from `start` to `stop` - 1 of a whole image ``(rows, columns, channels)``."""
    rows, columns, _ = colours.shape
    for y in range(start, stop):
        for x in range(columns):
            for side, (down, right) in enumerate(_SIDES):
                for i in range(1, max_arm):
                    v, u, limit = (
                        y + i * down,
                        x + i * right,
                        tau if i <= far_arm else tau_far,
                    )
                    if (
                        not (0 <= v < rows and 0 <= u < columns)
                        or _apart(colours, v, u, y, x) >= limit
                    ):
                        break
                    if _apart(colours, v, u, v - down, u - right) >= tau:
                        break
                    arms[side, y, x] = i


@kernel(inline="always")
def _apart(colours: NDArray[np.float32], v: int, u: int, y: int, x: int) -> float:
    """The largest difference of two pixels in a channel."""
    red, green = abs(colours[v, u, 0] - colours[y, x, 0]), abs(colours[v, u, 1] - colours[y, x, 1])
    return max(red, green, abs(colours[v, u, 2] - colours[y, x, 2]))
