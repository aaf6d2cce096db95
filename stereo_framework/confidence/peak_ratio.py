"""Peak ratio: the second best local minimum divided by the best."""

from __future__ import annotations

from stereo_framework.confidence._costs import Costs
from stereo_framework.stages import ConfidenceMap, CostVolume, Disparity, SearchMask, stage


@stage("confidence", source="Hu & Mordohai 2012 (PKR)", integer=True)
def peak_ratio(
    disparity: Disparity, volume: CostVolume, mask: SearchMask | None = None
) -> ConfidenceMap:
    """The cost of the second lowest local minimum divided by that of the chosen level.

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
    ``c2m / c1``. Costs are divided by the largest of the volume and 1e-6 is added to both, since c1 may be 0. A level is a local minimum when its cost is below that of
    the level before and not above that of the level after it; a pixel without a second one gets its highest cost for c2m.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> volume = CostVolume(np.array([4 * [[10, 2, 8, 5]]], np.uint8), SearchRange(0, 3), 10.0)
    >>> round(float(peak_ratio(np.ones((1, 4), np.float32), volume, None)[0, 3]), 3)
    2.5
    """
    costs = Costs(disparity, volume, mask)
    return costs.as_map((costs.second_minimum + costs.least) / (costs.lowest + costs.least))
