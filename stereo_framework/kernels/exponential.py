"""Exponential and logarithm as float32 polynomials, which LLVM vectorizes and every platform computes alike.

The two exponentials differ in their last bits, and each decides numbers that must stay as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stereo_framework.kernels.decorator import kernel


@kernel(inline="always")
def exp(x: Any) -> Any:
    """e^x of a float32 x <= 0, relative error below 2e-7; next to 0 below -87."""
    x = x if x > np.float32(-88) else np.float32(-88)
    n = np.int32(x * np.float32(1.44269504) - np.float32(0.5))
    # ln 2 in two parts, so that the rest is exact.
    r = x - np.float32(n) * np.float32(0.693359375) + np.float32(n) * np.float32(2.12194440e-4)
    p = np.float32(1 / 720) * r + np.float32(1 / 120)
    p = p * r + np.float32(1 / 24)
    p = p * r + np.float32(1 / 6)
    p = p * r + np.float32(1 / 2)
    p = p * r * r + r + np.float32(1)
    return p * np.int32((n + np.int32(127)) << np.int32(23)).view(np.float32)


@kernel(inline="always")
def log(x: Any) -> Any:
    """Natural logarithm of a normal, positive float32."""
    bits = np.float32(x).view(np.int32)
    # Mantissa in sqrt(1/2)..sqrt(2), so that the series converges fast on both sides of 1.
    shifted = bits - np.int32(0x3F3504F3)
    n = np.float32(shifted >> np.int32(23))
    m = np.int32((shifted & np.int32(0x7FFFFF)) + np.int32(0x3F3504F3)).view(np.float32)
    s = (m - np.float32(1)) / (m + np.float32(1))
    q = s * s
    series = np.float32(2 / 9) * q + np.float32(2 / 7)
    series = series * q + np.float32(2 / 5)
    series = series * q + np.float32(2 / 3)
    return n * np.float32(0.69314718) + s * (np.float32(2) + q * series)


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
