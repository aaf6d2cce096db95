"""Branches, lines and docstrings of functions."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter

from .columns import CODE_WIDTH, MAX_BRANCHES, MAX_KERNEL_BRANCHES, MAX_KERNEL_LINES, MAX_LINES
from .measurement import Measurement
from .syntax import FUNCTIONS, SCOPES, SyntaxTree, dotted_name
from .words import ARTICLES, HARD_SUMMARY, MAX_SUMMARY_WORDS, VERBS

KERNEL_DECORATORS = frozenset(("guvectorize", "jit", "kernel", "njit", "stencil", "vectorize"))
"""Names of decorators that compile a function."""

BRANCHES = (
    ast.Assert,
    ast.AsyncFor,
    ast.ExceptHandler,
    ast.For,
    ast.If,
    ast.IfExp,
    ast.match_case,
    ast.While,
)


def add_functions(measurement: Measurement, tree: SyntaxTree) -> None:
    """Count the functions, and add those with too many branches or lines."""
    branches = _branches_of_functions(tree)
    lines = _lines_of_functions(tree)
    for function in tree.of_type(*FUNCTIONS):
        is_compiled = _is_kernel(function)
        column = "branchy kernels" if is_compiled else "branchy"
        max_branches = MAX_KERNEL_BRANCHES if is_compiled else MAX_BRANCHES
        max_lines = MAX_KERNEL_LINES if is_compiled else MAX_LINES

        measurement.functions.append((function.lineno, function.name))
        measurement.totals["definitions"] += 1
        measurement.totals["kernels" if is_compiled else "functions"] += 1
        place = {"line": function.lineno, "last_line": function.end_lineno}
        number = branches[function]
        if number > max_branches:
            note = f"{function.name} has {number} branches"
            measurement.add_case(column, note=note, weight=number, **place)
        number = lines[function]
        if number > max_lines:
            note = f"{function.name} has {number} lines"
            measurement.add_case("long def", note=note, weight=number, **place)


def _is_kernel(function: ast.AST) -> bool:
    """Return whether a decorator compiles a function."""
    names = [dotted_name(decorator)[:1] for decorator in function.decorator_list]
    return any(KERNEL_DECORATORS.intersection(name) for name in names)


def _branches_of_functions(tree: SyntaxTree) -> Counter[ast.AST]:
    """Count the branches of each function: its cyclomatic complexity.

    Each condition, loop, handler and part of a comprehension adds one, and so do `and`
    and `or`. The branches of a function inside another belong to the inner function.
    """
    counts = Counter(tree.of_type(*FUNCTIONS))
    for node in tree.of_type(*BRANCHES):
        counts[_scope_of(tree, node)] += 1
    for node in tree.of_type(ast.BoolOp):
        counts[_scope_of(tree, node)] += len(node.values) - 1
    for node in tree.of_type(ast.comprehension):
        counts[_scope_of(tree, node)] += 1 + len(node.ifs)
    return counts


def _scope_of(tree: SyntaxTree, node: ast.AST) -> ast.AST:
    """Return the innermost function or class with a node in its body, or the module."""
    child = node
    for ancestor in tree.ancestors(node):
        is_in_header = isinstance(child, ast.arguments) or child in _decorators(ancestor)
        if isinstance(ancestor, SCOPES) and not is_in_header:
            return ancestor
        child = ancestor
    return tree.module


def _decorators(node: ast.AST) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


def _lines_of_functions(tree: SyntaxTree) -> Counter[ast.AST]:
    """Count the lines of each function's body, with statements wrapped at 100 columns.

    The lines in the file are not counted, because they depend on the formatter.
    """
    counts: Counter[ast.AST] = Counter()
    for statement in tree.statements():
        if isinstance(statement, ast.expr):
            continue  # A decorator is outside the body.
        lines = math.ceil(tree.widths[statement] / (CODE_WIDTH - statement.col_offset))
        if _has_else(statement):
            lines += 1
        for ancestor in tree.ancestors(statement):
            if isinstance(ancestor, FUNCTIONS):
                counts[ancestor] += lines
    return counts


def _has_else(statement: ast.AST) -> bool:
    """Return whether a statement has a line with `else:`, which `elif` replaces."""
    other_statements = getattr(statement, "orelse", [])
    if isinstance(statement, ast.If) and len(other_statements) == 1:
        return not isinstance(other_statements[0], ast.If)
    return bool(other_statements)


def add_summaries(measurement: Measurement, tree: SyntaxTree) -> None:
    """Count the docstrings of public functions, and add those without a verb."""
    for function in tree.of_type(*FUNCTIONS):
        docstring = (ast.get_docstring(function) or "").strip()
        if not docstring or function.name.startswith("_"):
            continue
        measurement.totals["summaries"] += 1
        summary = docstring.splitlines()[0]
        if not begins_well(summary):
            place = function.body[0]
            note = f"{function.name}: {summary}"
            measurement.add_case("verbs", place.lineno, note, last_line=place.end_lineno)


def begins_well(summary: str) -> bool:
    """Return whether a docstring begins with a verb, or is a short noun phrase.

    >>> begins_well("Compute the costs."), begins_well("Those of the costs.")
    (True, False)
    """
    words = summary.split()
    first = re.sub(r"\W", "", words[0]).lower()
    if first in ARTICLES:
        is_short = len(words) <= MAX_SUMMARY_WORDS
        return is_short and HARD_SUMMARY.search(summary.rstrip(".:")) is None
    forms = {first, first.removesuffix("s"), first.removesuffix("es")}
    return not VERBS.isdisjoint(forms)
