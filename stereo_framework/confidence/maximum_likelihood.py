"""Maximum likelihood: the probability of the chosen level among all levels."""

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


@stage("confidence", source="Hu & Mordohai 2012 (MLM)", integer=True)
def maximum_likelihood(
    disparity: Disparity,
    volume: CostVolume,
    mask: SearchMask | None = None,
    *,
    sigma: Positive = 0.3,
) -> ConfidenceMap:
    """The probability of the chosen level, if costs are negative logarithms of likelihoods.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        The levels that were chosen, pixels, NaN = no estimate.
    volume : CostVolume
        What the optimizer decided on, float32, uint8 or uint16.
    mask : SearchMask, optional
        Its excluded cells do not count, nor do cells that match outside the image.
    sigma : float
        Spread of the costs of right matches, as a share of the volume's largest cost.

    Returns
    -------
    ndarray, float32, (rows, columns)
        0 to 1, higher = surer.

    Notes
    -----
    ``exp(-c1 / 2 s^2) / sum exp(-c / 2 s^2)``, costs divided by the largest of the volume. Levels that cost less than the chosen one count as much as it does. The default
    of `sigma` is ours.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> volume = CostVolume(np.array([4 * [[10, 0, 10, 10]]], np.uint8), SearchRange(0, 3), 10.0)
    >>> round(float(maximum_likelihood(np.ones((1, 4), np.float32), volume, None, sigma=0.3)[0, 3]), 3)
    0.989
    """
    costs = Costs(disparity, volume, mask)
    return costs.as_map(1 / costs.sums(lambda c: np.exp(-c / np.float32(2 * sigma**2))))
