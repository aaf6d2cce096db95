"""Iterated conditional modes: each pixel takes the level that is best beside its neighbours' present ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import Costs, CostVolume, Energy, Labeling, Smoothness
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.progress import counted
from stereo_framework.kernels.threads import over_blocks
from stereo_framework.optimization._raster import BLOCK_COLUMNS, BLOCK_ROWS, blocks_of
from stereo_framework.optimization._smoothness import (
    differences_of,
    edge_weights,
    no_smoothness,
    required_smoothness,
)
from stereo_framework.optimization._stopping import MinDecrease, lowers_too_little
from stereo_framework.optimization.winner_take_all import winner_take_all
from stereo_framework.stages import PositiveInt, stage


@stage(
    "optimization",
    source="Besag 1986, section 2.5; Szeliski et al. 2008, section 2.1",
    check_parameters=no_smoothness,
)
def icm(
    volume: CostVolume,
    smoothness: Smoothness | None = None,
    *,
    iterations: PositiveInt = 100,
    min_decrease: MinDecrease = None,
) -> Labeling:
    """Levels that no change of a single pixel improves, found from the winners by changing one pixel after the other.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels).
    smoothness : Smoothness
        What it costs that neighbours differ.
    iterations : int
        Most sweeps; each visits all pixels row by row. The last one needed changes nothing.
    min_decrease : float or None
        Share of the energy by which ten sweeps must lower the lowest energy so far; if
        they lower it by no more than this share, the sweeps end. A typical value is
        0.001. The rule is applied after every tenth sweep from the twentieth on. null:
        sweeps end when one changes nothing.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), all assigned; `trace` has the seconds and the energy after each sweep, which never rises.

    Raises
    ------
    ParameterError
        There is no smoothness term, or one with negative weights or penalties, or
        `min_decrease` is out of its range.

    Notes
    -----
    Besag 1986: the quickest descent, and the first that gets stuck. A pixel keeps its level where another one is merely as good; of
    several better ones it takes the best, and of equals the lowest.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange, Smoothness
    >>> volume = CostVolume(np.array([[[0, 9], [5, 4], [0, 9]]], np.float32), SearchRange(0, 1), 255.0)
    >>> flat = np.zeros((1, 3), np.float32)
    >>> changes = Smoothness(np.array([[2, 2, 0]], np.float32), flat, np.array([0, 1], np.float32))
    >>> icm(volume, changes).levels.tolist()
    [[0, 0, 0]]
    """
    energy = Energy(volume, smoothness)
    smoothness = required_smoothness(smoothness, "icm")
    start = working_time()
    costs = np.ascontiguousarray(volume.costs)
    rows, columns, _ = costs.shape
    weights, differences = edge_weights(smoothness), differences_of(smoothness.rho)
    labels = winner_take_all(volume).levels.copy()
    trace = []
    changed = np.zeros(blocks_of(rows, columns), bool)

    for _ in counted(iterations, "sweep"):
        over_blocks(
            lambda *blocks: _visit(*blocks, costs, weights, differences, labels, changed),
            changed.shape,
            2 * costs.size,
        )
        trace.append((working_time() - start, energy.of(labels)))
        settled = lowers_too_little([point[1] for point in trace], min_decrease)
        if settled or not changed.any():
            break
    return Labeling(labels, volume.chosen(labels), trace=tuple(trace))


@kernel
def _visit(
    antidiagonal: int,
    start: int,
    stop: int,
    costs: Costs,
    weights: Costs,
    differences: Costs,
    labels: NDArray[np.int16],
    changed: NDArray[np.bool_],
) -> None:
    """Visit the pixels of some blocks in raster order, and note in which blocks one changes its label."""
    rows, columns, levels = costs.shape
    local = np.empty(levels, np.float32)
    for block in range(start, stop):
        first = (antidiagonal - block) * BLOCK_COLUMNS
        changed[block, antidiagonal - block] = False
        for y in range(block * BLOCK_ROWS, min(block * BLOCK_ROWS + BLOCK_ROWS, rows)):
            for x in range(first, min(first + BLOCK_COLUMNS, columns)):
                # Neighbours that a pixel does not have weigh 0.
                right = np.uint64(levels - 1 - labels[y, min(x + 1, columns - 1)])
                left = np.uint64(levels - 1 - labels[y, max(x - 1, 0)])
                down = np.uint64(levels - 1 - labels[min(y + 1, rows - 1), x])
                up = np.uint64(levels - 1 - labels[max(y - 1, 0), x])
                w0, w1, w2, w3 = (
                    weights[y, x, 0],
                    weights[y, x, 1],
                    weights[y, x, 2],
                    weights[y, x, 3],
                )
                for n in range(levels):
                    k = np.uint64(n)
                    beside = w0 * differences[right + k] + w1 * differences[left + k]
                    local[k] = (
                        costs[y, x, k]
                        + beside
                        + w2 * differences[down + k]
                        + w3 * differences[up + k]
                    )
                level = labels[y, x]
                least = local[level]
                for n in range(levels):
                    if local[n] < least:
                        least, level = local[n], n
                if level != labels[y, x]:
                    labels[y, x] = level
                    changed[block, antidiagonal - block] = True
