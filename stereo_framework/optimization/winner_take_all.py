"""Winner-take-all: every pixel for itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.bits import ordered
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stage import stage
from stereo_framework.volume import Energy, Labeling


@stage("optimization", source="Scharstein & Szeliski 2002, section 4.3", halo=lambda: 0)
def winner_take_all(energy: Energy) -> Labeling:
    """The level of lowest cost at each pixel; of equal costs the lowest level.

    Parameters
    ----------
    energy : Energy
        Its volume, float32 (rows, columns, levels), is searched; its smoothness term is not used.

    Returns
    -------
    Labeling
        Labels int16 (rows, columns), all assigned, and their costs.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.3.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, Search
    >>> costs = np.array([[[3, 1, 1], [0, 0, 2]]], np.float32)
    >>> winner_take_all(Energy(CostVolume(costs, Search(0, 2), 255.0))).labels.tolist()
    [[1, 0]]
    """
    energy.volume.check_float("winner_take_all")
    costs = energy.volume.costs
    labels = np.empty(costs.shape[:2], np.int16)
    lowest = np.empty(costs.shape[:2], np.float32)
    bits = np.ascontiguousarray(costs).view(np.int32)
    over_rows(lambda a, b: _kernel(costs[a:b], bits[a:b], labels[a:b], lowest[a:b]), costs.shape[0], costs.size)
    return Labeling(labels, lowest)


@kernel
def _kernel(costs: NDArray[np.float32], bits: NDArray[np.int32], labels: NDArray[np.int16], lowest: NDArray[np.float32]) -> None:
    """The lowest cost is sought among the costs' bit patterns: LLVM vectorizes minima of integers, but not of floats."""
    rows, columns, levels = bits.shape
    for y in range(rows):
        for x in range(columns):
            least = ordered(bits[y, x, 0])
            for k in range(1, levels):
                key = ordered(bits[y, x, k])
                least = key if key < least else least
            winner = np.int32(levels)
            for k in range(levels):
                level = np.int32(k) if ordered(bits[y, x, k]) == least else np.int32(levels)
                winner = level if level < winner else winner
            labels[y, x] = winner
            lowest[y, x] = costs[y, x, winner]
