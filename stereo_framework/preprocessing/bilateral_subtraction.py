"""Intensities above a background that keeps edges: the bilateral filter's."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.preprocessing.mean_subtraction import around_the_middle
from stereo_framework.stages import Image, Positive, PositiveInt, Unit, stage

_FINE = 8
"""Steps of a grey level in the table of weights: neighbouring ones differ by less than a hundredth."""


@stage(
    "preprocessing",
    source="Ansar, Castano & Matthies 2004; Hirschmueller & Scharstein 2009, section 3.1",
)
def bilateral_subtraction(
    image: Image,
    *,
    size: Annotated[PositiveInt, Unit("pixels")] = 15,
    sigma_space: Annotated[Positive, Unit("pixels")] = 3.0,
    sigma_colour: Annotated[Positive, Unit("grey levels")] = 20.0,
) -> Image:
    """Subtract from each pixel the mean of the pixels around it that are near and alike, which takes away brightness and keeps texture.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255; channels are filtered one by one.
    size : int
        Width and height of the window in pixels; an even one is taken as the next odd one.
    sigma_space, sigma_colour : float
        Standard deviations of the weights: of distances in pixels, and of differences in grey levels.

    Returns
    -------
    ndarray
        Same shape and type, uint8 rounded to nearest; grey levels 0..255, 128 = as the background. Borders are replicated.

    Raises
    ------
    ParameterError
        A value that is not above 0.

    Notes
    -----
    Hirschmueller & Scharstein 2009, equation 1: windows of 15x15 pixels, standard deviations of 3 pixels and 20 grey levels. That 128 is added is ours: it changes no
    difference of two images. Weights of differences are taken from a table of eighths of a grey level, which ends at 255: greater ones, and NaN, weigh nothing.

    Examples
    --------
    >>> import numpy as np
    >>> bilateral_subtraction(np.array([[10, 10, 200, 200]], np.uint8), size=3).tolist()
    [[128, 128, 128, 128]]
    """
    reach = size // 2
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    near = np.exp(-(x * x + y * y) / (2 * sigma_space**2))
    alike = np.exp(-((np.arange(255 * _FINE + 1) / _FINE) ** 2) / (2 * sigma_colour**2))
    planes = np.moveaxis(image.astype(np.float32).reshape(*image.shape[:2], -1), 2, 0)
    found = np.empty(planes.shape, np.float32)
    for plane, out in zip(planes, found, strict=True):
        padded = np.pad(plane, reach, mode="edge")

        def run(
            start: int,
            stop: int,
            padded: NDArray[np.float32] = padded,
            out: NDArray[np.float32] = out,
        ) -> None:
            _kernel(padded[start : stop + 2 * reach], near, alike, out[start:stop])

        over_rows(run, out.shape[0], 10 * near.size * out.size)
    return around_the_middle(image, np.moveaxis(found, 0, 2))


@kernel
def _kernel(
    padded: NDArray[np.float32],
    near: NDArray[np.float64],
    alike: NDArray[np.float64],
    out: NDArray[np.float32],
) -> None:
    side = near.shape[0]
    reach = side // 2
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            centre = padded[y + reach, x + reach]
            total, weights = 0.0, 0.0
            for j in range(side):
                for i in range(side):
                    value = padded[y + j, x + i]
                    place = abs(value - centre) * _FINE + 0.5
                    # False for NaN, and beyond the table, where intensities are not 0..255.
                    if place < alike.shape[0]:
                        weight = near[j, i] * alike[int(place)]
                        total += weight * value
                        weights += weight
            # The centre weighs 1, unless it is NaN.
            out[y, x] = centre - total / max(weights, 1.0)
