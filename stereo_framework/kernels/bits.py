"""Count the 1 bits of a 64-bit number.

The Hamming distance of the numbers ``a`` and ``b`` is ``count_bits(a ^ b)``.
"""

from typing import Any

import numpy as np

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.internals import choose_intrinsic, intrinsic, types


@kernel
def count_bits_in_a_loop(word: Any) -> Any:
    """Count the 1 bits of a uint64 number with a loop.

    For example, the result for 13 (binary 1101) is 3. The result is a uint64 number.
    """
    count = np.uint64(0)
    while word != np.uint64(0):
        # This line clears the lowest 1 bit, for example 1100 becomes 1000.
        word = word & (word - np.uint64(1))
        count = count + np.uint64(1)
    return count


@intrinsic
def _count_bits(context: Any, word: Any) -> Any:
    """Count the 1 bits of a uint64 number with one processor instruction.

    Returns the signature and the code generator, as numba requires for an intrinsic.
    """
    uint64_of_uint64 = types.uint64(types.uint64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # LLVM calls this instruction "count population" (ctpop).
        return builder.ctpop(arguments[0])

    return uint64_of_uint64, generate


count_bits = choose_intrinsic(_count_bits, count_bits_in_a_loop)
