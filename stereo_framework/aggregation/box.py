"""Box filter: the square window of SAD and SSD."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from stereo_framework.core.scene import read_only
from stereo_framework.core.stage import PositiveInt, Unit, stage
from stereo_framework.core.volume import CostVolume
from stereo_framework.kernels.windows import box_mean


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
    >>> from stereo_framework import Search
    >>> costs = np.array([[0, 0, 9]], np.float32)[..., None].repeat(2, axis=2)
    >>> box(CostVolume(costs, Search(0, 1), 255.0), size=3).costs[0, :, 0].tolist()
    [0.0, 3.0, 6.0]
    """
    costs = volume.costs
    for _ in range(iterations):
        costs = box_mean(read_only(costs), size)
    return replace(volume, costs=costs)
