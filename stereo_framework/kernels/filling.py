"""Values for pixels without one, from their neighbours in the row: disparities and labels, and intensities."""

import numpy as np
from numpy.typing import NDArray


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
    filled, known = values.copy(), ~np.isnan(values)
    y, x = np.nonzero(~known)
    if y.size:
        # The place after the last column, which stands before the first too.
        padded = np.pad(values, ((0, 0), (0, 1)), constant_values=np.nan)
        before, after = (padded[y, places[y, x]] for places in _nearest(known))
        filled[y, x] = (
            np.where(np.isnan(before), after, before) if from_left else np.fmin(before, after)
        )
    return filled


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
    left, right = _nearest(valid)
    columns, last = np.arange(valid.shape[1]), valid.shape[1] - 1
    to_left = (right > last) | ((left >= 0) & (columns - left <= right - columns))
    filled = image[np.arange(valid.shape[0])[:, None], np.where(to_left, left, right)]
    filled[~valid.any(axis=1)] = 0
    return filled


def _nearest(known: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Columns of the nearest known pixels to the left and to the right of each pixel, itself among them: -1 and the row's length where there is none."""
    columns, beyond = np.arange(known.shape[1], dtype=np.int32), np.int32(known.shape[1])
    left = np.maximum.accumulate(np.where(known, columns, np.int32(-1)), axis=1)
    right = np.minimum.accumulate(np.where(known, columns, beyond)[:, ::-1], axis=1)[:, ::-1]
    return left, right
