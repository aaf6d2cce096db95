"""Plug-ins: third-party modules that register stages, metrics and other objects.

Plug-ins are installed as packages, or a user names their module or file. The stages of
this package are loaded in the same way.
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
    is_in_install_folder,
    is_users_file,
    load_file,
    record_import,
    source_files,
)
from stereo_framework.core.slots import SLOTS

PLUGIN_PREFIX = "stereo_framework_plugin_"
"""Beginning of the module names of plug-ins that the user names by their file."""

NO_PLUGINS = "STEREO_NO_PLUGINS"
"""Environment variable that forbids to execute third-party code.

This code consists of plug-ins, functions of the user and external programs.
"""

_PLUGIN_FILES: set[Path] = set()
"""The source files of all plug-ins that were loaded."""


# --- the switch against third-party code --------------------------------------------


def execution_is_off() -> bool:
    """Return whether the user has set the environment variable `NO_PLUGINS`.

    Any text forbids the execution, even ``0``. An empty text does not.
    """
    return bool(os.environ.get(NO_PLUGINS))


def not_executed(code: str) -> str:
    """Return the message that the user has forbidden to execute third-party code."""
    return f"{code} is not executed: --no-plugins, or {NO_PLUGINS} in the environment, forbids it"


def check_execution(code: str) -> None:
    """Refuse to execute third-party code if the user has forbidden it.

    Parameters
    ----------
    code : str
        Description of the code, such as ``the Python function mine.py:match``.

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
    """Load the stages of this package and the plug-ins that are installed as packages.

    The first call loads them. Commands that only read results do not call this
    function, because loading takes time.

    Returns
    -------
    tuple of str
        Source files of the plug-ins, for the identity of runs.

    Raises
    ------
    StereoFrameworkError
        A plug-in raised an exception when it was imported.
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
    """Import a plug-in.

    Parameters
    ----------
    reference : str
        Name of a module, or a path that ends in ``.py``.
    base : Path, optional
        Folder in which relative paths start, such as the folder of a script. Default:
        the working directory.

    Returns
    -------
    str
        Path of the source of the plug-in, for the identity of runs.

    Raises
    ------
    ParameterError
        The module or file does not exist, or it raised an exception when it was
        imported.
    """
    if execution_is_off():
        message = (
            f"plugins: {short(reference, 200)} is not imported: "
            f"--no-plugins, or {NO_PLUGINS} in the environment, forbids it"
        )
        raise ParameterError(message)
    # The stages of this package are registered first, so that a plug-in that uses one
    # of their names is refused.
    installed_plugins()

    name = reference
    load = functools.partial(importlib.import_module, reference)
    if reference.endswith(".py"):
        path = _existing_file(reference, base or Path.cwd())
        # The name contains a digest of the resolved path, so that two spellings of a
        # path load the file only once.
        name = f"{PLUGIN_PREFIX}{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()}"
        if name in sys.modules:
            return str(path)
        load = functools.partial(load_file, name, path)

    try:
        record_import(load)
    except BaseException as error:
        sys.modules.pop(name, None)
        _pass_on_interrupt(error)
        cause = describe_import_error(error)
        message = f"plugins: {one_line(reference)} cannot be imported: {cause}"
        raise ParameterError(message) from error
    file = getattr(sys.modules[name], "__file__", None)
    if file is None:
        message = f"plugins: {reference} is a folder or built in, not a module with a source file"
        raise ParameterError(message)
    _register_files(str(file))
    return str(file)


def import_file(name: str, path: str | Path) -> ModuleType:
    """Import a ``.py`` file under a name, even if it was imported before."""
    return record_import(functools.partial(load_file, name, path))


def _existing_file(reference: str, base: Path) -> Path:
    """Return the resolved path of a plug-in.

    Raises
    ------
    ParameterError
        No such file exists.
    """
    path = base.joinpath(reference)
    try:
        path = path.resolve()
        is_file = path.is_file()
    except (OSError, ValueError):  # The operating system allows no file of this name.
        is_file = False
    if not is_file:
        path_text = str(path)
        if "\0" in path_text:
            path_text = repr(short(path_text, 200))
        raise ParameterError(f"plugins: no file {path_text}")
    return path


# --- exceptions during an import ----------------------------------------------------


def _pass_on_interrupt(error: BaseException) -> None:
    """Raise a KeyboardInterrupt again if the user caused it, by Ctrl-C.

    A plug-in may also raise KeyboardInterrupt by a ``raise`` statement. Such an
    exception is treated like any other exception of the plug-in.
    """
    if isinstance(error, KeyboardInterrupt) and not _is_raised_by_statement(error):
        raise error


def _is_raised_by_statement(error: BaseException) -> bool:
    """Return whether a ``raise`` statement of third-party code raised an exception."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame = trace.tb_frame
    # If the user presses Ctrl-C, Python calls a signal handler, which may use a
    # ``raise`` statement itself. The handler is part of this package or of Python's
    # `signal`.
    top_package = frame.f_globals.get("__name__", "").partition(".")[0]
    if top_package in ("stereo_framework", "signal"):
        return False
    return dis.opname[frame.f_code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"


def describe_import_error(error: BaseException) -> str:
    """Describe an exception that was raised during an import, with its file and line.

    The line is the last line of a file of the user that the exception passed through.
    If there is none, it is the last line in an installed package.
    """
    description = str(error)
    if not isinstance(error, StereoFrameworkError):
        description = describe_exception(error)

    lines = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        file_name = frame.f_code.co_filename
        # Code that is no file has a name such as <frozen importlib>.
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
    """Record the source files of a loaded plug-in and their contents.

    Parameters
    ----------
    file : str
        File of the plug-in.
    """
    files = source_files(Path(file))
    for path in files:
        content_when_loaded(path)
        _PLUGIN_FILES.add(path)
    # A worker process repeats no warning of the program that started it.
    if multiprocessing.parent_process() is None:
        warn_of_computed_imports(files, "list its file in @stage(..., files=...)")


def is_plugin_file(file: Path) -> bool:
    """Return whether a file is a source file of a loaded plug-in."""
    return file.resolve() in _PLUGIN_FILES


@functools.cache
def content_when_loaded(file: Path) -> bytes:
    """Return the content that a file had at the first call.

    A process imports a plug-in only once. If the file changes later, its new content is
    not the code that runs.
    """
    return file.read_bytes()
