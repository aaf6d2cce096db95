"""Check and decode the bytes of PNG, JPEG, WebP and BMP files.

Before decoding, the size that a file states is compared with the limit, and the file is
checked for completeness. OpenCV decodes the pixels.
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
"""Sample values of an image as stored, such as uint8 or uint16."""

NOT_AN_IMAGE = (
    "the file may be damaged, truncated or not an image; expected PNG, PGM, PPM, JPEG, WebP, BMP, "
    "TIFF, PFM or npy; replace it by an undamaged copy, or convert it to one of these formats"
)
"""The part of a message for a file that cannot be decoded."""

PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8"
BMP = b"BM"
"""First bytes of the files."""

_WEBP = re.compile(rb"RIFF....WEBP(.{4})?", re.DOTALL)
"""Beginning of a WebP file, with the kind of its first chunk."""

_LOSSLESS_WEBP = b"VP8L"
_EXTENDED_WEBP = b"VP8X"
"""Kinds of the first chunk of a WebP file."""

_WEBP_HEADER_BYTES = 64
"""Number of bytes in which the chunks of an extended WebP without a profile begin."""

_ANIMATION_FLAG = 0x02
"""Bit in the flags of an extended WebP file."""

_SIGNATURE_OF_LOSSY_FRAME = b"\x9d\x01\x2a"

_GREY_AND_ALPHA = 4
"""Colour type of a PNG with grey and alpha, which OpenCV decodes to four channels."""

_DECODED_PNG_CHUNKS = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
"""Chunks of a PNG on which its pixels depend."""

_PROGRESSIVE_FRAME = 0xC2
_START_OF_SCAN = 0xDA
_END_OF_IMAGE = 0xD9
"""Markers of JPEG files, after a byte FF."""

_COEFFICIENTS = 64
"""Number of coefficients of a block in a JPEG."""

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
"""Beginnings of libjpeg's warnings.

libjpeg prints only the first warning of a file. A harmless warning may therefore hide
damage, so all warnings count as damage.
"""

_decoding = threading.Lock()
"""Lock for the log level of OpenCV and the error stream, which all threads share."""


def decode(data: bytes, path: PathLike) -> tuple[Samples, list[str]]:
    """Check and decode the bytes of a PNG, JPEG, WebP or BMP file.

    Parameters
    ----------
    data : bytes
        The whole file.
    path : path-like
        Path of the file, for messages.

    Returns
    -------
    samples : ndarray, uint8 or uint16, (rows, columns[, 3 or 4])
        Samples in the order of OpenCV: blue, green, red, alpha.
    damage : list of str
        Descriptions of damage that makes pixels of a JPEG wrong.

    Raises
    ------
    DataError
        The image is larger than the limit, is truncated or damaged, or has another
        format.
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
    """Return whether a fourth channel of the decoded file is its transparency.

    The fourth channel of a BMP is mostly zero and has no meaning.
    """
    return data.startswith(PNG) or _WEBP.match(data) is not None


def is_grey_png_with_alpha(data: bytes) -> bool:
    """Return whether a file is a PNG with one grey channel and alpha."""
    return data.startswith(PNG) and data[25] == _GREY_AND_ALPHA


def check_exact(data: bytes, path: PathLike) -> None:
    """Refuse a JPEG or WebP unless its compression is lossless.

    Raises
    ------
    DataError
        The file is a JPEG, or a WebP that is not lossless.
    """
    if data.startswith(JPEG):
        message = (
            f"{path}: the file is a JPEG, whose compression changes values: they cannot be "
            "recovered; expected PNG or PGM"
        )
        raise DataError(message)
    webp = _WEBP.match(data)
    if webp is None or webp[1] == _LOSSLESS_WEBP:
        return
    # The extended format states the kind of its picture in a later chunk.
    if _LOSSLESS_WEBP not in data[:_WEBP_HEADER_BYTES]:
        message = (
            f"{path}: the file is a WebP whose compression changes values: they cannot be "
            "recovered; expected PNG or PGM"
        )
        raise DataError(message)


# --- checks before decoding -----------------------------------------------------------


def _checked_bytes(data: bytes, path: PathLike) -> bytes:
    """Return the bytes of a file that OpenCV may decode.

    Raises
    ------
    DataError
        The image is larger than the limit, is truncated or damaged, or has another
        format.
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
    """Return a complete PNG, reduced to the chunks on which its pixels depend.

    Some decoders fill a truncated file with zeros, and some print warnings about colour
    profiles. Neither can happen with the result. A palette decodes to colours without
    alpha, because the result has no tRNS chunk.

    Raises
    ------
    DataError
        The file is truncated or damaged, or its image is too large.
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
    """Refuse a truncated JPEG, which decoders would fill with grey, and a large one."""
    if data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda"):
        message = f"{path}: the file is truncated: the JPEG has no end marker"
        raise DataError(message)
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        kind, size, _, rows, columns = struct.unpack_from(">BHBHH", data, position + 1)
        # Three markers of this range begin tables. All others begin a frame.
        is_frame = 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC)
        if is_frame:
            limits.check_pixels(columns, rows, path)
            return
        position += 2 + size


def _check_webp(data: bytes, path: PathLike) -> None:
    """Check the size that a WebP states, before memory is allocated for its pixels.

    Raises
    ------
    DataError
        The picture is too large, the file is truncated, or it is an animation.
    """
    size = int.from_bytes(data[4:8], "little") + 8
    if len(data) < max(size - 1, 30):
        message = (
            f"{path}: the file is truncated: the WebP states {size} bytes, and the file has "
            f"{len(data)}"
        )
        raise DataError(message)

    # The extended and the lossless format store each length minus 1, in 24 and 14 bits.
    # A lossy frame stores the length itself in 14 bits, below two bits for scaling.
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
    """Return the image that OpenCV decodes, or None, and the warnings of libjpeg."""
    import cv2

    # OpenCV 4 and OpenCV 5 have the log level in different modules.
    logging: Any = cv2 if hasattr(cv2, "setLogLevel") else cv2.utils.logging
    with _decoding:
        # Messages of this package report the errors instead.
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
    """Collect the warnings that libjpeg prints; pass on all other output.

    libjpeg decodes damaged data to wrong pixels, and OpenCV does not return its
    messages. libjpeg prints them on the error stream of the process, without the name
    of the file.
    """
    warnings: list[str] = []
    try:
        terminal = os.dup(_STDERR)
    except OSError:
        # The error stream is closed, so libjpeg can print nothing.
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
                    # Another thread printed this line at the same time.
                    os.write(_STDERR, line)


def _missing_scans(data: bytes) -> list[str]:
    """Return a description of the damage if scans of a progressive JPEG are missing.

    libjpeg prints nothing if such a file ends between two scans. Each scan has a band
    of coefficients of some components, down to a certain bit. The image is complete if
    all coefficients of each component are present down to bit 0.
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
    """Return the lowest bit that a scan has of each component and coefficient.

    Parameters
    ----------
    segment : bytes
        Header of the scan: the number of components, two bytes for each of them, the
        first and the last coefficient, and the bits. The result is empty if the header
        is too short.
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
    """Yield the kinds and contents of a JPEG's segments, up to its end marker."""
    position = 2
    while position + 4 <= len(data):
        if data[position] != 0xFF:
            # Entropy-coded data follow the header of a scan.
            position = data.find(b"\xff", position)
            if position < 0:
                return
            continue
        kind = data[position + 1]
        if kind == _END_OF_IMAGE:
            return
        # A stuffed byte, a filler or a restart marker has no content.
        if kind in (0x00, 0x01, 0xFF) or 0xD0 <= kind <= 0xD8:
            position += 1 if kind == 0xFF else 2
            continue
        size = int.from_bytes(data[position + 2 : position + 4])
        yield kind, data[position + 4 : position + 2 + size]
        position += 2 + size
