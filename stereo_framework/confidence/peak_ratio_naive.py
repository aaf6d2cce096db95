"""Naive peak ratio: the second best cost divided by the best."""

from __future__ import annotations

from stereo_framework.confidence._costs import Costs
from stereo_framework.stages import ConfidenceMap, CostVolume, Disparity, SearchMask, stage


@stage("confidence", source="Hu & Mordohai 2012 (PKRN)", integer=True)
def peak_ratio_naive(
    disparity: Disparity, volume: CostVolume, mask: SearchMask | None = None
) -> ConfidenceMap:
    """The second lowest cost divided by that of the chosen level.

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
        1 and more, higher = surer; below 1 where the optimizer did not choose the lowest cost.

    Notes
    -----
    ``c2 / c1``. Costs are divided by the largest of the volume and 1e-6 is added to both, since c1 may be 0. The second lowest cost is usually that of a neighbouring level.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> volume = CostVolume(np.array([4 * [[10, 2, 3, 5]]], np.uint8), SearchRange(0, 3), 10.0)
    >>> round(float(peak_ratio_naive(np.ones((1, 4), np.float32), volume, None)[0, 3]), 3)
    1.5
    """
    costs = Costs(disparity, volume, mask)
    return costs.as_map((costs.second + costs.least) / (costs.lowest + costs.least))
