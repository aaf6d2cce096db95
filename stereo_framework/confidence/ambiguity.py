"""Ambiguity: how few levels cost only a little more than the best one."""

from __future__ import annotations

import numpy as np

from stereo_framework.confidence._costs import Costs
from stereo_framework.stages import (
    ConfidenceMap,
    CostVolume,
    Disparity,
    Positive,
    SearchMask,
    stage,
)


@stage("confidence", source="Sarrazin et al. 2021", integer=True)
def ambiguity(
    disparity: Disparity,
    volume: CostVolume,
    mask: SearchMask | None = None,
    *,
    eta_max: Positive = 0.7,
) -> ConfidenceMap:
    """One minus the share of levels that cost at most a little more than the chosen one, averaged over what is little.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        The levels that were chosen, pixels, NaN = no estimate.
    volume : CostVolume
        What the optimizer decided on, float32, uint8 or uint16.
    mask : SearchMask, optional
        Its excluded cells do not count, nor do cells that match outside the image.
    eta_max : float
        Largest excess over the chosen cost that is averaged over, as a share of the
        volume's largest cost: the largest eta of the paper, and Pandora's ``eta_max``.

    Returns
    -------
    ndarray, float32, (rows, columns)
        0 to 1, higher = surer: 1 where no other level comes near, 0 where all cost the same.

    Notes
    -----
    The ambiguity of an excess eta is the number of levels with ``c < c1 + eta``; this
    is its mean over eta from 0 to `eta_max`. It is computed without steps of eta, from
    the sum over the levels of ``max(0, eta_max - (c - c1))``. Costs are divided by the
    largest of the volume. The paper's normalization over the image leaves the order as
    it is and is left out. Levels that cost less than the chosen one count as much as it
    does.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> volume = CostVolume(np.array([4 * [[10, 0, 10, 5]]], np.uint8), SearchRange(0, 3), 10.0)
    >>> round(float(ambiguity(np.ones((1, 4), np.float32), volume, None, eta_max=0.7)[0, 3]), 3)
    0.905
    """
    costs = Costs(disparity, volume, mask)
    alike = costs.sums(lambda c: np.maximum(1 - c / np.float32(eta_max), 0))
    return costs.as_map((volume.search.levels - alike) / (volume.search.levels - 1))
