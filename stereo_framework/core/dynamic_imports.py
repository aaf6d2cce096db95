"""A search for calls in Python source that import modules or execute other source.

An import statement contains the name of its module. A call, such as
``importlib.import_module(name)``, may compute the name while the program runs. In this
case the module cannot be found by reading the source.
"""

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

from stereo_framework.core.errors import warn

_IMPORTING = ("import_module", "__import__", "run_module")
"""Functions whose first argument is the name of a module."""


_EXECUTING = ("run_path", "spec_from_file_location", "SourceFileLoader", "load_source")
"""Functions that execute or load a file.

The file cannot be found by reading the source, because a relative path starts at the
working directory.
"""

_EXECUTING_TEXT = ("exec", "execfile")
"""Functions that execute a text as Python source.

Methods with these names, such as ``cursor.exec``, do other things.
"""

_DEFINING_MODULES = ("importlib", "runpy", "importlib.util", "importlib.machinery")
"""Modules of Python from which these functions can be imported."""


@dataclass(frozen=True)
class DynamicImports:
    """The calls of a source that import modules or execute other source.

    Parameters
    ----------
    names : tuple of (str, int)
        Name and level of each module whose name is a constant in the source. As in
        import statements, the level is the number of dots before a relative name, and 0
        for an absolute name.
    computed_lines : tuple of int
        Lines of the calls whose module or file is computed while the program runs.
    """

    names: tuple[tuple[str, int], ...] = ()
    computed_lines: tuple[int, ...] = ()


@functools.lru_cache(maxsize=4096)
def dynamic_imports(source: bytes) -> DynamicImports:
    r"""Find the calls of a source that import modules or execute other source.

    A function is recognized by its name, even if an import statement renames it. A call
    that gets the function in another way, for example by `getattr`, is not recognized.

    Examples
    --------
    >>> source = b"import importlib\nimportlib.import_module('dyn')\n__import__(name)"
    >>> dynamic_imports(source)
    DynamicImports(names=(('dyn', 0),), computed_lines=(3,))
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        # The error is reported to the user when the source is imported.
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
    """Warn of each file that imports modules under computed names.

    Such modules are not part of the identity of a run. If such a module changes, stored
    results are not computed again.

    Parameters
    ----------
    files : list of Path
        Source files that are part of the identity of a run.
    remedy : str
        Clause that explains how the author of the file declares such a module.
    """
    for file in files:
        if file.suffix != ".py":
            continue
        lines = dynamic_imports(file.read_bytes()).computed_lines
        if lines:
            _warn_once(file, lines[0], remedy)


@functools.cache
def _warn_once(file: Path, line: int, remedy: str) -> None:
    """Warn of a computed import, once for each file and line."""
    message = (
        f"{file}:{line}: imports a module, or executes a file, whose name is computed while "
        "the program runs; stored results are not computed again if that file changes; "
        f"{remedy}, or import the module by an import statement"
    )
    warn([message])


def _original_names(nodes: list[ast.AST]) -> dict[str, str]:
    """Return the original names of imported functions, by their names in the source."""
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module in _DEFINING_MODULES:
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
    return names


def _function_name(call: ast.Call, original_names: dict[str, str]) -> str:
    """Return the name of a called function; empty if another expression is called."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    if isinstance(call.func, ast.Name):
        return original_names.get(call.func.id, call.func.id)
    return ""


def _constant_module(call: ast.Call) -> tuple[str, int] | None:
    """Return the name and level of the module in a call; None if it is computed.

    If the name begins with one dot and the call contains the name of the package, the
    result is the absolute name.
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
    """Return the values of the keyword arguments with one of the names."""
    return [keyword.value for keyword in call.keywords if keyword.arg in names]


def _constant_text(expressions: list[ast.expr]) -> str | None:
    """Return the text of the first expression; None if it is not a constant text."""
    if not expressions:
        return None
    first = expressions[0]
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    return None


def _executes_text(call: ast.Call, function: str) -> bool:
    """Return whether a call executes a text that the program computes."""
    is_method = not isinstance(call.func, ast.Name)
    if function not in _EXECUTING_TEXT or is_method or not call.args:
        return False
    return not isinstance(call.args[0], ast.Constant)
