"""Which pixel of the other view a pixel points to, and both views' maps compared: what checks, measures and a confidence share."""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows


def apart(
    disparity: NDArray[np.float32], other: NDArray[np.float32], direction: int
) -> NDArray[np.float32]:
    """How far a map and the match frame's own are apart where the map points to; NaN where that has no estimate or lies outside."""
    found = np.empty(disparity.shape, np.float32)
    over_rows(
        lambda a, b: _kernel(disparity[a:b], other[a:b], direction, found[a:b]),
        len(disparity),
        5 * disparity.size,
    )
    return found


@kernel
def _kernel(disparity, match_disparity, direction, out):  # type: ignore[no-untyped-def]
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
