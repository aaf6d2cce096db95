"""The cells of a disparity space image that masks and ranges close.

Positions in the match image are counted in fine samples, ``denominator`` to a pixel; `grid` holds the fine disparity of level 0, the fine samples
from level to level, the samples of a pixel, and the direction, as `Search` defines them. A position between two pixels is closed when one of both is.
Maps are ``(rows, columns)``: masks of valid pixels, smallest and largest disparities in pixels, infinite where there is no limit, and the blocks of
levels that are open, see `blocks`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.bits import count_bits
from stereo_framework.kernels.blocks import ALL_BLOCKS, Bits, block_size, first_level, highest_block, in_blocks, lowest_block
from stereo_framework.kernels.decorator import kernel

Mask = NDArray[np.bool_]
Limits = NDArray[np.float32]
Grid = tuple[int, int, int, int]

_ONE = np.uint64(1)

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
def _is_open(blocks: int, level: int, size: int, match_valid: Mask, x: int, grid: Grid, levels: int) -> bool:
    """Whether a level of a pixel's range is one of its blocks, and does not meet a masked pixel of the row of the match image."""
    return in_blocks(blocks, level, size, levels) and not meets_gap(match_valid, x, level, grid)


@kernel
def close_cells(
    costs: NDArray, valid: Mask, match_valid: Mask, low: Limits, high: Limits, blocks: Bits, grid: Grid, value: float
) -> None:
    """Write `value` into the closed cells of a volume of all levels."""
    rows, columns, levels = costs.shape
    size = block_size(levels)
    for y in range(rows):
        gaps = not match_valid[y].all()
        for x in range(columns):
            start, stop = within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            costs[y, x, :start] = value
            costs[y, x, stop:] = value
            if gaps or blocks[y, x] != ALL_BLOCKS:
                for k in range(start, stop):
                    if not _is_open(blocks[y, x], k, size, match_valid[y], x, grid, levels):
                        costs[y, x, k] = value


@kernel
def close_held(
    costs: NDArray,
    starts: NDArray[np.int64],
    firsts: NDArray[np.int16],
    valid: Mask,
    match_valid: Mask,
    low: Limits,
    high: Limits,
    blocks: Bits,
    grid: Grid,
    levels: int,
    value: float,
) -> None:
    """Write `value` into the closed cells of some rows of a volume of blocks; `levels` are those of the search."""
    (rows, columns), size = valid.shape, costs.shape[1]
    for y in range(rows):
        for x in range(columns):
            start, stop = within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            for i in range(starts[y * columns + x], starts[y * columns + x + 1]):
                for k in range(size):
                    level = firsts[i] + k
                    in_range = start <= level < stop
                    if not (in_range and _is_open(blocks[y, x], level, size, match_valid[y], x, grid, levels)):
                        costs[i, k] = value


@kernel
def pack_blocks(
    valid: Mask,
    low: Limits,
    high: Limits,
    blocks: Bits,
    grid: Grid,
    levels: int,
    packed: Bits,
    counts: NDArray[np.int64],
    cut: Mask,
) -> None:
    """Those blocks of each pixel that its range meets, and how many there are; of a pixel that has none those of the one before it in the row.

    `cut`, ``(rows,)``, tells where a range closes some cell of a block.
    """
    rows, columns = valid.shape
    size = block_size(levels)
    last = (levels - 1) // size
    for y in range(rows):
        known = -1
        cut[y] = False
        for x in range(columns):
            start, stop = within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            found = np.uint64(0)
            if start < stop:
                own = np.uint64(blocks[y, x])
                end = (stop - 1) // size
                found = own & (ALL_BLOCKS >> np.uint64(63 - end)) & (ALL_BLOCKS << np.uint64(start // size))
                # The last block also has levels of the one before, which are open even if that is not.
                if end == last - 1 and stop > levels - size and not (own >> np.uint64(end)) & _ONE:
                    found |= own & (_ONE << np.uint64(last))
            count = int(count_bits(found))
            if count == 0:
                cut[y] = True
                if known >= 0:
                    found, count = packed[y, known], counts[y, known]
            else:
                if start > 0 or stop < levels:
                    cut[y] = cut[y] or first_level(lowest_block(found), size, levels) < start
                    cut[y] = cut[y] or first_level(highest_block(found), size, levels) + size > stop
                if known < 0:
                    packed[y, :x], counts[y, :x] = found, count
                known = x
            packed[y, x], counts[y, x] = found, count
        if known < 0:
            packed[y], counts[y] = np.uint64(1), 1


@kernel
def without_open_cell(
    valid: Mask, match_valid: Mask, low: Limits, high: Limits, blocks: Bits, grid: Grid, levels: int, invalid: Mask
) -> None:
    """Mark the pixels all of whose cells are closed."""
    rows, columns = valid.shape
    size = block_size(levels)
    for y in range(rows):
        for x in range(columns):
            start, stop = within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            while start < stop and not _is_open(blocks[y, x], start, size, match_valid[y], x, grid, levels):
                start += 1
            invalid[y, x] = start >= stop


@kernel
def closed_labels(
    labels: NDArray[np.int16],
    valid: Mask,
    match_valid: Mask,
    low: Limits,
    high: Limits,
    blocks: Bits,
    grid: Grid,
    levels: int,
    closed: Mask,
) -> None:
    """Mark the pixels whose label, if they have one, lies in a closed cell."""
    rows, columns = labels.shape
    size = block_size(levels)
    for y in range(rows):
        for x in range(columns):
            label = labels[y, x]
            start, stop = within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            in_range = start <= label < stop
            closed[y, x] = label >= 0 and not (in_range and _is_open(blocks[y, x], label, size, match_valid[y], x, grid, levels))


@kernel
def reached(
    valid: Mask,
    match_valid: Mask,
    low: Limits,
    high: Limits,
    blocks: Bits,
    grid: Grid,
    levels: int,
    least: Limits,
    most: Limits,
) -> None:
    """For each pixel of the match image the ends of the disparities with which open cells reach it; inf and -inf where none does."""
    rows, columns = valid.shape
    first, stride, denominator, direction = grid
    size = block_size(levels)
    for y in range(rows):
        least[y], most[y] = np.inf, -np.inf
        for x in range(columns):
            start, stop = within(low[y, x], high[y, x], grid, levels) if valid[y, x] else (0, 0)
            for level in range(start, stop):
                fine = first + stride * level
                position = x * denominator - direction * fine
                in_view = 0 <= position <= (columns - 1) * denominator
                if in_view and _is_open(blocks[y, x], level, size, match_valid[y], x, grid, levels):
                    d = np.float32(fine / denominator)
                    # A position between two pixels reaches both.
                    for target in (position // denominator, -(-position // denominator)):
                        least[y, target] = min(least[y, target], d)
                        most[y, target] = max(most[y, target], d)
