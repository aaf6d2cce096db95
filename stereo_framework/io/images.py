"""Image files: PGM, PPM and PNG with 8 and 16 bits, JPEG, WebP, BMP and TIFF.

Intensities in memory are 0..255. Files of 8 bits stay uint8. Samples of 16 bits are
divided by 257 and become float32. Files of numbers, which are PFM, npy, and TIFF of
floats or signed integers, have intensities that are not scaled.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError, warn
from stereo_framework.core.file_damage import report_damage
from stereo_framework.core.scene import Image, Mask
from stereo_framework.io.files import PathLike, read_bytes
from stereo_framework.io.image_containers import (
    Samples,
    check_exact,
    decode,
    has_alpha,
    is_grey_png_with_alpha,
)
from stereo_framework.io.numpy_files import read_numpy
from stereo_framework.io.orientation import UPRIGHT, orientation_of, turned_upright
from stereo_framework.io.output_folders import write_bytes
from stereo_framework.io.raw import decode_netpbm, read_pfm
from stereo_framework.io.registered_readers import read_with_registered_reader
from stereo_framework.io.tiff import is_tiff, read_tiff

ENDINGS = (
    ".png",
    ".jpg",
    ".jpeg",
    ".webp",
    ".bmp",
    ".tif",
    ".tiff",
    ".ppm",
    ".pgm",
    ".pfm",
    ".npy",
)
"""Endings of the files that count as images in a folder."""

_NUMPY = (b"\x93NUMPY", b"PK")
_PFM = (b"Pf", b"PF")
_NETPBM = (b"P2", b"P3", b"P5", b"P6")
"""First bytes of the files."""

_LARGEST: Mapping[np.dtype[Any], int] = {np.dtype(np.uint8): 255, np.dtype(np.uint16): 65535}
"""Largest intensity of samples without sign, by their type."""


@checked()
def read_image(path: PathLike, *, masked: bool = False, upright: bool = False) -> Image:
    """Read an image file.

    Parameters
    ----------
    path : path-like
        PNG, PGM, PPM, JPEG, WebP, BMP or TIFF with 8 or 16 bits per sample. Palettes
        are decoded, and colour profiles are ignored. The file can also be a file of
        numbers with intensities 0..255, which is PFM, npy, or TIFF of floats or signed
        integers. NaN in such a file means that there is no data.
    masked : bool
        Whether pixels without data are masked. These are the pixels that an alpha
        channel makes fully transparent, and the pixels with the nodata value of a TIFF.
    upright : bool
        Whether the image is turned by its EXIF orientation, as programs show it. By
        default the image is read as it is stored, so that ground truth for the stored
        pixels fits.

    Returns
    -------
    ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255, in RGB order. The type is uint8 for files whose largest
        value is 255. Otherwise it is float32: the stored value times 255 / largest,
        which for 16 bits is a division by 257. With `masked`, the result is a masked
        array if a pixel has no data.

    Raises
    ------
    DataError
        The file is missing, unreadable, truncated, damaged or not an image.
    """
    image: Any = read_with_registered_reader(path, "image")
    valid: Mask | None = None
    if image is None:
        samples, largest, valid = _stored_samples(path)
        image = _intensities(samples, largest, valid)
    if image.dtype != np.uint8:
        with np.errstate(over="ignore"):
            image = image.astype(np.float32, copy=False)
    if masked and valid is not None and not valid.all():
        image = np.ma.masked_array(image, _per_channel(~valid, image))
    return _in_orientation(path, image, upright=upright)


def _intensities(samples: Samples, largest: int, valid: Mask | None) -> NDArray[Any]:
    """Return intensities 0..255 of samples.

    Parameters
    ----------
    samples : ndarray
        Samples as stored.
    largest : int
        Largest value of the format; 0 for numbers, which are not scaled. Pixels of such
        an image that have no data become NaN.
    valid : ndarray, bool, (rows, columns), or None
        The pixels that have data.
    """
    if largest == 255:
        return samples
    if largest != 0:
        return samples / (largest / 255)
    if valid is None:
        return samples
    has_data = valid if samples.ndim == 2 else valid[..., None]
    return np.where(has_data, samples, np.nan)


def _per_channel(mask: Mask, image: NDArray[Any]) -> Mask:
    """Return a mask with the shape of an image."""
    return mask if image.ndim == 2 else np.repeat(mask[..., None], 3, axis=2)


def _in_orientation(path: PathLike, image: Any, *, upright: bool) -> Any:
    """Return an image upright or as it is stored, and warn if these differ."""
    orientation = orientation_of(path)
    if orientation == UPRIGHT:
        return image
    if not upright:
        _warn_once(
            f"{path}: the image is stored in another orientation than it is shown in (EXIF "
            f"orientation {orientation}), and read as it is stored; 'match' and 'choose' turn "
            "photographs upright, and so does 'upright: true' in a scene.yaml"
        )
        return image
    turned = turned_upright(image, orientation)
    rows, columns = turned.shape[:2]
    _warn_once(
        f"{path}: the image was turned upright, to {columns}x{rows} pixels, by its EXIF "
        f"orientation {orientation}; masks, maps and calibrations must be those of the upright "
        "image"
    )
    return turned


@functools.lru_cache(maxsize=64)
def _warn_once(message: str) -> None:
    """Issue a warning, unless the same warning was issued recently.

    The command line reads an image twice, to examine it and to match it.
    """
    warn([message])


def _stored_samples(path: PathLike, *, exact: bool = False) -> tuple[Samples, int, Mask | None]:
    """Read the samples of an image file as they are stored.

    Parameters
    ----------
    path : path-like
        The file.
    exact : bool
        Whether a file is refused if its compression has changed its values.

    Returns
    -------
    samples : ndarray, (rows, columns) or (rows, columns, 3) RGB
        Samples of any numeric type.
    largest : int
        Largest value that the format allows: 255 or 65535, or the value in the header
        of a PGM or PPM file. It is 0 for samples that are not of 8 or 16 bits without
        sign.
    valid : ndarray, bool, (rows, columns), or None
        The pixels that have data; None if all have.
    """
    if is_tiff(path):
        samples, valid = read_tiff(path, exact=exact)
        return samples, _LARGEST.get(samples.dtype, 0), valid
    data = read_bytes(path)
    if data.startswith(_NUMPY):
        samples = read_numpy(path, "image")
        _check_image_shape(samples, path)
        return samples, 0, None
    if data.startswith(_PFM):
        samples = read_pfm(path)
        _check_image_shape(samples, path)
        return samples, 0, None
    if data.startswith(_NETPBM):
        samples, largest = decode_netpbm(data, path)
        return samples, largest, None
    if exact:
        check_exact(data, path)
    return _decoded_samples(data, path)


def _check_image_shape(samples: Samples, path: PathLike) -> None:
    """Refuse an array of numbers that is not a grey or RGB image."""
    if samples.ndim not in (2, 3) or samples.shape[2:] not in ((), (3,)) or 0 in samples.shape:
        message = f"{path}: the array has shape {samples.shape}; an image has (rows, columns[, 3])"
        raise DataError(message)


def _decoded_samples(data: bytes, path: PathLike) -> tuple[Samples, int, Mask | None]:
    """Return what `_stored_samples` returns for a PNG, JPEG, WebP or BMP file."""
    decoded, damage = decode(data, path)
    if damage:
        _warn_of_damage(damage, path)
    valid = None
    if decoded.shape[2:] == (4,) and has_alpha(data):
        valid = decoded[..., 3] > 0
    samples = decoded
    if decoded.ndim == 3:
        is_grey = is_grey_png_with_alpha(data)
        # The channels of OpenCV are blue, green and red.
        colours = decoded[..., 0] if is_grey else decoded[..., 2::-1]
        samples = np.ascontiguousarray(colours)
    return samples, int(np.iinfo(samples.dtype).max), valid


def _warn_of_damage(damage: list[str], path: PathLike) -> None:
    """Report that pixels of a damaged JPEG may be wrong."""
    message = (
        f"{path}: the file is damaged, and pixels may be wrong ({'; '.join(damage)}); replace the "
        "file by an undamaged copy"
    )
    report_damage(message)
    _warn_once(message)


@checked()
def read_grey(path: PathLike) -> Samples:
    """Read the grey values of a picture as they are stored.

    Parameters
    ----------
    path : path-like
        A grey picture, or a picture in colour whose channels are all equal, such as a
        palette of greys.

    Returns
    -------
    ndarray, uint8 or uint16, (rows, columns)

    Raises
    ------
    DataError
        The file is not an image, as in `read_image`. Or its channels differ, or its
        compression changes values, as that of a JPEG.
    """
    samples, _ = stored_grey(path)
    if samples.dtype not in (np.uint8, np.uint16):
        message = f"{path}: the file has {samples.dtype} samples; expected 8 or 16 bits"
        raise DataError(message)
    return samples


def stored_grey(path: PathLike) -> tuple[Samples, Mask | None]:
    """Read the samples of a picture or TIFF file with one value for each pixel.

    Returns
    -------
    samples : ndarray, (rows, columns)
        The result of `read_grey`, or samples of other types from a TIFF file.
    valid : ndarray, bool, (rows, columns), or None
        The pixels that have data; None if all have.

    Raises
    ------
    DataError
        Same as in `read_grey`.
    """
    samples, _, valid = _stored_samples(path, exact=True)
    if samples.ndim == 3:
        if (samples != samples[..., :1]).any():
            raise DataError(f"{path}: {_message_of_channels(samples)}")
        samples = np.ascontiguousarray(samples[..., 0])
    return samples, valid


def _message_of_channels(samples: Samples) -> str:
    """Describe a file with several different values for each pixel."""
    channels = samples.shape[2]
    if samples.dtype.kind == "f" or samples.dtype.itemsize > 2:
        return (
            f"the file has {channels} bands of {samples.dtype} samples, which differ; expected "
            "one band; write the band that is needed into a separate file"
        )
    return (
        f"the file is in colour, and its {channels} channels differ; expected one grey channel; "
        "the file may be a colour-mapped picture, from which values cannot be recovered, or its "
        "values may be coded in several channels; write the values themselves as PFM or grey "
        "PNG, or decode them with your own reader ('stages --new NAME --slot reader')"
    )


@checked()
def read_mask(path: PathLike, *, upright: bool = False) -> Mask:
    """Read a mask picture.

    Parameters
    ----------
    path : path-like
        A picture, as in `read_grey`.
    upright : bool
        Whether the mask is turned by its own EXIF orientation, as in `read_image`.

    Returns
    -------
    ndarray, bool, (rows, columns)
        True at white pixels, which have 255, or 65535 with 16 bits.

    Raises
    ------
    DataError
        Same as in `read_grey`.
    """
    samples = read_grey(path)
    mask: Mask = samples == np.iinfo(samples.dtype).max
    return turned_upright(mask, orientation_of(path)) if upright else mask


@checked()
def write_image(path: PathLike, array: NDArray, valid: Mask | None = None) -> None:
    """Write an image in the format of the file name's ending.

    Parameters
    ----------
    path : path-like
        ``.png``, ``.pgm`` (grey), ``.ppm`` (colour), ``.jpg``, ``.bmp`` or ``.tif``.
    array : ndarray, (rows, columns) or (rows, columns, 3) RGB
        The image. uint8 and uint16 are written as they are, bool as 0 and 255. Floats
        0..255 are rounded and clipped to 8 bits.
    valid : ndarray, bool, (rows, columns), optional
        The pixels that have data; all others become transparent. This argument is only
        for PNG of 8 bits.

    Raises
    ------
    DataError
        The ending is unknown, the array is not an image or contains NaN, or the file
        cannot be written.
    """
    samples = _samples_to_write(path, np.asarray(array))
    if valid is not None:
        _write_with_alpha(path, np.dstack([samples, valid * np.uint8(255)]))
        return
    suffix = Path(path).suffix.lower()
    _check_format(path, suffix, samples)
    write_bytes(path, _encode(suffix, samples))


def _samples_to_write(path: PathLike, array: NDArray[Any]) -> NDArray[Any]:
    """Return the samples, uint8 or uint16, that are stored for an array."""
    if array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,)) or array.size == 0:
        message = (
            f"{path}: an array of shape {array.shape} is not an image; expected "
            "(rows, columns[, 3])"
        )
        raise DataError(message)
    if array.dtype == bool:
        return array * np.uint8(255)
    if np.issubdtype(array.dtype, np.floating):
        if np.isnan(array).any():
            message = f"{path}: the image contains NaN; expected intensities 0..255"
            raise DataError(message)
        return np.rint(np.clip(array, 0, 255)).astype(np.uint8)
    if array.dtype not in (np.uint8, np.uint16):
        message = (
            f"{path}: the samples are {array.dtype}; expected uint8, uint16, bool or floats 0..255"
        )
        raise DataError(message)
    return array


def _check_format(path: PathLike, suffix: str, samples: NDArray[Any]) -> None:
    """Refuse samples that the format of a file cannot store."""
    if suffix not in (".png", ".pgm", ".ppm", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"):
        message = (
            f"{path}: the ending {suffix!r} is unknown; allowed: .png, .pgm, .ppm, .jpg, .bmp, .tif"
        )
        raise DataError(message)
    is_colour = samples.ndim == 3
    if suffix == ".pgm" and is_colour:
        message = f"{path}: .pgm stores only grey images; use .png or .ppm"
        raise DataError(message)
    if suffix == ".ppm" and not is_colour:
        message = f"{path}: .ppm stores only images in colour; use .png or .pgm"
        raise DataError(message)
    if samples.dtype == np.uint16 and suffix in (".jpg", ".jpeg", ".bmp"):
        message = f"{path}: {suffix} stores 8 bits; use .png, .tif, .pgm or .ppm for 16 bits"
        raise DataError(message)


def _write_with_alpha(path: PathLike, samples: NDArray[np.uint8]) -> None:
    """Write a PNG whose last channel is its transparency."""
    # OpenCV does not write grey with alpha.
    import PIL.Image

    buffer = io.BytesIO()
    PIL.Image.fromarray(samples).save(buffer, "PNG")
    write_bytes(path, buffer.getvalue())


def encode_png(array: NDArray) -> bytes:
    """Return an image as the bytes of a PNG file.

    Parameters
    ----------
    array : ndarray, uint8 or uint16, (rows, columns) or (rows, columns, 3) RGB
        The image.
    """
    return _encode(".png", array)


def _encode(suffix: str, samples: NDArray[Any]) -> bytes:
    """Encode an image, in RGB order, in the format of a suffix."""
    import cv2

    # The channels of OpenCV are blue, green and red.
    opencv_samples = samples[..., ::-1] if samples.ndim == 3 else samples
    return cv2.imencode(suffix, opencv_samples)[1].tobytes()
