"""The number of bits of a word that are set, as the Hamming distance needs it."""

from typing import Any

import numpy as np

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.internals import choose_intrinsic, intrinsic, types


@kernel
def count_bits_in_a_loop(word: Any) -> Any:
    """Count the bits of a uint64 that are set; the count is a uint64 too."""
    count = np.uint64(0)
    while word != np.uint64(0):
        # This operation clears the lowest bit that is set.
        word = word & (word - np.uint64(1))
        count = count + np.uint64(1)
    return count


@intrinsic
def _count_bits(context: Any, word: Any) -> Any:
    # numba has no function for the processor's instruction that counts bits.
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


count_bits = choose_intrinsic(_count_bits, count_bits_in_a_loop)
