"""Excluded cells of a cost volume.

Each cell of a cost volume belongs to a pixel of the reference image and a disparity
level. A cell is excluded in three cases:

- The reference pixel has no data.
- The disparity lies outside the limits of the reference pixel.
- The matching pixel in the match image has no data.

The argument `maps` of the functions contains four arrays (rows, columns):

- Mask of the reference pixels with data.
- Mask of the match pixels with data.
- Smallest allowed disparity of each reference pixel, or -inf.
- Largest allowed disparity of each reference pixel, or inf.

The argument `grid` contains five integers, with the terms of `SearchRange`:

- Disparity of level 0, in samples. A sample is ``1 / denominator`` pixel.
- Distance of two levels, in samples.
- Denominator.
- Direction (1 or -1).
- Number of levels.

The match position of a cell is a column of the match image, in samples. Between two
pixels, a match position has data only if both pixels have data.
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
"""Tolerance of the disparity limits, in levels.

Limits are rounded to float32. Without a tolerance, rounding might exclude a level that
equals the limit.
"""

_MAX_CELLS = 2**20
"""Maximum number of cells in a strip of rows, to limit the memory use."""


@kernel
def _levels_within_limits(maps: Maps, y: int, x: int, grid: Grid) -> tuple[int, int]:
    """Return the levels within the disparity limits of a pixel as (start, stop).

    The result is (0, 0) if there are no levels or the pixel has no data.
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
    """Return whether the matching pixel of a cell has no data.

    `x` is the column of the cell. `match_valid` is a row of the mask of match pixels.
    Outside the image, the result is False.
    """
    first, stride, denominator, direction, _ = grid
    position = x * denominator - direction * (first + stride * level)
    # `SearchRange.in_view` makes the same test, but is too slow here.
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
    """Yield strips of rows, each as a slice and the mask of its allowed cells.

    The shape of the mask is (rows of the strip, columns, levels). Strips need less
    memory than a mask of the whole image.
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
    """Return a mask of the reference pixels without an allowed level."""
    strips = [~cells.any(axis=2) for _, cells in _allowed_cells_by_strip(maps, grid)]
    return np.concatenate(strips)


def find_excluded_levels(levels: NDArray[np.int16], maps: Maps, grid: Grid) -> Mask:
    """Return a mask of the pixels whose estimated level is excluded.

    The level of a pixel without an estimate is -1. The mask is False at this pixel.
    """
    indices = levels[..., None].astype(np.intp)
    strips = []
    for strip, cells in _allowed_cells_by_strip(maps, grid):
        strips.append(np.take_along_axis(cells, indices[strip], axis=2)[..., 0])
    return (levels >= 0) & ~np.concatenate(strips)


def find_limits_of_match_pixels(maps: Maps, grid: Grid) -> tuple[Limits, Limits]:
    """Find the smallest and largest allowed disparity of each match pixel.

    A disparity is allowed if an allowed cell with this disparity matches the pixel. A
    match position between two pixels counts for both pixels.

    Returns
    -------
    smallest : ndarray, float32, (rows, columns)
        Smallest allowed disparity, in pixels; inf if no allowed cell matches the pixel.
    largest : ndarray, float32, (rows, columns)
        Largest allowed disparity, in pixels; -inf if no allowed cell matches the pixel.
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
