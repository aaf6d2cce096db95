"""The ranking of the Middlebury benchmark: a rank in every column, averaged over the columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereo_framework.core.errors import DataError


def competition_ranks(values: ArrayLike) -> NDArray[np.int64]:
    """Rank of every score in its column, 1 = best; equal scores share the better rank (1, 1, 3).

    Parameters
    ----------
    values : array_like, (methods,) or (methods, columns)
        Lower is better.

    Returns
    -------
    ndarray, int64, shape of `values`

    Raises
    ------
    DataError
        A value is NaN.

    Notes
    -----
    Scharstein & Szeliski 2002, Table 5. Scores are compared as they are. To rank scores that were printed ties those which differ only beyond the printed digits.

    Examples
    --------
    >>> competition_ranks([0.2, 0.1, 0.1, 0.3]).tolist()
    [3, 1, 1, 4]
    """
    scores = checked(values)
    ranks = np.empty(scores.shape, np.int64)
    for ranked, column in zip(np.atleast_2d(ranks.T), np.atleast_2d(scores.T), strict=True):
        ranked[:] = 1 + np.searchsorted(np.sort(column), column, side="left")
    return ranks


def average_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Mean of every method's ranks over the columns; lower is better.

    Parameters
    ----------
    values : array_like, (methods, columns)
        Lower is better.

    Returns
    -------
    ndarray, float64, (methods,)
        `competition_ranks` of these gives the order of the benchmark.

    Raises
    ------
    DataError
        A value is NaN, or there is no column.

    Examples
    --------
    >>> average_ranks([[1, 5], [2, 4], [3, 4]]).tolist()
    [2.0, 1.5, 2.0]
    """
    return competition_ranks(checked_table(values)).mean(axis=1)


def checked(values: ArrayLike) -> NDArray[np.float64]:
    """Scores as float64. A NaN is refused with a message that names its row and column, counted from 0."""
    scores = np.asarray(values, np.float64)
    if np.isnan(scores).any():
        place = tuple(map(int, np.argwhere(np.isnan(scores))[0]))
        where = f"row {place[0]}" + "".join(f", column {c}" for c in place[1:])
        raise DataError(f"scores: {where} is NaN (rows and columns from 0); methods are ranked by complete tables")
    return scores


def checked_table(values: ArrayLike) -> NDArray[np.float64]:
    """Check scores as `checked` does, and that they are ``(methods, columns)`` with at least one column."""
    scores = checked(values)
    if scores.ndim != 2 or not scores.shape[1]:
        raise DataError(f"scores have shape {scores.shape}; expected (methods, columns) with at least one column")
    return scores
