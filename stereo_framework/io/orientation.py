"""Read the EXIF orientation of an image file, and turn the image upright.

A camera that is held sideways stores the image sideways. The EXIF orientation is a
number from 1 to 8. Image viewers rotate or mirror the image according to this number.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.io.files import PathLike
from stereo_framework.io.image_containers import JPEG, PNG

UPRIGHT = 1
"""EXIF orientation of an upright image."""

_ORIENTATION_TAG = 0x0112

_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


def orientation_of(path: PathLike) -> int:
    """Return the EXIF orientation of an image file.

    Returns
    -------
    int
        EXIF orientation from 1 to 8. The value 1 means upright. A file without an
        orientation tag and an unreadable file have the value 1.
    """
    path = Path(path)
    try:
        with open(path, "rb") as file:
            beginning = file.read(16)
            if beginning.startswith(_TIFF):
                return _tiff_orientation(path)
            if beginning.startswith(PNG):
                return _exif_orientation(_exif_of_png(beginning + file.read()))
            is_webp = beginning.startswith(b"RIFF") and beginning[8:12] == b"WEBP"
            if beginning.startswith(JPEG) or is_webp:
                return _jpeg_or_webp_orientation(beginning + file.read())
    except (OSError, ValueError):
        pass
    return UPRIGHT


def turned_upright(image: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Rotate and mirror an image according to its EXIF orientation.

    Parameters
    ----------
    image : ndarray, (rows, columns) or (rows, columns, channels)
        Image as stored in the file. Masked arrays are also allowed.
    orientation : int
        EXIF orientation of the image file, from 1 to 8.

    Returns
    -------
    ndarray
        The upright image as a contiguous array. An orientation of 5 or more exchanges
        rows and columns. For orientation 1, the result is the input array.
    """
    if orientation == UPRIGHT:
        return image
    turned = np.swapaxes(image, 0, 1) if orientation >= 5 else image
    if orientation in (3, 4, 7, 8):
        turned = turned[::-1]
    if orientation in (2, 3, 6, 7):
        turned = turned[:, ::-1]
    return turned.copy()


def _valid_orientation(value: object) -> int:
    """Return the value of an orientation tag, or 1 if the value is not valid."""
    return value if isinstance(value, int) and 1 <= value <= 8 else UPRIGHT


def _jpeg_or_webp_orientation(data: bytes) -> int:
    """Return the EXIF orientation of a JPEG or WebP file."""
    import PIL.Image

    try:
        with PIL.Image.open(io.BytesIO(data)) as image:
            return _valid_orientation(image.getexif().get(_ORIENTATION_TAG, UPRIGHT))
    except Exception:  # Pillow may raise any exception if the header is damaged.
        return UPRIGHT


def _exif_orientation(block: bytes) -> int:
    """Return the orientation in a block of EXIF data."""
    import PIL.Image

    exif = PIL.Image.Exif()
    try:
        exif.load(block)
        return _valid_orientation(exif.get(_ORIENTATION_TAG, UPRIGHT))
    except Exception:  # Pillow may raise any exception if the EXIF data are damaged.
        return UPRIGHT


def _exif_of_png(data: bytes) -> bytes:
    """Return the content of the eXIf chunk of a PNG file, or empty bytes."""
    position = len(PNG)
    while position + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, position)
        if kind == b"eXIf":
            return data[position + 8 : position + 8 + size]
        position += 12 + size
    return b""


def _tiff_orientation(path: Path) -> int:
    """Return the orientation tag of the first image in a TIFF file."""
    import tifffile

    try:
        with tifffile.TiffFile(path) as file:
            first_page: Any = file.pages[0]
            tag = first_page.tags.get(_ORIENTATION_TAG)
            return UPRIGHT if tag is None else _valid_orientation(int(tag.value))
    except Exception:  # tifffile may raise any exception if the file is damaged.
        return UPRIGHT
