"""The costs from which confidence measures are computed: which level was chosen, which cells count, and the largest cost, which serves as the unit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity, read_only
from stereo_framework.core.volume import INTEGERS, CostVolume, SearchMask
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows, threads

Map = NDArray[np.float32]

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
        levels = np.rint((np.nan_to_num(self.disparity) - np.float32(search.minimum)) / np.float32(search.step))
        return np.clip(levels, 0, search.levels - 1).astype(np.int32)

    @cached_property
    def largest(self) -> np.float32:
        """The largest cost among the cells that count, always slightly above 0."""
        return max(self._map(lambda costs, counts: np.where(counts, costs, 0).max(axis=2)).max(), _TINY)

    @property
    def least(self) -> np.float32:
        """What is added to denominators that may be 0."""
        return _TINY * self.largest

    @cached_property
    def lowest(self) -> Map:
        """c1: the cost of the chosen level, in the volume's own unit."""
        return _finite(self._map(lambda costs, counts, labels: _chosen(costs, labels), self.labels))

    @cached_property
    def second(self) -> Map:
        """c2: the lowest cost of any other level; where none counts, that of the chosen one."""

        def lowest(costs: NDArray, counts: NDArray, labels: NDArray) -> NDArray:
            found = self._lowest_other(costs, counts, labels)
            return np.where(found < self.none, found, _chosen(costs, labels))

        return _finite(self._map(lowest, self.labels))

    @cached_property
    def second_minimum(self) -> Map:
        """c2m: the lowest other local minimum; where there is none, the highest cost, the chosen one's if no other counts.

        A level is a local minimum when its cost is below that of the level before and not above that of the level after it.
        """
        several = (self.volume.inside.sum(axis=1) > 1)[:, None]

        def lowest(costs: NDArray, counts: NDArray, labels: NDArray) -> NDArray:
            high = np.pad(np.where(counts, costs, self.none), ((0, 0), (0, 0), (1, 1)), constant_values=self.none)
            here = high[..., 1:-1]
            found = self._lowest_other(costs, several & (here < high[..., :-2]) & (here <= high[..., 2:]), labels)
            highest = np.maximum(np.where(counts, costs, 0).max(axis=2), _chosen(costs, labels))
            return np.where(found < self.none, found, highest)

        return _finite(self._map(lowest, self.labels))

    @cached_property
    def best_of_met(self) -> Map:
        """The lowest cost that the matched pixel has with any pixel of the row."""
        search, (_, columns, levels) = self.volume.search, self.volume.costs.shape
        denominator, stride, turn = search.denominator, search.stride, -search.direction
        # Places in the match image, in samples of which a pixel has `denominator`; they run forwards with the levels.
        first = np.arange(columns)[::turn] * denominator
        last = (columns - 1) * denominator

        def lowest(costs: NDArray, counts: NDArray, labels: NDArray) -> NDArray:
            met = np.full((len(costs), last + (levels - 1) * stride + 1), self.none)
            for level in range(levels):
                some = met[:, level * stride : level * stride + last + 1 : denominator]
                np.minimum(some, costs[:, ::turn, level], out=some)
            return np.take_along_axis(met, first + labels * stride, axis=1)

        return _finite(self._map(lowest, self.labels))

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """The sum of the costs of all levels, in the volume's own unit."""

        def mean(costs: NDArray, counts: NDArray) -> NDArray:
            return np.where(counts, costs, 0).sum(axis=2, dtype=np.float64) / np.maximum(counts.sum(axis=2), 1)

        return self.volume.search.levels * self._map(mean, kind=np.float64)

    def beside(self, step: int) -> Map:
        """The cost of the level `step` above the chosen one; infinite where that level does not count."""
        labels, (_, columns, levels) = self.labels + step, self.volume.costs.shape
        legal = np.clip(labels, 0, levels - 1)
        found = self._map(lambda costs, counts, labels: _chosen(costs, labels), legal)
        return np.where((labels == legal) & self.volume.inside[np.arange(columns), legal], found, np.float32(np.inf))

    def sums(self, share: Callable[[NDArray], NDArray], *, excess: bool = True) -> Map:
        """Sum a function of the cost over all levels.

        Parameters
        ----------
        share : callable
            Takes costs as shares of the largest cost, in an array of any shape.
        excess : bool
            Give the function the excess over the chosen level's cost; levels that cost less count as an excess of 0.
        """
        base = self.lowest if excess else np.zeros_like(self.disparity)
        unit = self.largest

        def mean(costs: NDArray, counts: NDArray, base: Map) -> NDArray:
            found = share(np.maximum(np.where(counts, costs, 0) - base[..., None], 0) / unit)
            number = counts.sum(axis=2)
            total = np.where(counts, found, 0).sum(axis=2)
            return np.where(number > 0, total / np.maximum(number, 1), share(np.zeros(1, np.float32)))

        def tabled(costs: NDArray, counts: NDArray, base: Map) -> Map:
            found = np.empty(base.shape, np.float32)
            _tabled(read_only(costs), span, base.astype(np.int32), table, found)
            return found

        if not isinstance(self.none, np.uint16):
            return self.volume.search.levels * self._map(mean, base)
        # For whole numbers a lookup table is faster.
        table = share(np.arange(int(self.none) + 1, dtype=np.float32) / unit)
        first = self.volume.inside.argmax(axis=1)
        span = np.stack([first, first + self.volume.inside.sum(axis=1)], axis=1)
        return self.volume.search.levels * self._map(tabled, base)

    def told(self, values: NDArray) -> Map:
        """The finished confidence map: float32, with the lowest value where there is no estimate."""
        known = ~np.isnan(self.disparity)
        return np.where(known, values, values.min(where=known, initial=np.inf) if known.any() else 0).astype(np.float32)

    @property
    def none(self) -> Any:
        """The cost of cells that do not count, in the type in which costs are looked at."""
        return np.uint16(65535) if self.mask is None and self.volume.costs.dtype in INTEGERS else np.float32(np.inf)

    def _lowest_other(self, costs: NDArray, counts: NDArray, labels: NDArray) -> NDArray:
        """The lowest of the costs that count but for that of a label; `none` where there is none."""
        others = np.where(counts, costs, self.none)
        np.put_along_axis(others, labels[..., None], self.none, axis=2)
        return others.min(axis=2)

    def _map(self, function: Callable[..., NDArray], *arrays: NDArray, kind: type = np.float32) -> NDArray:
        """What a function makes of the costs of some rows, of whether they count, and of the same rows of other arrays."""
        found: NDArray = np.empty(self.disparity.shape, kind)

        def run(start: int, stop: int) -> None:
            for top in range(start, stop, _BLOCK):
                rows = slice(top, min(top + _BLOCK, stop))
                block = replace(self.volume, costs=self.volume.costs[rows].astype(self.none.dtype))
                if self.mask is not None:
                    with threads(1):
                        self.mask.rows(rows.start, rows.stop).close(block, self.none)
                counts = self.volume.inside & (block.costs < self.none)
                found[rows] = function(block.costs, counts, *(array[rows] for array in arrays))

        over_rows(run, len(found), self.volume.costs.size)
        return found


@kernel(fastmath={"reassoc"})
def _tabled(costs: NDArray, span: NDArray, base: NDArray[np.int32], table: Map, out: Map) -> None:
    """The mean over the levels from ``span[x, 0]`` to before ``span[x, 1]`` of what a table holds for the excess of a cost over `base`, or for 0."""
    rows, columns, _ = costs.shape
    for y in range(rows):
        for x in range(columns):
            own, least = costs[y, x, span[x, 0] : span[x, 1]], base[y, x]
            total = np.float32(0)
            for k in range(own.shape[0]):
                total += table[np.uint32(max(np.int32(own[k]) - least, np.int32(0)))]
            out[y, x] = total / np.float32(own.shape[0]) if own.shape[0] else table[0]


def _chosen(costs: NDArray, labels: NDArray) -> NDArray:
    """The cost of each pixel's label, whether it counts or not."""
    return np.take_along_axis(costs, labels[..., None], axis=2)[..., 0]


def _finite(costs: Map) -> Map:
    """The costs, with 0 for closed cells; only pixels without an estimate have those."""
    return np.where(np.isinf(costs), np.float32(0), costs)
