"""The vertex of the parabola through a pixel's cost and those of its two neighbouring levels."""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

Map = NDArray[np.float32]


def vertices(disparity: Map, costs: NDArray, minimum: float, step: float, max_offset: float) -> Map:
    """The disparities moved to the vertices of their parabolas, in a new array; those off the grid or farther from a vertex than `max_offset` levels stay.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    costs : ndarray, (rows, columns, levels)
    minimum, step : float
        Of the search range; with fewer than 3 levels nothing moves.
    max_offset : float
    """
    refined = disparity.copy()

    def run(start: int, stop: int) -> None:
        _kernel(
            disparity[start:stop], costs[start:stop], minimum, step, max_offset, refined[start:stop]
        )

    if costs.shape[2] >= 3:
        over_rows(run, disparity.shape[0], 20 * disparity.size)
    return refined


@kernel
def _kernel(
    disparity: Map, costs: NDArray, minimum: float, step: float, max_offset: float, refined: Map
) -> None:
    """Write the disparities moved to the vertices of their parabolas into `refined`; those that stay are left alone there."""
    rows, columns, levels = costs.shape
    for y in range(rows):
        for x in range(columns):
            if np.isnan(disparity[y, x]):
                continue
            level = (disparity[y, x] - minimum) / step
            nearest = round(level)
            # float32 disparities are off the grid by rounding alone, by far less than this.
            if abs(level - nearest) > 1e-3 or nearest < 0 or nearest >= levels:
                continue
            centre = min(max(int(nearest), 1), levels - 2)
            below, middle = np.float32(costs[y, x, centre - 1]), np.float32(costs[y, x, centre])
            above = np.float32(costs[y, x, centre + 1])
            # The parabola a u^2 + b u + c through u = -1, 0, 1.
            curvature = np.float32(0.5) * (below - np.float32(2) * middle + above)
            slope = np.float32(0.5) * (above - below)
            if curvature <= 0:
                continue
            offset = -slope / (np.float32(2) * curvature)
            if abs(offset) <= max_offset:
                refined[y, x] = minimum + (centre + offset) * step
