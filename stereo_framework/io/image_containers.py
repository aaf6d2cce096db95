"""Decoding of PNG, JPEG, WebP and BMP files.

This module checks the image size and looks for damage. OpenCV decodes the pixels.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError
from stereo_framework.io.file_kinds import known_kind
from stereo_framework.io.files import PathLike

Samples = NDArray[Any]
"""Array of the stored values of an image file, usually uint8 or uint16."""

NOT_AN_IMAGE = (
    "the file may be damaged, truncated or not an image; expected PNG, PGM, PPM, JPEG, WebP, BMP, "
    "TIFF, PFM or npy; replace it by an undamaged copy, or convert it to one of these formats"
)
"""Error message for a file that is not a readable image."""

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8"
BMP = b"BM"
"""First bytes of PNG, JPEG and BMP files."""

_WEBP = re.compile(rb"RIFF....WEBP(.{4})?", re.DOTALL)
"""Pattern of the first bytes of a WebP file.

Group 1 is the type of the first chunk, such as ``VP8L``.
"""

_LOSSLESS_WEBP = b"VP8L"
_EXTENDED_WEBP = b"VP8X"
"""Types of the first chunk in lossless and extended WebP files."""

_WEBP_HEADER_BYTES = 64
"""Number of bytes of a WebP file that are searched for the chunk ``VP8L``.

Without a colour profile, the pixel data begin within the first 64 bytes.
"""

_ANIMATION_FLAG = 0x02
"""Animation bit in the header of an extended WebP file."""

_SIGNATURE_OF_LOSSY_FRAME = b"\x9d\x01\x2a"
"""Bytes before the image size in a lossy WebP file."""

_GREY_AND_ALPHA = 4
"""Colour type of grey images with an alpha channel, in the header of a PNG file."""

_DECODED_PNG_CHUNKS = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
"""Types of the PNG chunks that contain the header, palette, pixels and end marker."""

_PROGRESSIVE_FRAME = 0xC2
_START_OF_SCAN = 0xDA
_END_OF_IMAGE = 0xD9
"""Second bytes of JPEG markers. Every marker begins with the byte FF."""

_COEFFICIENTS = 64
"""Number of DCT coefficients in a JPEG block of 8x8 pixels."""

_STDERR = 2
"""File descriptor of the standard error stream."""

_LIBJPEG_WARNINGS = (
    b"Corrupt JPEG data",
    b"Premature end of JPEG file",
    b"Inconsistent progression sequence",
    b"Invalid SOS parameters",
    b"Unknown Adobe color transform code",
    b"Warning: unknown JFIF revision number",
)
"""Beginnings of libjpeg's warnings about damaged files.

Harmless warnings are included, because libjpeg prints only the first warning about a
file. A harmless warning could therefore hide a serious warning.
"""

_decoding = threading.Lock()
"""Lock so that only one thread decodes an image at a time.

Decoding changes OpenCV's log level and the error stream, which all threads share.
"""


def decode(data: bytes, path: PathLike) -> tuple[Samples, list[str]]:
    """Check and decode the bytes of a PNG, JPEG, WebP or BMP file.

    Parameters
    ----------
    data : bytes
        Content of the whole file.
    path : path-like
        Path of the file, for error messages.

    Returns
    -------
    samples : ndarray, uint8 or uint16, (rows, columns[, 3 or 4])
        Pixel values. The channels have OpenCV's order: blue, green, red, alpha.
    damage : list of str
        Warnings about damage in a JPEG, such as "Premature end of JPEG file".

    Raises
    ------
    DataError
        The image is too large. The file is truncated or damaged. The file format is not
        supported.
    """
    samples, warnings = _decode_with_opencv(_checked_bytes(data, path))
    is_image = (
        samples is not None
        and samples.dtype in (np.uint8, np.uint16)
        and samples.shape[2:] in ((), (3,), (4,))
    )
    if samples is None or not is_image:
        message = f"{path}: {NOT_AN_IMAGE}"
        raise DataError(message)
    if not data.startswith(JPEG):
        return samples, []
    return samples, [*warnings, *_missing_scans(data)]


def has_alpha(data: bytes) -> bool:
    """Return whether the fourth channel of an image file is an alpha channel.

    The fourth channel of BMP files is not transparency. Its values are usually zero.
    """
    return data.startswith(PNG) or _WEBP.match(data) is not None


def is_grey_png_with_alpha(data: bytes) -> bool:
    """Return whether a file is a grey PNG with an alpha channel."""
    return data.startswith(PNG) and data[25] == _GREY_AND_ALPHA


def check_exact(data: bytes, path: PathLike) -> None:
    """Raise an error for a file whose compression may have changed pixel values.

    Raises
    ------
    DataError
        The file is a JPEG or a lossy WebP.
    """
    if data.startswith(JPEG):
        message = (
            f"{path}: the file is a JPEG, whose compression changes values, and the original "
            "values cannot be recovered; expected PNG or PGM"
        )
        raise DataError(message)
    webp = _WEBP.match(data)
    if webp is None or webp[1] == _LOSSLESS_WEBP:
        return
    # An extended WebP file may contain a lossless chunk after the first chunk.
    if _LOSSLESS_WEBP not in data[:_WEBP_HEADER_BYTES]:
        message = (
            f"{path}: the file is a WebP whose compression changes values, and the original "
            "values cannot be recovered; expected PNG or PGM"
        )
        raise DataError(message)


# --- checks before decoding -----------------------------------------------------------


def _checked_bytes(data: bytes, path: PathLike) -> bytes:
    """Check an image file and return the bytes for OpenCV.

    Unneeded chunks of PNG files are removed.

    Raises
    ------
    DataError
        The image is too large. The file is truncated or damaged. The file format is not
        supported.
    """
    if data.startswith(PNG):
        return _decoded_chunks(data, path)
    if data.startswith(JPEG):
        _check_jpeg(data, path)
    elif data.startswith(BMP) and len(data) > 26:
        columns, rows = struct.unpack_from("<ii", data, 18)
        limits.check_pixels(abs(columns), abs(rows), path)
    elif _WEBP.match(data):
        _check_webp(data, path)
    else:
        message = f"{path}: {known_kind(data) or NOT_AN_IMAGE}"
        raise DataError(message)
    return data


def _decoded_chunks(data: bytes, path: PathLike) -> bytes:
    """Check a PNG file and remove unneeded chunks.

    Colour profiles are removed, because they can cause warnings. The tRNS chunk
    (transparency) is removed, so that palette images have no alpha channel.

    Raises
    ------
    DataError
        The file is truncated or damaged. The image has too many pixels.
    """
    decoded_chunks = [PNG]
    position = len(PNG)
    while position + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, position)
        chunk = data[position : position + 12 + size]
        if len(chunk) < 12 + size:
            break
        if int.from_bytes(chunk[-4:]) != zlib.crc32(chunk[4:-4]):
            message = f"{path}: the file is damaged: a checksum in the PNG does not match"
            raise DataError(message)
        if kind == b"IHDR" and size == 13:
            columns, rows = struct.unpack_from(">II", chunk, 8)
            limits.check_pixels(columns, rows, path)
        if kind in _DECODED_PNG_CHUNKS:
            decoded_chunks.append(chunk)
        if kind == b"IEND":
            return b"".join(decoded_chunks)
        position += len(chunk)
    message = f"{path}: the file is truncated: the PNG ends early after {len(data)} bytes"
    raise DataError(message)


def _check_jpeg(data: bytes, path: PathLike) -> None:
    """Raise an error if a JPEG is truncated or has too many pixels.

    OpenCV would fill the missing pixels of a truncated JPEG with grey.
    """
    if data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda"):
        message = f"{path}: the file is truncated: the JPEG has no end marker"
        raise DataError(message)
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        kind, size, _, rows, columns = struct.unpack_from(">BHBHH", data, position + 1)
        # The frame header contains the image size. Its marker is C0 to CF, but not C4,
        # C8 or CC.
        is_frame = 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC)
        if is_frame:
            limits.check_pixels(columns, rows, path)
            return
        position += 2 + size


def _check_webp(data: bytes, path: PathLike) -> None:
    """Raise an error if a WebP file is truncated, too large or an animation.

    Raises
    ------
    DataError
        The file is truncated. The image has too many pixels. The file is an animation.
    """
    size = int.from_bytes(data[4:8], "little") + 8
    if len(data) < max(size - 1, 30):
        message = (
            f"{path}: the file is truncated: the WebP states {size} bytes, and the file has "
            f"{len(data)}"
        )
        raise DataError(message)

    # The extended format stores columns - 1 and rows - 1 in 24 bits each. The lossless
    # format uses 14 bits each. The lossy format stores columns and rows in 14 bits
    # each. A 2-bit scale follows each number.
    kind = data[12:16]
    if kind == _EXTENDED_WEBP:
        if data[20] & _ANIMATION_FLAG:
            message = (
                f"{path}: the file is a WebP animation, which has several pictures; save one of "
                "them as PNG"
            )
            raise DataError(message)
        columns = int.from_bytes(data[24:27], "little") + 1
        rows = int.from_bytes(data[27:30], "little") + 1
    elif kind == _LOSSLESS_WEBP:
        bits = int.from_bytes(data[21:25], "little")
        columns = (bits & 0x3FFF) + 1
        rows = (bits >> 14 & 0x3FFF) + 1
    else:
        if data[23:26] != _SIGNATURE_OF_LOSSY_FRAME:
            message = f"{path}: {NOT_AN_IMAGE}"
            raise DataError(message)
        columns = int.from_bytes(data[26:28], "little") & 0x3FFF
        rows = int.from_bytes(data[28:30], "little") & 0x3FFF
    limits.check_pixels(columns, rows, path)


# --- decoding -------------------------------------------------------------------------


def _decode_with_opencv(data: bytes) -> tuple[Samples | None, list[str]]:
    """Decode an image with OpenCV and collect the warnings of libjpeg.

    Returns
    -------
    samples : ndarray or None
        Pixel values, or None if OpenCV cannot decode the data.
    warnings : list of str
        Warnings about damage in a JPEG.
    """
    import cv2

    # The function setLogLevel is in different modules in OpenCV 4 and OpenCV 5.
    logging: Any = cv2 if hasattr(cv2, "setLogLevel") else cv2.utils.logging
    with _decoding:
        # Errors are raised as DataError, so OpenCV must not print errors.
        level = logging.setLogLevel(0)
        try:
            capture: AbstractContextManager[list[str]] = contextlib.nullcontext([])
            if data.startswith(JPEG):
                capture = _captured_stderr()
            with capture as warnings:
                samples: Samples | None = cv2.imdecode(
                    np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED
                )
        except cv2.error:
            return None, []
        finally:
            logging.setLogLevel(level)
    return samples, warnings


@contextlib.contextmanager
def _captured_stderr() -> Iterator[list[str]]:
    """Collect the warnings that libjpeg prints on the standard error stream.

    OpenCV does not return the warnings of libjpeg. Other output is printed after the
    ``with`` block.
    """
    warnings: list[str] = []
    try:
        terminal = os.dup(_STDERR)
    except OSError:
        # The error stream is closed, so libjpeg cannot print warnings.
        yield warnings
        return
    with tempfile.TemporaryFile() as output:
        sys.stderr.flush()
        os.dup2(output.fileno(), _STDERR)
        try:
            yield warnings
        finally:
            os.dup2(terminal, _STDERR)
            os.close(terminal)
            output.seek(0)
            for line in output.read().splitlines(keepends=True):
                if line.startswith(_LIBJPEG_WARNINGS):
                    warnings.append(line.decode("ascii", "replace").strip())
                else:
                    # Another thread may have printed the line.
                    os.write(_STDERR, line)


def _missing_scans(data: bytes) -> list[str]:
    """Return a list with a warning if a progressive JPEG is incomplete.

    libjpeg prints no warning if the file ends between two scans. In a complete image,
    the scans contain every DCT coefficient down to bit 0.
    """
    components: list[int] = []
    lowest_bits: dict[tuple[int, int], int] = {}
    for kind, segment in _jpeg_segments(data):
        if kind == _PROGRESSIVE_FRAME and len(segment) >= 6 + 3 * segment[5]:
            components = list(segment[6 : 6 + 3 * segment[5] : 3])
        elif kind == _START_OF_SCAN and components:
            lowest_bits |= _bits_of_scan(segment)
    for component in components:
        for coefficient in range(_COEFFICIENTS):
            if lowest_bits.get((component, coefficient)) != 0:
                return ["the last scans of a progressive JPEG are missing"]
    return []


def _bits_of_scan(segment: bytes) -> dict[tuple[int, int], int]:
    """Return the lowest stored bit of each DCT coefficient in a JPEG scan.

    Parameters
    ----------
    segment : bytes
        Header of the scan. The last three bytes are the first coefficient, the last
        coefficient and the bit positions. The low half of the last byte is the lowest
        bit.

    Returns
    -------
    dict
        Lowest bit by (component, coefficient). A truncated header gives an empty dict.
    """
    components_end = 1 + 2 * segment[0]
    if len(segment) < components_end + 3:
        return {}
    first, last, bits = segment[components_end : components_end + 3]
    lowest_bits = {}
    for component in segment[1:components_end:2]:
        for coefficient in range(first, min(last, _COEFFICIENTS - 1) + 1):
            lowest_bits[component, coefficient] = bits & 15
    return lowest_bits


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the marker and content of each JPEG segment, up to the end marker."""
    position = 2
    while position + 4 <= len(data):
        if data[position] != 0xFF:
            # Skip the compressed pixels after the header of a scan.
            position = data.find(b"\xff", position)
            if position < 0:
                return
            continue
        kind = data[position + 1]
        if kind == _END_OF_IMAGE:
            return
        # Stuffed bytes, fill bytes and restart markers have no content.
        if kind in (0x00, 0x01, 0xFF) or 0xD0 <= kind <= 0xD8:
            position += 1 if kind == 0xFF else 2
            continue
        size = int.from_bytes(data[position + 2 : position + 4])
        yield kind, data[position + 4 : position + 2 + size]
        position += 2 + size
