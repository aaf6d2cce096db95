"""The cells of a disparity space image that masks and ranges close.

Positions in the match image are counted in fine samples, ``denominator`` to a pixel, as in `Search.first` and `Search.stride`. A position between
two pixels is closed when one of both is.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Float32 disparities and their bounds are off the grid of levels by rounding alone, by far less than this.
_ROUNDING = 1e-3


@njit(cache=True, nogil=True, error_model="numpy")
def _open(
    row_valid: NDArray[np.bool_],
    match_valid: NDArray[np.bool_],
    low: float,
    high: float,
    x: int,
    fine: int,
    denominator: int,
    d: float,
) -> bool:
    """Whether a pixel may have the disparity `d`, with which it meets the fine sample `fine` of the match row."""
    if not row_valid[x] or d < low - _ROUNDING or d > high + _ROUNDING:
        return False
    columns = match_valid.shape[0]
    if fine < 0 or fine > (columns - 1) * denominator:
        return True
    first = fine // denominator
    return match_valid[first] and match_valid[min(first + (fine % denominator > 0), columns - 1)]


@njit(cache=True, nogil=True, error_model="numpy")
def close_cells(
    costs: NDArray,
    valid: NDArray[np.bool_],
    match_valid: NDArray[np.bool_],
    low: NDArray[np.float32],
    high: NDArray[np.float32],
    grid: tuple[int, int, int, int],
    value: float,
) -> None:
    """Write `value` into closed cells. `grid`: fine position of level 0, fine samples a level, samples a pixel, direction."""
    rows, columns, levels = costs.shape
    first, stride, denominator, direction = grid
    for y in range(rows):
        for x in range(columns):
            for level in range(levels):
                d = first + stride * level
                position = x * denominator - direction * d
                if not _open(valid[y], match_valid[y], low[y, x], high[y, x], x, position, denominator, d / denominator):
                    costs[y, x, level] = value


@njit(cache=True, nogil=True, error_model="numpy")
def open_levels(
    valid: NDArray[np.bool_],
    match_valid: NDArray[np.bool_],
    low: NDArray[np.float32],
    high: NDArray[np.float32],
    grid: tuple[int, int, int, int],
    levels: int,
    count: NDArray[np.int32],
) -> None:
    """How many open cells each pixel has."""
    rows, columns = valid.shape
    first, stride, denominator, direction = grid
    for y in range(rows):
        for x in range(columns):
            count[y, x] = 0
            for level in range(levels):
                d = first + stride * level
                position = x * denominator - direction * d
                if _open(valid[y], match_valid[y], low[y, x], high[y, x], x, position, denominator, d / denominator):
                    count[y, x] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def closed_labels(
    labels: NDArray[np.int16],
    valid: NDArray[np.bool_],
    match_valid: NDArray[np.bool_],
    low: NDArray[np.float32],
    high: NDArray[np.float32],
    grid: tuple[int, int, int, int],
    closed: NDArray[np.bool_],
) -> None:
    """Mark the pixels whose label, if they have one, lies in a closed cell."""
    rows, columns = labels.shape
    first, stride, denominator, direction = grid
    for y in range(rows):
        for x in range(columns):
            d = first + stride * labels[y, x]
            position = x * denominator - direction * d
            closed[y, x] = labels[y, x] >= 0 and not _open(
                valid[y], match_valid[y], low[y, x], high[y, x], x, position, denominator, d / denominator
            )


@njit(cache=True, nogil=True, error_model="numpy")
def reached(
    valid: NDArray[np.bool_],
    match_valid: NDArray[np.bool_],
    low: NDArray[np.float32],
    high: NDArray[np.float32],
    grid: tuple[int, int, int, int],
    levels: int,
    least: NDArray[np.float32],
    most: NDArray[np.float32],
) -> None:
    """For each pixel of the match image the ends of the disparities with which open cells reach it; inf and -inf where none does."""
    rows, columns = valid.shape
    first, stride, denominator, direction = grid
    for y in range(rows):
        for x in range(columns):
            least[y, x], most[y, x] = np.inf, -np.inf
        for x in range(columns):
            for level in range(levels):
                fine = first + stride * level
                d = fine / denominator
                position = x * denominator - direction * fine
                if position < 0 or position > (columns - 1) * denominator:
                    continue
                if not _open(valid[y], match_valid[y], low[y, x], high[y, x], x, position, denominator, d):
                    continue
                for target in (position // denominator, -((-position) // denominator)):
                    least[y, target] = min(least[y, target], d)
                    most[y, target] = max(most[y, target], d)
