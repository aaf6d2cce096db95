"""Left-right difference: the winner's margin, divided by how much better the matched pixel could do elsewhere."""

from __future__ import annotations

import numpy as np

from stereo_framework.confidence._costs import Costs
from stereo_framework.stages import ConfidenceMap, CostVolume, Disparity, SearchMask, stage


@stage("confidence", source="Hu & Mordohai 2012 (LRD)", integer=True)
def left_right_difference(
    disparity: Disparity, volume: CostVolume, mask: SearchMask | None = None
) -> ConfidenceMap:
    """The second lowest cost minus the chosen one, divided by how much better the matched pixel could do elsewhere.

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
        Higher = surer; large where the matched pixel has no lower cost with any other pixel of the row.

    Notes
    -----
    ``(c2 - c1) / |c1 - min c'|`` where c' are the costs of the matched pixel ``x - d1`` with all reference pixels that can match it. They lie along a diagonal of the
    reference image's own volume, so no second volume is computed. Costs are divided by the largest of the volume and 1e-6 is added to the denominator, which is 0 where both views agree.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> volume = CostVolume(np.array([4 * [[10, 2, 8, 5]]], np.uint8), SearchRange(0, 3), 10.0)
    >>> round(float(left_right_difference(np.ones((1, 4), np.float32), volume, None)[0, 3]), 3)
    300000.0
    """
    costs = Costs(disparity, volume, mask)
    return costs.as_map(
        (costs.second - costs.lowest) / (np.abs(costs.lowest - costs.best_of_met) + costs.least)
    )
