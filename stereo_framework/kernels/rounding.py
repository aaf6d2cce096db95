"""Which pixel a position between two belongs to."""

from __future__ import annotations

import numpy as np

from stereo_framework.kernels.decorator import kernel


@kernel
def round_half_away(value):  # type: ignore[no-untyped-def]
    """To the nearest whole number, halves away from zero; float64, because float32 would round 0.49999997 + 0.5 up."""
    return np.copysign(np.floor(np.abs(np.float64(value)) + 0.5), np.float64(value))
