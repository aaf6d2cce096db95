"""Calls in Python source that import modules or execute other source, such as `importlib.import_module`.

An import statement names its module. The argument of a call may be computed while the
program runs, so that the module is not known before.
"""

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

from stereo_framework.core.errors import warn

_IMPORTING = ("import_module", "__import__", "run_module")
"""Functions whose first argument is the name of a module."""

_EXECUTING = ("run_path", "spec_from_file_location", "SourceFileLoader", "load_source")
"""Functions that execute or load a file, whose path starts at a folder that is not known."""

_EXECUTING_TEXT = ("exec", "execfile")
"""Functions that execute a text. Objects may have methods with these names."""


@dataclass(frozen=True)
class DynamicImports:
    """The imports of a source that are calls.

    Parameters
    ----------
    names : tuple of (str, int)
        Modules that are named by a constant, each with the number of folders up at which
        it starts; 0 is anywhere.
    computed_lines : tuple of int
        Lines of the calls whose module or file is not known before the program runs.
    """

    names: tuple[tuple[str, int], ...] = ()
    computed_lines: tuple[int, ...] = ()


@functools.lru_cache(maxsize=4096)
def dynamic_imports(source: bytes) -> DynamicImports:
    r"""Find the calls of a source that import modules or execute files.

    Functions are recognized by their names, also if an import statement gives them
    another one. A function that is reached in another way, for example by `getattr`, is
    not recognized.

    Examples
    --------
    >>> dynamic_imports(b"import importlib\nimportlib.import_module('dyn')\n__import__(name)")
    DynamicImports(names=(('dyn', 0),), computed_lines=(3,))
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        # The import of this source raises the error for the user.
        return DynamicImports()

    original_names = _original_names(nodes)
    names: list[tuple[str, int]] = []
    lines: list[int] = []
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        function = _function_name(node, original_names)
        module = _constant_module(node) if function in _IMPORTING else None
        if module is not None:
            names.append(module)
        elif function in _IMPORTING or function in _EXECUTING or _executes_text(node, function):
            lines.append(node.lineno)
    return DynamicImports(tuple(dict.fromkeys(names)), tuple(sorted(set(lines))))


def warn_of_computed_imports(files: list[Path], remedy: str) -> None:
    """Warn of modules that are not known before a program runs.

    Parameters
    ----------
    files : list of Path
        Source files that identify a run.
    remedy : str
        A clause that tells how the author lists a module's file.
    """
    for file in files:
        if file.suffix != ".py":
            continue
        lines = dynamic_imports(file.read_bytes()).computed_lines
        if lines:
            _warn_once(file, lines[0], remedy)


@functools.cache
def _warn_once(file: Path, line: int, remedy: str) -> None:
    warn(
        [
            f"{file}:{line}: imports a module, or executes a file, whose name is computed while the program runs; a change of it may go "
            f"unnoticed, and then stored results are those of the earlier code; {remedy}, or import the module by an import statement"
        ]
    )


def _original_names(nodes: list[ast.AST]) -> dict[str, str]:
    """Return the names of functions that import statements have renamed, by the new names."""
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module in ("importlib", "runpy", "importlib.util", "importlib.machinery"):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
    return names


def _function_name(call: ast.Call, original_names: dict[str, str]) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    if isinstance(call.func, ast.Name):
        return original_names.get(call.func.id, call.func.id)
    return ""


def _constant_module(call: ast.Call) -> tuple[str, int] | None:
    """Return the module that a call names by a constant, and its level; None without one."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in ("name", "mod_name"))]
    if not arguments or not isinstance(arguments[0], ast.Constant) or not isinstance(arguments[0].value, str):
        return None
    name = arguments[0].value
    module = name.lstrip(".")
    level = len(name) - len(module)
    packages = [*call.args[1:2], *(keyword.value for keyword in call.keywords if keyword.arg == "package")]
    package = packages[0].value if packages and isinstance(packages[0], ast.Constant) else None
    if level == 1 and isinstance(package, str):
        return f"{package}.{module}", 0
    return module, level


def _executes_text(call: ast.Call, function: str) -> bool:
    """Return whether a call executes a text that is no constant."""
    if function not in _EXECUTING_TEXT or not isinstance(call.func, ast.Name) or not call.args:
        return False
    return not isinstance(call.args[0], ast.Constant)
