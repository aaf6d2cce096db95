"""Filling of pixels without a value, by the value of a near pixel in the same row."""

import numpy as np
from numpy.typing import NDArray


def fill_rows(values: NDArray[np.float32], *, from_left: bool = False) -> NDArray[np.float32]:
    """Replace each NaN by a value from the same row, and return the filled copy.

    Parameters
    ----------
    values : ndarray, float32, (rows, columns)
        Disparities or levels. A surface with larger values is nearer to the camera.
    from_left : bool
        If False, a NaN is replaced by the nearest value to its left or the nearest
        value to its right, whichever is smaller. The reason is that an occluded surface
        lies behind the surface that occludes it. If True, a NaN is replaced by the
        nearest value to its left. If only one side of the NaN has values, the nearest
        value on this side is used in both cases.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Filled values. A row that contains only NaN is not changed.
    """
    filled = values.copy()
    has_value = ~np.isnan(values)
    y, x = np.nonzero(~has_value)
    if y.size == 0:
        return filled

    left_columns, right_columns = _nearest_columns(has_value)
    # If no pixel to the left or right has a value, its column is -1 or the number of
    # columns. Both indices select the last column of this array, which contains NaN.
    padded = np.pad(values, ((0, 0), (0, 1)), constant_values=np.nan)
    left_values = padded[y, left_columns[y, x]]
    right_values = padded[y, right_columns[y, x]]
    if from_left:
        filled[y, x] = np.where(np.isnan(left_values), right_values, left_values)
    else:
        filled[y, x] = np.fmin(left_values, right_values)
    return filled


def fill_invalid(image: NDArray, valid: NDArray[np.bool_]) -> NDArray:
    """Replace the intensities of invalid pixels, and return the filled copy.

    An invalid pixel gets the intensity of the nearest valid pixel in the same row. If
    the valid pixels to the left and right are equally near, the left pixel is used.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Image. Invalid pixels may have any intensities.
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
    """Return the columns of the nearest True pixels to the left and right of pixels.

    At a True pixel, both results are the column of this pixel. If there is no True
    pixel to the left, the left column is -1. If there is no True pixel to the right,
    the right column is the number of columns.
    """
    columns = np.arange(mask.shape[1], dtype=np.int32)
    beyond = np.int32(mask.shape[1])
    left = np.maximum.accumulate(np.where(mask, columns, np.int32(-1)), axis=1)
    reversed_columns = np.where(mask, columns, beyond)[:, ::-1]
    right = np.minimum.accumulate(reversed_columns, axis=1)[:, ::-1]
    return left, right
