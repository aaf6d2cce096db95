"""Local averages of an image with known values at only some pixels."""

import numpy as np
from numpy.typing import NDArray

_BLOCKS_PER_SIGMA = 6.0
"""Number of blocks of pixels per standard deviation of the Gaussian.

To save time, the Gaussian is applied to the means of square blocks. Small blocks hardly
change the result.
"""

_FALLBACK_WEIGHT = np.float32(1e-3)
"""Weight of the fallback value. Near known values, the weight is negligible."""


def average_locally(
    values: NDArray[np.float32],
    mask: NDArray[np.bool_],
    fallback: NDArray[np.float32] | float,
    sigma: float,
) -> NDArray[np.float32]:
    """Average the known values around each pixel with Gaussian weights.

    This is the normalized convolution of Knutsson and Westin (1993).

    Parameters
    ----------
    values : ndarray, float32, (rows, columns, channels)
        Image to average. Pixels outside the mask may have any finite value.
    mask : ndarray, bool, (rows, columns)
        Mask of the pixels with known values.
    fallback : float, or ndarray, float32, (channels,)
        Result far from all known values.
    sigma : float
        Standard deviation of the weights, in pixels.

    Returns
    -------
    ndarray, float32, (rows, columns, channels)
        Average of the known values around each pixel.
    """
    import cv2

    rows, columns, channels = values.shape
    block = max(1, int(sigma / _BLOCKS_PER_SIGMA))
    # An additional last channel contains the weight of each pixel: 1 if the value is
    # known, otherwise 0. The border extends the image to a whole number of blocks.
    weighted = cv2.copyMakeBorder(
        np.dstack([values * mask[..., None], mask]),
        top=0,
        bottom=-rows % block,
        left=0,
        right=-columns % block,
        borderType=cv2.BORDER_CONSTANT,
    )
    offsets = np.ndindex(block, block)
    sums = sum(weighted[down::block, right::block] for down, right in offsets)
    means = sums / np.float32(block**2)

    blurred_channels = [
        cv2.GaussianBlur(channel, (0, 0), sigma / block, borderType=cv2.BORDER_CONSTANT)
        for channel in cv2.split(means)
    ]
    blurred = cv2.merge(blurred_channels)
    value_sums = blurred[..., :-1]
    weight_sums = blurred[..., -1:]
    averages = (value_sums + _FALLBACK_WEIGHT * fallback) / (weight_sums + _FALLBACK_WEIGHT)

    height, width = weighted.shape[:2]
    enlarged = cv2.resize(averages, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.ascontiguousarray(enlarged.reshape(height, width, channels)[:rows, :columns])
