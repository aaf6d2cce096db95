"""The costs from which confidence measures are computed: which level was chosen, which cells count, and the largest cost, which serves as the unit."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, read_only
from stereo_framework.core.search import geometry
from stereo_framework.core.volume import INTEGERS, CostVolume, SearchMask
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows, threads

Map = NDArray[np.float32]
Span = NDArray[np.int32]
Levels = NDArray[np.int32]

_TINY = np.float32(1e-6)
"""Share of the largest cost that is added to denominators that may be 0."""

_BLOCK = 8
"""Rows that are looked at a time: what they need stays in the caches."""


@dataclass(frozen=True)
class Costs:
    """The costs of the pixels as confidence measures see them.

    Cells that are out of view or closed do not count: a sum over the levels is the mean over the levels that count, times the number of all levels, so
    that a pixel about which little is known does not look sure. The chosen level is taken as the one with the lowest cost, which it is unless the
    optimizer preferred smoothness.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    volume : CostVolume
    mask : SearchMask, optional
    """

    disparity: Disparity
    volume: CostVolume
    mask: SearchMask | None = None

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        """The index of the chosen level; any valid index where there is no estimate."""
        search = self.volume.search
        levels = np.rint(
            (np.nan_to_num(self.disparity) - np.float32(search.minimum)) / np.float32(search.step)
        )
        return np.clip(levels, 0, search.levels - 1).astype(np.int32)

    @cached_property
    def largest(self) -> np.float32:
        """The largest cost among the cells that count, always slightly above 0."""
        costs, none, found = self.volume.costs, self.none, np.empty(len(self.disparity), np.float32)
        whole = self.volume.inside.all(axis=1)
        side_by_side = np.flatnonzero(whole)
        # Where all levels are in view and all costs count, NumPy is faster than a kernel.
        most = (
            none
            if self.mask or not whole.any()
            else costs[:, side_by_side[0] : side_by_side[-1] + 1].max()
        )
        if most < none:
            _highest(
                read_only(costs[:, ~whole].astype(none.dtype)), self._span[~whole], none, found
            )
        else:
            self._scan(_highest, none, found)
            most = 0
        return max(found.max(), np.float32(most), _TINY)

    @property
    def least(self) -> np.float32:
        """What is added to denominators that may be 0."""
        return _TINY * self.largest

    @cached_property
    def lowest(self) -> Map:
        """c1: the cost of the chosen level, in the volume's own unit."""
        return _finite(self._map(_chosen, self.none, self.labels))

    @cached_property
    def second(self) -> Map:
        """c2: the lowest cost of any other level."""
        return _finite(self._map(_second_lowest, self.none, self.labels))

    @cached_property
    def second_minimum(self) -> Map:
        """c2m: the lowest other local minimum."""
        return _finite(self._map(_second_minimum, self.none, self.labels))

    @cached_property
    def best_of_met(self) -> Map:
        """The lowest cost that the matched pixel has with any pixel of the row."""
        grid = (
            self.volume.search.denominator,
            self.volume.search.stride,
            self.volume.search.direction,
        )
        return _finite(
            self._map(
                lambda costs, span, *others: _best_of_met(costs, grid, *others),
                self.none,
                self.labels,
            )
        )

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """The sum of the costs of all levels, in the volume's own unit."""
        found = np.empty(self.disparity.shape, np.float64)
        if isinstance(self.none, np.uint16) and self.volume.costs.max() < self.none:
            self._scan(_whole_means, found)
        else:
            self._scan(_means, self.none, found)
        return self.volume.search.levels * found

    def beside(self, step: int) -> Map:
        """The cost of the level `step` above the chosen one; infinite where that level does not count."""
        first, stop = self._span.T
        labels = self.labels + np.int32(step)
        found = self._map(_chosen, self.none, np.clip(labels, 0, self.volume.search.levels - 1))
        return np.where((labels >= first) & (labels < stop), found, np.float32(np.inf))

    def sums(self, share: Callable[[NDArray], NDArray], *, excess: bool = True) -> Map:
        """Sum a function of the cost over all levels.

        Parameters
        ----------
        share : callable
            Takes costs as shares of the largest cost, in an array of any shape.
        excess : bool
            Give the function the excess over the chosen level's cost; levels that cost less count as an excess of 0.
        """
        base, unit, levels = (
            self.lowest if excess else np.zeros_like(self.disparity),
            self.largest,
            self.volume.search.levels,
        )
        if isinstance(self.none, np.uint16):
            # For whole numbers a lookup table is faster.
            table = share(np.arange(int(self.none) + 1, dtype=np.float32) / unit)
            return levels * self._map(
                lambda *some: _tabled(*some[:-1], table, some[-1]), base.astype(np.int32)
            )

        def mean(costs: NDArray, span: NDArray, base: Map, out: Map) -> None:
            counts = self.volume.inside & (costs < self.none)
            found = share(np.maximum(np.where(counts, costs, 0) - base[..., None], 0) / unit)
            number = counts.sum(axis=2)
            total = np.where(counts, found, 0).sum(axis=2)
            out[:] = np.where(
                number > 0, total / np.maximum(number, 1), share(np.zeros(1, np.float32))
            )

        return levels * self._map(mean, base, block=True)

    def as_map(self, values: NDArray) -> Map:
        """The finished confidence map: float32, with the lowest value where there is no estimate."""
        known = ~np.isnan(self.disparity)
        return np.where(
            known, values, values.min(where=known, initial=np.inf) if known.any() else 0
        ).astype(np.float32)

    @property
    def none(self) -> Any:
        """The cost of cells in view that do not count; it has the type in which the kernels receive the costs."""
        return (
            np.uint16(65535)
            if self.mask is None and self.volume.costs.dtype in INTEGERS
            else np.float32(np.inf)
        )

    @cached_property
    def _span(self) -> NDArray[np.int32]:
        """The levels that are in view in each column: the first one, and the one after the last."""
        view = geometry(self.volume.shape[1], self.volume.search)
        return np.stack([view.starts, view.stops], axis=1).astype(np.int32)

    def _map(self, kernel: Callable[..., None], *arguments: Any, block: bool = False) -> Map:
        found = np.empty(self.disparity.shape, np.float32)
        self._scan(kernel, *arguments, found, block=block)
        return found

    def _scan(self, kernel: Callable[..., None], *arguments: Any, block: bool = False) -> None:
        """Call a kernel on rows of the costs, and the same rows of all arrays among the arguments; `block`: in any case on few at a time."""
        costs, mask = self.volume.costs, self.mask

        def call(part: NDArray, start: int, stop: int) -> None:
            kernel(
                read_only(part),
                self._span,
                *(a[start:stop] if isinstance(a, np.ndarray) else a for a in arguments),
            )

        def run(start: int, stop: int) -> None:
            if costs.dtype == self.none.dtype and mask is None and not block:
                call(costs[start:stop], start, stop)
                return
            for top in range(start, stop, _BLOCK):
                bottom = min(top + _BLOCK, stop)
                part = replace(self.volume, costs=costs[top:bottom].astype(self.none.dtype))
                if mask is not None:
                    with threads(1):
                        mask.rows(top, bottom).exclude(part, self.none)
                call(part.costs, top, bottom)

        over_rows(run, costs.shape[0], costs.size)


def _finite(costs: Map) -> Map:
    """Return the costs, with 0 in excluded cells of pixels without an estimate."""
    return np.where(np.isinf(costs), np.float32(0), costs)


# Kernels that pass over the costs, uint16 or float32, ``(rows, columns, levels)``. `span`, ``(columns, 2)``, holds the first level of a column that counts and
# the one after the last; within it a cell counts unless its cost is `none`, the largest number of the costs' type.


@kernel
def _highest(costs: NDArray, span: Span, none: Any, out: Map) -> None:
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
def _chosen(costs: NDArray, span: Span, none: Any, labels: Levels, out: Map) -> None:
    """The cost of every pixel's label, whether it counts or not."""
    rows, columns, _ = costs.shape
    for y in range(rows):
        for x in range(columns):
            out[y, x] = costs[y, x, labels[y, x]]


@kernel
def _second_lowest(costs: NDArray, span: Span, none: Any, labels: Levels, out: Map) -> None:
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
def _second_minimum(costs: NDArray, span: Span, none: Any, labels: Levels, out: Map) -> None:
    """The lowest local minimum among the levels that were not chosen; where there is none, the highest cost, the chosen one's if no other counts.

    A level is a local minimum when its cost is below that of the level before and not above that of the level after it.
    """
    rows, columns, _ = costs.shape
    one = np.uint64(1)
    for y in range(rows):
        for x in range(columns):
            own = costs[y, x, span[x, 0] : span[x, 1]]
            label, last, least = (
                np.uint16((labels[y, x] - span[x, 0]) & 0xFFFF),
                own.shape[0] - 1,
                none,
            )
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
def _means(costs: NDArray, span: Span, none: Any, out: NDArray[np.float64]) -> None:
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
def _whole_means(costs: NDArray[np.uint16], span: Span, out: NDArray[np.float64]) -> None:
    """The same of whole numbers that all count, which are added up three times as fast."""
    rows, columns, _ = costs.shape
    for y in range(rows):
        for x in range(columns):
            own, total = costs[y, x, span[x, 0] : span[x, 1]], np.int64(0)
            for k in range(own.shape[0]):
                total += np.int64(own[k])
            out[y, x] = np.float64(total) / max(own.shape[0], 1)


@kernel(fastmath={"reassoc"})
def _tabled(costs: NDArray, span: Span, base: Levels, table: Map, out: Map) -> None:
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
def _best_of_met(
    costs: NDArray, grid: tuple[int, int, int], none: Any, labels: Levels, out: Map
) -> None:
    """The lowest cost with which the position that a pixel's label meets in the match image is met by any pixel of the row.

    `grid`: positions in a pixel, from level to level, and the direction.
    """
    (rows, columns, levels), (denominator, stride, direction) = costs.shape, grid
    own, met = (
        costs.reshape(-1),
        np.empty((columns - 1) * denominator + (levels - 1) * stride + 1, costs.dtype),
    )
    for y in range(rows):
        met[:] = none
        # Positions run forwards with the levels.
        for x in range(columns):
            place = (columns - 1 - x if direction > 0 else x) * denominator
            _meet(own, (y * columns + x) * levels, levels, stride, met, place)
        for x in range(columns):
            out[y, x] = met[
                (columns - 1 - x if direction > 0 else x) * denominator + labels[y, x] * stride
            ]


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
