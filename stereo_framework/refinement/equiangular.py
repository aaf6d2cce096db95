"""Sub-pixel refinement by two lines of opposite slope through three costs."""

from __future__ import annotations

import numpy as np

from stereo_framework.stages import CostVolume, Disparity, SearchMask, stage


@stage(
    "refinement",
    source="Haller & Nedevschi 2012; Shimizu & Okutomi 2001",
    halo=lambda: 0,
    integer=True,
)
def equiangular(
    disparity: Disparity, volume: CostVolume, mask: SearchMask | None = None
) -> Disparity:
    """Move each disparity to the intersection of two lines of opposite slope through its cost and the costs of its two neighbouring levels.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, on levels of `volume`; NaN and values between levels are left as they are.
    volume : CostVolume
        Costs that the disparities were chosen from, float32, uint8 or uint16.
    mask : SearchMask, optional
        Where it closes one of the three cells, whose cost then means nothing, the disparity is left as it is.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, at most half a level away. A pixel changes only where its level is a local minimum: not above either neighbour and below at
        least one. The first and the last level have only one neighbour and stay.

    Notes
    -----
    Also called V-fit. With C the cost of the level and C-, C+ those of its neighbours, the offset in levels is
    (C- - C+) / (2 max(C- - C, C+ - C)). Costs that grow in proportion to the distance from the true disparity, as absolute differences on an even slope of
    intensities do, are fitted exactly; `parabola` fits costs that grow with its square.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> volume = CostVolume(np.array([[[9, 1, 5]]], np.uint8), SearchRange(0, 2), 255.0)
    >>> equiangular(np.array([[1]], np.float32), volume).tolist()
    [[1.25]]
    """
    refined, search = disparity.copy(), volume.search
    levels = (disparity.astype(np.float64) - search.minimum) / search.step
    nearest = np.rint(levels)
    # float32 disparities are off the grid by rounding alone, by far less than this. Comparisons with NaN are false.
    y, x = np.nonzero(
        (np.abs(levels - nearest) <= 1e-3) & (nearest >= 1) & (nearest <= search.levels - 2)
    )
    centre = nearest[y, x].astype(np.intp)
    before, least, after = (volume.costs[y, x, centre + k].astype(np.float32) for k in (-1, 0, 1))
    left, right = before - least, after - least
    steeper = np.maximum(left, right)
    lowest = (np.minimum(left, right) >= 0) & (steeper > 0)
    offset = np.float32(0.5) * (left - right)[lowest] / steeper[lowest]
    refined[y[lowest], x[lowest]] = search.minimum + (centre[lowest] + offset) * search.step
    return (
        refined
        if mask is None
        else np.where(mask.beside_excluded(disparity, search), disparity, refined)
    )
