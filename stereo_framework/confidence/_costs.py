"""The costs from which confidence measures are computed: which level was chosen, which cells count, and the largest cost, which serves as the unit."""

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
        costs, none, found = self.volume.costs, self.none, np.empty(len(self.disparity), np.float32)
        whole = self.volume.inside.all(axis=1)
        side_by_side = np.flatnonzero(whole)
        # Where all levels are in view and all costs count, NumPy is faster than a kernel.
        most = none if self.mask or not whole.any() else costs[:, side_by_side[0] : side_by_side[-1] + 1].max()
        if most < none:
            scans.highest(read_only(costs[:, ~whole].astype(none.dtype)), self._span[~whole], none, found)
        else:
            self._scan(scans.highest, none, found)
            most = 0
        return max(found.max(), np.float32(most), _TINY)

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
        grid = self.volume.search.denominator, self.volume.search.stride, self.volume.search.direction
        return _finite(self._map(lambda costs, span, *others: scans.best_of_met(costs, grid, *others), self.none, self.labels))

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
        base, unit, levels = self.lowest if excess else np.zeros_like(self.disparity), self.largest, self.volume.search.levels
        if isinstance(self.none, np.uint16):
            # For whole numbers a lookup table is faster.
            table = share(np.arange(int(self.none) + 1, dtype=np.float32) / unit)
            return levels * self._map(lambda *some: scans.tabled(*some[:-1], table, some[-1]), base.astype(np.int32))

        def mean(costs: NDArray, span: NDArray, base: Map, out: Map) -> None:
            counts = self.volume.inside & (costs < self.none)
            found = share(np.maximum(np.where(counts, costs, 0) - base[..., None], 0) / unit)
            number = counts.sum(axis=2)
            total = np.where(counts, found, 0).sum(axis=2)
            out[:] = np.where(number > 0, total / np.maximum(number, 1), share(np.zeros(1, np.float32)))

        return levels * self._map(mean, base, block=True)

    def told(self, values: NDArray) -> Map:
        """The finished confidence map: float32, with the lowest value where there is no estimate."""
        known = ~np.isnan(self.disparity)
        return np.where(known, values, values.min(where=known, initial=np.inf) if known.any() else 0).astype(np.float32)

    @property
    def none(self) -> Any:
        """The cost of cells in view that do not count; it has the type in which the kernels receive the costs."""
        return np.uint16(65535) if self.mask is None and self.volume.costs.dtype in INTEGERS else np.float32(np.inf)

    @cached_property
    def _span(self) -> NDArray[np.int32]:
        """The levels that are in view in each column: the first one, and the one after the last."""
        view = self.volume.inside
        first = view.argmax(axis=1)
        return np.stack([first, first + view.sum(axis=1)], axis=1).astype(np.int32)

    def _map(self, kernel: Callable[..., None], *arguments: Any, block: bool = False) -> Map:
        found = np.empty(self.disparity.shape, np.float32)
        self._scan(kernel, *arguments, found, block=block)
        return found

    def _scan(self, kernel: Callable[..., None], *arguments: Any, block: bool = False) -> None:
        """Call a kernel on rows of the costs, and the same rows of all arrays among the arguments; `block`: in any case on few at a time."""
        costs, mask = self.volume.costs, self.mask

        def call(part: NDArray, start: int, stop: int) -> None:
            kernel(read_only(part), self._span, *(a[start:stop] if isinstance(a, np.ndarray) else a for a in arguments))

        def run(start: int, stop: int) -> None:
            if costs.dtype == self.none.dtype and mask is None and not block:
                call(costs[start:stop], start, stop)
                return
            for top in range(start, stop, _BLOCK):
                bottom = min(top + _BLOCK, stop)
                part = replace(self.volume, costs=costs[top:bottom].astype(self.none.dtype))
                if mask is not None:
                    with threads(1):
                        mask.rows(top, bottom).close(part, self.none)
                call(part.costs, top, bottom)

        over_rows(run, costs.shape[0], costs.size)


def _finite(costs: Map) -> Map:
    """The costs, with 0 for closed cells; only pixels without an estimate have those."""
    return np.where(np.isinf(costs), np.float32(0), costs)
