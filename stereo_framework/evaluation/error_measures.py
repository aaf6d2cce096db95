"""Further error statistics of a disparity map against the truth, as benchmarks and papers define them.

Disparities and truth are float32 ``(rows, columns)`` in pixels; what is not finite in the estimate is missing and, unless said otherwise, left out. A
region is a mask, bool ``(rows, columns)``; the truth must be known throughout. Lower is better, but for the density. An empty region, and one without an estimate, give NaN.

Metrics: `mean_absolute_error`, `mean_squared_error`, `mean_absolute_percentage_error` (Cabezas et al. 2011), `error_quantile`
(ETH3D, Middlebury v3), `outliers` and `density` (KITTI), `invalid_pixels` (Middlebury v3).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stereo_framework.errors import ParameterError
from stereo_framework.evaluation._sizes import check_sizes
from stereo_framework.evaluation.disparity_error import bad_pixels, fraction_matched, rms_error
from stereo_framework.scene import Disparity, Mask


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
    """The absolute error that a share `quantile` of a region's estimated pixels stays below (A50, A90, A95, A99).

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
    The rule of ETH3D's two-view evaluation: of the n errors in ascending order the one with index ``floor(n * quantile)``, counted from
    0; nothing is interpolated, so that the median of two errors is the larger one.

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


def outliers(disparity: Disparity, truth: Disparity, mask: Mask, threshold: float = 3.0, relative: float = 0.05) -> float:
    """Percentage of a region's pixels that are wrong both absolutely and in relation to the truth, or have no estimate.

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels.
    mask : ndarray, bool, (rows, columns)
        The region.
    threshold : float
        Pixels; an error of exactly this is no outlier.
    relative : float
        Fraction of the true disparity; an error of exactly this is no outlier. 0 leaves `threshold` alone, as `bad_pixels` does.

    Returns
    -------
    float
        Percent.

    Notes
    -----
    D1 of KITTI 2015 (Menze & Geiger 2015): more than 3 pixels and more than 5 % of the truth.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.array([[20, 20, 100, 100]], np.float32)
    >>> outliers(truth + np.float32([4, 2, 4, 6]), truth, truth > 0)
    50.0
    """
    return bad_pixels(disparity, truth, mask, threshold, relative=relative)


def density(disparity: Disparity, mask: Mask) -> float:
    """Percentage of a region's pixels that have an estimate (ETH3D: coverage); higher is better.

    Returns
    -------
    float
        Percent.
    """
    return 100 * fraction_matched(disparity, mask)


def invalid_pixels(disparity: Disparity, mask: Mask) -> float:
    """Percentage of a region's pixels that have no estimate: what `density` leaves.

    Returns
    -------
    float
        Percent.
    """
    return 100 - density(disparity, mask)


def _absolute_errors(disparity: Disparity, truth: Disparity, mask: Mask) -> NDArray[np.float32]:
    """Of the estimated pixels of a region, in any order."""
    check_sizes("errors", disparity=disparity, truth=truth, mask=mask)
    estimated = mask & np.isfinite(disparity)
    return np.abs(disparity[estimated] - truth[estimated])


def _mean(values: NDArray[np.float32]) -> float:
    return float(np.mean(values, dtype=np.float64)) if values.size else math.nan
