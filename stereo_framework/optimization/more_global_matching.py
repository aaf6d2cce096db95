"""More global matching: semi-global matching whose paths hear from two neighbours, which leaves no streaks."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import EXCLUDED_FLOAT, CostVolume, Labeling
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.optimization._winners import lowest_of
from stereo_framework.optimization.winner_take_all import winner_take_all
from stereo_framework.stages import NonNegative, Unit, stage

Values = NDArray[np.float32]


@stage(
    "optimization",
    source="Facciolo, de Franchis & Meinhardt 2015",
    memory=1,
    check_parameters=lambda p1, p2: f"p2 is {p2:g}, below p1, {p1:g}" if p2 < p1 else None,
)
def more_global_matching(
    volume: CostVolume,
    *,
    directions: Literal[4, 8] = 8,
    p1: Annotated[NonNegative, Unit("units of the matching cost")] = 20.0,
    p2: Annotated[NonNegative, Unit("units of the matching cost")] = 100.0,
) -> Labeling:
    """The level of lowest cost at each pixel, its costs summed over quarters of the image instead of over paths.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels).
    directions : int
        4: along rows and columns; 8: along diagonals too.
    p1 : float
        Penalty of a change by one level between neighbours, in units of the matching cost.
    p2 : float
        Penalty of any larger change, in units of the matching cost; not below `p1`.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), all assigned, and the costs of the given volume there. `volume` holds the sums, float32, which later stages see.

    Raises
    ------
    ParameterError
        A parameter out of its range, or `p2` below `p1`.

    Notes
    -----
    Facciolo et al. 2015: a path of `semi_global` hears from the pixel behind it alone, so that neighbouring paths know nothing of each other and leave streaks. Here a
    direction r hears from the pixel behind and from the one a quarter turn aside, x = r and x = r turned, half of each::

        L(p, d) = C(p, d) + sum over x of 1/2 (min(L(p-x, d), L(p-x, d-1) + p1, L(p-x, d+1) + p1, m + p2) - m),  m = min_k L(p-x, k)

    Where only one of both lies in the image it counts whole. The winner has the lowest sum of L over all directions; of equal sums the lowest level wins.
    Excluded cells and penalties are as in `semi_global`. At most two threads work.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange
    >>> costs = np.array([[[0, 9], [5, 4], [0, 9]]], np.float32)
    >>> more_global_matching(CostVolume(costs, SearchRange(0, 1), 9.0), p1=2, p2=2).levels.tolist()
    [[0, 0, 0]]
    """
    rows, columns, levels = volume.costs.shape
    costs = np.ascontiguousarray(volume.costs)
    if np.isnan(costs.min()):  # it would spread over the image
        costs = np.where(np.isnan(costs), EXCLUDED_FLOAT, costs)
    flat = costs.reshape(-1, levels)
    sums = np.zeros_like(flat)
    along_rows, along_columns = (rows, columns), (columns, rows)
    # The pixel to start from, and the pixels of a line and the lines, each with the step to the next: each a quarter turn on from the one before.
    turns = [
        (0, along_rows, columns, 1),
        (columns - 1, along_columns, -1, columns),
        (rows * columns - 1, along_rows, -columns, -1),
        ((rows - 1) * columns, along_columns, 1, -columns),
    ]
    for turn, back in ((0, 2), (1, 3)):
        lines, length = turns[turn][1]
        kept = np.full((2, directions // 4, 2, length, levels + 2), np.inf, np.float32)
        # While one comes from one end of the image the other comes from the other; they never meet.
        for halves in (
            ((0, lines // 2), (0, lines - lines // 2)),
            ((lines // 2, lines), (lines - lines // 2, lines)),
        ):

            def run(
                start: int,
                stop: int,
                both: tuple[int, int] = (turn, back),
                halves: Any = halves,
                kept: Values = kept,
            ) -> None:
                for i in range(start, stop):
                    first, _, across, along = turns[both[i]]
                    _walk(
                        flat,
                        sums,
                        first,
                        (across, along),
                        halves[i],
                        kept[i],
                        np.float32(p1),
                        np.float32(p2),
                    )

            over_rows(run, 2, costs.size)
    found = replace(
        volume, costs=sums.reshape(costs.shape), outside_cost=directions * volume.outside_cost
    )
    labels = winner_take_all(found).levels
    return Labeling(labels, volume.chosen(labels), found)


@kernel
def _walk(
    costs: Values,
    sums: Values,
    first: int,
    steps: tuple[int, int],
    lines: tuple[int, int],
    kept: Values,
    p1: float,
    p2: float,
) -> None:
    """Add the costs of the direction along the lines, and of the diagonal one, in some lines. `kept`: those of two lines less their minima, with an infinite
    level at either end.
    """
    length, levels = kept.shape[2], costs.shape[1]
    nothing = np.zeros(levels + 2, np.float32)
    from_one, from_other, heard = (
        np.empty(levels, np.float32),
        np.empty(levels, np.float32),
        np.empty(levels, np.float32),
    )
    for i in range(lines[0], lines[1]):
        for j in range(length):
            pixel = np.uint64(first + i * steps[0] + j * steps[1])
            cost, total = costs[pixel], sums[pixel]
            for diagonal in range(kept.shape[0]):
                own, before = kept[diagonal, i % 2], kept[diagonal, 1 - i % 2]
                has_one, has_other = j > 0, i > 0
                if diagonal:
                    has_one, has_other = i > 0 and j > 0, i > 0 and j < length - 1
                one = nothing
                if has_one:
                    one = before[j - 1] if diagonal else own[j - 1]
                other = one
                if has_other:
                    other = before[j + 1] if diagonal else before[j]
                    one = one if has_one else other
                # Loops that LLVM vectorizes: each writes one array.
                _hear(one, p1, p2, from_one)
                _hear(other, p1, p2, from_other)
                for n in range(levels):
                    k = np.uint64(n)
                    heard[k] = cost[k] + np.float32(0.5) * (from_one[k] + from_other[k])
                lowest, here = lowest_of(heard), own[j, 1:]
                for n in range(levels):
                    k = np.uint64(n)
                    total[k] += heard[k]
                for n in range(levels):
                    k = np.uint64(n)
                    here[k] = heard[k] - lowest


@kernel
def _hear(values: Values, p1: float, p2: float, heard: Values) -> None:
    """What a neighbour's levels cost here, the lowest of which costs nothing."""
    levels = heard.shape[0]
    lower, same, upper = values[:levels], values[1 : levels + 1], values[2:]
    for n in range(levels):
        k = np.uint64(n)
        beside = (lower[k] if lower[k] < upper[k] else upper[k]) + p1
        beside = p2 if p2 < beside else beside
        heard[k] = beside if beside < same[k] else same[k]
