"""Small changes of a syntax tree, such as ``<`` for ``<=``, and their random draw.

Changes are numbered in the order of the syntax tree. A draw therefore depends neither
on line breaks nor on comments. These parts of a file are never changed: docstrings,
annotations (except for the metadata of ``Annotated``, which the package evaluates),
``__all__``, statements for type checkers, and the texts of messages, that is ``raise``
statements and calls of functions that warn or print.
"""

from __future__ import annotations

import ast
import copy
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SIGNS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_COUNTERPARTS = {
    "min": "max",
    "minimum": "maximum",
    "fmin": "fmax",
    "argmin": "argmax",
    "nanmin": "nanmax",
    "any": "all",
    "floor": "ceil",
    "startswith": "endswith",
    "zeros": "ones",
}
_COUNTERPARTS |= {second: first for first, second in _COUNTERPARTS.items()}

_SYMMETRIC = {"min", "max", "minimum", "maximum", "fmin", "fmax", "hypot", "array_equal"}
"""Functions whose result does not depend on the order of their arguments."""

_SPEAKING = re.compile(r"^(print|warn|warning|fail|debug|info|secho|echo)$|(Error|Warning)$")
"""Names of functions and classes whose arguments are texts for people."""

_IDENTIFYING = re.compile(r"key|identity|digest|hash|name|path|address", re.IGNORECASE)
"""Names of variables and functions whose f-strings tell things apart."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COLLECTIONS = (ast.Tuple, ast.List, ast.Set)
Node = ast.expr | ast.stmt
"""What a change replaces."""

_Replacements = Iterator[tuple[str, Node, Node]]
"""Kind of change, replaced node and replacement."""

_TEXTS = (ast.JoinedStr, ast.List, ast.Tuple)


@dataclass(frozen=True, eq=False)
class Change:
    """A node of a syntax tree and the node that replaces it.

    Attributes
    ----------
    kind : str
        Sort of the change, such as ``comparison``.
    node, replacement : ast.AST
        Expression or statement, before and after the change.
    ancestors : tuple
        Nodes around `node`, from the module inwards.
    """

    kind: str
    node: Node
    replacement: Node
    ancestors: tuple[ast.AST, ...]

    @property
    def statement(self) -> ast.stmt:
        """Innermost statement that contains the change."""
        around = (*self.ancestors, self.node)
        return next(node for node in reversed(around) if isinstance(node, ast.stmt))

    @property
    def is_in_function(self) -> bool:
        """Whether the changed code is executed when a function is called."""
        return any(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node is not self.statement
            for node in self.ancestors
        )

    @property
    def line(self) -> int:
        """Line on which the changed code begins."""
        return getattr(self._replaced_text(), "lineno", self.statement.lineno)

    def texts(self) -> tuple[str, str]:
        """Return the code around the change, before and after it, in one formatting."""
        path = (*self.ancestors, self.node)
        around = path[path.index(self.statement) :]
        # A statement with a body is too long to be shown as a whole.
        has_body = hasattr(self.statement, "body") and len(around) > 1
        outer = around[1] if has_body else around[0]
        new = _with_replacement(outer, self.node, self.replacement)
        return ast.unparse(outer), ast.unparse(new)

    def applied(self, source: str) -> str:
        """Return the source with the change; the rest of the text stays as it is."""
        target = self._replaced_text()
        new = _with_replacement(target, self.node, self.replacement)
        text = ast.unparse(new)
        if isinstance(target, ast.expr):
            text = f"({text})"

        lines = source.encode().splitlines(keepends=True)
        first = target.lineno - 1
        last = (target.end_lineno or target.lineno) - 1
        before = b"".join(lines[:first]) + lines[first][: target.col_offset]
        after = lines[last][target.end_col_offset :] + b"".join(lines[last + 1 :])
        return (before + text.encode() + after).decode()

    def _replaced_text(self) -> Node:
        # Before Python 3.12 nodes inside an f-string have no correct positions.
        path = (*self.ancestors, self.node)
        return next((node for node in path if isinstance(node, ast.JoinedStr)), self.node)


def changes(tree: ast.Module) -> list[Change]:
    """List every change that can be made, in the order of the syntax tree."""
    return list(_changes_below(tree, ancestors=()))


def draw(candidates: Sequence[Change], number: int, seed: int) -> list[int]:
    """Draw indices of changes, from each kind in turn, so that rare kinds occur.

    A smaller draw with the same seed is the beginning of a larger one.

    Parameters
    ----------
    candidates : sequence of Change
        All changes of a package.
    number : int
        Size of the draw; at most the number of candidates.
    seed : int
        Seed of the random numbers.
    """
    indices_of: dict[str, list[int]] = {}
    for i, change in enumerate(candidates):
        indices_of.setdefault(change.kind, []).append(i)
    generator = random.Random(seed)
    kinds = sorted(indices_of)
    for kind in kinds:
        generator.shuffle(indices_of[kind])
    generator.shuffle(kinds)

    indices: list[int] = []
    while len(indices) < min(number, len(candidates)):
        for kind in kinds:
            if indices_of[kind]:
                indices.append(indices_of[kind].pop())
    return indices[:number]


def _changes_below(node: ast.AST, ancestors: tuple[ast.AST, ...]) -> Iterator[Change]:
    for kind, target, replacement in _changes_at(node, ancestors):
        below = () if target is node else (node,)
        yield Change(kind, target, replacement, (*ancestors, *below))
    for child in _changeable_children(node):
        yield from _changes_below(child, (*ancestors, node))


def _changeable_children(node: ast.AST) -> Iterator[ast.AST]:
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_for_readers(child):
                continue
            if field in ("annotation", "returns"):
                yield from _metadata(child)
            else:
                yield child


def _metadata(annotation: ast.AST) -> list[ast.expr]:
    """Return the values in ``Annotated[type, ...]``, which are evaluated as checks."""
    if not isinstance(annotation, ast.Subscript) or not isinstance(annotation.slice, ast.Tuple):
        return []
    is_annotated = _last_name(annotation.value) == "Annotated"
    return annotation.slice.elts[1:] if is_annotated else []


def _is_for_readers(node: ast.AST) -> bool:
    """Tell whether a node is there for readers and type checkers alone."""
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node, ast.Call):
        return bool(_SPEAKING.search(_last_name(node.func)))
    if isinstance(node, ast.Expr):
        is_docstring = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return is_docstring or _is_for_readers(node.value)
    if isinstance(node, ast.Assign):
        return any(_last_name(target) in ("__all__", "message") for target in node.targets)
    if isinstance(node, ast.If):
        return bool(re.search("TYPE_CHECKING|__name__", ast.unparse(node.test)))
    return False


def _changes_at(node: ast.AST, ancestors: tuple[ast.AST, ...]) -> _Replacements:
    """Yield kind, replaced node and replacement of each change of this very node."""
    parent = ancestors[-1] if ancestors else None
    if isinstance(node, ast.Compare):
        yield from _comparisons(node)
    elif isinstance(node, ast.Constant):
        yield from _constants(node, parent)
    elif isinstance(node, ast.UnaryOp):
        yield from _unary_operators(node)
    elif isinstance(node, ast.BinOp | ast.AugAssign):
        yield from _binary_operators(node)
    elif isinstance(node, ast.BoolOp):
        yield from _conditions(node)
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "statement", node, ast.Pass()
    elif isinstance(node, _COLLECTIONS):
        yield from _parts_of_collections(node, parent)
    elif isinstance(node, ast.Dict) and len(node.keys) > 1:
        for i in range(len(node.keys)):
            yield (
                "key",
                node,
                _altered(node, keys=_without(node.keys, i), values=_without(node.values, i)),
            )
    elif isinstance(node, ast.JoinedStr):
        yield from _parts_of_texts(node, ancestors)


def _comparisons(node: ast.Compare) -> _Replacements:
    for i, operator in enumerate(node.ops):
        operators = list(node.ops)
        operators[i] = _COMPARISONS[type(operator)]()
        yield "comparison", node, _altered(node, ops=operators)


def _constants(node: ast.Constant, parent: ast.AST | None) -> _Replacements:
    kind = "default" if isinstance(parent, ast.arguments | ast.AnnAssign) else "constant"
    if isinstance(node.value, bool):
        yield kind, node, ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield kind, node, ast.Constant(node.value + 1)


def _unary_operators(node: ast.UnaryOp) -> _Replacements:
    if isinstance(node.op, ast.USub):
        yield "sign", node, node.operand
    elif isinstance(node.op, ast.Not | ast.Invert):
        yield "not", node, node.operand


def _binary_operators(
    node: ast.BinOp | ast.AugAssign,
) -> _Replacements:
    operands = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    # Texts and lists can be added but not subtracted: every test would fail.
    joins = any(isinstance(operand, _TEXTS) or _is_text(operand) for operand in operands)
    if type(node.op) in _SIGNS and not joins:
        yield "sign", node, _altered(node, op=_SIGNS[type(node.op)]())
    if type(node.op) in _OPERATORS and not joins:
        yield "operator", node, _altered(node, op=_OPERATORS[type(node.op)]())


def _conditions(node: ast.BoolOp) -> _Replacements:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "operator", node, _altered(node, op=other)
    for i in range(len(node.values)):
        rest = _without(node.values, i)
        yield "condition", node, rest[0] if len(rest) == 1 else _altered(node, values=rest)


def _calls(node: ast.Call) -> _Replacements:
    is_symmetric = _last_name(node.func) in _SYMMETRIC
    pairs = [] if is_symmetric else zip(node.args, node.args[1:], strict=False)
    for i, (first, second) in enumerate(pairs):
        is_starred = isinstance(first, ast.Starred) or isinstance(second, ast.Starred)
        if not is_starred and ast.dump(first) != ast.dump(second):
            arguments = [*node.args[:i], second, first, *node.args[i + 2 :]]
            yield "arguments", node, _altered(node, args=arguments)
    for i, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            yield "keyword", node, _altered(node, keywords=_without(node.keywords, i))
    counterpart = _COUNTERPARTS.get(_last_name(node.func))
    if counterpart is not None and isinstance(node.func, ast.Name):
        yield "counterpart", node.func, _altered(node.func, id=counterpart)
    elif counterpart is not None:
        yield "counterpart", node.func, _altered(node.func, attr=counterpart)


def _parts_of_collections(
    node: ast.Tuple | ast.List | ast.Set, parent: ast.AST | None
) -> _Replacements:
    is_target = not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    # A type in brackets, and an index of an array, cannot lose a part.
    has_slice = any(isinstance(element, ast.Slice) for element in node.elts)
    is_annotated = isinstance(parent, ast.Subscript) and _last_name(parent.value) == "Annotated"
    # Too few values for the names on the left fail at once.
    is_unpacked = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Tuple)
    if len(node.elts) < 2 or is_target or has_slice or is_annotated or is_unpacked:
        return
    for i in range(len(node.elts)):
        yield "key", node, _altered(node, elts=_without(node.elts, i))


def _parts_of_texts(node: ast.JoinedStr, ancestors: tuple[ast.AST, ...]) -> _Replacements:
    """Yield f-strings without a part, where the string tells things apart."""
    names = []
    for ancestor in ancestors:
        if isinstance(ancestor, _DEFINITIONS):
            names = [ancestor.name]
        elif isinstance(ancestor, ast.Assign):
            names += [_last_name(target) for target in ancestor.targets]
        elif isinstance(ancestor, ast.AnnAssign):
            names.append(_last_name(ancestor.target))
    if not any(map(_IDENTIFYING.search, names)):
        return
    for i, part in enumerate(node.values):
        if isinstance(part, ast.FormattedValue):
            yield "key", node, _altered(node, values=_without(node.values, i))


def _with_replacement(root: Any, node: ast.AST, replacement: ast.AST) -> Any:
    """Return a copy of a tree in which a node is replaced."""
    if root is node:
        return replacement
    fields: dict[str, object] = {}
    for name, value in ast.iter_fields(root):
        if isinstance(value, list):
            fields[name] = [_with_replacement_or_same(item, node, replacement) for item in value]
        else:
            fields[name] = _with_replacement_or_same(value, node, replacement)
    return _altered(root, **fields)


def _with_replacement_or_same(value: object, node: ast.AST, replacement: ast.AST) -> object:
    return _with_replacement(value, node, replacement) if isinstance(value, ast.AST) else value


def _altered(node: Any, **fields: object) -> Any:
    """Return a shallow copy of a node with other fields."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _without(items: Iterable[Any], index: int) -> list[Any]:
    return [item for i, item in enumerate(items) if i != index]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _last_name(node: ast.AST) -> str:
    """Return the last part of ``a.b.c``, or an empty string for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
