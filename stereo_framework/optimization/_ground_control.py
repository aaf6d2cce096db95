"""Ground control points: matches so reliable that a path may be made to pass through them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import read_only
from stereo_framework.core.volume import CostVolume, Labels
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.windows import box_mean, window_minimum


def control_points(volume: CostVolume, window: int, margin: float) -> Labels:
    """The level at every ground control point, -1 elsewhere; int16 (rows, columns).

    Parameters
    ----------
    volume : CostVolume
    window : int
        Width and height in pixels of the shiftable window over which costs are averaged; 1: none.
    margin : float
        How much more than a control point its best competitor must cost, in units of the averaged matching cost.

    Notes
    -----
    After Bobick & Intille 1999. In each row the points leave a path: their match positions increase with their columns.
    """
    search = volume.search
    costs = window_minimum(read_only(box_mean(volume.costs, window)), window)
    costs[:, ~volume.inside] = np.inf
    rows, columns, levels = costs.shape
    best = costs.min(axis=2, keepdims=True)
    trusted = costs == best
    trusted &= trusted.sum(axis=2, keepdims=True) == 1
    # Levels up to a pixel away see the same minimum and do not compete.
    beside = np.abs(np.arange(levels) - costs.argmin(axis=2)[..., None]) <= max(1, round(1 / search.step))
    competitor = np.where(beside, np.inf, costs).min(axis=2, keepdims=True)
    # Without any, at the border where the match may lie out of view, nothing is known.
    trusted &= np.isfinite(competitor) & (competitor >= best + margin)

    # The same seen from the other image: the lowest cost, and how often it occurs, at every match position.
    last = (columns - 1) * search.denominator
    lowest = np.full((rows, last + 1), np.inf, np.float32)
    for k in range(levels):
        position, seen = _positions(volume, k)
        lowest[:, position] = np.minimum(lowest[:, position], costs[:, seen, k])
    count = np.zeros((rows, last + 1), np.int32)
    for k in range(levels):
        position, seen = _positions(volume, k)
        count[:, position] += costs[:, seen, k] == lowest[:, position]
    for k in range(levels):
        position, seen = _positions(volume, k)
        trusted[:, seen, k] &= (costs[:, seen, k] == lowest[:, position]) & (count[:, position] == 1)

    points = np.where(trusted.any(axis=2), trusted.argmax(axis=2), -1).astype(np.int16)
    points[~_has_neighbour(points >= 0)] = -1
    _keep_ordered(points, search.denominator, search.stride * search.direction)
    return points


def _positions(volume: CostVolume, level: int) -> tuple[slice, NDArray[np.intp]]:
    """Where in the match image, in fine samples, the pixels that see it at `level` match; and those pixels' columns."""
    search = volume.search
    seen = np.flatnonzero(volume.inside[:, level])
    if seen.size == 0:
        return slice(0, 0), seen
    first = seen[0] * search.denominator - search.direction * (search.first + search.stride * level)
    return slice(first, first + seen.size * search.denominator, search.denominator), seen


def _has_neighbour(points: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether one of the eight pixels around each is set."""
    rows, columns = points.shape
    padded = np.pad(points, 1).astype(np.int8)
    around = sum(padded[1 + i : 1 + i + rows, 1 + j : 1 + j + columns] for i in (-1, 0, 1) for j in (-1, 0, 1)) - points
    return around > 0


@kernel
def _keep_ordered(points: Labels, denominator: int, stride: int) -> None:
    """Drop as few points of each row as are needed for match positions to increase from left to right."""
    rows, columns = points.shape
    # Of all increasing chains of n + 1 points the one that ends furthest left in the match image ends at column tails[n].
    tails, before = np.empty(columns, np.int64), np.empty(columns, np.int64)
    position = np.empty(columns, np.int64)
    for y in range(rows):
        length = 0
        for x in range(columns):
            if points[y, x] < 0:
                continue
            position[x] = x * denominator - stride * points[y, x]
            low, high = 0, length
            while low < high:
                middle = (low + high) // 2
                if position[tails[middle]] < position[x]:
                    low = middle + 1
                else:
                    high = middle
            before[x] = tails[low - 1] if low > 0 else -1
            tails[low] = x
            length = max(length, low + 1)
        keep = tails[length - 1] if length > 0 else -1
        for x in range(columns - 1, -1, -1):
            if x == keep:
                keep = before[x]
            else:
                points[y, x] = -1
