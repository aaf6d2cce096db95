"""Tiles: a pair too large for a method, matched in overlapping parts, each within the disparities that a small map shows there."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.stage import NonNegative, NonNegativeInt, Pair, PositiveInt, Search, SearchMask, Status, Unit, stage
from stereo_framework.kernels.counting import counted

_KNOWN = 0.25
"""Share of a tile's pixels that the small map must know; a tile of which it knows less is searched at all disparities."""

_SPECKLE = 1 / 4000
"""Surfaces of the small map with at most this share of a tile's pixels are taken for chance matches, and widen no tile's search."""


def _largest(shape: tuple[int, int], search: Search, size: int, overlap: int, factor: int, margin: float) -> tuple[int, int]:
    """Rows and columns of the largest pair that tiles make, where one of them is searched at all disparities."""
    height, width = (max(s.seen.stop - s.seen.start for s in _spans(n, size, overlap)) for n in shape)
    return height, min(shape[1], width + math.ceil(search.maximum - search.minimum) + 3)


@stage("scheme", source="Hirschmueller 2008, section 2.6; Rothermel et al. 2012", memory=_largest)
def tiles(
    solve: Callable[[Pair], Any],
    pair: Pair,
    *,
    size: Annotated[PositiveInt, Unit("pixels")] = 1024,
    overlap: Annotated[NonNegativeInt, Unit("pixels")] = 64,
    factor: PositiveInt = 4,
    margin: Annotated[NonNegative, Unit("pixels")] = 6.0,
) -> Any:
    """Match the pair in parts that overlap, one after the other, and put their maps together.

    Parameters
    ----------
    solve : callable
        Matches a pair.
    pair : Pair
    size : int
        About how many rows and columns a tile decides: all are of one size, which divides the image.
    overlap : int
        How far a tile reaches beyond the pixels that it decides.
    factor : int
        The whole pair is matched at 1/factor of its size first, and each tile is searched at the disparities found there alone; 1: every tile at all
        disparities.
    margin : float
        How far beyond these disparities a tile is searched, in pixels of the pair.

    Returns
    -------
    Match
        Each pixel has the disparity, status and confidence that the tile around it gives; there are no levels and no energy. The confidence `tiles` is
        minus the largest difference, in pixels, between the tiles that a pixel lies in, and minus the width of the search range where one of
        them has an estimate and another one has none.

    Raises
    ------
    ParameterError
        `size` or `factor` below 1, a negative overlap or margin.

    Notes
    -----
    Hirschmueller 2008 matches huge images in overlapping tiles and blends their maps. Here each pixel keeps the disparity of one tile, so that none
    becomes one that nobody has found. That a smaller map narrows the search is from Rothermel et al. 2012, there for each pixel. A tile's match image is cut
    where its own smallest disparity points, so that both images are wider than the tile by the width of its range alone. Where the small map knows less than a
    quarter of a tile's pixels, the tile is searched at all disparities; its surfaces of less than 1/4000 of a tile are taken for chance matches. A stage that looks at the whole image (energies, regions, segments) sees the
    tile's part of it: the minimum of an energy is that of each tile.
    """
    width = pair.search.maximum - pair.search.minimum
    small = solve(pair.reduced(factor)) if factor > 1 else None
    surfaces = None if small is None else _surfaces(small, (size / factor) ** 2)
    grid = list(itertools.product(*(_spans(n, size, overlap) for n in pair.shape)))
    found: dict[str, NDArray] = {}
    matches = [] if small is None else [small]
    least, most = (np.full(pair.shape, fill, np.float32) for fill in (np.inf, -np.inf))
    for i in counted(len(grid), "tile"):
        core, seen, within = zip(*grid[i], strict=True)
        search = pair.search if surfaces is None else _searched(surfaces, pair.search, seen, factor, margin)
        part, place, shift = cut(replace(pair, search=search), *seen)
        match = solve(part)
        disparity = match.disparity[place] + np.float32(shift)
        for name, values in {"status": match.status, **match.confidence}.items():
            found.setdefault(name, np.empty(pair.shape, values.dtype))[core] = values[place][within]
        found.setdefault("disparity", np.empty(pair.shape, np.float32))[core] = disparity[within]
        # What has no estimate lies a whole range below all others.
        estimates = np.where(np.isnan(disparity), np.float32(pair.search.minimum - width), disparity)
        least[seen], most[seen] = np.minimum(least[seen], estimates), np.maximum(most[seen], estimates)
        matches.append(replace(match, disparity=None, status=None, levels=None, volume=None, confidence={}))  # only words stay
    return replace(
        match,
        disparity=found.pop("disparity"),
        status=found.pop("status"),
        confidence={**found, "tiles": np.maximum(least - most, np.float32(-width))},
        search=pair.search,
        memory=max((one.memory for one in matches if one.memory is not None), default=None),
        messages="\n".join(filter(None, (one.messages for one in matches))),
        warnings=_told_once(warning for one in matches for warning in one.warnings),
        trace=(),
        **dict.fromkeys(("levels", "volume", "energy", "objective", "lower_bound")),
    )


def _told_once(warnings: Iterable[str]) -> tuple[str, ...]:
    """Of warnings that differ in their numbers alone the one that sorts last."""
    told: dict[str, str] = {}
    for warning in warnings:
        kind = re.sub(r"[\d.]+", "", warning)
        told[kind] = max(warning, told.get(kind, ""))
    return tuple(told.values())


class _Span(NamedTuple):
    """The rows or columns of a tile: those that it decides, those that it is matched on, and where the first lie among the second."""

    core: slice
    seen: slice
    within: slice


def _spans(length: int, size: int, overlap: int) -> list[_Span]:
    parts = max(1, round(length / size))
    ends = [length * i // parts for i in range(parts + 1)]
    seen = [(max(0, a - overlap), min(length, b + overlap)) for a, b in itertools.pairwise(ends)]
    return [
        _Span(slice(a, b), slice(*s), slice(a - s[0], b - s[0])) for (a, b), s in zip(itertools.pairwise(ends), seen, strict=True)
    ]


def _surfaces(small: Any, area: float) -> NDArray[np.float32]:
    """A map where it was matched, without speckles, for tiles of an area; NaN elsewhere."""
    import cv2

    # OpenCV's speckles are those of whole numbers.
    nothing = np.iinfo(np.int16).min
    matched = np.where(small.status == Status.MATCHED, np.nan_to_num(small.disparity, nan=nothing), nothing)
    kept = np.rint(matched).astype(np.int16)
    cv2.filterSpeckles(kept, nothing, int(_SPECKLE * min(area, kept.size)), 1)
    return np.where(kept > nothing, small.disparity, np.float32(np.nan))


def _searched(surfaces: NDArray, search: Search, seen: tuple[slice, slice], factor: int, margin: float) -> Search:
    """The part of a search range that the map of the smaller pair shows in a tile, with a margin; all of it where the map knows too little."""
    part = surfaces[tuple(slice(one.start // factor, -(-one.stop // factor)) for one in seen)]
    known = part[np.isfinite(part)]
    if known.size < _KNOWN * part.size:
        return search
    # Levels of the search, as many between whole pixels as there, and at least two.
    every = search.denominator
    first, last = (
        (d - search.minimum) / search.step / every for d in (factor * known.min() - margin, factor * known.max() + margin)
    )
    low = min(max(0, math.floor(first) * every), (search.levels - 2) // every * every)
    high = max(min(search.levels - 1, math.ceil(last) * every), low + 1)
    return replace(search, minimum=search.minimum + low * search.step, maximum=search.minimum + high * search.step)


def cut(pair: Pair, rows: slice, columns: slice) -> tuple[Pair, tuple[slice, slice], int]:
    """A part of a pair with all its candidates.

    Returns
    -------
    part : Pair
        Its match image begins where the smallest disparity points, as far as that lies in the image.
    place : (slice, slice)
        Where the rows and columns asked for lie in it.
    shift : int
        What its disparities lack to those of `pair`, pixels.
    """
    search, width = pair.search, pair.shape[1]
    near, far = sorted(search.direction * d for d in (search.minimum, search.maximum))
    # At fractions of a pixel, cells less than a pixel from the border count as out of view.
    more = int(search.denominator > 1)
    start, stop = max(0, columns.start - math.ceil(far) - more), min(width, columns.stop - math.floor(near) + more)
    # How many columns the match image is moved by: as far as both cuts lie within the images.
    moved = min(max(math.floor(near), -start, columns.stop - width), columns.start, width - stop)
    first, last = min(columns.start, start + moved), max(columns.stop, stop + moved)
    shift = search.direction * moved
    seen = {"": slice(first, last), "match_": slice(first - moved, last - moved)}

    def part_of(array: NDArray, side: str) -> NDArray:
        return np.ascontiguousarray(array[rows, seen[side]])

    limits: dict[str, Any] = {}
    for name, limit in vars(pair.mask).items() if pair.mask else ():
        one = None if limit is None else part_of(limit, "match_" * name.startswith("match_"))
        limits[name] = one if one is None or one.dtype == bool else one - np.float32(shift)
    part = Pair(
        part_of(pair.reference, ""),
        part_of(pair.match, "match_"),
        replace(search, minimum=search.minimum - shift, maximum=search.maximum - shift),
        SearchMask(**limits) if pair.mask else None,
    )
    return part, (slice(None), slice(columns.start - first, columns.stop - first)), shift
