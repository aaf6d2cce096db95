"""Excluded cells of a cost volume, which pixels without data or disparity limits cause.

A cell of a cost volume belongs to one pixel of the reference image and one disparity
level. The cell is excluded in three cases: the reference pixel has no data, the
disparity of the level lies outside the limits of the reference pixel, or the matching
pixel in the match image has no data. All other cells are allowed.

The argument `maps` of the functions contains four arrays (rows, columns): the mask of
the reference pixels with data, the mask of the match pixels with data, and the smallest
and largest allowed disparity of each reference pixel. If a pixel has no disparity
limit, its smallest disparity is -inf, and its largest disparity is inf.

The argument `grid` contains five integers, which describe the disparity levels with the
terms of `SearchRange`. Disparities are measured in samples, and a sample is
``1 / denominator`` pixel. The integers are the disparity of level 0 in samples, the
distance of two levels in samples, the denominator, the direction (1 or -1) and the
number of levels.

The match position of a cell is the column in the match image, also in samples. A match
position between two pixels has data only if both of these pixels have data.
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

_ROUNDING = 1e-3
"""Tolerance by which a disparity may exceed the limits of its pixel, in levels.

A limit that equals the disparity of a level must allow this level, although the limit
is rounded to float32. The rounding errors are much smaller than the tolerance.
"""

_MAX_CELLS = 2**20
"""Maximum number of cells in a strip of the cost volume, to limit the memory use."""


@kernel
def _levels_within_limits(maps: Maps, y: int, x: int, grid: Grid) -> tuple[int, int]:
    """Return the levels within the disparity limits of a pixel as (start, stop).

    The levels are `start` to `stop` - 1. Both numbers are 0 if no level lies within the
    disparity limits, or if the pixel has no data.
    """
    valid, _, lows, highs = maps
    first, stride, denominator, _, levels = grid
    start = 0
    stop = levels
    low = lows[y, x]
    high = highs[y, x]
    if low > -np.inf:
        lowest = min((low * denominator - first) / stride, levels)
        start = max(0, math.ceil(lowest - _ROUNDING))
    if high < np.inf:
        highest = max((high * denominator - first) / stride, -1)
        stop = min(levels, math.floor(highest + _ROUNDING) + 1)
    return (start, stop) if start < stop and valid[y, x] else (0, 0)


@kernel
def _matches_invalid_pixel(match_valid: Mask, x: int, level: int, grid: Grid) -> bool:
    """Return whether a cell matches a pixel of the match image that has no data.

    The cell belongs to column `x` and level `level` of a row of the reference image.
    The mask of match pixels with data in the same row is `match_valid`. The result is
    False if the match position lies outside the image.
    """
    first, stride, denominator, direction, _ = grid
    position = x * denominator - direction * (first + stride * level)
    # `SearchRange.in_view` makes the same test, but calling it would be too slow.
    if position < 0 or position > (match_valid.shape[0] - 1) * denominator:
        return False
    left = position // denominator
    return not match_valid[left] or (position % denominator > 0 and not match_valid[left + 1])


@kernel
def exclude_cells(costs: NDArray, maps: Maps, grid: Grid, value: float) -> None:
    """Set all excluded cells of a cost volume to `value`, in place."""
    rows, columns, _ = costs.shape
    for y in range(rows):
        match_valid = maps[1][y]
        has_gaps = not match_valid.all()
        for x in range(columns):
            start, stop = _levels_within_limits(maps, y, x, grid)
            costs[y, x, :start] = value
            costs[y, x, stop:] = value
            if has_gaps:
                for level in range(start, stop):
                    if _matches_invalid_pixel(match_valid, x, level, grid):
                        costs[y, x, level] = value


def _allowed_cells_by_strip(maps: Maps, grid: Grid) -> Iterator[tuple[slice, Mask]]:
    """Yield a slice of rows and the mask of its allowed cells, until the last row.

    The shape of the mask is (rows in the slice, columns, levels). A mask of all rows
    would take much memory. Therefore a slice has at most `_MAX_CELLS` cells, or one row
    if a row has more cells.
    """
    rows, columns = maps[0].shape
    levels = grid[-1]
    height = max(1, _MAX_CELLS // (columns * levels))
    for top in range(0, rows, height):
        strip = slice(top, top + height)
        strip_maps = tuple([pixel_map[strip] for pixel_map in maps])
        cells = np.ones((*strip_maps[0].shape, levels), np.uint8)
        exclude_cells(cells, strip_maps, grid, np.uint8(0))
        yield strip, cells.view(np.bool_)


def find_excluded_pixels(maps: Maps, grid: Grid) -> Mask:
    """Return a mask of the reference pixels at which all levels are excluded."""
    strips = [~cells.any(axis=2) for _, cells in _allowed_cells_by_strip(maps, grid)]
    return np.concatenate(strips)


def find_excluded_levels(levels: NDArray[np.int16], maps: Maps, grid: Grid) -> Mask:
    """Return a mask of the pixels whose estimated level is excluded.

    `levels` contains one level for each reference pixel, or -1 if the pixel has no
    estimate. Pixels without an estimate are False in the mask.
    """
    indices = levels[..., None].astype(np.intp)
    strips = []
    for strip, cells in _allowed_cells_by_strip(maps, grid):
        strips.append(np.take_along_axis(cells, indices[strip], axis=2)[..., 0])
    return (levels >= 0) & ~np.concatenate(strips)


def find_limits_of_match_pixels(maps: Maps, grid: Grid) -> tuple[Limits, Limits]:
    """Find the smallest and largest allowed disparity of each match pixel.

    The disparity of an allowed cell is allowed for the match pixel at the match
    position of the cell. If the match position lies between two pixels, the disparity
    is allowed for both pixels.

    Returns
    -------
    smallest, largest : ndarray, float32, (rows, columns)
        Disparity limits of each match pixel in pixels; inf and -inf if no allowed cell
        matches the pixel.
    """
    first, stride, denominator, direction, levels = grid
    columns = maps[0].shape[1]
    samples = first + stride * np.arange(levels)
    positions = np.arange(columns)[:, None] * denominator - direction * samples
    in_view = (positions >= 0) & (positions <= (columns - 1) * denominator)
    disparities = np.broadcast_to((samples / denominator).astype(np.float32), positions.shape)

    smallest = np.full(maps[0].shape, np.inf, np.float32)
    largest = np.full(maps[0].shape, -np.inf, np.float32)
    strips = (cells & in_view for _, cells in _allowed_cells_by_strip(maps, grid))
    rows = itertools.chain.from_iterable(strips)
    for smallest_in_row, largest_in_row, matching in zip(smallest, largest, rows, strict=True):
        left_pixels = positions[matching] // denominator
        right_pixels = -(-positions[matching] // denominator)
        for pixels in (left_pixels, right_pixels):
            np.minimum.at(smallest_in_row, pixels, disparities[matching])
            np.maximum.at(largest_in_row, pixels, disparities[matching])
    return smallest, largest
