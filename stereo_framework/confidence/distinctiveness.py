"""Distinctiveness: how much the surroundings of a pixel differ from all others in its row."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.kernels.window_statistics import pad_for_windows
from stereo_framework.stages import (
    ConfidenceMap,
    Disparity,
    Image,
    PositiveInt,
    SearchRange,
    Unit,
    stage,
)


@stage("confidence", source="Manduchi & Tomasi 1999; Hu & Mordohai 2012 (DTS)")
def distinctiveness(
    disparity: Disparity,
    reference: Image,
    search: SearchRange,
    *,
    size: Annotated[PositiveInt, Unit("pixels")] = 9,
) -> ConfidenceMap:
    """The smallest difference between the window around a pixel and any other window in the same row of the same image.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    search : SearchRange
        Its width says how far to the left and right other windows are searched.
    size : int
        Side of the windows, in pixels.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Grey levels, 0 and above; higher = surer: nothing else in reach looks like the pixel.

    Raises
    ------
    ParameterError
        A size below 1.

    Notes
    -----
    The difference is the mean over the window of the absolute differences of the intensities, summed over the channels. It does not depend on the costs
    that the method matches with, so the measure also works for the map of a whole matcher. Beyond the borders the outermost pixels repeat.

    Examples
    --------
    >>> import numpy as np
    >>> row = np.array([[10, 20, 90, 20]], np.uint8)
    >>> distinctiveness(np.zeros((1, 4), np.float32), row, SearchRange(0, 2), size=1).tolist()
    [[10.0, 0.0, 70.0, 0.0]]
    """
    image = pad_for_windows(reference, size)
    found = np.zeros(disparity.shape, np.float32)
    widest = min(math.ceil(search.maximum - search.minimum), disparity.shape[1] - 1)

    def run(start: int, stop: int) -> None:
        _kernel(image[start : stop + size - 1], size, widest, found[start:stop])

    over_rows(run, disparity.shape[0], found.size * (widest + 1))
    return np.where(np.isnan(disparity), found.min(), found)


@kernel
def _kernel(image: NDArray[np.float64], window: int, widest: int, out: NDArray[np.float32]) -> None:
    rows, columns = out.shape
    wide = image.shape[1]
    out[:] = np.inf if widest > 0 else 0
    sums, line = np.empty(wide), np.empty(wide)
    for shift in range(1, widest + 1):
        sums[:] = 0
        for y in range(window - 1):
            _differences(image[y], shift, line)
            sums += line
        for y in range(rows):
            _differences(image[y + window - 1], shift, line)
            sums += line
            total = 0.0
            for i in range(window - 1):
                total += sums[i]
            # The window's first column, in the extended image, is that of its pixel in the image.
            for x in range(columns - shift):
                total += sums[x + window - 1]
                mean = np.float32(total / window**2)
                out[y, x] = min(out[y, x], mean)
                out[y, x + shift] = min(out[y, x + shift], mean)
                total -= sums[x]
            _differences(image[y], shift, line)
            sums -= line


@kernel
def _differences(row: NDArray[np.float64], shift: int, out: NDArray[np.float64]) -> None:
    """Absolute differences between a row ``(columns, channels)`` and the same row `shift` columns further right, summed over the channels; 0 beyond its end."""
    columns, channels = row.shape
    out[:] = 0
    for x in range(columns - shift):
        for c in range(channels):
            out[x] += abs(row[x, c] - row[x + shift, c])
