"""How far measures agree: the coefficient of determination between every two of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereo_framework.core.errors import DataError


def r_squared(values: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Coefficient of determination r^2 of the linear fit between every two columns of scores.

    Parameters
    ----------
    values : array_like, (samples, measures)
        NaN = no score. A sample counts for those pairs of measures of which it has both.

    Returns
    -------
    r2 : ndarray, float64, (measures, measures)
        0 = no linear relation, 1 = one measure follows from the other; symmetric. NaN if fewer than three samples have both measures, or if one of
        the two is the same in all of them.
    counts : ndarray, int64, (measures, measures)
        Number of samples that have both measures.

    Raises
    ------
    DataError
        The values are not a table.

    Notes
    -----
    Honauer et al. 2015, Figure 11, over pairs of image and algorithm. r^2 is that of the least-squares line, and is the same whichever of the two
    measures is fitted to the other. Two samples always lie on a line, so at least three are required.

    Examples
    --------
    >>> r2, counts = r_squared([[1, 2, 1], [2, 4, 0], [3, 6, 1], [4, 8, float("nan")]])
    >>> r2[0].tolist(), counts[0].tolist()
    ([1.0, 1.0, 0.0], [4, 4, 3])
    """
    scores = np.asarray(values, np.float64)
    if scores.ndim != 2:
        raise DataError(f"scores have shape {scores.shape}; expected (samples, measures)")
    measures = scores.shape[1]
    found = np.full((measures, measures), np.nan)
    counts = np.zeros((measures, measures), np.int64)
    there = np.isfinite(scores)
    for i in range(measures):
        for j in range(i, measures):
            both = there[:, i] & there[:, j]
            counts[i, j] = counts[j, i] = np.count_nonzero(both)
            x, y = scores[both, i], scores[both, j]
            if len(x) > 2 and np.ptp(x) > 0 and np.ptp(y) > 0:
                # Squares of tiny differences would be 0.
                x, y = (x - x[0]) / np.ptp(x), (y - y[0]) / np.ptp(y)
                x, y = x - x.mean(), y - y.mean()
                # Rounding may go beyond 1 by the last digit.
                found[i, j] = found[j, i] = min((x @ y) ** 2 / ((x @ x) * (y @ y)), 1.0)
    return found, counts
