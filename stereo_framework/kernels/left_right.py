"""Which pixel of the other view a pixel points to, and both views' maps compared: what checks, measures and a confidence share."""

from __future__ import annotations

import numpy as np

from stereo_framework.kernels.decorator import kernel


@kernel
def left_right_kernel(disparity, match_disparity, direction, out):  # type: ignore[no-untyped-def]
    """Write the differences of a map and the one of the match frame where it points to; see `left_right_difference`."""
    rows, columns = disparity.shape
    for y in range(rows):
        for x in range(columns):
            out[y, x] = np.nan
            target = x - direction * round_half_away(disparity[y, x])
            if 0 <= target < columns and np.isfinite(match_disparity[y, int(target)]):
                out[y, x] = np.abs(disparity[y, x] - match_disparity[y, int(target)])


@kernel
def round_half_away(value):  # type: ignore[no-untyped-def]
    """To the nearest whole number, halves away from zero; float64, because float32 would round 0.49999997 + 0.5 up."""
    return np.copysign(np.floor(np.abs(np.float64(value)) + 0.5), np.float64(value))
