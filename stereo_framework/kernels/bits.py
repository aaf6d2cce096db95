"""Bits: floats by their patterns, where LLVM vectorizes integer loops but not the same loops over floats, and how many of a word are set."""

from __future__ import annotations

from typing import Any

import numpy as np

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.internals import generated, intrinsic, types


@kernel(inline="always")
def ordered(bits: Any) -> Any:
    """The int32 bits of a float32 as an integer of the same order; its own inverse, but for -0, which becomes 0."""
    sign = bits >> np.int32(31)
    return np.int32((bits ^ (sign & np.int32(0x7FFFFFFF))) - sign)


@kernel
def count_bits_in_a_loop(word: Any) -> Any:
    """How many bits of a uint64 are set, as uint64."""
    count = np.uint64(0)
    while word != np.uint64(0):
        word, count = word & (word - np.uint64(1)), count + np.uint64(1)
    return count


@intrinsic
def _count_bits(context: Any, word: Any) -> Any:
    # Numba knows no population count of its own.
    return types.uint64(types.uint64), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])


count_bits = generated(_count_bits, count_bits_in_a_loop)
