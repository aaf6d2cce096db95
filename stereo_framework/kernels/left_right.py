"""Difference between the disparity maps of the reference image and the match image.

The left-right consistency check, the evaluator and a confidence measure use this
difference.
"""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows


def compute_left_right_difference(
    disparity: NDArray[np.float32], match_disparity: NDArray[np.float32], direction: int
) -> NDArray[np.float32]:
    """Compute the difference between the disparities of matching pixels, in pixels.

    Parameters
    ----------
    disparity, match_disparity : ndarray, float32, (rows, columns)
        Disparity maps of the reference and the match image.
    direction : int
        1 or -1. The reference pixel in column x matches the pixel in column
        ``x - direction * disparity`` of the match image.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Absolute difference for each reference pixel. The difference is NaN if the
        reference pixel or its matching pixel has no estimate, or if the matching pixel
        lies outside the match image.
    """
    difference = np.empty(disparity.shape, np.float32)

    def compare(start: int, stop: int) -> None:
        rows = slice(start, stop)
        _compare_rows(disparity[rows], match_disparity[rows], direction, difference[rows])

    over_rows(compare, len(disparity), 5 * disparity.size)
    return difference


@kernel
def _compare_rows(disparity, match_disparity, direction, out):  # type: ignore[no-untyped-def]
    """Write the absolute disparity difference of each reference pixel into `out`."""
    rows, columns = disparity.shape
    for y in range(rows):
        for x in range(columns):
            out[y, x] = np.nan
            match_x = x - direction * round_half_away(disparity[y, x])
            if 0 <= match_x < columns and np.isfinite(match_disparity[y, int(match_x)]):
                out[y, x] = np.abs(disparity[y, x] - match_disparity[y, int(match_x)])


@kernel
def round_half_away(value):  # type: ignore[no-untyped-def]
    """Round to the nearest integer, and round halves away from zero (-2.5 to -3).

    The number 0.5 is added in float64, because the float32 sum of 0.49999997 and 0.5
    would be 1 instead of a number below 1.
    """
    return np.copysign(np.floor(np.abs(np.float64(value)) + 0.5), np.float64(value))
