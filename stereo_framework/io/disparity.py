"""Readers and writers of disparity map files in the usual encodings.

A disparity map in memory is a float32 array of disparities in pixels. NaN means that
the disparity is unknown or was not estimated. A file stores each disparity as a value
or grey level, from which the disparity is computed as follows.

| file | disparity in pixels | values that mean unknown |
| --- | --- | --- |
| ``.pfm`` | value / scale, default scale 1 | infinite or NaN |
| ``.npy``, ``.npz``, float ``.tif`` | value / scale, default scale 1 | not finite |
| ``.flo`` | -horizontal flow / scale, default scale 1 | beyond 1e9, not finite |
| ``.tif`` of other integers | value / scale, scale required | no marker by default |
| 16-bit grey | grey / scale, default scale 256 | grey 0 by default |
| 8-bit grey | offset + grey / scale, scale required | grey 0 by default |

If a file stores disparities with the opposite sign, its scale is negative.
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
"""Number of grey levels per pixel of disparity in the 16-bit maps of KITTI."""

FORMAT_MARKER: Literal["format"] = "format"
"""Value of the argument `unknown` that stands for the usual marker of a file format.

For example, grey 0 usually marks unknown disparities in pictures.
"""

Unknown = AnyNumber | Literal["format"] | None
"""Type of the argument `unknown` of `read_disparity`.

The argument is the stored value that marks unknown disparities, or `FORMAT_MARKER`. It
is None if every finite value is a disparity.
"""

Stored = tuple[NDArray[Any], Mask | None]
"""Type of the content of a disparity map file: the stored values, and a mask.

The mask is True at pixels that have data. It is None if all pixels have data.
"""

_FLOAT_SUFFIXES = (".pfm", ".npy", ".tif", ".tiff")
"""Extensions of files that store disparities in pixels as floats."""


@checked()
def read_disparity(
    path: PathLike,
    *,
    disparity_scale: AnyNumber | None = None,
    unknown: Unknown = FORMAT_MARKER,
    disparity_offset: float = 0.0,
) -> Disparity:
    """Read a disparity map file, and convert its values to disparities in pixels.

    Parameters
    ----------
    path : path-like
        A ``.pfm``, ``.npy``, ``.npz`` or ``.flo`` file, a ``.tif`` of floats or
        integers, or a grey picture (PNG, PGM, ...) with 8 or 16 bits. If a ``.npz``
        file contains several arrays, the array named ``disparity`` is read.
    disparity_scale : float, optional
        Number by which each stored value is divided to get a disparity in pixels, such
        as 16 for the integers of OpenCV's StereoSGBM. The scale may be a fraction. It
        is negative if the file stores disparities with the opposite sign. A scale is
        required for 8-bit pictures, and for ``.tif`` files of signed or 32-bit
        integers. The default is 256 for 16-bit pictures and 1 for all other files.
    unknown : float, "format" or None
        Stored value that marks unknown disparities, before division by the scale.
        "format" selects the usual marker of the file format: grey 0 in pictures, and no
        marker in other files. None means that every finite value is a disparity. For
        example, three maps of Middlebury 2001 (sawtooth, venus, map) have no marker.
        Infinite values and NaN always mean that the disparity is unknown.
    disparity_offset : float
        Disparity, in pixels, at pixels with grey 0. An offset other than 0 is allowed
        only for grey pictures.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Disparities in pixels. NaN means that the disparity is unknown.

    Raises
    ------
    DataError
        The file is missing or damaged, or it is a colour image or a JPEG. The error is
        also raised if a required `disparity_scale` is missing, if the scale is 0, if
        the type of the file cannot represent the value `unknown`, or if an offset is
        given for a file that is not a grey picture.
    """
    return in_pixels(path, map_values(path), disparity_scale, unknown, disparity_offset)


def map_values(path: PathLike) -> Stored:
    """Read a disparity map file without converting its values to pixels.

    The values of a picture are grey levels of type uint8 or uint16. The values of a
    TIFF file can also be other integers or floats. All other files have float32 values.
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
    """Return the bits per pixel, 8 or 16, of a disparity map that is a grey picture.

    The result is 0 if the file is not a grey picture.
    """
    stored = map_values(path)
    return 8 * stored[0].dtype.itemsize if is_grey(stored) else 0


def holds_integers(path: PathLike) -> bool:
    """Return whether a disparity map file stores integers, which may need a scale."""
    is_numpy_file = Path(path).suffix.lower() in (".npy", ".npz")
    if is_numpy_file and read_with_registered_reader(path, "disparity") is None:
        # map_values cannot be used because it converts all NumPy arrays to floats.
        return numpy_array(path, "disparity").dtype.kind in "iu"
    return map_values(path)[0].dtype.kind in "iu"


def is_grey(stored: Stored) -> bool:
    """Return whether the values of a disparity file are grey levels of 8 or 16 bits."""
    return stored[0].dtype in (np.uint8, np.uint16)


def has_pixel_units(stored: Stored) -> bool:
    """Return whether the values of a file are floats, which need no disparity scale."""
    return stored[0].dtype.kind == "f"


def in_pixels(
    path: PathLike,
    stored: Stored,
    disparity_scale: float | None,
    unknown: Unknown = FORMAT_MARKER,
    disparity_offset: float = 0.0,
) -> Disparity:
    """Convert the stored values of a disparity map file to disparities in pixels."""
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
    # If the scale is 1, the file already stores disparities in pixels.
    if factor != 1:
        disparity = values / factor
    if disparity_offset != 0:
        disparity = disparity_offset + disparity
    with np.errstate(over="ignore"):
        converted = np.where(is_known, disparity, np.nan).astype(np.float32)
    # A number that is too large for float32 became infinite. The disparity of its pixel
    # is unknown.
    converted[~np.isfinite(converted)] = np.nan
    return converted


def scale_of(path: PathLike, stored: Stored, disparity_scale: float | None) -> float:
    """Return the disparity scale: the given one, or the usual scale of the file format.

    The usual scale is 1 for floats and 256 for 16-bit pictures. A disparity in pixels
    is the stored value divided by the scale.

    Raises
    ------
    DataError
        The scale is 0 or not finite, or no scale is given and the file format has no
        usual scale (for example, an 8-bit picture).
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
    """Return the stored value that marks unknown disparities, or None without a marker.

    The marker has the data type of the file. For example, the marker 0.1 is rounded to
    float32, because only the rounded number equals a value in a file of float32.

    Raises
    ------
    DataError
        The file stores integers, and its integer type cannot represent the marker.
    """
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
            f"{path}: the file stores numbers of type {dtype}, so its value for unknown "
            f"disparities cannot be {number:g}; expected a whole number from {type_range.min} to "
            f"{type_range.max}, before division by the disparity scale"
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
    """Write a disparity map to a file whose extension selects the format.

    To read the file again, call `read_disparity` with the same scale.

    Parameters
    ----------
    path : path-like
        Path of the file to write. Files with the extension ``.pfm``, ``.npy`` or
        ``.tif`` store disparities in pixels as floats. A ``.png`` file stores 16-bit
        grey levels if no scale is given, and 8-bit grey levels if a scale is given. A
        ``.pgm`` file stores 8-bit grey levels and requires a scale.
    disparity : ndarray of floats, (rows, columns)
        Disparities in pixels. NaN means that the disparity is unknown. In a ``.pfm``
        file it is stored as +inf, which other programs expect.
    disparity_scale : float, optional
        Number of grey levels per pixel of disparity, for 8-bit pictures.
    tags : sequence, optional
        GeoTIFF tags to store in a ``.tif`` file. The function `geo_tags` returns them.

    Raises
    ------
    DataError
        The file extension is not supported, the array is not a disparity map, the grey
        levels cannot represent the disparities, or the scale is missing or not allowed.

    Notes
    -----
    In pictures, grey 0 means that the disparity is unknown. If a known disparity would
    be rounded to grey 0, it is therefore stored as grey 1. The development kit of KITTI
    does this too.
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
            f"{path}: a disparity map cannot be written with the file extension {suffix!r}; "
            "allowed: .pfm, .png, .pgm, .npy, .tif"
        )
        raise DataError(message)
    if suffix == ".pgm" and disparity_scale is None:
        message = (
            f"{path}: an 8-bit disparity map needs its disparity scale, the grey levels per pixel"
        )
        raise DataError(message)
    write_image(path, _grey_levels(path, disparity, disparity_scale))


def _write_floats(path: PathLike, suffix: str, disparity: Disparity, tags: GeoTags) -> None:
    """Write disparities in pixels to a PFM, npy or TIFF file, depending on `suffix`."""
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
    """Convert disparities in pixels to grey levels.

    The grey levels have 8 bits if a scale is given. Otherwise, they have 16 bits, and
    the scale is that of KITTI, 256.

    Raises
    ------
    DataError
        The scale is not above 0, or a grey level would be negative or too large.
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
