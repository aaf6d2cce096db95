"""Frames of a sequence, their calibration, and conversions of images and masks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import checked_fields
from stereo_framework.core.errors import DataError, StereoFrameworkError
from stereo_framework.core.parameters import Positive

Image = NDArray[np.uint8] | NDArray[np.float32]
Disparity = NDArray[np.float32]
Mask = NDArray[np.bool_]


def unmasked(label: str, array: Any) -> Any:
    """Return a masked array as a plain array, and any other object unchanged.

    Masked numbers become NaN in an array of float32, and masked booleans become False.

    Parameters
    ----------
    label : str
        Name of the array, for messages.
    array : object

    Raises
    ------
    DataError
        The masked array contains neither numbers nor booleans.
    """
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if array.dtype == bool:
        return array.filled(False)
    if array.dtype.kind not in "fiu":
        raise DataError(f"{label}: a masked array of {array.dtype}; expected numbers")
    if not np.ma.is_masked(array):
        return array.data
    return np.ma.filled(array.astype(np.float32), np.nan)


LARGEST_EXACT = 2**24
"""Largest number up to which float32 represents every whole number exactly."""


def intensities(image: NDArray) -> NDArray:
    """Return an image as uint8 or float32 if its type has only one possible scale.

    Unsigned integers of 16 bits are divided by 257, and floats become float32. Arrays
    of int32 and int64, which are results of integer arithmetic, become uint8 if all
    numbers lie in 0..255. Any other image is returned unchanged.
    """
    if image.dtype.kind == "u" and image.dtype.itemsize == 2:
        return image.astype(np.float32) / np.float32(257)
    if image.dtype.kind == "f":
        return image.astype(np.float32, copy=False)
    is_wide = image.dtype in (np.int32, np.int64)
    if is_wide and image.size and image.min() >= 0 and image.max() <= 255:
        return image.astype(np.uint8)
    return image


def pixels_as_float(label: str, array: NDArray) -> NDArray:
    """Return a disparity map of signed integers as float32; any other map unchanged.

    Signed integers are disparities in pixels, as in ``.npy`` files. Unsigned integers
    are grey levels of an image of disparities, whose scale is unknown here.

    Parameters
    ----------
    label : str
        Name of the disparity map, for messages.
    array : ndarray

    Raises
    ------
    DataError
        A number is so large that float32 cannot represent it exactly.
    """
    if array.dtype.kind != "i" or not array.size:
        return array
    lowest = int(array.min())
    highest = int(array.max())
    if lowest < -LARGEST_EXACT or highest > LARGEST_EXACT:
        message = (
            f"{label} contains whole numbers from {lowest} to {highest}; "
            "expected disparities in pixels"
        )
        raise DataError(message)
    return array.astype(np.float32)


@checked_fields()
@dataclass(frozen=True)
class Calibration:
    """Rectified camera geometry: depth = baseline * focal_length / (disparity + doffs).

    Two calibrations that differ only in `size` are equal.

    Parameters
    ----------
    focal_length : float
        Focal length in pixels.
    baseline : float
        Distance of the two cameras. Depths have the unit of the baseline, which is
        millimetres in Middlebury data sets.
    doffs : float
        Column of the principal point in the match image minus its column in the
        reference image, in pixels.
    center : (float, float), optional
        Column and row of the principal point in the reference image, in pixels.
        Default: the middle of the image.
    size : (int, int), optional
        Columns and rows of the images for which the calibration was made. None if its
        file does not contain them.
    """

    focal_length: Positive
    baseline: Positive
    doffs: float = 0.0
    center: tuple[float, float] | None = None
    size: tuple[int, int] | None = field(default=None, compare=False, repr=False)

    def scaled(self, factor: float) -> Calibration:
        """Return the calibration of the same images, enlarged by a factor."""
        center = self.center
        if center is not None:
            center = (factor * center[0], factor * center[1])
        size = self.size
        if size is not None:
            size = (round(factor * size[0]), round(factor * size[1]))
        return replace(
            self,
            focal_length=factor * self.focal_length,
            doffs=factor * self.doffs,
            center=center,
            size=size,
        )


def size_ratio(stated: tuple[int, int], actual: tuple[int, int]) -> float | None:
    """Return the factor by which an image is larger than the size in its calibration.

    Parameters
    ----------
    stated : (int, int)
        Columns and rows in the calibration.
    actual : (int, int)
        Columns and rows of the image.

    Returns
    -------
    float or None
        1 for equal sizes. None if no factor gives both sides to within a pixel, for
        example because the image was cropped or rotated.
    """
    if stated == actual:
        return 1.0
    factor = math.sqrt(actual[0] / stated[0] * (actual[1] / stated[1]))
    fits = all(
        abs(factor * side - actual_side) <= 1
        for side, actual_side in zip(stated, actual, strict=True)
    )
    return factor if fits else None


@checked_fields()
@dataclass(frozen=True)
class Frame:
    """One image of a sequence.

    Parameters
    ----------
    name : str
        File name or another name, for messages.
    load : callable
        Loader of the image, ``(rows, columns)`` or ``(rows, columns, 3)`` in RGB order.
        Intensities are 0..255 as uint8 or floats, or 0..65535 as uint16.
    position : float
        Position of the camera on the baseline, in any unit. Larger positions lie
        further to the right.
    valid : callable, optional
        Loader of the mask of the pixels that contain data, bool ``(rows, columns)``.
        The loader returns None if all pixels contain data. Pixels of a float image that
        are NaN contain no data either.
    """

    name: str
    load: Callable[[], Image]
    position: float
    valid: Callable[[], Mask | None] | None = None


@dataclass(frozen=True)
class InMemory:
    """A loader of an object that is in memory. Unlike a lambda it can be pickled.

    Parameters
    ----------
    value : object
        Object that the loader returns.
    error : str
        Message of the error that the loader raises. If it is empty, the loader returns
        the object.
    """

    value: Any
    error: str = ""

    def __call__(self) -> Any:
        """Return the object.

        Raises
        ------
        DataError
            The loader has an error message instead of an object.
        """
        if self.error:
            raise DataError(self.error)
        return self.value


def load_into_memory(value: Any) -> Any:
    """Return a copy of a scene or of a part of it, with all its data loaded.

    Each loader is called and replaced by an `InMemory` loader of its result. If a
    loader raises an error, the new loader raises this error too.
    """
    if callable(value):
        return _loaded(value)
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        return replace(value, **{name: load_into_memory(getattr(value, name)) for name in names})
    if isinstance(value, Mapping):
        return {key: load_into_memory(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(map(load_into_memory, value))
    return value


def _loaded(load: Callable[[], Any]) -> InMemory:
    """Return a loader of the object that another loader returns, or of its error."""
    try:
        return InMemory(load())
    except StereoFrameworkError as error:
        return InMemory(None, str(error))
    except (Exception, SystemExit) as error:  # A loader of the user may raise anything.
        return InMemory(None, f"{type(error).__name__}: {error}")


def read_only(array: NDArray) -> NDArray:
    """Return a read-only view of an array. The array itself stays writable."""
    view = array.view()
    view.flags.writeable = False
    return view
