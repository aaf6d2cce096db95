"""Disparity map files in the encodings that are in use. In memory a map is always float32, in pixels, with NaN = unknown or no estimate.

| file | disparity | unknown |
| --- | --- | --- |
| ``.pfm`` | value / scale, scale 1 unless given | infinite or NaN |
| ``.npy``, ``.npz``, ``.tif`` of floats | value / scale, scale 1 unless given | not finite |
| ``.flo`` | -horizontal flow / scale, scale 1 unless given | beyond 1e9, not finite |
| ``.tif`` of other integers | value / scale, scale required | none unless given |
| 16-bit grey | grey / scale, scale 256 unless given | grey 0 unless given |
| 8-bit grey | offset + grey / scale, scale required | grey 0 unless given |

A negative scale reads a file whose disparities have the other sign. Of maps that others
made: which file of a folder is the map of which scene, and how to read it.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import AnyNumber, checked
from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Disparity, Mask, Scene, unmasked
from stereo_framework.io._files import PathLike, own_read, own_suffixes, write_bytes
from stereo_framework.io.images import stored_grey, write_image
from stereo_framework.io.raw import numpy_array, read_flow, read_numpy, read_pfm, write_pfm
from stereo_framework.io.tiff import GeoTags, write_float_tiff

KITTI_SCALE = 256.0
"""Grey levels per pixel of disparity in 16-bit maps, the convention of KITTI."""


FORMAT_MARKER: Literal["format"] = "format"
"""Stands for the marker of unknown disparities that the format of a file defines."""

Unknown = AnyNumber | Literal["format"] | None
"""A stored value that means unknown, `FORMAT_MARKER`, or None if no value does."""


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
        ``.pfm``, ``.npy``, ``.npz``, ``.flo``, a ``.tif`` of floats or integers, or a
        grey picture (PNG, PGM, ...) with 8 or 16 bits. If a ``.npz`` holds several maps, the
        array that is called ``disparity`` is read.
    disparity_scale : float, optional
        Stored units per pixel of disparity, such as 16 for the integers of OpenCV's
        StereoSGBM. It may be a fraction, and it is negative if the file holds
        disparities of the other sign. Required for pictures of 8 bits and for integers
        with a sign in a ``.tif``; the default is 256 for pictures of 16 bits and 1 for
        all other files.
    unknown : float, "format" or None
        Stored value that means unknown, before it is divided by the scale. "format":
        the marker of the format, which is grey 0 in pictures; other files have none.
        None: every finite value is a disparity (Middlebury 2001: sawtooth, venus, map).
        Values that are not finite are always unknown.
    disparity_offset : float
        Disparity of grey 0 in pixels, for pictures only.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN = unknown.

    Raises
    ------
    DataError
        The file is missing, damaged, in colour or a JPEG; `disparity_scale` is missing or 0;
        the file cannot hold the value `unknown`; or `disparity_offset` is given for a file that
        is no picture.
    """
    return in_pixels(path, map_values(path), disparity_scale, unknown, disparity_offset)


Stored = tuple[NDArray[Any], Mask | None]
"""Values of a map file as stored, and the pixels that hold data, None for all."""


def map_values(path: PathLike) -> Stored:
    """Read the values of a map file as they are stored.

    Pictures give grey levels, uint8 or uint16. TIFF files may give other integers. All
    other files give float32.
    """
    suffix = Path(path).suffix.lower()
    values = own_read(path, "disparity")
    if values is None and suffix not in (".pfm", ".npy", ".npz", ".flo"):
        return stored_grey(path)
    if values is None and suffix == ".flo":
        values = read_flow(path)
    if values is None:
        values = read_pfm(path) if suffix == ".pfm" else read_numpy(path, "disparity")
    if values.ndim != 2:
        message = f"{path}: has shape {values.shape}; a disparity map is (rows, columns)"
        raise DataError(message)
    return values.astype(np.float32), None


def grey_bits(path: PathLike) -> int:
    """Return the bits of a grey level if a map file is a picture; otherwise 0."""
    stored = map_values(path)
    return 8 * stored[0].dtype.itemsize if is_grey(stored) else 0


def holds_integers(path: PathLike) -> bool:
    """Return whether a map file holds integers, which may have a scale."""
    if Path(path).suffix.lower() in (".npy", ".npz") and own_read(path, "disparity") is None:
        return numpy_array(path, "disparity").dtype.kind in "iu"
    return map_values(path)[0].dtype.kind in "iu"


def is_grey(stored: Stored) -> bool:
    """Return whether stored values are grey levels, which mark unknown by 0."""
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
        message = f"{path}: is no grey picture, and disparity_offset {disparity_offset:g} is the disparity of grey 0; leave disparity_offset out"
        raise DataError(message)

    is_known = np.isfinite(values) if valid is None else np.isfinite(values) & valid
    marker = _marker_of(path, stored, unknown)
    if marker is not None:
        is_known &= values != marker

    factor = scale_of(path, stored, disparity_scale)
    disparity: NDArray[Any] = values
    # Floats in pixels stay as they are, to the last bit.
    if factor != 1:
        disparity = values / factor
    if disparity_offset != 0:
        disparity = disparity_offset + disparity
    with np.errstate(over="ignore"):
        converted = np.where(is_known, disparity, np.nan).astype(np.float32)
    # Numbers beyond the range of float32 are no disparities.
    converted[~np.isfinite(converted)] = np.nan
    return converted


def scale_of(path: PathLike, stored: Stored, disparity_scale: float | None) -> float:
    """Return the stored units per pixel; without a scale, that of the format."""
    dtype = stored[0].dtype
    if disparity_scale is not None:
        if disparity_scale == 0 or not math.isfinite(disparity_scale):
            message = f"{path}: the disparity scale is {disparity_scale:g}; expected a finite number other than 0, the stored units per pixel"
            raise DataError(message)
        return disparity_scale
    if has_pixel_units(stored):
        return 1.0
    if dtype == np.uint16:
        return KITTI_SCALE
    if dtype == np.uint8:
        message = f"{path}: an 8-bit disparity map needs its disparity scale, the grey levels per pixel (Tsukuba: 16, Middlebury 2001: 8, 2003: 4)"
        raise DataError(message)
    message = (
        f"{path}: holds {dtype} samples, and no disparity scale is given; give its disparity scale, the units per pixel "
        "(OpenCV's StereoSGBM and StereoBM: 16; whole pixels: 1)"
    )
    raise DataError(message)


def _marker_of(path: PathLike, stored: Stored, unknown: Unknown) -> float | np.generic | None:
    """Return the stored value that means unknown, in the type of the values, or None."""
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
    limits_of_type = np.iinfo(dtype)
    if not number.is_integer() or not limits_of_type.min <= number <= limits_of_type.max:
        message = (
            f"{path}: holds {dtype} samples, none of which can be {number:g}, the value for unknown; "
            f"expected a whole number from {limits_of_type.min} to {limits_of_type.max}, as the file stores it"
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
    """Write a disparity map, which `read_disparity` with the same scale reads back.

    Parameters
    ----------
    path : path-like
        ``.pfm``, ``.npy`` and ``.tif`` hold the values themselves (unknown is +inf in PFM, as other tools expect it). ``.png`` has 16 bits without a
        scale and 8 bits with one; ``.pgm`` has 8 bits.
    disparity : ndarray of floats, (rows, columns)
        Pixels, NaN = unknown.
    disparity_scale : float, optional
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
        raise DataError(
            f"{path}: an array of shape {disparity.shape} is not a disparity map; expected (rows, columns)"
        )
    known = np.isfinite(disparity)
    if suffix in (".pfm", ".npy", ".tif", ".tiff"):
        if disparity_scale is not None:
            raise DataError(
                f"{path}: {suffix} holds pixels; a disparity scale is for .png and .pgm"
            )
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
        raise DataError(
            f"{path}: unknown ending {suffix!r} for a disparity map; allowed: .pfm, .png, .pgm, .npy, .tif"
        )
    if suffix == ".pgm" and disparity_scale is None:
        raise DataError(
            f"{path}: an 8-bit disparity map needs its disparity scale, the grey levels per pixel"
        )
    dtype, factor = (
        (np.uint16, KITTI_SCALE) if disparity_scale is None else (np.uint8, disparity_scale)
    )
    if not factor > 0:
        raise DataError(f"{path}: disparity scale {factor:g} is not above 0")
    grey = np.rint(np.where(known, disparity, 0) * factor)
    largest = np.iinfo(dtype).max
    if grey.min() < 0 or grey.max() > largest:
        raise DataError(
            f"{path}: disparities {disparity[known].min():g}..{disparity[known].max():g} do not fit "
            f"0..{largest / factor:g}, what {np.dtype(dtype).itemsize * 8} bits hold at disparity scale {factor:g}; write a .pfm"
        )
    write_image(path, np.where(known, np.maximum(grey, 1), 0).astype(dtype))


SUFFIXES = (".pfm", ".png", ".pgm", ".npy", ".npz", ".tif", ".tiff", ".flo")
"""Endings of files that may be disparity maps."""


def map_files(folder: Path) -> list[Path]:
    """The files in a folder and its subfolders that may be disparity maps, sorted."""
    allowed = {*SUFFIXES, *own_suffixes("disparity")}
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in allowed and p.is_file())


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
    fits = {
        path: score
        for path in map_files(folder)
        for score in best_scenes(path.relative_to(folder.parent), [scene]).values()
    }
    best = [path for path, score in fits.items() if score == max(fits.values())]
    if len(best) > 1:
        raise DataError(
            f"{folder}: two maps for {scene}: {best[0].relative_to(folder)} and {best[1].relative_to(folder)}"
        )
    if not best:
        raise DataError(
            f"no map of {scene}: none of the files in {folder}, nor a folder there, is named like it"
        )
    return best[0]


def read_map(
    path: PathLike,
    scene: Scene,
    *,
    disparity_scale: float | None = None,
    unknown: float | None = None,
    zero_is_known: bool | None = None,
) -> Disparity:
    """Read a disparity map of a scene in the encoding of the scene's data set.

    Parameters
    ----------
    path : path-like
        A file as in `read_disparity`, or one that a registered reader reads.
    scene : Scene
    disparity_scale : float, optional
        Stored units per pixel of disparity, negative for the other sign. Default: that
        of the scene for pictures of 8 bits; otherwise as in `read_disparity`.
    unknown : float, optional
        Stored value that means no estimate. Default: 0 in pictures, except in 8-bit
        maps in which 0 is a disparity; in other files only what is not finite.
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
    _, disparity = read_encoded(
        path, scene, disparity_scale=disparity_scale, unknown=unknown, zero_is_known=zero_is_known
    )
    return disparity


def read_encoded(
    path: PathLike,
    scene: Scene,
    *,
    disparity_scale: float | None = None,
    unknown: float | None = None,
    zero_is_known: bool | None = None,
) -> tuple[float, Disparity]:
    """Return the stored units per pixel of a map, and the map of `read_map`."""
    stored = map_values(path)
    if zero_is_known is None:
        zero_is_known = scene.protocol == "taxonomy2002"
    has_eight_bits = stored[0].dtype == np.uint8

    if disparity_scale is None and has_eight_bits:
        disparity_scale = scene.grey_levels
    marker: Unknown = unknown
    if unknown is None and not (has_eight_bits and zero_is_known):
        marker = FORMAT_MARKER
    return scale_of(path, stored, disparity_scale), in_pixels(path, stored, disparity_scale, marker)
