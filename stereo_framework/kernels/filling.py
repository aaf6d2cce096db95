"""Values for pixels without one, from their neighbours in the row: disparities and labels, and intensities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows


def fill_rows(values: NDArray[np.float32], *, from_left: bool = False) -> NDArray[np.float32]:
    """A copy in which every NaN has a value of its row: the background's, or the nearest to the left.

    Parameters
    ----------
    values : ndarray, float32, (rows, columns)
        Larger = nearer, as disparities and their levels are.
    from_left : bool
        False: the smaller of the nearest values to the left and right, since what is occluded lies behind what occludes it. True: the nearest to the
        left. Where there are values on one side only, both take the nearest of these.

    Returns
    -------
    ndarray, float32, (rows, columns)
        NaN only in rows without any value.
    """
    filled = values.copy()
    over_rows(lambda start, stop: _kernel(from_left, filled[start:stop]), values.shape[0], values.size)
    return filled


@kernel
def _kernel(from_left: bool, values: NDArray[np.float32]) -> None:
    rows, columns = values.shape
    for y in range(rows):
        left = np.float32(np.nan)
        x = 0
        while x < columns:
            if not np.isnan(values[y, x]):
                left = values[y, x]
                x += 1
                continue
            end = x
            while end < columns and np.isnan(values[y, end]):
                end += 1
            right = values[y, end] if end < columns else np.float32(np.nan)
            value = right if np.isnan(left) or (right < left and not from_left) else left
            while x < end:
                values[y, x] = value
                x += 1


def fill_invalid(image: NDArray, valid: NDArray[np.bool_]) -> NDArray:
    """An image whose pixels without data have the intensity of the nearest one in their row that has some, the left one of two.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
    valid : ndarray, bool, (rows, columns)

    Returns
    -------
    ndarray
        A copy; rows without any data are 0.
    """
    columns = np.arange(valid.shape[1])
    left = np.maximum.accumulate(np.where(valid, columns, -valid.shape[1]), axis=1)
    right = np.minimum.accumulate(np.where(valid, columns, 2 * valid.shape[1])[:, ::-1], axis=1)[:, ::-1]
    source = np.clip(np.where(columns - left <= right - columns, left, right), 0, columns[-1])
    filled = image[np.arange(valid.shape[0])[:, None], source]
    filled[~valid.any(axis=1)] = 0
    return filled
