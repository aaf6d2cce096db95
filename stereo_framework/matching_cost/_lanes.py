"""Costs of one pixel at sixteen consecutive levels at once, in vector registers.

Left to itself LLVM vectorizes a loop over a pixel's levels too, but tests for each pixel whether the arrays overlap and whether there
are levels enough, and adds a loop for the rest: for 16 to 60 levels that takes longer than the arithmetic. Given vectors it does neither;
it maps them to whatever registers the machine has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

LANES = 16
"""Levels at once: the float32 in the widest registers there are."""


def _store_costs_slowly(
    samples: NDArray[np.float32],
    at: int,
    plane: int,
    colours: NDArray[np.float32],
    pixel: int,
    squared: bool,
    cutoff: float,
    costs: NDArray[np.float32],
    to: int,
) -> None:
    """Write `LANES` costs from ``costs[to]`` on; nothing checks the bounds.

    Each is the sum over three channels c of the absolute or squared difference of ``samples[at + plane * c]``, and the samples after it,
    to ``colours[pixel + c]``; at most `cutoff`. All arrays are flat. This body runs where the JIT is off.
    """
    total = np.zeros(LANES, np.float32)
    for c in range(3):
        difference = samples[at + plane * c : at + plane * c + LANES] - colours[pixel + c]
        total += difference * difference if squared else abs(difference)
    costs[to : to + LANES] = np.minimum(total, cutoff)


@intrinsic
def _store_costs(
    context: Any, samples: Any, at: Any, plane: Any, colours: Any, pixel: Any, squared: Any, cutoff: Any, costs: Any, to: Any
) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, at, plane, _, pixel, squared, cutoff, _, to = arguments
        vector, lane = ir.VectorType(ir.FloatType(), LANES), ir.IntType(32)

        def address(argument: int, index: Any) -> Any:
            array = make_array(signature.args[argument])(context, builder, arguments[argument])
            return builder.gep(array.data, [index])

        def spread(value: Any) -> Any:
            first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, lane(0))
            return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(lane, LANES), [0] * LANES))

        # llvmlite names no intrinsics of vectors.
        absolute = cgutils.get_or_insert_function(builder.module, ir.FunctionType(vector, [vector]), f"llvm.fabs.v{LANES}f32")
        squared = builder.trunc(squared, ir.IntType(1))
        total = None
        for c in range(3):
            sample = builder.bitcast(address(0, at), vector.as_pointer())
            colour = builder.load(address(3, builder.add(pixel, pixel.type(c))))
            difference = builder.fsub(builder.load(sample, align=4), spread(colour))
            cost = builder.select(squared, builder.fmul(difference, difference), builder.call(absolute, [difference]))
            total = cost if total is None else builder.fadd(total, cost)
            at = builder.add(at, plane)
        bound = spread(cutoff)
        total = builder.select(builder.fcmp_ordered("<", total, bound), total, bound)
        builder.store(total, builder.bitcast(address(7, to), vector.as_pointer()), align=4)
        return context.get_dummy_value()

    arrays = types.Array(types.float32, 1, "C")
    return types.void(
        arrays, types.int64, types.int64, arrays, types.int64, types.boolean, types.float32, arrays, types.int64
    ), generate


store_costs = _store_costs_slowly if config.DISABLE_JIT else _store_costs
