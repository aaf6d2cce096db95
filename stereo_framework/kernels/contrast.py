"""How much neighbouring pixels of an image differ in the median."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def contrast(image: NDArray) -> float:
    """Median difference between pixels that are neighbours in a row or a column, the mean over their channels, in grey levels.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)

    Returns
    -------
    float
        0 for an image of one pixel.
    """
    pixels = image.reshape(*image.shape[:2], -1).astype(np.int16 if image.dtype == np.uint8 else np.float32)
    steps = [np.abs(np.diff(pixels, axis=axis)).sum(axis=2, dtype=pixels.dtype).ravel() for axis in (0, 1)]
    found = np.concatenate(steps)
    return float(np.median(found)) / pixels.shape[2] if found.size else 0.0
