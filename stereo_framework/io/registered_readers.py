"""Readers of further file formats, which plug-ins register with ``@reader``."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import (
    DataError,
    ParameterError,
    StereoFrameworkError,
    describe_exception,
)
from stereo_framework.core.registry import Registry
from stereo_framework.io.files import PathLike

Read = Callable[[Path], NDArray]
F = TypeVar("F", bound=Read)

_READERS: dict[str, Registry[Read]] = {
    kind: Registry(f"reader of {kind}s", {}) for kind in ("disparity", "image")
}

_DIMENSIONS = {"disparity": (2,), "image": (2, 3)}
"""Allowed numbers of dimensions of the array that a reader returns, by its kind."""


@checked()
def reader(suffix: str, *, kind: Literal["disparity", "image"]) -> Callable[[F], F]:
    """Register a function that reads files with a suffix.

    Parameters
    ----------
    suffix : str
        Ending of the names of the files, such as ``".dsp5"``. Upper and lower case are
        equal.
    kind : {"disparity", "image"}
        Content of the files:

        - "disparity": The function returns a disparity map, floats, (rows, columns), in
          pixels, with NaN for unknown disparities.
        - "image": The function returns an image, uint8 or float32, (rows, columns) or
          (rows, columns, 3), with intensities 0..255.

    Returns
    -------
    callable
        A decorator. It registers a function that takes a `Path`, and returns this
        function unchanged.

    Raises
    ------
    ParameterError
        There is no such kind, or another module reads this suffix.
    """
    if not suffix.startswith("."):
        message = f"reader {suffix!r}: the suffix must begin with a dot, for example '.dsp5'"
        raise ParameterError(message)
    return _READERS[kind].decorator(suffix.lower())


def registered_suffixes(kind: str) -> tuple[str, ...]:
    """Return the suffixes of files for which plug-ins have registered a reader."""
    return tuple(_READERS[kind])


def read_with_registered_reader(path: PathLike, kind: str) -> NDArray | None:
    """Return what the reader for a file's suffix returns; None if there is no reader.

    Raises
    ------
    DataError
        The file is missing, or the reader raises an error or returns something else
        than an array of its kind.
    """
    file = Path(path)
    read = _READERS[kind].get(file.suffix.lower())
    if read is None:
        return None
    if not file.is_file():
        message = f"{path}: no such file"
        raise DataError(message)
    try:
        array = read(file)
    except StereoFrameworkError:
        raise
    except (Exception, SystemExit) as error:
        # A plug-in may raise anything.
        event = f"its reader {read.__name__} failed"
        message = f"{path}: {describe_exception(error, read, event)}"
        raise DataError(message) from error

    is_array = isinstance(array, np.ndarray)
    if not is_array or array.ndim not in _DIMENSIONS[kind] or array.dtype.kind not in "fui":
        result = f"a {type(array).__name__}"
        if is_array:
            result = f"an array of {array.dtype} {array.shape}"
        message = f"{path}: its reader {read.__module__}.{read.__name__} returned {result}"
        raise DataError(message)
    return array
