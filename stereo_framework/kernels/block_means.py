"""Means over few numbers and medians of many, the same as NumPy's ``mean`` and ``median``, which take several times as long."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def block_means(blocks: NDArray) -> NDArray[np.float32]:
    """``blocks.mean(axis=(1, 3), dtype=np.float32)`` of uint8 or float32 ``(rows, height, columns, width[, channels])``."""
    if blocks.ndim == 4 and blocks.dtype != np.uint8:
        # Without channels NumPy adds up each line of a block first.
        found: NDArray[np.float32] = blocks.mean(axis=(1, 3), dtype=np.float32)
        return found
    total = blocks[:, 0, :, 0].astype(np.float32)
    for place in range(1, blocks.shape[1] * blocks.shape[3]):
        i, j = divmod(place, blocks.shape[3])
        total += blocks[:, i, :, j]
    total /= np.float32(blocks.shape[1] * blocks.shape[3])
    return total


def channel_means(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """``values.mean(axis=1)`` of ``(numbers, channels)``, of fewer than eight channels."""
    total = values[:, 0].copy()
    for c in range(1, values.shape[1]):
        total += values[:, c]
    total /= np.float32(values.shape[1])
    return total


def medians(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """``np.median(values, axis=0)`` of ``(numbers,)`` or ``(numbers, channels)``, not empty and without NaN."""
    # NumPy sorts consecutive float32 in vector registers, faster than it looks for the middle.
    ascending = np.sort(np.ascontiguousarray(values.T))
    count = values.shape[0]
    total = ascending[..., (count - 1) // 2] + ascending[..., count // 2]
    half: NDArray[np.float32] = total / np.float32(2)
    return half
