"""Coarse to fine: a map of the pair at half the size says where to search at the full one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import require
from stereo_framework.core.scene import Disparity, Search
from stereo_framework.core.stage import NonNegative, PositiveInt, Unit, stage
from stereo_framework.core.volume import Domain
from stereo_framework.kernels.blocks import ALL_BLOCKS, block_size, count_blocks
from stereo_framework.kernels.filling import fill_rows

Blocks = NDArray[np.uint64]


def _widest(total: int, levels: int, margin: float, window: int, width: int | None) -> int:
    """Levels of a compact volume of the full size that holds as many cells as the largest volume of the pyramid."""
    # More than half of the levels are not worth a compact volume, see `Domain.held`.
    if levels == 1 or width is None or 2 * width > total:
        return total
    # The smallest pair is searched whole: with two sizes an eighth of all cells.
    return min(total, max(width, -(-total // 8)))


@stage("scheme", source="Quam 1987; Rothermel et al. 2012", widest=_widest)
def pyramid(
    solve: Callable[[Pair], Any],
    pair: Pair,
    views: Callable[[Pair], Sequence[Any]] | None = None,
    *,
    levels: PositiveInt = 3,
    margin: Annotated[NonNegative, Unit("pixels")] = 2.0,
    window: Annotated[PositiveInt, Unit("pixels")] = 25,
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
        Matches both views of a pair, for a method that looks at both: then the pixels of each image are searched near its own map.
    levels : int
        Sizes at which the pair is matched, in halvings plus the full size; 1: no coarser one.
    margin : float
        How far around a disparity found at half the size a pixel is searched, in pixels of the larger image.
    window : int
        Width and height, in pixels of the smaller image, of the window around a pixel whose disparities are all searched.
    width : int, optional
        How many levels a pixel is searched at on average at most, so that memory is known beforehand: where the window finds more, it is made smaller. A pair
        whose search has no more levels is matched whole, without smaller ones. null: as many as the window finds.

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
    Quam 1987 warps one image by the map of the next smaller size and searches for what is left; Rothermel et al. 2012 narrow the range of each pixel
    instead to what a window of the smaller map shows, as is done here. The window's disparities are not joined to one range: a pixel at the edge of a building is searched near
    the roof and near the ground and not between. Levels are taken in blocks of 8, or more where the search has more than 512 (`Domain.blocks`). A method whose stages
    all take compact volumes holds those levels alone, so that its time and memory fall with them; with any other one the other levels are closed.

    What the smaller map does not know is filled from the background along its rows. Pixels whose own range meets none of the levels found are searched in their whole range.
    Thin objects that vanish at half the size stay lost unless they lie in the window of another one at the same distance. Window and margin were chosen on the ten scenes
    of Middlebury v3 trainingQ.
    """
    require(pyramid, levels=levels, window=window, margin=margin, width=width)
    pairs = [pair]
    while len(pairs) < levels and (width is None or pairs[-1].search.levels > width):
        pairs.append(pairs[-1].reduced(2))
    found: Sequence[Any] = ()
    while pairs:
        one = pairs.pop()
        if found:
            one = narrowed(one, *(near(match.disparity, one.search, one.shape, margin, window, width) for match in found))
        if pairs:
            found = (solve(one),) if views is None else views(one)
    return solve(one)


def near(
    coarse: Disparity, search: Search, shape: tuple[int, int], margin: float, window: int, width: int | None = None
) -> Blocks:
    """The blocks of levels of each pixel of a pair that lie near the disparities of the map of the pair at half the size.

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
    ndarray, uint64, (rows, columns)
        As in `Domain.blocks`; all where the map holds no estimate.
    """
    known = _filled(coarse)
    if np.isnan(known).any():
        return np.full(shape, ALL_BLOCKS)
    size = block_size(search.levels)
    while True:
        # What is rounded outwards in levels stays within the search.
        first, last = (
            np.clip(outwards((2 * known + sign * margin - search.minimum) / search.step), 0, search.levels - 1).astype(np.uint64)
            for outwards, sign in ((np.floor, -1), (np.ceil, 1))
        )
        first, last = first // np.uint64(size), last // np.uint64(size)
        own = (ALL_BLOCKS >> (np.uint64(63) - (last - first))) << first
        blocks = _joined(_joined(own, window).T, window).T
        if width is None or size * count_blocks(blocks) <= width * blocks.size or margin == 0:
            break
        window, margin = max(1, window // 2), margin if window > 1 else 0.0
    return np.ascontiguousarray(blocks.repeat(2, axis=0).repeat(2, axis=1)[: shape[0], : shape[1]])


def _filled(disparity: Disparity) -> Disparity:
    """A map filled from the background along its rows, and where those show nothing along its columns."""
    rows = fill_rows(disparity)
    return np.ascontiguousarray(fill_rows(np.ascontiguousarray(rows.T)).T)


def _joined(blocks: Blocks, window: int) -> Blocks:
    """The blocks that any pixel of a window of so many rows has."""
    before, after = (window - 1) // 2, window // 2
    found, reach = np.pad(blocks, ((before, after), (0, 0))), 1
    while reach < window:
        further = min(reach, window - reach)
        found = found[: len(found) - further] | found[further:]
        reach += further
    return found


def narrowed(pair: Pair, *found: Blocks) -> Pair:
    """A pair whose pixels are searched at some blocks of levels alone, as far as their own ranges allow.

    `found` are the blocks of the reference pixels and, where they are known, of the match pixels.
    """
    domain, search = pair.domain or Domain(), pair.search
    if len(found) > 1:
        other = domain.exchanged(search)
        domain = replace(domain, match_low=other.low, match_high=other.high, match_blocks=other.blocks)
    blocks = _within(Domain(low=domain.low, high=domain.high, blocks=domain.blocks), search, found[0])
    match_blocks = domain.match_blocks
    if len(found) > 1:
        own = Domain(low=domain.match_low, high=domain.match_high, blocks=match_blocks)
        match_blocks = _within(own, search, found[1])
    return replace(pair, domain=replace(domain, blocks=blocks, match_blocks=match_blocks))


def _within(own: Domain, search: Search, found: Blocks) -> Blocks:
    """Those blocks that pixels may have by their own domain, or all of them that they may have where these are none."""
    allowed = np.full(found.shape, ALL_BLOCKS) if own.blocks is None else own.blocks
    both = found & allowed
    empty = both == 0
    if own.low is not None or own.high is not None:
        empty |= replace(own, blocks=both).invalid(search, both.shape)
    return np.where(empty, allowed, both) if empty.any() else both
