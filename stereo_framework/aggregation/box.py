"""Box filter: the square window of SAD and SSD."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.aggregation._iterate import iterate
from stereo_framework.core.volume import Costs, CostVolume
from stereo_framework.kernels.decorator import kernel
from stereo_framework.stages import PositiveInt, Unit, stage


@stage(
    "aggregation",
    source="Scharstein & Szeliski 2002, section 4.2",
    halo=lambda size, iterations: iterations * (size // 2),
)
def box(
    volume: CostVolume,
    *,
    size: Annotated[PositiveInt, Unit("pixels")] = 9,
    iterations: Annotated[PositiveInt, Unit("passes")] = 1,
) -> CostVolume:
    """Mean of the costs in a square window around each pixel, level by level.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    size : int
        Width and height of the window in pixels. An even window reaches one pixel further right and down: the upper left of the four pixels in its middle is the centre.
    iterations : int
        How often the filter is applied, in passes.

    Returns
    -------
    CostVolume
        Same unit and shape; lower is better. Image borders are replicated, and cells out of view take part with their cost.

    Raises
    ------
    ParameterError
        `size` or `iterations` below 1.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.2. The mean, not the sum, so that costs keep their scale; window sums are
    accumulated in float64 and rounded to float32 once.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> costs = np.array([[0, 0, 9]], np.float32)[..., None].repeat(2, axis=2)
    >>> box(CostVolume(costs, SearchRange(0, 1), 255.0), size=3).costs[0, :, 0].tolist()
    [0.0, 3.0, 6.0]
    """
    return replace(
        volume, costs=iterate(functools.partial(_kernel, size), volume.costs, iterations)
    )


@kernel
def _kernel(size: int, costs: Costs, start: int, out: Costs) -> None:
    """Means of the rows from `start` on. Sums run in float64 and are rounded once, so that the result does not depend on where a row range starts."""
    rows, columns, levels = costs.shape
    before, after = (size - 1) // 2, size // 2
    scale = 1.0 / (size * size)
    column_sums = np.zeros((columns, levels), np.float64)
    window = np.empty(levels, np.float64)
    flat = column_sums.reshape(-1)
    for y in range(start - before, start + after + 1):
        row = costs[min(max(y, 0), rows - 1)].reshape(-1)
        for i in range(flat.shape[0]):
            flat[i] += row[i]
    for y in range(out.shape[0]):
        if y > 0:
            enter = costs[min(start + y + after, rows - 1)].reshape(-1)
            leave = costs[max(start + y - before - 1, 0)].reshape(-1)
            for i in range(flat.shape[0]):
                flat[i] += np.float64(enter[i]) - np.float64(leave[i])
        _slide_sums(column_sums, before, after, scale, window, out[y])


@kernel
def _slide_sums(
    sums: NDArray[np.float64],
    before: int,
    after: int,
    scale: float,
    window: NDArray[np.float64],
    out: Costs,
) -> None:
    columns, levels = sums.shape
    window[:] = 0.0
    for x in range(-before, after + 1):
        clamped = np.uint64(min(max(x, 0), columns - 1))
        for k in range(levels):
            window[k] += sums[clamped, k]
    for x in range(columns):
        # Unsigned indices need no wraparound check, and indexing the whole array makes no slice: 4x faster at 16 levels.
        at = np.uint64(x)
        if x > 0:
            enter, leave = np.uint64(min(x + after, columns - 1)), np.uint64(max(x - before - 1, 0))
            for k in range(levels):
                window[k] += sums[enter, k] - sums[leave, k]
                out[at, k] = window[k] * scale
        else:
            for k in range(levels):
                out[at, k] = window[k] * scale
