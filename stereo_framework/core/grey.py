"""Grey values of colour images."""

from typing import Literal

import numpy as np

from stereo_framework.core.scene import Image

GreyConversion = Literal["luma", "rounded_luma", "mean"]
"""Conversions of a colour to its grey value.

- ``"luma"``: 0.299 R + 0.587 G + 0.114 B, not rounded, as in ITU-R BT.601.
- ``"rounded_luma"``: the luma, rounded to whole grey levels if the image is uint8.
  Programs that convert an 8-bit image before they match it do the same. Halves are
  rounded up.
- ``"mean"``: the mean of R, G and B, not rounded.
"""


def grey_values(image: Image, conversion: GreyConversion) -> Image:
    """Convert a colour image to grey. A grey image is returned unchanged.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    conversion : {"luma", "rounded_luma", "mean"}
        Conversion, as described at `GreyConversion`.

    Returns
    -------
    ndarray, uint8 or float32, (rows, columns)
        Grey levels 0..255. The result of a uint8 image is uint8 if the image is grey or
        if its luma is rounded. In all other cases it is float32.

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
        red, green, blue = np.moveaxis(image.astype(np.int32), 2, 0)
        # The sum in thousandths of a grey level is exact, so that colours of equal luma
        # get equal grey values.
        thousandths = 299 * red + 587 * green + 114 * blue
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
