"""Arrays in ``.npy`` files and archives of them (``.npz``).

The data are read by code of our own, because numpy allocates what a header asks for before it checks how much data there is.
"""

from __future__ import annotations

import io
import math
import zipfile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError
from stereo_framework.io._files import PathLike, read_bytes

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_numpy(path: PathLike) -> NDArray[np.float32]:
    """The array in a ``.npy`` file, or the first one in a ``.npz`` archive, as float32. Values that overflow become infinite.

    Raises
    ------
    DataError
        The file is missing or damaged, or holds no array or something other than real numbers.
    """
    data = read_bytes(path)
    try:
        array = _first(data) if data.startswith(b"PK") else _array(io.BytesIO(data), len(data))
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except Exception as error:  # whatever the parsers of headers and archives raise on bytes that are neither
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(f"{path}: is damaged or not a numpy file: {reason}") from None
    with np.errstate(all="ignore"):
        return array.astype(np.float32)


def _first(data: bytes) -> NDArray:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if not archive.infolist():
            raise DataError("holds no array")
        member = archive.infolist()[0]
        with archive.open(member) as file:
            return _array(file, member.file_size)


def _array(file: IO[bytes], size: int) -> NDArray:
    """The array in a file of `size` bytes. Its data are read only if there are as many bytes as the header says."""
    version = np.lib.format.read_magic(file)
    shape, fortran_order, dtype = _HEADERS[version](file)
    if not (np.issubdtype(dtype, np.floating) or np.issubdtype(dtype, np.integer)):
        raise DataError(f"holds {dtype}; expected numbers")
    needed, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if min(shape, default=1) < 1 or needed != there:
        raise DataError(
            f"is damaged or not a numpy file: shape {shape} needs {needed} bytes after the header, the file has {there}"
        )
    # The size of an archive says little about the size of what it holds.
    channels = math.prod(shape[2:])
    limits.check_pixels(math.prod(shape[1:2]) * (channels if channels > 4 else 1), math.prod(shape[:1]))
    return np.frombuffer(file.read(needed), dtype).reshape(shape, order="F" if fortran_order else "C")
