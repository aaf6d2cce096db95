"""Search for dynamic imports, such as ``importlib.import_module(name)``.

An import statement contains the module name. In a dynamic import, the name may be
computed at run time.
"""

import ast
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stereo_framework.core.errors import warn
from stereo_framework.core.syntax_trees import parse_source

_IMPORTING = ("import_module", "__import__", "run_module")
"""Python functions whose first argument is the name of an imported module."""

_EXECUTING = ("run_path", "spec_from_file_location", "SourceFileLoader", "load_source")
"""Python functions that execute or load a Python file.

A relative path depends on the working directory at run time.
"""

_EXECUTING_TEXT = ("exec", "execfile")
"""Python functions that execute a text as Python source.

Methods such as ``cursor.exec`` are ignored.
"""

_DEFINING_MODULES = ("importlib", "runpy", "importlib.util", "importlib.machinery")
"""Standard library modules with functions for dynamic imports."""


@dataclass(frozen=True)
class DynamicImports:
    """Dynamic imports in a Python file.

    Parameters
    ----------
    names : tuple of (str, int)
        Name and level of each module with a constant name. The level is the number of
        leading dots, such as 2 for ``..util``.
    computed_lines : tuple of int
        Line numbers of imports whose name is computed at run time.
    """

    names: tuple[tuple[str, int], ...] = ()
    computed_lines: tuple[int, ...] = ()


@functools.lru_cache(maxsize=4096)
def dynamic_imports(source: bytes) -> DynamicImports:
    r"""Find the dynamic imports in a Python file.

    Renamed functions are found too, as in ``from importlib import import_module as
    load``. Functions obtained by `getattr` are not found.

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
    tree = parse_source(source)
    return DynamicImports() if tree is None else dynamic_imports_of(list(ast.walk(tree)))


def dynamic_imports_of(nodes: Sequence[ast.AST]) -> DynamicImports:
    """Find the dynamic imports among the nodes of a syntax tree.

    Parameters
    ----------
    nodes : sequence of node
        All nodes of the tree, as `ast.walk` gives them.
    """
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
    """Warn of Python files with imports whose module name is computed.

    Changes of such a module are not detected. Stored results may then be outdated.

    Parameters
    ----------
    files : list of Path
        Source files of the user's stages and functions.
    remedy : str
        Hint for the warning about how to declare the imported module.
    """
    for file in files:
        if file.suffix != ".py":
            continue
        lines = dynamic_imports(file.read_bytes()).computed_lines
        if lines:
            _warn_once(file, lines[0], remedy)


@functools.cache
def _warn_once(file: Path, line: int, remedy: str) -> None:
    """Warn of an import with a computed name, once per file and line."""
    message = (
        f"{file}:{line}: imports a module, or executes a file, whose name is computed while "
        "the program runs; stored results are not computed again if that file changes; "
        f"{remedy}, or import the module by an import statement"
    )
    warn([message])


def _original_names(nodes: Sequence[ast.AST]) -> dict[str, str]:
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
    """Return the original name of the called function, such as ``import_module``.

    The result is empty for a call without a name, such as ``functions[0]()``.
    """
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    if isinstance(call.func, ast.Name):
        return original_names.get(call.func.id, call.func.id)
    return ""


def _constant_module(call: ast.Call) -> tuple[str, int] | None:
    """Return the module name and its level in a dynamic import.

    The result is None for a computed name. For ``import_module(".dyn", "plugins")``,
    the result is ``("plugins.dyn", 0)``.
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
    """Return the values of selected keyword arguments of a call."""
    return [keyword.value for keyword in call.keywords if keyword.arg in names]


def _constant_text(expressions: list[ast.expr]) -> str | None:
    """Return the first expression if it is a constant text, otherwise None."""
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
