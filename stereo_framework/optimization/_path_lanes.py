"""One step of a path of semi-global matching, for all levels of a pixel, in vector registers.

Numba widens arithmetic on small integers to 64 bits, so that a register would hold eight levels instead of 32. Here the lanes stay as narrow as the
arrays: uint16, whose additions stop at 65535, or float32.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.internals import COUNT, Vectors, cgutils, generated, intrinsic, ir, types

BYTES = 64
"""Of the levels that are computed at once: the widest registers there are."""

HIGHEST = {np.dtype(np.uint16): 65535, np.dtype(np.float32): np.inf}
"""What stands where there is no level."""


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
    context: Any, costs: Any, paths: Any, at: Any, least: Any, penalties: Any, row: Any, edges: Any, edge: Any, totals: Any
) -> Any:
    kind = costs.dtype
    return kind(costs, paths, types.int64, kind, penalties, types.int64, edges, types.int64, totals), _code(kind)


def _code(kind: Any) -> Callable[[Any, Any, Any, Any], Any]:
    """What generates the code of a step for lanes of a type."""
    whole = isinstance(kind, types.Integer)
    lanes = BYTES * 8 // kind.bitwidth

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = Vectors(context, builder, signature, arguments, context.get_value_type(kind), lanes, align=1)
        highest = v.constant(65535 if whole else float("inf"))

        def add(a: Any, b: Any) -> Any:
            return v.call(f"llvm.uadd.sat.v{lanes}i16", a, b) if whole else builder.fadd(a, b)

        subtract = builder.sub if whole else builder.fsub
        cost, path, total = v.at(0), v.at(1, arguments[2]), v.at(8)
        least = v.spread(arguments[3])
        prices = v.at(4, builder.mul(arguments[5], COUNT(4)))
        small, large, small_edge, large_edge = (v.spread(builder.load(builder.gep(prices, [COUNT(i)]))) for i in range(4))
        jump, jump_edge = add(least, large), add(least, large_edge)
        marks = None if signature.args[6] == types.none else v.at(6, arguments[7])
        # What other loops leave in registers: the levels before the present ones, these, and the lowest costs so far.
        before, here = cgutils.alloca_once_value(builder, highest), cgutils.alloca_once_value(builder, v.load(path))
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
                change, ceiling = builder.select(marked, small_edge, small), builder.select(marked, jump_edge, jump)
            came = v.lower(v.lower(present, ceiling), add(v.lower(below, above), change))
            new = add(v.load(builder.gep(cost, [start])), subtract(came, least))
            v.store(new, builder.gep(path, [start]))
            v.store(add(v.load(builder.gep(total, [start])), new), builder.gep(total, [start]))
            builder.store(v.lower(builder.load(best), new), best)
            builder.store(present, before)
            builder.store(following, here)

        last = builder.sub(v.array(0).nitems, COUNT(lanes))
        with cgutils.for_range_slice(builder, COUNT(0), last, COUNT(lanes)) as (start, _):
            levels(start, v.load(builder.gep(path, [builder.add(start, COUNT(lanes))])))
        levels(last, highest)
        return v.lowest(builder.load(best))

    return generate


step = generated(_step, step_in_a_loop)
