"""Error statistics of a disparity map against the truth, as the benchmarks and papers define them; and how far two maps of one frame differ.

Disparities and truth are float32 ``(rows, columns)``, in pixels. An estimate that is not finite is missing. A region is a mask, bool ``(rows, columns)``, in
which the truth must be known everywhere. An empty region gives NaN, and so does one without estimates where a statistic is taken over the estimates. Lower is
better, except for `fraction_matched` and `density`.

- Scharstein & Szeliski 2002, section 5.1: `bad_pixels`, `rms_error`, `fraction_matched`. With a relative threshold, `bad_pixels` also counts the outliers of KITTI.
- Cabezas et al. 2011: `mean_absolute_error`, `mean_squared_error`, `mean_absolute_percentage_error`.
- Middlebury v3, ETH3D and KITTI: `error_quantile`, `density`, `invalid_pixels`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.input_checks import check_sizes
from stereo_framework.core.scene import Disparity, Mask
from stereo_framework.core.view import kernel_array
from stereo_framework.kernels.decorator import kernel


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
        The error of a bad pixel must also exceed this share of the true disparity; 0 = no such rule.
    count_missing : bool
        Whether missing estimates are bad. In either case they count among the pixels of the region.

    Returns
    -------
    float
        Percent of the region's pixels.

    Notes
    -----
    Scharstein & Szeliski 2002, equation 9. The programs of that paper leave no estimate missing; to count missing ones as bad is our choice,
    and Middlebury v3 counts them apart. The same metric gives KITTI's Out-Noc and Out-All and, with a threshold of 3 pixels and a relative
    one of 0.05, its outliers D1 (Menze & Geiger 2015).

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
    good, estimated = _good_kernel(
        *map(kernel_array, (disparity, truth, mask)), np.float32(threshold), float(relative)
    )
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
    total, count = _squares_kernel(*map(kernel_array, (disparity, truth, mask)))
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


def mean_absolute_error(disparity: Disparity, truth: Disparity, mask: Mask) -> float:
    """Mean absolute error (MAE, also "average error") over the estimated pixels of a region.

    Returns
    -------
    float
        Pixels.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[5, 5, 5]], np.float32)
    >>> mean_absolute_error(np.array([[5, 6, np.nan]], np.float32), truth, truth > 0)
    0.5
    """
    return _mean(_absolute_errors(disparity, truth, mask))


def mean_squared_error(disparity: Disparity, truth: Disparity, mask: Mask) -> float:
    """Mean squared error (MSE) over the estimated pixels of a region: the square of `rms_error`.

    Returns
    -------
    float
        Square pixels.
    """
    return rms_error(disparity, truth, mask) ** 2


def mean_absolute_percentage_error(disparity: Disparity, truth: Disparity, mask: Mask) -> float:
    """Mean absolute error in percent of the truth (MAPE) over the estimated pixels of a region.

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels. Pixels whose true disparity is not above 0 are left out.
    mask : ndarray, bool, (rows, columns)
        The region.

    Returns
    -------
    float
        Percent. A hundredth of it is the mean relative error (MRE).

    Notes
    -----
    Cabezas, Padilla & Trujillo 2011, Table 1.
    """
    mask = mask & (truth > 0)
    errors = _absolute_errors(disparity, truth, mask)
    return 100 * _mean(errors / truth[mask & np.isfinite(disparity)])


def error_quantile(disparity: Disparity, truth: Disparity, mask: Mask, quantile: float) -> float:
    """The absolute error below which a share `quantile` of a region's estimated pixels stay (A50, A90, A95, A99).

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels.
    mask : ndarray, bool, (rows, columns)
        The region.
    quantile : float
        0..1; 0.5 is the median, 1 the largest error.

    Returns
    -------
    float
        Pixels.

    Raises
    ------
    ParameterError
        `quantile` is not within 0..1.

    Notes
    -----
    The rule of ETH3D's two-view evaluation: of the n errors in ascending order, take the one at index ``floor(n * quantile)``, counted from 0.
    Nothing is interpolated, so the median of two errors is the larger one.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.full((1, 4), 5, np.float32)
    >>> error_quantile(truth + np.float32([1, 3, 0, 2]), truth, truth > 0, 0.5)
    2.0
    """
    if not 0 <= quantile <= 1:
        raise ParameterError(f"quantile: {quantile!r} is not within 0..1")
    errors = _absolute_errors(disparity, truth, mask)
    if not errors.size:
        return math.nan
    index = min(math.floor(errors.size * quantile), errors.size - 1)
    return float(np.partition(errors, index)[index])


def density(disparity: Disparity, mask: Mask) -> float:
    """Percentage of a region's pixels that have an estimate (ETH3D: coverage); higher is better.

    Returns
    -------
    float
        Percent.
    """
    return 100 * fraction_matched(disparity, mask)


def invalid_pixels(disparity: Disparity, mask: Mask) -> float:
    """Percentage of a region's pixels that have no estimate: 100 minus the `density`.

    Returns
    -------
    float
        Percent.
    """
    return 100 - density(disparity, mask)


def map_difference(
    disparity: Disparity, other: Disparity, threshold: float = 1.0, *, mask: Mask | None = None
) -> dict[str, float]:
    """How far two maps of one frame differ where both have an estimate.

    Parameters
    ----------
    disparity, other : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    threshold : float
        Pixels from which two estimates differ.
    mask : ndarray, bool, (rows, columns), optional
        Region; default: everywhere.

    Returns
    -------
    dict of str to float
        ``differing_pixels`` in percent of the pixels that both estimate, and ``mean_difference``, absolute, in pixels; NaN where there are none.

    Examples
    --------
    >>> import numpy as np
    >>> map_difference(np.float32([[1, 2, 3, np.nan]]), np.float32([[1, 5, 3, 4]]), mask=np.array([[True, True, False, True]]))
    {'differing_pixels': 50.0, 'mean_difference': 1.5}
    """
    both = np.isfinite(other) & np.isfinite(disparity)
    if mask is not None:
        both &= mask
    return {
        "differing_pixels": bad_pixels(disparity, other, both, threshold),
        "mean_difference": mean_absolute_error(disparity, other, both),
    }


def _absolute_errors(disparity: Disparity, truth: Disparity, mask: Mask) -> NDArray[np.float32]:
    """Absolute errors of the estimated pixels of a region, in any order."""
    check_sizes("errors", disparity=disparity, truth=truth, mask=mask)
    estimated = mask & np.isfinite(disparity)
    return np.abs(disparity[estimated] - truth[estimated])


def _mean(values: NDArray[np.float32]) -> float:
    return float(np.mean(values, dtype=np.float64)) if values.size else math.nan


@kernel
def _good_kernel(disparity, truth, mask, threshold, relative):  # type: ignore[no-untyped-def]
    good, estimated = 0, 0
    for y in range(disparity.shape[0]):
        for x in range(disparity.shape[1]):
            error = np.abs(disparity[y, x] - truth[y, x])
            # Count what is good: with a missing estimate the comparisons are false.
            good += mask[y, x] and (
                error <= threshold or error <= relative * np.float64(np.abs(truth[y, x]))
            )
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
