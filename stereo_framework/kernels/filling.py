"""Fill pixels without a value from near pixels in the same row."""

import numpy as np
from numpy.typing import NDArray


def fill_rows(values: NDArray[np.float32], *, from_left: bool = False) -> NDArray[np.float32]:
    """Return a copy in which each NaN is replaced by a value from the same row.

    Parameters
    ----------
    values : ndarray, float32, (rows, columns)
        Disparities or levels.
    from_left : bool
        True: use the nearest value to the left. False: use the smaller one of the
        nearest values to the left and right, because occluded surfaces are farther
        away. If only one side has values, the nearest value on this side is used.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Filled values. Rows that contain only NaN remain unchanged.
    """
    filled = values.copy()
    has_value = ~np.isnan(values)
    y, x = np.nonzero(~has_value)
    if y.size == 0:
        return filled

    left_columns, right_columns = _nearest_columns(has_value)
    # If a side has no values, the column index is -1 or the number of columns. Both
    # indices select the additional last column of NaN.
    padded = np.pad(values, ((0, 0), (0, 1)), constant_values=np.nan)
    left_values = padded[y, left_columns[y, x]]
    right_values = padded[y, right_columns[y, x]]
    if from_left:
        filled[y, x] = np.where(np.isnan(left_values), right_values, left_values)
    else:
        filled[y, x] = np.fmin(left_values, right_values)
    return filled


def fill_invalid(image: NDArray, valid: NDArray[np.bool_]) -> NDArray:
    """Return a copy of an image in which invalid pixels are filled.

    An invalid pixel gets the intensity of the nearest valid pixel in the same row. If
    two pixels are equally near, the left pixel is used.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Grey or colour image.
    valid : ndarray, bool, (rows, columns)
        Mask of the valid pixels.

    Returns
    -------
    ndarray
        Filled image. A row without valid pixels is filled with 0.
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
    """Return the columns of the nearest True pixels to the left and to the right.

    For example, the row [F, T, F] gives the columns [-1, 1, 1] and [1, 1, 3]. Without a
    True pixel, the column is -1 (left) or the number of columns (right).
    """
    columns = np.arange(mask.shape[1], dtype=np.int32)
    beyond = np.int32(mask.shape[1])
    left = np.maximum.accumulate(np.where(mask, columns, np.int32(-1)), axis=1)
    reversed_columns = np.where(mask, columns, beyond)[:, ::-1]
    right = np.minimum.accumulate(reversed_columns, axis=1)[:, ::-1]
    return left, right
