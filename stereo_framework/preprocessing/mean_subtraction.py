"""Intensities above the mean of the window around each pixel."""

from __future__ import annotations

from typing import Annotated

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.stages import Image, PositiveInt, Unit, stage

MIDDLE = np.float32(128)
"""Grey of a pixel that is like its surroundings: what is darker stays above 0."""


@stage("preprocessing", source="Hirschmueller & Scharstein 2009, section 3.1")
def mean_subtraction(image: Image, *, size: Annotated[PositiveInt, Unit("pixels")] = 15) -> Image:
    """Subtract from each pixel the mean of the window around it, which takes away what is brighter or darker over whole regions.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255; channels are filtered one by one.
    size : int
        Width and height of the window in pixels. An even window reaches one pixel further right and down.

    Returns
    -------
    ndarray
        Same shape and type, uint8 rounded to nearest; grey levels 0..255, 128 = as the mean; what is further away is cut off. Borders are replicated.

    Raises
    ------
    ParameterError
        `size` is below 1.

    Notes
    -----
    Hirschmueller & Scharstein 2009 take windows of 15x15 pixels. That 128 is added is ours: it changes no difference of two images.

    Examples
    --------
    >>> import numpy as np
    >>> mean_subtraction(np.array([[10, 10, 40]], np.uint8), size=3).tolist()
    [[128, 118, 138]]
    """
    values = image.astype(np.float32)
    anchor = ((size - 1) // 2, (size - 1) // 2)
    means = cv2.boxFilter(
        values.astype(np.float64), -1, (size, size), anchor=anchor, borderType=cv2.BORDER_REPLICATE
    )
    return around_the_middle(image, values - means.astype(np.float32))


def around_the_middle(image: Image, difference: NDArray[np.float32]) -> Image:
    """What a filter leaves of an image, as an image of its shape and type: 128 added, 0..255, uint8 rounded to nearest."""
    found = np.clip(difference.reshape(image.shape) + MIDDLE, 0, 255)
    return np.rint(found).astype(np.uint8) if image.dtype == np.uint8 else found
