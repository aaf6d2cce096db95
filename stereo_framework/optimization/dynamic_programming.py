"""Dynamic programming along scan lines, with occlusions."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import Costs, CostVolume, Labeling, Levels, Smoothness
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.optimization._smoothness import required_smoothness
from stereo_framework.stages import NonNegative, ParameterError, Unit, stage

_REFUSED = ("linear", "truncated_linear", "truncated_quadratic")

LANES = 16
"""Rows worked on side by side: arrays hold one level of 16 rows, then the next level. The scan over the levels is sequential in every
row, so that a single row would wait for each addition in turn."""

# What was decided at a (column, level), in bits: the match in the next column comes from a rise, or from a drop; a run, or a drop, that
# goes on from here was one already.
_FROM_RISE, _FROM_DROP, _LONGER_RUN, _LONGER_DROP = 1, 2, 4, 8


class Steps(NamedTuple):
    """How paths go on.

    Parameters
    ----------
    occlusion_cost : float
        Of a rise or drop by one level, float32.
    denominator, stride : int
        Levels and columns of a run; one of them is 1.
    mirrored : bool
        The rows are walked from right to left.
    """

    occlusion_cost: np.float32
    denominator: int
    stride: int
    mirrored: bool


@stage(
    "optimization",
    source="Scharstein & Szeliski 2002, section 4.3; Bobick & Intille 1999",
    halo=lambda: 0,
    check_parameters=lambda smoothness: (
        f"cannot take the smoothness term {smoothness}; allowed: potts"
        if smoothness in _REFUSED
        else None
    ),
)
def dynamic_programming(
    volume: CostVolume,
    smoothness: Smoothness | None = None,
    *,
    occlusion_cost: Annotated[NonNegative, Unit("units of the matching cost")] = 20.0,
) -> Labeling:
    """The cheapest ordered matching of every row, in which pixels of either image may be occluded.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels).
    smoothness : Smoothness, optional
        A Potts model, of which the edges to the right are used.
    occlusion_cost : float
        Cost of an occluded pixel of either image, in units of the matching cost.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), -1 where the reference is occluded; the first and the last column are always matched. `objective` is
        the summed cost of the rows' paths: matching costs, occlusion costs and the weights of the edges at which a path returns from an
        occlusion to a match.

    Raises
    ------
    ParameterError
        The smoothness term grows with the difference of the disparities or does not fit the volume, or a parameter is out of its range.

    Notes
    -----
    Scharstein & Szeliski 2002, section 4.3: three states, after Bobick & Intille 1999.
    If the disparity rises by k pixels, k pixels of the reference image are occluded. If
    it falls by k pixels, k pixels of the match image are occluded. Each jump costs
    once, at any size, the weight of the edge on which matching resumes. Among paths of
    equal cost, the path with the lowest level in the row's last pixel wins. On the way
    back from there, a match is preferred to an occlusion of the reference image, and
    this occlusion to one of the match image. Path costs are accumulated in float32.

    Steps other than one pixel and a match frame on the left are exact too (the original test bed has the geometry of the other case only).
    A rise occludes as many pixels of the reference as it is wide, rounded down, so that with fractional steps a rise by less than a pixel
    occludes none, and the matched points of the match image are in order and distinct. All occlusions cost in proportion to their width.
    With the match frame on the left rows run from right to left.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange
    >>> costs = np.array([[[0, 9], [0, 9], [9, 9], [9, 0], [9, 0]]], np.float32)
    >>> result = dynamic_programming(CostVolume(costs, SearchRange(0, 1), 255.0), occlusion_cost=2)
    >>> result.levels.tolist(), result.objective
    ([[0, 0, -1, 1, 1]], 2.0)
    """
    costs, search = volume.costs, volume.search
    rows, columns = costs.shape[:2]
    if smoothness is None:
        weights = np.zeros((rows, columns), np.float32)
    else:
        smoothness = required_smoothness(smoothness, "dynamic_programming")
        rho = smoothness.rho
        if (rho[1:] != rho[1]).any():
            raise ParameterError(
                "dynamic_programming: a jump pays once, whatever its size, but the smoothness term grows with it; use smoothness: potts"
            )
        weights = smoothness.right * rho[1]
    labels = np.empty((rows, columns), np.int16)
    chosen = np.empty((rows, columns), np.float32)
    totals = np.empty(rows, np.float64)
    steps = Steps(
        np.float32(occlusion_cost * search.step),
        search.denominator,
        search.stride,
        search.direction < 0,
    )

    def run(start: int, stop: int) -> None:
        found = labels[start:stop], chosen[start:stop], totals[start:stop]
        occlusion_paths(costs[start:stop], weights[start:stop], steps, *found)

    over_rows(run, rows, costs.size)
    return Labeling(labels, chosen, objective=float(totals.sum()))


@kernel
def occlusion_paths(
    costs: Costs,
    weights: Costs,
    steps: Steps,
    labels: Levels,
    chosen: Costs,
    totals: NDArray[np.float64],
) -> None:
    """The cheapest path of every row, from a match in its first to a match in its last column.

    States at (column, level): *match*; *run*: the path has just risen by `denominator` levels, a whole number of pixels, in which the
    reference is occluded for `stride` columns, this one the last; *drop*: it has just fallen by a level, in which a part of the match image is
    occluded. A match follows a match at its level, a run, or a drop, in the column before; a run follows a match or a run `stride` columns
    before; a drop follows a match or drop in the same column. With fractional levels a match may stand up to denominator - 1 levels higher
    than the match or run that it follows: rises by less than a pixel occlude none.

    Parameters
    ----------
    costs : ndarray, float32, (rows, columns, levels)
        Of a match.
    weights : ndarray, float32, (rows, columns)
        Cost of a rise or drop by the edge to the right on which it ends.
    steps : Steps
    labels, chosen : ndarray, int16 and float32, (rows, columns)
        Get the levels of the matches, -1 where the reference is occluded, and their costs, there 0.
    totals : ndarray, float64, (rows,)
        Gets the costs of the paths.
    """
    rows, columns, levels = costs.shape
    decisions = np.empty((columns, levels, LANES), np.uint8)
    # By how many levels more than a run a rise went.
    slides = np.empty((columns if steps.denominator > 1 else 0, levels, LANES), np.int16)
    ends = np.empty((levels, LANES), np.float32)
    for y in range(0, rows, LANES):
        _forward(costs, weights, y, steps, decisions, slides, ends)
        for lane in range(min(LANES, rows - y)):
            best = levels - 1
            for i in range(levels - 1, -1, -1):
                best = i if ends[i, lane] < ends[best, lane] else best
            way = decisions[:, :, lane], slides[:, :, lane], levels - 1 - best
            at = y + lane
            totals[at] = _backward(costs[at], weights[at], *way, steps, labels[at], chosen[at])


@kernel
def _forward(
    costs: Costs,
    weights: Costs,
    y: int,
    steps: Steps,
    decisions: NDArray[np.uint8],
    slides: Levels,
    ends: Costs,
) -> None:
    """Decide at every (column, level) of `LANES` rows from `y` on; `ends` gets the costs of paths to the last column's matches.

    All lines hold the highest level first, so that element i - LANES is the same row one level higher.
    """
    occlusion_cost, denominator, stride, mirrored = steps
    columns, levels = costs.shape[1:]
    size, reach = levels * LANES, denominator * LANES
    infinite, run_cost = np.float32(np.inf), np.float32(denominator) * occlusion_cost
    data, weight = np.empty(size, np.float32), np.empty(size, np.float32)
    match, following = np.empty(size, np.float32), np.empty(size, np.float32)
    drop, risen = np.empty(size, np.float32), np.empty(size, np.float32)
    # By their last column, modulo stride + 1. Before each lie levels above the highest, for what would rise beyond it.
    runs = np.full((stride + 1, size + reach), infinite)
    beside = _side_by_side(weights, y)
    for column in range(columns):
        at = columns - 1 - column if mirrored else column
        _gather_costs(costs, y, at, data)
        if column == 0:
            match, data = data, match
        else:
            for i in range(size):
                weight[i] = beside[at if mirrored else at - 1, i % LANES]
            run, longer = (
                runs[(column - 1) % (stride + 1), reach:],
                runs[(column - 1 + stride) % (stride + 1), :size],
            )
            decision = decisions[column - 1].reshape(-1)
            if denominator > 1:
                _slide(
                    match, run, occlusion_cost, denominator, risen, slides[column - 1].reshape(-1)
                )
            arrived = risen if denominator > 1 else run
            for i in range(size):
                m, a, r = match[i], run[i], drop[i]
                from_rise, from_drop = arrived[i] + weight[i], r + weight[i]
                by_rise = from_rise < m
                best = from_rise if by_rise else m
                by_drop = from_drop < best
                following[i] = (from_drop if by_drop else best) + data[i]
                longer[i] = (a if a < m else m) + run_cost
                decision[i] = (
                    np.uint8(by_rise) * np.uint8(_FROM_RISE)
                    | np.uint8(by_drop) * np.uint8(_FROM_DROP)
                    | np.uint8(a < m) * np.uint8(_LONGER_RUN)
                    | np.uint8(r < m) * np.uint8(_LONGER_DROP)
                )
            match, following = following, match
        drop[:LANES] = infinite
        for i in range(LANES, size):
            m, r = match[i - LANES], drop[i - LANES]
            drop[i] = (r if r < m else m) + occlusion_cost
    # Not by a slice, here and above: for the message about shapes that differ numba would compile half as much again.
    for i in range(size):
        ends[i // LANES, i % LANES] = match[i]


@kernel
def _slide(
    match: Costs, run: Costs, occlusion_cost: float, denominator: int, risen: Costs, slide: Levels
) -> None:
    """Runs, and rises of up to denominator - 1 levels more, from matches or runs; `slide` gets how many more."""
    for i in range(run.shape[0]):
        risen[i], slide[i] = run[i], 0
    for n in range(1, denominator):
        cost = np.float32(n) * occlusion_cost
        for i in range(run.shape[0] - n * LANES):
            m, a = match[i + n * LANES], run[i + n * LANES]
            rise = (a if a < m else m) + cost
            slide[i] = n if rise < risen[i] else slide[i]
            risen[i] = rise if rise < risen[i] else risen[i]


@kernel
def _gather_costs(costs: Costs, y: int, column: int, data: Costs) -> None:
    """Costs of one column, side by side for `LANES` rows; the last row repeats below the image."""
    rows, _, levels = costs.shape
    at = np.uint64(column)
    for lane in range(LANES):
        row = np.uint64(min(y + lane, rows - 1))
        for k in range(levels):
            data[np.uint64((levels - 1 - k) * LANES + lane)] = costs[row, at, k]


@kernel
def _side_by_side(weights: Costs, y: int) -> Costs:
    """Weights of `LANES` rows as (columns, LANES); the last row repeats below the image."""
    rows, columns = weights.shape
    beside = np.empty((columns, LANES), np.float32)
    for lane in range(LANES):
        row = weights[min(y + lane, rows - 1)]
        for x in range(columns):
            beside[x, lane] = row[x]
    return beside


@kernel
def _backward(
    costs: Costs,
    weights: Costs,
    decisions: NDArray[np.uint8],
    slides: Levels,
    level: int,
    steps: Steps,
    labels: Levels,
    chosen: Costs,
) -> float:
    """Follow one row's decisions from the match at `level` in its last column back to its start; the cost of the path."""
    occlusion_cost, denominator, stride, mirrored = steps
    columns, levels = costs.shape
    labels[:] = -1
    chosen[:] = 0
    total, changes = 0.0, 0
    column = columns - 1
    while True:
        at = columns - 1 - column if mirrored else column
        labels[at] = level
        chosen[at] = costs[at, level]
        total += costs[at, level]
        if column == 0:
            return total + changes * np.float64(occlusion_cost)
        column -= 1
        decision = decisions[column, levels - 1 - level]
        if decision & (_FROM_RISE | _FROM_DROP):
            total += weights[at if mirrored else at - 1]
        if decision & _FROM_DROP:
            longer = True
            while longer:
                level += 1
                changes += 1
                longer = decisions[column, levels - 1 - level] & _LONGER_DROP != 0
        elif decision & _FROM_RISE:
            slide = slides[column, levels - 1 - level] if denominator > 1 else 0
            level -= slide
            changes += slide
            longer = slide == 0 or decisions[column, levels - 1 - level] & _LONGER_RUN != 0
            while longer:
                level -= denominator
                changes += denominator
                column -= stride
                longer = decisions[column, levels - 1 - level] & _LONGER_RUN != 0
