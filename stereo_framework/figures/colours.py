"""Images and disparity maps as arrays of colours, one colour for each pixel, as the figures show them."""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Image

LARGEST_ERROR = 4.0
"""Pixels of error at the ends of the error colours. The scale is fixed, so that figures can be compared."""

NO_VALUE = 178
"""Grey level of pixels without a value."""


def eight_bits(image: Image) -> NDArray[np.uint8]:
    """An image with intensities 0..255 as uint8, of the same shape."""
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def rgb(image: Image) -> NDArray[np.uint8]:
    """An image with intensities 0..255, grey or in colour, as uint8 ``(rows, columns, 3)``."""
    bits = eight_bits(image)
    return bits if bits.ndim == 3 else np.repeat(bits[..., None], 3, axis=2)


def colour_table(name: str) -> NDArray[np.uint8]:
    """The colours of a matplotlib colour map, from its lower to its upper end, uint8 ``(256, 3)``. The figures use ``viridis`` and, for errors, ``RdBu_r``."""
    from matplotlib import colormaps

    return (255 * colormaps[name](np.arange(256))[:, :3] + 0.5).astype(np.uint8)
