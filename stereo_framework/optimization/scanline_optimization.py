"""Scanline optimization: every row by itself, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import Costs, CostVolume, Labeling, Levels, Smoothness
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.optimization._smoothness import no_smoothness, reach_of, required_smoothness
from stereo_framework.optimization._winners import HIGHEST, ordered
from stereo_framework.stages import stage


@stage(
    "optimization",
    source="Scharstein & Szeliski 2002, section 4.3",
    halo=lambda: 0,
    check_parameters=no_smoothness,
)
def scanline_optimization(volume: CostVolume, smoothness: Smoothness | None = None) -> Labeling:
    """Levels that minimize, row by row, data costs plus the smoothness term along the row.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels).
    smoothness : Smoothness
        What it costs that neighbours differ; the edges to the right are used.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), all assigned. `objective` is the minimum: data costs plus horizontal smoothness.

    Raises
    ------
    ParameterError
        There is no smoothness term, or one that does not fit the volume.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.3: no occlusions, no ordering constraint, no link between rows. Of equal paths the one of
    lowest level at the row's end wins and, from there backwards, the lowest previous level. Path costs are accumulated in float32.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange, Smoothness
    >>> volume = CostVolume(np.array([[[0, 9], [5, 4], [0, 9]]], np.float32), SearchRange(0, 1), 255.0)
    >>> flat = np.zeros((1, 3), np.float32)
    >>> changes = Smoothness(np.array([[2, 2, 0]], np.float32), flat, np.array([0, 1], np.float32))
    >>> scanline_optimization(volume, changes).levels.tolist()
    [[0, 0, 0]]
    """
    smoothness = required_smoothness(smoothness, "scanline_optimization")
    costs, weights, rho = volume.costs, smoothness.right, smoothness.rho
    rows = costs.shape[0]
    labels = np.empty(costs.shape[:2], np.int16)
    chosen = np.empty(costs.shape[:2], np.float32)
    totals = np.empty(rows, np.float64)
    highest, reach = rho.max(), reach_of(rho)

    def run(start: int, stop: int) -> None:
        found = labels[start:stop], chosen[start:stop], totals[start:stop]
        _kernel(costs[start:stop], weights[start:stop], rho, highest, reach, *found)

    over_rows(run, rows, costs.size * reach)
    return Labeling(labels, chosen, objective=float(totals.sum()))


@kernel
def _kernel(
    costs: Costs,
    weights: Costs,
    rho: Costs,
    highest: float,
    reach: int,
    labels: Levels,
    chosen: Costs,
    totals: NDArray[np.float64],
) -> None:
    """Viterbi's algorithm on every row."""
    rows, columns, levels = costs.shape
    # For the way back: the cost of the best path from the row's start to each (column, level), and of the best path to each
    # column with the highest penalty for what follows added.
    paths, jumps = np.empty((columns, levels), np.float32), np.empty(columns, np.float32)
    for y in range(rows):
        _forward(costs[y], weights[y], rho, highest, reach, paths, jumps)
        level = 0
        for k in range(1, levels):
            if paths[columns - 1, k] < paths[columns - 1, level]:
                level = k
        total = 0.0
        for x in range(columns - 1, -1, -1):
            labels[y, x] = level
            chosen[y, x] = costs[y, x, level]
            total += costs[y, x, level]
            # With one penalty for all changes, a path below the best one with a change can only go on at its level.
            if x > 0 and (reach > 1 or not paths[x - 1, level] < jumps[x - 1]):
                previous = _previous(paths, x - 1, level, weights[y, x - 1], rho)
                total += weights[y, x - 1] * rho[abs(previous - level)]
                level = previous
        totals[y] = total


@kernel
def _forward(
    costs: Costs, weights: Costs, rho: Costs, highest: float, reach: int, paths: Costs, jumps: Costs
) -> None:
    """Path costs for any rho: changes by fewer than `reach` levels one by one, of all others only the best."""
    columns, levels = costs.shape
    # Lines of their own, made where LLVM sees that nothing else lies there: reading back what was just stored into `paths` takes longer than writing twice.
    current, following = np.empty(levels, np.float32), np.zeros(levels, np.float32)
    for x in range(columns):
        at = np.uint64(x)
        # Minima run over the bits of the costs.
        least = HIGHEST
        for k in range(levels):
            path = following[k] + costs[at, k]
            current[k] = path
            paths[at, k] = path
            key = ordered(np.float32(path).view(np.int32))
            least = key if key < least else least
        weight = weights[at]
        jump = np.int32(ordered(least)).view(np.float32) + weight * highest
        jumps[at] = jump
        for k in range(levels):
            following[k] = current[k] if current[k] < jump else jump
        for d in range(1, reach):
            penalty, change = weight * rho[d], np.uint64(d)
            for k in range(levels - d):
                path = current[np.uint64(k) + change] + penalty
                following[k] = path if path < following[k] else following[k]
            for k in range(levels - d):
                i = np.uint64(k) + change
                path = current[k] + penalty
                following[i] = path if path < following[i] else following[i]


@kernel
def _previous(paths: Costs, x: int, level: int, weight: float, rho: Costs) -> int:
    """The lowest level of column x from which a best path to `level` of column x + 1 comes."""
    winner, best = 0, np.float32(np.inf)
    for j in range(paths.shape[1]):
        path = paths[x, j] + weight * rho[abs(j - level)]
        if path < best:
            winner, best = j, path
    return winner
