"""Plug-ins: somebody's modules whose decorators register things, and the package's own families of stages, which are loaded in the same way.

Which source files a module consists of is known too: those that its import loads, and those that it names and loads later.
"""

import ast
import contextlib
import dis
import functools
import hashlib
import importlib
import importlib.util
import multiprocessing
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType, ModuleType

from stereo_framework.core.dynamic_imports import dynamic_imports, warn_of_computed_imports
from stereo_framework.core.errors import (
    ParameterError,
    StereoFrameworkError,
    describe_exception,
    one_line,
    short,
)
from stereo_framework.core.slots import SLOTS

PLUGIN_PREFIX = "stereo_framework_plugin_"
"""Beginning of the module names of plug-ins that are named by their file."""

NO_PLUGINS = "STEREO_NO_PLUGINS"
"""Environment variable that keeps all third-party code from being executed: plug-ins, functions and programs."""

_INSTALLED = ("site-packages", "dist-packages")
_ROOTS = [
    Path(sysconfig.get_path(kind)).resolve()
    for kind in ("stdlib", "platstdlib", "purelib", "platlib")
]
_PACKAGE = Path(__file__).resolve().parents[1]

_LOADED: dict[Path, set[Path]] = {}
"""The files that were loaded while a file was imported."""


_PLUGIN_FILES: set[Path] = set()
"""The files of all plug-ins that were loaded, with the modules that belong to them."""


def execution_is_off() -> bool:
    """Return whether `NO_PLUGINS` is set to any text, even ``0``; an empty text does not count."""
    return bool(os.environ.get(NO_PLUGINS))


def not_executed(code: str) -> str:
    """Return the message about third-party code that the user's switch keeps from being executed."""
    return f"{code} is not executed: --no-plugins, or {NO_PLUGINS} in the environment, forbids it"


def check_execution(code: str) -> None:
    """Refuse to execute third-party code if `execution_is_off`.

    Parameters
    ----------
    code : str
        The code for the message, such as ``the Python function mine.py:match``.

    Raises
    ------
    ParameterError
        The user's switch is on.
    """
    if execution_is_off():
        raise ParameterError(not_executed(code))


@functools.cache
def installed_plugins() -> tuple[str, ...]:
    """The source files of the plug-ins that are installed as packages. They are loaded at the first call, after the stages of the families: who only
    reads results needs none.
    """
    for slot in SLOTS:
        importlib.import_module(f"stereo_framework.{slot}")
    files = []
    for entry in () if execution_is_off() else entry_points(group="stereo_framework.plugins"):
        try:
            module = noted(functools.partial(importlib.import_module, entry.module))
            entry.load()
        except BaseException as error:
            _pass_on_interrupt(error)
            message = f"plug-in {entry.name} ({entry.value}) cannot be imported: {raised(error)}"
            raise StereoFrameworkError(message) from error
        files += [_remembered(module.__file__)] if module.__file__ else []
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
    if execution_is_off():
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
        name = f"{PLUGIN_PREFIX}{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()}"
        if name in sys.modules:
            return str(path)
        load = functools.partial(_from_file, name, path)
    try:
        noted(load)
    except BaseException as error:
        sys.modules.pop(name, None)
        _pass_on_interrupt(error)
        message = f"plugins: {one_line(reference)} cannot be imported: {raised(error)}"
        raise ParameterError(message) from error
    file = getattr(sys.modules[name], "__file__", None)
    if file is None:
        raise ParameterError(
            f"plugins: {reference} is a folder or built in, not a module with a source file"
        )
    return _remembered(str(file))


def _pass_on_interrupt(error: BaseException) -> None:
    """Raise an interrupt of the user again.

    A plug-in may also raise KeyboardInterrupt itself. Then its own file is the last
    place of the traceback, and the line there is a ``raise`` statement.
    """
    if isinstance(error, KeyboardInterrupt) and not _is_raised_by_statement(error):
        raise error


def _is_raised_by_statement(error: BaseException) -> bool:
    """Return whether the last frame of a traceback executed a ``raise`` statement."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    # A signal handler that raises is the last frame if the signal came meanwhile.
    if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in (
        "stereo_framework",
        "signal",
    ):
        return False
    return dis.opname[code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"


def raised(error: BaseException) -> str:
    """What an import raised, behind the last place outside of libraries that it passed through, or else in an installed one."""
    frames = [
        (Path(f.f_code.co_filename), line)
        for f, line in traceback.walk_tb(error.__traceback__)
        if f.f_code.co_filename[0] != "<"
    ]
    own = [one for one in frames if _counts(one[0], Path())] or [
        one for one in frames if set(_INSTALLED) & set(one[0].parts)
    ]
    said = str(error) if isinstance(error, StereoFrameworkError) else describe_exception(error)
    return f"{own[-1][0].name}:{own[-1][1]}: {said}" if own else said


def _remembered(file: str) -> str:
    """A plug-in's file, its content and that of the modules that belong to it known `as_loaded`."""
    files = sources(Path(file))
    for path in files:
        as_loaded(path)
        _PLUGIN_FILES.add(path)
    # The program that started this worker process has given the warnings.
    if multiprocessing.parent_process() is None:
        warn_of_computed_imports(files, "list its file in @stage(..., files=...)")
    return file


def is_plugin_file(file: Path) -> bool:
    """Return whether a file is a plug-in's, or belongs to one that was loaded."""
    return file.resolve() in _PLUGIN_FILES


@functools.cache
def as_loaded(file: Path) -> bytes:
    """What a file held when it was first asked for: plug-ins are imported once in a process, and what their files say later is not what computes."""
    return file.read_bytes()


class _SourceLoader(SourceFileLoader):
    """A loader that compiles the source and takes no bytecode from the disk.

    Python takes bytecode of a file that has the same size and was modified in the same
    second. Its content could differ from the content that identifies a run.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class _UsersModules(MetaPathFinder):
    """A finder that lets the modules of the user be compiled from their sources."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of the user lies, or None to leave a module to other finders."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None or type(spec.loader) is not SourceFileLoader:
            return None
        if not is_users_file(Path(spec.origin).resolve()):
            return None
        spec.loader = _SourceLoader(fullname, spec.origin)
        return spec


@contextlib.contextmanager
def _users_modules_from_source() -> Iterator[None]:
    """Compile the modules of the user from their sources in this context."""
    finder = _UsersModules()
    # Finders of others, which may change modules as they are imported, keep their place.
    places = [place for place, other in enumerate(sys.meta_path) if other is PathFinder]
    sys.meta_path.insert(places[0] if places else len(sys.meta_path), finder)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # An import may rearrange the finders.
            sys.meta_path.remove(finder)


def import_file(name: str, path: str | Path) -> ModuleType:
    """Import a ``.py`` file anew, as a module of this name."""
    return noted(functools.partial(_from_file, name, path))


def _from_file(name: str, path: str | Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path, loader=_SourceLoader(name, str(path)))
    assert spec is not None, "a .py file always has a loader"
    assert spec.loader is not None
    # Dataclasses and the like look their module up.
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def noted(load: Callable[[], ModuleType]) -> ModuleType:
    """Import a module, and remember what its import loads.

    Parameters
    ----------
    load : callable
        Imports the module and returns it.
    """
    before = set(sys.modules)
    with _users_modules_from_source():
        module = load()
    found = [
        getattr(other, "__file__", None)
        for name, other in list(sys.modules.items())
        if name not in before
    ]
    if module.__file__:
        _LOADED.setdefault(Path(module.__file__).resolve(), set()).update(
            Path(path).resolve() for path in found if path
        )
    return module


def sources(file: Path) -> list[Path]:
    """The files that decide what a module does.

    Parameters
    ----------
    file : Path
        Of the module. What its import loads is known once it was imported under `noted`.

    Returns
    -------
    list of Path
        The file itself, then, sorted, the files that its import loaded and those that an import statement anywhere in it names, and theirs. A
        file counts that is neither of the standard library, nor of an installed package, nor of this one; of an installed package those in
        the module's own folder count.
    """
    file = file.resolve()
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        one = waiting.pop()
        if one in found or not one.is_file() or not (one == file or _counts(one, file.parent)):
            continue
        found.add(one)
        waiting += _LOADED.get(one, ())
        imports = _imports(one.read_bytes()) if one.suffix == ".py" else ()
        waiting += [
            path for name, level in imports for path in _named(name, level, one, file.parent)
        ]
    return [file, *sorted(found - {file})]


def forget(files: list[Path]) -> None:
    """Let the modules in some files be imported anew."""
    gone, folders = set(files), {os.path.realpath(file.parent) for file in files}
    real = functools.cache(os.path.realpath)
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        # Of thousands of modules hardly one lies there.
        if (
            path
            and name != "__main__"
            and real(os.path.dirname(path)) in folders
            and Path(path).resolve() in gone
        ):
            del sys.modules[name]
    importlib.invalidate_caches()


def is_users_file(file: Path) -> bool:
    """Return whether a file belongs neither to Python, nor to an installed package, nor to this one."""
    return _counts(file, Path())


def _counts(file: Path, own: Path) -> bool:
    if file.is_relative_to(_PACKAGE):
        return False
    if own not in _ROOTS and own.name not in _INSTALLED and file.is_relative_to(own):
        return True
    return not any(file.is_relative_to(root) for root in _ROOTS) and not set(_INSTALLED) & set(
        file.parts
    )


@functools.lru_cache(maxsize=4096)
def _imports(source: bytes) -> tuple[tuple[str, int], ...]:
    """List the dotted names in the imports of Python source.

    These are import statements, and calls such as ``importlib.import_module("name")``.

    Each name comes with the number of folders up at which it starts; 0 is anywhere.
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        # The import of this source raises the error for the user.
        return ()
    found: dict[tuple[str, int], None] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {(alias.name, 0): None for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            found |= {(f"{base}.{alias.name}".strip("."), node.level): None for alias in node.names}
    found |= dict.fromkeys(dynamic_imports(source).names)
    return tuple(found)


def _named(name: str, level: int, file: Path, own: Path) -> Iterator[Path]:
    """The files of a name in an import statement of `file`, its packages' included; `own` is the folder of the module that all begins with."""
    parts = name.split(".")
    if level:
        folder = file.parents[min(level, len(file.parents)) - 1]
        yield folder / "__init__.py"
        yield from _below(PathFinder.find_spec(parts[0], [str(folder)]), parts[1:])
        return
    for folder in {own, file.parent}:
        yield from _below(PathFinder.find_spec(parts[0], [str(folder)]), parts[1:])
    try:
        spec = importlib.util.find_spec(parts[0])
    except Exception:  # whatever finders of others raise
        return
    yield from _below(spec, parts[1:])


def _below(spec: ModuleSpec | None, parts: list[str]) -> Iterator[Path]:
    """The files of a module or package and of those within it that a dotted name leads to, as far as there are any."""
    while spec is not None:
        if spec.has_location and spec.origin:
            yield Path(spec.origin).resolve()
        places = list(spec.submodule_search_locations or ())
        spec = PathFinder.find_spec(parts[0], places) if parts and places else None
        parts = parts[1:]
