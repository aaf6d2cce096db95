"""Differences of two images as a disparity space image: what absolute and squared differences share."""

from __future__ import annotations

import functools
import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.errors import DataError, ParameterError
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.scene import Image, Search
from stereo_framework.volume import Costs, CostVolume

Interpolation = Literal["linear", "cubic"]

_HUGE_PAGE = 2**21 // 4
"""Costs in a huge page."""
_LARGE = 2**25 // 4
"""Costs in the smallest array that glibc never makes of memory it has."""


def difference_volume(
    reference: Image,
    match: Image,
    search: Search,
    *,
    squared: bool,
    truncation: float | None,
    interval: bool,
    interpolation: Interpolation,
) -> CostVolume:
    """The volume of absolute or squared differences; parameters as in the public functions, `truncation` in grey levels."""
    check_images(reference, match)
    if truncation is not None and not truncation > 0:
        raise ParameterError(f"truncation: {truncation!r} is not a number > 0 or null")
    rows, columns = reference.shape[:2]
    power = 2 if squared else 1
    # Squares of larger truncations, which bound nothing, would overflow float32.
    cutoff = np.float32(np.inf if truncation is None else min(truncation, 1e18) ** power)
    # Colour counts a fourth, empty channel, as the original test bed does.
    outside = np.float32(min(255**power * (1 if reference.ndim == 2 else 4), cutoff))
    costs = _empty(rows, columns, search.levels)
    starts, stops, origins, clipped = positions(columns, search)
    left, right = reference.reshape(rows, columns, -1), match.reshape(rows, columns, -1)

    def run(start: int, stop: int) -> None:
        _kernel(
            left[start:stop],
            right[start:stop],
            starts,
            stops,
            origins,
            clipped,
            search.stride,
            search.denominator,
            search.direction > 0,
            cutoff,
            outside,
            squared,
            interval,
            interpolation == "cubic",
            reference.dtype == np.uint8,
            costs[start:stop],
        )

    over_rows(run, rows, costs.size)
    return CostVolume(costs, search, float(outside))


def _empty(*shape: int) -> Costs:
    """Memory for costs, not initialized.

    Large arrays are new memory every time. Where one does not begin and end at huge pages, the system provides up to a thousand small
    ones instead, which takes a tenth of the time of computing the costs.
    """
    size = math.prod(shape)
    if size < _LARGE:
        return np.empty(shape, np.float32)
    memory = np.empty(size + 2 * _HUGE_PAGE, np.float32)
    start = -memory.ctypes.data // memory.itemsize % _HUGE_PAGE
    return memory[start : start + size].reshape(shape)


def check_images(reference: Image, match: Image) -> None:
    """Refuse images that no matching cost can compare."""
    for name, image in (("reference", reference), ("match", match)):
        if image.dtype not in (np.uint8, np.float32):
            raise DataError(f"{name} image: {image.dtype} intensities; expected uint8 or float32 in 0..255")
        if image.ndim not in (2, 3) or 0 in image.shape or image.shape[2:] not in ((), (3,)):
            raise DataError(f"{name} image: shape {image.shape}; expected (rows, columns) or (rows, columns, 3)")
    if reference.shape != match.shape or reference.dtype != match.dtype:
        raise DataError(
            f"reference image {reference.shape} {reference.dtype} and match image {match.shape} {match.dtype} differ; "
            "both must have one size, one number of channels and one type"
        )


@functools.lru_cache(maxsize=64)
def positions(columns: int, search: Search) -> tuple[NDArray[np.int64], ...]:
    """Which levels each column has in view, and where the samples of the match row stand that its levels meet.

    `sample_row` writes those samples to a line, with room for as many samples as there are levels before and after them: a loop over all levels of
    a pixel never leaves the line, whether they are in view or not.

    Returns
    -------
    starts, stops : ndarray, int64, (columns,)
        The levels from `start` to `stop` - 1 are in view.
    origins : ndarray, int64, (columns,)
        Place in the line of the sample that level 0 meets. Level k meets the k-th one after it.
    clipped : ndarray, int64
        The columns that have levels out of view.
    """
    fine = (columns - 1) * search.denominator + 1
    x = np.arange(columns) * search.denominator
    seen = search.in_view(columns)
    start = seen.argmax(axis=1)
    stop = start + seen.sum(axis=1)
    position = x - search.direction * (search.first + search.stride * start)
    if search.direction > 0:
        position = fine - 1 - position
    residue = position % search.stride
    # Each residue before this one holds the quotient, the first few of them one more.
    origin = residue * (fine // search.stride) + np.minimum(residue, fine % search.stride) + position // search.stride
    clipped = np.flatnonzero((start > 0) | (stop < search.levels))
    return start, stop, np.where(start < stop, origin - start + search.levels, 0), clipped


@kernel
def sample_row(
    row: NDArray,
    denominator: int,
    cubic: bool,
    whole: bool,
    interval: bool,
    reverse: bool,
    stride: int,
    scratch: NDArray[np.float32],
    margin: int,
    low: NDArray,
    high: NDArray,
) -> None:
    """Resample one row ``(columns, channels)`` to steps of 1/denominator, in the order in which consecutive levels meet the samples.

    The lines `low` and `high`, one for each channel, get the ``(columns - 1) * denominator + 1`` samples from `margin` on or, with
    `interval`, the bounds of what the row takes on within half a step; without it `high` is left alone. `scratch` has room for three.
    """
    columns, channels = row.shape
    stop = margin + (columns - 1) * denominator + 1
    if denominator == 1 and stride == 1 and not interval:
        # The usual case in one pass.
        if channels == 3:
            _split(row.reshape(-1), reverse, low[0, margin:stop], low[1, margin:stop], low[2, margin:stop])
        else:
            arrange(row.reshape(-1), reverse, 1, low[0, margin:stop])
        return
    line, half = scratch[0], scratch[1]
    for c in range(channels):
        if denominator == 1:
            for x in range(columns):
                line[x] = row[x, c]
        else:
            upsample(row[:, c], denominator, cubic, whole, line)
        if not interval:
            arrange(line, reverse, stride, low[c, margin:stop])
            continue
        bound, last = scratch[2], line.shape[0] - 1
        for i in range(last):
            # Integer images: (a + b + 1) div 2.
            middle = (line[i] + line[i + 1] + np.float32(whole)) * np.float32(0.5)
            half[i] = np.trunc(middle) if whole else middle
        for upper in (False, True):
            bound[0], bound[last] = line[0], line[last]
            for i in range(1, last):
                bound[i] = max(half[i - 1], line[i], half[i]) if upper else min(half[i - 1], line[i], half[i])
            if last > 0:
                bound[0] = max(line[0], half[0]) if upper else min(line[0], half[0])
                bound[last] = max(line[last], half[last - 1]) if upper else min(line[last], half[last - 1])
            arrange(bound, reverse, stride, high[c, margin:stop] if upper else low[c, margin:stop])


@kernel
def _split(row: NDArray, reverse: bool, red: NDArray, green: NDArray, blue: NDArray) -> None:
    """Copy the channels of a flat row apart, reversed or not."""
    columns = red.shape[0]
    for x in range(columns):
        at = np.uint64(columns - 1 - x if reverse else x)
        red[at], green[at], blue[at] = row[3 * x], row[3 * x + 1], row[3 * x + 2]


@kernel
def upsample(row: NDArray, denominator: int, cubic: bool, whole: bool, line: NDArray[np.float32]) -> None:
    """Sample a row between its pixels; integer images are truncated toward zero and not clipped, as in the original.

    Cubic is the Hermite spline with the outer neighbours' full difference as end slopes (the Keys family's a = -1), linearly
    extrapolated at the ends of the row.
    """
    columns = row.shape[0]
    for x in range(columns - 1):
        v1, v2 = np.float64(row[x]), np.float64(row[x + 1])
        v0 = np.float64(row[x - 1]) if x > 0 else 2 * v1 - v2
        v3 = np.float64(row[x + 2]) if x + 2 < columns else 2 * v2 - v1
        s1, s2 = (v2 - v0, v3 - v1) if cubic else (v2 - v1, v2 - v1)
        line[x * denominator] = v1
        for i in range(1, denominator):
            t = i / denominator
            value = v1 + t * (s1 + t * (3 * (v2 - v1) - 2 * s1 - s2 + t * (s1 + s2 - 2 * (v2 - v1))))
            # i / denominator may be rounded down: a whole value just missed must not lose one.
            line[x * denominator + i] = np.trunc(value + (1e-9 if value > 0 else -1e-9)) if whole else value
    line[(columns - 1) * denominator] = row[columns - 1]


@kernel
def arrange(line: NDArray[np.float32], reverse: bool, stride: int, out: NDArray) -> None:
    """Copy a fine row so that samples `stride` apart stand side by side, reversed where levels meet them from right to left."""
    last = line.shape[0] - 1
    if stride == 1:
        for i in range(last + 1):
            out[i] = line[last - i] if reverse else line[i]
        return
    at = 0
    for residue in range(stride):
        for i in range(residue, last + 1, stride):
            out[at] = line[last - i] if reverse else line[i]
            at += 1


@kernel
def _kernel(
    reference: NDArray,
    match: NDArray,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    origins: NDArray[np.int64],
    clipped: NDArray[np.int64],
    stride: int,
    denominator: int,
    reverse: bool,
    cutoff: float,
    outside: float,
    squared: bool,
    interval: bool,
    cubic: bool,
    whole: bool,
    costs: NDArray[np.float32],
) -> None:
    """Differences of the rows of two images ``(rows, columns, channels)``; `clipped`: columns with levels out of view."""
    rows, columns, channels = reference.shape
    levels = costs.shape[2]
    fine = (columns - 1) * denominator + 1
    room = fine + 2 * levels
    low, high = np.zeros((channels, room), np.float32), np.zeros((channels, room), np.float32)
    scratch = np.empty((3, fine), np.float32)
    for y in range(rows):
        sample_row(match[y], denominator, cubic, whole, interval, reverse, stride, scratch, levels, low, high)
        if not interval:
            difference_row(reference[y], low, origins, cutoff, squared, costs[y])
        elif channels == 1:
            _grey_row(reference[y], low, high, origins, cutoff, squared, costs[y])
        else:
            _colour_row_to_intervals(reference[y], low, high, origins, cutoff, squared, costs[y])
        for x in clipped:
            pixel = costs[y, x]
            pixel[: starts[x]] = outside
            pixel[stops[x] :] = outside


@kernel
def difference_row(row: NDArray, lines: NDArray, origins: NDArray, cutoff: float, squared: bool, costs: NDArray) -> None:
    """Differences of a row ``(columns, channels)`` to the samples that `sample_row` put into `lines`; ``(columns, levels)``."""
    if row.shape[1] == 1:
        _grey_row(row, lines, lines, origins, cutoff, squared, costs)
    else:
        _colour_row_to_points(row, lines, origins, cutoff, squared, costs)


# One function for each kind of row: the loops over the levels, a handful of cycles long, must hold neither a slice (its
# reference count costs more than the arithmetic) nor an index that numba would have to check for wraparound: hence unsigned ones.


@kernel
def _colour_row_to_points(row: NDArray, line: NDArray, origins: NDArray, cutoff: float, squared: bool, costs: NDArray) -> None:
    columns, levels = costs.shape
    for x in range(columns):
        at, origin = np.uint64(x), np.uint64(origins[x])
        r0, r1, r2 = np.float32(row[at, 0]), np.float32(row[at, 1]), np.float32(row[at, 2])
        for k in range(levels):
            i = origin + np.uint64(k)
            d0, d1, d2 = r0 - line[0, i], r1 - line[1, i], r2 - line[2, i]
            cost = d0 * d0 + d1 * d1 + d2 * d2 if squared else abs(d0) + abs(d1) + abs(d2)
            costs[at, k] = cost if cost < cutoff else cutoff


@kernel
def _colour_row_to_intervals(
    row: NDArray, low: NDArray, high: NDArray, origins: NDArray, cutoff: float, squared: bool, costs: NDArray
) -> None:
    columns, levels = costs.shape
    for x in range(columns):
        at, origin = np.uint64(x), np.uint64(origins[x])
        r0, r1, r2 = np.float32(row[at, 0]), np.float32(row[at, 1]), np.float32(row[at, 2])
        for k in range(levels):
            i = origin + np.uint64(k)
            d0, d1, d2 = _gap(r0, low[0, i], high[0, i]), _gap(r1, low[1, i], high[1, i]), _gap(r2, low[2, i], high[2, i])
            cost = d0 * d0 + d1 * d1 + d2 * d2 if squared else d0 + d1 + d2
            costs[at, k] = cost if cost < cutoff else cutoff


@kernel
def _grey_row(row: NDArray, low: NDArray, high: NDArray, origins: NDArray, cutoff: float, squared: bool, costs: NDArray) -> None:
    columns, levels = costs.shape
    for x in range(columns):
        at, origin = np.uint64(x), np.uint64(origins[x])
        r = np.float32(row[at, 0])
        for k in range(levels):
            i = origin + np.uint64(k)
            d = _gap(r, low[0, i], high[0, i])
            cost = d * d if squared else d
            costs[at, k] = cost if cost < cutoff else cutoff


@kernel(inline="always")
def _gap(value: Any, low: Any, high: Any) -> Any:
    """Distance of a value to the interval low..high; 0 inside."""
    below, above = low - value, value - high
    gap = below if below > above else above
    return gap if gap > 0 else np.float32(0)
