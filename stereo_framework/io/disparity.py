"""Readers and writers of disparity map files.

A disparity map in memory is a float32 array of disparities in pixels. NaN means that
the disparity is unknown. The table shows how stored values become disparities.

| file | disparity in pixels | values that mean unknown |
| --- | --- | --- |
| ``.pfm`` | value / scale, default scale 1 | infinite or NaN |
| ``.npy``, ``.npz``, float ``.tif`` | value / scale, default scale 1 | not finite |
| ``.flo`` | -horizontal flow / scale, default scale 1 | beyond 1e9, not finite |
| ``.tif`` of other integers | value / scale, scale required | no marker by default |
| 16-bit grey | grey / scale, default scale 256 | grey 0 by default |
| 8-bit grey | offset + grey / scale, scale required | grey 0 by default |

A negative scale reverses the sign of the disparities.
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
"""Grey levels per pixel of disparity in KITTI's 16-bit disparity maps."""

FORMAT_MARKER: Literal["format"] = "format"
"""Value of `unknown` that selects the usual marker of the file format.

For example, the usual marker in pictures is grey 0.
"""

Unknown = AnyNumber | Literal["format"] | None
"""Type of the argument `unknown` of `read_disparity`."""

Stored = tuple[NDArray[Any], Mask | None]
"""Stored values of a disparity map, and a mask.

The mask is True at pixels with data. If all pixels have data, the mask is None.
"""

_FLOAT_SUFFIXES = (".pfm", ".npy", ".tif", ".tiff")
"""Extensions of files that store float disparities in pixels."""


@checked()
def read_disparity(
    path: PathLike,
    *,
    disparity_scale: AnyNumber | None = None,
    unknown: Unknown = FORMAT_MARKER,
    disparity_offset: float = 0.0,
) -> Disparity:
    """Read a disparity map in pixels from a file.

    Parameters
    ----------
    path : path-like
        A ``.pfm``, ``.npy``, ``.npz``, ``.flo`` or ``.tif`` file, or a grey picture
        with 8 or 16 bits. If a ``.npz`` file contains several arrays, the array
        ``disparity`` is read.
    disparity_scale : float, optional
        Stored units per pixel of disparity, such as 16 for OpenCV's StereoSGBM. A
        negative scale reverses the sign. Pictures with 8 bits require a scale, and so
        do ``.tif`` files of signed or 32-bit integers. The default is 256 for 16-bit
        pictures and 1 for all other files.
    unknown : float, "format" or None
        Stored value that marks unknown disparities. "format" means grey 0 in pictures
        and no marker in other files. None means that the file has no marker, such as
        the venus map of Middlebury 2001. Infinite values and NaN are always unknown.
    disparity_offset : float
        Disparity of grey 0, in pixels. Only grey pictures allow an offset.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Disparities in pixels. Unknown disparities are NaN.

    Raises
    ------
    DataError
        The file does not exist or is damaged. The file is a colour image or a JPEG. The
        scale is missing or 0. The file format does not allow the value of `unknown` or
        an offset.
    """
    return in_pixels(path, map_values(path), disparity_scale, unknown, disparity_offset)


def map_values(path: PathLike) -> Stored:
    """Read the stored values of a disparity map file.

    Pictures have values of type uint8 or uint16. TIFF files can have any integers or
    floats. All other files have float32 values.
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
    """Return the bits per pixel of a grey picture (8 or 16), or 0 for other files."""
    stored = map_values(path)
    return 8 * stored[0].dtype.itemsize if is_grey(stored) else 0


def holds_integers(path: PathLike) -> bool:
    """Return whether a disparity map file stores integers."""
    is_numpy_file = Path(path).suffix.lower() in (".npy", ".npz")
    if is_numpy_file and read_with_registered_reader(path, "disparity") is None:
        # map_values would convert the array to floats.
        return numpy_array(path, "disparity").dtype.kind in "iu"
    return map_values(path)[0].dtype.kind in "iu"


def is_grey(stored: Stored) -> bool:
    """Return whether the stored values are grey levels of 8 or 16 bits."""
    return stored[0].dtype in (np.uint8, np.uint16)


def has_pixel_units(stored: Stored) -> bool:
    """Return whether the stored values are floats, which need no disparity scale."""
    return stored[0].dtype.kind == "f"


def in_pixels(
    path: PathLike,
    stored: Stored,
    disparity_scale: float | None,
    unknown: Unknown = FORMAT_MARKER,
    disparity_offset: float = 0.0,
) -> Disparity:
    """Convert stored values to disparities in pixels."""
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
    if factor != 1:
        disparity = values / factor
    if disparity_offset != 0:
        disparity = disparity_offset + disparity
    with np.errstate(over="ignore"):
        converted = np.where(is_known, disparity, np.nan).astype(np.float32)
    # Values too large for float32 have become infinite.
    converted[~np.isfinite(converted)] = np.nan
    return converted


def scale_of(path: PathLike, stored: Stored, disparity_scale: float | None) -> float:
    """Return `disparity_scale`, or the default scale of the file format if it is None.

    The default scale is 1 for floats and 256 for 16-bit pictures.

    Raises
    ------
    DataError
        The scale is 0 or infinite. The scale is missing, and the file format has no
        default scale.
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
    """Return the stored value that marks unknown disparities, or None.

    The marker has the data type of the file. For example, the marker 0.1 is rounded to
    float32 for a PFM file.

    Raises
    ------
    DataError
        The integer type of the file cannot represent the marker.
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
    """Write a disparity map to a file.

    To read the file again, call `read_disparity` with the same scale.

    Parameters
    ----------
    path : path-like
        Path of the file to write. The extension selects the format. Files with the
        extension ``.pfm``, ``.npy`` or ``.tif`` store floats in pixels. A ``.png`` file
        stores 8-bit grey levels with a scale, and 16-bit grey levels without a scale. A
        ``.pgm`` file stores 8-bit grey levels and requires a scale.
    disparity : ndarray of floats, (rows, columns)
        Disparities in pixels. Unknown disparities are NaN. A ``.pfm`` file stores NaN
        as +inf, because other programs expect +inf.
    disparity_scale : float, optional
        Grey levels per pixel of disparity, for 8-bit pictures.
    tags : sequence, optional
        GeoTIFF tags for a ``.tif`` file, as returned by `geo_tags`.

    Raises
    ------
    DataError
        The file extension is not supported. The array is not a disparity map. The
        disparities are outside the range of the format. The scale is missing or not
        allowed.

    Notes
    -----
    In pictures, grey 0 marks unknown disparities. Therefore, known disparities are
    stored as grey 1 or more, as in KITTI's development kit.
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
    """Write float disparities to a PFM, npy or TIFF file."""
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

    With a scale, the grey levels have 8 bits. Without a scale, the grey levels have 16
    bits and KITTI's scale, 256.

    Raises
    ------
    DataError
        The scale is not above 0. A grey level is out of range.
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
