"""The vertex of the parabola through a pixel's cost and those of its two neighbouring levels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.blocks import Firsts, Starts, held_cell
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows


def vertices(
    disparity: NDArray[np.float32],
    costs: NDArray,
    levels: int,
    minimum: float,
    step: float,
    limit: float,
    blocks: tuple[Starts, Firsts, int] | None = None,
) -> NDArray[np.float32]:
    """The disparities moved to the vertices of their parabolas, in a new array; those off the grid or farther from a vertex than `limit` levels stay.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    costs : ndarray, (rows, columns, levels), or (blocks, size) of a compact volume
    levels, minimum, step : number
        Of the search range; with fewer than 3 levels nothing moves.
    limit : float
    blocks : (starts, firsts, size), optional
        Which levels a compact volume holds, see `Held`.
    """
    refined = disparity.copy()
    if levels < 3:
        return refined
    columns = disparity.shape[1]
    starts, firsts, size = blocks or (None, None, 0)

    def run(start: int, stop: int) -> None:
        some = (costs[start:stop] if starts is None else costs).reshape(-1)
        own = None if starts is None else starts[start * columns : stop * columns + 1]
        _kernel(disparity[start:stop], some, own, firsts, size, levels, minimum, step, limit, refined[start:stop])

    over_rows(run, disparity.shape[0], 20 * disparity.size)
    return refined


@kernel
def _kernel(
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
