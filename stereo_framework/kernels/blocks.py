"""Blocks of consecutive levels: which of them a pixel has, and the volumes that hold those alone.

Bit b of a pixel's number stands for the block of levels from ``b * size`` on; the last block ends with the last level, so that it may share levels with
the one before. Of a volume of blocks `starts`, int64, holds the number of each pixel's first one and, at the end, how many there are; `firsts`, int16, each
block's first level.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.bits import count_bits
from stereo_framework.kernels.decorator import kernel

Bits = NDArray[np.uint64]
Starts = NDArray[np.int64]
Firsts = NDArray[np.int16]

ALL_BLOCKS = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)
SMALLEST = 8
"""Levels of a block unless 64 such blocks are too few."""


@kernel
def block_size(levels: int) -> int:
    """How many levels a block has, of a search with so many: a power of two."""
    size = SMALLEST
    while 64 * size < levels:
        size *= 2
    return size


@kernel
def in_blocks(blocks: int, level: int, size: int, levels: int) -> bool:
    """Whether one of a pixel's blocks has a level."""
    block = np.uint64(blocks)
    last = np.uint64((levels - 1) // size)
    own = np.uint64(level // size)
    return (block >> own) & _ONE == _ONE or (level >= levels - size and (block >> last) & _ONE == _ONE)


@kernel
def first_level(block: int, size: int, levels: int) -> int:
    """The level that a block begins with."""
    return max(min(block * size, levels - size), 0)


@kernel
def lowest_block(blocks: int) -> int:
    """The lowest of a pixel's blocks."""
    return int(count_bits(~np.uint64(blocks) & (np.uint64(blocks) - _ONE)))


@kernel
def highest_block(blocks: int) -> int:
    """The highest of a pixel's blocks."""
    left, block = np.uint64(blocks) >> _ONE, 0
    while left:
        left >>= _ONE
        block += 1
    return block


@kernel
def outer_levels(blocks: Bits, levels: int, least: NDArray[np.int16], most: NDArray[np.int16]) -> None:
    """The lowest and the highest level that the blocks of each pixel have; of none the first one and the last."""
    rows, columns = blocks.shape
    size = block_size(levels)
    end = (levels - 1) // size
    for y in range(rows):
        for x in range(columns):
            least[y, x], most[y, x] = 0, levels - 1
            if blocks[y, x] != 0:
                least[y, x] = first_level(min(lowest_block(blocks[y, x]), end), size, levels)
                most[y, x] = min(first_level(min(highest_block(blocks[y, x]), end), size, levels) + size, levels) - 1


@kernel
def count_blocks(blocks: Bits) -> int:
    """How many blocks the pixels of a map have."""
    count = 0
    for y in range(blocks.shape[0]):
        for x in range(blocks.shape[1]):
            count += int(count_bits(np.uint64(blocks[y, x])))
    return count


@kernel
def list_blocks(blocks: Bits, size: int, levels: int, firsts: Firsts) -> None:
    """The first levels of all blocks of some pixels, ``(pixels,)``."""
    at = 0
    for i in range(blocks.shape[0]):
        left = np.uint64(blocks[i])
        while left:
            firsts[at] = first_level(lowest_block(left), size, levels)
            at += 1
            left &= left - _ONE


@kernel
def held_cells(starts: Starts, firsts: Firsts, size: int, labels: NDArray[np.int16], cells: NDArray[np.int64]) -> None:
    """Where the costs of some pixels' labels stand, block after block; -1 where no block has the level."""
    for i in range(labels.shape[0]):
        cells[i] = held_cell(starts[i], starts[i + 1], firsts, size, labels[i])


@kernel
def held_cell(start: int, stop: int, firsts: Firsts, size: int, level: int) -> int:
    """Where among the costs of the blocks `start` to `stop` - 1, a pixel's, that of a level stands; -1 where none of them has it."""
    for i in range(start, stop):
        if firsts[i] <= level < firsts[i] + size:
            return i * size + level - firsts[i]
    return -1


@kernel
def close_beyond(
    costs: NDArray, starts: Starts, firsts: Firsts, begins: NDArray[np.int64], ends: NDArray[np.int64], value: float
) -> None:
    """Write `value` into the cells of a volume of blocks that lie beyond their column's levels, those from `begins` to `ends` - 1."""
    columns, size = begins.shape[0], costs.shape[1]
    for i in range(starts.shape[0] - 1):
        begin, end = begins[i % columns], ends[i % columns]
        for j in range(starts[i], starts[i + 1]):
            first = int(firsts[j])
            if first < begin or first + size > end:
                for k in range(size):
                    if not begin <= first + k < end:
                        costs[j, k] = value


@kernel
def spread_over_blocks(values: NDArray, starts: Starts, out: NDArray) -> None:
    """Give each block of some pixels what its pixel has; rows of `values` are pixels, those of `out` blocks."""
    for i in range(starts.shape[0] - 1):
        for j in range(starts[i] - starts[0], starts[i + 1] - starts[0]):
            for c in range(values.shape[1]):
                out[j, c] = values[i, c]


@kernel
def place_blocks(origins: NDArray[np.int64], starts: Starts, firsts: Firsts, out: NDArray[np.int64]) -> None:
    """Where each block of some pixels begins, from where level 0 of each pixel lies."""
    for i in range(starts.shape[0] - 1):
        for j in range(starts[i], starts[i + 1]):
            out[j - starts[0]] = origins[i] + firsts[j]
