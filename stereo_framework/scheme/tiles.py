"""Tiles: a pair too large for a method, matched in overlapping parts, each within the disparities that a small map shows there."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.other_frames import changed_frames
from stereo_framework.kernels.filling import fill_rows
from stereo_framework.kernels.progress import counted
from stereo_framework.stages import (
    NonNegative,
    NonNegativeInt,
    Pair,
    PositiveInt,
    SearchMask,
    SearchRange,
    Status,
    Unit,
    stage,
)

_MATCHED_SHARE = 0.25
"""Share of a tile's pixels that must be matched in the reduced pair.

Pixels that the target image does not show are not counted. If fewer pixels are matched,
the tile is searched over the whole range.
"""

_SPECKLE = 1 / 4000
"""Surfaces of the small map with at most this share of a tile's pixels are taken for chance matches, and widen no tile's search."""

_GAP = 2.0
"""Disparity difference between an occluded and an occluding surface, in reduced pixels.

A smaller difference does not separate two surfaces, because one slanted surface has it too.
"""


_FEWEST_ROWS = 16
"""Smallest number of rows into which a tile is divided.

Fewer rows would hold too little of the image for the stages of a method.
"""


def _largest(
    shape: tuple[int, int],
    search: SearchRange,
    tile_size: int,
    overlap: int,
    reduction: int,
    margin: float,
) -> tuple[int, int]:
    """Return the rows and columns of the largest pair that is matched for a tile.

    This tile is searched over the whole range. Unshown pixels add no columns, because a tile
    that they make larger is divided by rows.
    """
    rows, columns = shape
    height = max(_length(span.seen) for span in _spans(rows, tile_size, overlap))
    width = max(_length(span.seen) for span in _spans(columns, tile_size, overlap))
    near, far = _find_offsets(search)
    extent = far - near
    # At the border, a tile contains the pixels x < far with all their rivals.
    largest_width = max(width + extent, far + extent, extent - near)
    # Whole pixels, and cells at fractions of a pixel, add at most three columns.
    return height, min(columns, math.ceil(largest_width) + 3)


@stage("scheme", source="Hirschmueller 2008, section 2.6; Rothermel et al. 2012", memory=_largest)
def tiles(
    solve: Callable[[Pair], Any],
    pair: Pair,
    *,
    tile_size: Annotated[PositiveInt, Unit("pixels")] = 1024,
    overlap: Annotated[NonNegativeInt, Unit("pixels")] = 64,
    reduction: PositiveInt = 4,
    margin: Annotated[NonNegative, Unit("pixels")] = 6.0,
) -> Any:
    """Match the pair in overlapping parts, one after the other, and assemble their maps.

    Parameters
    ----------
    solve : callable
        Matches a pair.
    pair : Pair
    tile_size : int
        Approximate number of rows and of columns that a tile decides. All tiles have
        the same size, so that they divide the image evenly.
    overlap : int
        Number of pixels by which a tile extends beyond the pixels that it decides.
    reduction : int
        Number by which the rows and columns of the pair that is matched first are
        divided. Each tile is then searched only at the disparities of this reduced pair.
        With reduction 1, no reduced pair is matched, and every tile is searched over the
        whole range.
    margin : float
        Distance in pixels of the pair by which a tile's search range extends beyond the
        disparities of the reduced pair.

    Returns
    -------
    Estimate
        Each pixel has the disparity, status and confidence of the tile that decides it.
        There are no levels and no energy. The confidence `tiles` is minus the largest
        difference, in pixels, between the tiles that contain a pixel. It is minus the
        width of the search range if one tile has an estimate and another tile has none.

    Raises
    ------
    ParameterError
        `tile_size` or `reduction` is below 1, or `overlap` or `margin` is negative.

    Notes
    -----
    Hirschmueller 2008 matches huge images in overlapping tiles and blends their maps.
    Here, each pixel keeps the disparity of one tile, because a blend of two disparities
    is a disparity that no tile has found. The reduced pair is from Rothermel et al.
    2012, who narrow the search range of each pixel with it.

    A tile is searched at the disparities that its pixels have in the reduced pair.
    Surfaces of less than 1/4000 of a tile are ignored as chance matches. If a pixel is
    not matched in the reduced pair, the nearest surface in its row, or the farther one
    of two, is continued to the pixel. If the target image does not show this surface,
    because it lies outside the image or behind a nearer surface, the pixel counts as
    unshown, and the disparities of both surfaces join the tile's range. If fewer than a
    quarter of the other pixels are matched, the tile is searched over the whole range.

    The target image of a tile is cut where the tile's smallest disparity points, so that
    both images are wider than the tile by the width of the range only. An unshown pixel
    can be confused with any of its candidates. Therefore, a tile that decides unshown
    pixels is widened until it contains the true correspondence of each such candidate;
    the left-right consistency check then rejects the wrong surface. At the border that
    the target image does not show, a tile is always widened in this way. If a widened
    tile would need more memory than any other tile, it is divided by rows.

    If the pair has further frames, all images of a tile have the same columns, which
    contain the candidates in all frames. Such tiles can be wider than the largest tile
    of two images, and can need more memory.

    If a stage uses the whole image (energies, regions, segments), it sees the tile's part
    of the image: an energy is minimized for each tile.
    """
    mosaic = _Mosaic(pair)
    surfaces = None
    if reduction > 1:
        reduced_estimate = solve(pair.reduced(reduction))
        mosaic.remarks.append(reduced_estimate)
        tile_area = (tile_size / reduction) ** 2
        surfaces = _find_surfaces(reduced_estimate, tile_area, pair.search.direction)

    largest_part = _largest(pair.shape, pair.search, tile_size, overlap, reduction, margin)
    most_cells = math.prod(largest_part) * pair.search.levels
    divider = _TileDivider(
        pair, surfaces, overlap=overlap, reduction=reduction, margin=margin, most_cells=most_cells
    )
    rows, columns = pair.shape
    parts: list[_Part] = []
    for row_span, column_span in itertools.product(
        _spans(rows, tile_size, overlap), _spans(columns, tile_size, overlap)
    ):
        parts += divider.parts_of(row_span, column_span)

    for i in counted(len(parts), "tile"):
        part = parts[i]
        window = part.rows.seen, part.columns.seen
        tile, place, shift = cut(replace(pair, search=part.search), window, part.reach)
        mosaic.add(part, solve(tile), place, shift)
    return mosaic.assemble()


class _Mosaic:
    """Maps of a pair that are assembled from the estimates of its tiles."""

    def __init__(self, pair: Pair) -> None:
        self.search = pair.search
        self.shape = pair.shape
        self.maps: dict[str, NDArray] = {}
        self.smallest = np.full(pair.shape, np.inf, np.float32)
        self.largest = np.full(pair.shape, -np.inf, np.float32)
        self.remarks: list[Any] = []

    @property
    def _range_width(self) -> float:
        return self.search.maximum - self.search.minimum

    def add(self, part: _Part, estimate: Any, place: tuple[slice, slice], shift: int) -> None:
        """Copy the pixels that a part decides, and compare the part with its neighbours."""
        core = part.rows.core, part.columns.core
        within = part.rows.within, part.columns.within
        disparity = estimate.disparity[place] + np.float32(shift)
        self._get_map("disparity", np.dtype(np.float32))[core] = disparity[within]
        for name, values in {"status": estimate.status, **estimate.confidence}.items():
            self._get_map(name, values.dtype)[core] = values[place][within]

        # A missing estimate differs from any disparity by at least the range's width.
        missing = np.float32(self.search.minimum - self._range_width)
        comparable = np.where(np.isnan(disparity), missing, disparity)
        window = part.rows.seen, part.columns.seen
        self.smallest[window] = np.minimum(self.smallest[window], comparable)
        self.largest[window] = np.maximum(self.largest[window], comparable)
        # The arrays of finished tiles would fill the memory.
        self.remarks.append(
            replace(estimate, disparity=None, status=None, levels=None, volume=None, confidence={})
        )

    def _get_map(self, name: str, dtype: np.dtype) -> NDArray:
        if name not in self.maps:
            self.maps[name] = np.empty(self.shape, dtype)
        return self.maps[name]

    def assemble(self) -> Any:
        """Return the estimate of the whole pair after all tiles were added."""
        confidence = {
            name: values
            for name, values in self.maps.items()
            if name not in ("disparity", "status")
        }
        difference = self.smallest - self.largest
        confidence["tiles"] = np.maximum(difference, np.float32(-self._range_width))
        memory = [estimate.memory for estimate in self.remarks if estimate.memory is not None]
        messages = [estimate.messages for estimate in self.remarks if estimate.messages]
        warnings = itertools.chain.from_iterable(estimate.warnings for estimate in self.remarks)
        return replace(
            self.remarks[-1],
            disparity=self.maps["disparity"],
            status=self.maps["status"],
            confidence=confidence,
            search=self.search,
            memory=max(memory, default=None),
            messages="\n".join(messages),
            warnings=_without_repeated_warnings(warnings),
            trace=(),
            levels=None,
            volume=None,
            energy=None,
            objective=None,
            lower_bound=None,
        )


def _without_repeated_warnings(warnings: Iterable[str]) -> tuple[str, ...]:
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


def _spans(length: int, tile_size: int, overlap: int) -> list[_Span]:
    parts = max(1, round(length / tile_size))
    ends = [length * i // parts for i in range(parts + 1)]
    seen = [(max(0, a - overlap), min(length, b + overlap)) for a, b in itertools.pairwise(ends)]
    return [
        _Span(slice(a, b), slice(*s), slice(a - s[0], b - s[0]))
        for (a, b), s in zip(itertools.pairwise(ends), seen, strict=True)
    ]


def _length(span: slice) -> int:
    return span.stop - span.start


def _halve(span: _Span, overlap: int) -> tuple[_Span, _Span]:
    """Divide a span into two spans that overlap like tiles, but at most by a half."""
    core, seen = span.core, span.seen
    middle = (core.start + core.stop) // 2
    # A larger overlap than the half itself would not make the halves smaller.
    inner_overlap = min(overlap, middle - core.start)
    stop = min(seen.stop, middle + inner_overlap)
    start = max(seen.start, middle - inner_overlap)
    upper = _Span(
        slice(core.start, middle),
        slice(seen.start, stop),
        slice(core.start - seen.start, middle - seen.start),
    )
    lower = _Span(
        slice(middle, core.stop), slice(start, seen.stop), slice(middle - start, core.stop - start)
    )
    return upper, lower


class _Part(NamedTuple):
    """A tile or some rows of a tile, with the range and the columns that it is matched on.

    `reach` holds the columns of the reference image that the part must contain.
    """

    rows: _Span
    columns: _Span
    search: SearchRange
    reach: slice


class _Surfaces(NamedTuple):
    """Disparities of the reduced pair, float32 (rows, columns); NaN = no such surface.

    `matched` holds the matched pixels. The pixels of `unshown` are not shown by the target
    image; their disparity is that of the surface which is continued to them. `occluding`
    holds the disparity of the nearer surface that occludes an unshown pixel. `shown` is True
    at the pixels that can be matched: they are neither unshown nor masked out.
    """

    matched: NDArray[np.float32]
    unshown: NDArray[np.float32]
    occluding: NDArray[np.float32]
    shown: NDArray[np.bool_]


def _find_surfaces(estimate: Any, tile_area: float, direction: int) -> _Surfaces:
    """Find the matched and the unshown surfaces in the estimate of the reduced pair."""
    matched = _remove_speckles(estimate, tile_area)
    columns = matched.shape[1]
    continued = fill_rows(matched)
    target = np.rint(np.arange(columns) - direction * continued)
    # Comparisons with NaN are false.
    inside = (target >= 0) & (target < columns)
    outside = (target < 0) | (target >= columns)

    # The nearest surface that reaches a pixel of the target image occludes all others.
    y, x = np.nonzero(inside)
    target_x = target[y, x].astype(np.intp)
    nearest = np.full(matched.shape, -np.inf, np.float32)
    np.maximum.at(nearest, (y, target_x), continued[y, x])
    front = np.full(matched.shape, np.nan, np.float32)
    front[y, x] = nearest[y, target_x]

    valid = estimate.status != Status.INVALID
    unmatched = valid & np.isnan(matched)
    occluded = unmatched & (front > continued + _GAP)
    unshown = occluded | (unmatched & outside)
    return _Surfaces(
        matched=matched,
        unshown=np.where(unshown, continued, np.float32(np.nan)),
        occluding=np.where(occluded, front, np.float32(np.nan)),
        shown=valid & ~unshown,
    )


def _remove_speckles(estimate: Any, tile_area: float) -> NDArray[np.float32]:
    """Return the disparities of matched pixels without the smallest surfaces, else NaN."""
    import cv2

    # OpenCV finds speckles only in maps of whole numbers.
    empty = np.iinfo(np.int16).min
    disparity = np.nan_to_num(estimate.disparity, nan=empty)
    matched = np.where(estimate.status == Status.MATCHED, disparity, empty)
    # OpenCV refuses transposed and broadcast arrays.
    levels = np.rint(matched).astype(np.int16, order="C")
    largest_speckle = int(_SPECKLE * min(tile_area, levels.size))
    cv2.filterSpeckles(levels, empty, largest_speckle, 1)
    return np.where(levels > empty, estimate.disparity, np.float32(np.nan))


def _reduce_window(window: tuple[slice, slice], reduction: int) -> tuple[slice, slice]:
    """Return the rows and columns of the reduced pair that contain a part of the pair."""
    rows, columns = window
    reduced_rows = slice(rows.start // reduction, math.ceil(rows.stop / reduction))
    reduced_columns = slice(columns.start // reduction, math.ceil(columns.stop / reduction))
    return reduced_rows, reduced_columns


@dataclass(frozen=True)
class _TileDivider:
    """Rules that give each tile its search range and its columns.

    `most_cells` is the number of cells of the largest cost volume that a tile may have.
    """

    pair: Pair
    surfaces: _Surfaces | None
    overlap: int
    reduction: int
    margin: float
    most_cells: int

    def parts_of(self, rows: _Span, columns: _Span) -> list[_Part]:
        """Return a tile, or several parts of it if the tile would be too large."""
        width = self.pair.shape[1]
        search = self.pair.search
        unshown_columns = None
        if self.surfaces is not None:
            window = rows.seen, columns.seen
            search = _narrow_search(
                self.surfaces,
                search=self.pair.search,
                window=window,
                reduction=self.reduction,
                margin=self.margin,
            )
            unshown_columns = _find_unshown_columns(
                self.surfaces, (rows.core, columns.core), self.reduction
            )

        reach = _widen(columns.seen, unshown_columns, search, width)
        if unshown_columns is None or self._fits(rows, columns, search, reach):
            return [_Part(rows, columns, search, reach)]
        if _length(rows.core) >= 2 * _FEWEST_ROWS:
            upper, lower = _halve(rows, self.overlap)
            return self.parts_of(upper, columns) + self.parts_of(lower, columns)
        return [_Part(rows, columns, search, _widen(columns.seen, None, search, width))]

    def _fits(self, rows: _Span, columns: _Span, search: SearchRange, reach: slice) -> bool:
        frame = _choose_columns(columns.seen, reach, search, self.pair.shape[1])
        return _length(rows.seen) * _length(frame.reference) * search.levels <= self.most_cells


def _narrow_search(
    surfaces: _Surfaces,
    *,
    search: SearchRange,
    window: tuple[slice, slice],
    reduction: int,
    margin: float,
) -> SearchRange:
    """Return the part of the search range that the surfaces of a tile occupy.

    This is the whole range if too few of the pixels are matched that the target image
    shows. A narrower range has the levels of the whole range.
    """
    reduced_window = _reduce_window(window, reduction)
    matched = _select_finite(surfaces.matched[reduced_window])
    unshown = _select_finite(surfaces.unshown[reduced_window])
    occluding = _select_finite(surfaces.occluding[reduced_window])
    disparities = np.concatenate([matched, unshown, occluding])
    shown_pixels = np.count_nonzero(surfaces.shown[reduced_window])
    if disparities.size == 0 or matched.size < _MATCHED_SHARE * shown_pixels:
        return search

    smallest = reduction * float(disparities.min()) - margin
    largest = reduction * float(disparities.max()) + margin
    # Optimizers that take whole pixels first need a range of whole pixels from its minimum.
    stride = search.denominator
    spacing = search.step * stride
    first = math.floor((smallest - search.minimum) / spacing) * stride
    last = math.ceil((largest - search.minimum) / spacing) * stride
    # A search range has at least two levels.
    last_start = (search.levels - 2) // stride * stride
    low = min(max(0, first), last_start)
    high = max(min(search.levels - 1, last), low + 1)
    return replace(
        search,
        minimum=search.minimum + low * search.step,
        maximum=search.minimum + high * search.step,
    )


def _select_finite(disparities: NDArray[np.float32]) -> NDArray[np.float32]:
    return disparities[np.isfinite(disparities)]


def _find_unshown_columns(
    surfaces: _Surfaces, core: tuple[slice, slice], reduction: int
) -> slice | None:
    """Return the columns from the first to the last unshown pixel that a tile decides."""
    reduced_core = _reduce_window(core, reduction)
    columns = np.flatnonzero(np.isfinite(surfaces.unshown[reduced_core]).any(axis=0))
    if not columns.size:
        return None
    left = reduced_core[1].start
    first = (left + int(columns[0])) * reduction
    last = (left + int(columns[-1]) + 1) * reduction
    return slice(max(first, core[1].start), min(last, core[1].stop))


def _widen(columns: slice, unshown_columns: slice | None, search: SearchRange, width: int) -> slice:
    """Widen a tile so that its unshown pixels are not matched with a wrong surface.

    An unshown pixel x may be matched with a pixel x' of the target image, from x - far to
    x - near. The true correspondence of x' lies from x' + near to x' + far. If the tile
    contains it, both pixels compete for x', and the left-right consistency check decides.

    Parameters
    ----------
    columns : slice
        Columns of the tile with its overlap.
    unshown_columns : slice or None
        Columns from the first to the last unshown pixel that the tile decides.
    search : SearchRange
        Search range of the tile.
    width : int
        Number of columns of the pair.

    Returns
    -------
    slice
        Columns of the reference image that the tile must contain.
    """
    near, far = _find_offsets(search)
    start, stop = columns.start, columns.stop
    if unshown_columns is not None:
        start = min(start, math.floor(unshown_columns.start - (far - near)))
        stop = max(stop, math.ceil(unshown_columns.stop + (far - near)))
    # Pixels x < far, or x >= width + near, can be unshown without a reduced pair too.
    if columns.start < far:
        stop = max(stop, math.ceil(far + (far - near)))
    if columns.stop > width + near:
        start = min(start, math.floor(width + near - (far - near)))
    return slice(max(0, start), min(width, stop))


def _find_offsets(search: SearchRange) -> tuple[float, float]:
    """Return the smallest and largest distance from a pixel to the left to a candidate."""
    near, far = sorted(
        search.direction * disparity for disparity in (search.minimum, search.maximum)
    )
    return near, far


class _Frame(NamedTuple):
    """Columns of both images that are matched for a tile.

    `move` is the number of columns by which the columns of the reference image lie to the
    right of those of the target image.
    """

    reference: slice
    target: slice
    move: int


def _choose_columns(columns: slice, reach: slice, search: SearchRange, width: int) -> _Frame:
    """Return the columns that contain `reach` and all candidates of `columns`."""
    near, far = _find_offsets(search)
    # At fractions of a pixel, cells within a pixel of the border count as outside.
    more = 1 if search.denominator > 1 else 0
    target_start = max(0, columns.start - math.ceil(far) - more)
    target_stop = min(width, columns.stop - math.floor(near) + more)

    # The columns are moved towards the candidates as far as the images extend.
    smallest_move = max(math.floor(near), -target_start, reach.stop - width)
    move = min(smallest_move, reach.start, width - target_stop)
    first = min(reach.start, target_start + move)
    last = max(reach.stop, target_stop + move)
    return _Frame(slice(first, last), slice(first - move, last - move), move)


def _choose_equal_columns(columns: slice, reach: slice, pair: Pair) -> _Frame:
    """Return equal columns of all images that contain all candidates of `columns`.

    Candidates in the other frames lie at shares of the disparity. If the columns of the
    images were moved against each other, these shares would have other values.
    """
    near, far = _find_offsets(pair.search)
    offsets = [near, far]
    for frame in pair.frames:
        offsets += [frame.baseline * near, frame.baseline * far]
    # At fractions of a pixel, a candidate lies between two columns.
    first_candidate = columns.start - math.ceil(max(offsets)) - 1
    last_candidate = columns.stop - math.floor(min(offsets)) + 1
    start = min(reach.start, first_candidate)
    stop = max(reach.stop, last_candidate)
    all_columns = slice(max(0, start), min(pair.shape[1], stop))
    return _Frame(all_columns, all_columns, 0)


def cut(
    pair: Pair, window: tuple[slice, slice], reach: slice
) -> tuple[Pair, tuple[slice, slice], int]:
    """Cut a part out of a pair that contains all candidates of the part's pixels.

    Parameters
    ----------
    pair : Pair
        Its search range is that of the part.
    window : (slice, slice)
        Rows and columns of the part.
    reach : slice
        Columns of the reference image that the part must contain in addition; they
        include the columns of `window`.

    Returns
    -------
    part : Pair
        Its target image begins where the smallest disparity points, as far as that lies
        in the image.
    place : (slice, slice)
        Rows and columns of `window` in the part.
    shift : int
        Number of pixels that must be added to the part's disparities to get disparities
        of `pair`.
    """
    rows, columns = window
    frame = _choose_columns(columns, reach, pair.search, pair.shape[1])
    if pair.frames:
        frame = _choose_equal_columns(columns, reach, pair)
    reference_cut = rows, frame.reference
    target_cut = rows, frame.target

    shift = pair.search.direction * frame.move
    search = replace(
        pair.search, minimum=pair.search.minimum - shift, maximum=pair.search.maximum - shift
    )
    mask = None if pair.mask is None else _cut_mask(pair.mask, reference_cut, target_cut, shift)
    reference = _copy_part(pair.reference, reference_cut)
    match = _copy_part(pair.match, target_cut)
    frames = changed_frames(pair.frames, lambda image: _copy_part(image, reference_cut))
    part = Pair(reference, match, search, mask, frames=frames)
    first = frame.reference.start
    return part, (slice(None), slice(columns.start - first, columns.stop - first)), shift


def _copy_part(array: NDArray, window: tuple[slice, slice]) -> Any:
    return np.ascontiguousarray(array[window])


def _cut_mask(
    mask: SearchMask,
    reference_cut: tuple[slice, slice],
    target_cut: tuple[slice, slice],
    shift: int,
) -> SearchMask:
    """Cut a part out of a mask, and count its disparity limits from the part's columns."""
    limits: dict[str, Any] = {}
    for name, limit in vars(mask).items():
        if limit is None:
            continue
        image_cut = target_cut if name.startswith("match_") else reference_cut
        part = _copy_part(limit, image_cut)
        limits[name] = part if part.dtype == bool else part - np.float32(shift)
    return SearchMask(**limits)
