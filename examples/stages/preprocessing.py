"""Stretch the contrast of an image, so that pairs of different exposure resemble each other."""

import numpy as np

from stereo_framework import Fraction01, stage


@stage("preprocessing", source="Gonzalez & Woods 2002, section 3.2")
def stretch_contrast(image, *, share: Fraction01 = 0.01):
    """Map the darkest and the brightest intensities to 0 and 255, and those between linearly.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Each of the two images is handed over by itself.
    share : float
        Share of the pixels, 0 to 1, that may be cut off at either end.

    Returns
    -------
    ndarray
        The same shape and type.
    """
    low, high = np.quantile(image, [share / 2, 1 - share / 2])
    stretched = np.clip((image - low) * (255 / max(high - low, 1)), 0, 255)
    # Whole numbers stay whole.
    return (
        np.rint(stretched).astype(np.uint8)
        if image.dtype == np.uint8
        else stretched.astype(np.float32)
    )
