"""Both views' maps compared: what the measure of consistency and the confidence of that name share."""

from __future__ import annotations

import numpy as np

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.rounding import round_half_away


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
