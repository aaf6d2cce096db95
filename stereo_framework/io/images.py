"""Images: PGM, PPM and PNG with 8 and 16 bits; JPEG, BMP and TIFF because users have them.

Intensities are 0..255 throughout: 8-bit files stay uint8, 16-bit files are divided by 257 into float32. Files of numbers, PFM, npy and TIFF of floats or
signed integers, hold them as they stand.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework import limits
from stereo_framework.errors import DataError
from stereo_framework.io._files import PathLike, read_bytes, write_bytes
from stereo_framework.io.netpbm import decode_netpbm
from stereo_framework.io.numpy_files import read_numpy
from stereo_framework.io.opencv_images import decode
from stereo_framework.io.pfm import read_pfm
from stereo_framework.io.tiff import holds_floats, is_tiff, read_tiff, read_valid
from stereo_framework.scene import Image, Mask

Samples = NDArray[Any]  # uint8 or uint16

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8"
_GREY_AND_ALPHA = 4
"""A colour type of PNG files, which OpenCV decodes to colour and alpha."""
_NUMBERS = (b"Pf", b"PF", b"\x93NUMPY", b"PK")
"""How PFM and numpy files begin."""
_FORMATS = "PNG, PGM, PPM, JPEG, BMP or TIFF"


def read_image(path: PathLike) -> Image:
    """Read an image file.

    Parameters
    ----------
    path : path-like
        PNG, PGM, PPM, JPEG, BMP or TIFF with 8 or 16 bits a sample. Palettes are decoded, an alpha channel is dropped (`read_alpha` reads
        it), orientation tags and colour profiles are ignored. Or intensities 0..255 as numbers, PFM, npy or TIFF of floats or signed integers, in which
        NaN, and in TIFF the value that GDAL's nodata tag says, = no data.

    Returns
    -------
    ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255, RGB order. uint8 for files whose largest value is 255, else float32: the stored value times
        255 / largest, which for 16 bits is a division by 257.

    Raises
    ------
    DataError
        The file is missing, unreadable, truncated, damaged or no image.
    """
    return _image(path, mapped=False)


def map_image(path: PathLike) -> Image:
    """As `read_image`, but a TIFF file without compression stays in the file until it is looked at: for large images that nobody writes meanwhile."""
    return _image(path, mapped=True)


def _image(path: PathLike, *, mapped: bool) -> Image:
    if is_tiff(path):
        return _intensities(*read_tiff(path, mapped=mapped))
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
    """Those of a TIFF file: 16 bits divided by 257, other numbers as they stand, with NaN where there is no data."""
    if samples.dtype == np.uint8:
        return samples
    if samples.dtype == np.uint16:
        # The same float32 numbers as those of a quotient in float64, in half the memory.
        return np.divide(samples, np.float32(257), dtype=np.float32)
    with np.errstate(over="ignore"):
        numbers = samples.astype(np.float32, copy=False)
    if valid is not None:
        numbers = np.where(valid if numbers.ndim == 2 else valid[..., None], numbers, np.float32(np.nan))
    return numbers


def read_alpha(path: PathLike) -> Mask | None:
    """The pixels of an image file that its alpha channel does not make fully transparent, bool ``(rows, columns)``; of a TIFF, those that GDAL's
    nodata tag does not mark either.

    Returns
    -------
    ndarray or None
        None for a file without an alpha channel and without that tag.

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
    """Sample values as stored, ``(rows, columns)`` or ``(rows, columns, 3)`` RGB, and the largest that the format allows.

    That is 255 or 65535, or what the header of a PGM or PPM says.
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
    """Grey values as stored, of a grey picture or of one in colour whose channels are all equal (a palette of greys).

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
    """A mask picture as bool ``(rows, columns)``: True where it is white (255, or 65535 with 16 bits), False elsewhere.

    Raises
    ------
    DataError
        As in `read_grey`.
    """
    samples = read_grey(path)
    return samples == np.iinfo(samples.dtype).max


def _checked(data: bytes, path: PathLike) -> bytes:
    """An image file whose size is known and may be read, without what its pixels do not need.

    Raises
    ------
    DataError
        The size is above the limit, or more than so few bytes can hold; or it is of a kind whose size nobody here knows.
    """
    if data.startswith(_PNG):
        return _critical_chunks(data, path)
    if data.startswith(_JPEG):
        _check_jpeg(data, path)
        return data
    try:
        for columns, rows in _sizes(data, path):
            limits.check_pixels(columns, rows, path)
    except struct.error:
        raise DataError(f"{path}: is damaged, truncated or not an image; expected {_FORMATS}") from None
    return data


def _sizes(data: bytes, path: PathLike) -> Iterator[tuple[int, int]]:
    """Columns and rows that the header of a BMP or WebP file says."""
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
    """A PNG file checked for completeness and reduced to what its pixels need.

    Decoders differ in what they do about a file that ends early (some fill with zeros) and print warnings about colour
    profiles; neither can happen to the result. Without tRNS, palettes decode to colour alone.
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
            # Checked before memory is taken for the pixels: a byte of compressed data makes 1032 at most.
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
    """Raise DataError for a JPEG that decoders would fill up with grey."""
    if data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda"):
        raise DataError(f"{path}: is truncated: the JPEG has no end marker")
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        kind, size, _, rows, columns = struct.unpack_from(">BHBHH", data, at + 1)
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):  # a start of frame, not a table
            # A block of 8x8 pixels takes one bit at least.
            if rows * columns > 64 * 8 * len(data):
                raise DataError(f"{path}: is truncated: {columns}x{rows} pixels cannot come from {len(data)} bytes")
            limits.check_pixels(columns, rows, path)
            return
        at += 2 + size


ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".pfm", ".npy")
"""Of the files that images are looked for in, where a folder is given."""


def write_image(path: PathLike, array: NDArray, valid: Mask | None = None) -> None:
    """Write an image in the format that the file name's ending says.

    Parameters
    ----------
    path : path-like
        ``.png``, ``.pgm`` (grey), ``.ppm`` (colour), ``.jpg``, ``.bmp`` or ``.tif``.
    array : ndarray, (rows, columns) or (rows, columns, 3) RGB
        uint8 or uint16 as is; bool as 0 and 255; floats 0..255 rounded and clipped to 8 bits.
    valid : ndarray, bool, (rows, columns), optional
        What holds data; the rest becomes transparent. PNG alone.

    Raises
    ------
    DataError
        An unknown ending, an array that is no image, NaN, or a folder that does not exist.
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
    if suffix in (".pgm", ".ppm"):
        if (suffix == ".ppm") != (array.ndim == 3):
            raise DataError(f"{path}: {suffix} holds {'grey' if array.ndim == 3 else 'colour'} only; use .png, .pgm or .ppm")
        kind, largest = ("P5", "P6")[array.ndim == 3], np.iinfo(array.dtype).max
        header = f"{kind}\n{array.shape[1]} {array.shape[0]}\n{largest}\n".encode()
        write_bytes(path, header + array.astype(array.dtype.newbyteorder(">")).tobytes())
    elif suffix in (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"):
        if array.dtype == np.uint16 and suffix not in (".png", ".tif", ".tiff"):
            raise DataError(f"{path}: {suffix} holds 8 bits; use .png, .tif, .pgm or .ppm for 16")
        write_bytes(path, _encode_grey_and_alpha(array) if array.shape[2:] == (2,) else _encode(suffix, array))
    else:
        raise DataError(f"{path}: unknown ending {suffix!r}; legal: .png, .pgm, .ppm, .jpg, .bmp, .tif")


def read_float_tiff(path: PathLike) -> NDArray[np.float32] | None:
    """The map in a TIFF file of floats, float32 ``(rows, columns[, channels])``, NaN where there is no data; None where the file holds something else."""
    return _intensities(*read_tiff(path)) if is_tiff(path) and holds_floats(path) else None  # type: ignore[return-value]


def encode_png(array: NDArray) -> bytes:
    """An image, uint8 or uint16 (rows, columns) or (rows, columns, 3) RGB, as the bytes of a PNG file."""
    return _encode(".png", array)


def encode_jpeg(array: NDArray) -> bytes:
    """An image, uint8 (rows, columns) or (rows, columns, 3) RGB, as the bytes of a JPEG file, for people to look at."""
    import cv2

    return _encode(".jpg", array, [cv2.IMWRITE_JPEG_QUALITY, 85])


def _encode_grey_and_alpha(array: NDArray) -> bytes:
    """A PNG file of a kind that OpenCV does not write; `array` is uint8 or uint16 (rows, columns, 2). https://www.w3.org/TR/png-3"""
    rows, columns = array.shape[:2]
    samples = array.astype(array.dtype.newbyteorder(">")).reshape(rows, -1).view(np.uint8)
    unfiltered = np.zeros((rows, 1), np.uint8)
    header = struct.pack(">IIBBBBB", columns, rows, 8 * array.itemsize, _GREY_AND_ALPHA, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(np.hstack([unfiltered, samples]).tobytes())), (b"IEND", b"")
    return _PNG + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _encode(suffix: str, array: NDArray, options: Sequence[int] = ()) -> bytes:
    import cv2

    # In OpenCV's order.
    turned = array[..., [2, 1, 0, 3][: array.shape[2]]] if array.ndim == 3 else array
    return cv2.imencode(suffix, turned, options)[1].tobytes()
