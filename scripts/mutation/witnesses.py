"""Lines whose execution shows that a test meets a change of the source code.

For a change inside a function these are the lines of its statement. Other changes act
when a module is imported, where coverage belongs to no test, or in a compiled kernel,
whose lines coverage does not see. For such a change the lines are those of the
functions that use the changed name, directly or through other names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from mutation.changes import Change

Lines = frozenset[tuple[str, int]]
"""Pairs of a file and the number of a line in it."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class _Scope:
    """A statement of a module, with the names that it defines and that it uses."""

    file: str
    names: frozenset[str]
    mentions: frozenset[str]
    lines: Lines


class Package:
    """The syntax trees of a package, in which uses of names are found.

    Parameters
    ----------
    trees : mapping
        Syntax trees by file, relative to the root of the checkout.
    """

    def __init__(self, trees: Mapping[str, ast.Module]) -> None:
        self._scopes = [_scope(file, node) for file, tree in trees.items() for node in tree.body]
        self._imports = {file: _imported_names(tree) for file, tree in trees.items()}

    def witnesses(self, file: str, change: Change, compiled: bool) -> Lines:
        """Return the lines whose execution shows that a test meets the change.

        Parameters
        ----------
        file : str
            File of the change.
        change : Change
            The change.
        compiled : bool
            Whether kernels are compiled, so that coverage does not see their lines.
        """
        functions = [node for node in change.ancestors if isinstance(node, _FUNCTIONS)]
        if functions and functions[-1] is change.statement:
            # Defaults and decorators act when the function is called.
            lines = _lines_of_bodies(file, functions[-1])
        elif functions:
            lines = _lines_of_header(file, change.statement)
        else:
            lines = frozenset()
        hidden = compiled and any(map(is_kernel, functions))
        if lines and not hidden:
            return lines

        path = (*change.ancestors, change.node)
        # The first node is the module, whose parts are statements.
        top = next(node for node in path if isinstance(node, ast.stmt))
        scope = _scope(file, top)
        if scope.lines and not hidden:
            return scope.lines
        return self._lines_of_users(scope) or self._lines_of_file(file)

    def _lines_of_users(self, scope: _Scope) -> Lines:
        """Return the lines of the functions that use what a statement defines."""
        lines: set[tuple[str, int]] = set()
        waiting = [scope]
        visited = {id(scope)}
        while waiting:
            used = waiting.pop()
            for user in self._scopes:
                if id(user) in visited or not self._uses(user, used):
                    continue
                visited.add(id(user))
                lines |= user.lines
                if not user.lines:
                    waiting.append(user)
        return frozenset(lines)

    def _uses(self, user: _Scope, used: _Scope) -> bool:
        names = user.mentions & used.names
        if user.file == used.file:
            return bool(names)
        module = _module_name(used.file)
        imported = self._imports[user.file]
        return any((module, name) in imported for name in names) or (
            ("", module) in imported and bool(names)
        )

    def _lines_of_file(self, file: str) -> Lines:
        return frozenset().union(*(scope.lines for scope in self._scopes if scope.file == file))


def is_kernel(function: ast.AST) -> bool:
    """Tell whether numba compiles a function, so that coverage misses its lines."""
    decorators = [ast.unparse(node) for node in getattr(function, "decorator_list", [])]
    return any(text.partition("(")[0].endswith(("kernel", "jit")) for text in decorators)


def _scope(file: str, statement: ast.stmt) -> _Scope:
    names: set[str] = set()
    mentions: set[str] = set()
    lines: set[tuple[str, int]] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            (mentions if isinstance(node.ctx, ast.Load) else names).add(node.id)
        elif isinstance(node, ast.Attribute):
            mentions.add(node.attr)
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        # The variables inside a function are not seen outside.
        names = {statement.name}
    for function in _plain_functions(statement):
        lines |= _lines_of_bodies(file, function)
    return _Scope(file, frozenset(names), frozenset(mentions), frozenset(lines))


def _plain_functions(node: ast.AST) -> Iterator[_Function]:
    """Yield the outermost functions in a statement, except for kernels."""
    if isinstance(node, _FUNCTIONS):
        if not is_kernel(node):
            yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _plain_functions(child)


def _lines_of_bodies(file: str, function: _Function) -> Lines:
    # The line of `def` is executed at definition, so only the body shows a call.
    first = function.body[0].lineno
    last = function.end_lineno or first
    return frozenset((file, line) for line in range(first, last + 1))


def _lines_of_header(file: str, statement: ast.stmt) -> Lines:
    """Return the lines of a statement without those of the statements inside it."""
    body = getattr(statement, "body", None)
    last = statement.end_lineno or statement.lineno
    if body:
        last = max(statement.lineno, body[0].lineno - 1)
    return frozenset((file, line) for line in range(statement.lineno, last + 1))


def _imported_names(tree: ast.Module) -> frozenset[tuple[str, str]]:
    """Return pairs of module and name; the module of an imported module is empty."""
    names: set[tuple[str, str]] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").rpartition(".")[2]
            names |= {(module, alias.name) for alias in node.names}
            names |= {("", alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {("", alias.name.rpartition(".")[2]) for alias in node.names}
    return frozenset(names)


def _module_name(file: str) -> str:
    """Return the last part of a module's name, for which imports are compared."""
    path = PurePosixPath(file)
    return path.parent.name if path.stem == "__init__" else path.stem
