"""Find out whether lossy compression has changed the pixel values of a TIFF file."""

import struct
from collections.abc import Callable, Mapping
from typing import Any

from stereo_framework.core.errors import DataError, DataWarning, warn
from stereo_framework.io.files import PathLike

_REMEDY = "expected a TIFF file without compression or with lossless compression (deflate, LZW)"

_LERC = 34887
"""Code of the compression LERC, which limits the error of each value."""

_LERC_PARAMETERS = 50674
"""Code of the TIFF tag with the version of LERC and the packing.

The packing is the second compression: 0 for none, 1 for deflate, 2 for Zstandard.
"""

_DEFLATE_PACKING = 1
_ZSTANDARD_PACKING = 2

_MAX_ERROR_OFFSETS = {2: 34, 3: 38, 4: 42, 5: 42, 6: 50}
"""Byte position of the maximum error in a LERC header, for each LERC version."""

_LOSSLESS_FRAME = 0xC3
"""JPEG marker (SOF3) of a lossless image."""


def check_lossless(page: Any, path: PathLike) -> None:
    """Raise an error if lossy compression has changed the pixel values of an image.

    A warning is printed if the loss is unknown. Floats with LERC compression also cause
    only a warning, because LERC limits the error.

    Parameters
    ----------
    page : tifffile.TiffPage
        Image in the TIFF file.
    path : path-like
        Path of the file, for error messages.

    Raises
    ------
    DataError
        The compression is lossy, such as JPEG. LERC may have changed integers.
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
    """Raise an error if `is_lossy` is True, and warn if `is_lossy` is None."""
    name = page.compression.name.replace("_", " ")
    if is_lossy is None:
        message = f"{path}: its compression ({name}) may have changed pixel values; {_REMEDY}"
        warn([message], DataWarning)
    elif is_lossy:
        message = (
            f"{path}: its compression ({name}) has changed pixel values, and the original values "
            f"cannot be recovered; {_REMEDY}"
        )
        raise DataError(message)


def _check_lerc(page: Any, segment: bytes, path: PathLike) -> None:
    """Raise an error if LERC may have changed integers, and warn for changed floats.

    Parameters
    ----------
    page : tifffile.TiffPage
        Image in the TIFF file.
    segment : bytes
        LERC data of the first strip or tile of the image.
    path : path-like
        Path of the file, for error messages.
    """
    max_error = _max_error_of_lerc(page, segment)
    if max_error is None:
        _report_loss(page, None, path)
        return
    if page.dtype.kind in "ui":
        # An error below 1 cannot change an integer. The negated comparison also detects
        # NaN from a damaged header.
        is_lossy = not max_error < 1
        _report_loss(page, is_lossy, path)
    elif max_error != 0:
        name = page.compression.name.replace("_", " ")
        message = (
            f"{path}: its compression ({name}) has changed pixel values by up to {max_error:g}; "
            f"{_REMEDY}"
        )
        warn([message], DataWarning)


def _max_error_of_lerc(page: Any, segment: bytes) -> float | None:
    """Read the maximum error of the values from the header of LERC data.

    The result is None if the version of LERC is not supported.
    """
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
    """Return whether JPEG data are lossy. A rare variant of JPEG is lossless."""
    position = 2
    while position + 4 <= len(segment) and segment[position] == 0xFF:
        marker = segment[position + 1]
        is_frame = 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC)
        if is_frame:
            return marker != _LOSSLESS_FRAME
        position += 2 + int.from_bytes(segment[position + 2 : position + 4])
    return True


def _is_lossy_jpeg2000(segment: bytes) -> bool | None:
    """Return True if JPEG 2000 data are lossy, or None if the loss is unknown.

    The irreversible wavelet is lossy. With the reversible wavelet, the encoder may
    still have discarded coefficients.
    """
    # In the COD segment (marker FF52), byte 13 is 1 for the reversible wavelet.
    position = segment.find(b"\xff\x52")
    if position < 0 or position + 14 > len(segment):
        return None
    is_reversible = segment[position + 13] == 1
    return None if is_reversible else True


def _is_lossy_webp(segment: bytes) -> bool:
    """Return whether WebP data are lossy. Lossless data have a chunk VP8L."""
    return b"VP8L" not in segment[:64]


def _always_lossy(segment: bytes) -> bool:
    """Return True for old-style JPEG and JETRAW, which are always lossy."""
    return True


def _unknown_loss_of_jpeg_xr_or_xl(segment: bytes) -> None:
    """Return None, because JPEG XR and JPEG XL data may be lossy.

    Both formats also have a lossless variant, which this program does not detect.
    """
    return


_LOSS_TESTS: Mapping[int, Callable[[bytes], bool | None]] = {
    # Old-style JPEG (code 6) and newer variants of JPEG.
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
    22610: _unknown_loss_of_jpeg_xr_or_xl,
    34934: _unknown_loss_of_jpeg_xr_or_xl,
    50002: _unknown_loss_of_jpeg_xr_or_xl,
    52546: _unknown_loss_of_jpeg_xr_or_xl,
    # JETRAW.
    48124: _always_lossy,
}
"""Test functions for lossy data, by the compression code of TIFF.

A function returns True for lossy data and False for lossless data. The result None
means an unknown loss. Compressions without a function are lossless, except for LERC.
"""
