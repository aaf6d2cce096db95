"""A float32 exponential function for kernels, computed with a polynomial.

The last digit of the exponential functions of numba and NumPy depends on the platform,
and LLVM does not vectorize loops that call these functions. The polynomial gives the
same result on every platform, and LLVM compiles it to vector instructions.
"""

from typing import Any

import numpy as np

from stereo_framework.kernels.decorator import kernel


@kernel(inline="always")
def exponential(x: Any) -> Any:
    """Compute exp(x) of a float32 number x <= 0.

    If x is below about -86.6, the result is 0, because ``exp(-86.6)`` is close to the
    smallest normal number of float32.
    """
    # exp(x) equals 2**power, because the factor is 1 / log(2).
    power = x * np.float32(1.4426950408889634)
    bounded = power if power > np.float32(-125) else np.float32(-125)
    whole = np.int32(bounded)
    fraction = bounded - np.float32(whole)
    # The polynomial approximates 2**fraction for -1 < fraction <= 0. It is exactly 1 at
    # 0, and its relative error is below 1e-7.
    value = np.float32(0.0009439057776660792)
    value = value * fraction + np.float32(0.009203203279139385)
    value = value * fraction + np.float32(0.05529498191028487)
    value = value * fraction + np.float32(0.240179254793139)
    value = value * fraction + np.float32(0.6931436111378816)
    value = value * fraction + np.float32(1)
    # This integer has the same bits as the float32 number 2**whole. Bits 23 to 30 of a
    # float32 number contain its exponent plus 127.
    scale = np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)
    return value * scale if power > np.float32(-125) else np.float32(0)
