"""Tiles: a pair too large for a method, matched in overlapping parts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.pair import Pair
from stereo_framework.core.parameters import require
from stereo_framework.core.scene import Search
from stereo_framework.core.stage import NonNegativeInt, PositiveInt, Unit, stage
from stereo_framework.core.volume import Domain
from stereo_framework.kernels.counting import counted


def _largest(shape: tuple[int, int], search: Search, rows: int, columns: int, overlap: int) -> tuple[int, int]:
    """Rows and columns of the largest pair that tiles make, images widened by the range."""
    height, width = (min(n, math.ceil(n / parts) + 2 * overlap) for n, parts in zip(shape, (rows, columns), strict=True))
    return height, min(shape[1], width + sum(_widened(search)))


def _widened(search: Search) -> tuple[int, int]:
    """How many columns left and right of a part its candidates lie."""
    shifts = [-search.direction * d for d in (search.minimum, search.maximum)]
    # At fractions of a pixel, cells less than a pixel from the border count as out of view.
    more = int(search.denominator > 1)
    return max(0, math.ceil(-min(shifts)) + more), max(0, math.ceil(max(shifts)) + more)


@stage("scheme", source="Hirschmueller 2008, section 2.6", largest=_largest)
def tiles(
    solve: Callable[[Pair], Any],
    pair: Pair,
    *,
    rows: PositiveInt = 2,
    columns: PositiveInt = 2,
    overlap: Annotated[NonNegativeInt, Unit("pixels")] = 96,
) -> Any:
    """Match the pair in parts that overlap, one after the other, and put their maps together.

    Parameters
    ----------
    solve : callable
        Matches a pair.
    pair : Pair
    rows, columns : int
        How many tiles stand below and beside each other.
    overlap : int
        How far a tile reaches beyond the pixels that it decides.

    Returns
    -------
    Match
        Each pixel has the disparity, status and confidence that the tile around it gives; there are no labels and no energy. The confidence `tiles` is
        minus the largest difference, in pixels, between the tiles that a pixel lies in, and minus the width of the search range where one of
        them has an estimate and another one has none.

    Raises
    ------
    ParameterError
        `rows` or `columns` below 1, or a negative overlap.

    Notes
    -----
    Hirschmueller 2008 matches huge images in overlapping tiles and blends their maps. Here each pixel keeps the disparity of one tile, so that none
    becomes one that nobody has found. Both images are cut at the same columns, further by the search range than the tile's overlap, so that every pixel sees all of
    its candidates. A stage that looks at the whole image (energies, regions, segments) sees the tile's part of it: the minimum of an
    energy is that of each tile.
    """
    require(tiles, rows=rows, columns=columns, overlap=overlap)
    width = pair.search.maximum - pair.search.minimum
    grid = list(itertools.product(_spans(pair.shape[0], rows, overlap), _spans(pair.shape[1], columns, overlap)))
    found: dict[str, NDArray] = {}
    memory: list[float | None] = []
    messages: list[str] = []
    warnings: list[str] = []
    least, most = (np.full(pair.shape, fill, np.float32) for fill in (np.inf, -np.inf))
    for i in counted(len(grid), "tile"):
        core, seen, within = zip(*grid[i], strict=True)
        part, place = _cut(pair, *seen)
        match = solve(part)
        memory, messages, warnings = [*memory, match.memory], [*messages, match.messages], [*warnings, *match.warnings]
        for name, values in {"disparity": match.disparity, "status": match.status, **match.confidence}.items():
            found.setdefault(name, np.empty(pair.shape, values.dtype))[core] = values[place][within]
        estimates = match.disparity[place]
        # What has no estimate lies a whole range below all others.
        estimates = np.where(np.isnan(estimates), np.float32(pair.search.minimum - width), estimates)
        least[seen], most[seen] = np.minimum(least[seen], estimates), np.maximum(most[seen], estimates)
    return replace(
        match,
        disparity=found.pop("disparity"),
        status=found.pop("status"),
        confidence={**found, "tiles": np.maximum(least - most, np.float32(-width))},
        search=pair.search,
        memory=max((one for one in memory if one is not None), default=None),
        messages="\n".join(filter(None, messages)),
        warnings=tuple(dict.fromkeys(warnings)),
        trace=(),
        **dict.fromkeys(("labels", "volume", "energy", "objective", "lower_bound")),
    )


class _Span(NamedTuple):
    """The rows or columns of a tile: those that it decides, those that it is matched on, and where the first lie among the second."""

    core: slice
    seen: slice
    within: slice


def _spans(length: int, parts: int, overlap: int) -> list[_Span]:
    ends = [length * i // min(parts, length) for i in range(min(parts, length) + 1)]
    seen = [(max(0, a - overlap), min(length, b + overlap)) for a, b in itertools.pairwise(ends)]
    return [
        _Span(slice(a, b), slice(*s), slice(a - s[0], b - s[0])) for (a, b), s in zip(itertools.pairwise(ends), seen, strict=True)
    ]


def _cut(pair: Pair, rows: slice, columns: slice) -> tuple[Pair, tuple[slice, slice]]:
    """A part of a pair, as many columns wider as the candidates lie apart, and where the part lies in it."""
    left, right = _widened(pair.search)
    first, last = max(0, columns.start - left), min(pair.shape[1], columns.stop + right)

    def cut(array: NDArray) -> NDArray:
        return np.ascontiguousarray(array[rows, first:last])

    domain = pair.domain and Domain(**{name: None if limit is None else cut(limit) for name, limit in vars(pair.domain).items()})
    place = slice(None), slice(columns.start - first, columns.stop - first)
    return Pair(cut(pair.reference), cut(pair.match), pair.search, domain), place
