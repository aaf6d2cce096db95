"""Subpixel refinement of disparities by a parabola through three costs.

The three costs belong to the disparity level of a pixel, the level below and the level
above.
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

    A disparity between two levels is not changed. A disparity is also kept if the
    parabola has no minimum within `max_offset` levels.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparities in pixels; NaN means no estimate.
    costs : ndarray, (rows, columns, levels)
        Cost volume. With fewer than three levels, no disparity is changed.
    minimum : float
        Disparity of the first level, in pixels.
    step : float
        Distance of two adjacent levels, in pixels.
    max_offset : float
        Maximum distance of the vertex from the middle level, in levels.

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
    """Write the moved disparities into `refined`; leave all other pixels unchanged."""
    rows, columns, levels = costs.shape
    for y in range(rows):
        for x in range(columns):
            if np.isnan(disparity[y, x]):
                continue
            level = (disparity[y, x] - minimum) / step
            nearest = round(level)
            # Disparities are rounded to float32, so the comparison has a tolerance.
            if abs(level - nearest) > 1e-3 or nearest < 0 or nearest >= levels:
                continue
            centre = min(max(int(nearest), 1), levels - 2)
            below = np.float32(costs[y, x, centre - 1])
            middle = np.float32(costs[y, x, centre])
            above = np.float32(costs[y, x, centre + 1])
            # The parabola curvature * u^2 + slope * u + middle passes through the three
            # costs at u = -1, 0 and 1.
            curvature = np.float32(0.5) * (below - np.float32(2) * middle + above)
            slope = np.float32(0.5) * (above - below)
            if curvature <= 0:
                continue
            offset = -slope / (np.float32(2) * curvature)
            if abs(offset) <= max_offset:
                refined[y, x] = minimum + (centre + offset) * step
