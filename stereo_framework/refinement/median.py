"""Median filter of a disparity map."""

from __future__ import annotations

from typing import Annotated

import cv2
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
    # OpenCV knows these two sizes for floats, and no holes: windows with a hole are left to the kernel.
    by_opencv = size in (3, 5)
    if by_opencv and not np.isnan(disparity.min()):
        return cv2.medianBlur(disparity, size)
    missing = np.isnan(disparity)
    filtered = cv2.medianBlur(np.nan_to_num(disparity), size) if by_opencv else np.empty_like(disparity)
    wanted = np.ones(disparity.shape, bool)
    if by_opencv:
        wanted = cv2.dilate(missing.view(np.uint8), np.ones((size, size), np.uint8)).view(bool)
    filtered[missing] = np.nan

    def run(start: int, stop: int) -> None:
        _kernel(disparity, wanted, start, size, filtered[start:stop])

    over_rows(run, disparity.shape[0], 4 * size * size * int(np.count_nonzero(wanted)))
    return filtered


@kernel
def _kernel(
    disparity: NDArray[np.float32], wanted: NDArray[np.bool_], start: int, size: int, filtered: NDArray[np.float32]
) -> None:
    rows, columns = disparity.shape
    before, after = (size - 1) // 2, size // 2
    values = np.empty(size * size, np.float32)
    for y in range(filtered.shape[0]):
        for x in range(columns):
            if not wanted[start + y, x] or np.isnan(disparity[start + y, x]):
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
