"""Read and write images and disparity maps in TIFF and GeoTIFF files.

The library tifffile reads the files, and imagecodecs decompresses the pixels.
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
"""First four bytes of TIFF and BigTIFF files."""

_GEOTIFF_TAGS = (33550, 33922, 34264, 34735, 34736, 34737)
"""Codes of the TIFF tags for the position of an image on the earth.

Section 7.1 of the standard GeoTIFF 1.1 defines the tags.
"""

_NODATA_TAG = 42113
"""Code of GDAL's nodata tag, which contains a text such as ``-9999``."""

_GREY = 1
_RGB = 2
_YCBCR = 6
"""Supported colour encodings: grey with 0 as black, RGB, and YCbCr (JPEG)."""

_REDUCED = 1
"""Bit of the NewSubfileType tag for a reduced version of another image."""

_ALPHA = (1, 2)
"""Values of the ExtraSamples tag for a premultiplied and a plain alpha channel."""

_AXES = ("YX", "YXS", "SYX")
"""Supported orders of rows (Y), columns (X) and channels (S) in a TIFF file."""

GeoTags = Sequence[tuple[int, int, int, Any]]
"""TIFF tags as tuples of tag code, data type, count and value."""

# The log of tifffile is not shown. The exceptions of tifffile contain the same text.
logging.getLogger("tifffile").addHandler(logging.NullHandler())


def is_tiff(path: PathLike) -> bool:
    """Return whether a file begins like a TIFF file.

    Raises
    ------
    DataError
        The file does not exist or cannot be read.
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
        Path of the TIFF file.
    exact : bool
        Whether lossy compression is an error. Use True for disparity maps and masks.

    Returns
    -------
    samples : ndarray, (rows, columns) or (rows, columns, 3) RGB
        Grey or RGB values in the data type of the file, without the alpha channel.
    valid : ndarray, bool, (rows, columns), or None
        Mask that is False at transparent pixels and at pixels with GDAL's nodata value.
        The mask is None if the file has no alpha channel and no nodata value.

    Raises
    ------
    DataError
        The file is missing, damaged or truncated. The image is too large, or neither
        grey nor RGB. The compression is lossy, and `exact` is True.
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
    """Warn if a TIFF file has a second image, because only the first image is read.

    A reduced version of the first image causes no warning.
    """
    pages = page.parent.pages
    if len(pages) > 1 and not pages[1].subfiletype & _REDUCED:
        message = f"{path}: the file has several images or a mask; only the first image is read"
        warn([message], DataWarning)


def _has_alpha(page: Any, samples: NDArray[Any]) -> bool:
    """Return whether the last channel of an image is an alpha channel.

    OpenCV does not mark the alpha channel. An unmarked second or fourth channel
    therefore counts as alpha.
    """
    if samples.shape[2:] not in ((2,), (4,)):
        return False
    return not page.extrasamples or int(page.extrasamples[0]) in _ALPHA


def _has_data(samples: NDArray[Any], nodata: float) -> Mask:
    """Return a mask that is False at pixels with the nodata value in all channels."""
    # The nodata value is often the lowest float64. NumPy would print a warning when the
    # value becomes -inf in float32.
    with np.errstate(over="ignore"):
        differs: Any = samples != samples.dtype.type(nodata)
    if differs.ndim == 3:
        differs = differs.any(axis=2)
    has_data: Mask = differs
    return has_data


def geo_tags(path: PathLike) -> GeoTags:
    """Return the GeoTIFF tags for the position of an image on the earth.

    The result is empty if the file is not a GeoTIFF file.
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
                # GeoTIFF allows only ASCII text, so question marks replace other
                # characters.
                value = value.encode("ascii", "replace").decode()
                # For the count 0, tifffile counts the characters of the text.
                count = 0
            tags.append((tag.code, int(tag.dtype), count, value))
    return tags


def write_float_tiff(path: PathLike, array: NDArray[np.float32], tags: GeoTags = ()) -> None:
    """Write a disparity map or an image to a TIFF file with float32 values.

    Parameters
    ----------
    path : path-like
        Path of the new file.
    array : ndarray, float32, (rows, columns) or (rows, columns, 3)
        Values of the new file. GDAL's nodata tag in the file marks NaN as unknown.
    tags : sequence, optional
        GeoTIFF tags of the new file. A disparity map usually has the tags of the input
        image, which `geo_tags` returns.
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
    """Open a TIFF file, and yield the `TiffPage` of its first image.

    The size and the data type of the image are checked. Exceptions of tifffile inside
    the ``with`` block become a DataError.
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
    except Exception as error:
        # tifffile may raise any exception if the file is damaged.
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        message = (
            f"{path}: the file may be damaged, truncated or not an image: {reason}; "
            "replace it by an undamaged copy, or save it again as a plain TIFF or PNG"
        )
        raise DataError(message) from None


def _check_page(page: Any, file_size: int, path: PathLike) -> None:
    """Raise an error if an image is too large, unsupported or incomplete.

    Raises
    ------
    DataError
        The image has too many pixels. The number of channels or the data type is not
        supported. Parts of the image are missing.
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
    """Raise an error if an image is neither grey nor RGB."""
    bands = page.samplesperpixel
    is_grey_with_extra_bands = bands == 4 and page.photometric == _GREY
    if bands not in (1, 2, 3, 4) or is_grey_with_extra_bands or page.axes not in _AXES:
        message = (
            f"{path}: the image has {bands} bands; expected grey or RGB, with or without alpha; "
            "save the bands that are needed in a new file"
        )
        raise DataError(message)


def _check_sample_type(page: Any, path: PathLike) -> None:
    """Raise an error if samples are not integers or floats of 8, 16, 32 or 64 bits."""
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
    """Return the value of GDAL's nodata tag, such as -9999.

    The result is None if the tag is missing or is not a number. Values outside the data
    type, such as -9999 for unsigned integers, are ignored.
    """
    tag = page.tags.get(_NODATA_TAG)
    if tag is None:
        return None
    try:
        value = parse_number(str(tag.value).strip("\0 "), finite=False)
    except ValueError:
        return None
    # NaN counts as unknown even without a nodata tag.
    if np.isnan(value):
        return None
    if page.dtype.kind in "ui":
        type_range = np.iinfo(page.dtype)
        if not value.is_integer() or not type_range.min <= value <= type_range.max:
            return None
    return value
