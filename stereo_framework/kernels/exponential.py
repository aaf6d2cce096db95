"""A fast float32 exponential function for kernels.

The function uses a polynomial, so the result is the same on every platform. The last
digit of ``numpy.exp`` depends on the platform. LLVM can also vectorize loops with the
polynomial, but not loops with ``numpy.exp``.
"""

from typing import Any

import numpy as np

from stereo_framework.kernels.decorator import kernel


@kernel(inline="always")
def exponential(x: Any) -> Any:
    """Compute exp(x) of a float32 number x <= 0.

    The result is 0 if x is below about -86.6.
    """
    # exp(x) is 2**(x / log(2)).
    power = x * np.float32(1.4426950408889634)
    bounded = power if power > np.float32(-125) else np.float32(-125)
    whole = np.int32(bounded)
    fraction = bounded - np.float32(whole)
    # The polynomial approximates 2**fraction for -1 < fraction <= 0. The relative error
    # is below 1e-7, and the value at 0 is exactly 1.
    value = np.float32(0.0009439057776660792)
    value = value * fraction + np.float32(0.009203203279139385)
    value = value * fraction + np.float32(0.05529498191028487)
    value = value * fraction + np.float32(0.240179254793139)
    value = value * fraction + np.float32(0.6931436111378816)
    value = value * fraction + np.float32(1)
    # Bits 23 to 30 of a float32 number contain its exponent plus 127. Therefore this
    # integer has the bits of the float32 number 2**whole.
    scale = np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)
    return value * scale if power > np.float32(-125) else np.float32(0)
