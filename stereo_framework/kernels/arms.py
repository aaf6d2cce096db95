"""Measurement of the arms of pixels, which extend as far as colours are similar.

Each pixel has four arms, two along its row and two along its column. Cross-based
methods (Zhang, Lu & Lafruit 2009) build the support region of a pixel from its arms.
"""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

Arms = NDArray[np.uint8]
"""Lengths of the left, right, upper and lower arm of each pixel, in pixels.

The shape of the array is (4, rows, columns). The centre pixel is not counted, so an arm
without any similar pixel has the length 0.
"""

# Offsets (rows, columns) from one pixel of an arm to the next: left, right, up, down.
_STEPS = ((0, -1), (0, 1), (-1, 0), (1, 0))

MAX_ARM_LENGTH = 255
"""Largest allowed `max_arm`, because arm lengths are stored as 8-bit integers."""


def measure_arms(image: NDArray, max_arm: int, tau: float, far_arm: int, tau_far: float) -> Arms:
    """Measure the lengths of the four arms of each pixel.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Grey or colour image. Two colours differ by the largest difference in red, green
        or blue.
    max_arm : int
        Upper bound of the arm lengths, in pixels. An arm has at most ``max_arm - 1``
        pixels.
    tau : float
        Colour threshold, in grey levels. An arm continues to the next pixel if the
        colour of that pixel differs by less than `tau` both from the colour of the
        centre pixel and from the colour of the previous pixel of the arm.
    far_arm, tau_far : int, float
        Distance in pixels, and stricter colour threshold in grey levels. A pixel that
        is more than `far_arm` pixels away from the centre pixel must also differ from
        its colour by less than `tau_far`.

    Returns
    -------
    ndarray, uint8, (4, rows, columns)
        Arm lengths. Callers must not write into the array, because other stages may
        share it.
    """
    rows, columns = image.shape[:2]
    # The kernel always reads three channels, so a grey channel is repeated.
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

    Comparing a float32 difference with this float32 number gives the same truth value
    as comparing the difference with the float64 number `limit`.
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
    """Write the arm lengths of the image rows from `start` to `stop` - 1 into `arms`.

    `colours` contains the whole image (rows, columns, channels), because vertical arms
    extend into other rows.
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
    """Return the largest difference in red, green or blue between two pixels.

    The pixels are (row v, column u) and (row y, column x).
    """
    red = abs(colours[v, u, 0] - colours[y, x, 0])
    green = abs(colours[v, u, 1] - colours[y, x, 1])
    blue = abs(colours[v, u, 2] - colours[y, x, 2])
    return max(red, green, blue)
