"""Sliding sums and minima over the rows and columns of a volume, shared by stages that aggregate.

A window of size w covers ``(w - 1) // 2`` samples before and ``w // 2`` after its centre (the original test bed's convention
for even sizes). Kernels work on the row range ``start..start + out.shape[0] - 1`` of their input and clamp at its ends.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from stereo_framework._parallel import over_rows
from stereo_framework.errors import ParameterError


def check_size(stage: str, size: int) -> None:
    """Refuse a window without a pixel."""
    if size < 1:
        raise ParameterError(f"{stage}.size: {size!r} is not a whole number >= 1")


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
        column = sums[min(max(x, 0), columns - 1)]
        for k in range(levels):
            window[k] += column[k]
    for x in range(columns):
        cell = out[x]
        if x > 0:
            enter, leave = sums[min(x + after, columns - 1)], sums[max(x - before - 1, 0)]
            for k in range(levels):
                window[k] += enter[k] - leave[k]
        for k in range(levels):
            cell[k] = window[k] * scale


@njit(cache=True, nogil=True, error_model="numpy")
def _minimum(costs: NDArray[np.float32], start: int, size: int, out: NDArray[np.float32]) -> None:
    """Van Herk's scheme in both directions: three comparisons a cell, whatever the size."""
    rows, columns, levels = costs.shape
    before, after = (size - 1) // 2, size // 2
    width = columns * levels
    # suffix[i]: minimum of the current block of `size` rows from its i-th to its last; prefix: of the next block so far.
    suffix = np.empty((size, width), np.float32)
    prefix = np.empty(width, np.float32)
    line = np.empty((columns, levels), np.float32)
    padded = np.empty((columns + size - 1, levels), np.float32)
    backward = np.empty((columns + size - 1, levels), np.float32)
    flat = line.reshape(-1)
    for y in range(out.shape[0]):
        i = y % size
        if i == 0:
            # The block covers rows start + y - before ... + size - 1, clamped: repeated rows do not change a minimum.
            suffix[size - 1] = costs[min(max(start + y - before + size - 1, 0), rows - 1)].reshape(-1)
            for j in range(size - 2, -1, -1):
                _lower(costs[min(max(start + y - before + j, 0), rows - 1)].reshape(-1), suffix[j + 1], suffix[j])
            flat[:] = suffix[0]
        else:
            row = costs[min(start + y + after, rows - 1)].reshape(-1)
            if i == 1:
                prefix[:] = row
            else:
                _lower(row, prefix, prefix)
            _lower(suffix[i], prefix, flat)
        _slide_minimum(line, before, size, padded, backward, out[y])


@njit(cache=True, nogil=True, error_model="numpy")
def _lower(a: NDArray[np.float32], b: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    for i in range(out.shape[0]):
        out[i] = a[i] if a[i] < b[i] else b[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _slide_minimum(
    line: NDArray[np.float32],
    before: int,
    size: int,
    padded: NDArray[np.float32],
    backward: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """`padded` becomes the prefix minima of blocks of `size` columns, `backward` their suffix minima."""
    columns = line.shape[0]
    last = padded.shape[0] - 1
    for x in range(last + 1):
        source = line[min(max(x - before, 0), columns - 1)]
        if x % size == 0:
            padded[x] = source
        else:
            _lower(source, padded[x - 1], padded[x])
    for x in range(last, -1, -1):
        source = line[min(max(x - before, 0), columns - 1)]
        if x % size == size - 1 or x == last:
            backward[x] = source
        else:
            _lower(source, backward[x + 1], backward[x])
    for x in range(columns):
        _lower(backward[x], padded[x + size - 1], out[x])
