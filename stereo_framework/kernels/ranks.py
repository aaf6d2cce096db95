"""Ranks of values: what measures of confidence have in common, whose values are comparable within one map alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel


def rank_shares(values: NDArray) -> NDArray[np.float32]:
    """The share of all values that are lower, of equal ones half: float32 of the same shape, 0..1.

    Examples
    --------
    >>> rank_shares(np.array([5, 1, 5, 9])).tolist()
    [0.5, 0.125, 0.5, 0.875]
    """
    flat = values.reshape(-1)
    found = np.empty(flat.size, np.float32)
    if flat.dtype == np.float32 and flat.size < 2**32:
        # Bits of float32 stand in the numbers' order once those of negative ones are inverted. NumPy sorts numbers several times faster than places: a
        # value and its place are sorted as one number. Adding 0 makes the negative zero the positive one.
        bits = (flat + np.float32(0)).view(np.int32)
        keys = (bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))).astype(np.int64) << 32
        keys |= np.arange(flat.size)
        keys.sort()
        _share(keys, found)
        return found.reshape(values.shape)
    order = np.argsort(flat)
    ordered = flat[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: flat.size])
    count = np.diff(np.append(first, flat.size))
    found[order] = np.repeat((first + count / 2) / max(flat.size, 1), count)
    return found.reshape(values.shape)


@kernel
def _share(keys: NDArray[np.int64], found: NDArray[np.float32]) -> None:
    """Give each place, the lower half of a key, the rank of the upper half; `keys` stand in order."""
    size, first = keys.shape[0], 0
    while first < size:
        stop = first + 1
        while stop < size and keys[stop] >> 32 == keys[first] >> 32:
            stop += 1
        share = np.float32((first + (stop - first) / 2) / size)
        for i in range(first, stop):
            found[keys[i] & 0xFFFFFFFF] = share
        first = stop


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
