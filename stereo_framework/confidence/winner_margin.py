"""Winner margin: by how much the best local minimum undercuts the second."""

from __future__ import annotations

from stereo_framework.confidence._costs import Costs
from stereo_framework.stages import ConfidenceMap, CostVolume, Disparity, SearchMask, stage


@stage("confidence", source="Hu & Mordohai 2012 (WMN)", integer=True)
def winner_margin(
    disparity: Disparity, volume: CostVolume, mask: SearchMask | None = None
) -> ConfidenceMap:
    """The second lowest local minimum minus the chosen level's cost, as a share of the sum of all levels' costs.

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
        Higher = surer; below 0 where the optimizer did not choose the lowest cost.

    Notes
    -----
    ``(c2m - c1) / sum c``. A level is a local minimum when its cost is below that of the level before and not above that of the level after it; a pixel without a
    second one gets its highest cost for c2m. 1e-6 of the volume's largest cost is added to the sum, which may be 0.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> volume = CostVolume(np.array([4 * [[10, 2, 7, 6]]], np.uint8), SearchRange(0, 3), 10.0)
    >>> round(float(winner_margin(np.ones((1, 4), np.float32), volume, None)[0, 3]), 3)
    0.16
    """
    costs = Costs(disparity, volume, mask)
    return costs.as_map((costs.second_minimum - costs.lowest) / (costs.total + costs.least))
