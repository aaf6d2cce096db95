"""One pass over the costs of every pixel: what several measures of confidence are made from.

Costs are uint16 or float32, ``(rows, columns, levels)``. `span`, int32 ``(columns, 2)``, holds the first level of a column that counts and the
one after the last; within it a cell counts unless its cost is `none`, the largest number of the costs' type. `labels` are the chosen levels, int32
``(rows, columns)``; results are maps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel

Span = NDArray[np.int32]
Levels = NDArray[np.int32]
Map = NDArray[np.float32]

_LINES = 8


@kernel
def highest(costs: NDArray, span: Span, none: Any, zero: Any, out: Map) -> None:
    """The highest cost of every row; `zero`, of the costs' type, where no cell counts."""
    rows, columns, levels = costs.shape
    most = np.empty(levels, costs.dtype)
    for y in range(rows):
        most[:] = zero
        for x in range(columns):
            own, above = costs[y, x, span[x, 0] : span[x, 1]], most[span[x, 0] : span[x, 1]]
            for k in range(own.shape[0]):
                found = own[k] if own[k] < none else zero
                above[k] = found if found > above[k] else above[k]
        out[y] = most.max()


@kernel
def chosen(costs: NDArray, span: Span, none: Any, labels: Levels, out: Map) -> None:
    """The cost of every pixel's label, whether it counts or not."""
    rows, columns, _ = costs.shape
    for y in range(rows):
        for x in range(columns):
            out[y, x] = costs[y, x, labels[y, x]]


@kernel
def second_lowest(costs: NDArray, span: Span, none: Any, labels: Levels, out: Map) -> None:
    """The lowest cost of the levels that were not chosen; where none counts, that of the chosen one."""
    rows, columns, _ = costs.shape
    for y in range(rows):
        for x in range(columns):
            own = costs[y, x, span[x, 0] : span[x, 1]]
            label, least = np.uint16((labels[y, x] - span[x, 0]) & 0xFFFF), none
            for k in range(own.shape[0]):
                found = own[k] if np.uint16(k) != label else none
                least = found if found < least else least
            out[y, x] = least if least < none else costs[y, x, labels[y, x]]


@kernel
def second_minimum(costs: NDArray, span: Span, none: Any, labels: Levels, out: Map) -> None:
    """The lowest local minimum among the levels that were not chosen; where there is none, the highest cost, the chosen one's if no other counts.

    A level is a local minimum when its cost is below that of the level before and not above that of the level after it.
    """
    rows, columns, levels = costs.shape
    line = np.empty(columns * levels, costs.dtype)
    for y in range(rows):
        # The whole row at once, as a long loop is faster than many short ones; what lies at the ends of a pixel's levels is put right after.
        flat = costs[y].reshape(-1)
        _keep_minima(flat[:-2], flat[1:-1], flat[2:], none, line[1:-1])
        for x in range(columns):
            first, stop = span[x, 0], span[x, 1]
            own, minima = costs[y, x, first:stop], line[x * levels + first : x * levels + stop]
            label, least, last = labels[y, x] - first, none, stop - first - 1
            if last > 0:
                minima[0] = own[0] if own[0] <= own[1] else none
                minima[last] = own[last] if own[last] < own[last - 1] else none
                if 0 <= label <= last:
                    minima[label] = none
                for k in range(minima.shape[0]):
                    least = minima[k] if minima[k] < least else least
            if not least < none:
                least = costs[y, x, labels[y, x]]
                for k in range(own.shape[0]):
                    least = own[k] if least < own[k] < none else least
            out[y, x] = least


@kernel
def _keep_minima(before: NDArray, here: NDArray, after: NDArray, none: Any, out: NDArray) -> None:
    for k in range(out.shape[0]):
        out[k] = here[k] if (here[k] < before[k]) & (here[k] <= after[k]) else none


@kernel(fastmath={"reassoc"})
def means(costs: NDArray, span: Span, none: Any, out: NDArray[np.float64]) -> None:
    """The mean cost of every pixel; 0 where no cell counts."""
    rows, columns, _ = costs.shape
    for y in range(rows):
        for x in range(columns):
            own = costs[y, x, span[x, 0] : span[x, 1]]
            total, count = 0.0, 0.0
            for k in range(own.shape[0]):
                total += np.float64(own[k]) if own[k] < none else 0.0
                count += 1.0 if own[k] < none else 0.0
            out[y, x] = total / max(count, 1.0)


@kernel
def whole_means(costs: NDArray[np.uint16], span: Span, out: NDArray[np.float64]) -> None:
    """The same of whole numbers that all count."""
    rows, columns, levels = costs.shape
    flat = costs.reshape(-1)
    for y in range(rows):
        for x in range(columns):
            # Slices cost more than the loop, and unsigned indices need no wraparound check.
            first, count, total = np.uint64((y * columns + x) * levels + span[x, 0]), span[x, 1] - span[x, 0], np.int64(0)
            for k in range(count):
                total += np.int64(flat[first + np.uint64(k)])
            out[y, x] = np.float64(total) / max(count, 1)


@kernel(fastmath={"reassoc"})
def tabled(costs: NDArray, span: Span, base: Levels, table: Map, out: Map) -> None:
    """The mean over the levels of what a table holds for the excess of a cost, a whole number, over `base`; what is below counts as `base`."""
    rows, columns, _ = costs.shape
    for y in range(rows):
        for x in range(columns):
            own, least = costs[y, x, span[x, 0] : span[x, 1]], base[y, x]
            total = np.float32(0)
            for k in range(own.shape[0]):
                total += table[np.uint32(max(np.int32(own[k]) - least, np.int32(0)))]
            out[y, x] = total / np.float32(own.shape[0]) if own.shape[0] else table[0]


@kernel(fastmath={"reassoc"})
def tabled_twice(costs: NDArray, span: Span, table: Map, other: Map, out: Map, other_out: Map) -> None:
    """The means over the levels of what two tables hold for the costs, whole numbers."""
    rows, columns, _ = costs.shape
    for y in range(rows):
        for x in range(columns):
            own = costs[y, x, span[x, 0] : span[x, 1]]
            total, other_total = np.float32(0), np.float32(0)
            for k in range(own.shape[0]):
                total += table[np.uint32(own[k])]
                other_total += other[np.uint32(own[k])]
            count = np.float32(own.shape[0])
            out[y, x] = total / count if count else table[0]
            other_out[y, x] = other_total / count if count else other[0]


@kernel
def best_of_met(
    costs: NDArray, span: Span, none: Any, labels: Levels, denominator: int, stride: int, direction: int, out: Map
) -> None:
    """The lowest cost with which the position that a pixel's label meets in the match image is met by any pixel of the row."""
    rows, columns, levels = costs.shape
    # Where pixels are met in the match image, in samples of which a pixel has `denominator`; they run forwards with the levels. In turn several
    # lines are written, so that none is read while the processor still writes it.
    least = np.empty((_LINES, (columns - 1) * denominator + (levels - 1) * stride + 1), costs.dtype)
    own, met = costs.reshape(-1), least.reshape(-1)
    for y in range(rows):
        least[:] = none
        for x in range(columns):
            place = columns - 1 - x if direction > 0 else x
            _meet(own, (y * columns + x) * levels, levels, stride, met, x % _LINES * least.shape[1] + place * denominator)
        for i in range(1, _LINES):
            _take_lower(least[i], least[0])
        for x in range(columns):
            out[y, x] = least[0, (columns - 1 - x if direction > 0 else x) * denominator + labels[y, x] * stride]


@kernel
def _meet(costs: NDArray, cell: int, levels: int, stride: int, met: NDArray, place: int) -> None:
    """Let the costs of a pixel, from `cell` on, undercut what stands at `place` and, for each level, `stride` further."""
    first, at = np.uint64(cell), np.uint64(place)
    if stride == 1:
        for k in range(levels):
            i, j = first + np.uint64(k), at + np.uint64(k)
            met[j] = costs[i] if costs[i] < met[j] else met[j]
    else:
        for k in range(levels):
            i, j = first + np.uint64(k), at + np.uint64(k * stride)
            met[j] = costs[i] if costs[i] < met[j] else met[j]


@kernel
def _take_lower(own: NDArray, met: NDArray) -> None:
    for k in range(own.shape[0]):
        met[k] = own[k] if own[k] < met[k] else met[k]
