"""Floats by their bit patterns, where LLVM vectorizes integer loops but not the same loops over floats."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def ordered(bits: int) -> int:
    """The int32 bits of a float32 as an integer of the same order (NaN last); its own inverse."""
    return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))
