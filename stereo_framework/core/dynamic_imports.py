"""A search for calls in a Python file that import modules or execute other files.

An import statement contains the name of the imported module. In contrast, the argument
of a call such as ``importlib.import_module(name)`` may be computed while the program
runs. In this case the imported module cannot be found by reading the Python file.
"""

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

from stereo_framework.core.errors import warn

_IMPORTING = ("import_module", "__import__", "run_module")
"""Python functions that import or run the module named by their first argument."""

_EXECUTING = ("run_path", "spec_from_file_location", "SourceFileLoader", "load_source")
"""Python functions that execute or load a Python file.

The file cannot be found by reading the call, because a relative path depends on the
working directory of the program.
"""

_EXECUTING_TEXT = ("exec", "execfile")
"""Python functions that execute a text as Python source.

A method with such a name, for example ``cursor.exec`` of a database, is ignored.
"""

_DEFINING_MODULES = ("importlib", "runpy", "importlib.util", "importlib.machinery")
"""Modules of the standard library that define functions which import modules."""


@dataclass(frozen=True)
class DynamicImports:
    """The calls in a Python file that import modules or execute other files.

    Parameters
    ----------
    names : tuple of (str, int)
        Name and level of each module whose name is a constant text in the call. The
        level is the number of dots in front of a relative module name (``..util`` has
        level 2). An absolute name has level 0.
    computed_lines : tuple of int
        Line numbers of the calls whose module or file is computed while the program
        runs.
    """

    names: tuple[tuple[str, int], ...] = ()
    computed_lines: tuple[int, ...] = ()


@functools.lru_cache(maxsize=4096)
def dynamic_imports(source: bytes) -> DynamicImports:
    r"""Find the calls in a Python file that import modules or execute other files.

    The called functions are recognized by their names, such as ``import_module``. A
    function is recognized even if it is imported under another name, as in
    ``from importlib import import_module as load``. A function that the program gets by
    `getattr` is not recognized.

    Parameters
    ----------
    source : bytes
        Content of the Python file.

    Examples
    --------
    >>> source = b"import importlib\nimportlib.import_module('dyn')\n__import__(name)"
    >>> dynamic_imports(source)
    DynamicImports(names=(('dyn', 0),), computed_lines=(3,))
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        # The file is not valid Python. Importing the file will report the error.
        return DynamicImports()

    original_names = _original_names(nodes)
    names: list[tuple[str, int]] = []
    lines: list[int] = []
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    for call in calls:
        function = _function_name(call, original_names)
        if function in _IMPORTING:
            module = _constant_module(call)
            if module is None:
                lines.append(call.lineno)
            else:
                names.append(module)
        elif function in _EXECUTING or _executes_text(call, function):
            lines.append(call.lineno)
    return DynamicImports(tuple(dict.fromkeys(names)), tuple(sorted(set(lines))))


def warn_of_computed_imports(files: list[Path], remedy: str) -> None:
    """Warn of each Python file that imports a module whose name is computed.

    Stored results are computed again if the source of a user's stage has changed. A
    module with a computed name cannot be found, so changes of this module go unnoticed.

    Parameters
    ----------
    files : list of Path
        Source files of the user's stages and functions.
    remedy : str
        Clause of the warning that explains how to declare the imported module.
    """
    for file in files:
        if file.suffix != ".py":
            continue
        lines = dynamic_imports(file.read_bytes()).computed_lines
        if lines:
            _warn_once(file, lines[0], remedy)


@functools.cache
def _warn_once(file: Path, line: int, remedy: str) -> None:
    """Warn of an import with a computed name, only once for each file and line."""
    message = (
        f"{file}:{line}: imports a module, or executes a file, whose name is computed while "
        "the program runs; stored results are not computed again if that file changes; "
        f"{remedy}, or import the module by an import statement"
    )
    warn([message])


def _original_names(nodes: list[ast.AST]) -> dict[str, str]:
    """Return the original names of imported functions, by the names used in the file.

    For ``from importlib import import_module as load``, the result is
    ``{"load": "import_module"}``.
    """
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module in _DEFINING_MODULES:
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
    return names


def _function_name(call: ast.Call, original_names: dict[str, str]) -> str:
    """Return the original name of the function in a call, such as ``import_module``.

    The result is empty if the called object is not given by a name, as in
    ``functions[0]()``.
    """
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    if isinstance(call.func, ast.Name):
        return original_names.get(call.func.id, call.func.id)
    return ""


def _constant_module(call: ast.Call) -> tuple[str, int] | None:
    """Return the module name and its level from the arguments of an importing call.

    The result is None if the program computes the name. If the call gives a relative
    name and a package, as in ``import_module(".dyn", "plugins")``, the result is the
    absolute name ``plugins.dyn`` with the level 0.
    """
    name = _constant_text([*call.args[:1], *_keyword_values(call, ("name", "mod_name"))])
    if name is None:
        return None
    module = name.lstrip(".")
    level = len(name) - len(module)
    package = _constant_text([*call.args[1:2], *_keyword_values(call, ("package",))])
    if level == 1 and package is not None:
        return f"{package}.{module}", 0
    return module, level


def _keyword_values(call: ast.Call, names: tuple[str, ...]) -> list[ast.expr]:
    """Return the values of the keyword arguments of a call that have given names."""
    return [keyword.value for keyword in call.keywords if keyword.arg in names]


def _constant_text(expressions: list[ast.expr]) -> str | None:
    """Return the first expression as a text; None if it is not a constant text."""
    if not expressions:
        return None
    first = expressions[0]
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    return None


def _executes_text(call: ast.Call, function: str) -> bool:
    """Return whether a call such as ``exec(text)`` executes a computed text."""
    is_method = not isinstance(call.func, ast.Name)
    if function not in _EXECUTING_TEXT or is_method or not call.args:
        return False
    return not isinstance(call.args[0], ast.Constant)
