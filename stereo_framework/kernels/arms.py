"""The arms of each pixel of an image, which reach as far as colours are similar.

A pixel has four arms: two along its row and two along its column. Cross-based methods
use them as the support regions of pixels (Zhang, Lu & Lafruit 2009).
"""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

Arms = NDArray[np.uint8]
"""Lengths of the arms to the left, to the right, upwards and downwards, in pixels.

The shape is (4, rows, columns). The pixel itself is not counted.
"""

# Steps (rows, columns) to the next pixel of an arm, in the order of `Arms`.
_STEPS = ((0, -1), (0, 1), (-1, 0), (1, 0))

MAX_ARM_LENGTH = 255
"""Largest allowed `max_arm`, because lengths are stored in bytes."""


def measure_arms(image: NDArray, max_arm: int, tau: float, far_arm: int, tau_far: float) -> Arms:
    """Measure the four arms of each pixel.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Image. The difference of two colours is the largest difference of a channel.
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
    # The compiler has to know the number of channels. Grey images are repeated.
    channels = image.reshape(rows, columns, -1)
    colours = np.broadcast_to(channels, (rows, columns, 3)).astype(np.float32)
    lengths = np.zeros((4, rows, columns), np.uint8)
    near_limit = _round_up_to_float32(tau)
    far_limit = _round_up_to_float32(min(tau, tau_far))

    def measure(start: int, stop: int) -> None:
        _measure_rows(colours, start, stop, max_arm, near_limit, far_arm, far_limit, lengths)

    over_rows(measure, rows, 40 * rows * columns)
    return lengths


def _round_up_to_float32(limit: float) -> np.float32:
    """Return the smallest float32 that is not below a limit.

    A float32 difference is below this number if and only if it is below the limit.
    """
    nearest = np.float32(limit)
    if float(nearest) >= limit:
        return nearest
    return np.nextafter(nearest, np.float32(np.inf))


@kernel
def _measure_rows(
    colours: NDArray[np.float32],
    start: int,
    stop: int,
    max_arm: int,
    tau: float,
    far_arm: int,
    tau_far: float,
    arms: Arms,
) -> None:
    """Write the arms of the rows from `start` to `stop` - 1.

    `colours` is the whole image (rows, columns, channels), because arms leave the rows.
    """
    rows, columns, _ = colours.shape
    for y in range(start, stop):
        for x in range(columns):
            for direction, (down, right) in enumerate(_STEPS):
                for length in range(1, max_arm):
                    v = y + length * down
                    u = x + length * right
                    limit = tau if length <= far_arm else tau_far
                    if not (0 <= v < rows and 0 <= u < columns):
                        break
                    if _colour_difference(colours, v, u, y, x) >= limit:
                        break
                    if _colour_difference(colours, v, u, v - down, u - right) >= tau:
                        break
                    arms[direction, y, x] = length


@kernel(inline="always")
def _colour_difference(colours: NDArray[np.float32], v: int, u: int, y: int, x: int) -> float:
    """Return the largest difference of a channel between two pixels."""
    red = abs(colours[v, u, 0] - colours[y, x, 0])
    green = abs(colours[v, u, 1] - colours[y, x, 1])
    blue = abs(colours[v, u, 2] - colours[y, x, 2])
    return max(red, green, blue)
