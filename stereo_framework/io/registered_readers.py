"""Read disparity maps and images in file formats that plug-ins add with ``@reader``."""

import itertools
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
"""Allowed numbers of array dimensions."""


@checked()
def reader(suffix: str, *, kind: Literal["disparity", "image"]) -> Callable[[F], F]:
    """Register a function of a plug-in that reads a new file format.

    Write ``@reader(".dsp5", kind="disparity")`` above the function.

    Parameters
    ----------
    suffix : str
        File extension of the new format, such as ``".dsp5"``. Upper and lower case are
        equivalent.
    kind : {"disparity", "image"}
        Content of files with this extension:

        - "disparity": The function returns a disparity map, floats, (rows, columns), in
          pixels, with NaN for unknown disparities.
        - "image": The function returns an image, uint8 or float32, with intensities
          from 0 to 255. The shape is (rows, columns) or (rows, columns, 3).

    Returns
    -------
    callable
        Decorator that registers a function and returns the function unchanged. The
        function takes the `Path` of a file and returns an array.

    Raises
    ------
    ParameterError
        The `kind` is unknown, or `suffix` does not begin with a dot. Another module has
        already registered the extension.
    """
    if not suffix.startswith("."):
        message = f"reader {suffix!r}: the suffix must begin with a dot, for example '.dsp5'"
        raise ParameterError(message)
    return _READERS[kind].decorator(suffix.lower())


def registered_suffixes(kind: str) -> tuple[str, ...]:
    """Return the file extensions that plug-ins have registered.

    Parameters
    ----------
    kind : {"disparity", "image"}
        Content of the files.
    """
    return tuple(_READERS[kind])


def registered_readers() -> list[Read]:
    """Return the functions that plug-ins have registered for reading files."""
    return list(itertools.chain.from_iterable(registry.values() for registry in _READERS.values()))


def read_with_registered_reader(path: PathLike, kind: str) -> NDArray | None:
    """Read a file with the reader that a plug-in has registered for the extension.

    Parameters
    ----------
    path : path-like
        Path of the file.
    kind : {"disparity", "image"}
        Content of the file.

    Returns
    -------
    ndarray or None
        Array from the plug-in, or None if no plug-in has registered the file extension.

    Raises
    ------
    DataError
        The file is missing, the plug-in raises an error, or the plug-in returns a wrong
        value.
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
        # Plug-ins may raise any exception.
        event = f"its reader {read.__name__} failed"
        message = f"{path}: {describe_exception(error, read, event)}"
        raise DataError(message) from error

    is_array = isinstance(array, np.ndarray)
    if not is_array or array.ndim not in _DIMENSIONS[kind] or array.dtype.kind not in "fui":
        result = f"a {type(array).__name__}"
        if is_array:
            result = f"an array of {array.dtype} {array.shape}"
        dimensions = " or ".join(map(str, _DIMENSIONS[kind]))
        message = (
            f"{path}: its reader {read.__module__}.{read.__name__} returned {result}; expected an "
            f"array of integers or floats with {dimensions} dimensions"
        )
        raise DataError(message)
    return array
