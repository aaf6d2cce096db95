"""Cells of a cost volume that masks and disparity limits exclude.

A cell of the volume is a pixel of the reference image at one level. The cell is
excluded in three cases: its pixel has no data, its disparity lies outside the limits of
its pixel, or the pixel that it matches in the match image has no data. All other cells
are allowed.

`maps` are four arrays (rows, columns): the mask of the valid reference pixels, the mask
of the valid match pixels, and the smallest and largest disparity of each reference
pixel. A disparity limit is infinite if the pixel has none.

Disparities and match positions are integers here, in samples of ``1 / denominator``
pixel. `grid` describes the levels in the terms of `SearchRange`: the sample of level 0,
the samples between two levels, the samples of a pixel, the direction and the number of
levels. A match position between two pixels has data only if both of these pixels do.
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
"""Tolerance of the limits, in levels.

The rounding of float32 moves a limit away from its level by much less than this value.
"""

_MAX_CELLS = 2**20
"""Maximum number of cells that are examined together, which limits the memory use."""


@kernel
def _levels_within_limits(maps: Maps, y: int, x: int, grid: Grid) -> tuple[int, int]:
    """Return the range of the levels within the limits of a pixel.

    The range begins with the first value, and ends before the second value. Both are 0
    if no level lies within the limits, or if the pixel has no data.
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
    """Return whether a cell matches a pixel without data in a row of the match image.

    A cell whose match position lies outside the image does not.
    """
    first, stride, denominator, direction, _ = grid
    position = x * denominator - direction * (first + stride * level)
    # This is the test of `SearchRange.in_view`. A call from here would be too slow.
    if position < 0 or position > (match_valid.shape[0] - 1) * denominator:
        return False
    left = position // denominator
    return not match_valid[left] or (position % denominator > 0 and not match_valid[left + 1])


@kernel
def exclude_cells(costs: NDArray, maps: Maps, grid: Grid, value: float) -> None:
    """Write `value` into the excluded cells of a cost volume, in place."""
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
    """Yield strips of rows and their allowed cells, bool (rows, columns, levels).

    A strip has so few rows that its cells take little memory.
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
    """Return a mask of the pixels whose cells are all excluded."""
    strips = [~cells.any(axis=2) for _, cells in _allowed_cells_by_strip(maps, grid)]
    return np.concatenate(strips)


def find_excluded_levels(levels: NDArray[np.int16], maps: Maps, grid: Grid) -> Mask:
    """Return a mask of the pixels whose level lies in an excluded cell.

    Pixels without a level (-1) are not in the mask.
    """
    indices = levels[..., None].astype(np.intp)
    strips = []
    for strip, cells in _allowed_cells_by_strip(maps, grid):
        strips.append(np.take_along_axis(cells, indices[strip], axis=2)[..., 0])
    return (levels >= 0) & ~np.concatenate(strips)


def find_limits_of_match_pixels(maps: Maps, grid: Grid) -> tuple[Limits, Limits]:
    """Find the smallest and largest disparity of the cells that match each pixel.

    Only allowed cells count. A cell whose match position lies between two pixels of the
    match image matches both.

    Returns
    -------
    smallest, largest : ndarray, float32, (rows, columns)
        Disparities for each pixel of the match image; inf and -inf if no cell matches
        the pixel.
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
