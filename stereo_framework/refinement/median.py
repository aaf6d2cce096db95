"""Median filter of a disparity map."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import Disparity
from stereo_framework.core.stage import PositiveInt, Unit, stage
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows


@stage("refinement", source="Tukey 1977, chapter 7", halo=lambda size: size // 2)
def median(disparity: Disparity, *, size: Annotated[PositiveInt, Unit("pixels")] = 3) -> Disparity:
    """Give every pixel the median of the estimates in a square window around it.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    size : int
        Width and height of the window in pixels. An even window reaches one pixel further right and down: the upper left of the four pixels in its middle is the centre.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels. Pixels without an estimate stay without one, and are left out as neighbours.

    Raises
    ------
    ParameterError
        `size` is below 1.

    Notes
    -----
    This stage fills nothing: filling has stages of its own, which mark the pixels in the status map. Of an even number of estimates the lower
    middle one is taken, which belongs to the background, so that no new values appear. Image borders are replicated.

    Examples
    --------
    >>> import numpy as np
    >>> median(np.float32([[1, 9, 1, 1, np.nan, 2, 2]])).tolist()
    [[1.0, 1.0, 1.0, 1.0, nan, 2.0, 2.0]]
    """
    filtered = np.empty_like(disparity)

    def run(start: int, stop: int) -> None:
        _kernel(disparity, start, size, filtered[start:stop])

    over_rows(run, disparity.shape[0], 4 * size * size * disparity.size)
    return filtered


@kernel
def _kernel(disparity: NDArray[np.float32], start: int, size: int, filtered: NDArray[np.float32]) -> None:
    rows, columns = disparity.shape
    before, after = (size - 1) // 2, size // 2
    values, columns_sorted = np.empty(size * size, np.float32), np.empty((3, columns + 2), np.float32)
    for y in range(filtered.shape[0]):
        if size == 3:
            above, row, below = disparity[max(start + y - 1, 0)], disparity[start + y], disparity[min(start + y + 1, rows - 1)]
            if _nine(above, row, below, columns_sorted, filtered[y]):
                continue
        for x in range(columns):
            filtered[y, x] = np.nan
            if np.isnan(disparity[start + y, x]):
                continue
            count = 0
            for j in range(start + y - before, start + y + after + 1):
                row = disparity[min(max(j, 0), rows - 1)]
                for i in range(x - before, x + after + 1):
                    value = row[min(max(i, 0), columns - 1)]
                    if not np.isnan(value):
                        values[count] = value
                        count += 1
            filtered[y, x] = _selected(values[:count], (count - 1) // 2)


@kernel
def _nine(
    above: NDArray[np.float32],
    row: NDArray[np.float32],
    below: NDArray[np.float32],
    columns_sorted: NDArray[np.float32],
    filtered: NDArray[np.float32],
) -> bool:
    """Medians of 3x3 values; if some are missing, returns False and writes nothing.

    The median of nine values is the median of three: the largest of the columns' minima, the median of their medians, the smallest of their maxima.
    """
    columns = row.shape[0]
    low, middle, high = columns_sorted[0], columns_sorted[1], columns_sorted[2]
    total = np.float32(0)
    for x in range(columns):
        a, b, c = above[x], row[x], below[x]
        # 0, or NaN if a value is missing.
        total += (a - a) + (b - b) + (c - c)
        least, most = (a, b) if a < b else (b, a)
        low[x + 1] = least if least < c else c
        high[x + 1] = most if most > c else c
        middle[x + 1] = _middle(a, b, c)
    if np.isnan(total):
        return False
    for line in (low, middle, high):
        line[0], line[columns + 1] = line[1], line[columns]
    for x in range(columns):
        a, b, c = low[x], low[x + 1], low[x + 2]
        greatest = a if a > b else b
        greatest = greatest if greatest > c else c
        d, e, f = high[x], high[x + 1], high[x + 2]
        least = d if d < e else e
        least = least if least < f else f
        filtered[x] = _middle(greatest, _middle(middle[x], middle[x + 1], middle[x + 2]), least)
    return True


@kernel(inline="always")
def _middle(a: float, b: float, c: float) -> float:
    """The median of three values."""
    low, high = (a, b) if a < b else (b, a)
    above = low if low > c else c
    return above if above < high else high


@kernel
def _selected(values: NDArray[np.float32], rank: int) -> float:
    """The value at a rank, 0 for the lowest, by Hoare's selection; `values` are reordered."""
    low, high = 0, values.shape[0] - 1
    while low < high:
        pivot = values[rank]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if j < rank:
            low = i
        if rank < i:
            high = j
    return values[rank]
