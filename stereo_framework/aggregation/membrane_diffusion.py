"""Membrane diffusion: diffusion that is drawn back to the original costs."""

from __future__ import annotations

from stereo_framework.aggregation._diffuse import diffuse, diverges
from stereo_framework.core.stage import NonNegative, Positive, PositiveInt, stage
from stereo_framework.core.volume import CostVolume


@stage(
    "aggregation",
    source="Scharstein & Szeliski 2002, section 4.2; Scharstein & Szeliski 1998, section 4",
    resume="iterations",
    check_parameters=diverges,
)
def membrane_diffusion(
    volume: CostVolume,
    partial: CostVolume | None = None,
    *,
    iterations: PositiveInt = 150,
    rate: Positive = 0.15,
    beta: NonNegative = 0.5,
) -> CostVolume:
    """Diffusion with a term that keeps costs close to their original values, so that the support stops growing.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    partial : CostVolume, optional
        The result for `volume` after some iterations, to be continued by `iterations` more.
    iterations : int
        Number of diffusion steps.
    rate : float
        The paper's lambda: share of each neighbour that a step adds. Stable while ``rate * (beta + 4) <= 1``.
    beta : float
        Strength of the pull to the original costs, relative to one neighbour's; 0 = plain diffusion.

    Returns
    -------
    CostVolume
        Same unit and shape; lower is better. Cells out of view take part with their cost.

    Raises
    ------
    ParameterError
        `iterations` below 1, `rate` not above 0, `beta` below 0, or ``rate * (beta + 4) > 1``.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.2 (membrane model):
    ``C <- (1 - rate (beta + 4)) C + rate * (sum of the 4 neighbours) + rate beta C0``, with C0 the costs before the first step.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import Search
    >>> costs = np.array([[0, 8, 0]], np.float32)[..., None].repeat(2, axis=2)
    >>> membrane_diffusion(CostVolume(costs, Search(0, 1), 255.0), iterations=1, rate=0.125, beta=4.0).costs[0, :, 0].tolist()
    [1.0, 6.0, 1.0]
    """
    return diffuse(volume, partial, iterations, rate, beta)
