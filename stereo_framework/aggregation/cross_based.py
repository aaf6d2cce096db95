"""Cross-based aggregation: means over regions of like colour that grow from each pixel in four directions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from stereo_framework.aggregation._guide import check_guides
from stereo_framework.aggregation._match_arms import between_pixels, to_the_border
from stereo_framework.artefacts import arms_of, contrast_of
from stereo_framework.kernels.arms import LONGEST, Arms
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.parameters import require
from stereo_framework.scene import Image
from stereo_framework.stage import Positive, PositiveInt, Unit, stage
from stereo_framework.volume import Costs, CostVolume, Domain

Counts = NDArray[np.uint16]
Views = Literal["both", "reference"]

_BLOCK = 128
"""Rows that are summed up at a time."""
_PART = 512
"""Columns that are summed up at a time along them: the sums of a block are to stay in the second cache."""
_TILE = 16
"""Levels that are put beside each other at a time: a line of the caches."""


class _Support(NamedTuple):
    """Arms of the reference image, (4, rows, columns), and of the match image, as `between_pixels` gives them. Of each level: the columns that see it,
    ``starts..stops - 1``, and where in the match image their arms stand: which of the positions of a pixel, of the pixel so many columns further on.
    """

    own: Arms
    other: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    positions: NDArray[np.int64]
    shifts: NDArray[np.int64]


def _halo(length: int, iterations: int, contrast: float | None) -> int | None:
    # The arms of a pixel look at no rows but those that they reach; the contrast is that of whole images.
    return iterations * (length - 1) if contrast is None else None


@stage("aggregation", source="Zhang, Lu & Lafruit 2009; Mei et al. 2011, section 3.2", halo=_halo, volumes=3)
def cross_based(
    volume: CostVolume,
    reference: Image,
    match: Image,
    domain: Domain | None = None,
    *,
    length: Annotated[int, Ge(1), Le(LONGEST), Unit("pixels")] = 34,
    threshold: Annotated[Positive, Unit("grey levels")] = 20.0,
    far: Annotated[PositiveInt, Unit("pixels")] = 17,
    far_threshold: Annotated[Positive, Unit("grey levels")] = 6.0,
    contrast: Annotated[Positive, Unit("grey levels")] | None = None,
    views: Views = "both",
    iterations: Annotated[PositiveInt, Unit("passes")] = 4,
) -> CostVolume:
    """Mean of the costs in a region of like colour around each pixel, level by level.

    From each pixel four arms run along its row and its column while colours stay alike. Its region consists of the horizontal arms of all pixels on
    its vertical ones or, in every second pass, of the vertical arms of those on its horizontal ones.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Colours differ by the largest difference of a channel.
    domain : Domain, optional
        Cells that it closes are left out of sums and counts.
    length : int
        Arms are shorter than this, in pixels.
    threshold : float
        In grey levels: the colours on an arm differ by less from the pixel's, and each from the one before it.
    far : int
        Distance in pixels beyond which `far_threshold` holds too.
    far_threshold : float
        In grey levels: beyond `far` the colours on an arm differ by less from the pixel's.
    contrast : float, optional
        Where images have less contrast than this, both thresholds fall in proportion, to a half at most; null: they are as they stand. The contrast is the
        median difference of neighbouring pixels, mean over the channels and over both images, in grey levels.
    views : {"both", "reference"}
        Whether an arm ends, level by level, where that of the pixel's candidate in the match image ends too, or with the reference image's alone.
    iterations : int
        How often means are taken, in passes; the 1st, 3rd ... over horizontal arms first, the 2nd, 4th ... over vertical ones first.

    Returns
    -------
    CostVolume
        Same unit and shape; lower is better. Cells out of view are left out of sums and counts and hold `outside`.

    Raises
    ------
    DataError
        An image that does not fit the volume, or is neither uint8 nor float32.
    ParameterError
        A length that is not 1 to 255, thresholds that are not above 0, `far` or `iterations` below 1, a contrast that is not above 0.

    Notes
    -----
    Zhang, Lu & Lafruit 2009 (IEEE TCSVT 19) for arms and their use in both images; Mei et al. 2011, section 3.2, for the two thresholds and lengths and
    for the iterations, which alternate. Departures: no arm is made a pixel long where colours differ, and colours are not smoothed by a median
    beforehand; thresholds that follow the contrast are ours. Between two pixels of the match image the shorter one of their arms counts. Sums are exact, so that rows may be computed
    in any pieces: costs are rounded to 2^-30 of the power of two above `outside`.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import Search
    >>> image = np.array([[10, 12, 90, 95]], np.uint8)
    >>> costs = np.array([[4, 8, 1, 3]], np.float32)[..., None].repeat(2, axis=2)
    >>> cross_based(CostVolume(costs, Search(0, 1), 9.0), image, image, iterations=1).costs[0].tolist()
    [[6.0, 9.0], [6.0, 8.0], [2.0, 1.0], [2.0, 3.0]]
    """
    volume.check_float("cross_based")
    check_guides(volume, reference=reference, match=match)
    require(
        cross_based, length=length, threshold=threshold, far=far, far_threshold=far_threshold, views=views, iterations=iterations
    )
    require(cross_based, contrast=contrast)
    search, (rows, columns, levels) = volume.search, volume.costs.shape
    share = 1.0 if contrast is None else float(np.clip((contrast_of(reference) + contrast_of(match)) / 2 / contrast, 0.5, 1))
    limits = length, share * threshold, far, share * far_threshold
    own = arms_of(reference, *limits)
    other = between_pixels(arms_of(match, *limits) if views == "both" else to_the_border(rows, columns), search.denominator)
    seen = search.in_view(columns)
    starts = seen.argmax(axis=0)
    shifts, positions = np.divmod(-search.direction * (search.first + search.stride * np.arange(levels)), search.denominator)
    support = _Support(own, other, starts, starts + seen.sum(axis=0), positions, shifts)
    # Each cell in view counts once, which need not be written down unless some are closed.
    once: Any = np.empty((rows, 0, 0), np.uint16)
    if domain is not None:
        once = np.ones(volume.costs.shape, np.uint16)
        domain.close(CostVolume(once, search, 0.0), 0)
    # A number of this size rounds what is added to it to 2^-30 of the power of two above `outside`.
    rounder = math.ldexp(1.5, 52 - 30 + math.frexp(volume.outside)[1])
    # Within, a level is a plane: arms of neighbouring pixels differ less than those of one pixel towards neighbouring levels.
    shape = levels, rows, columns
    costs, once = volume.costs.transpose(2, 0, 1), once.transpose(2, 0, 1)
    means, sums, counts = np.empty(shape, np.float32), np.empty(shape, np.float32), np.empty(shape, np.uint16)

    def add(across: bool, values: Costs, numbers: Counts, last: bool, out: Costs) -> None:
        def run(start: int, stop: int) -> None:
            if across:
                _across(values, numbers, support, start, stop, last, volume.outside, out, counts)
            else:
                _along(values, numbers, support, start, stop, last, volume.outside, length - 1, rounder, out, counts)

        over_rows(run, rows, 4 * sums.size)

    for i in range(iterations):
        across_first = i % 2 == 0
        add(across_first, costs, once, False, sums)
        add(not across_first, sums, counts, True, means)
        costs = means
    result = np.empty_like(volume.costs)
    over_rows(lambda start, stop: _turn(means[:, start:stop], result[start:stop]), rows, result.size)
    aggregated = replace(volume, costs=result)
    if domain is not None:
        domain.close(aggregated, volume.outside)
    return aggregated


@kernel
def _across(
    values: Costs,
    numbers: Counts,
    support: _Support,
    start: int,
    stop: int,
    last: bool,
    outside: float,
    out: Costs,
    counts: Counts,
) -> None:
    """Sums over horizontal arms, and over how many cells they are, or in the `last` pass means, of the rows `start` to `stop` - 1; (levels, rows, columns).

    `numbers`: over how many cells each value is a sum already; of no size where it is one cell, its own.
    """
    own, other, starts, stops, positions, shifts = support
    levels, _, columns = values.shape
    counted = numbers.size > 0
    # Of all columns in view before one.
    sums, totals = np.zeros((levels, columns + 1)), np.zeros((levels, columns + 1), np.int32)
    for y in range(start, stop):
        _add_up(values[:, y], numbers[:, y], counted, starts, stops, sums, totals)
        for k in range(levels):
            first, end = starts[k], stops[k]
            _blank(out[k, y], counts[k, y], first, end, outside if last else 0.0)
            place, shift = positions[k], shifts[k]
            _subtract(
                sums[k],
                totals[k],
                counted,
                1,
                first,
                own[0, y, first:end],
                own[1, y, first:end],
                other[0, place, y, first + shift : end + shift],
                other[1, place, y, first + shift : end + shift],
                last,
                outside,
                out[k, y, first:end],
                counts[k, y, first:end],
            )


@kernel
def _add_up(
    values: Costs,
    numbers: Counts,
    counted: bool,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    sums: NDArray[np.float64],
    totals: NDArray[np.int32],
) -> None:
    """Sums of the cells in view of a row, level by level; (levels, columns)."""
    levels, columns = values.shape
    for x in range(columns):
        at, after = np.uint64(x), np.uint64(x + 1)
        for k in range(levels):
            level = np.uint64(k)
            seen = starts[level] <= x < stops[level]
            if counted:
                n = numbers[level, at] if seen else np.uint16(0)
                sums[level, after] = sums[level, at] + (np.float64(values[level, at]) if n > 0 else 0.0)
                totals[level, after] = totals[level, at] + np.int32(n)
            else:
                sums[level, after] = sums[level, at] + (np.float64(values[level, at]) if seen else 0.0)


@kernel
def _along(
    values: Costs,
    numbers: Counts,
    support: _Support,
    start: int,
    stop: int,
    last: bool,
    outside: float,
    reach: int,
    rounder: float,
    out: Costs,
    counts: Counts,
) -> None:
    """The same over vertical arms of at most `reach` pixels."""
    own, other, starts, stops, positions, shifts = support
    levels, rows, _ = values.shape
    counted = numbers.size > 0
    height = min(rows, _BLOCK + 2 * reach) + 1
    # Of all rows of a block before one.
    sums, totals = np.zeros((height, _PART)), np.zeros((height, _PART), np.int32)
    for block in range(start, stop, _BLOCK):
        top, bottom = max(0, block - reach), min(rows, block + _BLOCK + reach)
        end_block = min(block + _BLOCK, stop)
        for k in range(levels):
            place, shift = positions[k], shifts[k]
            for y in range(block, end_block):
                _blank(out[k, y], counts[k, y], starts[k], stops[k], outside if last else 0.0)
            for first in range(starts[k], stops[k], _PART):
                end = min(first + _PART, stops[k])
                for y in range(top, bottom):
                    r, value = y - top, values[k, y, first:end]
                    if counted:
                        _add_counted(sums[r], totals[r], value, numbers[k, y, first:end], rounder, sums[r + 1], totals[r + 1])
                    else:
                        _add(sums[r], value, rounder, sums[r + 1])
                for y in range(block, end_block):
                    _subtract(
                        sums.reshape(-1),
                        totals.reshape(-1),
                        counted,
                        _PART,
                        (y - top) * _PART,
                        own[2, y, first:end],
                        own[3, y, first:end],
                        other[2, place, y, first + shift : end + shift],
                        other[3, place, y, first + shift : end + shift],
                        last,
                        outside,
                        out[k, y, first:end],
                        counts[k, y, first:end],
                    )


@kernel
def _blank(out: Costs, counts: Counts, first: int, end: int, rest: float) -> None:
    """Fill a row out of view."""
    out[:first], counts[:first] = rest, 0
    out[end:], counts[end:] = rest, 0


@kernel
def _add(before: NDArray[np.float64], values: Costs, rounder: float, after: NDArray[np.float64]) -> None:
    for i in range(values.shape[0]):
        after[i] = before[i] + ((np.float64(values[i]) + rounder) - rounder)


@kernel
def _add_counted(
    before: NDArray[np.float64],
    total: NDArray[np.int32],
    values: Costs,
    numbers: Counts,
    rounder: float,
    after: NDArray[np.float64],
    following: NDArray[np.int32],
) -> None:
    for i in range(values.shape[0]):
        value = (np.float64(values[i]) + rounder) - rounder
        after[i] = before[i] + (value if numbers[i] > 0 else 0.0)
        following[i] = total[i] + np.int32(numbers[i])


@kernel
def _subtract(
    sums: NDArray[np.float64],
    totals: NDArray[np.int32],
    counted: bool,
    step: int,
    base: int,
    own_back: NDArray[np.uint8],
    own_on: NDArray[np.uint8],
    back: NDArray[np.uint8],
    on: NDArray[np.uint8],
    last: bool,
    outside: float,
    out: Costs,
    counts: Counts,
) -> None:
    """Sums over the arms of consecutive pixels, from the running sums, which lie `step` apart in the arms' direction, those before the first pixel at `base`."""
    # Unsigned indices need no wraparound check.
    pitch, first = np.uint64(step), np.uint64(base)
    if last:
        for i in range(out.shape[0]):
            pixel = np.uint64(i)
            before = first + pixel - pitch * np.uint64(min(own_back[pixel], back[pixel]))
            after = first + pixel + pitch * np.uint64(np.uint64(min(own_on[pixel], on[pixel])) + np.uint64(1))
            total, n = sums[after] - sums[before], totals[after] - totals[before]
            out[pixel] = total / n if n > 0 else outside
    elif counted:
        for i in range(out.shape[0]):
            pixel = np.uint64(i)
            before = first + pixel - pitch * np.uint64(min(own_back[pixel], back[pixel]))
            after = first + pixel + pitch * np.uint64(np.uint64(min(own_on[pixel], on[pixel])) + np.uint64(1))
            out[pixel] = sums[after] - sums[before]
            counts[pixel] = totals[after] - totals[before]
    else:
        for i in range(out.shape[0]):
            pixel = np.uint64(i)
            shorter, longer = min(own_back[pixel], back[pixel]), min(own_on[pixel], on[pixel])
            before = first + pixel - pitch * np.uint64(shorter)
            after = first + pixel + pitch * np.uint64(np.uint64(longer) + np.uint64(1))
            out[pixel] = sums[after] - sums[before]
            counts[pixel] = np.uint16(shorter) + np.uint16(longer) + np.uint16(1)


@kernel
def _turn(planes: Costs, out: Costs) -> None:
    """Planes of levels as (rows, columns, levels)."""
    levels, rows, columns = planes.shape
    for y in range(rows):
        for low in range(0, levels, _TILE):
            high = min(low + _TILE, levels)
            part = planes[low:high, y]
            for x in range(columns):
                at, target = np.uint64(x), out[y, x, low:high]
                for k in range(high - low):
                    target[k] = part[k, at]
