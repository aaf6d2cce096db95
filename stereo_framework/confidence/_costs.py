"""The costs from which confidence measures are computed: which level was chosen, which cells count, and the largest cost, which serves as the unit."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.confidence import _cost_scans as scans
from stereo_framework.core.scene import Disparity, read_only
from stereo_framework.core.volume import INTEGERS, CostVolume, SearchMask
from stereo_framework.kernels.threads import over_rows, threads

Map = NDArray[np.float32]

_TINY = np.float32(1e-6)
"""Share of the largest cost that is added to denominators that may be 0."""

_BLOCK = 8
"""Number of rows copied at a time where a mask closes cells or where the kernels cannot use the costs in their own type."""


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
        span, costs, most = self._span, self.volume.costs, _TINY
        full = np.flatnonzero(span[:, 1] - span[:, 0] == costs.shape[2])
        if self.mask is None and full.size:
            # Where all levels are in view, NumPy is faster than a kernel; such columns lie side by side.
            there = costs[:, full[0] : full[-1] + 1].max()
            if there < self.none:
                span, most = span.copy(), max(most, np.float32(there))
                span[full] = 0
        found = np.empty(len(self.disparity), np.float32)
        self._scan(scans.highest, self.none, type(self.none)(0), found, span=span)
        return max(found.max(), most)

    @property
    def least(self) -> np.float32:
        """What is added to denominators that may be 0."""
        return _TINY * self.largest

    @cached_property
    def lowest(self) -> Map:
        """c1: the cost of the chosen level, in the volume's own unit."""
        return _finite(self._map(scans.chosen, self.none, self.labels))

    @cached_property
    def second(self) -> Map:
        """c2: the lowest cost of any other level."""
        return _finite(self._map(scans.second_lowest, self.none, self.labels))

    @cached_property
    def second_minimum(self) -> Map:
        """c2m: the lowest other local minimum."""
        return _finite(self._map(scans.second_minimum, self.none, self.labels))

    @cached_property
    def best_of_met(self) -> Map:
        """The lowest cost that the matched pixel has with any pixel of the row."""
        search = self.volume.search
        grid = search.denominator, search.stride, search.direction
        return _finite(self._map(scans.best_of_met, self.none, self.labels, *grid))

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """The sum of the costs of all levels, in the volume's own unit."""
        found = np.empty(self.disparity.shape, np.float64)
        if isinstance(self.none, np.uint16) and self.volume.costs.max() < self.none:
            self._scan(scans.whole_means, found)
        else:
            self._scan(scans.means, self.none, found)
        return self.volume.search.levels * found

    def beside(self, step: int) -> Map:
        """The cost of the level `step` above the chosen one; infinite where that level does not count."""
        first, stop = self._span.T
        labels = self.labels + np.int32(step)
        found = self._map(scans.chosen, self.none, np.clip(labels, 0, self.volume.search.levels - 1))
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
        base = self.lowest if excess else np.zeros_like(self.disparity)
        unit, none = self.largest, self.none

        def add(costs: NDArray, span: NDArray, base: Map, out: Map) -> None:
            levels = np.arange(costs.shape[2])
            seen = (levels >= span[:, :1]) & (levels < span[:, 1:])
            for y in range(len(costs)):
                counts = seen & (costs[y] < none)
                found = share(np.maximum(np.where(counts, costs[y], 0) - base[y, :, None], 0) / unit)
                count = counts.sum(axis=1)
                mean = np.where(counts, found, 0).sum(axis=1) / np.maximum(count, 1)
                out[y] = np.where(count > 0, mean, share(np.zeros(1, np.float32)))

        if isinstance(none, np.uint16):
            # For whole numbers a lookup table is faster.
            table = share(np.arange(int(none) + 1, dtype=np.float32) / unit)
            base = base.astype(np.int32)
            mean = self._map(lambda costs, span, base, out: scans.tabled(costs, span, base, table, out), base)
        else:
            mean = self._map(add, base)
        return self.volume.search.levels * mean

    @property
    def likelihoods(self) -> tuple[Map, Map]:
        """The sums over the levels of exp(-c) and of c exp(-c), where c is a cost as a share of the largest."""
        if not isinstance(self.none, np.uint16):
            return self.sums(_likely, excess=False), self.sums(_weighted, excess=False)
        shares = np.arange(int(self.none) + 1, dtype=np.float32) / self.largest
        likely, weighted = np.empty_like(self.disparity), np.empty_like(self.disparity)
        kernel = functools.partial(_tabled_twice, (_likely(shares), _weighted(shares)))
        self._scan(kernel, likely, weighted)
        return self.volume.search.levels * likely, self.volume.search.levels * weighted

    def told(self, values: NDArray) -> Map:
        """The finished confidence map: float32, with the lowest value where there is no estimate."""
        known = ~np.isnan(self.disparity)
        return np.where(known, values, values.min(where=known, initial=np.inf) if known.any() else 0).astype(np.float32)

    @property
    def none(self) -> Any:
        """The value of cells in view that do not count; it has the type in which the kernels receive the costs."""
        return np.uint16(65535) if self.mask is None and self.volume.costs.dtype in INTEGERS else np.float32(np.inf)

    @cached_property
    def _span(self) -> NDArray[np.int32]:
        """The levels that are in view in each column: the first one, and the one after the last."""
        view = self.volume.inside
        first = view.argmax(axis=1)
        return np.stack([first, first + view.sum(axis=1)], axis=1).astype(np.int32)

    def _map(self, kernel: Callable[..., None], *arguments: Any) -> Map:
        found = np.empty(self.disparity.shape, np.float32)
        self._scan(kernel, *arguments, found)
        return found

    def _scan(self, kernel: Callable[..., None], *arguments: Any, span: NDArray[np.int32] | None = None) -> None:
        """Call a kernel on blocks of rows of the costs, with the same rows of all arrays among the arguments; `span` replaces the levels that are in view."""
        costs, mask = self.volume.costs, self.mask
        span = self._span if span is None else span

        def rows(start: int, stop: int) -> list[Any]:
            return [a[start:stop] if isinstance(a, np.ndarray) else a for a in arguments]

        def run(start: int, stop: int) -> None:
            if costs.dtype == self.none.dtype and mask is None:
                kernel(read_only(costs[start:stop]), span, *rows(start, stop))
                return
            for top in range(start, stop, _BLOCK):
                bottom = min(top + _BLOCK, stop)
                block = replace(self.volume, costs=costs[top:bottom].astype(self.none.dtype))
                if mask is not None:
                    with threads(1):
                        mask.rows(top, bottom).close(block, self.none)
                kernel(read_only(block.costs), span, *rows(top, bottom))

        over_rows(run, costs.shape[0], costs.size)


def _likely(costs: NDArray) -> NDArray:
    return np.exp(-costs)


def _weighted(costs: NDArray) -> NDArray:
    return costs * np.exp(-costs)


def _tabled_twice(tables: tuple[Map, Map], costs: NDArray, span: NDArray, likely: Map, weighted: Map) -> None:
    scans.tabled_twice(costs, span, *tables, likely, weighted)


def _finite(costs: Map) -> Map:
    """The costs, with 0 for closed cells; only pixels without an estimate have those."""
    return np.where(np.isinf(costs), np.float32(0), costs)
