"""Find out whether the compression of a TIFF file has changed its values."""

import struct
from collections.abc import Callable, Mapping
from typing import Any

from stereo_framework.core.errors import DataError, DataWarning, warn
from stereo_framework.io.files import PathLike

_REMEDY = "expected a TIFF without compression or with a lossless one (deflate, LZW)"

_LERC = 34887
"""Code of the compression LERC, which limits the error of each value."""

_LERC_PARAMETERS = 50674
"""Tag with the version of LERC and its packing: 0 none, 1 deflate, 2 Zstandard."""

_DEFLATE_PACKING = 1
_ZSTANDARD_PACKING = 2

_MAX_ERROR_OFFSETS = {2: 34, 3: 38, 4: 42, 5: 42, 6: 50}
"""Position of the largest allowed error in the header of LERC, by version."""

_LOSSLESS_FRAME = 0xC3
"""Marker at the beginning of a lossless frame of a JPEG."""


def check_lossless(page: Any, path: PathLike) -> None:
    """Refuse an image whose compression has changed its values, or warn if unclear.

    Parameters
    ----------
    page : tifffile.TiffPage
        The page of the image.
    path : path-like
        Path of the file, for messages.

    Raises
    ------
    DataError
        The compression has changed values by an unknown amount, or by whole grey
        levels.
    """
    compression = int(page.compression)
    if compression not in (*_LOSS_TESTS, _LERC):
        return
    file = page.parent.filehandle
    file.seek(page.dataoffsets[0])
    first_segment = file.read(page.databytecounts[0])
    if compression == _LERC:
        _check_lerc(page, first_segment, path)
    else:
        is_lossy = _LOSS_TESTS[compression](first_segment)
        _report_loss(page, is_lossy, path)


def _report_loss(page: Any, is_lossy: bool | None, path: PathLike) -> None:
    """Raise DataError if a compression is lossy; warn if it is not known (None)."""
    name = page.compression.name.replace("_", " ")
    if is_lossy is None:
        message = f"{path}: its compression ({name}) may have changed values; {_REMEDY}"
        warn([message], DataWarning)
    elif is_lossy:
        message = (
            f"{path}: its compression ({name}) has changed values, and they cannot be "
            f"recovered; {_REMEDY}"
        )
        raise DataError(message)


def _check_lerc(page: Any, segment: bytes, path: PathLike) -> None:
    """Refuse integers that LERC has changed; warn if it may have changed floats."""
    max_error = _max_error_of_lerc(page, segment)
    if max_error is None:
        _report_loss(page, None, path)
        return
    if page.dtype.kind in "ui":
        # An error below 1 does not change an integer. NaN counts as a loss.
        is_lossy = not max_error < 1
        _report_loss(page, is_lossy, path)
    elif max_error != 0:
        name = page.compression.name.replace("_", " ")
        message = (
            f"{path}: its compression ({name}) has changed values by up to {max_error:g}; {_REMEDY}"
        )
        warn([message], DataWarning)


def _max_error_of_lerc(page: Any, segment: bytes) -> float | None:
    """Return the largest error that a LERC stream allows; None if it is unknown."""
    import imagecodecs

    parameters = page.tags.get(_LERC_PARAMETERS)
    packing = int(parameters.value[1]) if parameters is not None else 0
    if packing == _DEFLATE_PACKING:
        segment = bytes(imagecodecs.zlib_decode(segment))
    elif packing == _ZSTANDARD_PACKING:
        segment = bytes(imagecodecs.zstd_decode(segment))

    if not segment.startswith(b"Lerc2 "):
        return None
    version = struct.unpack_from("<i", segment, 6)[0]
    offset = _MAX_ERROR_OFFSETS.get(version)
    if offset is None:
        return None
    max_error: float = struct.unpack_from("<d", segment, offset)[0]
    return max_error


def _is_lossy_jpeg(segment: bytes) -> bool:
    """Return whether a JPEG is lossy, which depends on the kind of its frame."""
    position = 2
    while position + 4 <= len(segment) and segment[position] == 0xFF:
        marker = segment[position + 1]
        is_frame = 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC)
        if is_frame:
            return marker != _LOSSLESS_FRAME
        position += 2 + int.from_bytes(segment[position + 2 : position + 4])
    return True


def _is_lossy_jpeg2000(segment: bytes) -> bool | None:
    """Return True if the wavelet of a JPEG 2000 is irreversible, and None otherwise.

    A stream with the reversible wavelet may be truncated, so that it can still be
    lossy.
    """
    # The marker FF52 is followed by its length, nine bytes of style, and the wavelet.
    position = segment.find(b"\xff\x52")
    if position < 0 or position + 14 > len(segment):
        return None
    is_reversible = segment[position + 13] == 1
    return None if is_reversible else True


def _is_lossy_webp(segment: bytes) -> bool:
    """Return whether a WebP stream is lossy."""
    return b"VP8L" not in segment[:64]


def _always_lossy(segment: bytes) -> bool:
    """Return True for a compression that is always lossy."""
    return True


def _unknown_loss(segment: bytes) -> None:
    """Return None for a compression that has a lossy and a lossless variant."""
    return


_LOSS_TESTS: Mapping[int, Callable[[bytes], bool | None]] = {
    # The JPEG of TIFF 6, and later variants.
    6: _always_lossy,
    99: _is_lossy_jpeg,
    33007: _is_lossy_jpeg,
    7: _is_lossy_jpeg,
    34892: _is_lossy_jpeg,
    # JPEG 2000.
    33003: _is_lossy_jpeg2000,
    33004: _is_lossy_jpeg2000,
    33005: _is_lossy_jpeg2000,
    34712: _is_lossy_jpeg2000,
    # WebP.
    34927: _is_lossy_webp,
    50001: _is_lossy_webp,
    # JPEG XR and JPEG XL.
    22610: _unknown_loss,
    34934: _unknown_loss,
    50002: _unknown_loss,
    52546: _unknown_loss,
    # JETRAW.
    48124: _always_lossy,
}
"""Tests whether a stream has lost information, by code of the compression.

A test returns None if this is unknown.
"""
