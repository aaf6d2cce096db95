"""PFM files: float32 samples, bottom row first. They are read by code of our own, because OpenCV divides the values by the scale in the header."""

from __future__ import annotations

import math
import os
import re

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError
from stereo_framework.io._files import PathLike, read_bytes, write_bytes

_HEADER = re.compile(rb"P([fF])\s+(\d{1,9})\s+(\d{1,9})\s+([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?=\s)")


def read_pfm(path: PathLike) -> NDArray[np.float32]:
    """Read a PFM file.

    Parameters
    ----------
    path : path-like
        Grey (``Pf``) or colour (``PF``). A negative scale means little-endian; the size of the scale is ignored.

    Returns
    -------
    ndarray, float32, (rows, columns) or (rows, columns, 3)
        Values as stored, NaN and infinities included, top row first.

    Raises
    ------
    DataError
        The file is missing, has no legal header, or has more or less data than the header says.

    Notes
    -----
    One white-space character (or CR LF) ends the header. Further ones count as part of it only if the length of the data shows that they do.
    """
    data = read_bytes(path)

    def wrong(said: str) -> DataError:
        return DataError(f"{path}: {said}")

    header = _HEADER.match(data)
    if header is None:
        raise wrong(f"is not a PFM file: expected 'Pf' or 'PF', width, height and scale, found {data[:16].decode('latin-1')!r}")
    columns, rows, scale, channels = int(header[2]), int(header[3]), float(header[4]), 3 if header[1] == b"F" else 1
    if rows == 0 or columns == 0 or scale == 0 or not math.isfinite(scale):
        raise wrong(
            f"the PFM header says {columns}x{rows}, scale {header[4].decode()}; legal: sizes from 1, a scale other than 0"
        )
    needed = 4 * rows * columns * channels
    start = header.end() + (2 if data[header.end() : header.end() + 2] == b"\r\n" else 1)
    if len(data) - start != needed and not data[header.end() : len(data) - needed].strip():
        start = max(start, len(data) - needed)
    if len(data) - start != needed:
        what = "is truncated" if len(data) - start < needed else "has data after its end"
        raise wrong(f"{what}: {columns}x{rows} needs {needed} bytes after the header, the file has {len(data) - start}")
    values = np.frombuffer(data, "<f4" if scale < 0 else ">f4", offset=start).astype(np.float32)
    return np.ascontiguousarray(values.reshape(rows, columns, *(3,) * (channels == 3))[::-1])


def is_whole(path: PathLike) -> bool:
    """Whether a file that `write_pfm` wrote has all of its bytes; only the first of them are read."""
    with open(path, "rb") as file:
        header = _HEADER.match(file.read(100))
        size = file.seek(0, os.SEEK_END)
    return header is not None and size == header.end() + 1 + 4 * int(header[2]) * int(header[3]) * (3 if header[1] == b"F" else 1)


def write_pfm(path: PathLike, array: NDArray) -> None:
    """Write a PFM file, little-endian with scale -1.

    Parameters
    ----------
    path : path-like
    array : ndarray of floats, (rows, columns) or (rows, columns, 3)
        Stored as float32, NaN and infinities included.

    Raises
    ------
    DataError
        The array has another shape, or the file cannot be written.
    """
    array = np.asarray(array)
    if array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,)) or array.size == 0:
        raise DataError(f"{path}: an array of shape {array.shape} does not fit a PFM file; expected (rows, columns[, 3])")
    header = f"{'PF' if array.ndim == 3 else 'Pf'}\n{array.shape[1]} {array.shape[0]}\n-1.0\n".encode()
    write_bytes(path, header + array[::-1].astype("<f4").tobytes())
