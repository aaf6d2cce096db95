"""Subpixel refinement by a parabola through three costs of a pixel.

The three costs are the cost at the pixel's level and at the two neighbouring levels.
"""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

Disparity = NDArray[np.float32]


def move_to_vertices(
    disparity: Disparity, costs: NDArray, minimum: float, step: float, max_offset: float
) -> Disparity:
    """Return disparities that are moved to the vertices of their parabolas.

    A disparity stays if it is not the disparity of a level, or if its parabola has no
    minimum within `max_offset` levels.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels; NaN means no estimate.
    costs : ndarray, (rows, columns, levels)
        Costs. With fewer than three levels, every disparity stays.
    minimum, step : float
        Disparity of the first level, and difference between two levels, in pixels.
    max_offset : float
        Largest distance of a vertex from the middle of its three levels, in levels.

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
    """Store the moved disparities in `refined`.

    The elements of `refined` whose disparity stays are not written.
    """
    rows, columns, levels = costs.shape
    for y in range(rows):
        for x in range(columns):
            if np.isnan(disparity[y, x]):
                continue
            level = (disparity[y, x] - minimum) / step
            nearest = round(level)
            # Rounding to float32 moves the disparity of a level by much less than 1e-3
            # levels.
            if abs(level - nearest) > 1e-3 or nearest < 0 or nearest >= levels:
                continue
            centre = min(max(int(nearest), 1), levels - 2)
            below = np.float32(costs[y, x, centre - 1])
            middle = np.float32(costs[y, x, centre])
            above = np.float32(costs[y, x, centre + 1])
            # The parabola a u^2 + b u + c through the costs at u = -1, 0 and 1, where a
            # is the curvature and b the slope.
            curvature = np.float32(0.5) * (below - np.float32(2) * middle + above)
            slope = np.float32(0.5) * (above - below)
            if curvature <= 0:
                continue
            offset = -slope / (np.float32(2) * curvature)
            if abs(offset) <= max_offset:
                refined[y, x] = minimum + (centre + offset) * step
