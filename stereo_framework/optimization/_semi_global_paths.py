"""The paths of semi-global matching: one pass down the image for half of their directions, one up for the others."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import SearchRange
from stereo_framework.core.volume import EXCLUDED, EXCLUDED_FLOAT
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.internals import (
    INT64,
    VectorBuilder,
    cgutils,
    choose_intrinsic,
    intrinsic,
    ir,
    types,
)
from stereo_framework.kernels.threads import over_rows
from stereo_framework.optimization._semi_global_penalties import STEPS, Penalties, edge_lines
from stereo_framework.optimization._winners import Searched, row_winners, searched
from stereo_framework.stages import kernel_array

Marks = NDArray[np.uint8]


class Prices(NamedTuple):
    """What a change of level costs: the class of each step, the prices of the classes, and where the edges of the match image stand for each column."""

    classes: NDArray[np.uint8]
    prices: NDArray
    starts: NDArray[np.int64]


class Course(NamedTuple):
    """The rows of a pass, counted from where it starts; whether it adds to what the other pass has left, and whether cells may be closed.

    Only the steps from `first_step` to `last_step` - 1 are walked.
    """

    upwards: bool
    first: int
    last: int
    adds: bool
    closes: bool
    first_step: int
    last_step: int


class Scratch(NamedTuple):
    """Path costs of the row that a pass did last, their minima, and a pixel's costs and sums."""

    paths: NDArray
    least: NDArray
    line: NDArray
    total: NDArray


class Found(NamedTuple):
    """Sums of all paths, the levels where they are lowest, and the costs there."""

    sums: NDArray
    labels: NDArray[np.int16]
    chosen: NDArray[np.float32]


BYTES = 64
"""Of the levels that are computed at once: the widest registers there are."""

HIGHEST = {np.dtype(np.uint16): 65535, np.dtype(np.float32): np.inf}
"""What stands where there is no level."""


class AnyCosts(NamedTuple):
    """The same array by type; those of the two other types are empty."""

    bytes: NDArray[np.uint8]
    words: NDArray[np.uint16]
    floats: NDArray[np.float32]


def path_sums(
    costs: NDArray, search: SearchRange, penalties: Penalties, kind: type
) -> tuple[NDArray, NDArray[np.int16], NDArray[np.float32]]:
    """The sum of the paths from all directions for each cell, the levels where it is lowest, and the costs there.

    Parameters
    ----------
    costs : ndarray, float32, uint16 or uint8, (rows, columns, levels)
    search : SearchRange
    penalties : Penalties
    kind : type
        Of the sums: float32, or uint16 where neither costs nor prices have fractions and no sum of open cells reaches `EXCLUDED`.
    """
    rows, columns, levels = costs.shape
    lanes = BYTES // np.dtype(kind).itemsize
    padded = -(-levels // lanes) * lanes
    sums: NDArray = np.empty(costs.shape, kind)
    found = Found(sums, np.empty((rows, columns), np.int16), np.empty((rows, columns), np.float32))
    prices: NDArray = penalties.prices.astype(kind)
    steps = len(penalties.classes)
    closes = costs.dtype == np.uint16 and kind is np.float32
    edges: Any = None
    starts = np.zeros(columns, np.int64)
    if penalties.match_edges is not None:
        edges, starts = edge_lines(penalties.match_edges, search, padded)
    scratch = [_scratch(steps, columns, padded, kind) for _ in range(2)]
    own, read = Prices(penalties.classes, prices, starts), any_costs(costs)

    # Pass 0, down the image, and pass 1, up, run side by side: each first does the half of the rows that it starts at, and then adds to the other half what the
    # other pass left there.
    bounds = [0, rows // 2, rows], [0, rows - rows // 2, rows]
    for adds in (False, True):

        def run(start: int, stop: int, adds: bool = adds) -> None:
            for i in range(start, stop):
                rows_of_pass = bounds[i][adds], bounds[i][adds + 1]
                course = Course(i == 1, *rows_of_pass, adds, closes, 0, steps)
                marks = None if edges is None else edges[i].reshape(-1)
                _pass(read, levels, own, marks, course, scratch[i], found, searched(sums))

        over_rows(run, 2, costs.size)
    return sums, found.labels, found.chosen


def path_costs_along(
    costs: NDArray, search: SearchRange, penalties: Penalties, step: int, *, upwards: bool
) -> NDArray[np.float32]:
    """Compute the costs of the paths from one direction for each cell.

    `path_sums` adds the same numbers.

    Parameters
    ----------
    costs : ndarray, float32, uint16 or uint8, (rows, columns, levels)
        Matching costs in C order, without NaN.
    search : SearchRange
    penalties : Penalties
        Prices of the steps ``STEPS[: step + 1]``, or of more steps.
    step : int
        Index of the direction in `STEPS`.
    upwards : bool
        Whether the paths walk by the opposite of the step.

    Returns
    -------
    ndarray, float32, (rows, columns, levels)
        Path costs; excluded cells have at least the cost `EXCLUDED_FLOAT`.
    """
    kind = np.float32
    rows, columns, levels = costs.shape
    lanes = BYTES // np.dtype(kind).itemsize
    padded = -(-levels // lanes) * lanes
    steps = len(penalties.classes)
    marks: Any = None
    starts = np.zeros(columns, np.int64)
    if penalties.match_edges is not None:
        lines, starts = edge_lines(penalties.match_edges, search, padded)
        marks = lines[int(upwards)].reshape(-1)

    prices = Prices(penalties.classes, penalties.prices.astype(kind), starts)
    sums: NDArray = np.empty(costs.shape, kind)
    # A pass that adds to no other pass searches no winners.
    labels = np.empty((rows, columns), np.int16)
    chosen = np.empty((rows, columns), np.float32)
    results = Found(sums, labels, chosen)
    closes = costs.dtype == np.uint16
    course = Course(upwards, 0, rows, False, closes, step, step + 1)
    scratch = _scratch(steps, columns, padded, kind)
    _pass(any_costs(costs), levels, prices, marks, course, scratch, results, searched(sums))
    return sums


def _scratch(steps: int, columns: int, padded: int, kind: type) -> Scratch:
    """Allocate the path costs of one row, so that no pass needs a second volume."""
    return Scratch(
        paths=np.zeros((steps, columns * padded), kind),
        least=np.zeros((steps, columns), kind),
        line=np.full(padded, HIGHEST[np.dtype(kind)], kind),
        total=np.empty(padded, kind),
    )


_DOWN, _RIGHT = (np.array(amounts) for amounts in zip(*STEPS, strict=True))


@kernel
def _pass(
    costs: AnyCosts,
    levels: int,
    own: Prices,
    edges: Marks | None,
    course: Course,
    scratch: Scratch,
    found: Found,
    form: Searched,
) -> None:
    """Go on with the paths of one pass; where it adds, sums are complete then. `form`: the sums, as winners are searched in them."""
    # What may be None stands alone: the compiler leaves out what does not run then.
    classes, prices, starts = own
    upwards, first, last, adds, closes, first_step, last_step = course
    paths, least, line, total = scratch
    sums, labels, chosen = found
    (rows, columns), (whole, wide, fractions) = labels.shape, costs
    padded, steps, length = line.shape[0], classes.shape[0], 0
    if edges is not None:
        length = edges.shape[0] // (steps * rows)
    flat, first_places = paths.reshape(-1), np.zeros(steps, np.int64)
    bytes_, words, floats, all_sums = (
        whole.reshape(-1),
        wide.reshape(-1),
        fractions.reshape(-1),
        sums.reshape(-1),
    )
    for i in range(first, last):
        y = rows - 1 - i if upwards else i
        for s in range(max(first_step, 1), last_step):
            # Paths keep their place in the line from row to row, so that a step overwrites what it starts from.
            first_places[s] = -_RIGHT[s] * i % columns
        for j in range(columns):
            x = columns - 1 - j if upwards else j
            # Slices cost more than the arithmetic of a pixel, and unsigned indices need no wraparound check.
            cell = np.uint64((y * columns + x) * levels)
            if bytes_.size > 0:
                for k in range(levels):
                    line[k] = bytes_[cell + np.uint64(k)]
            elif closes:
                for k in range(levels):
                    cost = words[cell + np.uint64(k)]
                    line[k] = EXCLUDED_FLOAT if cost == EXCLUDED else cost
            elif words.size > 0:
                for k in range(levels):
                    line[k] = words[cell + np.uint64(k)]
            else:
                for k in range(levels):
                    line[k] = floats[cell + np.uint64(k)]
            if adds:
                for k in range(levels):
                    total[k] = all_sums[cell + np.uint64(k)]
            else:
                total[:] = 0
            for s in range(first_step, last_step):
                place = 0 if s == 0 else first_places[s] + j
                place = place - columns if place >= columns else place
                if upwards:
                    row = classes[s, y + _DOWN[s], x + _RIGHT[s] + 1]
                else:
                    row = classes[s, y, x + 1]
                at, edge = (s * columns + place) * padded, (s * rows + y) * length + starts[x]
                least[s, place] = step(
                    line, flat, at, least[s, place], prices, row, edges, edge, total
                )
            for k in range(levels):
                all_sums[cell + np.uint64(k)] = total[k]
        if adds:
            row_winners(form[0], form[1], y, labels[y])
            for x in range(columns):
                cell = np.uint64((y * columns + x) * levels) + np.uint64(labels[y, x])
                chosen[y, x] = (
                    bytes_[cell]
                    if bytes_.size > 0
                    else words[cell]
                    if words.size > 0
                    else floats[cell]
                )


# Numba widens arithmetic on small integers to 64 bits, so that a register would hold eight levels instead of 32. In a step of a path, for all levels of a pixel,
# the lanes stay as narrow as the arrays: uint16, whose additions stop at 65535, or float32.


@kernel
def step_in_a_loop(
    costs: NDArray,
    paths: NDArray,
    at: int,
    least: Any,
    penalties: NDArray,
    row: int,
    edges: NDArray[np.uint8] | None,
    edge: int,
    totals: NDArray,
) -> Any:
    """Go on from a path's previous pixel to the next, and return the new path's lowest cost; nothing checks the bounds.

    The path costs ``paths[at : at + len(costs)]``, whose lowest is `least`, are replaced by those of the pixel with `costs` and added to `totals`.
    The lengths are multiples of `BYTES`; `costs` holds what `HIGHEST` says where the pixel has no more levels. Row `row` of `penalties` holds the
    penalties of a change by one level and by more, and both again for those levels whose ``edges[edge : edge + len(costs)]`` is not 0.
    """
    # Sums of a few uint16 are exact in float32.
    highest = np.float32(65535 if costs.itemsize == 2 else np.inf)
    floor, below, lowest = np.float32(least), highest, highest
    for k in range(len(costs)):
        change = 0
        if edges is not None:
            change = 2 if edges[edge + k] != 0 else 0
        here = np.float32(paths[at + k])
        above = np.float32(paths[at + k + 1]) if k + 1 < len(costs) else highest
        small, large = np.float32(penalties[row, change]), np.float32(penalties[row, change + 1])
        came = min(here, min(below, above) + small, floor + large)
        new = min(np.float32(costs[k]) + (came - floor), highest)
        paths[at + k], totals[k] = new, min(np.float32(totals[k]) + new, highest)
        below, lowest = here, min(lowest, new)
    return costs.dtype.type(lowest)


@intrinsic
def _step(
    context: Any,
    costs: Any,
    paths: Any,
    at: Any,
    least: Any,
    penalties: Any,
    row: Any,
    edges: Any,
    edge: Any,
    totals: Any,
) -> Any:
    kind = costs.dtype
    return kind(
        costs, paths, types.int64, kind, penalties, types.int64, edges, types.int64, totals
    ), _code(kind)


def _code(kind: Any) -> Callable[[Any, Any, Any, Any], Any]:
    """What generates the code of a step for lanes of a type."""
    whole = isinstance(kind, types.Integer)
    lanes = BYTES * 8 // kind.bitwidth

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = VectorBuilder(
            context, builder, signature, arguments, context.get_value_type(kind), lanes, alignment=1
        )
        highest = v.constant(65535 if whole else float("inf"))

        def add(a: Any, b: Any) -> Any:
            return (
                v.call_intrinsic(f"llvm.uadd.sat.v{lanes}i16", a, b)
                if whole
                else builder.fadd(a, b)
            )

        subtract = builder.sub if whole else builder.fsub
        cost, path, total = v.address(0), v.address(1, arguments[2]), v.address(8)
        least = v.broadcast(arguments[3])
        prices = v.address(4, builder.mul(arguments[5], INT64(4)))
        small, large, small_edge, large_edge = (
            v.broadcast(builder.load(builder.gep(prices, [INT64(i)]))) for i in range(4)
        )
        jump, jump_edge = add(least, large), add(least, large_edge)
        marks = None if signature.args[6] == types.none else v.address(6, arguments[7])
        # What other loops leave in registers: the levels before the present ones, these, and the lowest costs so far.
        before, here = (
            cgutils.alloca_once_value(builder, highest),
            cgutils.alloca_once_value(builder, v.load(path)),
        )
        best = cgutils.alloca_once_value(builder, highest)

        def levels(start: Any, following: Any) -> None:
            """Some levels from `start` on; `following` are the path costs behind them."""
            past, present = builder.load(before), builder.load(here)
            below = v.shuffle(past, present, range(lanes - 1, 2 * lanes - 1))
            above = v.shuffle(present, following, range(1, lanes + 1))
            if marks is None:
                change, ceiling = small, jump
            else:
                mark = v.load(builder.gep(marks, [start]), ir.VectorType(ir.IntType(8), lanes))
                marked = builder.icmp_unsigned("!=", mark, ir.Constant(mark.type, [0] * lanes))
                change, ceiling = (
                    builder.select(marked, small_edge, small),
                    builder.select(marked, jump_edge, jump),
                )
            came = v.minimum(v.minimum(present, ceiling), add(v.minimum(below, above), change))
            new = add(v.load(builder.gep(cost, [start])), subtract(came, least))
            v.store(new, builder.gep(path, [start]))
            v.store(add(v.load(builder.gep(total, [start])), new), builder.gep(total, [start]))
            builder.store(v.minimum(builder.load(best), new), best)
            builder.store(present, before)
            builder.store(following, here)

        last = builder.sub(v.array(0).nitems, INT64(lanes))
        with cgutils.for_range_slice(builder, INT64(0), last, INT64(lanes)) as (start, _):
            levels(start, v.load(builder.gep(path, [builder.add(start, INT64(lanes))])))
        levels(last, highest)
        return v.lane_minimum(builder.load(best))

    return generate


step = choose_intrinsic(_step, step_in_a_loop)


def any_costs(costs: NDArray) -> AnyCosts:
    """Costs uint8, uint16 or float32 as `AnyCosts`, all read-only, for which one kernel is compiled."""
    none = (np.empty((0,) * costs.ndim, kind) for kind in (np.uint8, np.uint16, np.float32))
    return AnyCosts(
        *(kernel_array(costs if costs.dtype == array.dtype else array) for array in none)
    )
