"""Raw PGM and PPM files (P5, P6) with 8 and 16 bits.

This is code of our own, because OpenCV does not return the largest grey value in the header, by which intensities are scaled.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError
from stereo_framework.io._files import PathLike

_SPACE = rb"(?:\s|#[^\n\r]*[\n\r])"
_HEADER = re.compile(rb"P([56])" + 2 * (_SPACE + rb"+(\d{1,9})") + _SPACE + rb"+(\d{1,9})\s")


def decode_netpbm(data: bytes, path: PathLike) -> tuple[NDArray[Any], int]:
    """The samples as stored, and the largest grey value in the header.

    Parameters
    ----------
    data : bytes
        The whole file; comments in the header may stand anywhere.
    path : path-like
        For messages.

    Returns
    -------
    samples : ndarray, uint8 or uint16, (rows, columns) or (rows, columns, 3) RGB
    largest : int
        1..65535; files above 255 have two bytes a sample.

    Raises
    ------
    DataError
        There is no header, the size is 0, or there are fewer or larger samples than the header says.
    """
    header = _HEADER.match(data)
    if header is None:
        raise DataError(f"{path}: starts with {data[:2].decode('latin-1')!r} but has no legal header of a raw PGM or PPM")
    kind, columns, rows, largest = map(int, header.groups())
    if rows == 0 or columns == 0 or not 0 < largest < 65536:
        raise DataError(f"{path}: the header says {columns}x{rows}, largest grey {largest}; legal: sizes from 1, grey 1..65535")
    shape = (rows, columns, 3) if kind == 6 else (rows, columns)
    dtype, needed = np.dtype(np.uint8 if largest < 256 else ">u2"), math.prod(shape)
    there = (len(data) - header.end()) // dtype.itemsize
    if there < needed:
        raise DataError(f"{path}: is truncated: {columns}x{rows} needs {needed} samples after the header, the file has {there}")
    samples = np.frombuffer(data, dtype, needed, header.end()).reshape(shape)
    if samples.max() > largest:
        raise DataError(f"{path}: holds grey {samples.max()} above the {largest} of its header")
    return samples.astype(np.uint8 if largest < 256 else np.uint16), largest
