"""The door for file formats of one's own: ``@reader``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError, ParameterError, StereoFrameworkError, told
from stereo_framework.core.registry import Registry
from stereo_framework.io._files import PathLike

Read = Callable[[Path], NDArray]
F = TypeVar("F", bound=Read)

_READERS: dict[str, Registry[Read]] = {kind: Registry(f"reader of {kind}s", {}) for kind in ("disparity", "image")}


def reader(suffix: str, *, kind: Literal["disparity", "image"]) -> Callable[[F], F]:
    """Register a function that reads files of a suffix.

    Parameters
    ----------
    suffix : str
        As ``".dsp5"``; upper and lower case are alike.
    kind : {"disparity", "image"}
        A disparity map: the function returns floats, (rows, columns), pixels, NaN = unknown. An image: uint8 or float32 0..255, (rows, columns) or
        (rows, columns, 3).

    Returns
    -------
    callable
        A decorator for a function of a `Path`, which it returns as it is.

    Raises
    ------
    ParameterError
        There is no such kind, or another module reads this suffix.
    """
    if kind not in _READERS:
        raise ParameterError(f"reader {suffix}: no such kind {kind!r}; legal: {', '.join(_READERS)}")

    def register(function: F) -> F:
        _READERS[kind].add(suffix.lower(), function, function.__module__)
        return function

    return register


def own_suffixes(kind: str) -> tuple[str, ...]:
    """The suffixes of files that somebody's readers read."""
    return tuple(_READERS[kind])


def own_read(path: PathLike, kind: str) -> NDArray | None:
    """What somebody's reader makes of a file; None where there is none for its suffix.

    Raises
    ------
    DataError
        The file is missing, or the reader raises or returns something else.
    """
    read = _READERS[kind].get(Path(path).suffix.lower())
    if read is None:
        return None
    if not Path(path).is_file():
        raise DataError(f"{path}: no such file")
    try:
        found = read(Path(path))
    except StereoFrameworkError:
        raise
    except Exception as error:
        raise DataError(f"{path}: {told(error, read, f'its reader {read.__name__} failed')}") from error
    dimensions = (2,) if kind == "disparity" else (2, 3)
    if not isinstance(found, np.ndarray) or found.ndim not in dimensions or found.dtype.kind not in "fui":
        said = f"an array of {found.dtype} {found.shape}" if isinstance(found, np.ndarray) else f"a {type(found).__name__}"
        raise DataError(f"{path}: its reader {read.__module__}.{read.__name__} returned {said}")
    return found
