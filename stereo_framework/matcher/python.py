"""Any Python function as a matcher."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import threading
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

from stereo_framework.core.contents import content_digest_of
from stereo_framework.core.dynamic_imports import warn_of_computed_imports
from stereo_framework.core.errors import ParameterError, StereoFrameworkError, describe_exception
from stereo_framework.core.module_sources import record_import, source_files, unload_modules
from stereo_framework.core.plugins import check_execution, describe_import_error, import_file
from stereo_framework.core.shared_modules import FUNCTION_PREFIX
from stereo_framework.matcher._external import existing, left_and_right, taken
from stereo_framework.stages import Disparity, FilePaths, Image, Located, Scene, SearchRange, stage


def _started(function: str, folder: Path) -> str:
    """The function's name, with the path of its file, if it names one, resolved from the folder."""
    module, colon, name = function.rpartition(":")
    return (
        f"{folder / Path(module).expanduser()}{colon}{name}" if module.endswith(".py") else function
    )


def _with_other_file(function: str, change: Callable[[str], str]) -> str:
    """Return the name of a function with the path of its file changed."""
    module, colon, name = function.rpartition(":")
    if not module.endswith(".py"):
        return function
    return f"{change(module)}{colon}{name}"


def _execution(function: str) -> str:
    return f"the Python function {function}"


def _module_file(function: str) -> Path:
    """Return the source file of a function's module without importing anything."""
    module, colon, name = function.rpartition(":")
    if not colon or not module or not name.isidentifier():
        raise ParameterError(
            f"python.function: {function!r} is not PACKAGE.MODULE:FUNCTION or FILE.py:FUNCTION"
        )
    if module.endswith(".py"):
        return existing("python.function", [module])[0]
    try:
        spec = _module_spec(module)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None or spec.origin is None:
        message = (
            f"python.function: no module {module!r} can be imported; "
            "allowed: PACKAGE.MODULE:FUNCTION or FILE.py:FUNCTION"
        )
        raise ParameterError(message)
    return Path(spec.origin)


def _module_spec(module: str) -> ModuleSpec | None:
    """Find a module without importing the packages that it lies in.

    `importlib.util.find_spec` imports these packages, so that a check of a script would
    execute their code.
    """
    package, *names = module.split(".")
    spec = importlib.util.find_spec(package)
    for name in names:
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(name, list(spec.submodule_search_locations))
    return spec


def _files(function: str, files: list[str] | None, scene: Scene | None = None) -> list[Path]:
    own = [_module_file(function)]
    if scene is not None:
        # What a module loads is known once it was imported. A check imports nothing, and a run tells what the module raises.
        with contextlib.suppress(ParameterError):
            own = _module(function)[1]
            warn_of_computed_imports(own, "list its file under 'files' of the matcher")
    return [*own, *existing("python.files", files or [])]


@stage(
    "matcher",
    source="Whoever wrote the function; called as OpenCV's matchers are, Bradski 2000",
    files=_files,
    executes=_execution,
)
def python(
    reference: Image,
    match: Image,
    search: SearchRange,
    *,
    function: Annotated[str, Located(_started, _with_other_file)] = "",
    files: FilePaths | None = None,
) -> Disparity:
    """Match with a Python function: ``function(left, right, minimum, maximum)`` returns the disparities of the left image.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Given to the function as they are, intensities 0..255, colours in RGB order. Where the match frame lies to the left of the reference
        frame both are mirrored, and so is the result.
    search : SearchRange
        The function is given both ends, in pixels, both included.
    function : str
        The function as PACKAGE.MODULE:FUNCTION or FILE.py:FUNCTION; the path of a file starts at the script's folder. It returns numbers, (rows, columns),
        in pixels; values that are not finite mean no estimate.
    files : list or None
        Further files that decide what the function does, such as a model's weights: their content is part of a run's identity, as that of the function's
        own file is, and of the modules that it imports from elsewhere than installed packages. Paths start at the script's folder.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.

    Raises
    ------
    ParameterError
        There is no such module, file or function, or ``--no-plugins`` was given.
    StereoFrameworkError
        The function raised an exception, or did not return a map of the images' size.
    """
    call = _function(function)
    try:
        found = call(*left_and_right(reference, match, search), search.minimum, search.maximum)
    except StereoFrameworkError:
        raise
    except (
        Exception,
        SystemExit,
    ) as error:  # whatever the function raises is reported as its own, an end of the interpreter too
        raise StereoFrameworkError(
            describe_exception(error, call, function.rpartition(":")[2])
        ) from error
    return taken(function, found, reference, search)


def _function(function: str) -> Callable[..., Any]:
    """The function itself."""
    module, _, name = function.rpartition(":")
    found = getattr(_module(function)[0], name, None)
    if not callable(found):
        raise ParameterError(f"python.function: {module} has no function {name!r}")
    return found


_Contents = dict[Path, bytes]
"""The digests of files."""

_MODULES: dict[str, tuple[ModuleType, _Contents]] = {}
"""The imported modules by name or file, each with the content of its files at the import."""

_LOCK = threading.RLock()


def _module(function: str) -> tuple[ModuleType, list[Path]]:
    """Import the module of a function, and import it again after one of its files changed.

    Returns
    -------
    module
    list of Path
        The files that decide what the module does.

    Raises
    ------
    ParameterError
        The import raised an exception, or a compiled module changed.
    """
    check_execution(_execution(function))
    file = _module_file(function)
    module = function.rpartition(":")[0]
    with _LOCK:
        imported, contents = _MODULES.get(module, (None, {}))
        if imported is not None:
            changed = [
                path for path, content in contents.items() if content_digest_of(path) != content
            ]
            if not changed:
                return imported, list(contents)
            _refuse_compiled(changed)
        unload_modules(list(contents))
        try:
            loaded = _imported(module, file)
        except (Exception, SystemExit) as error:  # A module may raise anything when it is imported.
            raise ParameterError(
                f"python.function: {module} cannot be imported: {describe_import_error(error)}"
            ) from error
        contents = {path: content_digest_of(path) for path in source_files(file)}
        _MODULES[module] = (loaded, contents)
        return loaded, list(contents)


def _imported(module: str, file: Path) -> ModuleType:
    """Import a module by its file or by its name."""
    if module.endswith(".py"):
        return import_file(f"{FUNCTION_PREFIX}{file.stem}", module)
    return record_import(lambda: importlib.import_module(module))


def _refuse_compiled(changed: list[Path]) -> None:
    """Refuse changes of compiled modules: Python does not load one again in a process."""
    compiled = [path for path in changed if path.name.endswith(tuple(EXTENSION_SUFFIXES))]
    if compiled:
        message = f"python.function: {compiled[0]} was changed after this process had loaded it; start the program again"
        raise ParameterError(message)
