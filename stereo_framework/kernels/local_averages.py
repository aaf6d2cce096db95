"""Averages around each pixel of what is known at some pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_FINE = 6.0
"""Blocks of this part of a standard deviation change smooth averages little."""
_PULL = np.float32(1e-3)
"""Weight of the value where the averages go when nothing is near."""


def local_averages(
    values: NDArray[np.float32], known: NDArray[np.bool_], toward: NDArray[np.float32] | float, sigma: float
) -> NDArray[np.float32]:
    """Gaussian averages of the known values (normalized convolution, Knutsson & Westin 1993).

    Parameters
    ----------
    values : ndarray, float32, (rows, columns, channels)
        Finite, also where they are not known.
    known : ndarray, bool, (rows, columns)
    toward : float, or ndarray, float32, (channels,)
        The average where nothing is known.
    sigma : float
        Standard deviation in pixels.
    """
    import cv2

    rows, columns, channels = values.shape
    side = max(1, int(sigma / _FINE))
    weighted = np.concatenate([values * known[..., None], known[..., None]], axis=2)
    around = ((0, -rows % side), (0, -columns % side), (0, 0))
    blocks = np.pad(weighted, around).reshape(-(-rows // side), side, -(-columns // side), side, channels + 1)
    means = blocks.mean(axis=(1, 3), dtype=np.float32)
    planes = np.ascontiguousarray(np.moveaxis(means, 2, 0))
    blurred = np.stack([cv2.GaussianBlur(p, (0, 0), sigma / side, borderType=cv2.BORDER_CONSTANT) for p in planes], axis=2)
    small = (blurred[..., :-1] + _PULL * toward) / (blurred[..., -1:] + _PULL)
    size = blocks.shape[2] * side, blocks.shape[0] * side
    field = cv2.resize(small, size, interpolation=cv2.INTER_LINEAR).reshape(size[1], size[0], channels)
    return np.ascontiguousarray(field[:rows, :columns])
