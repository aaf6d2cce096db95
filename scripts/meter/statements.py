"""Sizes of statements, comprehensions and conditional expressions."""

from __future__ import annotations

import ast

from .columns import CODE_WIDTH, LARGE_STATEMENT, LONG_STATEMENT
from .measurement import Measurement
from .syntax import COMPREHENSIONS, FUNCTIONS, HEADERS, SyntaxTree

MAX_POSITIONAL = 2
"""Positional arguments of a call that is read row by row."""

MAX_ROW_TOKENS = 12
"""Tokens of an argument that fits in a row."""


def add_statements(measurement: Measurement, tree: SyntaxTree) -> None:
    """Count the statements and their sizes, and add the large statements."""
    for statement in tree.statements():
        measurement.totals["statements"] += 1
        size = tree.tokens[statement]
        is_long = size > LONG_STATEMENT
        if is_long and _may_be_long(tree, statement):
            continue
        measurement.sizes.append(size)
        measurement.totals["sizes"] += 1
        place = {"line": statement.lineno, "last_line": _last_line_of_header(statement)}
        if size > LARGE_STATEMENT:
            measurement.add_case("p90", note=f"{size} tokens", weight=size, **place)
        if is_long:
            measurement.add_case("long", note=f"{size} tokens", weight=size, **place)


def _last_line_of_header(statement: ast.AST) -> int:
    """Return the last line of a statement without the statements inside it."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return max(statement.lineno, body[0].lineno - 1)
    return statement.end_lineno


def _may_be_long(tree: SyntaxTree, statement: ast.AST) -> bool:
    """Return whether a statement is an import, a signature, or is read row by row."""
    if isinstance(statement, (ast.Import, ast.ImportFrom, *FUNCTIONS)):
        return True
    if isinstance(statement, ast.Raise):
        value = statement.exc
    else:
        value = getattr(statement, "value", statement)
    if isinstance(value, (ast.Await, ast.YieldFrom)):
        value = value.value
    return value is not None and _has_rows(tree, value)


def _has_rows(tree: SyntaxTree, node: ast.AST) -> bool:
    """Return whether an expression is a table of constants or a call with keywords.

    A formatter writes each entry of such an expression on a line. Therefore many
    entries are as easy to read as few entries.
    """
    if isinstance(node, ast.Call):
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        has_few_positions = len(node.args) <= MAX_POSITIONAL and _is_plain(node.func)
        return has_few_positions and all(_is_row(tree, value) for value in values)
    if isinstance(node, ast.Dict):
        cells = [*node.keys, *node.values]
    elif isinstance(node, (ast.List, ast.Set, ast.Tuple)):
        cells = node.elts
    else:
        return False
    return all(_is_plain(cell) or _has_rows(tree, cell) for cell in cells)


def _is_row(tree: SyntaxTree, value: ast.AST) -> bool:
    return tree.tokens[value] <= MAX_ROW_TOKENS or _has_rows(tree, value)


def _is_plain(node: ast.AST | None) -> bool:
    """Return whether an expression is a name or a constant, with dots or a sign.

    An f-string is plain if the values in it are plain.
    """
    while isinstance(node, (ast.Attribute, ast.UnaryOp)):
        node = node.value if isinstance(node, ast.Attribute) else node.operand
    if isinstance(node, ast.JoinedStr):
        values = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        return all(_is_plain(value) for value in values)
    return node is None or isinstance(node, (ast.Constant, ast.Name))


def add_comprehensions(measurement: Measurement, tree: SyntaxTree) -> None:
    """Add the comprehensions that hold more than one thought."""
    for node in tree.of_type(*COMPREHENSIONS):
        fault = _fault_of_comprehension(node)
        if fault:
            measurement.add_case("bad comp", node.lineno, fault, last_line=node.end_lineno)


def _fault_of_comprehension(node: ast.AST) -> str:
    """Return the reason why a comprehension should be a loop, or an empty text."""
    if len(node.generators) > 1:
        return "a comprehension with several loops"
    if len(node.generators[0].ifs) > 1:
        return "a comprehension with several conditions"
    if sum(isinstance(part, COMPREHENSIONS) for part in ast.walk(node)) > 1:
        return "a comprehension inside another"
    width = len(ast.unparse(node))
    if width > CODE_WIDTH:
        return f"a comprehension of {width} columns"
    return ""


def add_conditional_expressions(measurement: Measurement, tree: SyntaxTree) -> None:
    """Add the conditional expressions, all of them and the chained ones."""
    for node in tree.of_type(ast.IfExp):
        place = {"line": node.lineno, "last_line": node.end_lineno}
        measurement.add_case("ifexp", note="a conditional expression", **place)
        outer = _expression_around(tree, node)
        if outer:
            measurement.add_case("chained", note=f"a conditional expression in {outer}", **place)


def _expression_around(tree: SyntaxTree, node: ast.AST) -> str:
    """Return the kind of an expression that contains a choice, or an empty text."""
    child = node
    for parent in tree.ancestors(node):
        if isinstance(parent, HEADERS):
            break
        if isinstance(parent, ast.IfExp):
            return "another one"
        if isinstance(parent, ast.JoinedStr):
            return "an f-string"
        if isinstance(parent, ast.Call) and child is not parent.func:
            return "a call"
        child = parent
    return ""
