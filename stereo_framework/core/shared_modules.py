"""One module object for each file of a plug-in, whatever the names of the file.

A file may be a plug-in of a script and also a module that another plug-in imports. Its
stages must be registered only once. Therefore the import finders of this module return
the module that has executed the file, if there is one. They also find the modules in
the folder of a plug-in file, which is not in Python's search path.
"""

import os
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, ModuleType

from stereo_framework.core.errors import ParameterError

FUNCTION_PREFIX = "stereo_framework_function_"
"""Prefix of the module names of files with functions for the matcher ``python``.

These files are executed again after a change. Therefore their modules are not shared.
"""

_PROGRAM_NAMES = ("__main__", "__mp_main__")
"""Names of the module that contains the running program."""

_START = time.time()
"""Time at which this module was imported, in seconds since 1970."""

_MODULES: dict[Path, ModuleType] = {}
"""Modules that were loaded from files of the user, by resolved path."""

_PLUGIN_FOLDERS: set[Path] = set()
"""Folders of the plug-in files of this process."""

_NEIGHBOURS: dict[str, Path] = {}
"""Files of the modules that were found in the folder of a plug-in, by module name."""


# --- modules that were executed -----------------------------------------------------


def _remember_module(file: Path, module: ModuleType) -> None:
    """Store the module that executes a file.

    Parameters
    ----------
    file : Path
        Path of the file.
    module : ModuleType
        Module, which may still be incomplete.
    """
    if not module.__name__.startswith(FUNCTION_PREFIX):
        _MODULES[file.resolve()] = module


def shared_module(file: Path) -> ModuleType | None:
    """Return the module that executes or has executed a file, or None.

    A module that the program imported before the first plug-in also counts, unless its
    file has changed since this process started.

    Parameters
    ----------
    file : Path
        Resolved path of the file.
    """
    module = _remembered_module(file)
    if module is not None:
        return module
    try:
        file_status = file.stat()
    except OSError:
        return None
    if file_status.st_mtime >= _START:
        return None

    for name, candidate in list(sys.modules.items()):
        path = getattr(candidate, "__file__", None)
        if not isinstance(path, str) or name.startswith(FUNCTION_PREFIX):
            continue
        if name not in _PROGRAM_NAMES and _is_same_file(path, file, file_status):
            _MODULES[file] = candidate
            return candidate
    return None


def _remembered_module(file: Path) -> ModuleType | None:
    """Return the stored module of a file, unless it was removed from `sys.modules`."""
    module = _MODULES.get(file)
    if module is None or sys.modules.get(module.__name__) is not module:
        return None
    return module


def _is_same_file(path: str, file: Path, file_status: os.stat_result) -> bool:
    """Return whether a path leads to a file, also through symbolic links.

    Parameters
    ----------
    path : str
        Path to compare.
    file : Path
        Resolved path of the file.
    file_status : os.stat_result
        Status of the file. Comparing it is faster than resolving the path.
    """
    try:
        return os.path.samestat(os.stat(path), file_status) and Path(path).resolve() == file
    except (OSError, ValueError):
        return False


def forget_module(module: ModuleType) -> None:
    """Remove a module from `sys.modules` under all its names, after a failed import."""
    for name, loaded in list(sys.modules.items()):
        if loaded is module:
            del sys.modules[name]


def names_of_modules(files: Collection[Path]) -> dict[str, str]:
    """Return the path of each file by the name of the module loaded from it.

    A process that receives pickled functions needs the modules under these names.

    Parameters
    ----------
    files : collection of Path
        Resolved paths of the files.
    """
    names = {}
    for file in files:
        module = _remembered_module(file)
        if module is not None:
            names[module.__name__] = str(file)
    return names


def give_names(names: Mapping[str, str]) -> None:
    """Make modules of this process available under the names of another process.

    A module may have one name in the program and another name in a worker, because the
    name depends on the order of the imports.

    Parameters
    ----------
    names : mapping of str to str
        Paths of files by module names, from `names_of_modules` in the other process.
    """
    for name, path in names.items():
        module = _remembered_module(Path(path))
        if module is not None:
            sys.modules.setdefault(name, module)


# --- import loaders and finders -----------------------------------------------------


class SourceLoader(SourceFileLoader):
    """Module loader that stores its module and ignores ``.pyc`` files.

    A ``.pyc`` file stores the modification time of its source in whole seconds. If a
    file is edited twice in a second, Python may execute outdated bytecode.
    """

    def get_code(self, fullname: str) -> CodeType:
        """Compile the source file."""
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Execute the file, and store the module for imports under other names."""
        # The module is stored first, because the file may import itself in a cycle.
        _remember_module(Path(self.path), module)
        super().exec_module(module)


class _SharedModuleLoader(Loader):
    """Loader that returns a module under a further name, without executing its file."""

    def __init__(self, module: ModuleType):
        self._module = module
        self._specification = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the specification of the module, which Python has replaced."""
        module.__spec__ = self._specification


class _SharedModules(MetaPathFinder):
    """Import finder that returns the module of a file that was executed before."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the import specification of an executed file, or None."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None:
            return None
        return _specification_of_shared_module(fullname, spec)


class _Neighbours(MetaPathFinder):
    """Import finder for the modules in the folder of a plug-in file.

    Python calls this finder last. Therefore installed packages have precedence.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the import specification of a module next to the importing file."""
        importer = _importing_file()
        if path is not None or importer is None or importer.parent not in _PLUGIN_FOLDERS:
            return None
        spec = PathFinder.find_spec(fullname, [str(importer.parent)], target)
        if spec is None or not spec.has_location or not spec.origin:
            return None
        _NEIGHBOURS[fullname] = Path(spec.origin).resolve()
        if type(spec.loader) is SourceFileLoader:
            spec.loader = SourceLoader(fullname, spec.origin)
        return _specification_of_shared_module(fullname, spec) or spec


def _specification_of_shared_module(fullname: str, spec: ModuleSpec) -> ModuleSpec | None:
    """Return a specification that uses the module that is already loaded.

    The result is None if no module was loaded from the file of `spec`. It is also None
    if the module is imported under its own name, because the user then reloads it.

    Parameters
    ----------
    fullname : str
        Name under which the module is imported.
    spec : ModuleSpec
        Specification that Python has found for this name.
    """
    if not spec.has_location or not spec.origin:
        return None
    module = _remembered_module(Path(spec.origin).resolve())
    if module is None or module.__name__ == fullname:
        return None
    return ModuleSpec(fullname, _SharedModuleLoader(module), origin=spec.origin)


def _importing_file() -> Path | None:
    """Return the resolved path of the file that runs an import statement, or None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module_name = str(frame.f_globals.get("__name__", ""))
        top_package = module_name.partition(".")[0]
        # Frames of Python's import system lie between the finder and the import.
        if module_name != __name__ and top_package not in ("importlib", "_frozen_importlib"):
            path = frame.f_globals.get("__file__")
            return Path(path).resolve() if isinstance(path, str) else None
        frame = frame.f_back
    return None


_SHARED_MODULES = _SharedModules()
_NEIGHBOUR_FINDER = _Neighbours()


def install_finders() -> None:
    """Add both import finders to Python, unless Python has them already."""
    if _SHARED_MODULES not in sys.meta_path:
        # Import finders of packages such as pytest must run first.
        sys.meta_path.insert(position_before_path_finder(), _SHARED_MODULES)
    if _NEIGHBOUR_FINDER not in sys.meta_path:
        sys.meta_path.append(_NEIGHBOUR_FINDER)


def position_before_path_finder() -> int:
    """Return the index of Python's PathFinder in `sys.meta_path`."""
    indices = [index for index, finder in enumerate(sys.meta_path) if finder is PathFinder]
    return indices[0] if indices else len(sys.meta_path)


# --- neighbours of plug-ins ---------------------------------------------------------


def allow_neighbours(file: Path) -> None:
    """Let the files in the folder of a plug-in file import each other.

    Parameters
    ----------
    file : Path
        Resolved path of the plug-in file.
    """
    _PLUGIN_FOLDERS.add(file.parent)


def check_neighbours(file: Path, names: Collection[str]) -> None:
    """Refuse a plug-in if a module next to it has the name of another loaded module.

    Python imports only one module of each name in a process. The plug-in would silently
    use the module from the folder of another plug-in.

    Parameters
    ----------
    file : Path
        Resolved path of the plug-in file.
    names : collection of str
        Names of the modules that the file imports.

    Raises
    ------
    ParameterError
        A module next to the file has the name of a module that was imported from the
        folder of another plug-in.
    """
    for name in names:
        loaded_file = _NEIGHBOURS.get(name)
        if loaded_file is None or name not in sys.modules:
            continue
        spec = PathFinder.find_spec(name, [str(file.parent)])
        if spec is None or not spec.has_location or not spec.origin:
            continue
        wanted_file = Path(spec.origin).resolve()
        if wanted_file != loaded_file:
            message = (
                f"it imports {wanted_file}, but the module {name!r} is already {loaded_file}; "
                "rename one of the two files, or use the plug-ins in separate commands"
            )
            raise ParameterError(message)
