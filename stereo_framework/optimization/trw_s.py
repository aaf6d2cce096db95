"""Sequential tree-reweighted message passing: messages that raise a lower bound of the energy, and a labelling close to it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import CostVolume, Energy, Labeling, Smoothness
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.progress import counted
from stereo_framework.kernels.threads import over_blocks
from stereo_framework.optimization._messages import Messages, Passing, Values, prior_of
from stereo_framework.optimization._raster import BLOCK_COLUMNS, BLOCK_ROWS, blocks_of, sequential
from stereo_framework.optimization._smoothness import (
    differences_of,
    no_smoothness,
    required_smoothness,
)
from stereo_framework.optimization._stopping import MinDecrease, lowers_too_little
from stereo_framework.stages import PositiveInt, stage


@stage(
    "optimization",
    source="Kolmogorov 2006, sections 4 and 5; Szeliski et al. 2008, section 2.4",
    memory=2,
    check_parameters=no_smoothness,
)
def trw_s(
    volume: CostVolume,
    smoothness: Smoothness | None = None,
    *,
    iterations: PositiveInt = 50,
    min_decrease: MinDecrease = None,
) -> Labeling:
    """Levels of low energy, and a bound that no labelling's energy lies below, by messages along the rows and columns.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels).
    smoothness : Smoothness
        What it costs that neighbours differ.
    iterations : int
        In each the messages run from the first pixel to the last and back. With
        `min_decrease` this is the highest number of iterations.
    min_decrease : float or None
        Share of the energy by which ten iterations must lower the lowest energy so far.
        If they lower it by no more than this share, the iterations end. A typical value
        is 0.001. The rule is applied after every tenth iteration from the twentieth on.
        null: all iterations are made.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), all assigned: those of the iteration with the lowest energy. `lower_bound` is the highest of all
        iterations. `trace` has the seconds, the energy and the bound after each iteration; the energy may rise, the bound does not fall.

    Raises
    ------
    ParameterError
        There is no smoothness term, or one with negative weights or penalties, or
        `min_decrease` is out of its range.

    Notes
    -----
    Kolmogorov 2006, Figure 3: the image is a sum of chains along the rows and columns, and each pixel's costs are divided
    evenly among the chains through it. The bound is the sum of the chains' minima, computed in float64 from messages in float32. On a single row or column
    it is the lowest energy, and the labels have it. With two levels and the Potts model it approaches the lowest energy too. Levels
    are chosen row by row: each pixel takes the level that is best beside its left and upper neighbours' labels and the messages from the
    other two; of equal levels the lowest.

    An edge has one message at a time, so that two volumes in float32 stand beside the costs. Time for a message is as in
    `belief_propagation`.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange, Smoothness
    >>> volume = CostVolume(np.array([[[0, 9], [5, 4], [0, 9]]], np.float32), SearchRange(0, 1), 255.0)
    >>> flat = np.zeros((1, 3), np.float32)
    >>> changes = Smoothness(np.array([[2, 2, 0]], np.float32), flat, np.array([0, 1], np.float32))
    >>> result = trw_s(volume, changes)
    >>> result.levels.tolist(), result.lower_bound
    ([[0, 0, 0]], 5.0)
    """
    energy = Energy(volume, smoothness)
    smoothness = required_smoothness(smoothness, "trw_s")
    start = working_time()
    rows, columns, levels = volume.costs.shape
    costs = np.ascontiguousarray(volume.costs).reshape(-1, levels)
    # The message to the right neighbour and the one from it share their place.
    beside, below = (np.zeros((rows * columns + n, levels), np.float32) for n in (1, columns))
    messages: Messages = beside[:-1], beside[1:], below[:-columns], below[columns:]
    weights = (
        np.ascontiguousarray(smoothness.right).reshape(-1),
        np.ascontiguousarray(smoothness.down).reshape(-1),
    )
    passing = Passing(
        rows, columns, costs, messages, weights, prior_of(smoothness.rho), np.float32(0)
    )
    differences = differences_of(smoothness.rho)
    labels = np.empty((rows, columns), np.int16)
    best, lowest, bound = labels, np.inf, -np.inf
    trace = []

    for _ in counted(iterations, "iteration"):
        now = sequential(passing, trees=True)
        over_blocks(
            lambda *blocks: _decide(*blocks, passing, differences, labels),
            blocks_of(rows, columns),
            costs.size,
        )
        trace.append((working_time() - start, energy.of(labels), now))
        bound = max(bound, now)
        if trace[-1][1] < lowest:
            best, lowest = labels.copy(), trace[-1][1]
        if lowers_too_little([point[1] for point in trace], min_decrease):
            break
    # Rounding may lift the bound a little above the energy of the best labelling.
    return Labeling(best, volume.chosen(best), trace=tuple(trace), lower_bound=min(bound, lowest))


@kernel
def _decide(
    antidiagonal: int,
    start: int,
    stop: int,
    passing: Passing,
    differences: Values,
    labels: NDArray[np.int16],
) -> None:
    """Levels of the pixels of some blocks, whose left and upper neighbours have theirs."""
    rows, columns, costs, messages, (right, down), _, _ = passing
    levels = costs.shape[1]
    for block in range(start, stop):
        left = (antidiagonal - block) * BLOCK_COLUMNS
        for y in range(block * BLOCK_ROWS, min(block * BLOCK_ROWS + BLOCK_ROWS, rows)):
            for x in range(left, min(left + BLOCK_COLUMNS, columns)):
                pixel = y * columns + x
                p = np.uint64(pixel)
                one = right[np.uint64(pixel - 1)] if x > 0 else np.float32(0)
                other = down[np.uint64(pixel - columns)] if y > 0 else np.float32(0)
                beside = np.uint64(levels - 1 - (labels[y, x - 1] if x > 0 else 0))
                above = np.uint64(levels - 1 - (labels[y - 1, x] if y > 0 else 0))
                least, level = np.float32(np.inf), 0
                for n in range(levels):
                    k = np.uint64(n)
                    edges = one * differences[beside + k] + other * differences[above + k]
                    value = costs[p, k] + (messages[1][p, k] + messages[3][p, k]) + edges
                    if value < least:
                        least, level = value, n
                labels[y, x] = level
