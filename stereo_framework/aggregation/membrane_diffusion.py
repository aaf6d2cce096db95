"""Membrane diffusion: diffusion that is drawn back to the original costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stereo_framework.aggregation._iterate import iterate
from stereo_framework.core.volume import Costs, CostVolume
from stereo_framework.kernels.decorator import kernel
from stereo_framework.stages import NonNegative, Positive, PositiveInt, stage


def diverges(rate: float, beta: float = 0.0) -> str | None:
    """Return the reason why steps of this size would not converge, or None."""
    if rate * (beta + 4) <= 1 + 1e-9:
        return None
    largest_rate = 1 / (beta + 4)
    event = f"rate {rate:g} with beta {beta:g} does not converge"
    return f"{event}; allowed: 0 < rate <= {largest_rate:g}"


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
    >>> from stereo_framework import SearchRange
    >>> costs = np.array([[0, 8, 0]], np.float32)[..., None].repeat(2, axis=2)
    >>> membrane_diffusion(CostVolume(costs, SearchRange(0, 1), 255.0), iterations=1, rate=0.125, beta=4.0).costs[0, :, 0].tolist()
    [1.0, 6.0, 1.0]
    """
    # As the original computes in float32: the factor of the cell itself follows from the rounded rate, so that the three sum to one.
    spread = np.float32(rate)
    keep, pull = np.float32(1 - float(spread) * (beta + 4)), np.float32(float(spread) * beta)

    def step(costs: Costs, start: int, out: Costs) -> None:
        _kernel(costs, volume.costs, start, keep, spread, pull, out)

    return replace(volume, costs=iterate(step, (partial or volume).costs, iterations))


@kernel
def _kernel(
    costs: Costs, original: Costs, start: int, keep: float, spread: float, pull: float, out: Costs
) -> None:
    rows, columns, levels = costs.shape
    width = columns * levels
    line = np.empty(width + 2 * levels, np.float32)
    for y in range(out.shape[0]):
        at = start + y
        up, middle, down = (
            costs[max(at - 1, 0)].reshape(-1),
            costs[at].reshape(-1),
            costs[min(at + 1, rows - 1)].reshape(-1),
        )
        for i in range(levels):
            line[i] = middle[i]
            line[width + levels + i] = middle[width - levels + i]
        for i in range(width):
            line[levels + i] = middle[i]
        left, right = line[:width], line[2 * levels : 2 * levels + width]
        row, first = out[y].reshape(-1), original[at].reshape(-1)
        for i in range(width):
            row[i] = (
                keep * middle[i] + spread * (up[i] + down[i] + left[i] + right[i]) + pull * first[i]
            )
