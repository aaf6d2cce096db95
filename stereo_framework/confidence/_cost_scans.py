"""One pass over the costs of every pixel: what several measures of confidence are made from.

Costs are uint16 or float32, ``(rows, columns, levels)``. `span`, int32 ``(columns, 2)``, holds the first level of a column that counts and the
one after the last; within it a cell counts unless its cost is `none`, the largest number of the costs' type. `labels` are the chosen levels, int32
``(rows, columns)``; results are maps.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel

Span = NDArray[np.int32]
Levels = NDArray[np.int32]
Map = NDArray[np.float32]


@kernel
def highest(costs: NDArray, span: Span, none: Any, out: Map) -> None:
    """The highest cost of every row; 0 where no cell counts."""
    rows, columns, levels = costs.shape
    most, zero = np.zeros(levels, costs.dtype), costs.dtype.type(0)
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
    rows, columns, _ = costs.shape
    one = np.uint64(1)
    for y in range(rows):
        for x in range(columns):
            own = costs[y, x, span[x, 0] : span[x, 1]]
            label, last, least = np.uint16((labels[y, x] - span[x, 0]) & 0xFFFF), own.shape[0] - 1, none
            # A loop that LLVM vectorizes; the ends have one neighbour each.
            for k in range(1, last):
                i = np.uint64(k)
                lower = (own[i] < own[i - one]) & (own[i] <= own[i + one]) & (np.uint16(k) != label)
                found = own[i] if lower else none
                least = found if found < least else least
            if last > 0 and label != 0 and own[0] <= own[1]:
                least = min(least, own[0])
            if last > 0 and label != last and own[last] < own[last - 1]:
                least = min(least, own[last])
            if not least < none:
                least = costs[y, x, labels[y, x]]
                for k in range(own.shape[0]):
                    least = own[k] if least < own[k] < none else least
            out[y, x] = least


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
    """The same of whole numbers that all count, which are added up three times as fast."""
    rows, columns, _ = costs.shape
    for y in range(rows):
        for x in range(columns):
            own, total = costs[y, x, span[x, 0] : span[x, 1]], np.int64(0)
            for k in range(own.shape[0]):
                total += np.int64(own[k])
            out[y, x] = np.float64(total) / max(own.shape[0], 1)


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


@kernel
def best_of_met(costs: NDArray, grid: tuple[int, int, int], none: Any, labels: Levels, out: Map) -> None:
    """The lowest cost with which the position that a pixel's label meets in the match image is met by any pixel of the row.

    `grid`: positions in a pixel, from level to level, and the direction.
    """
    (rows, columns, levels), (denominator, stride, direction) = costs.shape, grid
    own, met = costs.reshape(-1), np.empty((columns - 1) * denominator + (levels - 1) * stride + 1, costs.dtype)
    for y in range(rows):
        met[:] = none
        # Positions run forwards with the levels.
        for x in range(columns):
            place = (columns - 1 - x if direction > 0 else x) * denominator
            _meet(own, (y * columns + x) * levels, levels, stride, met, place)
        for x in range(columns):
            out[y, x] = met[(columns - 1 - x if direction > 0 else x) * denominator + labels[y, x] * stride]


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
