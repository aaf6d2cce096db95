"""Frames of a sequence, the camera that took them, and loaders of what is in memory; arrays that are masked or may not be written."""

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


def unmasked(what: str, array: Any) -> Any:
    """A masked array as a plain one: NaN in float32 where numbers are masked, False where booleans are. Anything else as it is.

    Raises
    ------
    DataError
        It holds neither numbers nor booleans.
    """
    if not isinstance(array, np.ma.MaskedArray):
        return array
    if array.dtype == bool:
        return array.filled(False)
    if array.dtype.kind not in "fiu":
        raise DataError(f"{what}: a masked array of {array.dtype}; expected numbers")
    return np.ma.filled(array.astype(np.float32), np.nan) if np.ma.is_masked(array) else array.data


LARGEST_EXACT = 2**24
"""Largest whole number up to which float32 holds every whole number."""


def intensities(image: NDArray) -> NDArray:
    """Return an image in a type that methods take, if its numbers have one meaning.

    Unsigned numbers of 16 bits are divided by 257, and floats become float32. The
    results of integer arithmetic, int32 and int64, become uint8 if all numbers lie in 0..255.
    Any other image is returned unchanged.
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
    """Return a disparity map of signed whole numbers as float32; other maps unchanged.

    Whole numbers with a sign are disparities in pixels, as in ``.npy`` files. Those
    without a sign are grey levels of pictures, whose scale is unknown.

    Raises
    ------
    DataError
        float32 cannot hold a number exactly.
    """
    if array.dtype.kind != "i" or not array.size:
        return array
    lowest = int(array.min())
    highest = int(array.max())
    if lowest < -LARGEST_EXACT or highest > LARGEST_EXACT:
        message = f"{label} holds whole numbers from {lowest} to {highest}; expected disparities in pixels"
        raise DataError(message)
    return array.astype(np.float32)


@checked_fields()
@dataclass(frozen=True)
class Calibration:
    """Rectified camera geometry: depth = baseline * focal_length / (disparity + doffs).

    Parameters
    ----------
    focal_length : float
        Pixels.
    baseline : float
        Distance of the two cameras; depths come out in its unit (Middlebury: mm).
    doffs : float
        Difference of the principal points' columns, match minus reference, in pixels.
    center : (float, float), optional
        Column and row of the reference image's principal point in pixels; None = its middle.
    size : (int, int), optional
        Columns and rows of the images for which the calibration was made, as far as its file states them. Two calibrations that differ only in this
        are equal.
    """

    focal_length: Positive
    baseline: Positive
    doffs: float = 0.0
    center: tuple[float, float] | None = None
    size: tuple[int, int] | None = field(default=None, compare=False, repr=False)

    def scaled(self, factor: float) -> Calibration:
        """Return the calibration of images that are larger by a factor."""
        center, size = self.center, self.size
        return replace(
            self,
            focal_length=factor * self.focal_length,
            doffs=factor * self.doffs,
            center=None if center is None else (factor * center[0], factor * center[1]),
            size=None if size is None else (round(factor * size[0]), round(factor * size[1])),
        )


def size_ratio(stated: tuple[int, int], actual: tuple[int, int]) -> float | None:
    """Return by which factor an image is larger than the size that a file states.

    Parameters
    ----------
    stated, actual : (int, int)
        Columns and rows.

    Returns
    -------
    float or None
        1 for equal sizes. None if no factor gives both sides to within a pixel, as after
        cropping or turning.
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
        Shown in messages: a file name or a generated one.
    load : callable
        Returns the image, 0..255 in uint8 or floats, or 16 bits, ``(rows, columns)`` or ``(rows, columns, 3)`` RGB.
    position : float
        Place of the camera along the baseline; larger = further right. The unit is free, ratios count.
    valid : callable, optional
        Returns the mask of the pixels that hold data, bool ``(rows, columns)``, or None where all do. NaN in a float image marks further
        pixels as holding none.
    """

    name: str
    load: Callable[[], Image]
    position: float
    valid: Callable[[], Mask | None] | None = None


@dataclass(frozen=True)
class Given:
    """A loader of what is in memory already; unlike a lambda it can be pickled.

    Parameters
    ----------
    value : object
    error : str
        Where it could not be loaded, why: it says so when it is asked.
    """

    value: Any
    error: str = ""

    def __call__(self) -> Any:
        """The value.

        Raises
        ------
        DataError
            There is none.
        """
        if self.error:
            raise DataError(self.error)
        return self.value


def in_memory(value: Any) -> Any:
    """The same scene, or part of one, with all that it would load in memory."""
    if callable(value):
        try:
            return Given(value())
        except StereoFrameworkError as error:
            return Given(None, str(error))
        except (Exception, SystemExit) as error:  # whatever a loader of the user's raises
            return Given(None, f"{type(error).__name__}: {error}")
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: in_memory(getattr(value, f.name)) for f in fields(value)})
    if isinstance(value, Mapping):
        return {key: in_memory(item) for key, item in value.items()}
    return tuple(map(in_memory, value)) if isinstance(value, tuple) else value


def read_only(array: NDArray) -> NDArray:
    """A read-only view: the loader's own array stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view
