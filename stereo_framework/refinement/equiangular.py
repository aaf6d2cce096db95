"""Sub-pixel refinement by two lines of opposite slope through three costs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity
from stereo_framework.core.stage import stage
from stereo_framework.core.volume import CostVolume, SearchMask
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows


@stage("refinement", source="Haller & Nedevschi 2012; Shimizu & Okutomi 2001", halo=lambda: 0, integer=True)
def equiangular(disparity: Disparity, volume: CostVolume, mask: SearchMask | None = None) -> Disparity:
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
    >>> from stereo_framework import Search
    >>> volume = CostVolume(np.array([[[9, 1, 5]]], np.uint8), Search(0, 2), 255.0)
    >>> equiangular(np.array([[1]], np.float32), volume).tolist()
    [[1.25]]
    """
    refined = disparity.copy()
    minimum, step = float(volume.search.minimum), float(volume.search.step)

    def run(start: int, stop: int) -> None:
        _kernel(disparity[start:stop], volume.costs[start:stop], minimum, step, refined[start:stop])

    over_rows(run, disparity.shape[0], 20 * disparity.size)
    return refined if mask is None else np.where(mask.beside_closed(disparity, volume.search), disparity, refined)


@kernel
def _kernel(disparity: NDArray[np.float32], costs: NDArray, minimum: float, step: float, refined: NDArray[np.float32]) -> None:
    rows, columns, levels = costs.shape
    for y in range(rows):
        for x in range(columns):
            if np.isnan(disparity[y, x]):
                continue
            level = (disparity[y, x] - minimum) / step
            nearest = round(level)
            # float32 disparities are off the grid by rounding alone, by far less than this.
            if abs(level - nearest) > 1e-3 or nearest < 1 or nearest > levels - 2:
                continue
            centre = int(nearest)
            least = np.float32(costs[y, x, centre])
            left, right = np.float32(costs[y, x, centre - 1]) - least, np.float32(costs[y, x, centre + 1]) - least
            steeper = max(left, right)
            if min(left, right) >= 0 and steeper > 0:
                refined[y, x] = minimum + (centre + np.float32(0.5) * (left - right) / steeper) * step
