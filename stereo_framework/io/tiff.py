"""TIFF files: images and maps, with GDAL's nodata value and GeoTIFF tags.

The library tifffile reads the files, and calls imagecodecs to decode compressed ones.
"""

import contextlib
import io
import logging
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, DataWarning, StereoFrameworkError, warn
from stereo_framework.core.scene import Mask
from stereo_framework.io.files import PathLike, check_file
from stereo_framework.io.numbers import parse_number
from stereo_framework.io.output_folders import write_bytes
from stereo_framework.io.tiff_compression import check_lossless

_BEGINNINGS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
"""First bytes of TIFF files, and of the variant for files above 4 GB."""

_GEOTIFF_TAGS = (33550, 33922, 34264, 34735, 34736, 34737)
"""Tags for pixel scale, tie points, transformation, and the three parts of the keys.

They are defined in section 7.1 of GeoTIFF 1.1.
"""

_NODATA_TAG = 42113
"""GDAL's tag for the value that means no data. The tag holds a text."""

_GREY = 1
_RGB = 2
_YCBCR = 6
"""Photometric interpretations: grey with black as 0, RGB, and the colours of JPEG."""

_REDUCED = 1
"""Bit in the type of a page: the page is a smaller version of another page."""

_ALPHA = (1, 2)
"""Kinds of an extra sample for transparency: premultiplied and not premultiplied."""

_AXES = ("YX", "YXS", "SYX")
"""Supported orders of rows (Y), columns (X) and samples (S) of a pixel."""

GeoTags = Sequence[tuple[int, int, int, Any]]
"""TIFF tags, each with its code, type, count and value."""

# The errors of tifffile contain all that its log contains.
logging.getLogger("tifffile").addHandler(logging.NullHandler())


def is_tiff(path: PathLike) -> bool:
    """Return whether a file begins like a TIFF file.

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
        message = f"{path}: the file cannot be read: {error.strerror}"
        raise DataError(message) from None


def read_tiff(path: PathLike, *, exact: bool = False) -> tuple[NDArray[Any], Mask | None]:
    """Read the first image of a TIFF file.

    Parameters
    ----------
    path : path-like
        The file.
    exact : bool
        Whether an image is refused if its compression has changed its values. This is
        necessary for disparity maps and masks.

    Returns
    -------
    samples : ndarray, (rows, columns) or (rows, columns, 3) RGB
        Samples as stored, of any numeric type.
    valid : ndarray, bool, (rows, columns), or None
        The pixels that have data according to the alpha channel and GDAL's nodata
        value. None if the file has neither.

    Raises
    ------
    DataError
        The file is missing, damaged or truncated, or its image is larger than the
        limit, neither grey nor RGB, or not exact.
    """
    with _first_page(path) as page:
        if exact:
            check_lossless(page, path)
        _warn_of_further_pages(page, path)
        samples = np.asarray(page.asarray(maxworkers=1))
        nodata = _nodata_value(page)
        if page.axes == "SYX":
            samples = np.moveaxis(samples, 0, -1)
        has_alpha = _has_alpha(page, samples)
    samples = samples.astype(samples.dtype.newbyteorder("="), copy=False)
    valid = samples[..., -1] > 0 if has_alpha else None
    if samples.ndim == 3:
        colours = samples[..., 0] if samples.shape[2] == 2 else samples[..., :3]
        samples = np.ascontiguousarray(colours)
    if nodata is not None:
        has_data = _has_data(samples, nodata)
        valid = has_data if valid is None else valid & has_data
    return samples, valid


def _warn_of_further_pages(page: Any, path: PathLike) -> None:
    """Warn if a file has a second image that is not a smaller version of the first."""
    pages = page.parent.pages
    if len(pages) > 1 and not pages[1].subfiletype & _REDUCED:
        message = f"{path}: the file has several images or a mask, of which the first image is read"
        warn([message], DataWarning)


def _has_alpha(page: Any, samples: NDArray[Any]) -> bool:
    """Return whether the last band of an image is its transparency.

    A last band that the file does not describe counts as transparency, because OpenCV
    writes such files.
    """
    if samples.shape[2:] not in ((2,), (4,)):
        return False
    return not page.extrasamples or int(page.extrasamples[0]) in _ALPHA


def _has_data(samples: NDArray[Any], nodata: float) -> Mask:
    """Return the pixels in which at least one channel differs from the nodata value."""
    # GDAL's lowest number may become -inf when it is rounded to float32.
    with np.errstate(over="ignore"):
        differs: Any = samples != samples.dtype.type(nodata)
    if differs.ndim == 3:
        differs = differs.any(axis=2)
    has_data: Mask = differs
    return has_data


def geo_tags(path: PathLike) -> GeoTags:
    """Return the GeoTIFF tags of a file, which georeference its pixels.

    The result is empty for a file of another format.
    """
    if not is_tiff(path):
        return ()
    tags: list[tuple[int, int, int, Any]] = []
    with _first_page(path) as page:
        for code in _GEOTIFF_TAGS:
            if code not in page.tags:
                continue
            tag = page.tags[code]
            count = tag.count
            value = tag.value
            if isinstance(value, str):
                # The format allows only ASCII text. Other characters are replaced.
                value = value.encode("ascii", "replace").decode()
                # With the count 0, tifffile counts the characters itself.
                count = 0
            tags.append((tag.code, int(tag.dtype), count, value))
    return tags


def write_float_tiff(path: PathLike, array: NDArray[np.float32], tags: GeoTags = ()) -> None:
    """Write a map or an image as a TIFF file of floats.

    Parameters
    ----------
    path : path-like
        The file.
    array : ndarray, float32, (rows, columns) or (rows, columns, 3)
        The values. The file declares NaN as its nodata value.
    tags : sequence, optional
        GeoTIFF tags, from `geo_tags`.
    """
    import tifffile

    file = io.BytesIO()
    extra_tags: list[Any] = [(*tag, True) for tag in tags]
    extra_tags.append((_NODATA_TAG, "s", 0, "nan", True))
    photometric = "rgb" if array.ndim == 3 else "minisblack"
    tifffile.imwrite(
        file,
        array,
        photometric=photometric,
        metadata=None,
        software=False,
        extratags=extra_tags,
    )
    write_bytes(path, file.getvalue())


@contextlib.contextmanager
def _first_page(path: PathLike) -> Iterator[Any]:
    """Open a file, and yield tifffile's object for its first page.

    The page is checked before its samples are read. An error of tifffile inside the
    block becomes a DataError.
    """
    import tifffile

    check_file(path)
    try:
        with tifffile.TiffFile(path) as file:
            page: Any = file.pages[0]
            _check_page(page, file.filehandle.size, path)
            yield page
    except (StereoFrameworkError, MemoryError, Warning):
        raise
    except Exception as error:  # tifffile may raise anything if the file is damaged.
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        message = (
            f"{path}: the file may be damaged, truncated or not an image: {reason}; "
            "replace it by an undamaged copy, or save it again as a plain TIFF or PNG"
        )
        raise DataError(message) from None


def _check_page(page: Any, file_size: int, path: PathLike) -> None:
    """Refuse an image that cannot be read, before memory is allocated for it.

    Raises
    ------
    DataError
        The image is too large, its samples are not supported, or a part of it is
        missing.
    """
    limits.check_pixels(int(page.imagewidth), int(page.imagelength), path)
    limits.check_pixels(int(page.tilewidth), int(page.tilelength), path)
    _check_bands(page, path)
    _check_sample_type(page, path)
    segment_ends = [
        offset + size for offset, size in zip(page.dataoffsets, page.databytecounts, strict=True)
    ]
    has_all_segments = len(segment_ends) >= math.prod(page.chunked)
    if 0 in page.shape or not has_all_segments or max(segment_ends) > file_size:
        message = (
            f"{path}: the file is damaged or truncated: parts of its image are not in the file"
        )
        raise DataError(message)


def _check_bands(page: Any, path: PathLike) -> None:
    """Refuse an image that is neither grey nor RGB, with or without alpha."""
    bands = page.samplesperpixel
    is_grey_with_extra_bands = bands == 4 and page.photometric == _GREY
    if bands not in (1, 2, 3, 4) or is_grey_with_extra_bands or page.axes not in _AXES:
        message = (
            f"{path}: the image has {bands} bands; expected grey or RGB, with or without alpha; "
            "write the bands that are needed into a file"
        )
        raise DataError(message)


def _check_sample_type(page: Any, path: PathLike) -> None:
    """Refuse samples that are not integers or floats of 8, 16, 32 or 64 bits."""
    bits = page.bitspersample
    photometric = page.photometric
    is_number = page.dtype is not None and page.dtype.kind in "uif"
    has_whole_bytes = bits in (8, 16, 32, 64)
    if not has_whole_bytes or photometric not in (_GREY, _RGB, _YCBCR) or not is_number:
        name = getattr(photometric, "name", photometric)
        message = (
            f"{path}: the image has {name} samples of {bits} bits ({page.dtype}), which are not "
            "read; write grey or RGB, for example with 'gdal_translate -co NBITS=16'"
        )
        raise DataError(message)


def _nodata_value(page: Any) -> float | None:
    """Return the value of GDAL's nodata tag; None if no sample can have this value."""
    tag = page.tags.get(_NODATA_TAG)
    if tag is None:
        return None
    try:
        value = parse_number(str(tag.value).strip("\0 "), finite=False)
    except ValueError:
        return None
    # Samples that are NaN are unknown in any case.
    if np.isnan(value):
        return None
    if page.dtype.kind in "ui":
        type_range = np.iinfo(page.dtype)
        if not value.is_integer() or not type_range.min <= value <= type_range.max:
            return None
    return value
