"""Averages around each pixel of what is known at some pixels."""

import numpy as np
from numpy.typing import NDArray

_FINE = 6.0
"""Blocks of this part of a standard deviation change smooth averages little."""
_PULL = np.float32(1e-3)
"""Weight of the value where the averages go when nothing is near."""


def local_averages(
    values: NDArray[np.float32],
    known: NDArray[np.bool_],
    toward: NDArray[np.float32] | float,
    sigma: float,
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
    weighted = cv2.copyMakeBorder(
        np.dstack([values * known[..., None], known]),
        0,
        -rows % side,
        0,
        -columns % side,
        cv2.BORDER_CONSTANT,
    )
    means = sum(weighted[i::side, j::side] for i in range(side) for j in range(side)) / np.float32(
        side**2
    )
    parts = [
        cv2.GaussianBlur(part, (0, 0), sigma / side, borderType=cv2.BORDER_CONSTANT)
        for part in cv2.split(means)
    ]
    blurred = cv2.merge(parts)
    small = (blurred[..., :-1] + _PULL * toward) / (blurred[..., -1:] + _PULL)
    field = cv2.resize(small, weighted.shape[1::-1], interpolation=cv2.INTER_LINEAR).reshape(
        *weighted.shape[:2], channels
    )
    return np.ascontiguousarray(field[:rows, :columns])
