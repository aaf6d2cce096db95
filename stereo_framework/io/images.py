"""Image files: PGM, PPM and PNG with 8 and 16 bits; also JPEG, WebP, BMP and TIFF, because users have them.

Intensities are 0..255 throughout: 8-bit files stay uint8, 16-bit files are divided by 257 into float32. Files of numbers, which are PFM, npy
and TIFF of floats or signed integers, hold intensities as they are.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import struct
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError, warn
from stereo_framework.core.file_damage import report_damage
from stereo_framework.core.scene import Image, Mask
from stereo_framework.io._files import PathLike, own_read, read_bytes, write_bytes
from stereo_framework.io.file_kinds import known_kind
from stereo_framework.io.orientation import UPRIGHT, orientation_of, turned_upright
from stereo_framework.io.raw import decode_netpbm, read_numpy, read_pfm
from stereo_framework.io.tiff import is_tiff, read_tiff

Samples = NDArray[Any]  # uint8 or uint16

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8"
_NUMPY = (b"\x93NUMPY", b"PK")
_GREY_AND_ALPHA = 4
"""The colour type of PNG files with grey and alpha, which OpenCV decodes to colour and alpha."""
_NO_IMAGE = (
    "may be damaged, truncated or not an image; expected PNG, PGM, PPM, JPEG, WebP, BMP, TIFF, PFM or npy; "
    "replace it by an undamaged copy, or convert it to one of these formats"
)
_WEBP = re.compile(rb"RIFF....WEBP(.{4})?", re.DOTALL)
_LOSSLESS_WEBP = b"VP8L"
_EXTENDED_WEBP = b"VP8X"
_ANIMATION_FLAG = 0x02
"""Bit of the flags of an extended WebP file."""
_SIGNATURE_OF_LOSSY_FRAME = b"\x9d\x01\x2a"

_PROGRESSIVE_FRAME = 0xC2
_START_OF_SCAN = 0xDA
"""Markers of JPEG files."""
_STDERR = 2
"""File descriptor of the error stream."""
_LIBJPEG_WARNINGS = (
    b"Corrupt JPEG data",
    b"Premature end of JPEG file",
    b"Inconsistent progression sequence",
    b"Invalid SOS parameters",
    b"Unknown Adobe color transform code",
    b"Warning: unknown JFIF revision number",
)
"""Beginnings of libjpeg's warnings. It prints the first warning of a file only, so that a harmless one may hide damage."""

_decoding = threading.Lock()


@checked()
def read_image(path: PathLike, *, masked: bool = False, upright: bool = False) -> Image:
    """Read an image file.

    Parameters
    ----------
    path : path-like
        PNG, PGM, PPM, JPEG, WebP, BMP or TIFF with 8 or 16 bits a sample. Palettes are decoded, and colour profiles are ignored. Or a
        file of numbers with intensities 0..255: PFM, npy, or TIFF of floats or signed integers, in which NaN means no data.
    masked : bool
        Whether pixels that hold no data are masked: those that an alpha channel makes fully transparent, and those that have the value of a TIFF's nodata tag.
    upright : bool
        Whether the image is turned by its EXIF orientation, as programs show it. Otherwise it is read as it is stored, which is right for images whose
        ground truth belongs to the stored pixels.

    Returns
    -------
    ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255, RGB order. uint8 for files whose largest value is 255, else float32: the stored value times
        255 / largest, which for 16 bits is a division by 257. A masked array where it was asked for and something is masked.

    Raises
    ------
    DataError
        The file is missing, unreadable, truncated, damaged or not an image.
    """
    image: Any = own_read(path, "image")
    valid: Mask | None = None
    if image is None:
        image, largest, valid = _stored(path)
        if largest not in (0, 255):
            image = image / (largest / 255)
        elif valid is not None and not largest:
            image = np.where(valid if image.ndim == 2 else valid[..., None], image, np.nan)
    if image.dtype != np.uint8:
        with np.errstate(over="ignore"):
            image = image.astype(np.float32, copy=False)
    if masked and valid is not None and not valid.all():
        image = np.ma.masked_array(
            image, ~valid if image.ndim == 2 else np.repeat(~valid[..., None], 3, axis=2)
        )
    return _in_orientation(path, image, upright=upright)


def _in_orientation(path: PathLike, image: Any, *, upright: bool) -> Any:
    """Return an image upright or as it is stored, and warn if these differ."""
    orientation = orientation_of(path)
    if orientation == UPRIGHT:
        return image
    if not upright:
        _tell_once(
            f"{path}: is stored in another orientation than it is shown in (EXIF orientation {orientation}), and read as it is stored; "
            "'match' and 'choose' turn photographs upright, as does 'upright: true' in a scene.yaml"
        )
        return image
    turned = turned_upright(image, orientation)
    rows, columns = turned.shape[:2]
    _tell_once(
        f"{path}: was turned upright, to {columns}x{rows} pixels, by its EXIF orientation {orientation}; "
        "masks, maps and calibrations must be those of the upright image"
    )
    return turned


def _stored(path: PathLike, *, exact: bool = False) -> tuple[Samples, int, Mask | None]:
    """Sample values as stored, ``(rows, columns)`` or ``(rows, columns, 3)`` RGB; the largest value that the format allows, where they are of 8 or 16 bits
    without sign: 255 or 65535, or the value in the header of a PGM or PPM file; and the pixels that hold data. `exact` refuses what changes values.
    """
    if is_tiff(path):
        samples, valid = read_tiff(path, exact=exact)
        return (
            samples,
            {np.dtype(np.uint8): 255, np.dtype(np.uint16): 65535}.get(samples.dtype, 0),
            valid,
        )
    data = read_bytes(path)
    if data.startswith((b"Pf", b"PF", *_NUMPY)):
        samples = read_numpy(path, "image") if data.startswith(_NUMPY) else read_pfm(path)
        if samples.ndim not in (2, 3) or samples.shape[2:] not in ((), (3,)) or 0 in samples.shape:
            raise DataError(f"{path}: has shape {samples.shape}; an image is (rows, columns[, 3])")
        return samples, 0, None
    if data[:1] == b"P" and data[1:2] in b"2356":
        return *decode_netpbm(data, path), None
    if exact and data.startswith(_JPEG):
        raise DataError(
            f"{path}: is a JPEG, whose compression changes values: they cannot be recovered; expected PNG or PGM"
        )
    if exact:
        _check_exact_webp(data, path)
    decoded = _decoded(_checked(data, path), path)
    if decoded is None:
        raise DataError(f"{path}: {_NO_IMAGE}")
    # The fourth channel of a BMP is mostly zeros and means nothing.
    has_alpha = data.startswith(_PNG) or _WEBP.match(data) is not None
    valid = decoded[..., 3] > 0 if decoded.shape[2:] == (4,) and has_alpha else None
    if decoded.ndim == 3:
        grey = data.startswith(_PNG) and data[25] == _GREY_AND_ALPHA
        decoded = np.ascontiguousarray(decoded[..., 0] if grey else decoded[..., 2::-1])
    return decoded, int(np.iinfo(decoded.dtype).max), valid


@checked()
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
    samples, _ = stored_grey(path)
    if samples.dtype not in (np.uint8, np.uint16):
        raise DataError(f"{path}: holds {samples.dtype} samples; expected 8 or 16 bits")
    return samples


def stored_grey(path: PathLike) -> tuple[Samples, Mask | None]:
    """What `read_grey` returns, or the floats of a TIFF file; and the pixels that hold data, None where all do."""
    samples, _, valid = _stored(path, exact=True)
    if samples.ndim == 3:
        if (samples != samples[..., :1]).any():
            raise DataError(_message_of_channels(path, samples))
        samples = np.ascontiguousarray(samples[..., 0])
    return samples, valid


def _message_of_channels(path: PathLike, samples: Samples) -> str:
    """Describe a file that holds several different values for each pixel."""
    channels = samples.shape[2]
    if samples.dtype.kind == "f" or samples.dtype.itemsize > 2:
        return (
            f"{path}: holds {channels} bands of {samples.dtype} samples, which differ; expected one band; "
            "write the band that is meant into a file of its own"
        )
    return (
        f"{path}: is in colour, and its {channels} channels differ; expected one grey channel; it may be a colour-mapped picture, "
        "from which values cannot be recovered, or hold values that are coded in several channels; write the values themselves as "
        "PFM or grey PNG, or decode them with a reader of your own ('stages --new NAME --slot reader')"
    )


def _check_exact_webp(data: bytes, path: PathLike) -> None:
    """Refuse a WebP whose compression has changed, or may have changed, its values."""
    kind = _WEBP.match(data)
    # The extended format states the kind of its picture in a later chunk.
    is_lossless = kind is not None and (
        kind[1] == _LOSSLESS_WEBP or _LOSSLESS_WEBP in data[:_WEBP_HEADERS]
    )
    if kind is not None and not is_lossless:
        message = f"{path}: is a WebP whose compression changes values: they cannot be recovered; expected PNG or PGM"
        raise DataError(message)


_WEBP_HEADERS = 64
"""Number of bytes in which the chunks of an extended WebP file without a profile begin."""


@checked()
def read_mask(path: PathLike, *, upright: bool = False) -> Mask:
    """Read a mask picture as bool ``(rows, columns)``: True where it is white (255, or 65535 with 16 bits), False elsewhere.

    `upright` turns it by its own EXIF orientation, as in `read_image`.

    Raises
    ------
    DataError
        As in `read_grey`.
    """
    samples = read_grey(path)
    mask: Mask = samples == np.iinfo(samples.dtype).max
    return turned_upright(mask, orientation_of(path)) if upright else mask


def _decoded(data: bytes, path: PathLike) -> Samples | None:
    """Return the 8 or 16 bit image that OpenCV decodes, in BGR order; None if it decodes none."""
    import cv2

    logging: Any = cv2 if hasattr(cv2, "setLogLevel") else cv2.utils.logging  # OpenCV 4, 5
    is_jpeg = data.startswith(_JPEG)
    with _decoding:
        # Errors are reported in messages of this package instead.
        level = logging.setLogLevel(0)
        try:
            capture: AbstractContextManager[list[str]] = (
                _captured_stderr() if is_jpeg else contextlib.nullcontext([])
            )
            with capture as lines:
                image: Samples | None = cv2.imdecode(
                    np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED
                )
        except cv2.error:
            return None
        finally:
            logging.setLogLevel(level)
    if (
        image is None
        or image.dtype not in (np.uint8, np.uint16)
        or image.shape[2:] not in ((), (3,), (4,))
    ):
        return None
    if is_jpeg:
        _warn_of_jpeg_damage([*lines, *_missing_scans(data)], path)
    return image


@contextlib.contextmanager
def _captured_stderr() -> Iterator[list[str]]:
    """Collect the lines about damage that libjpeg prints; pass on everything else.

    libjpeg decodes damaged data to wrong pixels, and OpenCV does not return its
    messages. libjpeg prints them on the error stream of the process, without the name
    of the file.
    """
    lines: list[str] = []
    try:
        terminal = os.dup(_STDERR)
    except OSError:
        # The error stream is closed, so libjpeg can print nothing.
        yield lines
        return
    with tempfile.TemporaryFile() as messages:
        sys.stderr.flush()
        os.dup2(messages.fileno(), _STDERR)
        try:
            yield lines
        finally:
            os.dup2(terminal, _STDERR)
            os.close(terminal)
            messages.seek(0)
            for line in messages.read().splitlines(keepends=True):
                if line.startswith(_LIBJPEG_WARNINGS):
                    lines.append(line.decode("ascii", "replace").strip())
                else:
                    # Another thread printed it at the same time.
                    os.write(_STDERR, line)


def _missing_scans(data: bytes) -> list[str]:
    """Report a progressive JPEG in which scans are missing, so that details are missing as well.

    libjpeg prints nothing if such a file ends between two scans. Each scan gives a band
    of coefficients of some components, down to a bit; the whole image has all 64
    coefficients of each component down to bit 0.
    """
    components: list[int] = []
    lowest_bits: dict[tuple[int, int], int] = {}
    for kind, segment in _jpeg_segments(data):
        if kind == _PROGRESSIVE_FRAME and len(segment) >= 6 + 3 * segment[5]:
            components = list(segment[6 : 6 + 3 * segment[5] : 3])
        elif kind == _START_OF_SCAN and components and len(segment) >= 4 + 2 * segment[0]:
            first, last, bits = segment[1 + 2 * segment[0] : 4 + 2 * segment[0]]
            for component in segment[1 : 1 + 2 * segment[0] : 2]:
                for coefficient in range(first, min(last, 63) + 1):
                    lowest_bits[component, coefficient] = bits & 15
    needed = [(component, coefficient) for component in components for coefficient in range(64)]
    if any(lowest_bits.get(band) != 0 for band in needed):
        return ["the last scans of a progressive JPEG are missing"]
    return []


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """List the kinds and contents of the segments of a JPEG file, up to its end marker."""
    at = 2
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            # Entropy-coded data follow a scan's header.
            at = data.find(b"\xff", at)
            if at < 0:
                return
            continue
        kind = data[at + 1]
        if kind == 0xD9:
            return
        if kind in (0x00, 0x01, 0xFF) or 0xD0 <= kind <= 0xD8:
            # A stuffed byte, a filler or a restart marker has no content.
            at += 1 if kind == 0xFF else 2
            continue
        size = int.from_bytes(data[at + 2 : at + 4])
        yield kind, data[at + 4 : at + 2 + size]
        at += 2 + size


def _warn_of_jpeg_damage(lines: Sequence[str], path: PathLike) -> None:
    if lines:
        damage = "; ".join(lines)
        message = f"{path}: is damaged, and pixels may be wrong ({damage}); replace the file by an undamaged copy"
        report_damage(message)
        _tell_once(message)


def _checked(data: bytes, path: PathLike) -> bytes:
    """The bytes of a PNG, JPEG or BMP file, checked so that it may be decoded, and without parts that its pixels do not need.

    Raises
    ------
    DataError
        The image is larger than the limit, or the file is of another kind.
    """
    if data.startswith(_PNG):
        return _critical_chunks(data, path)
    if data.startswith(_JPEG):
        _check_jpeg(data, path)
    elif data.startswith(b"BM") and len(data) > 26:
        columns, rows = struct.unpack_from("<ii", data, 18)
        limits.check_pixels(abs(columns), abs(rows), path)
    elif _WEBP.match(data):
        _check_webp(data, path)
    else:
        raise DataError(f"{path}: {known_kind(data) or _NO_IMAGE}")
    return data


@functools.lru_cache(maxsize=64)
def _tell_once(text: str) -> None:
    # A pair is read to be looked at, and again to be matched.
    warn([text])


def _critical_chunks(data: bytes, path: PathLike) -> bytes:
    """A PNG file, checked for completeness and reduced to the parts that its pixels need.

    Decoders differ in how they treat a file that ends early (some fill up with zeros), and they print warnings about colour profiles. Neither can
    happen with the result. Without a tRNS chunk, palettes decode to colours without alpha.
    """
    kept, at = [_PNG], len(_PNG)
    while at + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        chunk = data[at : at + 12 + size]
        if len(chunk) < 12 + size:
            break
        if int.from_bytes(chunk[-4:]) != zlib.crc32(chunk[4:-4]):
            raise DataError(f"{path}: is damaged: a checksum in the PNG does not match")
        if kind == b"IHDR" and size == 13:
            columns, rows = struct.unpack_from(">II", chunk, 8)
            limits.check_pixels(columns, rows, path)
        if kind in (b"IHDR", b"PLTE", b"IDAT", b"IEND"):
            kept.append(chunk)
        if kind == b"IEND":
            return b"".join(kept)
        at += len(chunk)
    raise DataError(f"{path}: is truncated: the PNG ends early after {len(data)} bytes")


def _check_jpeg(data: bytes, path: PathLike) -> None:
    """Raise DataError for a truncated JPEG, which decoders would fill up with grey."""
    if data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda"):
        raise DataError(f"{path}: is truncated: the JPEG has no end marker")
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        kind, size, _, rows, columns = struct.unpack_from(">BHBHH", data, at + 1)
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):  # a start of frame, not a table
            limits.check_pixels(columns, rows, path)
            return
        at += 2 + size


def _check_webp(data: bytes, path: PathLike) -> None:
    """Check the size that a WebP states, before memory is allocated for its pixels.

    Raises
    ------
    DataError
        The picture is too large, the file is truncated, or it holds an animation.
    """
    size = int.from_bytes(data[4:8], "little") + 8
    if len(data) < max(size - 1, 30):
        message = (
            f"{path}: is truncated: the WebP states {size} bytes, and the file has {len(data)}"
        )
        raise DataError(message)

    kind = data[12:16]
    if kind == _EXTENDED_WEBP:
        if data[20] & _ANIMATION_FLAG:
            message = f"{path}: is a WebP animation, which holds several pictures; save one of them as PNG"
            raise DataError(message)
        columns = int.from_bytes(data[24:27], "little") + 1
        rows = int.from_bytes(data[27:30], "little") + 1
    elif kind == _LOSSLESS_WEBP:
        bits = int.from_bytes(data[21:25], "little")
        columns = (bits & 0x3FFF) + 1
        rows = (bits >> 14 & 0x3FFF) + 1
    else:
        if data[23:26] != _SIGNATURE_OF_LOSSY_FRAME:
            raise DataError(f"{path}: {_NO_IMAGE}")
        columns = int.from_bytes(data[26:28], "little") & 0x3FFF
        rows = int.from_bytes(data[28:30], "little") & 0x3FFF
    limits.check_pixels(columns, rows, path)


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
"""Endings of the files that count as images when a folder is given."""


@checked()
def write_image(path: PathLike, array: NDArray, valid: Mask | None = None) -> None:
    """Write an image in the format of the file name's ending.

    Parameters
    ----------
    path : path-like
        ``.png``, ``.pgm`` (grey), ``.ppm`` (colour), ``.jpg``, ``.bmp`` or ``.tif``.
    array : ndarray, (rows, columns) or (rows, columns, 3) RGB
        uint8 and uint16 are written as they are, bool as 0 and 255, and floats 0..255 are rounded and clipped to 8 bits.
    valid : ndarray, bool, (rows, columns), optional
        The pixels that hold data; all others become transparent. For PNG of 8 bits only.

    Raises
    ------
    DataError
        The ending is unknown, the array is not an image or contains NaN, or the file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    array = np.asarray(array)
    if array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,)) or array.size == 0:
        raise DataError(
            f"{path}: an array of shape {array.shape} is not an image; expected (rows, columns[, 3])"
        )
    if array.dtype == bool:
        array = array * np.uint8(255)
    elif np.issubdtype(array.dtype, np.floating):
        if np.isnan(array).any():
            raise DataError(f"{path}: the image contains NaN")
        array = np.rint(np.clip(array, 0, 255)).astype(np.uint8)
    if array.dtype not in (np.uint8, np.uint16):
        raise DataError(
            f"{path}: samples are {array.dtype}; expected uint8, uint16, bool or floats 0..255"
        )
    if valid is not None:
        _write_with_alpha(path, np.dstack([array, valid * np.uint8(255)]))
        return
    if suffix not in (".png", ".pgm", ".ppm", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"):
        raise DataError(
            f"{path}: unknown ending {suffix!r}; allowed: .png, .pgm, .ppm, .jpg, .bmp, .tif"
        )
    if suffix in (".pgm", ".ppm") and (suffix == ".ppm") != (array.ndim == 3):
        raise DataError(
            f"{path}: {suffix} holds {'grey' if array.ndim == 3 else 'colour'} only; use .png, .pgm or .ppm"
        )
    if array.dtype == np.uint16 and suffix in (".jpg", ".jpeg", ".bmp"):
        raise DataError(f"{path}: {suffix} holds 8 bits; use .png, .tif, .pgm or .ppm for 16")
    write_bytes(path, _encode(suffix, array))


def _write_with_alpha(path: PathLike, array: NDArray[np.uint8]) -> None:
    # OpenCV does not write grey with alpha.
    import PIL.Image

    buffer = io.BytesIO()
    PIL.Image.fromarray(array).save(buffer, "PNG")
    write_bytes(path, buffer.getvalue())


def encode_png(array: NDArray) -> bytes:
    """An image, uint8 or uint16 (rows, columns) or (rows, columns, 3) RGB, as the bytes of a PNG file."""
    return _encode(".png", array)


def _encode(suffix: str, array: NDArray) -> bytes:
    import cv2

    # In OpenCV's order.
    return cv2.imencode(suffix, array[..., ::-1] if array.ndim == 3 else array)[1].tobytes()
