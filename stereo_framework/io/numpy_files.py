"""Arrays in ``.npy`` files and archives of them (``.npz``)."""

from __future__ import annotations

import io
import zipfile

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError
from stereo_framework.io._files import PathLike, read_bytes


def read_numpy(path: PathLike) -> NDArray[np.float32]:
    """The array in a ``.npy`` file, or the first one in a ``.npz`` archive, as float32. Values that overflow become infinite.

    Raises
    ------
    DataError
        The file is missing or damaged, or holds no array or something other than real numbers.
    """
    data = read_bytes(path)
    try:
        if data.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                first = archive.infolist()[0]
                if first.file_size > limits.most_bytes():
                    raise DataError(f"{path}: unpacks to {first.file_size} bytes; too many are not read ({limits.RAISED})")
                data = archive.read(first)
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except DataError:
        raise
    except Exception as error:  # whatever the parsers of headers and archives raise on bytes that are neither
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(f"{path}: is damaged or not a numpy file: {reason}") from None
    if array.dtype.kind not in "fiu" or array.size == 0:
        raise DataError(f"{path}: holds {array.dtype} of shape {array.shape}; expected numbers")
    with np.errstate(over="ignore"):
        return array.astype(np.float32)
