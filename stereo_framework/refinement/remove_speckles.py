"""Removal of small surfaces that differ from everything around them."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import Disparity, NonNegative, PositiveInt, Unit, stage

_STEPS = ((0, -1), (0, 1), (-1, 0), (1, 0))


@stage(
    "refinement",
    source="Hirschmueller 2008, section 2.5.1",
    halo=lambda max_speckle_size: max_speckle_size,
)
def remove_speckles(
    disparity: Disparity,
    *,
    max_speckle_size: Annotated[PositiveInt, Unit("pixels")] = 100,
    max_diff: Annotated[NonNegative, Unit("pixels")] = 1.0,
) -> Disparity:
    """Remove the disparities of surfaces that have only a few pixels.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    max_speckle_size : int
        Area in pixels of the largest surface that is removed.
    max_diff : float
        Largest disparity difference in pixels between neighbours on one surface. The four
        neighbours of a pixel lie left, right, above and below.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN where the surface was too small. A pipeline marks these pixels as mismatched.

    Raises
    ------
    ParameterError
        `max_speckle_size` is below 1, or `max_diff` is negative.

    Notes
    -----
    Hirschmueller 2008, section 2.5.1, removes peaks in this way, because real surfaces
    are unlikely to be that small. The largest surface that is removed has
    `max_speckle_size` pixels, as in OpenCV's filterSpeckles, which has the same result
    on whole numbers. The paper's threshold is one pixel more.

    Examples
    --------
    >>> import numpy as np
    >>> remove_speckles(np.float32([[1, 2, 3, 9, 8, 3]]), max_speckle_size=2).tolist()
    [[1.0, 2.0, 3.0, nan, nan, nan]]
    """
    kept = disparity.copy()
    limit = np.float32(max_diff)

    def run(start: int, stop: int) -> None:
        # A surface that reaches further than this has more than `max_speckle_size` pixels.
        top = max(0, start - max_speckle_size)
        _kernel(
            disparity[top : stop + max_speckle_size],
            start - top,
            max_speckle_size,
            limit,
            kept[start:stop],
        )

    over_rows(run, disparity.shape[0], 10 * disparity.size)
    return kept


@kernel
def _kernel(
    disparity: NDArray[np.float32],
    start: int,
    max_speckle_size: int,
    max_diff: float,
    kept: NDArray[np.float32],
) -> None:
    rows, columns = disparity.shape
    seen = np.zeros((rows, columns), np.bool_)
    # The pixels of one surface; the neighbours of those behind `done` are still to be visited.
    surface = np.empty((rows * columns, 2), np.int32)
    for y in range(rows):
        for x in range(columns):
            if seen[y, x] or np.isnan(disparity[y, x]):
                continue
            seen[y, x] = True
            surface[0, 0], surface[0, 1] = y, x
            done, count = 0, 1
            while done < count:
                v, u = surface[done]
                done += 1
                for down, right in _STEPS:
                    j, i = v + down, u + right
                    if not (0 <= j < rows and 0 <= i < columns) or seen[j, i]:
                        continue
                    # False where the neighbour has no estimate.
                    if abs(disparity[j, i] - disparity[v, u]) <= max_diff:
                        seen[j, i] = True
                        surface[count, 0], surface[count, 1] = j, i
                        count += 1
            if count <= max_speckle_size:
                for k in range(count):
                    v, u = surface[k]
                    if 0 <= v - start < kept.shape[0]:
                        kept[v - start, u] = np.nan
