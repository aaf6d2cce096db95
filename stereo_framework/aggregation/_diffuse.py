"""What regular and membrane diffusion share."""

from dataclasses import replace

import numpy as np

from stereo_framework.aggregation._iterate import iterate
from stereo_framework.core.volume import Costs, CostVolume
from stereo_framework.kernels.decorator import kernel


def diffuse(volume: CostVolume, partial: CostVolume | None, iterations: int, rate: float, beta: float) -> CostVolume:
    """Steps of ``C <- (1 - rate (beta + 4)) C + rate * (4 neighbours) + rate beta C0`` in float32, as the original computes.

    They start from `partial` where it is given, else from C0, the costs of `volume`.
    """
    # The factor of the cell itself follows from the rounded rate, so that the three sum to one.
    spread = np.float32(rate)
    keep, pull = np.float32(1 - float(spread) * (beta + 4)), np.float32(float(spread) * beta)
    original = volume.costs

    def step(costs: Costs, start: int, out: Costs) -> None:
        _kernel(costs, original, start, keep, spread, pull, out)

    return replace(volume, costs=iterate(step, original if partial is None else partial.costs, iterations))


def diverges(rate: float, beta: float = 0.0) -> str | None:
    """Why steps of this size would not converge, or None."""
    if rate * (beta + 4) <= 1 + 1e-9:
        return None
    return f"rate {rate:g} with beta {beta:g} does not converge; legal: 0 < rate <= {1 / (beta + 4):g}"


@kernel
def _kernel(costs: Costs, original: Costs, start: int, keep: float, spread: float, pull: float, out: Costs) -> None:
    rows, columns, levels = costs.shape
    width = columns * levels
    line = np.empty(width + 2 * levels, np.float32)
    for y in range(out.shape[0]):
        at = start + y
        up, middle, down = costs[max(at - 1, 0)].reshape(-1), costs[at].reshape(-1), costs[min(at + 1, rows - 1)].reshape(-1)
        for i in range(levels):
            line[i] = middle[i]
            line[width + levels + i] = middle[width - levels + i]
        for i in range(width):
            line[levels + i] = middle[i]
        left, right = line[:width], line[2 * levels : 2 * levels + width]
        row, first = out[y].reshape(-1), original[at].reshape(-1)
        for i in range(width):
            row[i] = keep * middle[i] + spread * (up[i] + down[i] + left[i] + right[i]) + pull * first[i]
