"""Error statistics of a disparity map against the truth.

Disparities are float32 pixels; what is not finite in the estimate is missing. The truth must be known throughout the
region. Lower is better for errors, higher for the fraction matched. An empty region gives NaN.

Scharstein & Szeliski 2002, section 5.1.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from stereo_framework.scene import Disparity, Mask


def bad_pixels(disparity: Disparity, truth: Disparity, mask: Mask, threshold: float = 1.0) -> float:
    """Percentage of bad pixels in a region: error above `threshold`, or no estimate.

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels.
    mask : ndarray, bool, (rows, columns)
        The region.
    threshold : float
        Pixels; an error of exactly this is not bad.

    Returns
    -------
    float
        Percent of the region's pixels.

    Notes
    -----
    Scharstein & Szeliski 2002, equation 2. The paper's programs have no missing estimates; counting them as bad is ours.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[5, 5, 5, 5]], np.float32)
    >>> bad_pixels(np.array([[5, 6, 6.5, np.nan]], np.float32), truth, np.ones((1, 4), bool))
    50.0
    """
    count = int(np.count_nonzero(mask))
    return 100 * (count - _good_kernel(disparity, truth, mask, np.float32(threshold))) / count if count else math.nan


def rms_error(disparity: Disparity, truth: Disparity, mask: Mask) -> float:
    """Root of the mean squared error over the estimated pixels of a region.

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels. Missing estimates are left out.
    mask : ndarray, bool, (rows, columns)
        The region.

    Returns
    -------
    float
        Pixels; NaN when the region holds no estimate.

    Notes
    -----
    Scharstein & Szeliski 2002, equation 1. Squares are summed in float64.
    """
    total, count = _squares_kernel(disparity, truth, mask)
    return math.sqrt(total / count) if count else math.nan


def fraction_matched(disparity: Disparity, mask: Mask) -> float:
    """Fraction, 0 to 1, of a region's pixels that have an estimate.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels.
    mask : ndarray, bool, (rows, columns)
        The region.
    """
    count = int(np.count_nonzero(mask))
    return int(np.count_nonzero(np.isfinite(disparity) & mask)) / count if count else math.nan


@njit(cache=True, nogil=True, error_model="numpy")
def _good_kernel(disparity, truth, mask, threshold):  # type: ignore[no-untyped-def]
    good = 0
    for y in range(disparity.shape[0]):
        for x in range(disparity.shape[1]):
            # Counts what is good: with a missing estimate the comparison is false.
            good += mask[y, x] and np.abs(disparity[y, x] - truth[y, x]) <= threshold
    return good


@njit(cache=True, nogil=True, error_model="numpy")
def _squares_kernel(disparity, truth, mask):  # type: ignore[no-untyped-def]
    total, count = 0.0, 0
    for y in range(disparity.shape[0]):
        for x in range(disparity.shape[1]):
            if mask[y, x] and np.isfinite(disparity[y, x]):
                total += np.float64(disparity[y, x] - truth[y, x]) ** 2
                count += 1
    return total, count
