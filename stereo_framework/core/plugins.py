"""Plug-ins: somebody's modules whose decorators register things, and the package's own families of stages, which are loaded in the same way."""

import functools
import hashlib
import importlib
import importlib.util
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from stereo_framework.core.errors import ParameterError, StereoFrameworkError, short
from stereo_framework.core.imported import noted
from stereo_framework.core.slots import SLOTS

NO_PLUGINS = "STEREO_NO_PLUGINS"
"""Environment variable that keeps plug-ins, those of scripts and installed ones, from being imported."""


@functools.cache
def installed_plugins() -> tuple[str, ...]:
    """The source files of the plug-ins that are installed as packages. They are loaded at the first call, after the stages of the families: who only
    reads results needs none.
    """
    for slot in SLOTS:
        importlib.import_module(f"stereo_framework.{slot}")
    files = []
    for entry in () if NO_PLUGINS in os.environ else entry_points(group="stereo_framework.plugins"):
        try:
            module = noted(functools.partial(importlib.import_module, entry.module))
            entry.load()
        except ImportError as error:
            raise StereoFrameworkError(f"plug-in {entry.name} ({entry.value}) cannot be imported: {error}") from error
        files += [module.__file__] if module.__file__ else []
    return tuple(files)


def load_plugin(reference: str, base: Path | None = None) -> str:
    """Import a module that registers stages.

    Parameters
    ----------
    reference : str
        A module name, or a path ending in ``.py``.
    base : Path, optional
        Folder that relative paths start from (a script's folder); default: the working directory.

    Returns
    -------
    str
        Path of the plug-in's source, for the identity of runs.

    Raises
    ------
    ParameterError
        The module or file does not exist or raises on import.
    """
    if NO_PLUGINS in os.environ:
        raise ParameterError(
            f"plugins: {short(reference, 200)} is not imported: --no-plugins, or {NO_PLUGINS} in the environment"
        )
    installed_plugins()  # no plug-in takes the name of a stage of the families
    name, load = reference, functools.partial(importlib.import_module, reference)
    if reference.endswith(".py"):
        path = (base or Path.cwd()).joinpath(reference)
        try:
            path = path.resolve()
            there = path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            there = False
        if not there:
            shown = repr(short(str(path), 200)) if "\0" in str(path) else path
            raise ParameterError(f"plugins: no file {shown}")
        # The path decides the name, so that one file is loaded once however it is spelt.
        name = f"stereo_framework_plugin_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
        if name in sys.modules:
            return str(path)
        load = functools.partial(_from_file, name, path)
    try:
        noted(load)
    except StereoFrameworkError:
        sys.modules.pop(name, None)
        raise
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        raise ParameterError(f"plugins: {reference} cannot be imported: {type(error).__name__}: {error}") from error
    file = getattr(sys.modules[name], "__file__", None)
    if file is None:
        raise ParameterError(f"plugins: {reference} is a folder or built in, not a module with a source file")
    return str(file)


def import_file(name: str, path: str | Path) -> ModuleType:
    """Import a ``.py`` file anew, as a module of this name."""
    return noted(functools.partial(_from_file, name, path))


def _from_file(name: str, path: str | Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "a .py file always has a loader"
    assert spec.loader is not None
    # Dataclasses and the like look their module up.
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
