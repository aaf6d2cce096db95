"""Binomial filter: a small Gaussian-like window, repeated."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.aggregation._iterate import iterate
from stereo_framework.kernels.decorator import kernel
from stereo_framework.stages import CostVolume, PositiveInt, Unit, stage


@stage(
    "aggregation",
    source="Scharstein & Szeliski 2002, section 4.2",
    halo=lambda iterations: 2 * iterations,
    resume="iterations",
)
def binomial(
    volume: CostVolume,
    partial: CostVolume | None = None,
    *,
    iterations: Annotated[PositiveInt, Unit("passes")] = 1,
) -> CostVolume:
    """Weighted mean of the costs with the kernel 1 4 6 4 1 along rows and columns, level by level.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    partial : CostVolume, optional
        The result for `volume` after some iterations, to be continued by `iterations` more.
    iterations : int
        How often the filter is applied; n passes are a Gaussian of about sqrt(n) pixels standard deviation.

    Returns
    -------
    CostVolume
        Same unit and shape; lower is better. Image borders are replicated, and cells out of view take part with their cost.

    Raises
    ------
    ParameterError
        `iterations` below 1.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.2. Separable, weights 1/16 4/16 6/16 4/16 1/16.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> costs = np.array([[0, 0, 16, 0, 0]], np.float32)[..., None].repeat(2, axis=2)
    >>> binomial(CostVolume(costs, SearchRange(0, 1), 255.0)).costs[0, :, 0].tolist()
    [1.0, 4.0, 6.0, 4.0, 1.0]
    """
    return replace(volume, costs=iterate(_kernel, (partial or volume).costs, iterations))


@kernel
def _kernel(costs: NDArray[np.float32], start: int, out: NDArray[np.float32]) -> None:
    rows, columns, levels = costs.shape
    width = columns * levels
    four, six, scale = np.float32(4), np.float32(6), np.float32(1 / 256)
    # The column sums of a row, with two columns repeated at each end.
    line = np.empty(width + 4 * levels, np.float32)
    middle = line[2 * levels : 2 * levels + width]
    for y in range(out.shape[0]):
        at = start + y
        a, b = costs[max(at - 2, 0)].reshape(-1), costs[max(at - 1, 0)].reshape(-1)
        c = costs[at].reshape(-1)
        d, e = costs[min(at + 1, rows - 1)].reshape(-1), costs[min(at + 2, rows - 1)].reshape(-1)
        for i in range(width):
            middle[i] = (a[i] + e[i]) + four * (b[i] + d[i]) + six * c[i]
        for i in range(2 * levels):
            line[i] = middle[i % levels]
            line[2 * levels + width + i] = middle[width - levels + i % levels]
        l2, l1, r1, r2 = (
            line[:width],
            line[levels : levels + width],
            line[3 * levels : 3 * levels + width],
            line[4 * levels :],
        )
        row = out[y].reshape(-1)
        for i in range(width):
            row[i] = scale * ((l2[i] + r2[i]) + four * (l1[i] + r1[i]) + six * middle[i])
