"""Frames of an image sequence, camera calibration, and conversions of array types."""

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
    """Convert a NumPy masked array to a plain array, with NaN for masked numbers.

    An array that contains masked numbers becomes float32, because integers have no NaN.
    In a boolean array, masked values become False. An object that is not a masked array
    is returned unchanged.

    Parameters
    ----------
    label : str
        Name of the array, for error messages.
    array : object
        Masked array or any other object.

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
"""Largest whole number N such that float32 represents 0, 1, 2, ..., N exactly."""


def intensities(image: NDArray) -> NDArray:
    """Convert an image to uint8 or float32 if the scale of its intensities is known.

    Images of uint16 are divided by 257, so that 65535 becomes 255. Images of floats
    become float32 with the same numbers. Images of int32 or int64 usually result from
    integer arithmetic. They become uint8 if all their numbers lie in 0..255. All other
    images are returned unchanged, because the scale of their intensities is unknown.
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
    """Convert a disparity map of signed integers to float32.

    A map of signed integers, for example from a ``.npy`` file, contains disparities in
    pixels. A map of unsigned integers is an image whose grey levels are scaled
    disparities. Because the scale is unknown, a map of unsigned integers is returned
    unchanged. A map of floats is returned unchanged too.

    Parameters
    ----------
    label : str
        Name of the disparity map, for error messages.
    array : ndarray
        Disparity map.

    Raises
    ------
    DataError
        The map contains an integer with an absolute value above 2**24. Float32 does not
        represent all such integers exactly.
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

    Two calibrations are equal if all fields except `size` are equal.

    Parameters
    ----------
    focal_length : float
        Focal length in pixels.
    baseline : float
        Distance between the two cameras, in any unit of length. Depths are computed in
        the same unit. Middlebury data sets use millimetres.
    doffs : float
        Column of the principal point in the match image minus its column in the
        reference image, in pixels.
    center : (float, float), optional
        Column and row of the principal point in the reference image, in pixels.
        Default: the middle of the image.
    size : (int, int), optional
        Number of columns and rows of the images for which the cameras were calibrated.
        None if the calibration file does not contain the image size.
    """

    focal_length: Positive
    baseline: Positive
    doffs: float = 0.0
    center: tuple[float, float] | None = None
    size: tuple[int, int] | None = field(default=None, compare=False, repr=False)

    def scaled(self, factor: float) -> Calibration:
        """Return the calibration for images that are resized by a factor.

        For example, the factor 0.5 is for images of half the width and height.
        """
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
    """Return the factor by which an image was resized after its camera was calibrated.

    Parameters
    ----------
    stated : (int, int)
        Number of columns and rows that the calibration file gives.
    actual : (int, int)
        Number of columns and rows of the image.

    Returns
    -------
    float or None
        Image size divided by calibrated size, for example 0.5 for an image of half the
        width and height. None if the image was not only resized but also cropped or
        rotated. In this case the factors of width and height differ by more than
        rounding to whole pixels can explain.
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
    """One image of an image sequence, with the position of its camera.

    Parameters
    ----------
    name : str
        Name of the image in error messages, such as its file name.
    load : callable
        Function without arguments that returns the image. A grey image has the shape
        ``(rows, columns)``, and an RGB image has the shape ``(rows, columns, 3)``.
        Intensities are 0..255 as uint8 or floats, or 0..65535 as uint16.
    position : float
        Position of the camera along the baseline, in any unit. A camera that is further
        to the right has a larger position.
    valid : callable, optional
        Function without arguments that returns a boolean mask ``(rows, columns)``. The
        mask is True at pixels that contain data. The function returns None if all
        pixels contain data. In a float image, pixels with the value NaN never contain
        data.
    """

    name: str
    load: Callable[[], Image]
    position: float
    valid: Callable[[], Mask | None] | None = None


@dataclass(frozen=True)
class InMemory:
    """A function without arguments that returns an object in memory.

    Unlike a lambda function, an `InMemory` object can be pickled and sent to other
    processes.

    Parameters
    ----------
    value : object
        Object that a call returns.
    error : str
        Error message. If the message is not empty, a call raises a DataError with this
        message instead of returning the object.
    """

    value: Any
    error: str = ""

    def __call__(self) -> Any:
        """Return the stored object, or raise the stored error.

        Raises
        ------
        DataError
            The field `error` contains a message.
        """
        if self.error:
            raise DataError(self.error)
        return self.value


def load_into_memory(value: Any) -> Any:
    """Load all images and maps of a scene, and return a scene that contains them.

    The copy contains an `InMemory` object instead of each function that loads data. If
    loading raises an error, the `InMemory` object raises a DataError with the same
    message.

    Parameters
    ----------
    value : object
        Scene, or a part of a scene such as a `Frame`, a tuple of frames or a function
        that loads an image.
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
    """Call a function that loads data, and store its result or its error message."""
    try:
        return InMemory(load())
    except StereoFrameworkError as error:
        return InMemory(None, str(error))
    except (Exception, SystemExit) as error:  # A loader of the user may raise anything.
        return InMemory(None, f"{type(error).__name__}: {error}")


def read_only(array: NDArray) -> NDArray:
    """Return a read-only view of an array. The array in the argument stays writable."""
    view = array.view()
    view.flags.writeable = False
    return view
