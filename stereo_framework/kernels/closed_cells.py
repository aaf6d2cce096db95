"""The cells of a disparity space image that masks and ranges close.

Positions in the match image are counted in fine samples, ``denominator`` to a pixel; `grid` holds the fine disparity of level 0, the fine samples
from level to level, the samples of a pixel, and the direction, as `Search` defines them. A position between two pixels is closed when one of both is.
Maps are ``(rows, columns)``: masks of valid pixels, smallest and largest disparities in pixels, infinite where there is no limit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel

Mask = NDArray[np.bool_]
Limits = NDArray[np.float32]
Grid = tuple[int, int, int, int]

# Float32 disparities and limits are off the levels by rounding alone, by far less than this share of one.
_ROUNDING = 1e-3


@kernel
def within(low: float, high: float, grid: Grid, levels: int) -> tuple[int, int]:
    """The first level within a pixel's limits and the one after the last; an empty range starts at 0."""
    first, stride, denominator, _ = grid
    start, stop = 0, levels
    if low > -np.inf:
        start = max(0, math.ceil(min((low * denominator - first) / stride, levels) - _ROUNDING))
    if high < np.inf:
        stop = min(levels, math.floor(max((high * denominator - first) / stride, -1) + _ROUNDING) + 1)
    return (start, stop) if start < stop else (0, 0)


@kernel
def meets_gap(match_valid: Mask, x: int, level: int, grid: Grid) -> bool:
    """Whether a cell in view meets a masked pixel of the row of the match image."""
    first, stride, denominator, direction = grid
    position = x * denominator - direction * (first + stride * level)
    # In view as in `Search.in_view`, inline for speed.
    if position < 0 or position > (match_valid.shape[0] - 1) * denominator:
        return False
    left = position // denominator
    return not match_valid[left] or (position % denominator > 0 and not match_valid[left + 1])


@kernel
def close_cells(costs: NDArray, valid: Mask, match_valid: Mask, low: Limits, high: Limits, grid: Grid, value: float) -> None:
    """Write `value` into the closed cells of a volume."""
    rows, columns, levels = costs.shape
    for y in range(rows):
        gaps = not match_valid[y].all()
        for x in range(columns):
            start, stop = within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            costs[y, x, :start] = value
            costs[y, x, stop:] = value
            if gaps:
                for k in range(start, stop):
                    if meets_gap(match_valid[y], x, k, grid):
                        costs[y, x, k] = value


@kernel
def without_open_cell(valid: Mask, match_valid: Mask, low: Limits, high: Limits, grid: Grid, levels: int, invalid: Mask) -> None:
    """Mark the pixels all of whose cells are closed."""
    rows, columns = valid.shape
    for y in range(rows):
        for x in range(columns):
            start, stop = within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            while start < stop and meets_gap(match_valid[y], x, start, grid):
                start += 1
            invalid[y, x] = start >= stop


@kernel
def closed_labels(
    labels: NDArray[np.int16],
    valid: Mask,
    match_valid: Mask,
    low: Limits,
    high: Limits,
    grid: Grid,
    levels: int,
    closed: Mask,
) -> None:
    """Mark the pixels whose label, if they have one, lies in a closed cell."""
    rows, columns = labels.shape
    for y in range(rows):
        for x in range(columns):
            label = labels[y, x]
            start, stop = within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            in_range = start <= label < stop
            closed[y, x] = label >= 0 and (not in_range or meets_gap(match_valid[y], x, label, grid))


@kernel
def reached(
    valid: Mask,
    match_valid: Mask,
    low: Limits,
    high: Limits,
    grid: Grid,
    levels: int,
    least: Limits,
    most: Limits,
) -> None:
    """For each pixel of the match image the ends of the disparities with which open cells reach it; inf and -inf where none does."""
    rows, columns = valid.shape
    first, stride, denominator, direction = grid
    for y in range(rows):
        least[y], most[y] = np.inf, -np.inf
        for x in range(columns):
            start, stop = within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            for level in range(start, stop):
                fine = first + stride * level
                position = x * denominator - direction * fine
                in_view = 0 <= position <= (columns - 1) * denominator
                if in_view and not meets_gap(match_valid[y], x, level, grid):
                    d = np.float32(fine / denominator)
                    # A position between two pixels reaches both.
                    for target in (position // denominator, -(-position // denominator)):
                        least[y, target] = min(least[y, target], d)
                        most[y, target] = max(most[y, target], d)
