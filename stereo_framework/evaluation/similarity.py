"""Similarity of two images, or of a disparity map and the truth, over all pixels or over those that are valid in both.

Conventions: images are uint8 or float32, ``(rows, columns)`` or ``(rows, columns, 3)``, intensities 0..255, both of the same shape. `valid` says
which pixels count, for example `Prediction.predicted`; the others may hold anything. If no pixel counts, the result is NaN.

Metrics: `mean_squared_difference` (lower is better), `peak_signal_to_noise` (higher), `structural_similarity` (Wang et al. 2004, at most 1,
higher), `r_ssim` (Malpica & Bovik 2009, at most 1, higher).
"""

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, Image, Mask

_LARGEST = 255.0
"""Grey levels from black to white."""

_K1, _K2 = 0.01, 0.03
_SIGMA, _RADIUS = 1.5, 5


def mean_squared_difference(image: Image, other: Image, valid: Mask | None = None) -> float:
    """Mean squared difference (MSE) of two images over valid pixels and channels.

    Parameters
    ----------
    image, other : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    valid : ndarray, bool, (rows, columns), optional
        Default: everywhere.

    Returns
    -------
    float
        Squared grey levels.

    Examples
    --------
    >>> import numpy as np
    >>> mean_squared_difference(np.zeros((4, 4), np.uint8), np.full((4, 4), 3, np.uint8))
    9.0
    """
    if valid is not None:
        image, other = image[valid], other[valid]
    difference = np.subtract(image, other, dtype=np.float32).ravel()
    return float(np.mean(np.square(difference, dtype=np.float64))) if difference.size else math.nan


def peak_signal_to_noise(image: Image, other: Image, valid: Mask | None = None) -> float:
    """Peak signal-to-noise ratio (PSNR) of two images over valid pixels and channels.

    Parameters
    ----------
    image, other : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    valid : ndarray, bool, (rows, columns), optional
        Default: everywhere.

    Returns
    -------
    float
        Decibels, ``10 log10(255² / MSE)``; infinite for equal images.
    """
    error = mean_squared_difference(image, other, valid)
    return 10 * math.log10(_LARGEST**2 / error) if error else math.inf


def structural_similarity(image: Image, other: Image, valid: Mask | None = None) -> float:
    """Mean structural similarity (MSSIM) of two images.

    Parameters
    ----------
    image, other : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. For colour images the result is the mean over the channels.
    valid : ndarray, bool, (rows, columns), optional
        Default: everywhere.

    Returns
    -------
    float
        -1..1; 1 for equal images. NaN if a side of the images is shorter than 11 pixels, or if no pixel 5 pixels or more inside is valid.

    Notes
    -----
    Wang, Bovik, Sheikh & Simoncelli 2004, equations 13 to 17: 11x11 Gaussian windows with a standard deviation of 1.5 pixels, K1 = 0.01,
    K2 = 0.03, L = 255, windows that lie inside the image. For images with holes we extend it: a window has the weights of its valid
    pixels, scaled to sum to 1, and the mean is taken over the windows with a valid centre.
    """
    layers, others = (array.reshape(*array.shape[:2], -1) for array in (image, other))
    return float(
        np.mean(
            [
                _similarity(layers[..., c], others[..., c], valid, _LARGEST)
                for c in range(layers.shape[2])
            ]
        )
    )


def r_ssim(
    disparity: Disparity,
    truth: Disparity,
    mask: Mask | None = None,
    *,
    largest: float | None = None,
) -> float:
    """Structural similarity of a disparity map and the truth, both of which may have gaps (R-SSIM).

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        Pixels; a value that is not finite is missing or unknown, and is left out of every window.
    mask : ndarray, bool, (rows, columns), optional
        Region; pixels outside are left out of the windows too. Default: everywhere.
    largest : float, optional
        L, the range of disparities in pixels, to which the constants that keep quotients stable are proportional. Default: the largest minus the
        smallest known true disparity of the whole map, whatever the mask.

    Returns
    -------
    float
        -1..1; 1 for a map that equals the truth wherever it has estimates. NaN as in `structural_similarity` and when L is 0.

    Notes
    -----
    Malpica & Bovik 2009, Range image quality assessment by structural similarity: the index of Wang et al. 2004 computed from the available
    pixels only. The weights of windows with gaps and the default of L are our choices. A map is not punished for its gaps; its density tells of them.
    """
    known = np.isfinite(truth)
    valid = known & np.isfinite(disparity)
    if mask is not None:
        valid &= mask
    if largest is None:
        largest = float(np.ptp(truth[known])) if known.any() else 0.0
    return _similarity(disparity, truth, valid, largest) if largest > 0 else math.nan


def _similarity(a: NDArray, b: NDArray, valid: Mask | None, largest: float) -> float:
    """Mean of the index over the windows that lie inside the image and have a valid centre."""
    centres = None if valid is None else valid[_RADIUS:-_RADIUS, _RADIUS:-_RADIUS]
    if min(a.shape) <= 2 * _RADIUS or (centres is not None and not centres.any()):
        return math.nan
    if valid is not None:
        weights = _window_sums(valid.astype(np.float64))[centres]
        a, b = np.where(valid, a, 0), np.where(valid, b, 0)

    def means(values: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = _window_sums(values)
        return sums if centres is None else sums[centres] / weights

    a, b = a.astype(np.float64), b.astype(np.float64)
    mean_a, mean_b = means(a), means(b)
    product, squares = mean_a * mean_b, mean_a**2 + mean_b**2
    covariance = means(a * b) - product
    # The variances occur as their sum only.
    variances = means(a * a + b * b) - squares
    c1, c2 = (_K1 * largest) ** 2, (_K2 * largest) ** 2
    index = (2 * product + c1) * (2 * covariance + c2) / ((squares + c1) * (variances + c2))
    return float(np.mean(index))


def _window_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weighted sums over the Gaussian windows that lie inside the image."""
    line = cv2.getGaussianKernel(2 * _RADIUS + 1, _SIGMA, cv2.CV_64F)
    return cv2.sepFilter2D(values, cv2.CV_64F, line, line)[_RADIUS:-_RADIUS, _RADIUS:-_RADIUS]
