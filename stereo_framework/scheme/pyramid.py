"""Coarse to fine: a map of the pair at half the size says where to search at the full one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import cv2
import numpy as np

from stereo_framework.stages import (
    Disparity,
    NonNegative,
    Pair,
    PositiveInt,
    SearchMask,
    SearchRange,
    Unit,
    stage,
)

_FAR = np.float32(1e9)
"""Pixels: above all disparities."""


@stage("scheme", source="Quam 1987; Rothermel et al. 2012")
def pyramid(
    solve: Callable[[Pair], Any],
    pair: Pair,
    *,
    octaves: PositiveInt = 3,
    margin: Annotated[NonNegative, Unit("pixels")] = 2.0,
    size: Annotated[PositiveInt, Unit("pixels")] = 9,
) -> Any:
    """Match the pair at half the size first, and search each pixel near the disparities found there.

    Parameters
    ----------
    solve : callable
        Matches a pair.
    pair : Pair
        Its mask, if it has one, holds at every size.
    octaves : int
        Number of sizes at which the pair is matched, each half of the next one. With one
        octave, the pair is matched only at full size.
    margin : float
        Distance by which a pixel's search range extends beyond the disparities that
        were estimated at half the size, in pixels of the larger image.
    size : int
        Width and height of the window whose smallest and largest disparity limit the
        search, in pixels of the smaller image.

    Returns
    -------
    Estimate
        That of the full size.

    Raises
    ------
    ParameterError
        `octaves` or `size` below 1, or a negative margin.

    Notes
    -----
    Quam 1987 warps one image by the map of the next smaller size and searches for what is left; Rothermel et al. 2012 narrow the range of each pixel
    instead to what a window of the smaller map shows, as is done here. Ranges end at whole levels. The pixels that a window shows nothing of are searched in the pair's own range, and so are
    those that have no open cell in what the window shows. Thin objects that vanish at half the size stay lost unless the margin reaches them. Costs are
    computed at all levels of the search, and closed where they lie out of a pixel's range: the scheme serves accuracy, not speed.
    """
    if octaves > 1:
        half = pair.reduced(2)
        coarse = pyramid(solve, half, octaves=octaves - 1, margin=margin, size=size)
        pair = narrowed(pair, *spread(coarse.disparity, pair.search, pair.shape, margin, size))
    return solve(pair)


def spread(
    coarse: Disparity, search: SearchRange, shape: tuple[int, int], margin: float, size: int
) -> tuple[Disparity, Disparity]:
    """The range of each pixel of a pair, from the map of the pair at half the size.

    Parameters
    ----------
    coarse : ndarray, float32
        Pixels of the smaller image, NaN = no estimate.
    search : SearchRange
        Of the larger pair.
    shape : (rows, columns)
        Of the larger pair.
    margin, size
        As of `pyramid`.

    Returns
    -------
    low, high : ndarray, float32, (rows, columns)
        Pixels, on levels of the search; NaN where the window holds no estimate.
    """
    known = ~np.isnan(coarse)
    window, anchor = np.ones((size, size), np.uint8), ((size - 1) // 2, (size - 1) // 2)
    lowest = cv2.erode(np.where(known, coarse, _FAR), window, anchor=anchor)
    highest = cv2.dilate(np.where(known, coarse, -_FAR), window, anchor=anchor)
    seen = lowest < _FAR
    # What is rounded outwards in levels stays within the search.
    first = np.floor((2 * lowest - margin - search.minimum) / search.step)
    last = np.ceil((2 * highest + margin - search.minimum) / search.step)
    found = []
    for level in (first, last):
        limit = np.where(
            seen, search.minimum + search.step * np.clip(level, 0, search.levels - 1), np.nan
        ).astype(np.float32)
        found.append(limit.repeat(2, axis=0).repeat(2, axis=1)[: shape[0], : shape[1]])
    return found[0], found[1]


def narrowed(pair: Pair, low: Disparity, high: Disparity) -> Pair:
    """A pair whose pixels are searched from `low` to `high` alone, as far as their own ranges allow; NaN = no limit."""
    mask = pair.mask or SearchMask()
    own_low, own_high = (
        np.full(pair.shape, np.nan, np.float32) if limit is None else limit
        for limit in (mask.low, mask.high)
    )
    new_low, new_high = np.fmax(low, own_low), np.fmin(high, own_high)
    narrow = replace(mask, low=new_low, high=new_high)
    closed = narrow.invalid(pair.search, pair.shape)
    new_low[closed], new_high[closed] = own_low[closed], own_high[closed]
    return replace(pair, mask=narrow)
