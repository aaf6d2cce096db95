"""Coarse to fine: a map of the pair at half the size says where to search at the full one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np

from stereo_framework.kernels.filling import fill_rows
from stereo_framework.kernels.windows import window_minimum
from stereo_framework.pair import Pair
from stereo_framework.parameters import require
from stereo_framework.scene import Disparity, Search
from stereo_framework.stage import NonNegative, PositiveInt, Unit, stage
from stereo_framework.volume import Domain


def _widest(total: int, levels: int, margin: float, window: int, width: int | None) -> int:
    """Levels of a compact volume of the full size that holds as many cells as the largest volume of the pyramid."""
    if levels == 1 or width is None:
        return total
    # The smallest pair is searched whole: with two sizes an eighth of all cells.
    return min(total, max(width, -(-total // 8)))


@stage("scheme", source="Quam 1987", widest=_widest)
def pyramid(
    solve: Callable[[Pair], Any],
    pair: Pair,
    views: Callable[[Pair], Sequence[Any]] | None = None,
    *,
    levels: PositiveInt = 3,
    margin: Annotated[NonNegative, Unit("pixels")] = 2.0,
    window: Annotated[PositiveInt, Unit("pixels")] = 9,
    width: Annotated[PositiveInt, Unit("levels")] | None = None,
) -> Any:
    """Match the pair at half the size first, and search each pixel near the disparities found there.

    Parameters
    ----------
    solve : callable
        Matches a pair.
    pair : Pair
        Its domain, if it has one, holds at every size.
    views : callable, optional
        Matches both views of a pair, for a method that looks at both: with a width each then has a range from its own map.
    levels : int
        Sizes at which the pair is matched, in halvings plus the full size; 1: no coarser one.
    margin : float
        How far beyond the disparities found at half the size a pixel is searched, in pixels of the larger image.
    window : int
        Width and height, in pixels of the smaller image, of the window whose smallest and largest disparity limit the search.
    width : int, optional
        How many levels each pixel is searched at, so that volumes are compact; a pair whose search has no more is matched whole, without smaller ones. null: the
        levels that its window asks for, as many as they may be.

    Returns
    -------
    Match
        That of the full size.

    Raises
    ------
    ParameterError
        `levels`, `window` or `width` below 1, or a negative margin.

    Notes
    -----
    Quam 1987 warps one image by the map of the next smaller size and searches for what is left; here the range of each pixel's own is narrowed, so that the
    levels stay those of the search range. Ranges end at whole levels. With a width each has just as many: one that is narrower is widened to both sides, since a wider
    search does no harm, and one that is wider keeps those levels around what was found at the pixel itself. So the widest range, at
    the edge of a near surface, does not decide what all others take, and time and memory of a method whose stages take compact volumes fall with the
    width. The pixels that a window shows nothing of are searched, with a width, near the farther of the next estimates in their row, without it in the pair's own range, and so are
    those whose own range the window does not reach. Thin objects that vanish at half the size stay lost unless the margin or the width reaches them.
    """
    require(pyramid, levels=levels, window=window, margin=margin, width=width)
    pairs = [pair]
    while len(pairs) < levels and (width is None or pairs[-1].search.levels > width):
        pairs.append(pairs[-1].reduced(2))
    found = None
    while pairs:
        one = pairs.pop()
        if found is not None:
            limits = [spread(match.disparity, one.search, one.shape, margin, window, width) for match in found]
            one = narrowed(one, *(limit for two in limits for limit in two))
        if pairs:
            found = (solve(one),) if views is None or width is None else views(one)
    return solve(one)


def spread(
    coarse: Disparity, search: Search, shape: tuple[int, int], margin: float, window: int, width: int | None = None
) -> tuple[Disparity, Disparity]:
    """The range of each pixel of a pair, from the map of the pair at half the size.

    Parameters
    ----------
    coarse : ndarray, float32
        Pixels of the smaller image, NaN = no estimate.
    search : Search
        Of the larger pair.
    shape : (rows, columns)
        Of the larger pair.
    margin, window, width
        As of `pyramid`.

    Returns
    -------
    low, high : ndarray, float32, (rows, columns)
        Pixels, on levels of the search; NaN where the window holds no estimate.
    """
    if width is not None:
        coarse = _filled(coarse)
    known = ~np.isnan(coarse)
    lowest = window_minimum(np.where(known, coarse, np.float32(np.inf))[..., None], window)[..., 0]
    highest = -window_minimum(np.where(known, -coarse, np.float32(np.inf))[..., None], window)[..., 0]
    seen = np.isfinite(lowest)
    # What is rounded outwards in levels stays within the search.
    first = np.clip(np.floor((2 * lowest - margin - search.minimum) / search.step), 0, search.levels - 1)
    last = np.clip(np.ceil((2 * highest + margin - search.minimum) / search.step), 0, search.levels - 1)
    if width is not None:
        around = np.rint((2 * coarse - search.minimum) / search.step) - width // 2
        narrow = last - first < width
        first = np.where(narrow, first - (width - 1 - (last - first)) // 2, np.clip(around, first, last - width + 1))
        first = np.clip(first, 0, search.levels - width)
        last = first + (width - 1)
    found = []
    for level in (first, last):
        limit = np.where(seen, search.minimum + search.step * level, np.nan).astype(np.float32)
        found.append(limit.repeat(2, axis=0).repeat(2, axis=1)[: shape[0], : shape[1]])
    return found[0], found[1]


def _filled(disparity: Disparity) -> Disparity:
    """A map filled from the background along its rows, and where those show nothing along its columns."""
    rows = fill_rows(disparity)
    return np.ascontiguousarray(fill_rows(np.ascontiguousarray(rows.T)).T)


def narrowed(pair: Pair, *limits: Disparity) -> Pair:
    """A pair whose pixels are searched within limits alone, as far as their own ranges allow.

    `limits` are the smallest and the largest disparity of each reference pixel and, where they are known, of each match pixel; NaN = no limit.
    """
    domain = pair.domain or Domain()
    found: dict[str, Any] = {}
    for low, high, names in zip(limits[::2], limits[1::2], (("low", "high"), ("match_low", "match_high")), strict=False):
        own_low, own_high = (
            np.full(pair.shape, np.nan, np.float32) if limit is None else limit for limit in (getattr(domain, n) for n in names)
        )
        new_low, new_high = np.fmax(low, own_low), np.fmin(high, own_high)
        empty = new_low > new_high
        new_low[empty], new_high[empty] = own_low[empty], own_high[empty]
        found |= dict(zip(names, (new_low, new_high), strict=True))
    return replace(pair, domain=replace(domain, **found))
