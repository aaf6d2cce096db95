"""Left-right check that matches the pair once: the match frame's map is read from the same costs."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.refinement.left_right_check import confirmed
from stereo_framework.stages import CostVolume, Disparity, NonNegative, StatusMap, Unit, stage


@stage("refinement", source="Hirschmueller 2008, section 2.3", halo=lambda: 0, integer=True)
def left_right_check_fast(
    disparity: Disparity,
    volume: CostVolume,
    status: StatusMap | None = None,
    *,
    tolerance: Annotated[NonNegative, Unit("pixels")] = 1.0,
) -> tuple[Disparity, StatusMap]:
    """Remove the disparities that the match frame's winners in the same volume contradict, and distinguish occluded pixels from mismatched ones.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    volume : CostVolume
        Costs that the disparities were chosen from, float32, uint8 or uint16.
    status : ndarray, uint8, (rows, columns), optional
        Values of `Status`; default: occluded where there is no estimate, else matched.
    tolerance : float
        Largest accepted difference in pixels.

    Returns
    -------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN where it was removed.
    status : ndarray, uint8, (rows, columns)
        As of `left_right_check`.

    Raises
    ------
    ParameterError
        The tolerance is negative.

    Notes
    -----
    Hirschmueller 2008, section 2.3: a pixel of the match frame takes the disparity of the least cost among all cells of the volume that meet it; of equal costs the
    lowest disparity. Disparities between whole pixels meet none. It spares matching the pair from the other side, which
    `left_right_check` asks for and which is more reliable: costs that were smoothed along the edges of the reference image say less about the other one.

    Examples
    --------
    A near surface of one pixel occludes one of the far one.

    >>> from stereo_framework import SearchRange
    >>> costs = np.float32([[[0, 9], [1, 8], [9, 0], [0, 9]]])
    >>> left_right_check_fast(np.float32([[0, 0, 1, 0]]), CostVolume(costs, SearchRange(0, 1), 9.0), tolerance=0.5)[0].tolist()
    [[0.0, nan, 1.0, 0.0]]
    """
    search = volume.search
    # The levels of whole disparities: their cells meet pixels.
    begin = -search.first % search.denominator
    costs = volume.costs[:, :, begin :: search.denominator]
    nearest, closed = (search.first + begin) // search.denominator, np.float32(volume.excluded_cost)
    winners = np.empty(disparity.shape, np.float32)

    def run(start: int, stop: int) -> None:
        _kernel(
            costs[start:stop], nearest, search.stride, search.direction, closed, winners[start:stop]
        )

    over_rows(run, len(costs), costs.size)
    return confirmed(disparity, winners, search.direction, status, tolerance)


@kernel
def _kernel(
    costs: NDArray, nearest: int, stride: int, direction: int, closed: float, winners: Disparity
) -> None:
    """The disparities of least cost of the match frame's pixels; NaN where no open cell meets one.

    `nearest`: the disparity of level 0; `stride`: the pixels from level to level.
    """
    rows, columns, levels = costs.shape
    # Pixels stand in the order in which rising levels of one pixel meet them.
    least, found = np.empty(columns, np.float32), np.empty(columns, np.float32)
    for y in range(rows):
        least[:], found[:] = closed, np.nan
        # Rising disparities meet a pixel, so that of equal costs that of the lowest stays.
        for place in range(columns):
            x = place if direction > 0 else columns - 1 - place
            met = columns - 1 - place + nearest
            first, last = max(0, -(met // stride)), min(levels, (columns - 1 - met) // stride + 1)
            for n in range(last - first):
                # Unsigned indices need no wraparound check.
                k = np.uint64(first + n)
                i, cost = np.uint64(met + stride * (first + n)), np.float32(costs[y, x, k])
                closer = cost < least[i]
                least[i] = cost if closer else least[i]
                found[i] = np.float32(nearest + stride * (first + n)) if closer else found[i]
        # Not slices: for the message about shapes that differ numba would compile more than for all the rest.
        for x in range(columns):
            winners[y, x] = found[columns - 1 - x if direction > 0 else x]
