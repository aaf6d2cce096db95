"""Disparities at the edges of a map, chosen among those on both sides of the edge."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import CostVolume, Disparity, NonNegative, Unit, stage


@stage("refinement", source="Mei et al. 2011, section 3.4", halo=lambda: 1, integer=True)
def discontinuity_adjustment(
    disparity: Disparity,
    volume: CostVolume,
    *,
    disparity_gap: Annotated[NonNegative, Unit("pixels")] = 1.0,
) -> Disparity:
    """Give every pixel at an edge of the map the cheapest of its own and its two neighbours' disparities.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    volume : CostVolume
        Costs that the disparities were chosen from, float32, uint8 or uint16. A disparity between two levels counts as the nearer one.
    disparity_gap : float
        Disparity difference in pixels. If the disparities of two neighbours differ by more,
        there is an edge between them.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels. A pixel changes where a neighbour's disparity costs it less than its own; of equal costs the lowest disparity is taken. Pixels
        without an estimate stay without one.

    Raises
    ------
    ParameterError
        `disparity_gap` is negative.
    DataError
        The volume has another size than the disparities.

    Notes
    -----
    Mei et al. 2011, section 3.4. The paper does not say how edges are detected, nor which pixels on both sides are considered. Here a pixel is at an edge when there is an
    edge between it and its left or right neighbour, and these are then the two neighbours; the same holds for those above and below. At a corner all four
    count, at the image's border only the existing one. All pixels are judged by the map as it was before. A disparity off the levels of the volume by half a level
    or more is no candidate, and where it is a pixel's own, that stays.

    Examples
    --------
    The pixel in the middle was given to the surface at its left.

    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> costs = np.float32([[[0, 9, 9, 9], [5, 9, 9, 4], [9, 9, 9, 0]]])
    >>> discontinuity_adjustment(np.float32([[0, 0, 3]]), CostVolume(costs, SearchRange(0, 3), 9.0)).tolist()
    [[0.0, 3.0, 3.0]]
    """
    adjusted = disparity.copy()
    minimum, step = float(volume.search.minimum), float(volume.search.step)
    limit = np.float32(disparity_gap)

    def run(start: int, stop: int) -> None:
        _kernel(
            disparity, volume.costs[start:stop], minimum, step, limit, start, adjusted[start:stop]
        )

    over_rows(run, disparity.shape[0], 10 * disparity.size)
    return adjusted


@kernel
def _kernel(
    disparity: Disparity,
    costs: NDArray,
    minimum: float,
    step: float,
    disparity_gap: float,
    start: int,
    adjusted: Disparity,
) -> None:
    rows, columns = disparity.shape
    for y in range(adjusted.shape[0]):
        for x in range(columns):
            own = disparity[start + y, x]
            level = _level(own, minimum, step, costs.shape[2])
            if level < 0:
                continue
            lowest, best = costs[y, x, level], own
            # Along the row, then along the column.
            for down, right in ((0, 1), (1, 0)):
                before = after = np.float32(np.nan)
                if start + y - down >= 0 and x - right >= 0:
                    before = disparity[start + y - down, x - right]
                if start + y + down < rows and x + right < columns:
                    after = disparity[start + y + down, x + right]
                # There is no edge towards a pixel that is missing or has no estimate.
                if not (abs(before - own) > disparity_gap or abs(after - own) > disparity_gap):
                    continue
                for value in (before, after):
                    level = _level(value, minimum, step, costs.shape[2])
                    if level < 0:
                        continue
                    cost = costs[y, x, level]
                    if cost < lowest or (cost == lowest and best != own and value < best):
                        lowest, best = cost, value
            adjusted[y, x] = best


@kernel
def _level(disparity: float, minimum: float, step: float, levels: int) -> int:
    """The level nearest to a disparity; -1 if there is none."""
    if np.isnan(disparity):
        return -1
    nearest = round((disparity - minimum) / step)
    return int(nearest) if 0 <= nearest < levels else -1
