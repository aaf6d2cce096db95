"""Import of plug-ins: third-party modules with stages or metrics.

A plug-in is an installed package, a module or a ``.py`` file. This module also imports
the built-in stages.
"""

import dis
import functools
import hashlib
import importlib
import importlib.util
import multiprocessing
import os
import sys
import traceback
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from stereo_framework.core.dynamic_imports import warn_of_computed_imports
from stereo_framework.core.errors import (
    ParameterError,
    StereoFrameworkError,
    describe_exception,
    one_line,
    short,
)
from stereo_framework.core.module_sources import (
    imported_modules,
    is_in_install_folder,
    is_users_file,
    load_file,
    record_import,
    source_files,
)
from stereo_framework.core.shared_modules import (
    allow_neighbours,
    check_neighbours,
    forget_module,
    install_finders,
    names_of_modules,
    shared_module,
)
from stereo_framework.core.slots import SLOTS

PLUGIN_PREFIX = "stereo_framework_plugin_"
"""Prefix of the module names of plug-ins in ``.py`` files."""

NO_PLUGINS = "STEREO_NO_PLUGINS"
"""Name of the environment variable that forbids third-party code.

Third-party code includes plug-ins, functions of the user and external programs.
"""

_PLUGIN_FILES: set[Path] = set()
"""Source files of all plug-ins that this process has loaded."""


# --- the switch against third-party code --------------------------------------------


def execution_is_off() -> bool:
    """Return whether the user has forbidden the execution of third-party code.

    The execution is forbidden if the environment variable `NO_PLUGINS` is not empty.
    The text ``0`` also forbids the execution.
    """
    return bool(os.environ.get(NO_PLUGINS))


def not_executed(code: str) -> str:
    """Return a message that some code is forbidden and not executed."""
    return f"{code} is not executed: --no-plugins, or {NO_PLUGINS} in the environment, forbids it"


def check_execution(code: str) -> None:
    """Raise an error if the user has forbidden the execution of third-party code.

    Parameters
    ----------
    code : str
        Description of the third-party code, such as ``the Python function
        mine.py:match``.

    Raises
    ------
    ParameterError
        The environment variable `NO_PLUGINS` is set.
    """
    if execution_is_off():
        raise ParameterError(not_executed(code))


# --- loading ------------------------------------------------------------------------


@functools.cache
def installed_plugins() -> tuple[str, ...]:
    """Import the built-in stages and all installed plug-ins.

    Only the first call imports the modules. Commands that only read results skip this
    call, because the import is slow.

    Returns
    -------
    tuple of str
        Paths of the source files of the installed plug-ins. Their contents are part of
        the identity of a run.

    Raises
    ------
    StereoFrameworkError
        The import of a plug-in failed.
    """
    for slot in SLOTS:
        importlib.import_module(f"stereo_framework.{slot}")
    if execution_is_off():
        return ()

    files = []
    for entry in entry_points(group="stereo_framework.plugins"):
        try:
            module = record_import(functools.partial(importlib.import_module, entry.module))
            entry.load()
        except BaseException as error:
            _pass_on_interrupt(error)
            cause = describe_import_error(error)
            message = f"plug-in {entry.name} ({entry.value}) cannot be imported: {cause}"
            raise StereoFrameworkError(message) from error
        if module.__file__:
            _register_files(module.__file__)
            files.append(module.__file__)
    return tuple(files)


def load_plugin(reference: str, base: Path | None = None) -> str:
    """Import a plug-in from a module or a ``.py`` file.

    Parameters
    ----------
    reference : str
        Name of a module, or path of a file with the extension ``.py``.
    base : Path, optional
        Folder of a relative path. Default: the working directory.

    Returns
    -------
    str
        Path of the source file of the plug-in. Its content is part of the identity of a
        run.

    Raises
    ------
    ParameterError
        The module or file does not exist. The import of the plug-in failed.
    """
    if execution_is_off():
        message = (
            f"plugins: {short(reference, 200)} is not imported: "
            f"--no-plugins, or {NO_PLUGINS} in the environment, forbids it"
        )
        raise ParameterError(message)
    # The built-in stages are registered first. A stage of the plug-in with the same
    # name then causes an error.
    installed_plugins()

    install_finders()
    name = reference
    load = functools.partial(importlib.import_module, reference)
    if reference.endswith(".py"):
        path = _existing_file(reference, base or Path.cwd())
        name = _module_name(path)
        if name in sys.modules and path in _PLUGIN_FILES:
            return str(path)
        allow_neighbours(path)
        load = functools.partial(_load_file_once, name, path)

    try:
        module = record_import(load)
    except BaseException as error:
        if name in sys.modules:
            forget_module(sys.modules[name])
        _pass_on_interrupt(error)
        cause = describe_import_error(error)
        message = f"plugins: {one_line(reference)} cannot be imported: {cause}"
        raise ParameterError(message) from error
    module_file = getattr(module, "__file__", None)
    if module_file is None:
        message = (
            f"plugins: {reference} has no source file, because it is a folder or a built-in "
            "module; expected a module with a source file"
        )
        raise ParameterError(message)
    # A plug-in may be named by several paths that lead to the same file.
    file = Path(module_file).resolve()
    _register_files(str(file))
    return str(file)


def _module_name(path: Path) -> str:
    """Return the module name of a plug-in file.

    The name contains a digest of the path, so that files of equal names differ.

    Parameters
    ----------
    path : Path
        Resolved path of the file.
    """
    digest = hashlib.sha256(str(path).encode()).hexdigest()
    return f"{PLUGIN_PREFIX}{path.stem}_{digest}"


def _load_file_once(name: str, path: Path) -> ModuleType:
    """Return the module of a plug-in file, and execute the file if needed.

    Parameters
    ----------
    name : str
        Name of the module in `sys.modules`.
    path : Path
        Resolved path of the file.

    Raises
    ------
    ParameterError
        The file would import a module from the folder of another plug-in.
    """
    module = shared_module(path)
    if module is not None:
        sys.modules[name] = module
        return module
    for source in source_files(path):
        if source.parent == path.parent:
            check_neighbours(source, imported_modules(source))
    return load_file(name, path)


def module_names(plugins: Iterable[str]) -> dict[str, str]:
    """Return the paths of the sources of plug-ins, by the names of their modules.

    Parameters
    ----------
    plugins : iterable of str
        Plug-ins as `load_plugin` takes them. This process has loaded them.
    """
    files = [file for plugin in plugins for file in source_files(Path(load_plugin(plugin)))]
    return names_of_modules(files)


def import_file(name: str, path: str | Path) -> ModuleType:
    """Import a ``.py`` file as a module, even if the file was imported before."""
    return record_import(functools.partial(load_file, name, path))


def _existing_file(reference: str, base: Path) -> Path:
    """Return the absolute path of the file of a plug-in.

    Raises
    ------
    ParameterError
        The file does not exist.
    """
    path = base.joinpath(reference)
    try:
        path = path.resolve()
        is_file = path.is_file()
    except (OSError, ValueError):  # The operating system does not allow such a file name.
        is_file = False
    if not is_file:
        path_text = str(path)
        if "\0" in path_text:
            path_text = repr(short(path_text, 200))
        raise ParameterError(f"plugins: no file {path_text}")
    return path


# --- exceptions during an import ----------------------------------------------------


def _pass_on_interrupt(error: BaseException) -> None:
    """Raise a KeyboardInterrupt again if the user pressed Ctrl-C.

    A KeyboardInterrupt from a ``raise`` statement of a plug-in is not raised again.
    """
    if isinstance(error, KeyboardInterrupt) and not _is_raised_by_statement(error):
        raise error


def _is_raised_by_statement(error: BaseException) -> bool:
    """Return whether third-party code raised an exception on purpose."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    # Ctrl-C calls a signal handler, which may contain a ``raise`` statement. The
    # handler belongs to this package or to Python's module `signal`.
    top_package = frame.f_globals.get("__name__", "").partition(".")[0]
    if top_package in ("stereo_framework", "signal"):
        return False
    return dis.opname[frame.f_code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"


def describe_import_error(error: BaseException) -> str:
    """Describe an exception that an import raised, with the file and the line.

    The description names the innermost line in a file of the user. Without such a line,
    the description names the innermost line in an installed package.
    """
    description = str(error)
    if not isinstance(error, StereoFrameworkError):
        description = describe_exception(error)

    lines = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        file_name = frame.f_code.co_filename
        # Code without a file has a name in angle brackets, such as <frozen importlib>.
        if file_name[0] != "<":
            lines.append((Path(file_name), line))
    candidates = [place for place in lines if is_users_file(place[0])]
    if not candidates:
        candidates = [place for place in lines if is_in_install_folder(place[0])]
    if not candidates:
        return description
    file, line = candidates[-1]
    return f"{file.name}:{line}: {description}"


# --- files of loaded plug-ins -------------------------------------------------------


def _register_files(file: str) -> None:
    """Store the names and contents of the source files of a loaded plug-in.

    Parameters
    ----------
    file : str
        Path of the main source file of the plug-in.
    """
    files = source_files(Path(file))
    for path in files:
        content_when_loaded(path)
        _PLUGIN_FILES.add(path)
    # Only the main process warns. Otherwise, each worker would repeat the warning.
    if multiprocessing.parent_process() is None:
        warn_of_computed_imports(files, "list its file in @stage(..., files=...)")


def is_plugin_file(file: Path) -> bool:
    """Return whether a file is a source file of a loaded plug-in."""
    return file.resolve() in _PLUGIN_FILES


@functools.cache
def content_when_loaded(file: Path) -> bytes:
    """Return the content of a file at the time of the first call.

    A process imports a plug-in only once. If the file changes later, the process still
    runs the old code.
    """
    return file.read_bytes()
