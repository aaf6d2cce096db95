"""The EXIF orientation of images: how a stored image is turned to be upright."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.io._files import PathLike

UPRIGHT = 1
"""The orientation of an image whose rows are stored as they are shown."""

_TAG = 0x0112
_PNG = b"\x89PNG\r\n\x1a\n"
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


def orientation_of(path: PathLike) -> int:
    """Return the EXIF orientation of an image file.

    Returns
    -------
    int
        From 1 to 8; 1 for an upright image, for a file without the tag, and for a path
        that is no readable image.
    """
    path = Path(path)
    try:
        with open(path, "rb") as file:
            start = file.read(16)
            if start.startswith(_TIFF):
                return _of_tiff(path)
            if start.startswith(_PNG):
                return _of_exif(_exif_of_png(start + file.read()))
            if start.startswith(b"\xff\xd8") or (
                start.startswith(b"RIFF") and start[8:12] == b"WEBP"
            ):
                return _of_jpeg_or_webp(start + file.read())
    except (OSError, ValueError):
        pass
    return UPRIGHT


def turned_upright(image: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Return an image as programs show it.

    Parameters
    ----------
    image : ndarray, (rows, columns) or (rows, columns, channels)
        As stored. It may be a masked array.
    orientation : int
        EXIF orientation, 1 to 8.

    Returns
    -------
    ndarray
        Contiguous. From 5 on rows and columns are exchanged.
    """
    if orientation == UPRIGHT:
        return image
    turned = np.swapaxes(image, 0, 1) if orientation >= 5 else image
    if orientation in (3, 4, 7, 8):
        turned = turned[::-1]
    if orientation in (2, 3, 6, 7):
        turned = turned[:, ::-1]
    return turned.copy()


def _valid(orientation: object) -> int:
    return orientation if isinstance(orientation, int) and 1 <= orientation <= 8 else UPRIGHT


def _of_jpeg_or_webp(data: bytes) -> int:
    import PIL.Image

    try:
        with PIL.Image.open(io.BytesIO(data)) as image:
            return _valid(image.getexif().get(_TAG, UPRIGHT))
    except Exception:  # Pillow may raise anything on a damaged header.
        return UPRIGHT


def _of_exif(block: bytes) -> int:
    """Return the orientation in a block of EXIF data."""
    import PIL.Image

    exif = PIL.Image.Exif()
    try:
        exif.load(block)
        return _valid(exif.get(_TAG, UPRIGHT))
    except Exception:  # Pillow may raise anything on a damaged block.
        return UPRIGHT


def _exif_of_png(data: bytes) -> bytes:
    """Return the content of the eXIf chunk of a PNG file; empty if there is none."""
    position = len(_PNG)
    while position + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, position)
        if kind == b"eXIf":
            return data[position + 8 : position + 8 + size]
        position += 12 + size
    return b""


def _of_tiff(path: Path) -> int:
    import tifffile

    try:
        with tifffile.TiffFile(path) as file:
            first_page: Any = file.pages[0]
            tag = first_page.tags.get(_TAG)
            return UPRIGHT if tag is None else _valid(int(tag.value))
    except Exception:  # tifffile may raise anything on a damaged file.
        return UPRIGHT
