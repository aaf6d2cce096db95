"""TIFF files: images of 8 and 16 bits and of numbers, with GDAL's nodata value; float maps that keep GeoTIFF tags.

The library tifffile reads them, and asks imagecodecs to decode what is compressed.
"""

import contextlib
import io
import logging
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, DataWarning, StereoFrameworkError, warn
from stereo_framework.core.scene import Mask
from stereo_framework.io._files import PathLike, check_file, write_bytes
from stereo_framework.io.numbers import parse_number

_BEGINNINGS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
"""The beginnings of TIFF files, and of the variant for files above 4 GB."""

_GEOTIFF = (33550, 33922, 34264, 34735, 34736, 34737)
"""Tags: pixel scale, tie points, transformation, and the three parts of the keys (GeoTIFF 1.1, section 7.1)."""

_NODATA = 42113
"""GDAL's tag for the value that means no data, which is a text."""

_GREY, _RGB, _YCBCR = 1, 2, 6
"""Photometric interpretations: grey where 0 is black, colours, and colours as JPEG has them."""

_REDUCED = 1
"""Bit in the kind of a page: a smaller version of another page."""

_ALPHA = (1, 2)
"""Kinds of an extra sample that holds transparency: colours are already multiplied by it, or they are not."""

_LERC = 34887
"""Code of the compression LERC, which keeps values within a bound."""

_LERC_PARAMETERS = 50674
"""Tag with the version of LERC and its packing: 0 none, 1 deflate, 2 Zstandard."""

_ERROR_OFFSETS = {2: 34, 3: 38, 4: 42, 5: 42, 6: 50}
"""Place of the largest error in the header of LERC, by version."""

GeoTags = Sequence[tuple[int, int, int, Any]]
"""Tags, each as code, type, count and value."""

# The errors of tifffile say all that its log does.
logging.getLogger("tifffile").addHandler(logging.NullHandler())


def is_tiff(path: PathLike) -> bool:
    """Whether a file begins as TIFF files do.

    Raises
    ------
    DataError
        There is no such file.
    """
    check_file(path)
    try:
        with open(path, "rb") as file:
            return file.read(4) in _BEGINNINGS
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def read_tiff(path: PathLike, *, exact: bool = False) -> tuple[NDArray[Any], Mask | None]:
    """Read the first image of a TIFF file.

    Parameters
    ----------
    path : path-like
    exact : bool
        Refuse an image whose compression has changed its values, as a map or a mask
        must not be.

    Returns
    -------
    samples : ndarray, (rows, columns) or (rows, columns, 3) RGB
        Samples as stored, of any numeric type.
    valid : ndarray, bool, (rows, columns), or None
        The pixels that hold data according to the alpha channel and GDAL's nodata value; None for a file that has neither.

    Raises
    ------
    DataError
        The file is missing, damaged or truncated, or its image is larger than the
        limit, neither grey nor RGB, or not exact.
    """
    with _first_page(path) as page:
        if exact:
            _check_exact(page, path)
        if len(page.parent.pages) > 1 and not page.parent.pages[1].subfiletype & _REDUCED:
            warn(
                [f"{path}: holds several images or a mask, of which the first image is read"],
                DataWarning,
            )
        samples, nodata = np.asarray(page.asarray(maxworkers=1)), _nodata(page)
        if page.axes == "SYX":
            samples = np.moveaxis(samples, 0, -1)
        # A fourth band that a file does not name counts as transparency, as OpenCV writes it.
        alpha = samples.shape[2:] in ((2,), (4,)) and (
            not page.extrasamples or int(page.extrasamples[0]) in _ALPHA
        )
    samples = samples.astype(samples.dtype.newbyteorder("="), copy=False)
    valid = samples[..., -1] > 0 if alpha else None
    if samples.ndim == 3:
        samples = np.ascontiguousarray(
            samples[..., 0] if samples.shape[2] == 2 else samples[..., :3]
        )
    if nodata is not None:
        with np.errstate(over="ignore"):  # rounded to float32, the lowest number may be -inf
            known = samples != samples.dtype.type(nodata)
        known = known if known.ndim == 2 else known.any(axis=2)
        valid = known if valid is None else valid & known
    return samples, valid


def geo_tags(path: PathLike) -> GeoTags:
    """The GeoTIFF tags of a file, which place its pixels on the ground; empty for any other kind of file."""
    if not is_tiff(path):
        return ()
    with _first_page(path) as page:
        found = [page.tags[code] for code in _GEOTIFF if code in page.tags]
        return [
            # The format allows only ASCII text; other characters are replaced.
            (tag.code, int(tag.dtype), 0, tag.value.encode("ascii", "replace").decode())
            if isinstance(tag.value, str)
            else (tag.code, int(tag.dtype), tag.count, tag.value)
            for tag in found
        ]


def write_float_tiff(path: PathLike, array: NDArray[np.float32], tags: GeoTags = ()) -> None:
    """Write a map or image, float32 ``(rows, columns[, 3])``, as a TIFF file of floats with GeoTIFF tags. NaN is declared as the nodata value."""
    import tifffile

    file = io.BytesIO()
    extra: list[Any] = [*((*tag, True) for tag in tags), (_NODATA, "s", 0, "nan", True)]
    tifffile.imwrite(
        file,
        array,
        photometric="rgb" if array.ndim == 3 else "minisblack",
        metadata=None,
        software=False,
        extratags=extra,
    )
    write_bytes(path, file.getvalue())


@contextlib.contextmanager
def _first_page(path: PathLike) -> Iterator[Any]:
    """The object of tifffile for the first page, after checking that it may be read."""
    import tifffile

    check_file(path)
    try:
        with tifffile.TiffFile(path) as file:
            page: Any = file.pages[0]
            _check(page, file.filehandle.size, path)
            yield page
    except (StereoFrameworkError, MemoryError, Warning):
        raise
    except Exception as error:  # whatever its parser raises on bytes that are no TIFF
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(
            f"{path}: may be damaged, truncated or not an image: {reason}; "
            "replace it by an undamaged copy, or save it again as a plain TIFF or PNG"
        ) from None


def _check(page: Any, size: int, path: PathLike) -> None:
    """Raise DataError for an image that cannot be read, before memory is allocated for it."""
    for columns, rows in ((page.imagewidth, page.imagelength), (page.tilewidth, page.tilelength)):
        limits.check_pixels(int(columns), int(rows), path)
    kind, bands, bits = page.photometric, page.samplesperpixel, page.bitspersample
    if (
        bands not in (1, 2, 3, 4)
        or (bands == 4 and kind == _GREY)
        or page.axes not in ("YX", "YXS", "SYX")
    ):
        raise DataError(
            f"{path}: has {bands} bands; expected grey or RGB, with or without alpha: write the bands that are meant into a file"
        )
    if (
        bits not in (8, 16, 32, 64)
        or kind not in (_GREY, _RGB, _YCBCR)
        or page.dtype is None
        or page.dtype.kind not in "uif"
    ):
        raise DataError(
            f"{path}: holds {getattr(kind, 'name', kind)} samples of {bits} bits ({page.dtype}), which are not read; write grey or RGB, as "
            "'gdal_translate -co NBITS=16' does"
        )
    ends = [at + count for at, count in zip(page.dataoffsets, page.databytecounts, strict=True)]
    if 0 in page.shape or len(ends) < math.prod(page.chunked) or max(ends) > size:
        raise DataError(f"{path}: is damaged or truncated: parts of its image are not in the file")


def _check_exact(page: Any, path: PathLike) -> None:
    """Refuse an image whose compression has changed its values; warn in case of doubt.

    Raises
    ------
    DataError
        The compression has changed values by an unknown amount, or by whole grey
        levels.
    """
    kind = int(page.compression)
    if kind not in (*_LOSSY_TESTS, _LERC):
        return
    file = page.parent.filehandle
    file.seek(page.dataoffsets[0])
    segment = file.read(page.databytecounts[0])
    name = page.compression.name.replace("_", " ")
    remedy = "expected a TIFF without compression or with a lossless one (deflate, LZW)"

    if kind == _LERC:
        bound = _bound_of_lerc(page, segment)
        is_integer = page.dtype.kind in "ui"
        if bound is not None and (bound < 1 if is_integer else bound == 0):
            return
        if bound is not None and not is_integer:
            message = (
                f"{path}: its compression ({name}) has changed values by up to {bound:g}; {remedy}"
            )
            warn([message], DataWarning)
            return
        is_lossy = None if bound is None else True
    else:
        is_lossy = _LOSSY_TESTS[kind](segment)

    if is_lossy is None:
        message = f"{path}: its compression ({name}) may have changed values; {remedy}"
        warn([message], DataWarning)
    elif is_lossy:
        message = f"{path}: its compression ({name}) has changed values, and they cannot be recovered; {remedy}"
        raise DataError(message)


def _is_lossy_jpeg(segment: bytes) -> bool:
    """Return whether the frame of a JPEG is not lossless, which marker FFC3 begins."""
    at = 2
    while at + 4 <= len(segment) and segment[at] == 0xFF:
        marker = segment[at + 1]
        is_frame = 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC)
        if is_frame:
            return marker != 0xC3
        at += 2 + int.from_bytes(segment[at + 2 : at + 4])
    return True


def _is_lossy_jpeg2000(segment: bytes) -> bool | None:
    """Return True for the irreversible wavelet; the reversible one may be cut: None."""
    # After marker FF52 come its length, nine bytes of style, and the wavelet.
    at = segment.find(b"\xff\x52")
    if at < 0 or at + 14 > len(segment):
        return None
    is_reversible = segment[at + 13] == 1
    return None if is_reversible else True


def _is_lossy_webp(segment: bytes) -> bool:
    """Return whether a WebP stream is not of the lossless kind."""
    return b"VP8L" not in segment[:64]


def _bound_of_lerc(page: Any, segment: bytes) -> float | None:
    """Return the largest error that a LERC stream allows, None if it is unknown."""
    import imagecodecs

    parameters = page.tags.get(_LERC_PARAMETERS)
    packing = int(parameters.value[1]) if parameters is not None else 0
    if packing == 1:
        segment = bytes(imagecodecs.zlib_decode(segment))
    elif packing == 2:
        segment = bytes(imagecodecs.zstd_decode(segment))

    if not segment.startswith(b"Lerc2 "):
        return None
    version = struct.unpack_from("<i", segment, 6)[0]
    offset = _ERROR_OFFSETS.get(version)
    if offset is None:
        return None
    bound: float = struct.unpack_from("<d", segment, offset)[0]
    return bound


_LOSSY_TESTS: Mapping[int, Callable[[bytes], bool | None]] = {
    6: lambda segment: True,
    99: _is_lossy_jpeg,
    33007: _is_lossy_jpeg,
    7: _is_lossy_jpeg,
    34892: _is_lossy_jpeg,
    33003: _is_lossy_jpeg2000,
    33004: _is_lossy_jpeg2000,
    33005: _is_lossy_jpeg2000,
    34712: _is_lossy_jpeg2000,
    34927: _is_lossy_webp,
    50001: _is_lossy_webp,
    # Streams of JPEG XR and JPEG XL are lossy or lossless.
    22610: lambda segment: None,
    34934: lambda segment: None,
    50002: lambda segment: None,
    52546: lambda segment: None,
    48124: lambda segment: True,
}
"""Tests whether a stream has lost information, by code; None means unknown."""


def _nodata(page: Any) -> float | None:
    """The value of GDAL's nodata tag, if samples can have it; otherwise None."""
    tag = page.tags.get(_NODATA)
    try:
        value = (
            parse_number(str(tag.value).strip("\0 "), finite=False) if tag is not None else np.nan
        )
    except ValueError:
        return None
    if np.isnan(value):  # NaN needs no telling
        return None
    if page.dtype.kind in "ui" and not (
        value.is_integer() and np.iinfo(page.dtype).min <= value <= np.iinfo(page.dtype).max
    ):
        return None
    return value
