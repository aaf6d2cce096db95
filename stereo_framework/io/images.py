"""Image files: PGM, PPM and PNG with 8 and 16 bits; also JPEG, BMP and TIFF, because users have them.

Intensities are 0..255 throughout: 8-bit files stay uint8, 16-bit files are divided by 257 into float32. Files of numbers, which are PFM, npy
and TIFF of floats or signed integers, hold intensities as they are.
"""

from __future__ import annotations

import functools
import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, warn
from stereo_framework.core.scene import Image, Mask
from stereo_framework.io._files import PathLike, read_bytes, write_bytes
from stereo_framework.io.netpbm import decode_netpbm
from stereo_framework.io.numpy_files import read_numpy
from stereo_framework.io.opencv_images import decode
from stereo_framework.io.pfm import read_pfm
from stereo_framework.io.readers import own_read
from stereo_framework.io.tiff import is_tiff, read_tiff, read_valid

Samples = NDArray[Any]  # uint8 or uint16

_PNG = b"\x89PNG\r\n\x1a\n"
_ORIENTATION = 0x0112
"""Tag of the EXIF header."""

_JPEG = b"\xff\xd8"
_GREY_AND_ALPHA = 4
"""The colour type of PNG files with grey and alpha, which OpenCV decodes to colour and alpha."""
_NUMBERS = (b"Pf", b"PF", b"\x93NUMPY", b"PK")
"""The beginnings of PFM and numpy files."""
_FORMATS = "PNG, PGM, PPM, JPEG, BMP or TIFF"


def read_image(path: PathLike) -> Image:
    """Read an image file.

    Parameters
    ----------
    path : path-like
        PNG, PGM, PPM, JPEG, BMP or TIFF with 8 or 16 bits a sample. Palettes are decoded, an alpha channel is dropped (`read_alpha` reads
        it), and orientation tags and colour profiles are ignored. Or a file of numbers with intensities 0..255: PFM, npy, or TIFF of floats or signed
        integers, in which NaN, and in a TIFF the value of GDAL's nodata tag, means no data.

    Returns
    -------
    ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255, RGB order. uint8 for files whose largest value is 255, else float32: the stored value times
        255 / largest, which for 16 bits is a division by 257.

    Raises
    ------
    DataError
        The file is missing, unreadable, truncated, damaged or not an image.
    """
    if (own := own_read(path, "image")) is not None:
        return own if own.dtype == np.uint8 else own.astype(np.float32)
    if is_tiff(path):
        return _intensities(*read_tiff(path))
    data = read_bytes(path)
    if data.startswith(_NUMBERS):
        values = read_pfm(path) if data[:1] == b"P" and data[1:2] in b"fF" else read_numpy(path)
        if values.ndim not in (2, 3) or values.shape[2:] not in ((), (3,)) or 0 in values.shape:
            raise DataError(f"{path}: has shape {values.shape}; an image is (rows, columns[, 3])")
        return values
    samples, largest = _samples(data, path)
    if largest == 255:
        return samples
    return (samples / (largest / 255)).astype(np.float32)


def _intensities(samples: NDArray[Any], valid: Mask | None) -> Image:
    """The intensities of a TIFF file: 16-bit samples divided by 257, other numbers as they are, with NaN where there is no data."""
    if samples.dtype == np.uint8:
        return samples
    if samples.dtype == np.uint16:
        # This gives the same float32 numbers as a division in float64, with half the memory.
        return np.divide(samples, np.float32(257), dtype=np.float32)
    with np.errstate(over="ignore"):
        numbers = samples.astype(np.float32, copy=False)
    if valid is not None:
        numbers = np.where(valid if numbers.ndim == 2 else valid[..., None], numbers, np.float32(np.nan))
    return numbers


def read_alpha(path: PathLike) -> Mask | None:
    """The pixels of an image file that hold data, bool ``(rows, columns)``: those that the alpha channel does not make fully transparent and that, in a
    TIFF, GDAL's nodata tag does not mark.

    Returns
    -------
    ndarray or None
        None for a file that has neither an alpha channel nor that tag.

    Raises
    ------
    DataError
        As in `read_image`.
    """
    if is_tiff(path):
        return read_valid(path)
    data = read_bytes(path)
    if not data.startswith(_PNG):
        return None
    _checked(data, path)
    samples = decode(data, path)
    return samples[..., 3] > 0 if samples is not None and samples.ndim == 3 and samples.shape[2] == 4 else None


def _samples(data: bytes, path: PathLike) -> tuple[Samples, int]:
    """Sample values as stored, ``(rows, columns)`` or ``(rows, columns, 3)`` RGB, and the largest value that the format allows.

    The latter is 255 or 65535, or the value in the header of a PGM or PPM file.
    """
    if data[:1] == b"P" and data[1:2] in b"2356":
        return decode_netpbm(data, path)
    samples = decode(_checked(data, path), path)
    if samples is None:
        raise DataError(f"{path}: is damaged, truncated or not an image; expected {_FORMATS}")
    if samples.dtype not in (np.uint8, np.uint16):
        raise DataError(f"{path}: holds {samples.dtype} samples; expected 8 or 16 bits")
    if samples.ndim == 3:
        if samples.shape[2] not in (3, 4):
            raise DataError(f"{path}: has {samples.shape[2]} channels; expected grey or RGB")
        grey = data.startswith(_PNG) and data[25] == _GREY_AND_ALPHA
        samples = np.ascontiguousarray(samples[..., 0] if grey else samples[..., 2::-1])
    return samples, int(np.iinfo(samples.dtype).max)


def read_grey(path: PathLike) -> Samples:
    """The stored grey values of a grey picture, or of a picture in colour whose channels are all equal (a palette of greys).

    Returns
    -------
    ndarray, uint8 or uint16, (rows, columns)

    Raises
    ------
    DataError
        As in `read_image`, and for a picture in colour or a JPEG, whose compression changes values.
    """
    if is_tiff(path):
        samples, _ = read_tiff(path)
        if samples.dtype not in (np.uint8, np.uint16):
            raise DataError(f"{path}: holds {samples.dtype} samples; expected 8 or 16 bits")
    else:
        data = read_bytes(path)
        if data.startswith(_JPEG):
            raise DataError(f"{path}: is a JPEG, whose compression changes values: they cannot be recovered; expected PNG or PGM")
        samples, _ = _samples(data, path)
    if samples.ndim == 3:
        if (samples != samples[..., :1]).any():
            raise DataError(
                f"{path}: is in colour: it looks like a colour-mapped picture, whose values cannot be recovered; expected grey"
            )
        samples = np.ascontiguousarray(samples[..., 0])
    return samples


def read_mask(path: PathLike) -> Mask:
    """Read a mask picture as bool ``(rows, columns)``: True where it is white (255, or 65535 with 16 bits), False elsewhere.

    Raises
    ------
    DataError
        As in `read_grey`.
    """
    samples = read_grey(path)
    return samples == np.iinfo(samples.dtype).max


def _checked(data: bytes, path: PathLike) -> bytes:
    """The bytes of an image file, checked so that it may be decoded, and without parts that its pixels do not need.

    Raises
    ------
    DataError
        The image is larger than the limit, or than so few bytes can hold, or the size of this kind of file is not known.
    """
    if data.startswith(_PNG):
        return _critical_chunks(data, path)
    if data.startswith(_JPEG):
        _check_jpeg(data, path)
        _tell_turned(data, path)
        return data
    if data[4:8] == b"ftyp":
        raise DataError(f"{path}: is HEIC or AVIF, which is not read; save it as PNG or JPEG, in its full size")
    try:
        for columns, rows in _sizes(data, path):
            limits.check_pixels(columns, rows, path)
    except struct.error:
        raise DataError(f"{path}: is damaged, truncated or not an image; expected {_FORMATS}") from None
    return data


def _tell_turned(data: bytes, path: PathLike) -> None:
    """Warn of a photograph that cameras store lying and programs show upright: rows of a pair are those of the stored images."""
    if b"Exif" in data[:4096]:
        import PIL.Image

        try:
            turned = PIL.Image.open(io.BytesIO(data)).getexif().get(_ORIENTATION, 1)
        except Exception:  # of a damaged header; OpenCV reads the pixels without it
            return
        if turned != 1:
            _tell_once(
                f"{path}: is stored in another orientation than it is shown in (EXIF orientation {turned}), and read as it is stored"
            )


@functools.lru_cache(maxsize=64)
def _tell_once(text: str) -> None:
    # A pair is read to be looked at, and again to be matched.
    warn([text])


def _sizes(data: bytes, path: PathLike) -> Iterator[tuple[int, int]]:
    """The columns and rows that the header of a BMP or WebP file states."""
    if data.startswith(b"BM"):
        columns, rows, _, bits, compression = struct.unpack_from("<iiHHI", data, 18)
        columns, rows = abs(columns), abs(rows)
        yield columns, rows
        if compression == 0 and columns * rows * bits > 8 * len(data):
            raise DataError(f"{path}: is truncated: {columns}x{rows} pixels cannot come from {len(data)} bytes")
    elif data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        # https://developers.google.com/speed/webp/docs/riff_container
        if data[12:16] == b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            yield (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        elif data[12:16] == b"VP8 ":
            columns, rows = struct.unpack_from("<HH", data, 26)
            yield columns & 0x3FFF, rows & 0x3FFF
        else:
            columns, rows = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
            yield columns, rows
    else:
        raise struct.error("another kind")


def _critical_chunks(data: bytes, path: PathLike) -> bytes:
    """A PNG file, checked for completeness and reduced to the parts that its pixels need.

    Decoders differ in how they treat a file that ends early (some fill up with zeros), and they print warnings about colour profiles. Neither can
    happen with the result. Without a tRNS chunk, palettes decode to colours without alpha.
    """
    kept = [_PNG]
    at = len(_PNG)
    while at + 12 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        kind, end = data[at + 4 : at + 8], at + 12 + size
        if end > len(data):
            break
        if struct.unpack_from(">I", data, end - 4)[0] != zlib.crc32(data[at + 4 : end - 4]):
            raise DataError(f"{path}: is damaged: a checksum in the PNG does not match")
        if kind == b"IHDR" and size == 13:
            columns, rows, depth = struct.unpack_from(">IIB", data, at + 8)
            # Checked before memory is allocated for the pixels: a byte of compressed data expands to 1032 bytes at most.
            if rows * columns * depth > 8 * 1032 * len(data):
                raise DataError(f"{path}: is truncated: {columns}x{rows} pixels cannot come from {len(data)} bytes")
            limits.check_pixels(columns, rows, path)
        if kind in (b"IHDR", b"PLTE", b"IDAT", b"IEND"):
            kept.append(data[at:end])
        if kind == b"IEND":
            return b"".join(kept)
        at = end
    raise DataError(f"{path}: is truncated: the PNG ends early after {len(data)} bytes")


def _check_jpeg(data: bytes, path: PathLike) -> None:
    """Raise DataError for a truncated JPEG, which decoders would fill up with grey."""
    if data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda"):
        raise DataError(f"{path}: is truncated: the JPEG has no end marker")
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        kind, size, _, rows, columns = struct.unpack_from(">BHBHH", data, at + 1)
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):  # a start of frame, not a table
            # A block of 8x8 pixels takes at least one bit.
            if rows * columns > 64 * 8 * len(data):
                raise DataError(f"{path}: is truncated: {columns}x{rows} pixels cannot come from {len(data)} bytes")
            limits.check_pixels(columns, rows, path)
            return
        at += 2 + size


ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".pfm", ".npy")
"""Endings of the files that count as images when a folder is given."""


def write_image(path: PathLike, array: NDArray, valid: Mask | None = None) -> None:
    """Write an image in the format of the file name's ending.

    Parameters
    ----------
    path : path-like
        ``.png``, ``.pgm`` (grey), ``.ppm`` (colour), ``.jpg``, ``.bmp`` or ``.tif``.
    array : ndarray, (rows, columns) or (rows, columns, 3) RGB
        uint8 and uint16 are written as they are, bool as 0 and 255, and floats 0..255 are rounded and clipped to 8 bits.
    valid : ndarray, bool, (rows, columns), optional
        The pixels that hold data; all others become transparent. For PNG only.

    Raises
    ------
    DataError
        The ending is unknown, the array is not an image or contains NaN, or the file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    array = np.asarray(array)
    if array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,)) or array.size == 0:
        raise DataError(f"{path}: an array of shape {array.shape} is not an image; expected (rows, columns[, 3])")
    if array.dtype == bool:
        array = array * np.uint8(255)
    elif np.issubdtype(array.dtype, np.floating):
        if np.isnan(array).any():
            raise DataError(f"{path}: the image contains NaN")
        array = np.rint(np.clip(array, 0, 255)).astype(np.uint8)
    if array.dtype not in (np.uint8, np.uint16):
        raise DataError(f"{path}: samples are {array.dtype}; expected uint8, uint16, bool or floats 0..255")
    if valid is not None:
        if suffix != ".png":
            raise DataError(f"{path}: {suffix} files without data in places; use .png")
        array = np.dstack([array, valid * array.dtype.type(np.iinfo(array.dtype).max)])
    if suffix not in (".png", ".pgm", ".ppm", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"):
        raise DataError(f"{path}: unknown ending {suffix!r}; legal: .png, .pgm, .ppm, .jpg, .bmp, .tif")
    if suffix in (".pgm", ".ppm") and (suffix == ".ppm") != (array.ndim == 3):
        raise DataError(f"{path}: {suffix} holds {'grey' if array.ndim == 3 else 'colour'} only; use .png, .pgm or .ppm")
    if array.dtype == np.uint16 and suffix in (".jpg", ".jpeg", ".bmp"):
        raise DataError(f"{path}: {suffix} holds 8 bits; use .png, .tif, .pgm or .ppm for 16")
    write_bytes(path, _encode_grey_and_alpha(array) if array.shape[2:] == (2,) else _encode(suffix, array))


def encode_png(array: NDArray) -> bytes:
    """An image, uint8 or uint16 (rows, columns) or (rows, columns, 3) RGB, as the bytes of a PNG file."""
    return _encode(".png", array)


def _encode_grey_and_alpha(array: NDArray) -> bytes:
    """The bytes of a PNG file with grey and alpha, which OpenCV does not write; `array` is uint8 or uint16 (rows, columns, 2). https://www.w3.org/TR/png-3"""
    rows, columns = array.shape[:2]
    samples = array.astype(array.dtype.newbyteorder(">")).reshape(rows, -1).view(np.uint8)
    unfiltered = np.zeros((rows, 1), np.uint8)
    header = struct.pack(">IIBBBBB", columns, rows, 8 * array.itemsize, _GREY_AND_ALPHA, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(np.hstack([unfiltered, samples]).tobytes())), (b"IEND", b"")
    return _PNG + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _encode(suffix: str, array: NDArray) -> bytes:
    import cv2

    # In OpenCV's order.
    turned = array[..., [2, 1, 0, 3][: array.shape[2]]] if array.ndim == 3 else array
    return cv2.imencode(suffix, turned)[1].tobytes()
