"""Filling of pixels without a value from the nearest pixels of the same row."""

import numpy as np
from numpy.typing import NDArray


def fill_rows(values: NDArray[np.float32], *, from_left: bool = False) -> NDArray[np.float32]:
    """Return a copy in which each NaN is replaced by a value of its row.

    Parameters
    ----------
    values : ndarray, float32, (rows, columns)
        Disparities or levels, for which larger means nearer.
    from_left : bool
        If False, a pixel takes the smaller of the nearest values to the left and right,
        because an occluded surface lies behind the surface that occludes it. If True,
        it takes the nearest value to the left. A pixel with values on one side only
        takes the nearest of them in both cases.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Filled values. Rows without any value remain NaN.
    """
    filled = values.copy()
    has_value = ~np.isnan(values)
    y, x = np.nonzero(~has_value)
    if y.size == 0:
        return filled

    left_columns, right_columns = _nearest_columns(has_value)
    # The column for "no pixel" is -1 or the number of columns. Both select this
    # padding.
    padded = np.pad(values, ((0, 0), (0, 1)), constant_values=np.nan)
    left_values = padded[y, left_columns[y, x]]
    right_values = padded[y, right_columns[y, x]]
    if from_left:
        filled[y, x] = np.where(np.isnan(left_values), right_values, left_values)
    else:
        filled[y, x] = np.fmin(left_values, right_values)
    return filled


def fill_invalid(image: NDArray, valid: NDArray[np.bool_]) -> NDArray:
    """Return a copy of an image, with the nearest valid intensity at invalid pixels.

    The nearest valid pixel is searched in the same row. If two are equally near, the
    left one is taken.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Image with arbitrary intensities at invalid pixels.
    valid : ndarray, bool, (rows, columns)
        Mask of the pixels with data.

    Returns
    -------
    ndarray
        Filled image. Rows without a valid pixel are 0.
    """
    left_columns, right_columns = _nearest_columns(valid)
    rows = np.arange(valid.shape[0])
    columns = np.arange(valid.shape[1])
    last = valid.shape[1] - 1

    left_is_nearer = columns - left_columns <= right_columns - columns
    takes_left = (right_columns > last) | ((left_columns >= 0) & left_is_nearer)
    filled = image[rows[:, None], np.where(takes_left, left_columns, right_columns)]
    filled[~valid.any(axis=1)] = 0
    return filled


def _nearest_columns(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the columns of the nearest pixels of a mask to the left and to the right.

    A pixel of the mask is its own nearest pixel. If a side has no pixel of the mask,
    the column is -1 on the left and the number of columns on the right.
    """
    columns = np.arange(mask.shape[1], dtype=np.int32)
    beyond = np.int32(mask.shape[1])
    left = np.maximum.accumulate(np.where(mask, columns, np.int32(-1)), axis=1)
    reversed_columns = np.where(mask, columns, beyond)[:, ::-1]
    right = np.minimum.accumulate(reversed_columns, axis=1)[:, ::-1]
    return left, right
