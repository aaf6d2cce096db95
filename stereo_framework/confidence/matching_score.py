"""Matching score: how low the chosen cost is."""

from __future__ import annotations

from stereo_framework.confidence._costs import Costs
from stereo_framework.stages import ConfidenceMap, CostVolume, Disparity, SearchMask, stage


@stage("confidence", source="Hu & Mordohai 2012 (MSM)", integer=True)
def matching_score(
    disparity: Disparity, volume: CostVolume, mask: SearchMask | None = None
) -> ConfidenceMap:
    """Minus the cost of the chosen level.

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
        -1 to 0, higher = surer: 0 where the chosen cost is 0.

    Notes
    -----
    Costs are shares of the largest one in the volume, so that values are comparable between matching costs.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> volume = CostVolume(np.array([4 * [[10, 1, 5, 5]]], np.uint8), SearchRange(0, 3), 10.0)
    >>> round(float(matching_score(np.ones((1, 4), np.float32), volume, None)[0, 3]), 3)
    -0.1
    """
    costs = Costs(disparity, volume, mask)
    return costs.as_map(-costs.lowest / costs.largest)
