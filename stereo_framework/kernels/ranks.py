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
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    shares = (np.cumsum(counts) - counts / 2) / max(values.size, 1)
    return shares.astype(np.float32)[place].reshape(values.shape)
