"""Exposure, gamma, vignetting and noise of one image changed, to try what stands them."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from stereo_framework.stages import (
    Fraction01,
    Image,
    NonNegative,
    NonNegativeInt,
    Positive,
    Unit,
    stage,
)


@stage("preprocessing", source="Hirschmueller & Scharstein 2009, section 4.1")
def radiometric_change(
    reference: Image,
    match: Image,
    *,
    exposure: Positive = 1.0,
    vignetting: Fraction01 = 0.0,
    gamma: Positive = 1.0,
    noise: Annotated[NonNegative, Unit("grey levels")] = 0.0,
    seed: NonNegativeInt = 0,
) -> tuple[Image, Image]:
    """Change the match image as another camera would, to see what a method makes of it: exposure, then vignetting, gamma and noise.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    exposure : float
        Factor of all intensities.
    vignetting : float
        Share of its intensity that a corner loses; the loss grows with the squared distance from the image's middle.
    gamma : float
        Exponent of the intensities as shares of 255; above 1 is darker.
    noise : float
        Standard deviation of Gaussian noise in grey levels, drawn for each pixel and channel.
    seed : int
        Seed of the noise.

    Returns
    -------
    reference, match : ndarray
        The reference image as it is; the match image changed, cut off to 0..255, uint8 rounded to nearest.

    Raises
    ------
    ParameterError
        A value out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> grey = np.full((2, 3), 100, np.uint8)
    >>> radiometric_change(grey, grey, exposure=0.5)[1].tolist()
    [[50, 50, 50], [50, 50, 50]]
    """
    rows, columns = match.shape[:2]
    y, x = np.linspace(-1, 1, rows)[:, None], np.linspace(-1, 1, columns)[None, :]
    lens = 1 - vignetting * (x * x + y * y) / 2
    seen = match * (exposure * (lens if match.ndim == 2 else lens[..., None]))
    changed = 255 * np.clip(seen / 255, 0, 1) ** gamma + np.random.default_rng(seed).normal(
        0, noise, match.shape
    )
    changed = np.clip(changed, 0, 255)
    return reference, np.rint(changed).astype(
        np.uint8
    ) if match.dtype == np.uint8 else changed.astype(np.float32)
