"""Binomial blur of both images before matching."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from stereo_framework.stages import Image, PositiveInt, Unit, stage


@stage("preprocessing", source="Scharstein & Szeliski 2002, section 6.4 (Experiment 7)")
def binomial_blur(image: Image, *, iterations: Annotated[PositiveInt, Unit("passes")] = 1) -> Image:
    """Smooth an image with the kernel 1 2 1 along rows and columns.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    iterations : int
        How often the kernel is applied; n passes are a Gaussian of about sqrt(n / 2) pixels standard deviation.

    Returns
    -------
    ndarray
        Same shape and type; uint8 images are rounded to nearest once, after the last pass. Borders are replicated.

    Raises
    ------
    ParameterError
        `iterations` below 1.

    Notes
    -----
    The paper names a 1-2-1 filter. The original program has 1 2 1 along rows but 1 4 6 4 1 along columns, and cuts off
    fractions after each, which darkens the image by about a grey level a pass; neither is followed here.

    Examples
    --------
    >>> import numpy as np
    >>> binomial_blur(np.array([[0, 0, 16, 0, 0]], np.uint8)).tolist()
    [[0, 4, 8, 4, 0]]
    """
    import cv2

    kernel = np.array([0.25, 0.5, 0.25], np.float32)
    blurred = image.astype(np.float32)
    for _ in range(iterations):
        blurred = cv2.sepFilter2D(blurred, -1, kernel, kernel, borderType=cv2.BORDER_REPLICATE)
    return np.rint(blurred).astype(np.uint8) if image.dtype == np.uint8 else blurred
