"""A smoothness term whose weights fall with the contrast of the image."""

from typing import Annotated

import numpy as np

from stereo_framework import NonNegative, Positive, Smoothness, Unit, stage


@stage("smoothness", source="Boykov & Jolly 2001, section 2.5")
def fading(
    reference,
    search,
    *,
    weight: Annotated[NonNegative, Unit("units of the matching cost")] = 20.0,
    contrast: Annotated[Positive, Unit("grey levels")] = 10.0,
    limit: Annotated[Positive, Unit("pixels")] = 2.0,
):
    """Neighbours pay for each pixel of change up to a limit, and the less the more their intensities differ.

    Parameters
    ----------
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        Disparity of each level.
    weight : float
        Price of a change by one pixel where nothing differs, in units of the matching cost.
    contrast : float
        Difference of intensities, in grey levels, that halves the weight and a bit more: by the factor 1/e.
    limit : float
        Change in pixels beyond which nothing more is paid.

    Returns
    -------
    Smoothness
        Float32 weights (rows, columns) of the edges to the right and lower neighbours, those of the last column and row 0, and the
        penalty of each difference of levels.
    """
    grey = reference.reshape(*reference.shape[:2], -1).mean(axis=2, dtype=np.float32)
    right, down = np.zeros_like(grey), np.zeros_like(grey)
    right[:, :-1] = weight * np.exp(-np.abs(np.diff(grey, axis=1)) / contrast)
    down[:-1] = weight * np.exp(-np.abs(np.diff(grey, axis=0)) / contrast)
    rho = np.minimum(search.step * np.arange(search.levels), limit)
    return Smoothness(right, down, rho.astype(np.float32))
