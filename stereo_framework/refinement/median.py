"""Median filter of a disparity map."""

from __future__ import annotations

from typing import Annotated

import cv2
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import Disparity, Mask, PositiveInt, Unit, stage

_BY_OPENCV = (3, 5)
"""Sizes of the windows that OpenCV knows for floats; it knows no holes."""
_AT_ONCE = 1024
"""So many windows are sorted at once."""


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
    if size in _BY_OPENCV and not np.isnan(disparity.min()):
        return cv2.medianBlur(disparity, size)
    missing = np.isnan(disparity)
    if size not in _BY_OPENCV:
        return _by_sorting(disparity, ~missing, size, np.full_like(disparity, np.nan))
    # A hole as the lowest value of its window moves the lower middle of the rest to the middle: OpenCV's median holds for windows with one hole, too.
    filtered = cv2.medianBlur(np.fmax(disparity, np.float32(-np.inf)), size)
    filtered[missing] = np.nan
    holes = cv2.boxFilter(
        missing.view(np.uint8), -1, (size, size), normalize=False, borderType=cv2.BORDER_REPLICATE
    )
    return _by_sorting(disparity, (holes > 1) & ~missing, size, filtered)


def _by_sorting(disparity: Disparity, wanted: Mask, size: int, filtered: Disparity) -> Disparity:
    """Write the medians of the wanted pixels alone."""
    windows = sliding_window_view(
        np.pad(disparity, ((size - 1) // 2, size // 2), "edge"), (size, size)
    )
    places = np.flatnonzero(wanted)

    def run(start: int, stop: int) -> None:
        for first in range(start, stop, _AT_ONCE):
            some = places[first : min(first + _AT_ONCE, stop)]
            values = windows[np.divmod(some, disparity.shape[1])].reshape(-1, size * size)
            counts = np.count_nonzero(~np.isnan(values), axis=1)
            # What is missing comes last.
            values.sort(axis=1)
            filtered.reshape(-1)[some] = values[np.arange(len(some)), (counts - 1) // 2]

    over_rows(run, len(places), 4 * size * size * len(places))
    return filtered
