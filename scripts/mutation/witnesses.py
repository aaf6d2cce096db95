"""Lines that a test must execute to depend on a change of the source code: witnesses.

For a change in the body of a function, the witnesses are the lines of the changed
statement. Two kinds of changes have no such lines. Code outside functions is executed
by the first import, which coverage assigns to no test. Lines of compiled kernels are
not recorded by coverage. The witnesses of these changes are the lines of the functions
that use the changed name, directly or through names outside functions. If no function
uses it, they are the lines of all functions in the file.
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
class _Statement:
    """A statement of a module, with its names and the lines of its functions."""

    file: str
    defined_names: frozenset[str]
    used_names: frozenset[str]
    lines: Lines


class Package:
    """The syntax trees of a package, in which uses of names are found.

    Parameters
    ----------
    trees : mapping
        Syntax trees by file, relative to the root of the checkout.
    """

    def __init__(self, trees: Mapping[str, ast.Module]) -> None:
        self._statements = [
            _statement(file, node) for file, tree in trees.items() for node in tree.body
        ]
        self._imports = {file: _imported_names(tree) for file, tree in trees.items()}

    def witnesses(self, file: str, change: Change, compiled: bool) -> Lines:
        """Return the lines of which a test must execute one to depend on the change.

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
            # A changed default or decorator is executed by the import, but a test can
            # notice the change only if it calls the function.
            lines = _lines_of_bodies(file, functions[-1])
        elif functions:
            lines = _lines_of_header(file, change.statement)
        else:
            lines = frozenset()
        hidden = compiled and any(map(is_kernel, functions))
        if lines and not hidden:
            return lines

        path = (*change.ancestors, change.node)
        # The first node is the module. The next one is a statement outside functions.
        top = next(node for node in path if isinstance(node, ast.stmt))
        changed = _statement(file, top)
        if changed.lines and not hidden:
            return changed.lines
        return self._lines_of_users(changed) or self._lines_of_file(file)

    def _lines_of_users(self, changed: _Statement) -> Lines:
        """Return the lines of the functions that use the names of a changed statement.

        A user without functions, such as a constant, is followed to its own users.
        """
        lines: set[tuple[str, int]] = set()
        waiting = [changed]
        visited: set[int] = set()
        while waiting:
            used = waiting.pop()
            for user in self._statements:
                if id(user) in visited or not self._uses(user, used):
                    continue
                visited.add(id(user))
                lines |= user.lines
                if not user.lines:
                    waiting.append(user)
        return frozenset(lines)

    def _uses(self, user: _Statement, used: _Statement) -> bool:
        names = user.used_names & used.defined_names
        if user.file == used.file:
            return bool(names)
        module = _module_name(used.file)
        imported = self._imports[user.file]
        if not names:
            return False
        imports_module = ("", module) in imported
        return imports_module or any((module, name) in imported for name in names)

    def _lines_of_file(self, file: str) -> Lines:
        lines: set[tuple[str, int]] = set()
        for statement in self._statements:
            if statement.file == file:
                lines |= statement.lines
        return frozenset(lines)


def is_kernel(function: ast.AST) -> bool:
    """Tell whether numba compiles a function, so that coverage misses its lines."""
    decorators = [ast.unparse(node) for node in getattr(function, "decorator_list", [])]
    return any(text.partition("(")[0].endswith(("kernel", "jit")) for text in decorators)


def _statement(file: str, statement: ast.stmt) -> _Statement:
    defined_names: set[str] = set()
    used_names: set[str] = set()
    lines: set[tuple[str, int]] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                used_names.add(node.id)
            else:
                defined_names.add(node.id)
        elif isinstance(node, ast.Attribute):
            used_names.add(node.attr)
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        # The variables inside a function are not seen outside.
        defined_names = {statement.name}
    for function in _plain_functions(statement):
        lines |= _lines_of_bodies(file, function)
    return _Statement(file, frozenset(defined_names), frozenset(used_names), frozenset(lines))


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
    """Return pairs of a module and a name that a file imports from it.

    An imported name may be a module itself, so it also has a pair without a module.
    Names after `as`, `import *` and imports through a package are not followed.
    """
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
