"""Differences of two images as a disparity space image: what absolute and squared differences share."""

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Image, SearchRange
from stereo_framework.core.search import Geometry, arrange_samples, geometry
from stereo_framework.core.volume import Costs, CostVolume
from stereo_framework.kernels.decorator import kernel
from stereo_framework.matching_cost._sampling import (
    Interpolation,
    bounds_of,
    close_view,
    floats_of,
    over_bands,
    samples_of,
)

BirchfieldTomasi = bool | Literal["symmetric"]
Two = tuple[float, float]
_HUGE_PAGE = 2**21 // 4
"""Costs in a huge page."""
_LARGE = 2**25 // 4
"""Costs in the smallest array that glibc never makes of memory it has."""


def difference_volume(
    reference: Image,
    match: Image,
    search: SearchRange,
    *,
    squared: bool,
    truncation: float | None,
    birchfield_tomasi: BirchfieldTomasi,
    interpolation: Interpolation,
) -> CostVolume:
    """The volume of absolute or squared differences; parameters as in the public functions, `truncation` in grey levels."""
    rows, columns = reference.shape[:2]
    power = 2 if squared else 1
    # Squares of larger truncations, which bound nothing, would overflow float32.
    cutoff = np.float32(np.inf if truncation is None else min(truncation, 1e18) ** power)
    # Colour counts a fourth, empty channel, as the original test bed does.
    outside_cost = np.float32(min(255**power * (1 if reference.ndim == 2 else 4), cutoff))
    costs = _empty(rows, columns, search.levels)
    view = geometry(columns, search)
    whole, symmetric, n = (
        reference.dtype == np.uint8,
        birchfield_tomasi == "symmetric",
        search.denominator,
    )
    left, limits = floats_of(reference), (cutoff, outside_cost)

    def run(start: int, stop: int) -> None:
        own, out = left[start:stop], costs[start:stop]
        samples = samples_of(match[start:stop], n, interpolation == "cubic")
        bounds = bounds_of(samples, whole, not symmetric) if birchfield_tomasi else (samples,)
        lines = [arrange_samples(bound, view) for bound in bounds]
        if not symmetric:
            _kernel(own, lines[0], lines[-1], view, limits, squared, bool(birchfield_tomasi), out)
            return
        lines.append(arrange_samples(samples, view))
        samples = samples_of(reference[start:stop], n, interpolation == "cubic")
        below, above = (
            np.ascontiguousarray(bound[..., ::n]) for bound in bounds_of(samples, whole, up=False)
        )
        _symmetric(own, below, above, *lines, view, limits, squared, out)

    over_bands(run, rows, costs.size)
    return CostVolume(costs, search, float(outside_cost))


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


@kernel
def _kernel(
    left: NDArray,
    low: NDArray,
    high: NDArray,
    view: Geometry,
    limits: Two,
    squared: bool,
    birchfield_tomasi: bool,
    costs: Costs,
) -> None:
    """Differences of the rows of an image ``(rows, columns, channels)`` to lines of the match image, points or intervals."""
    cutoff, outside_cost = limits
    for y in range(left.shape[0]):
        if birchfield_tomasi and left.shape[2] == 3:
            _colour_row_to_intervals(
                left[y], low[y], high[y], view.origins, cutoff, squared, costs[y]
            )
        elif birchfield_tomasi:
            _grey_row(left[y], low[y], high[y], view.origins, cutoff, squared, costs[y])
        else:
            difference_row(left[y], low[y], view.origins, cutoff, squared, costs[y])
        close_view(view, outside_cost, costs[y])


@kernel
def _symmetric(
    left: NDArray,
    own_low: NDArray,
    own_high: NDArray,
    low: NDArray,
    high: NDArray,
    points: NDArray,
    view: Geometry,
    limits: Two,
    squared: bool,
    costs: Costs,
) -> None:
    """Differences of the rows of an image ``(rows, columns, channels)``, whose pixels are intervals too, to lines of the match image."""
    (rows, columns, channels), (cutoff, outside_cost) = left.shape, limits
    for y in range(rows):
        costs[y] = 0
        for c in range(channels):
            for x in range(columns):
                at, origin = np.uint64(x), np.uint64(view.origins[x])
                value, below, above = left[y, x, c], own_low[y, c, x], own_high[y, c, x]
                for k in range(costs.shape[2]):
                    i = origin + np.uint64(k)
                    to_match, to_reference = (
                        _gap(value, low[y, c, i], high[y, c, i]),
                        _gap(points[y, c, i], below, above),
                    )
                    gap = to_match if to_match < to_reference else to_reference
                    costs[y, at, k] += gap * gap if squared else gap
        for x in range(columns):
            for k in range(costs.shape[2]):
                costs[y, x, k] = min(costs[y, x, k], cutoff)
        close_view(view, outside_cost, costs[y])


@kernel
def difference_row(
    row: NDArray, lines: NDArray, origins: NDArray, cutoff: float, squared: bool, costs: NDArray
) -> None:
    """Differences of a row ``(columns, channels)`` to `lines` of samples ``(channels, room)``; ``(columns, levels)``."""
    if row.shape[1] == 1:
        _grey_row(row, lines, lines, origins, cutoff, squared, costs)
    else:
        _colour_row_to_points(row, lines, origins, cutoff, squared, costs)


# One function for each kind of row: the loops over the levels, a handful of cycles long, must hold neither a slice (its
# reference count costs more than the arithmetic) nor an index that numba would have to check for wraparound: hence unsigned ones.


@kernel
def _colour_row_to_points(
    row: NDArray, line: NDArray, origins: NDArray, cutoff: float, squared: bool, costs: NDArray
) -> None:
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
    row: NDArray,
    low: NDArray,
    high: NDArray,
    origins: NDArray,
    cutoff: float,
    squared: bool,
    costs: NDArray,
) -> None:
    columns, levels = costs.shape
    for x in range(columns):
        at, origin = np.uint64(x), np.uint64(origins[x])
        r0, r1, r2 = np.float32(row[at, 0]), np.float32(row[at, 1]), np.float32(row[at, 2])
        for k in range(levels):
            i = origin + np.uint64(k)
            d0, d1, d2 = (
                _gap(r0, low[0, i], high[0, i]),
                _gap(r1, low[1, i], high[1, i]),
                _gap(r2, low[2, i], high[2, i]),
            )
            cost = d0 * d0 + d1 * d1 + d2 * d2 if squared else d0 + d1 + d2
            costs[at, k] = cost if cost < cutoff else cutoff


@kernel
def _grey_row(
    row: NDArray,
    low: NDArray,
    high: NDArray,
    origins: NDArray,
    cutoff: float,
    squared: bool,
    costs: NDArray,
) -> None:
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
