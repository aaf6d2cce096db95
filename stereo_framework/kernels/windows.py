"""Sliding sums and minima over the rows and columns of a volume, shared by stages that aggregate.

A window of size w covers ``(w - 1) // 2`` samples before and ``w // 2`` after its centre (the original test bed's convention
for even sizes). Kernels work on the row range ``start..start + out.shape[0] - 1`` of their input and clamp at its ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

_PART = 24576
"""Samples of a row in which minima are taken at a time: two such lines fit the second cache."""


def box_mean(costs: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Mean over a square window of every level, borders replicated; float32 ``(rows, columns, levels)``.

    Sums run in float64 and are rounded once, so that the result does not depend on where a row range starts.
    """
    mean = np.empty_like(costs)
    over_rows(lambda start, stop: _box(costs, start, size, mean[start:stop]), costs.shape[0], costs.size)
    return mean


def window_minimum(costs: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Minimum over a square window of every level, clipped at the borders; float32 ``(rows, columns, levels)``."""
    minimum = np.empty_like(costs)
    over_rows(lambda start, stop: _minimum(costs, start, size, minimum[start:stop]), costs.shape[0], costs.size)
    return minimum


@kernel
def _box(costs: NDArray[np.float32], start: int, size: int, out: NDArray[np.float32]) -> None:
    rows, columns, levels = costs.shape
    before, after = (size - 1) // 2, size // 2
    scale = 1.0 / (size * size)
    column_sums = np.zeros((columns, levels), np.float64)
    window = np.empty(levels, np.float64)
    flat = column_sums.reshape(-1)
    for y in range(start - before, start + after + 1):
        row = costs[min(max(y, 0), rows - 1)].reshape(-1)
        for i in range(flat.shape[0]):
            flat[i] += row[i]
    for y in range(out.shape[0]):
        if y > 0:
            enter = costs[min(start + y + after, rows - 1)].reshape(-1)
            leave = costs[max(start + y - before - 1, 0)].reshape(-1)
            for i in range(flat.shape[0]):
                flat[i] += np.float64(enter[i]) - np.float64(leave[i])
        _slide_sums(column_sums, before, after, scale, window, out[y])


@kernel
def _slide_sums(
    sums: NDArray[np.float64], before: int, after: int, scale: float, window: NDArray[np.float64], out: NDArray[np.float32]
) -> None:
    columns, levels = sums.shape
    window[:] = 0.0
    for x in range(-before, after + 1):
        clamped = np.uint64(min(max(x, 0), columns - 1))
        for k in range(levels):
            window[k] += sums[clamped, k]
    for x in range(columns):
        # Unsigned indices need no wraparound check, and indexing the whole array makes no slice: 4x faster at 16 levels.
        at = np.uint64(x)
        if x > 0:
            enter, leave = np.uint64(min(x + after, columns - 1)), np.uint64(max(x - before - 1, 0))
            for k in range(levels):
                window[k] += sums[enter, k] - sums[leave, k]
                out[at, k] = window[k] * scale
        else:
            for k in range(levels):
                out[at, k] = window[k] * scale


@kernel
def _minimum(costs: NDArray[np.float32], start: int, size: int, out: NDArray[np.float32]) -> None:
    rows, columns, levels = costs.shape
    before, after = (size - 1) // 2, size // 2
    # Rows by van Herk's scheme, in blocks of `size` rows. A row of `out` holds first the minimum from its row to the last of the present
    # block; prefix: minimum of the rows entered since.
    prefix = np.empty(columns * levels, np.float32)
    beyond = np.empty_like(prefix)
    # The row's minima stand in a line with room for a window at its ends. Its columns are taken some at a time, which then stay in the
    # processor's second cache.
    line = np.full((columns + size - 1) * levels, np.float32(np.inf))
    middle = line[before * levels : before * levels + prefix.shape[0]]
    part = min(columns, max(size, _PART // levels))
    one = np.empty((part + size - 1) * levels, np.float32)
    other = np.empty_like(one)
    for y in range(out.shape[0]):
        target = out[y].reshape(-1)
        if y % size == 0:
            following = prefix
            following[:] = np.inf
            for i in range(y + size - 1, y - 1, -1):
                # Clamped rows are repeated, which does not change a minimum.
                row = costs[min(max(start + i - before, 0), rows - 1)].reshape(-1)
                suffix = out[i].reshape(-1) if i < out.shape[0] else beyond
                _lower(row, following, suffix)
                following = suffix
            for i in range(middle.shape[0]):
                middle[i] = following[i]
        else:
            _enter(costs[min(start + y + after, rows - 1)].reshape(-1), target, prefix, middle)
        for first in range(0, columns, part):
            stop = min(first + part, columns)
            window = line[first * levels : (stop + size - 1) * levels]
            _minimum_along_row(window, one, other, size, levels, target[first * levels : stop * levels])


@kernel
def _enter(
    row: NDArray[np.float32], suffix: NDArray[np.float32], prefix: NDArray[np.float32], minimum: NDArray[np.float32]
) -> None:
    for i in range(row.shape[0]):
        prefix[i] = row[i] if row[i] < prefix[i] else prefix[i]
        minimum[i] = suffix[i] if suffix[i] < prefix[i] else prefix[i]


@kernel
def _minimum_along_row(
    line: NDArray[np.float32],
    one: NDArray[np.float32],
    other: NDArray[np.float32],
    size: int,
    levels: int,
    out: NDArray[np.float32],
) -> None:
    """Minima over `size` columns of a line that is `size` - 1 columns longer than `out`; what they cover doubles with each pass."""
    width, covered = out.shape[0], 1
    while 2 * covered < size:
        n, step = width + (size - 2 * covered) * levels, covered * levels
        _lower(line[:n], line[step : step + n], one[:n])
        line, one, other = one, other, one
        covered *= 2
    last = (size - covered) * levels
    _lower(line[:width], line[last : last + width], out)


@kernel
def _lower(a: NDArray[np.float32], b: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    for i in range(out.shape[0]):
        out[i] = a[i] if a[i] < b[i] else b[i]
