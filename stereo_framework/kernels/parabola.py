"""Subpixel refinement of disparities by a parabola through three costs.

The three costs belong to the disparity level of a pixel and its two neighbouring
levels.
"""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

Disparity = NDArray[np.float32]


def move_to_vertices(
    disparity: Disparity, costs: NDArray, minimum: float, step: float, max_offset: float
) -> Disparity:
    """Move each disparity to the vertex of the parabola through its three costs.

    A disparity is not changed if it lies between two levels, or if the minimum of the
    parabola is more than `max_offset` levels away or does not exist.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels; NaN means no estimate.
    costs : ndarray, (rows, columns, levels)
        Costs. If there are fewer than three levels, no disparity is changed.
    minimum, step : float
        Disparity of the first level, and difference between two adjacent levels, in
        pixels.
    max_offset : float
        Largest distance of the vertex from the middle one of the three levels, in
        levels.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Refined disparities, in a new array.
    """
    refined = disparity.copy()

    def refine(start: int, stop: int) -> None:
        rows = slice(start, stop)
        _refine_rows(disparity[rows], costs[rows], minimum, step, max_offset, refined[rows])

    if costs.shape[2] >= 3:
        over_rows(refine, disparity.shape[0], 20 * disparity.size)
    return refined


@kernel
def _refine_rows(
    disparity: Disparity,
    costs: NDArray,
    minimum: float,
    step: float,
    max_offset: float,
    refined: Disparity,
) -> None:
    """Write the moved disparities into `refined`.

    If a disparity is not moved, the element of `refined` at this pixel is not written.
    """
    rows, columns, levels = costs.shape
    for y in range(rows):
        for x in range(columns):
            if np.isnan(disparity[y, x]):
                continue
            level = (disparity[y, x] - minimum) / step
            nearest = round(level)
            # The disparity belongs to a level if it differs from the level only by
            # rounding to float32, which is much less than 1e-3 levels.
            if abs(level - nearest) > 1e-3 or nearest < 0 or nearest >= levels:
                continue
            centre = min(max(int(nearest), 1), levels - 2)
            below = np.float32(costs[y, x, centre - 1])
            middle = np.float32(costs[y, x, centre])
            above = np.float32(costs[y, x, centre + 1])
            # The parabola a u^2 + b u + c passes through the three costs at u = -1, 0
            # and 1. The coefficient a is `curvature`, and b is `slope`.
            curvature = np.float32(0.5) * (below - np.float32(2) * middle + above)
            slope = np.float32(0.5) * (above - below)
            if curvature <= 0:
                continue
            offset = -slope / (np.float32(2) * curvature)
            if abs(offset) <= max_offset:
                refined[y, x] = minimum + (centre + offset) * step
