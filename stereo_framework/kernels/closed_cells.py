"""The cells of a disparity space image that masks and ranges close.

`maps` are the masks of the valid pixels of both images, and the smallest and largest disparities of each pixel, infinite where there is no limit; all
``(rows, columns)``. Positions in the match image are counted in fine samples, ``denominator`` to a pixel; `grid` holds the fine disparity of level 0, the
fine samples from level to level, the samples of a pixel, the direction, as `SearchRange` defines them, and the number of levels. A position between two pixels
is closed when one of both is.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel

Mask = NDArray[np.bool_]
Limits = NDArray[np.float32]
Maps = tuple[Mask, Mask, Limits, Limits]
Grid = tuple[int, int, int, int, int]

# Float32 disparities and limits are off the levels by rounding alone, by far less than this share of one.
_ROUNDING = 1e-3

_CELLS = 2**20
"""Of so many it is known at a time whether they are open."""


@kernel
def _within(maps: Maps, y: int, x: int, grid: Grid) -> tuple[int, int]:
    """The first level within the limits of a pixel and the one after the last; both are 0 where there is none."""
    (valid, _, lows, highs), (first, stride, denominator, _, levels) = maps, grid
    start, stop, low, high = 0, levels, lows[y, x], highs[y, x]
    if low > -np.inf:
        start = max(0, math.ceil(min((low * denominator - first) / stride, levels) - _ROUNDING))
    if high < np.inf:
        stop = min(
            levels, math.floor(max((high * denominator - first) / stride, -1) + _ROUNDING) + 1
        )
    return (start, stop) if start < stop and valid[y, x] else (0, 0)


@kernel
def _meets_gap(match_valid: Mask, x: int, level: int, grid: Grid) -> bool:
    """Whether a cell in view meets a masked pixel of the row of the match image."""
    first, stride, denominator, direction, _ = grid
    position = x * denominator - direction * (first + stride * level)
    # In view as in `SearchRange.in_view`, inline for speed.
    if position < 0 or position > (match_valid.shape[0] - 1) * denominator:
        return False
    left = position // denominator
    return not match_valid[left] or (position % denominator > 0 and not match_valid[left + 1])


@kernel
def close_cells(costs: NDArray, maps: Maps, grid: Grid, value: float) -> None:
    """Write `value` into the closed cells of a volume."""
    rows, columns, _ = costs.shape
    for y in range(rows):
        met = maps[1][y]
        gaps = not met.all()
        for x in range(columns):
            start, stop = _within(maps, y, x, grid)
            costs[y, x, :start] = value
            costs[y, x, stop:] = value
            if gaps:
                for k in range(start, stop):
                    if _meets_gap(met, x, k, grid):
                        costs[y, x, k] = value


def _open_cells(maps: Maps, grid: Grid) -> Iterator[tuple[slice, Mask]]:
    """Some rows at a time, few enough that they take little memory, and their open cells, ``(rows, columns, levels)``."""
    rows, columns = maps[0].shape
    height = max(1, _CELLS // (columns * grid[4]))
    for some in (slice(top, top + height) for top in range(0, rows, height)):
        cells = np.ones((*maps[0][some].shape, grid[4]), np.uint8)
        close_cells(cells, tuple([a[some] for a in maps]), grid, np.uint8(0))
        yield some, cells.view(np.bool_)


def without_open_cell(maps: Maps, grid: Grid) -> Mask:
    """The pixels all of whose cells are closed."""
    return np.concatenate([~cells.any(axis=2) for _, cells in _open_cells(maps, grid)])


def closed_levels(levels: NDArray[np.int16], maps: Maps, grid: Grid) -> Mask:
    """The pixels whose level, if they have one, lies in a closed cell."""
    own = levels[..., None].astype(np.intp)
    is_open = [
        np.take_along_axis(cells, own[some], axis=2)[..., 0]
        for some, cells in _open_cells(maps, grid)
    ]
    return (levels >= 0) & ~np.concatenate(is_open)


def reached(maps: Maps, grid: Grid) -> tuple[Limits, Limits]:
    """For each pixel of the match image the ends of the disparities with which open cells reach it; inf and -inf where none does."""
    first, stride, denominator, direction, levels = grid
    columns = maps[0].shape[1]
    fine = first + stride * np.arange(levels)
    positions = np.arange(columns)[:, None] * denominator - direction * fine
    in_view = (positions >= 0) & (positions <= (columns - 1) * denominator)
    disparities = np.broadcast_to((fine / denominator).astype(np.float32), positions.shape)
    least, most = (np.full(maps[0].shape, end, np.float32) for end in (np.inf, -np.inf))
    row_by_row = itertools.chain.from_iterable(
        cells & in_view for _, cells in _open_cells(maps, grid)
    )
    for low, high, met in zip(least, most, row_by_row, strict=True):
        # A position between two pixels reaches both.
        for targets in (positions[met] // denominator, -(-positions[met] // denominator)):
            np.minimum.at(low, targets, disparities[met])
            np.maximum.at(high, targets, disparities[met])
    return least, most
