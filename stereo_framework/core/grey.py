"""Conversion of colour images to grey images by one of three formulas."""

from typing import Literal

import numpy as np

from stereo_framework.core.scene import Image

GreyConversion = Literal["luma", "rounded_luma", "mean"]
"""Formulas that convert an RGB colour to a grey level.

- ``"luma"``: 0.299 R + 0.587 G + 0.114 B, not rounded (ITU-R BT.601).
- ``"rounded_luma"``: the same formula, rounded to a whole number in uint8 images.
- ``"mean"``: the mean of R, G and B, not rounded.
"""


def grey_values(image: Image, conversion: GreyConversion) -> Image:
    """Convert a colour image to grey. A grey image is returned unchanged.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Image with intensities in 0..255.
    conversion : {"luma", "rounded_luma", "mean"}
        Formula for the grey level. `GreyConversion` explains the formulas.

    Returns
    -------
    ndarray, uint8 or float32, (rows, columns)
        Grey levels in 0..255. Colour images become float32. With ``"rounded_luma"``,
        uint8 images stay uint8.

    Examples
    --------
    >>> import numpy as np
    >>> colour = np.array([[[200, 100, 50]]], np.uint8)
    >>> for conversion in ("luma", "rounded_luma", "mean"):
    ...     print(conversion, grey_values(colour, conversion)[0, 0].round(3))
    luma 124.2
    rounded_luma 124
    mean 116.667
    """
    if image.ndim == 2:
        return image
    if conversion == "mean":
        mean: Image = image.mean(axis=2, dtype=np.float32)
        return mean
    if image.dtype == np.uint8:
        red, green, blue = np.moveaxis(image, 2, 0)
        # The sum of integers has no rounding error. Colours of the same luma get
        # exactly the same grey level.
        thousandths = np.int32(299) * red + np.int32(587) * green + np.int32(114) * blue
        if conversion == "rounded_luma":
            rounded: Image = ((thousandths + 500) // 1000).astype(np.uint8)
            return rounded
        luma: Image = (thousandths / 1000).astype(np.float32)
        return luma
    red, green, blue = np.moveaxis(image, 2, 0)
    float_luma: Image = (
        np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue
    )
    return float_luma
