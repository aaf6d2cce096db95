"""Difference between the disparity maps of the reference image and the match image.

The left-right consistency check uses this difference.
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
    disparity : ndarray, float32, (rows, columns)
        Disparity map of the reference image.
    match_disparity : ndarray, float32, (rows, columns)
        Disparity map of the match image.
    direction : int
        1 or -1. Reference column x matches column ``x - direction * disparity``.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Absolute difference at each reference pixel; NaN if a pixel has no estimate, or
        if the matching pixel lies outside the image.
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

    The addition of 0.5 uses float64, because float32 would round 0.49999997 up to 1.
    """
    return np.copysign(np.floor(np.abs(np.float64(value)) + 0.5), np.float64(value))
