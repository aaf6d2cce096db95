"""Arms of pixels for cross-based methods (Zhang, Lu & Lafruit 2009).

An arm is a line of pixels of similar colour that starts at a pixel. Each pixel has four
arms: left, right, up and down.
"""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

Arms = NDArray[np.uint8]
"""Lengths of the left, right, upper and lower arm of each pixel, in pixels.

The shape of the array is (4, rows, columns). The centre pixel is not counted.
"""

# Direction (rows, columns) of the left, right, upper and lower arm.
_STEPS = ((0, -1), (0, 1), (-1, 0), (1, 0))

MAX_ARM_LENGTH = 255
"""Largest allowed `max_arm`, because arm lengths are stored as 8-bit integers."""


def measure_arms(image: NDArray, max_arm: int, tau: float, far_arm: int, tau_far: float) -> Arms:
    """Measure the lengths of the four arms of each pixel.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Grey or colour image. The colour difference of two pixels is the largest
        difference in red, green or blue.
    max_arm : int
        Upper limit of the arm length, in pixels. An arm is always shorter than
        `max_arm`.
    tau : float
        Colour threshold, in grey levels. Each pixel of an arm differs by less than
        `tau` from the centre pixel and from the previous pixel.
    far_arm : int
        Arm length beyond which `tau_far` applies, in pixels.
    tau_far : float
        Stricter colour threshold, in grey levels. Pixels beyond `far_arm` differ by
        less than `tau_far` from the centre pixel.

    Returns
    -------
    ndarray, uint8, (4, rows, columns)
        Arm lengths. Several stages may share the array, so do not modify the array.
    """
    rows, columns = image.shape[:2]
    # The kernel expects three channels, so a grey channel is repeated.
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
    """Return the smallest float32 number that is at least `limit`.

    For float32 numbers, ``x < result`` and ``x < limit`` give the same answer.
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
    """Write the arm lengths of the image rows `start` to `stop` - 1 into `arms`.

    Vertical arms extend into other rows, so `colours` contains the whole image.
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
    """Return the colour difference of the pixels (v, u) and (y, x).

    The result is the largest difference in red, green or blue.
    """
    red = abs(colours[v, u, 0] - colours[y, x, 0])
    green = abs(colours[v, u, 1] - colours[y, x, 1])
    blue = abs(colours[v, u, 2] - colours[y, x, 2])
    return max(red, green, blue)
