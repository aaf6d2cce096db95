"""Any Python function as a matcher."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from stereo_framework.errors import ParameterError, StereoFrameworkError
from stereo_framework.matcher._outside import FilePaths, existing, left_and_right, taken
from stereo_framework.parameters import Located
from stereo_framework.scene import Disparity, Image, Search
from stereo_framework.stage import import_file, stage


def _started(function: str, folder: Path) -> str:
    """The function's name, with the path of its file, if it names one, resolved from the folder."""
    module, colon, name = function.rpartition(":")
    return f"{folder / Path(module).expanduser()}{colon}{name}" if module.endswith(".py") else function


def _module_file(function: str) -> Path:
    """The source file of a function's module, found without importing it."""
    module, colon, name = function.rpartition(":")
    if not colon or not module or not name.isidentifier():
        raise ParameterError(f"python.function: {function!r} is not PACKAGE.MODULE:FUNCTION or FILE.py:FUNCTION")
    if module.endswith(".py"):
        return existing("python.function", [module])[0]
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        found = None
    if found is None or found.origin is None:
        raise ParameterError(
            f"python.function: no module {module!r} can be imported; legal: PACKAGE.MODULE:FUNCTION or FILE.py:FUNCTION"
        )
    return Path(found.origin)


def _files(function: str, files: list[str] | None) -> list[Path]:
    return [_module_file(function), *existing("python.files", files or [])]


@stage("matcher", source="Whoever wrote the function; called as OpenCV's matchers are, Bradski 2000", files=_files)
def python(
    reference: Image,
    match: Image,
    search: Search,
    *,
    function: Annotated[str, Located(_started)] = "",
    files: FilePaths | None = None,
) -> Disparity:
    """Match with a Python function: ``function(left, right, minimum, maximum)`` returns the disparities of the left image.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Given to the function as they are, intensities 0..255, colours in RGB order. Where the match frame lies to the left of the reference
        frame both are mirrored, and so is the result.
    search : Search
        The function is given both ends, in pixels, both included.
    function : str
        The function as PACKAGE.MODULE:FUNCTION or FILE.py:FUNCTION; the path of a file starts at the script's folder. It returns numbers, (rows, columns),
        in pixels; values that are not finite mean no estimate.
    files : list or None
        Further files that decide what the function does, such as a model's weights: their content is part of a run's identity, like the function's own
        file. Paths start at the script's folder.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.

    Raises
    ------
    ParameterError
        There is no such module, file or function.
    StereoFrameworkError
        The function raised an exception, or did not return a map of the images' size.
    """
    call = _function(function)
    try:
        found = call(*left_and_right(reference, match, search), search.minimum, search.maximum)
    except StereoFrameworkError:
        raise
    except Exception as error:  # any exception of the function is reported as its own
        text = next(iter(str(error).splitlines()), "")
        # The first frame is this function; a function in C has no frame of its own.
        frames = traceback.extract_tb(error.__traceback__)[1:]
        place = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
        raise StereoFrameworkError(f"{place}{function.rpartition(':')[2]}: {type(error).__name__}: {text}") from error
    return taken(function, found, reference, search)


def _function(function: str) -> Callable[..., Any]:
    """The function itself; its module is imported once."""
    _module_file(function)
    module, _, name = function.rpartition(":")
    try:
        loaded = _loaded(module, Path(module).stat().st_mtime_ns) if module.endswith(".py") else importlib.import_module(module)
    except Exception as error:  # anything that a module raises on import
        raise ParameterError(f"python.function: {module} cannot be imported: {type(error).__name__}: {error}") from error
    found = getattr(loaded, name, None)
    if not callable(found):
        raise ParameterError(f"python.function: {module} has no function {name!r}")
    return found


@functools.lru_cache(maxsize=8)
def _loaded(path: str, time: int) -> ModuleType:
    """The module in a file; `time` is the file's modification time, so that a changed file is loaded again."""
    return import_file(f"stereo_framework_function_{Path(path).stem}", path)
