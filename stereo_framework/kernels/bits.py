"""Floats by their bit patterns, where LLVM vectorizes integer loops but not the same loops over floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from stereo_framework.kernels.decorator import kernel


@kernel(inline="always")
def ordered(bits: Any) -> Any:
    """The int32 bits of a float32 as an integer of the same order; its own inverse, but for -0, which becomes 0."""
    sign = bits >> np.int32(31)
    return np.int32((bits ^ (sign & np.int32(0x7FFFFFFF))) - sign)
