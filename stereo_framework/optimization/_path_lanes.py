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

BYTES = 64
"""Of the levels that are computed at once: the widest registers there are."""

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
    highest = HIGHEST[costs.dtype]
    wide = np.int64 if costs.dtype == np.uint16 else np.float32
    before = paths[at : at + len(costs)].astype(wide)
    beyond = np.array([highest], wide)
    below, above = np.concatenate([beyond, before[:-1]]), np.concatenate([before[1:], beyond])
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
    return kind(costs, paths, types.int64, kind, penalties, types.int64, edges, types.int64, totals), _code(kind)


def _code(kind: Any) -> Callable[[Any, Any, Any, Any], Any]:
    """What generates the code of a step for lanes of a type."""
    whole = isinstance(kind, types.Integer)
    lanes = BYTES * 8 // kind.bitwidth
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
        before, here = cgutils.alloca_once_value(builder, highest), cgutils.alloca_once_value(builder, load(path))
        best = cgutils.alloca_once_value(builder, highest)

        def levels(start: Any, following: Any) -> None:
            """Some levels from `start` on; `following` are the path costs behind them."""
            past, present = builder.load(before), builder.load(here)
            below = shuffle(past, present, range(lanes - 1, 2 * lanes - 1))
            above = shuffle(present, following, range(1, lanes + 1))
            if marks is None:
                change, ceiling = small, jump
            else:
                mark = load(builder.gep(marks, [start]), ir.VectorType(ir.IntType(8), lanes))
                marked = builder.icmp_unsigned("!=", mark, ir.Constant(mark.type, [0] * lanes))
                change, ceiling = builder.select(marked, small_edge, small), builder.select(marked, jump_edge, jump)
            came = lower(lower(present, ceiling), add(lower(below, above), change))
            new = add(load(builder.gep(cost, [start])), subtract(came, least))
            store(new, builder.gep(path, [start]))
            store(add(load(builder.gep(total, [start])), new), builder.gep(total, [start]))
            builder.store(lower(builder.load(best), new), best)
            builder.store(present, before)
            builder.store(following, here)

        last = builder.sub(array(0).nitems, count(lanes))
        with cgutils.for_range_slice(builder, count(0), last, count(lanes)) as (start, _):
            levels(start, load(builder.gep(path, [builder.add(start, count(lanes))])))
        levels(last, highest)
        found, left = builder.load(best), lanes
        while left > 1:
            left //= 2
            found = lower(shuffle(found, found, range(left)), shuffle(found, found, range(left, 2 * left)))
        return builder.extract_element(found, word(0))

    return generate


step = _step_slowly if config.DISABLE_JIT else _step
