"""The vertex of the parabola through a pixel's cost and those of its two neighbouring levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.blocks import Firsts, Starts, held_cell
from stereo_framework.kernels.decorator import kernel


@kernel
def parabola_kernel(
    disparity: NDArray[np.float32],
    costs: NDArray,
    starts: Starts | None,
    firsts: Firsts | None,
    size: int,
    levels: int,
    minimum: float,
    step: float,
    limit: float,
    refined: NDArray[np.float32],
) -> None:
    """Write the disparities moved to the vertices of their parabolas into `refined`; those that stay are left alone there.

    `costs`: of all cells of a volume with `levels`, or of its blocks of `size` levels, whose `starts` and `firsts` are not None then.
    """
    rows, columns = disparity.shape
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
            cell = (y * columns + x) * levels + centre
            least, most = cell - 1, cell + 1
            if starts is not None:
                start, stop = starts[y * columns + x], starts[y * columns + x + 1]
                cell = held_cell(start, stop, firsts, size, centre)
                least, most = cell - 1, cell + 1
                if cell % size == 0:
                    least = held_cell(start, stop, firsts, size, centre - 1)
                if cell % size == size - 1:
                    most = held_cell(start, stop, firsts, size, centre + 1)
                if cell < 0 or least < 0 or most < 0:
                    continue
            below, middle, above = np.float32(costs[least]), np.float32(costs[cell]), np.float32(costs[most])
            # The parabola a u^2 + b u + c through u = -1, 0, 1.
            curvature = np.float32(0.5) * (below - np.float32(2) * middle + above)
            slope = np.float32(0.5) * (above - below)
            if curvature <= 0:
                continue
            offset = -slope / (np.float32(2) * curvature)
            if abs(offset) <= limit:
                refined[y, x] = minimum + (centre + offset) * step
