"""One step of a path of semi-global matching, for all levels of a pixel, in vector registers.

Numba widens arithmetic on small integers to 64 bits, so that a register would hold eight levels instead of 32. Here the lanes stay as narrow as the
arrays: uint16, whose additions stop at 65535, or float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from stereo_framework.kernels.blocks import SMALLEST

BYTES = 64
"""Of the levels that are computed at once: the widest registers there are."""

LANES = SMALLEST
"""Of the levels of blocks that are computed at once."""

HIGHEST = {np.dtype(np.uint16): 65535, np.dtype(np.float32): np.inf}
"""What stands where there is no level."""


def _step_slowly(
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
    This body runs where the JIT is off.
    """
    before, highest = paths[at : at + len(costs)], np.array([HIGHEST[costs.dtype]], costs.dtype)
    below, above = np.concatenate([highest, before[:-1]]), np.concatenate([before[1:], highest])
    return _onwards((below, before, above), costs, paths, at, least, penalties, row, edges, edge, totals)


def _step_blocks_slowly(
    costs: NDArray,
    paths: NDArray,
    at: int,
    least: Any,
    penalties: NDArray,
    row: int,
    edges: NDArray[np.uint8] | None,
    edge: int,
    totals: NDArray,
    line: NDArray,
    firsts: NDArray[np.int16],
    source: int,
    before: int,
    before_stop: int,
    block: int,
    block_stop: int,
) -> Any:
    """The same of volumes of blocks: those from `block` to `block_stop` - 1 of the pixel, those from `before` to `before_stop` - 1 of the previous one.

    A block has `LANES` levels from that in `firsts` on. Path costs, from `source` and from `at` on, stand block after block, as do `costs` and `totals`.
    `line` has room for all levels with `LANES` more at either end, and holds what `HIGHEST` says, before and after. This body runs where the JIT is off.
    """
    size = LANES
    for i in range(before, before_stop):
        place = LANES + int(firsts[i])
        line[place : place + size] = paths[source + (i - before) * size :][:size]
    found = [HIGHEST[costs.dtype]]
    for i in range(block, block_stop):
        here, level = slice((i - block) * size, (i - block + 1) * size), int(firsts[i])
        around = [line[LANES + level + j : LANES + level + j + size] for j in (-1, 0, 1)]
        place = at + here.start
        found.append(_onwards(around, costs[here], paths, place, least, penalties, row, edges, edge + level, totals[here]))
    line[:] = HIGHEST[costs.dtype]
    return min(found)


def _onwards(
    around: Sequence[NDArray],
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
    """What both have in common, from the previous pixel's path costs one level below, at the same and one above."""
    highest = HIGHEST[costs.dtype]
    wide = np.int64 if costs.dtype == np.uint16 else np.float32
    below, before, above = (level.astype(wide) for level in around)
    marked = np.zeros(len(costs), bool) if edges is None else edges[edge : edge + len(costs)] != 0
    small, large = (np.where(marked, penalties[row, i + 2], penalties[row, i]).astype(wide) for i in (0, 1))
    best = np.minimum(np.minimum(before, np.minimum(below, above) + small), wide(least) + large)
    path = np.minimum(costs + (np.minimum(best, highest) - wide(least)), highest)
    paths[at : at + len(costs)] = path
    totals[:] = np.minimum(totals + path, highest)
    return costs.dtype.type(path.min())


@intrinsic
def _step(
    context: Any, costs: Any, paths: Any, at: Any, least: Any, penalties: Any, row: Any, edges: Any, edge: Any, totals: Any
) -> Any:
    kind = costs.dtype
    return kind(costs, paths, types.int64, kind, penalties, types.int64, edges, types.int64, totals), _code(kind, blocks=False)


@intrinsic
def _step_blocks(
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
    line: Any,
    firsts: Any,
    source: Any,
    before: Any,
    before_stop: Any,
    block: Any,
    block_stop: Any,
) -> Any:
    kind, number = costs.dtype, types.int64
    taken = (costs, paths, number, kind, penalties, number, edges, number, totals, line, firsts, *[number] * 5)
    return kind(*taken), _code(kind, blocks=True)


def _code(kind: Any, *, blocks: bool) -> Callable[[Any, Any, Any, Any], Any]:
    """What generates the code of a step for lanes of a type."""
    whole = isinstance(kind, types.Integer)
    lanes = LANES if blocks else BYTES * 8 // kind.bitwidth
    word, count = ir.IntType(32), ir.IntType(64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lane = context.get_value_type(kind)
        vector = ir.VectorType(lane, lanes)
        highest = ir.Constant(vector, [65535 if whole else float("inf")] * lanes)

        def array(argument: int) -> Any:
            return make_array(signature.args[argument])(context, builder, arguments[argument])

        def load(address: Any, vector: Any = vector) -> Any:
            return builder.load(builder.bitcast(address, vector.as_pointer()), align=1)

        def store(value: Any, address: Any) -> None:
            builder.store(value, builder.bitcast(address, vector.as_pointer()), align=1)

        def shuffle(a: Any, b: Any, picked: Sequence[int]) -> Any:
            return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(word, len(picked)), list(picked)))

        def spread(value: Any) -> Any:
            first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, word(0))
            return shuffle(first, first, [0] * lanes)

        def call(name: str, result: Any, *arguments: Any) -> Any:
            # llvmlite cannot name the intrinsics of vectors by itself.
            kind = ir.FunctionType(result, [argument.type for argument in arguments])
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)

        def add(a: Any, b: Any) -> Any:
            return call(f"llvm.uadd.sat.v{lanes}i16", vector, a, b) if whole else builder.fadd(a, b)

        def lower(a: Any, b: Any) -> Any:
            less = builder.icmp_unsigned("<", a, b) if whole else builder.fcmp_ordered("<", a, b)
            return builder.select(less, a, b)

        subtract = builder.sub if whole else builder.fsub
        cost, path, total = array(0).data, builder.gep(array(1).data, [arguments[2]]), array(8).data
        least = spread(arguments[3])
        prices = builder.gep(array(4).data, [builder.mul(arguments[5], count(4))])
        small, large, small_edge, large_edge = (spread(builder.load(builder.gep(prices, [count(i)]))) for i in range(4))
        jump, jump_edge = add(least, large), add(least, large_edge)
        marks = None if signature.args[6] == types.none else builder.gep(array(6).data, [arguments[7]])
        # What other loops leave in registers: the levels before the present ones, these, and the lowest costs so far.
        before = here = None
        if not blocks:
            before, here = cgutils.alloca_once_value(builder, highest), cgutils.alloca_once_value(builder, load(path))
        best = cgutils.alloca_once_value(builder, highest)

        def levels(start: Any, level: Any, following: Any) -> None:
            """Some levels from `level` on, whose costs stand from `start` on; `following` are the path costs behind them."""
            if blocks:
                # Loads of just what was stored are fast, those that reach over two stores are not.
                past, present, following = (load(builder.gep(line, [builder.add(level, count(i * lanes))])) for i in (-1, 0, 1))
            else:
                past, present = builder.load(before), builder.load(here)
            below = shuffle(past, present, range(lanes - 1, 2 * lanes - 1))
            above = shuffle(present, following, range(1, lanes + 1))
            if marks is None:
                change, ceiling = small, jump
            else:
                mark = load(builder.gep(marks, [level]), ir.VectorType(ir.IntType(8), lanes))
                marked = builder.icmp_unsigned("!=", mark, ir.Constant(mark.type, [0] * lanes))
                change, ceiling = builder.select(marked, small_edge, small), builder.select(marked, jump_edge, jump)
            came = lower(lower(present, ceiling), add(lower(below, above), change))
            new = add(load(builder.gep(cost, [start])), subtract(came, least))
            store(new, builder.gep(path, [start]))
            store(add(load(builder.gep(total, [start])), new), builder.gep(total, [start]))
            builder.store(lower(builder.load(best), new), best)
            if not blocks:
                builder.store(present, before)
                builder.store(following, here)

        if blocks:
            source, earlier, earlier_stop, block, block_stop = arguments[11:]
            line = builder.gep(array(9).data, [count(lanes)])

            def each(first: Any, stop: Any, act: Callable[[Any, Any], None]) -> None:
                """Act on some blocks: where their levels stand block after block, and their first levels."""
                with cgutils.for_range_slice(builder, first, stop, count(1)) as (one, _):
                    level = builder.sext(builder.load(builder.gep(array(10).data, [one])), count)
                    act(builder.mul(builder.sub(one, first), count(lanes)), level)

            came_from = builder.gep(array(1).data, [source])
            each(
                earlier,
                earlier_stop,
                lambda start, level: store(load(builder.gep(came_from, [start])), builder.gep(line, [level])),
            )
            each(block, block_stop, lambda start, level: levels(start, level, None))
            each(earlier, earlier_stop, lambda start, level: store(highest, builder.gep(line, [level])))
        else:
            last = builder.sub(array(0).nitems, count(lanes))
            with cgutils.for_range_slice(builder, count(0), last, count(lanes)) as (start, _):
                levels(start, start, load(builder.gep(path, [builder.add(start, count(lanes))])))
            levels(last, last, highest)
        found, left = builder.load(best), lanes
        while left > 1:
            left //= 2
            found = lower(shuffle(found, found, range(left)), shuffle(found, found, range(left, 2 * left)))
        return builder.extract_element(found, word(0))

    return generate


step_blocks = _step_blocks_slowly if config.DISABLE_JIT else _step_blocks
step = _step_slowly if config.DISABLE_JIT else _step
