"""Readers and writers of image files: PNG, PGM, PPM, JPEG, WebP, BMP and TIFF.

Intensities in memory range from 0 to 255. The values of 8-bit images stay uint8. The
values of 16-bit images are divided by 257 and become float32.
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
"""File extensions of images."""

_NUMPY = (b"\x93NUMPY", b"PK")
"""First bytes of npy and npz files."""

_PFM = (b"Pf", b"PF")
_NETPBM = (b"P2", b"P3", b"P5", b"P6")
"""First bytes of PGM and PPM files."""

_LARGEST: Mapping[np.dtype[Any], int] = {np.dtype(np.uint8): 255, np.dtype(np.uint16): 65535}
"""Maximum values of 8-bit and 16-bit images."""


@checked()
def read_image(path: PathLike, *, masked: bool = False, upright: bool = False) -> Image:
    """Read an image file as intensities from 0 to 255.

    Parameters
    ----------
    path : path-like
        A PNG, PGM, PPM, JPEG, WebP, BMP or TIFF file with 8 or 16 bits per channel.
        Colour profiles are ignored. PFM, npy and float TIFF files are also allowed.
        Their values must range from 0 to 255, or be NaN at pixels without data.
    masked : bool
        Whether to mask transparent pixels, and pixels with the nodata value of a TIFF
        file.
    upright : bool
        Whether to turn the image by its EXIF orientation, as image viewers do. Ground
        truth usually belongs to the image that is not turned.

    Returns
    -------
    ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities from 0 to 255, with channels in the order red, green, blue. Images
        with the maximum value 255 stay uint8. All other images become float32. For
        example, 16-bit values are divided by 257. Values of PFM, npy and float TIFF
        files are not scaled. The result is a masked array if `masked` is True and a
        pixel has no data.

    Raises
    ------
    DataError
        The file does not exist or is damaged. The file is not an image.
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
    """Convert the stored values of an image to intensities from 0 to 255.

    Parameters
    ----------
    samples : ndarray
        Stored values of the image file.
    largest : int
        Maximum value of the file format, such as 65535, or 0. If the maximum is 0, the
        values are not scaled, and pixels without data become NaN.
    valid : ndarray, bool, (rows, columns), or None
        True at pixels with data. None means that all pixels have data.
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
    """Repeat a mask for each channel of a colour image."""
    return mask if image.ndim == 2 else np.repeat(mask[..., None], 3, axis=2)


def _in_orientation(path: PathLike, image: Any, *, upright: bool) -> Any:
    """Turn an image by its EXIF orientation if `upright` is True.

    For files that are not upright, a warning reports whether the image was turned.
    """
    orientation = orientation_of(path)
    if orientation == UPRIGHT:
        return image
    if not upright:
        _warn_once(
            f"{path}: image viewers turn this image (EXIF orientation {orientation}), but it was "
            "read as it is stored, without turning it; 'match' and 'choose' turn photographs "
            "upright, and so does 'upright: true' in a scene.yaml"
        )
        return image
    turned = turned_upright(image, orientation)
    rows, columns = turned.shape[:2]
    _warn_once(
        f"{path}: the image was turned upright because of its EXIF orientation {orientation}, "
        f"and now has {columns}x{rows} pixels; masks, disparity maps and calibrations must "
        "belong to the upright image"
    )
    return turned


@functools.lru_cache(maxsize=64)
def _warn_once(message: str) -> None:
    """Issue a warning unless the same warning was issued recently.

    The command line reads each image twice, but should warn only once.
    """
    warn([message])


def _stored_samples(path: PathLike, *, exact: bool = False) -> tuple[Samples, int, Mask | None]:
    """Read the values of an image file without scaling them.

    Parameters
    ----------
    path : path-like
        Path of the image file.
    exact : bool
        Whether to raise an error for files with lossy compression.

    Returns
    -------
    samples : ndarray, (rows, columns) or (rows, columns, 3) RGB
        Stored values, of any numeric type.
    largest : int
        Maximum value of the file format, such as 65535. For floats and signed integers,
        the maximum is 0.
    valid : ndarray, bool, (rows, columns), or None
        True at pixels with data. None means that all pixels have data.
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
    """Raise an error if the shape of an array is not (rows, columns[, 3])."""
    if samples.ndim not in (2, 3) or samples.shape[2:] not in ((), (3,)) or 0 in samples.shape:
        message = f"{path}: the array has shape {samples.shape}; an image has (rows, columns[, 3])"
        raise DataError(message)


def _decoded_samples(data: bytes, path: PathLike) -> tuple[Samples, int, Mask | None]:
    """Decode an image file like `_stored_samples`, with the alpha channel as a mask."""
    decoded, damage = decode(data, path)
    if damage:
        _warn_of_damage(damage, path)
    valid = None
    if decoded.shape[2:] == (4,) and has_alpha(data):
        valid = decoded[..., 3] > 0
    samples = decoded
    if decoded.ndim == 3:
        is_grey = is_grey_png_with_alpha(data)
        # OpenCV returns the channels in the order blue, green, red.
        colours = decoded[..., 0] if is_grey else decoded[..., 2::-1]
        samples = np.ascontiguousarray(colours)
    return samples, int(np.iinfo(samples.dtype).max), valid


def _warn_of_damage(damage: list[str], path: PathLike) -> None:
    """Warn about a damaged JPEG, which may have wrong pixels."""
    message = (
        f"{path}: the file is damaged, and pixels may be wrong ({'; '.join(damage)}); replace the "
        "file by an undamaged copy"
    )
    report_damage(message)
    _warn_once(message)


@checked()
def read_grey(path: PathLike) -> Samples:
    """Read the grey values of a picture without scaling them.

    Parameters
    ----------
    path : path-like
        A grey picture, or a colour picture with equal channels.

    Returns
    -------
    ndarray, uint8 or uint16, (rows, columns)
        Stored grey values.

    Raises
    ------
    DataError
        The file is not a readable image. The colour channels differ. The file has lossy
        compression, such as JPEG.
    """
    samples, _ = stored_grey(path)
    if samples.dtype not in (np.uint8, np.uint16):
        message = f"{path}: the file has {samples.dtype} samples; expected 8 or 16 bits"
        raise DataError(message)
    return samples


def stored_grey(path: PathLike) -> tuple[Samples, Mask | None]:
    """Read the stored values of an image file with one value per pixel.

    Returns
    -------
    samples : ndarray, (rows, columns)
        Stored values. Pictures have values of type uint8 or uint16. TIFF files can have
        any integers or floats.
    valid : ndarray, bool, (rows, columns), or None
        True at pixels with data. None means that all pixels have data.

    Raises
    ------
    DataError
        The file is not a readable image. The colour channels differ. The file has lossy
        compression, such as JPEG.
    """
    samples, _, valid = _stored_samples(path, exact=True)
    if samples.ndim == 3:
        if (samples != samples[..., :1]).any():
            raise DataError(f"{path}: {_message_of_channels(samples)}")
        samples = np.ascontiguousarray(samples[..., 0])
    return samples, valid


def _message_of_channels(samples: Samples) -> str:
    """Return an error message for an image with different channels."""
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
    """Read a mask from a picture. White pixels are True.

    Parameters
    ----------
    path : path-like
        A grey picture, or a colour picture with equal channels.
    upright : bool
        Whether to turn the mask by its EXIF orientation.

    Returns
    -------
    ndarray, bool, (rows, columns)
        True at white pixels. White is 255 with 8 bits and 65535 with 16 bits.

    Raises
    ------
    DataError
        The file is not a readable image. The colour channels differ. The file has lossy
        compression, such as JPEG.
    """
    samples = read_grey(path)
    mask: Mask = samples == np.iinfo(samples.dtype).max
    return turned_upright(mask, orientation_of(path)) if upright else mask


@checked()
def write_image(path: PathLike, array: NDArray, valid: Mask | None = None) -> None:
    """Write an image to a file.

    Parameters
    ----------
    path : path-like
        Path of the file to write. The extension selects the format: ``.png``, ``.pgm``
        (grey), ``.ppm`` (colour), ``.jpg``, ``.bmp`` or ``.tif``.
    array : ndarray, (rows, columns) or (rows, columns, 3) RGB
        Image to write. The types uint8 and uint16 are written unchanged. False becomes
        0, and True becomes 255. Floats are clipped to 0..255 and rounded.
    valid : ndarray, bool, (rows, columns), optional
        True at pixels with data. Pixels without data become transparent. Only 8-bit PNG
        files allow this argument.

    Raises
    ------
    DataError
        The file extension is not supported. The array is not an image or contains NaN.
        `valid` is given, but the file is no PNG file or the image has 16 bits. The file
        cannot be written.
    """
    samples = _samples_to_write(path, np.asarray(array))
    suffix = Path(path).suffix.lower()
    _check_format(path, suffix, samples)
    if valid is not None:
        if suffix != ".png" or samples.dtype != np.uint8:
            message = (
                f"{path}: the pixels without data need an 8-bit image in a .png file; the image "
                f"has {8 * samples.dtype.itemsize} bits, and the file extension is {suffix!r}"
            )
            raise DataError(message)
        _write_with_alpha(path, np.dstack([samples, valid * np.uint8(255)]))
        return
    write_bytes(path, _encode(suffix, samples))


def _samples_to_write(path: PathLike, array: NDArray[Any]) -> NDArray[Any]:
    """Check an image and convert the values to uint8 or uint16."""
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
    """Raise an error if the file format cannot store an image.

    For example, a ``.pgm`` file cannot store a colour image.
    """
    if suffix not in (".png", ".pgm", ".ppm", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"):
        message = (
            f"{path}: an image cannot be written with the file extension {suffix!r}; allowed: "
            ".png, .pgm, .ppm, .jpg, .bmp, .tif"
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
    """Write an image with an alpha channel to a PNG file."""
    # OpenCV cannot write a grey image with an alpha channel, but Pillow can.
    import PIL.Image

    buffer = io.BytesIO()
    PIL.Image.fromarray(samples).save(buffer, "PNG")
    write_bytes(path, buffer.getvalue())


def encode_png(array: NDArray) -> bytes:
    """Return an image as the bytes of a PNG file.

    Parameters
    ----------
    array : ndarray, uint8 or uint16, (rows, columns) or (rows, columns, 3) RGB
        Image to encode.
    """
    return _encode(".png", array)


def _encode(suffix: str, samples: NDArray[Any]) -> bytes:
    """Return an image as the bytes of a file with an extension such as ``.png``."""
    import cv2

    # The channel order of OpenCV is blue, green, red.
    opencv_samples = samples[..., ::-1] if samples.ndim == 3 else samples
    return cv2.imencode(suffix, opencv_samples)[1].tobytes()
