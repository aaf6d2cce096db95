"""Disparity map files in the encodings that are in use. In memory a map is always float32, in pixels, with NaN = unknown or no estimate.

| file | disparity | unknown |
| --- | --- | --- |
| ``.pfm`` | pixels | infinite or NaN |
| ``.npy``, ``.npz`` (first array), ``.tif`` of floats | pixels | not finite |
| 16-bit grey | grey / scale, scale 256 unless given | grey 0 unless told otherwise |
| 8-bit grey | minimum + grey / scale, scale required | grey 0 unless told otherwise |

Of maps that others made: which file of a folder is the map of which scene, and how to read it.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Disparity, Mask, Scene, unmasked
from stereo_framework.io._files import PathLike, own_read, own_suffixes, write_bytes
from stereo_framework.io.images import stored_grey, write_image
from stereo_framework.io.raw import read_numpy, read_pfm, write_pfm
from stereo_framework.io.tiff import GeoTags, write_float_tiff

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
    return in_pixels(path, map_values(path), scale, unknown, minimum)


Stored = tuple[NDArray[Any], Mask | None]


def map_values(path: PathLike) -> Stored:
    """What a file holds: disparities themselves, floats, or grey levels that stand for them, uint8 or uint16; and the pixels that hold data, None for all."""
    suffix, values = Path(path).suffix.lower(), own_read(path, "disparity")
    if values is None and suffix not in (".pfm", ".npy", ".npz"):
        values, valid = stored_grey(path)
        if values.dtype.kind != "f" and values.dtype not in (np.uint8, np.uint16):
            raise DataError(f"{path}: holds {values.dtype} samples; expected floats, or 8 or 16 bits without sign")
        return values, valid
    if values is None:
        values = read_pfm(path) if suffix == ".pfm" else read_numpy(path)
    if values.ndim != 2:
        raise DataError(f"{path}: has shape {values.shape}; a disparity map is (rows, columns)")
    return values.astype(np.float32), None


def in_pixels(path: PathLike, stored: Stored, scale: float | None, unknown: int | None = 0, minimum: float = 0.0) -> Disparity:
    """The disparities that `map_values` found in a file, or that the grey levels there stand for; as `read_disparity` returns them."""
    values, valid = stored
    if values.dtype.kind == "f":
        if scale is not None or minimum != 0:
            raise DataError(f"{path}: holds disparities in pixels; scale and minimum are for grey pictures")
        known = np.isfinite(values) if valid is None else np.isfinite(values) & valid
        return np.where(known, values, np.nan).astype(np.float32)
    if scale is not None and not (math.isfinite(scale) and scale > 0):
        raise DataError(f"{path}: scale {scale:g} is not above 0")
    if scale is None and values.dtype == np.uint8:
        raise DataError(
            f"{path}: an 8-bit disparity map needs its scale, the grey levels per pixel (Tsukuba: 16, Middlebury 2001: 8, 2003: 4)"
        )
    disparity: Disparity = (minimum + values / (scale or KITTI_SCALE)).astype(np.float32)
    missing = np.zeros(values.shape, bool) if valid is None else ~valid
    disparity[missing if unknown is None else missing | (values == unknown)] = np.nan
    return disparity


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


SUFFIXES = (".pfm", ".png", ".pgm", ".npy", ".npz", ".tif", ".tiff")
"""Endings of files that may be disparity maps."""


def map_files(folder: Path) -> list[Path]:
    """The files in a folder and its subfolders that may be disparity maps, sorted."""
    legal = {*SUFFIXES, *own_suffixes("disparity")}
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in legal and p.is_file())


def best_scenes(path: Path, names: Sequence[str]) -> dict[str, int]:
    """The scenes whose names fit the path of a file best.

    Parameters
    ----------
    path : Path
        The path of the file, beginning with the name of the folder itself.
    names : sequence of str
        Full names of scenes.

    Returns
    -------
    dict of str to int
        The names, more than one if the path fits several equally well, each with the number of its data set's folders that occur in the path; empty if
        the path names no scene. Of two names that otherwise fit equally well, the one with fewer folders missing from the path is taken.
    """
    parts = [*path.parts[:-1], path.stem]
    found: dict[str, tuple[int, int]] = {}
    for name in names:
        *sets, short = name.split("/")
        stem = path.stem
        if short in parts or (stem.startswith(short) and not stem[len(short)].isalnum()):
            named = sum(part in parts for part in sets)
            found[name] = named, named - len(sets)
    best = max(found.values(), default=(0, 0))
    return {name: score[0] for name, score in found.items() if score == best}


def map_of(place: str, scene: str) -> Path:
    """The file that holds the disparity map of a scene.

    Parameters
    ----------
    place : str
        A path in which ``{scene}`` stands for the scene's full name, its last part, or the full name with hyphens, whichever exists; or a folder in
        which a file, or the folder of a file, is named like the scene; or a single file, which is taken for any scene.
    scene : str
        Full name.

    Raises
    ------
    DataError
        There is no such file, or there are several.
    """
    if "{scene}" in place:
        names = dict.fromkeys([scene, scene.rpartition("/")[2], scene.replace("/", "-")])
        files = [Path(place.replace("{scene}", name)) for name in names]
        found = next((file for file in files if file.is_file()), None)
        if found is None:
            raise DataError(f"no map of {scene}: there is no {' or '.join(map(str, files))}")
        return found
    folder = Path(place)
    if folder.is_file():
        return folder
    fits = {path: score for path in map_files(folder) for score in best_scenes(path.relative_to(folder.parent), [scene]).values()}
    best = [path for path, score in fits.items() if score == max(fits.values())]
    if len(best) > 1:
        raise DataError(f"{folder}: two maps for {scene}: {best[0].relative_to(folder)} and {best[1].relative_to(folder)}")
    if not best:
        raise DataError(f"no map of {scene}: none of the files in {folder}, nor a folder there, is named like it")
    return best[0]


def read_map(
    path: PathLike, scene: Scene, *, scale: float | None = None, unknown: int | None = None, zero_is_known: bool | None = None
) -> Disparity:
    """Read a disparity map of a scene in the encoding of the scene's data set.

    Parameters
    ----------
    path : path-like
        PFM, npy, TIFF of floats and what a reader of somebody's reads hold pixels.
    scene : Scene
    scale : float, optional
        Grey levels per pixel of disparity. Default: that of the scene for 8 bits, 256 for 16 bits.
    unknown : int, optional
       Grey level, or number in files of pixels, that means no estimate. Default: 0 in pictures, except in 8-bit maps in which 0 is a disparity; in files of
        pixels only what is not finite.
    zero_is_known : bool, optional
        Whether 0 is a disparity in 8-bit maps. Default: only for scenes that are measured as in the 2002 paper, whose maps use it so.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.

    Raises
    ------
    DataError
        The file is missing or damaged, or the scale is missing.
    """
    stored = map_values(path)
    if stored[0].dtype.kind == "f":
        disparity = in_pixels(path, stored, scale)
        return disparity if unknown is None else np.where(disparity == unknown, np.float32(np.nan), disparity)
    eight_bits = stored[0].dtype == np.uint8
    if scale is None and eight_bits:
        scale = scene.grey_levels
    if unknown is None and not (eight_bits and (scene.protocol == "taxonomy2002" if zero_is_known is None else zero_is_known)):
        unknown = 0
    return in_pixels(path, stored, scale, unknown)
