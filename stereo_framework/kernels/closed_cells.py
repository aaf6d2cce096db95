"""The cells of a disparity space image that masks and ranges close.

Positions in the match image are counted in fine samples, ``denominator`` to a pixel; `grid` holds the fine disparity of level 0, the fine samples
from level to level, the samples of a pixel, and the direction, as `Search` defines them. A position between two pixels is closed when one of both is.
Maps are ``(rows, columns)``: masks of valid pixels, smallest and largest disparities in pixels, infinite where there is no limit. Of compact volumes
`firsts`, int16, holds the level of each pixel's first cell.
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
def _within(low: float, high: float, grid: Grid, levels: int) -> tuple[int, int]:
    """The first level within a pixel's limits and the one after the last; an empty range starts at 0."""
    first, stride, denominator, _ = grid
    start, stop = 0, levels
    if low > -np.inf:
        start = max(0, math.ceil(min((low * denominator - first) / stride, levels) - _ROUNDING))
    if high < np.inf:
        stop = min(levels, math.floor(max((high * denominator - first) / stride, -1) + _ROUNDING) + 1)
    return (start, stop) if start < stop else (0, 0)


@kernel
def _meets_gap(match_valid: Mask, x: int, level: int, grid: Grid) -> bool:
    """Whether a cell in view meets a masked pixel of the row of the match image."""
    first, stride, denominator, direction = grid
    position = x * denominator - direction * (first + stride * level)
    # In view as in `Search.in_view`, inline for speed.
    if position < 0 or position > (match_valid.shape[0] - 1) * denominator:
        return False
    left = position // denominator
    return not match_valid[left] or (position % denominator > 0 and not match_valid[left + 1])


@kernel
def close_cells(
    costs: NDArray,
    firsts: NDArray[np.int16] | None,
    valid: Mask,
    match_valid: Mask,
    low: Limits,
    high: Limits,
    grid: Grid,
    levels: int,
    value: float,
) -> None:
    """Write `value` into closed cells; `levels` are those of the search, whatever the volume holds."""
    rows, columns, held = costs.shape
    for y in range(rows):
        gaps = not match_valid[y].all()
        for x in range(columns):
            start, stop = _within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            first = 0
            if firsts is not None:
                first = int(firsts[y, x])
            start = min(max(start - first, 0), held)
            stop = max(min(stop - first, held), start)
            costs[y, x, :start] = value
            costs[y, x, stop:] = value
            if gaps:
                for k in range(start, stop):
                    if _meets_gap(match_valid[y], x, first + k, grid):
                        costs[y, x, k] = value


@kernel
def close_beyond(
    costs: NDArray, firsts: NDArray[np.int16], starts: NDArray[np.int64], stops: NDArray[np.int64], value: float
) -> None:
    """Write `value` into the cells of a compact volume that lie beyond their column's levels, those from `starts` to `stops` - 1."""
    rows, columns, held = costs.shape
    for y in range(rows):
        for x in range(columns):
            first = int(firsts[y, x])
            start = min(max(starts[x] - first, 0), held)
            stop = max(min(stops[x] - first, held), start)
            costs[y, x, :start] = value
            costs[y, x, stop:] = value


@kernel
def level_ranges(
    valid: Mask, low: Limits, high: Limits, grid: Grid, levels: int, starts: NDArray[np.int16], stops: NDArray[np.int16]
) -> None:
    """The first level within each pixel's limits and the one after the last; an empty range lies where that of the pixel before it in the row starts."""
    rows, columns = valid.shape
    for y in range(rows):
        known = -1
        for x in range(columns):
            start, stop = _within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            if start < stop:
                if known < 0:
                    starts[y, :x], stops[y, :x] = start, start
                known = start
            else:
                start = stop = max(known, 0)
            starts[y, x], stops[y, x] = start, stop


@kernel
def without_open_cell(valid: Mask, match_valid: Mask, low: Limits, high: Limits, grid: Grid, levels: int, invalid: Mask) -> None:
    """Mark the pixels all of whose cells are closed."""
    rows, columns = valid.shape
    for y in range(rows):
        for x in range(columns):
            start, stop = _within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            while start < stop and _meets_gap(match_valid[y], x, start, grid):
                start += 1
            invalid[y, x] = start >= stop


@kernel
def closed_labels(
    labels: NDArray[np.int16], valid: Mask, match_valid: Mask, low: Limits, high: Limits, grid: Grid, levels: int, closed: Mask
) -> None:
    """Mark the pixels whose label, if they have one, lies in a closed cell."""
    rows, columns = labels.shape
    for y in range(rows):
        for x in range(columns):
            label = labels[y, x]
            start, stop = _within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            is_open = start <= label < stop and not _meets_gap(match_valid[y], x, label, grid)
            closed[y, x] = label >= 0 and not is_open


@kernel
def reached(
    valid: Mask, match_valid: Mask, low: Limits, high: Limits, grid: Grid, levels: int, least: Limits, most: Limits
) -> None:
    """For each pixel of the match image the ends of the disparities with which open cells reach it; inf and -inf where none does."""
    rows, columns = valid.shape
    first, stride, denominator, direction = grid
    for y in range(rows):
        least[y], most[y] = np.inf, -np.inf
        for x in range(columns):
            start, stop = _within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            for level in range(start, stop):
                fine = first + stride * level
                position = x * denominator - direction * fine
                in_view = 0 <= position <= (columns - 1) * denominator
                if in_view and not _meets_gap(match_valid[y], x, level, grid):
                    d = np.float32(fine / denominator)
                    # A position between two pixels reaches both.
                    for target in (position // denominator, -(-position // denominator)):
                        least[y, target] = min(least[y, target], d)
                        most[y, target] = max(most[y, target], d)
