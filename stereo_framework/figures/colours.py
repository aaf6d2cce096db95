"""Disparity maps and images pixel by pixel, in the colours of the figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.figures._drawing import LARGEST_ERROR, eight_bits
from stereo_framework.scene import Disparity

__all__ = ["LARGEST_ERROR", "colour_table", "disparity_colours", "eight_bits"]

_NO_VALUE = 178
"""Grey of pixels without a value, that of the figures."""


def disparity_colours(disparity: Disparity, shown: tuple[float, float]) -> NDArray[np.uint8]:
    """A map in the colours of the figures, uint8 (rows, columns, 3); `shown` are the disparities in pixels at their ends."""
    from matplotlib import colormaps

    low, high = shown
    with np.errstate(invalid="ignore"):
        part = np.clip((disparity - low) / (max(high - low, 1e-6)), 0, 1)
    picture = (255 * colormaps["viridis"](np.nan_to_num(part))[..., :3] + 0.5).astype(np.uint8)
    picture[~np.isfinite(disparity)] = _NO_VALUE
    return picture


def colour_table(name: str) -> NDArray[np.uint8]:
    """The colours of a matplotlib colour map from its lower to its upper end, uint8 (256, 3): the figures use ``viridis`` and, for errors, ``RdBu_r``."""
    from matplotlib import colormaps

    return (255 * colormaps[name](np.arange(256))[:, :3] + 0.5).astype(np.uint8)
