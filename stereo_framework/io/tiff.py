"""TIFF files: images of 8 and 16 bits and of numbers, with GDAL's nodata value; float maps that keep GeoTIFF tags.

The library tifffile reads them, and asks imagecodecs to decode what is compressed.
"""

from __future__ import annotations

import contextlib
import io
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, DataWarning, StereoFrameworkError
from stereo_framework.core.scene import Mask
from stereo_framework.io._files import PathLike, check_file, write_bytes

_BEGINNINGS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
"""The beginnings of TIFF files, and of the variant for files above 4 GB."""

_GEOTIFF = (33550, 33922, 34264, 34735, 34736, 34737)
"""Tags: pixel scale, tie points, transformation, and the three parts of the keys (GeoTIFF 1.1, section 7.1)."""

_NODATA = 42113
"""GDAL's tag for the value that means no data, which is a text."""

_SEPARATE = 2
"""The planar configuration of bands that are stored one after the other."""

_WHITE, _GREY, _RGB, _PALETTE, _YCBCR = 0, 1, 2, 3, 6
"""Photometric interpretations: grey where 0 is white, grey where 0 is black, colours, indices into a palette, and colours as JPEG has them."""

_BITS = (1, 8, 16, 32, 64)
"""Numbers of bits in a sample that are read; those of other numbers do not say which value is white."""

_REDUCED, _MASK = 1, 4
"""Bits in the kind of a page: a smaller version of another page, a mask of another page."""

_ASSOCIATED, _UNASSOCIATED = 1, 2
"""Kinds of an extra sample that holds transparency: colours are already multiplied by it, or they are not."""

_LOOKED_AT = 5
"""Number of pages that are examined to find out whether there are several images."""

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


def read_tiff(path: PathLike) -> tuple[NDArray[Any], Mask | None]:
    """Read the first image of a TIFF file. A reduced version or a mask that comes before it is skipped.

    Returns
    -------
    samples : ndarray, (rows, columns) or (rows, columns, 3) RGB
        Samples as stored, of any numeric type; unsigned samples for which 0 is white are inverted.
    valid : ndarray, bool, (rows, columns), or None
        The pixels that hold data according to the alpha channel and GDAL's nodata value; None for a file that has neither.

    Raises
    ------
    DataError
        The file is missing, damaged or truncated, or its image is larger than the limit or neither grey nor RGB.
    """
    with _first_page(path) as page:
        # There may be any number of reduced versions and masks.
        others = [other for other in page.parent.pages[:_LOOKED_AT] if other.index != page.index]
        kinds = [other.subfiletype & (_REDUCED | _MASK) for other in others]
        if 0 in kinds:
            warnings.warn(f"{path}: holds several images, of which the first is read", DataWarning, stacklevel=2)
        if _MASK in kinds:
            warnings.warn(
                f"{path}: holds a mask in a page of its own, which is not read; write it as an alpha channel or nodata value, or give it as a picture",
                DataWarning,
                stacklevel=2,
            )
        samples, nodata, alpha = _samples(page, path), _nodata(page, path), _has_alpha(page)
        turned = page.photometric == _WHITE and samples.dtype.kind == "u"
    valid = None
    if alpha:
        valid = samples[..., -1] > 0
    if samples.ndim == 3:
        samples = np.ascontiguousarray(samples[..., 0] if samples.shape[2] == 2 else samples[..., :3])
    if nodata is not None:
        with np.errstate(over="ignore"):  # rounded to float32, the lowest number may be -inf
            known = samples != samples.dtype.type(nodata)
        known = known if known.ndim == 2 else known.any(axis=2)
        valid = known if valid is None else valid & known
    if turned:
        samples = np.iinfo(samples.dtype).max - samples
    return samples, valid


def holds_floats(path: PathLike) -> bool:
    """Whether the samples of a TIFF file are floats. Its pixels are not read for this."""
    with _first_page(path) as page:
        return page.dtype is not None and page.dtype.kind == "f"


def read_valid(path: PathLike) -> Mask | None:
    """The pixels of a TIFF file that hold data, as `read_tiff` returns them. Pixels are read only if the file has an alpha channel or a nodata value."""
    with _first_page(path) as page:
        told = _has_alpha(page) or _nodata(page, path) is not None
    return read_tiff(path)[1] if told else None


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
        file, array, photometric="rgb" if array.ndim == 3 else "minisblack", metadata=None, software=False, extratags=extra
    )
    write_bytes(path, file.getvalue())


@contextlib.contextmanager
def _first_page(path: PathLike) -> Iterator[Any]:
    """The object of tifffile for the first page that holds an image at full size, after checking that its size may be read."""
    import tifffile

    check_file(path)
    try:
        with tifffile.TiffFile(path) as file:
            pages: list[Any] = file.pages[:_LOOKED_AT]
            page = next((page for page in pages if not page.subfiletype & (_REDUCED | _MASK)), file.pages[0])
            _check(page, file.filehandle.size, path)
            yield page
    except (StereoFrameworkError, MemoryError, Warning):
        raise
    except Exception as error:  # whatever its parser raises on bytes that are no TIFF
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(f"{path}: is damaged, truncated or not an image: {reason}") from None


def _check(page: Any, size: int, path: PathLike) -> None:
    """Raise DataError for an image that cannot be read, before memory is allocated for it."""
    columns, rows, bands = page.imagewidth, page.imagelength, page.samplesperpixel
    # A damaged tag may hold several numbers, of which a product would be a longer list.
    if not all(isinstance(number, int) for number in (columns, rows, page.tilewidth, page.tilelength)):
        raise DataError(f"{path}: is damaged, truncated or not an image: its width and height are not one number each")
    for wide, high in ((columns, rows), (page.tilewidth, page.tilelength)):
        limits.check_pixels(wide, high, path)
    if columns < 1 or rows < 1 or page.imagedepth != 1:
        raise DataError(f"{path}: is damaged, truncated or not an image: it says {columns}x{rows}x{page.imagedepth} pixels")
    if bands not in (1, 2, 3, 4) or (bands == 4 and page.photometric == _GREY):
        raise DataError(
            f"{path}: has {bands} bands; expected grey or RGB, with or without alpha: write the bands that are meant into a file"
        )
    ends = [at + count for at, count in zip(page.dataoffsets, page.databytecounts, strict=True)]
    parts = math.prod(page.chunked)
    if len(ends) < parts:
        raise DataError(f"{path}: is damaged: it says where {len(ends)} of the {parts} parts of its image are")
    if not ends or max(ends) > size:
        raise DataError(f"{path}: is truncated: its pixels end at byte {max(ends, default=0)}, the file at {size}")


def _samples(page: Any, path: PathLike) -> NDArray[Any]:
    """All samples, ``(rows, columns[, bands])``, colours in RGB order."""
    bands, bits = page.samplesperpixel, page.bitspersample
    if bits not in _BITS or page.photometric not in (_WHITE, _GREY, _RGB, _PALETTE, _YCBCR):
        kind = getattr(page.photometric, "name", page.photometric)
        raise DataError(
            f"{path}: holds {kind} samples of {bits} bits, which are not read; write grey or RGB, as 'gdal_translate -co NBITS=16' does"
        )
    if page.dtype is None or page.dtype.kind not in "buif":
        raise DataError(f"{path}: holds {page.dtype or 'unknown'} samples; expected real numbers")
    array = np.asarray(page.asarray(maxworkers=1))
    array = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    if array.dtype == bool:
        array = array * np.uint8(255)
    if page.photometric == _PALETTE:
        return np.moveaxis(page.colormap[:, array] >> 8, 0, -1).astype(np.uint8)
    shape = (page.imagelength, page.imagewidth)
    if page.planarconfig == _SEPARATE and bands > 1:
        return np.moveaxis(array.reshape(bands, *shape), 0, -1)
    return array.reshape(*shape, *([bands] if bands > 1 else []))


def _has_alpha(page: Any) -> bool:
    """Whether the last band is transparency. A file of four bands that does not say what the fourth one is counts as RGBA, as OpenCV writes it."""
    if page.photometric not in (_WHITE, _GREY, _RGB) or page.samplesperpixel not in (2, 4):
        return False
    return not page.extrasamples or int(page.extrasamples[0]) in (_ASSOCIATED, _UNASSOCIATED)


def _nodata(page: Any, path: PathLike) -> float | None:
    """The value of GDAL's nodata tag, if samples can have it; otherwise None."""
    tag = page.tags.get(_NODATA)
    try:
        value = float(str(tag.value).strip("\0 ")) if tag is not None else np.nan
    except ValueError:
        return None
    if page.dtype is None or np.isnan(value):  # NaN needs no telling
        return None
    if page.dtype.kind in "ui":
        limit = np.iinfo(page.dtype)
        if not value.is_integer() or not limit.min <= value <= limit.max:
            return None
    if page.photometric in (_PALETTE, _YCBCR) or page.bitspersample == 1:
        raise DataError(
            f"{path}: has a nodata value, {value:g}, which is lost where {getattr(page.photometric, 'name', page.photometric)} of {page.bitspersample} bits "
            "becomes intensities; write it as grey or RGB of 8, 16 or 32 bits"
        )
    return value
