"""Error statistics of a disparity map against the truth.

Disparities are float32 pixels; what is not finite in the estimate is missing. The truth must be known throughout the
region. Lower is better for errors, higher for the fraction matched. An empty region gives NaN.

Scharstein & Szeliski 2002, section 5.1.
"""

from __future__ import annotations

import math

import numpy as np

from stereo_framework.evaluation._sizes import check_sizes
from stereo_framework.kernels.decorator import kernel
from stereo_framework.scene import Disparity, Mask


def bad_pixels(
    disparity: Disparity,
    truth: Disparity,
    mask: Mask,
    threshold: float = 1.0,
    *,
    relative: float = 0.0,
    count_missing: bool = True,
) -> float:
    """Percentage of bad pixels in a region: error above `threshold`, or no estimate.

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels.
    mask : ndarray, bool, (rows, columns)
        The region.
    threshold : float
        Pixels; an error of exactly this is not bad.
    relative : float
        Share of the true disparity that the error of a bad pixel exceeds besides; 0 = no such rule.
    count_missing : bool
        Whether missing estimates are bad. They are among the region's pixels in any case.

    Returns
    -------
    float
        Percent of the region's pixels.

    Notes
    -----
    Scharstein & Szeliski 2002, equation 9; its programs have no missing estimates, counting them as bad is ours. Middlebury v3 counts them
    apart. KITTI's Out-Noc and Out-All, and with 3 pixels and 0.05 its outliers D1 (Menze & Geiger 2015).

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[5, 5, 5, 5]], np.float32)
    >>> bad_pixels(np.array([[5, 6, 6.5, np.nan]], np.float32), truth, np.ones((1, 4), bool))
    50.0
    """
    check_sizes("bad_pixels", disparity=disparity, truth=truth, mask=mask)
    count = int(np.count_nonzero(mask))
    if not count:
        return math.nan
    good, estimated = _good_kernel(disparity, truth, mask, np.float32(threshold), relative)
    return 100 * ((count if count_missing else estimated) - good) / count


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
    Scharstein & Szeliski 2002, equation 8. Squares are summed in float64.
    """
    check_sizes("rms_error", disparity=disparity, truth=truth, mask=mask)
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
    check_sizes("fraction_matched", disparity=disparity, mask=mask)
    count = int(np.count_nonzero(mask))
    return int(np.count_nonzero(np.isfinite(disparity) & mask)) / count if count else math.nan


@kernel
def _good_kernel(disparity, truth, mask, threshold, relative):  # type: ignore[no-untyped-def]
    good, estimated = 0, 0
    for y in range(disparity.shape[0]):
        for x in range(disparity.shape[1]):
            error = np.abs(disparity[y, x] - truth[y, x])
            # Counts what is good: with a missing estimate the comparisons are false.
            good += mask[y, x] and (error <= threshold or error <= relative * np.float64(np.abs(truth[y, x])))
            estimated += mask[y, x] and np.isfinite(disparity[y, x])
    return good, estimated


@kernel
def _squares_kernel(disparity, truth, mask):  # type: ignore[no-untyped-def]
    total, count = 0.0, 0
    for y in range(disparity.shape[0]):
        for x in range(disparity.shape[1]):
            if mask[y, x] and np.isfinite(disparity[y, x]):
                total += np.float64(disparity[y, x] - truth[y, x]) ** 2
                count += 1
    return total, count
