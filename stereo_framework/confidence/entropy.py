"""Entropy: how clearly the costs make all levels but one unlikely."""

from __future__ import annotations

import numpy as np

from stereo_framework.confidence._costs import Costs
from stereo_framework.stages import ConfidenceMap, CostVolume, Disparity, SearchMask, stage


@stage("confidence", source="Hu & Mordohai 2012 (NEM)", integer=True)
def entropy(
    disparity: Disparity, volume: CostVolume, mask: SearchMask | None = None
) -> ConfidenceMap:
    """Minus the entropy of the probability distribution over the levels that follows from the costs.

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
        Natural units, 0 and below; higher = surer: 0 where one level alone is likely, minus the logarithm of the number of levels where all are equally likely.

    Notes
    -----
    ``sum p log p`` with ``p = exp(-c) / sum exp(-c)``, costs divided by the largest of the volume.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> volume = CostVolume(np.array([4 * [[10, 0, 10, 10]]], np.uint8), SearchRange(0, 3), 10.0)
    >>> round(float(entropy(np.ones((1, 4), np.float32), volume, None)[0, 3]), 3)
    -1.268
    """
    costs = Costs(disparity, volume, mask)
    # Of c, a cost as a share of the largest.
    likely = costs.sums(lambda c: np.exp(-c), excess=False)
    weighted = costs.sums(lambda c: c * np.exp(-c), excess=False)
    return costs.as_map(-np.log(likely) - weighted / likely)
