"""How many bits of a word are set."""

from typing import Any

import numpy as np

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.internals import generated, intrinsic, types


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
    return types.uint64(types.uint64), lambda context, builder, signature, arguments: builder.ctpop(
        arguments[0]
    )


count_bits = generated(_count_bits, count_bits_in_a_loop)
