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

    An array with masked numbers becomes float32, because integers have no NaN. Masked
    booleans become False. Any other object is returned unchanged.

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
"""Largest whole number up to which float32 is exact."""


def intensities(image: NDArray) -> NDArray:
    """Convert the intensities of an image to uint8 or float32.

    Intensities of uint16 are divided by 257, so that 65535 becomes 255. Floats become
    float32. Images of int32 or int64 become uint8 if all values lie in 0..255. Images
    with an unknown scale are returned unchanged.
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

    Signed integers are disparities in pixels. Unsigned integers are grey levels of an
    unknown scale. Unsigned integers and floats are returned unchanged.

    Parameters
    ----------
    label : str
        Name of the disparity map, for error messages.
    array : ndarray
        Disparity map.

    Raises
    ------
    DataError
        An integer has an absolute value above 2**24.
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

    Comparisons of calibrations ignore the field `size`.

    Parameters
    ----------
    focal_length : float
        Focal length in pixels.
    baseline : float
        Distance between the cameras, in any unit. Depths have the same unit. Middlebury
        uses millimetres.
    doffs : float
        Column of the principal point in the match image minus its column in the
        reference image, in pixels.
    center : (float, float), optional
        Column and row of the principal point in the reference image, in pixels.
        Default: the middle of the image.
    size : (int, int), optional
        Number of columns and rows of the calibrated images. None if unknown.
    """

    focal_length: Positive
    baseline: Positive
    doffs: float = 0.0
    center: tuple[float, float] | None = None
    size: tuple[int, int] | None = field(default=None, compare=False, repr=False)

    def scaled(self, factor: float) -> Calibration:
        """Return the calibration for resized images.

        For example, the factor 0.5 halves the width and the height.
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
    """Return the ratio of the image size to the calibrated size.

    Parameters
    ----------
    stated : (int, int)
        Number of columns and rows in the calibration file.
    actual : (int, int)
        Number of columns and rows of the image.

    Returns
    -------
    float or None
        Ratio of the sizes, such as 0.5 for an image of half the width and height. None
        if width and height have different ratios, for example after cropping.
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
        Function without arguments that returns the image. The shape is ``(rows,
        columns)`` or ``(rows, columns, 3)``. Intensities are 0..255 as uint8 or floats,
        or 0..65535 as uint16.
    position : float
        Position of the camera along the baseline, in any unit. Positions increase to
        the right.
    valid : callable, optional
        Function without arguments that returns a boolean mask ``(rows, columns)``. The
        mask is True at pixels with data. The result None means that all pixels contain
        data. NaN pixels never contain data.
    time : float
        Time at which the image was taken, in frames.
    """

    name: str
    load: Callable[[], Image]
    position: float
    valid: Callable[[], Mask | None] | None = None
    time: float = 0.0


@dataclass(frozen=True)
class InMemory:
    """A callable object that returns a stored value.

    Unlike a lambda function, an `InMemory` object can be pickled.

    Parameters
    ----------
    value : object
        Returned value.
    error : str
        Error message. If not empty, a call raises a DataError with this message.
    """

    value: Any
    error: str = ""

    def __call__(self) -> Any:
        """Return the stored value, or raise the stored error.

        Raises
        ------
        DataError
            The field `error` contains a message.
        """
        if self.error:
            raise DataError(self.error)
        return self.value


def load_into_memory(value: Any) -> Any:
    """Return a copy of a scene with all images and maps in memory.

    Each function that loads data is replaced by an `InMemory` object. Errors during
    loading are stored as messages.

    Parameters
    ----------
    value : object
        Scene, or a part of a scene such as a `Frame`.
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
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view
