"""A gradient cost: compares how intensities change along a row, which light and exposure leave alone."""

from typing import Annotated

import numpy as np

from stereo_framework import CostVolume, Positive, Unit, stage


@stage("matching_cost", source="Klaus, Sormann & Karner 2006, section 2.2", halo=lambda: 0)
def slope_difference(
    reference,
    match,
    search,
    *,
    truncation: Annotated[Positive, Unit("grey levels per pixel")] = 20.0,
):
    """Absolute difference of horizontal derivatives of the two grey images.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        The disparity of each level is `search.disparities[level]`, in pixels. Here the
        steps are whole pixels.
    truncation : float
        Largest cost, in grey levels a pixel.

    Returns
    -------
    CostVolume
        Float32 (rows, columns, levels), lower is better.
    """
    # A halo of 0 rows: what is computed for a row needs this row alone, so that the stage may run on slices of rows.
    one, other = (
        np.gradient(image.reshape(*image.shape[:2], -1).mean(axis=2, dtype=np.float64), axis=1)
        for image in (reference, match)
    )
    # Cells that lie out of view in the match image hold a finite cost, neither worst nor best.
    outside_cost = truncation / 2
    costs = np.full((*reference.shape[:2], search.levels), outside_cost, np.float32)
    # search.columns gives the columns that are visible in both images. It refuses steps
    # below a pixel, because the images are not sampled between pixels.
    for level, (columns, match_columns) in enumerate(search.columns(reference.shape[1])):
        difference = np.abs(one[:, columns] - other[:, match_columns])
        costs[:, columns, level] = np.minimum(difference, truncation)
    return CostVolume(costs, search, outside_cost)
