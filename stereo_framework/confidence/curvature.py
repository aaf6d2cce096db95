"""Curvature: how steeply the costs rise around the chosen level."""

from __future__ import annotations

import numpy as np

from stereo_framework.confidence._costs import Costs
from stereo_framework.stages import ConfidenceMap, CostVolume, Disparity, SearchMask, stage


@stage("confidence", source="Hu & Mordohai 2012 (CUR)", integer=True)
def curvature(
    disparity: Disparity, volume: CostVolume, mask: SearchMask | None = None
) -> ConfidenceMap:
    """The second difference of the costs at the chosen level.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        The levels that were chosen, pixels, NaN = no estimate.
    volume : CostVolume
        What the optimizer decided on, float32, uint8 or uint16.
    mask : SearchMask, optional
        Its excluded cells do not count, nor do cells that match outside the image.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Shares of the largest cost; higher = surer, below 0 where the chosen level is no minimum.

    Notes
    -----
    ``c(d1 - 1) - 2 c(d1) + c(d1 + 1)``, costs divided by the largest of the volume. Where one of the two neighbours is missing, at an end of the range, the
    other one takes its place; where both are missing, the measure is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> volume = CostVolume(np.array([4 * [[10, 1, 5, 5]]], np.uint8), SearchRange(0, 3), 10.0)
    >>> round(float(curvature(np.ones((1, 4), np.float32), volume, None)[0, 3]), 3)
    1.3
    """
    costs = Costs(disparity, volume, mask)
    below, above = costs.beside(-1), costs.beside(1)
    around = np.where(np.isinf(below), above, below) + np.where(np.isinf(above), below, above)
    rise = np.where(np.isinf(around), 0, around - 2 * costs.lowest)
    return costs.as_map(rise / costs.largest)
