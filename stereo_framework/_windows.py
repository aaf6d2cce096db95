"""Sliding sums and minima over the rows and columns of a volume, shared by stages that aggregate.

A window of size w covers ``(w - 1) // 2`` samples before and ``w // 2`` after its centre (the original test bed's convention
for even sizes). Kernels work on the row range ``start..start + out.shape[0] - 1`` of their input and clamp at its ends.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from stereo_framework._parallel import over_rows


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


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True, error_model="numpy")
def _minimum(costs: NDArray[np.float32], start: int, size: int, out: NDArray[np.float32]) -> None:
    rows, columns, levels = costs.shape
    before, after = (size - 1) // 2, size // 2
    width = columns * levels
    # Rows by van Herk's scheme. suffix[i]: minimum of the present block of `size` rows from its i-th to its last row; prefix:
    # minimum of the rows entered since.
    suffix = np.empty((size, width), np.float32)
    prefix = np.empty(width, np.float32)
    # Columns by doubling. The row stands in a line that repeats its ends.
    line = np.empty((columns + size - 1) * levels, np.float32)
    other = np.empty_like(line)
    middle = line[before * levels : before * levels + width]
    for y in range(out.shape[0]):
        i = y % size
        if i == 0:
            # Clamped rows are repeated, which does not change a minimum.
            suffix[size - 1] = costs[min(max(start + y - before + size - 1, 0), rows - 1)].reshape(-1)
            for j in range(size - 2, -1, -1):
                _lower(costs[min(max(start + y - before + j, 0), rows - 1)].reshape(-1), suffix[j + 1], suffix[j])
            middle[:] = suffix[0]
        else:
            row = costs[min(start + y + after, rows - 1)].reshape(-1)
            if i == 1:
                prefix[:] = row
            else:
                _lower(row, prefix, prefix)
            _lower(suffix[i], prefix, middle)
        _minimum_along_row(line, other, before, size, levels, out[y].reshape(-1))


@njit(cache=True, nogil=True, error_model="numpy")
def _minimum_along_row(
    line: NDArray[np.float32], other: NDArray[np.float32], before: int, size: int, levels: int, out: NDArray[np.float32]
) -> None:
    """Minima over `size` columns of a line whose ends, `size` - 1 columns in all, are filled here."""
    width = out.shape[0]
    for i in range(before * levels):
        line[i] = line[before * levels + i % levels]
    for i in range(before * levels + width, line.shape[0]):
        line[i] = line[i - levels]
    covered = 1
    while 2 * covered <= size:
        n = width + (size - 2 * covered) * levels
        _lower(line[:n], line[covered * levels : covered * levels + n], other[:n])
        line, other = other, line
        covered *= 2
    _lower(line[:width], line[(size - covered) * levels : (size - covered) * levels + width], out)


@njit(cache=True, nogil=True, error_model="numpy")
def _lower(a: NDArray[np.float32], b: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    for i in range(out.shape[0]):
        out[i] = a[i] if a[i] < b[i] else b[i]
