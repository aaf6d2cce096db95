"""Source files of modules: the files on which the behaviour of a module depends.

The identity of a run contains the source files of plug-ins and of functions of the
user. They are the file of the module and the files of the user that it imports,
directly or indirectly. Some imports are found only by observing them, for example if a
module changes the search path of Python before it imports another module. Therefore
`record_import` imports a module and records the files that its import loads.
"""

import ast
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
from types import CodeType, ModuleType

from stereo_framework.core.dynamic_imports import dynamic_imports

_INSTALL_FOLDERS = ("site-packages", "dist-packages")
"""Names of the folders that contain installed packages."""

_PYTHON_FOLDERS = [
    Path(sysconfig.get_path(kind)).resolve()
    for kind in ("stdlib", "platstdlib", "purelib", "platlib")
]
"""Folders of the standard library and of the packages of this Python."""

_PACKAGE = Path(__file__).resolve().parents[1]
"""Folder of this package."""

_RECORDED_FILES: dict[Path, set[Path]] = {}
"""For each file that `record_import` has imported: the files that the import loaded."""


def is_users_file(file: Path) -> bool:
    """Return whether a file is not part of Python or of an installed package.

    This package counts as installed, even in a checkout of its sources.
    """
    if file.is_relative_to(_PACKAGE) or is_in_install_folder(file):
        return False
    return not any(file.is_relative_to(folder) for folder in _PYTHON_FOLDERS)


def is_in_install_folder(file: Path) -> bool:
    """Return whether a file lies in a folder of installed packages."""
    return not set(_INSTALL_FOLDERS).isdisjoint(file.parts)


def record_import(load: Callable[[], ModuleType]) -> ModuleType:
    """Import a module, and record the files that its import loads.

    Modules of the user are compiled from their sources, not read from bytecode.

    Parameters
    ----------
    load : callable
        Imports the module and returns it.
    """
    earlier_names = set(sys.modules)
    with _compiling_users_modules():
        module = load()
    new_modules = [
        loaded for name, loaded in list(sys.modules.items()) if name not in earlier_names
    ]
    new_paths = [getattr(loaded, "__file__", None) for loaded in new_modules]
    if module.__file__:
        recorded_files = _RECORDED_FILES.setdefault(Path(module.__file__).resolve(), set())
        recorded_files.update(Path(path).resolve() for path in new_paths if path)
    return module


def load_file(name: str, path: str | Path) -> ModuleType:
    """Execute a Python file as a module, and return the module.

    Parameters
    ----------
    name : str
        Name of the module. A module that has this name already is replaced.
    path : str or Path
    """
    spec = importlib.util.spec_from_file_location(name, path, loader=_SourceLoader(name, str(path)))
    assert spec is not None, "a .py file always has a loader"
    assert spec.loader is not None
    # Decorators such as `dataclass` look the module up while it is executed.
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unload_modules(files: list[Path]) -> None:
    """Remove the modules of files, so that the next import reads the files again."""
    unloaded_files = set(files)
    folders = {os.path.realpath(file.parent) for file in files}
    real_path = functools.cache(os.path.realpath)
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if not path or name == "__main__":
            continue
        # Resolving a path takes long. Nearly all modules lie in other folders.
        is_in_folder = real_path(os.path.dirname(path)) in folders
        if is_in_folder and Path(path).resolve() in unloaded_files:
            del sys.modules[name]
    importlib.invalidate_caches()


def source_files(file: Path) -> list[Path]:
    """Return the files on which the behaviour of a module depends.

    Parameters
    ----------
    file : Path
        File of the module. If `record_import` has imported it, the files that the
        import loaded are included.

    Returns
    -------
    list of Path
        The file itself, followed by the sorted files of the modules that it imports,
        directly or indirectly, at any place in the source. Files of the standard
        library, of installed packages and of this package are left out. If the module
        is part of an installed package, files in the folder of the module are included.
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
    """Return whether a file counts among the sources of a module in a folder.

    Parameters
    ----------
    file : Path
        File that the module imports.
    module_folder : Path
        Folder of the module.
    """
    is_package_folder = (
        module_folder not in _PYTHON_FOLDERS and module_folder.name not in _INSTALL_FOLDERS
    )
    if is_package_folder and file.is_relative_to(module_folder):
        return not file.is_relative_to(_PACKAGE)
    return is_users_file(file)


# --- compiling from source ----------------------------------------------------------


class _SourceLoader(SourceFileLoader):
    """A loader that compiles the source of a module and ignores bytecode on the disk.

    Python uses bytecode if the source has the same size and was modified in the same
    second. Such bytecode may differ from the source, whose content identifies a run.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class _UsersModules(MetaPathFinder):
    """A finder that gives the modules of the user a `_SourceLoader`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a module of the user; None for other modules."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or type(spec.loader) is not SourceFileLoader:
            return None
        if not is_users_file(Path(spec.origin).resolve()):
            return None
        spec.loader = _SourceLoader(fullname, spec.origin)
        return spec


@contextlib.contextmanager
def _compiling_users_modules() -> Iterator[None]:
    """Compile the modules of the user from their sources inside the block."""
    finder = _UsersModules()
    # Finders of other packages may change modules during the import. They stay in front
    # of Python's finder of files, and our finder is inserted directly before it.
    indices = [index for index, other in enumerate(sys.meta_path) if other is PathFinder]
    sys.meta_path.insert(indices[0] if indices else len(sys.meta_path), finder)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # An import may rearrange the finders.
            sys.meta_path.remove(finder)


# --- imports in a source ------------------------------------------------------------


def _imported_files(file: Path, module_folder: Path) -> list[Path]:
    """Return the files of the modules that a Python file imports.

    Parameters
    ----------
    file : Path
        Any file. A file that is not Python source imports nothing.
    module_folder : Path
        Folder of the module whose sources are searched. It may be in the search path of
        Python when the module is imported.
    """
    if file.suffix != ".py":
        return []
    paths: list[Path] = []
    for name, level in _imported_names(file.read_bytes()):
        paths += _files_of_import(name, level, file, module_folder)
    return paths


@functools.lru_cache(maxsize=4096)
def _imported_names(source: bytes) -> tuple[tuple[str, int], ...]:
    """Return the dotted names in the imports of a Python source.

    The imports are import statements, and calls such as
    ``importlib.import_module("name")``.

    Returns
    -------
    tuple of (str, int)
        Dotted names and their levels. The level is the number of dots before a relative
        name, and 0 for an absolute name.
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        # The error is reported to the user when the source is imported.
        return ()

    # The keys of a dictionary keep their order.
    names: dict[tuple[str, int], None] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {(alias.name, 0): None for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names |= {(f"{base}.{alias.name}".strip("."), node.level): None for alias in node.names}
    names |= dict.fromkeys(dynamic_imports(source).names)
    return tuple(names)


def _files_of_import(name: str, level: int, file: Path, module_folder: Path) -> Iterator[Path]:
    """Yield the files that an import may load, including the files of packages.

    Parameters
    ----------
    name : str
        Dotted name of the imported module, or of an object in the module.
    level : int
        Number of dots before a relative name, or 0.
    file : Path
        File that contains the import.
    module_folder : Path
        As in `_imported_files`.
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
    except Exception:  # Finders of other packages may raise anything.
        return
    yield from _files_along(spec, parts)


def _files_along(spec: ModuleSpec | None, parts: list[str]) -> Iterator[Path]:
    """Yield the files of a package and of the modules in it along a dotted name.

    Parameters
    ----------
    spec : ModuleSpec or None
        Specification of the module of the first part of the name.
    parts : list of str
        The remaining parts. The last parts may be objects in a module, which have no
        files.
    """
    while spec is not None:
        if spec.has_location and spec.origin:
            yield Path(spec.origin).resolve()
        folders = list(spec.submodule_search_locations or ())
        if not parts or not folders:
            return
        spec = PathFinder.find_spec(parts[0], folders)
        parts = parts[1:]
