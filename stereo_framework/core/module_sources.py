"""Search for the source files of a user's module and of its imports.

A stored result is outdated if one of the source files changes. Most imported files are
found by reading import statements. However, a module may change Python's search path at
run time. Therefore `record_import` records the files that Python loads.
"""

import contextlib
import functools
import importlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType

from stereo_framework.core.package_files import PACKAGE_FOLDER
from stereo_framework.core.shared_modules import SourceLoader, position_before_path_finder
from stereo_framework.core.source_summaries import summarize_source

_INSTALL_FOLDERS = ("site-packages", "dist-packages")
"""Names of the folders with installed packages."""

_PYTHON_FOLDERS = [
    Path(sysconfig.get_path(kind)).resolve()
    for kind in ("stdlib", "platstdlib", "purelib", "platlib")
]
"""Folders of Python's standard library and of the installed packages."""

_RECORDED_FILES: dict[Path, set[Path]] = {}
"""Files that were loaded during an import, by the imported file."""


def is_users_file(file: Path) -> bool:
    """Return whether a file belongs to the user.

    Python, installed packages and ``stereo_framework`` do not belong to the user.
    """
    if file.is_relative_to(PACKAGE_FOLDER) or is_in_install_folder(file):
        return False
    return not any(file.is_relative_to(folder) for folder in _PYTHON_FOLDERS)


def is_in_install_folder(file: Path) -> bool:
    """Return whether a file lies below a folder such as ``site-packages``."""
    return not set(_INSTALL_FOLDERS).isdisjoint(file.parts)


def record_import(load: Callable[[], ModuleType]) -> ModuleType:
    """Import a module and record the loaded files.

    The ``.pyc`` files of the user's modules are ignored, because they may be outdated.

    Parameters
    ----------
    load : callable
        Function without arguments that imports and returns the module.
    """
    earlier_names = set(sys.modules)
    with _compiling_users_modules():
        module = load()
    new_modules = [
        loaded for name, loaded in list(sys.modules.items()) if name not in earlier_names
    ]
    new_paths = [getattr(loaded, "__file__", None) for loaded in new_modules]
    # Built-in modules have no attribute __file__.
    module_file = getattr(module, "__file__", None)
    if module_file:
        recorded_files = _RECORDED_FILES.setdefault(Path(module_file).resolve(), set())
        recorded_files.update(Path(path).resolve() for path in new_paths if path)
    return module


def load_file(name: str, path: str | Path) -> ModuleType:
    """Execute a Python file as a module, and return the module.

    Parameters
    ----------
    name : str
        Name of the module in `sys.modules`. A module of the same name is replaced.
    path : str or Path
        Path of the Python file.
    """
    spec = importlib.util.spec_from_file_location(name, path, loader=SourceLoader(name, str(path)))
    assert spec is not None, "a .py file always has a loader"
    assert spec.loader is not None
    # The decorator `dataclass` needs the entry in sys.modules while the file is
    # executed.
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unload_modules(files: list[Path]) -> None:
    """Remove modules from `sys.modules`, so that the next import reads their files.

    Parameters
    ----------
    files : list of Path
        Resolved paths of the module files.
    """
    unloaded_files = set(files)
    folders = {os.path.realpath(file.parent) for file in files}
    real_path = functools.cache(os.path.realpath)
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if not path or name == "__main__":
            continue
        # Resolving all paths is slow. Therefore the folders are compared first.
        is_in_folder = real_path(os.path.dirname(path)) in folders
        if is_in_folder and Path(path).resolve() in unloaded_files:
            del sys.modules[name]
    importlib.invalidate_caches()


def imported_modules(file: Path) -> list[str]:
    """Return the first parts of the absolute names that a Python file imports."""
    imports = summarize_source(file.read_bytes()).imports
    names = [imported.name.partition(".")[0] for imported in imports if imported.level == 0]
    return list(dict.fromkeys(names))


def source_files(file: Path) -> list[Path]:
    """Return the source files of a module and of its imports.

    Parameters
    ----------
    file : Path
        File of the module. Files recorded by `record_import` are included.

    Returns
    -------
    list of Path
        File of the module, followed by the sorted paths of all imported files. Indirect
        imports and imports inside functions are included. Files of installed packages
        are left out, except files in the module's folder.
    """
    file = file.resolve()
    files: set[Path] = set()
    candidates = [file]
    while candidates:
        candidate = candidates.pop()
        if candidate in files or not candidate.is_file():
            continue
        if candidate != file and not _is_source(candidate, file.parent):
            continue
        files.add(candidate)
        candidates += _RECORDED_FILES.get(candidate, ())
        candidates += _imported_files(candidate, file.parent)
    return [file, *sorted(files - {file})]


def _is_source(file: Path, module_folder: Path) -> bool:
    """Return whether an imported file counts as a source file of a module.

    Source files belong to the user or lie in the folder of the module. This folder may
    contain a virtual environment, whose installed packages are no source files.

    Parameters
    ----------
    file : Path
        Imported file.
    module_folder : Path
        Folder that contains the module.
    """
    is_package_folder = (
        module_folder not in _PYTHON_FOLDERS and module_folder.name not in _INSTALL_FOLDERS
    )
    if is_package_folder and file.is_relative_to(module_folder):
        return not (file.is_relative_to(PACKAGE_FOLDER) or _is_installed_below(file, module_folder))
    return is_users_file(file)


def _is_installed_below(file: Path, folder: Path) -> bool:
    """Return whether a file in a folder belongs to a Python that is installed there.

    Parameters
    ----------
    file : Path
        File in the folder or in one of its subfolders.
    folder : Path
        Folder of the user, such as a project with the subfolder ``.venv``.
    """
    if is_in_install_folder(file.relative_to(folder)):
        return True
    python_folders = [python for python in _PYTHON_FOLDERS if python.is_relative_to(folder)]
    return any(file.is_relative_to(python) for python in python_folders)


# --- compiling from source ----------------------------------------------------------


class _UsersModules(MetaPathFinder):
    """Import finder that loads the user's modules with `SourceLoader`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the import specification of a user's module, or None."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or type(spec.loader) is not SourceFileLoader:
            return None
        if not is_users_file(Path(spec.origin).resolve()):
            return None
        spec.loader = SourceLoader(fullname, spec.origin)
        return spec


@contextlib.contextmanager
def _compiling_users_modules() -> Iterator[None]:
    """Ignore the ``.pyc`` files of the user's modules inside a `with` block."""
    finder = _UsersModules()
    # Import finders of packages such as pytest must run first. Therefore the finder is
    # inserted directly before Python's PathFinder.
    sys.meta_path.insert(position_before_path_finder(), finder)
    try:
        yield
    finally:
        # The imported module may have removed the finder from sys.meta_path.
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(finder)


# --- imports in a source ------------------------------------------------------------


def _imported_files(file: Path, module_folder: Path) -> list[Path]:
    """Return the files of the modules that a Python file imports.

    Parameters
    ----------
    file : Path
        File to search. Files without the suffix ``.py`` are skipped.
    module_folder : Path
        Folder of the user's module, which may be in Python's search path.
    """
    if file.suffix != ".py":
        return []
    paths: list[Path] = []
    for imported in summarize_source(file.read_bytes()).imports:
        paths += _files_of_import(imported.name, imported.level, file, module_folder)
    return paths


def _files_of_import(name: str, level: int, file: Path, module_folder: Path) -> Iterator[Path]:
    """Yield the files that an import statement may load.

    For ``import package.module``, the files are ``package/__init__.py`` and
    ``package/module.py``.

    Parameters
    ----------
    name : str
        Dotted name of the imported module or object.
    level : int
        Number of leading dots, or 0 for an absolute name.
    file : Path
        File that contains the import statement.
    module_folder : Path
        Additional search folder.
    """
    first_part, *parts = name.split(".")
    if level:
        folder = file.parents[min(level, len(file.parents)) - 1]
        yield folder / "__init__.py"
        yield from _files_along(PathFinder.find_spec(first_part, [str(folder)]), parts)
        return

    for folder in {module_folder, file.parent}:
        yield from _files_along(PathFinder.find_spec(first_part, [str(folder)]), parts)
    try:
        spec = importlib.util.find_spec(first_part)
    except Exception:  # Import finders of other packages may raise anything.
        return
    yield from _files_along(spec, parts)


def _files_along(spec: ModuleSpec | None, parts: list[str]) -> Iterator[Path]:
    """Yield the file of each package and module in a dotted name, such as ``a.b.c``.

    Parameters
    ----------
    spec : ModuleSpec or None
        Import specification of the first part of the name (``a``), or None.
    parts : list of str
        Remaining parts of the name (``b`` and ``c``). A function or class has no file.
    """
    while spec is not None:
        if spec.has_location and spec.origin:
            yield Path(spec.origin).resolve()
        folders = list(spec.submodule_search_locations or ())
        if not parts or not folders:
            return
        spec = PathFinder.find_spec(parts[0], folders)
        parts = parts[1:]
