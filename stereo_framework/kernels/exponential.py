"""The exponential function as a polynomial in float32.

The exponential functions of numba and NumPy differ between platforms in the last digit,
and LLVM does not vectorize them. The polynomial gives the same result on every
platform, and LLVM turns a loop over it into vector instructions.
"""

from typing import Any

import numpy as np

from stereo_framework.kernels.decorator import kernel


@kernel(inline="always")
def exponential(x: Any) -> Any:
    """Compute exp(x) of a float32 x <= 0.

    The result is 0 below about -86.6, where the exponent no longer fits into float32.
    """
    power = x * np.float32(1.4426950408889634)  # x / log(2)
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
    # The bits of the float32 number 2**whole, of which only the exponent differs from
    # 0.
    scale = np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)
    return value * scale if power > np.float32(-125) else np.float32(0)
