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
    samples: NDArray,
    at: int,
    plane: int,
    colours: NDArray,
    pixel: int,
    squared: bool,
    cutoff: float,
    costs: NDArray[np.float32],
    to: int,
) -> None:
    """Write `LANES` costs from ``costs[to]`` on; nothing checks the bounds.

    Each is the sum over three channels c of the absolute or squared difference of ``samples[at + plane * c]``, and the samples after it,
    to ``colours[pixel + c]``; at most `cutoff`. All arrays are flat. Samples and colours are float32 or both int16, 0..255: a register
    holds twice as many of these. This body runs where the JIT is off.
    """
    total = np.zeros(LANES, np.float32)
    for c in range(3):
        difference = np.subtract(samples[at + plane * c : at + plane * c + LANES], colours[pixel + c], dtype=np.float32)
        total += difference * difference if squared else abs(difference)
    costs[to : to + LANES] = np.minimum(total, cutoff)


@intrinsic
def _store_costs(
    context: Any, samples: Any, at: Any, plane: Any, colours: Any, pixel: Any, squared: Any, cutoff: Any, costs: Any, to: Any
) -> Any:
    whole = samples.dtype == types.int16
    single, word, short = ir.FloatType(), ir.IntType(32), ir.IntType(16)
    singles, words, shorts = (ir.VectorType(lane, LANES) for lane in (single, word, short))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, at, plane, _, pixel, squared, cutoff, _, to = arguments

        def address(argument: int, index: Any) -> Any:
            array = make_array(signature.args[argument])(context, builder, arguments[argument])
            return builder.gep(array.data, [index])

        def spread(value: Any, vector: Any) -> Any:
            first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, word(0))
            return builder.shuffle_vector(first, first, ir.Constant(words, [0] * LANES))

        def call(name: str, vector: Any, *arguments: Any) -> Any:
            # llvmlite cannot name the intrinsics of vectors by itself.
            kind = ir.FunctionType(vector, [argument.type for argument in arguments])
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)

        absolute, squares = [], []
        for c in range(3):
            colour = builder.load(address(3, builder.add(pixel, pixel.type(c))))
            sample = builder.load(builder.bitcast(address(0, at), (shorts if whole else singles).as_pointer()), align=2)
            if whole:
                difference = builder.sub(sample, spread(colour, shorts))
                absolute.append(call(f"llvm.abs.v{LANES}i16", shorts, difference, ir.IntType(1)(0)))
                # At most 255 * 255, which fits 16 bits without a sign; the sum does not.
                squares.append(builder.zext(builder.mul(difference, difference), words))
            else:
                difference = builder.fsub(sample, spread(colour, singles))
                absolute.append(call(f"llvm.fabs.v{LANES}f32", singles, difference))
                squares.append(builder.fmul(difference, difference))
            at = builder.add(at, plane)
        add = builder.add if whole else builder.fadd
        sums = [add(add(a, b), c) for a, b, c in (absolute, squares)]
        if whole:
            sums = [builder.uitofp(total, singles) for total in sums]
        total = builder.select(builder.trunc(squared, ir.IntType(1)), sums[1], sums[0])
        bound = spread(cutoff, singles)
        total = builder.select(builder.fcmp_ordered("<", total, bound), total, bound)
        builder.store(total, builder.bitcast(address(7, to), singles.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(
        samples, types.int64, types.int64, colours, types.int64, types.boolean, types.float32, costs, types.int64
    ), generate


store_costs = _store_costs_slowly if config.DISABLE_JIT else _store_costs
