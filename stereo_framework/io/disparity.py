"""Disparity map files in their usual encodings.

In memory a disparity map is always float32, in pixels, with NaN for a disparity that is
unknown or was not estimated.

| file | disparity | unknown |
| --- | --- | --- |
| ``.pfm`` | value / scale, default scale 1 | infinite or NaN |
| ``.npy``, ``.npz``, float ``.tif`` | value / scale, default scale 1 | not finite |
| ``.flo`` | -horizontal flow / scale, default scale 1 | beyond 1e9, not finite |
| ``.tif`` of other integers | value / scale, scale required | no marker by default |
| 16-bit grey | grey / scale, default scale 256 | grey 0 by default |
| 8-bit grey | offset + grey / scale, scale required | grey 0 by default |

A negative scale reads a file whose disparities have the opposite sign.
"""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import AnyNumber, checked
from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Disparity, Mask, unmasked
from stereo_framework.io.files import PathLike
from stereo_framework.io.images import stored_grey, write_image
from stereo_framework.io.numpy_files import numpy_array, read_numpy
from stereo_framework.io.output_folders import write_bytes
from stereo_framework.io.raw import read_flow, read_pfm, write_pfm
from stereo_framework.io.registered_readers import read_with_registered_reader
from stereo_framework.io.tiff import GeoTags, write_float_tiff

KITTI_SCALE = 256.0
"""Grey levels per pixel of disparity in 16-bit maps, the convention of KITTI."""

FORMAT_MARKER: Literal["format"] = "format"
"""Selects the marker for unknown disparities that the format of a file defines."""

Unknown = AnyNumber | Literal["format"] | None
"""A stored value that means unknown, `FORMAT_MARKER`, or None if no value does."""

Stored = tuple[NDArray[Any], Mask | None]
"""Values of a map file as stored, and a mask of the pixels that have data.

The mask is None if all pixels have data.
"""

_FLOAT_SUFFIXES = (".pfm", ".npy", ".tif", ".tiff")
"""Endings of files that store disparities in pixels."""


@checked()
def read_disparity(
    path: PathLike,
    *,
    disparity_scale: AnyNumber | None = None,
    unknown: Unknown = FORMAT_MARKER,
    disparity_offset: float = 0.0,
) -> Disparity:
    """Read a disparity map.

    Parameters
    ----------
    path : path-like
        A ``.pfm``, ``.npy``, ``.npz`` or ``.flo`` file, a ``.tif`` of floats or
        integers, or a grey picture (PNG, PGM, ...) with 8 or 16 bits. If a ``.npz`` has
        several arrays, the array with the name ``disparity`` is read.
    disparity_scale : float, optional
        Stored units per pixel of disparity, such as 16 for the integers of OpenCV's
        StereoSGBM. The scale may be a fraction. It is negative if the file has
        disparities of the opposite sign. It is required for pictures of 8 bits and for
        integers with a sign in a ``.tif``. The default is 256 for pictures of 16 bits
        and 1 for all other files.
    unknown : float, "format" or None
        Stored value that means unknown, before it is divided by the scale. "format"
        selects the marker of the format: pictures have grey 0, and other files have no
        marker. None means that every finite value is a disparity, as in three maps of
        Middlebury 2001 (sawtooth, venus, map). Values that are not finite are always
        unknown.
    disparity_offset : float
        Disparity of grey 0 in pixels, for pictures only.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Disparities in pixels; NaN if unknown.

    Raises
    ------
    DataError
        The file is missing, damaged, in colour or a JPEG. Or `disparity_scale` is
        missing or 0, or the file cannot have the value `unknown`, or `disparity_offset`
        is given for a file that is not a picture.
    """
    return in_pixels(path, map_values(path), disparity_scale, unknown, disparity_offset)


def map_values(path: PathLike) -> Stored:
    """Read the values of a map file as they are stored.

    Pictures give grey levels, uint8 or uint16. TIFF files may give other integers. All
    other files give float32.
    """
    suffix = Path(path).suffix.lower()
    values = read_with_registered_reader(path, "disparity")
    if values is None:
        if suffix == ".flo":
            values = read_flow(path)
        elif suffix == ".pfm":
            values = read_pfm(path)
        elif suffix in (".npy", ".npz"):
            values = read_numpy(path, "disparity")
        else:
            return stored_grey(path)
    if values.ndim != 2:
        message = f"{path}: the array has shape {values.shape}; a disparity map has (rows, columns)"
        raise DataError(message)
    return values.astype(np.float32), None


def grey_bits(path: PathLike) -> int:
    """Return the bits of a grey level if a map file is a picture; otherwise 0."""
    stored = map_values(path)
    return 8 * stored[0].dtype.itemsize if is_grey(stored) else 0


def holds_integers(path: PathLike) -> bool:
    """Return whether a map file has integers, which may need a scale."""
    is_numpy_file = Path(path).suffix.lower() in (".npy", ".npz")
    if is_numpy_file and read_with_registered_reader(path, "disparity") is None:
        # map_values converts the numbers of such a file to floats.
        return numpy_array(path, "disparity").dtype.kind in "iu"
    return map_values(path)[0].dtype.kind in "iu"


def is_grey(stored: Stored) -> bool:
    """Return whether stored values are grey levels, in which 0 means unknown."""
    return stored[0].dtype in (np.uint8, np.uint16)


def has_pixel_units(stored: Stored) -> bool:
    """Return whether stored values are disparities in pixels if no scale is given."""
    return stored[0].dtype.kind == "f"


def in_pixels(
    path: PathLike,
    stored: Stored,
    disparity_scale: float | None,
    unknown: Unknown = FORMAT_MARKER,
    disparity_offset: float = 0.0,
) -> Disparity:
    """Convert the stored values of a map file to disparities in pixels."""
    values, valid = stored
    if disparity_offset != 0 and not is_grey(stored):
        message = (
            f"{path}: the file is not a grey picture, and disparity_offset "
            f"{disparity_offset:g} is the disparity of grey 0; omit disparity_offset"
        )
        raise DataError(message)

    is_known = np.isfinite(values) if valid is None else np.isfinite(values) & valid
    marker = _marker_of(path, stored, unknown)
    if marker is not None:
        is_known &= values != marker

    factor = scale_of(path, stored, disparity_scale)
    disparity: NDArray[Any] = values
    # Floats in pixels stay unchanged to the last bit.
    if factor != 1:
        disparity = values / factor
    if disparity_offset != 0:
        disparity = disparity_offset + disparity
    with np.errstate(over="ignore"):
        converted = np.where(is_known, disparity, np.nan).astype(np.float32)
    # Numbers beyond the range of float32 are not disparities.
    converted[~np.isfinite(converted)] = np.nan
    return converted


def scale_of(path: PathLike, stored: Stored, disparity_scale: float | None) -> float:
    """Return the stored units per pixel, which are those of the format by default.

    Raises
    ------
    DataError
        The scale is 0 or not finite, or it is missing and the format has none.
    """
    dtype = stored[0].dtype
    if disparity_scale is not None:
        if disparity_scale == 0 or not math.isfinite(disparity_scale):
            message = (
                f"{path}: the disparity scale is {disparity_scale:g}; expected a finite number "
                "other than 0, the stored units per pixel"
            )
            raise DataError(message)
        return disparity_scale
    if has_pixel_units(stored):
        return 1.0
    if dtype == np.uint16:
        return KITTI_SCALE
    if dtype == np.uint8:
        message = (
            f"{path}: an 8-bit disparity map needs its disparity scale, the grey levels per pixel "
            "(Tsukuba: 16, Middlebury 2001: 8, 2003: 4)"
        )
        raise DataError(message)
    message = (
        f"{path}: the file has {dtype} samples, and no disparity scale is given; give its "
        "disparity scale, the units per pixel (OpenCV's StereoSGBM and StereoBM: 16; whole "
        "pixels: 1)"
    )
    raise DataError(message)


def _marker_of(path: PathLike, stored: Stored, unknown: Unknown) -> float | np.generic | None:
    """Return the stored value that means unknown, in the stored type, or None."""
    dtype = stored[0].dtype
    if unknown is None:
        return None
    if unknown == FORMAT_MARKER:
        return 0 if is_grey(stored) else None
    number = float(unknown)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return dtype.type(number)
    if math.isnan(number):
        return None
    type_range = np.iinfo(dtype)
    if not number.is_integer() or not type_range.min <= number <= type_range.max:
        message = (
            f"{path}: the file has {dtype} samples, none of which can be {number:g}, the value "
            f"for unknown; expected a whole number from {type_range.min} to {type_range.max}, as "
            "the file stores it"
        )
        raise DataError(message)
    return dtype.type(int(number))


@checked()
def write_disparity(
    path: PathLike,
    disparity: Disparity,
    *,
    disparity_scale: float | None = None,
    tags: GeoTags = (),
) -> None:
    """Write a disparity map, which `read_disparity` reads with the same scale.

    Parameters
    ----------
    path : path-like
        The file. ``.pfm``, ``.npy`` and ``.tif`` store the disparities themselves;
        unknown ones are +inf in PFM, as other programs expect it. ``.png`` has 16 bits
        without a scale and 8 bits with one. ``.pgm`` has 8 bits.
    disparity : ndarray of floats, (rows, columns)
        Disparities in pixels; NaN if unknown.
    disparity_scale : float, optional
        Grey levels per pixel of disparity, for 8 bits.
    tags : sequence, optional
        GeoTIFF tags of a ``.tif``, from `geo_tags`.

    Raises
    ------
    DataError
        The file has another ending, the array is not a disparity map, the encoding
        cannot store the disparities, or the scale is missing.

    Notes
    -----
    In pictures grey 0 means unknown. A known disparity that rounds to grey 0 is
    therefore stored as grey 1, as in the program of KITTI.
    """
    suffix = Path(path).suffix.lower()
    disparity = np.asarray(unmasked(str(path), disparity))
    if disparity.ndim != 2:
        message = (
            f"{path}: an array of shape {disparity.shape} is not a disparity map; expected "
            "(rows, columns)"
        )
        raise DataError(message)
    if suffix in _FLOAT_SUFFIXES:
        if disparity_scale is not None:
            message = (
                f"{path}: 'disparity_scale' cannot be used with {suffix}, which stores "
                "disparities in pixels; omit it, or write .png or .pgm"
            )
            raise DataError(message)
        _write_floats(path, suffix, disparity, tags)
        return
    if suffix not in (".png", ".pgm"):
        message = (
            f"{path}: the ending {suffix!r} is unknown for a disparity map; allowed: .pfm, .png, "
            ".pgm, .npy, .tif"
        )
        raise DataError(message)
    if suffix == ".pgm" and disparity_scale is None:
        message = (
            f"{path}: an 8-bit disparity map needs its disparity scale, the grey levels per pixel"
        )
        raise DataError(message)
    write_image(path, _grey_levels(path, disparity, disparity_scale))


def _write_floats(path: PathLike, suffix: str, disparity: Disparity, tags: GeoTags) -> None:
    """Write disparities in pixels."""
    is_known = np.isfinite(disparity)
    if suffix == ".pfm":
        write_pfm(path, np.where(is_known, disparity, np.inf))
        return
    values = np.where(is_known, disparity, np.nan).astype(np.float32)
    if suffix == ".npy":
        buffer = io.BytesIO()
        np.save(buffer, values)
        write_bytes(path, buffer.getvalue())
    else:
        write_float_tiff(path, values, tags)


def _grey_levels(
    path: PathLike, disparity: Disparity, disparity_scale: float | None
) -> NDArray[Any]:
    """Return disparities as grey levels: of 8 bits with a scale, otherwise of 16 bits.

    Raises
    ------
    DataError
        The scale is not positive, or the disparities do not fit the grey levels.
    """
    dtype: type[np.uint8] | type[np.uint16] = np.uint8
    factor = disparity_scale
    if factor is None:
        dtype = np.uint16
        factor = KITTI_SCALE
    if not factor > 0:
        message = f"{path}: the disparity scale is {factor:g}; expected a number above 0"
        raise DataError(message)
    is_known = np.isfinite(disparity)
    grey = np.rint(np.where(is_known, disparity, 0) * factor)
    largest = np.iinfo(dtype).max
    if grey.min() < 0 or grey.max() > largest:
        lowest = disparity[is_known].min()
        highest = disparity[is_known].max()
        bits = np.iinfo(dtype).bits
        message = (
            f"{path}: the disparities {lowest:g}..{highest:g} do not fit 0..{largest / factor:g}, "
            f"the range of {bits} bits with disparity scale {factor:g}; write a .pfm"
        )
        raise DataError(message)
    return np.where(is_known, np.maximum(grey, 1), 0).astype(dtype)
