"""Count of the bits of a 64-bit number that are 1.

The Hamming distance of two bit strings ``a`` and ``b`` is the count for ``a ^ b``.
"""

from typing import Any

import numpy as np

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.internals import choose_intrinsic, intrinsic, types


@kernel
def count_bits_in_a_loop(word: Any) -> Any:
    """Count the bits of a uint64 number that are 1, one after the other.

    For example, the count for 13 (binary 1101) is 3. The count is a uint64 number too.
    """
    count = np.uint64(0)
    while word != np.uint64(0):
        # This operation changes the lowest 1 bit to 0, for example 1100 to 1000.
        word = word & (word - np.uint64(1))
        count = count + np.uint64(1)
    return count


@intrinsic
def _count_bits(context: Any, word: Any) -> Any:
    """Count the bits of a uint64 number that are 1, with one processor instruction.

    Python code cannot express this instruction, so LLVM code is emitted for it. numba
    calls this function when it compiles a kernel that counts bits. It needs two
    results: the types of the count and the number, and the generator of the code.
    """
    uint64_of_uint64 = types.uint64(types.uint64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # ctpop, "count population", is LLVM's name of the instruction.
        return builder.ctpop(arguments[0])

    return uint64_of_uint64, generate


count_bits = choose_intrinsic(_count_bits, count_bits_in_a_loop)
