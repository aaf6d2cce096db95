"""Disparity map files in the encodings that are in use. In memory a map is always float32, in pixels, with NaN = unknown or no estimate.

| file | disparity | unknown |
| --- | --- | --- |
| ``.pfm`` | pixels | infinite or NaN |
| ``.npy``, ``.npz`` (first array), ``.tif`` of floats | pixels | not finite |
| 16-bit grey | grey / scale, scale 256 unless given | grey 0 unless told otherwise |
| 8-bit grey | minimum + grey / scale, scale required | grey 0 unless told otherwise |
"""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Disparity, unmasked
from stereo_framework.io._files import PathLike, write_bytes
from stereo_framework.io.images import Samples, read_grey, read_image, write_image
from stereo_framework.io.numpy_files import read_numpy
from stereo_framework.io.pfm import read_pfm, write_pfm
from stereo_framework.io.readers import own_read, own_suffixes
from stereo_framework.io.tiff import GeoTags, holds_floats, is_tiff, read_valid, write_float_tiff

_TIFF = (".tif", ".tiff")

KITTI_SCALE = 256.0
"""Grey levels per pixel of disparity in 16-bit maps, the convention of KITTI."""


def read_disparity(path: PathLike, *, scale: float | None = None, unknown: int | None = 0, minimum: float = 0.0) -> Disparity:
    """Read a disparity map.

    Parameters
    ----------
    path : path-like
        ``.pfm``, ``.npy``, ``.npz``, a ``.tif`` of floats, or a grey picture (PNG, PGM, ...) with 8 or 16 bits.
    scale : float, optional
        Grey levels per pixel of disparity, for pictures only. Required for 8 bits; the default for 16 bits is 256.
    unknown : int or None
        Grey value that means unknown; None if every value is a disparity (Middlebury 2001: sawtooth, venus, map).
    minimum : float
        Disparity of grey 0 in pixels, for pictures only.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN = unknown.

    Raises
    ------
    DataError
        The file is missing, damaged, in colour or a JPEG; the scale is missing; or a scale or minimum is given for a file that holds
        disparities in pixels.
    """
    if holds_pixels(path):
        if scale is not None or minimum != 0:
            raise DataError(f"{path}: holds disparities in pixels; scale and minimum are for grey pictures")
        suffix, values = Path(path).suffix.lower(), own_read(path, "disparity")
        if values is None:
            values = read_pfm(path) if suffix == ".pfm" else read_image(path) if suffix in _TIFF else read_numpy(path)
        if values.ndim != 2:
            raise DataError(f"{path}: has shape {values.shape}; a disparity map is (rows, columns)")
        return np.where(np.isfinite(values), values, np.nan).astype(np.float32)
    return where_valid(path, grey_disparity(path, read_grey(path), scale=scale, unknown=unknown, minimum=minimum))


def holds_pixels(path: PathLike) -> bool:
    """Whether a file holds disparities themselves, and not grey levels that stand for them."""
    suffix = Path(path).suffix.lower()
    tiff = suffix in _TIFF and is_tiff(path) and holds_floats(path)
    return tiff or suffix in (".pfm", ".npy", ".npz", *own_suffixes("disparity"))


def grey_disparity(
    path: PathLike, samples: Samples, *, scale: float | None = None, unknown: int | None = 0, minimum: float = 0.0
) -> Disparity:
    """The disparities that the grey levels of a picture stand for, for callers that have read the picture already.

    Parameters
    ----------
    path : path-like
        The file, for messages.
    samples : ndarray, uint8 or uint16, (rows, columns)
        As of `read_grey`.
    scale, unknown, minimum
        As in `read_disparity`.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN = unknown.

    Raises
    ------
    DataError
        The scale is missing or not above 0.
    """
    if scale is not None and not (math.isfinite(scale) and scale > 0):
        raise DataError(f"{path}: scale {scale:g} is not above 0")
    if scale is None:
        if samples.dtype == np.uint8:
            raise DataError(
                f"{path}: an 8-bit disparity map needs its scale, the grey levels per pixel (Tsukuba: 16, Middlebury 2001: 8, 2003: 4)"
            )
        scale = KITTI_SCALE
    disparity = (minimum + samples / scale).astype(np.float32)
    if unknown is not None:
        disparity[samples == unknown] = np.nan
    return disparity


def where_valid(path: PathLike, disparity: Disparity) -> Disparity:
    """The disparities of a picture, with NaN where the nodata value or alpha channel of a TIFF says that they are unknown."""
    valid = read_valid(path) if is_tiff(path) else None
    return disparity if valid is None else np.where(valid, disparity, np.float32(np.nan))


def write_disparity(path: PathLike, disparity: Disparity, *, scale: float | None = None, tags: GeoTags = ()) -> None:
    """Write a disparity map, which `read_disparity` with the same scale reads back.

    Parameters
    ----------
    path : path-like
        ``.pfm``, ``.npy`` and ``.tif`` hold the values themselves (unknown is +inf in PFM, as other tools expect it). ``.png`` has 16 bits without a
        scale and 8 bits with one; ``.pgm`` has 8 bits.
    disparity : ndarray of floats, (rows, columns)
        Pixels, NaN = unknown.
    scale : float, optional
        Grey levels per pixel for 8 bits.
    tags : sequence, optional
        GeoTIFF tags of a ``.tif``, as of `geo_tags`.

    Raises
    ------
    DataError
        The file has another ending, the array is not a map, the encoding cannot hold the disparities, or the scale is missing.

    Notes
    -----
    In pictures grey 0 means unknown, so a known disparity that rounds to 0 becomes 1, as in KITTI's own program.
    """
    suffix = Path(path).suffix.lower()
    disparity = np.asarray(unmasked(str(path), disparity))
    if disparity.ndim != 2:
        raise DataError(f"{path}: an array of shape {disparity.shape} is not a disparity map; expected (rows, columns)")
    known = np.isfinite(disparity)
    if suffix in (".pfm", ".npy", ".tif", ".tiff"):
        if scale is not None:
            raise DataError(f"{path}: {suffix} holds pixels; a scale is for .png and .pgm")
        if suffix == ".pfm":
            write_pfm(path, np.where(known, disparity, np.inf))
        elif suffix.startswith(".tif"):
            write_float_tiff(path, np.where(known, disparity, np.nan).astype(np.float32), tags)
        else:
            buffer = io.BytesIO()
            np.save(buffer, np.where(known, disparity, np.nan).astype(np.float32))
            write_bytes(path, buffer.getvalue())
        return
    if suffix not in (".png", ".pgm"):
        raise DataError(f"{path}: unknown ending {suffix!r} for a disparity map; legal: .pfm, .png, .pgm, .npy, .tif")
    if suffix == ".pgm" and scale is None:
        raise DataError(f"{path}: an 8-bit disparity map needs its scale, the grey levels per pixel")
    dtype, factor = (np.uint16, KITTI_SCALE) if scale is None else (np.uint8, scale)
    if not factor > 0:
        raise DataError(f"{path}: scale {factor:g} is not above 0")
    grey = np.rint(np.where(known, disparity, 0) * factor)
    largest = np.iinfo(dtype).max
    if grey.min() < 0 or grey.max() > largest:
        raise DataError(
            f"{path}: disparities {disparity[known].min():g}..{disparity[known].max():g} do not fit "
            f"0..{largest / factor:g}, what {np.dtype(dtype).itemsize * 8} bits hold at scale {factor:g}; write a .pfm"
        )
    write_image(path, np.where(known, np.maximum(grey, 1), 0).astype(dtype))
