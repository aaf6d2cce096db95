"""Laplacian of Gaussian: edges and spots, without brightness."""

from __future__ import annotations

from typing import Annotated

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.preprocessing.mean_subtraction import around_the_middle
from stereo_framework.stages import Image, Positive, Unit, stage

_PLAIN = 2.0
"""How many standard deviations the window reaches to each side: 5x5 pixels for one pixel, as in the source."""


@stage("preprocessing", source="Hirschmueller & Scharstein 2009, section 3.1")
def laplacian_of_gaussian(
    image: Image, *, sigma: Annotated[Positive, Unit("pixels")] = 1.0
) -> Image:
    """Convolve with the Laplacian of a Gaussian, which smooths noise and takes away brightness.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255; channels are filtered one by one.
    sigma : float
        Standard deviation of the Gaussian in pixels. The window has ``2 * ceil(2 * sigma) + 1`` pixels.

    Returns
    -------
    ndarray
        Same shape and type, uint8 rounded to nearest; grey levels 0..255, 128 = as its surroundings, above it brighter; what is further away is cut off. Borders are replicated.

    Raises
    ------
    ParameterError
        `sigma` is not above 0.

    Notes
    -----
    Hirschmueller & Scharstein 2009 convolve with 5x5 pixels and a standard deviation of one. The weights here have the sum 0, and those above 0 have the sum 1, so that
    the unit is a grey level: the source does not say how they are scaled. That 128 is added, and the sign, are ours; they change no difference of two images.

    Examples
    --------
    >>> import numpy as np
    >>> laplacian_of_gaussian(np.full((3, 4), 90, np.uint8)).tolist()[0]
    [128, 128, 128, 128]
    """
    weights = kernel_of(sigma)
    found = cv2.filter2D(image.astype(np.float64), -1, weights, borderType=cv2.BORDER_REPLICATE)
    return around_the_middle(image, found.astype(np.float32))


def kernel_of(sigma: float) -> NDArray[np.float64]:
    """The weights: positive in the middle, of sum 0, those above 0 of sum 1."""
    reach = int(np.ceil(_PLAIN * sigma))
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    squared = (x * x + y * y) / (2 * sigma * sigma)
    weights = (1 - squared) * np.exp(-squared)
    weights -= weights.mean()
    return weights / weights[weights > 0].sum()
