"""The exponential as a float32 polynomial, which LLVM vectorizes and every platform computes alike."""

from typing import Any

import numpy as np

from stereo_framework.kernels.decorator import kernel


@kernel(inline="always")
def exponential(x: Any) -> Any:
    """exp(x) of a float32 x <= 0, by operations that every platform rounds alike; 0 below -86."""
    power = x * np.float32(1.4426950408889634)
    bounded = power if power > np.float32(-125) else np.float32(-125)
    whole = np.int32(bounded)
    part = bounded - np.float32(whole)
    # 2**part for -1 < part <= 0: exactly 1 at 0, relative error below 1e-7.
    value = np.float32(0.0009439057776660792)
    value = value * part + np.float32(0.009203203279139385)
    value = value * part + np.float32(0.05529498191028487)
    value = value * part + np.float32(0.240179254793139)
    value = value * part + np.float32(0.6931436111378816)
    value = value * part + np.float32(1)
    scale = np.int32((whole + np.int32(127)) << np.int32(23)).view(np.float32)
    return value * scale if power > np.float32(-125) else np.float32(0)
