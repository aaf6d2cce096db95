"""Diffusion: costs spread to their neighbours, step by step."""

from __future__ import annotations

from stereo_framework.aggregation.membrane_diffusion import diverges, membrane_diffusion
from stereo_framework.stages import CostVolume, Positive, PositiveInt, stage


@stage(
    "aggregation",
    source="Scharstein & Szeliski 2002, section 4.2; Scharstein & Szeliski 1998, section 3",
    resume="iterations",
    check_parameters=diverges,
)
def diffusion(
    volume: CostVolume,
    partial: CostVolume | None = None,
    *,
    iterations: PositiveInt = 50,
    rate: Positive = 0.15,
) -> CostVolume:
    """Let costs diffuse to their four neighbours, level by level: aggregation over a growing, Gaussian-like support.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    partial : CostVolume, optional
        The result for `volume` after some iterations, to be continued by `iterations` more.
    iterations : int
        Number of diffusion steps.
    rate : float
        The paper's lambda: share of each neighbour that a step adds. Stable up to 0.25.

    Returns
    -------
    CostVolume
        Same unit and shape; lower is better. Cells out of view take part with their cost.

    Raises
    ------
    ParameterError
        `iterations` below 1 or `rate` not in 0..0.25 (exclusive, inclusive).

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.2 (regular diffusion): ``C <- (1 - 4 rate) C + rate * (sum of the 4 neighbours)``, all cells
    at once; at image borders a missing neighbour is the cell itself.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> costs = np.array([[0, 8, 0]], np.float32)[..., None].repeat(2, axis=2)
    >>> diffusion(CostVolume(costs, SearchRange(0, 1), 255.0), iterations=1, rate=0.25).costs[0, :, 0].tolist()
    [2.0, 4.0, 2.0]
    """
    return membrane_diffusion(volume, partial, iterations=iterations, rate=rate, beta=0.0)
