"""Ranks of values: what measures of confidence have in common, whose values are comparable within one map alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def rank_shares(values: NDArray) -> NDArray[np.float32]:
    """The share of all values that are lower, of equal ones half: float32 of the same shape, 0..1.

    Examples
    --------
    >>> rank_shares(np.array([5, 1, 5, 9])).tolist()
    [0.5, 0.125, 0.5, 0.875]
    """
    flat = values.reshape(-1)
    order = np.argsort(flat)
    ordered = flat[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: flat.size])
    count = np.diff(np.append(first, flat.size))
    found = np.empty(flat.size, np.float32)
    found[order] = np.repeat((first + count / 2) / max(flat.size, 1), count)
    return found.reshape(values.shape)


def least_kept(values: NDArray, share: float) -> float:
    """The value below which values are left out so that at most a share of them is, equal ones together.

    Examples
    --------
    >>> least_kept(np.array([5, 1, 3, 3]), 0.5), least_kept(np.array([5, 1, 3, 3]), 0.75)
    (3.0, 5.0)
    """
    if not values.size:
        return 0.0
    order = np.sort(values, axis=None)
    return float(order[min(int(share * values.size), values.size - 1)])
