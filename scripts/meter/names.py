"""Names that hide which value they are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .measurement import Measurement
from .syntax import FUNCTIONS, SyntaxTree, dotted_name
from .words import FILLERS, PREPOSITIONS, VAGUE_WORDS

NUMPY_ARGUMENT = "where"
"""Name of an argument of NumPy's functions, which similar functions may use."""

NAMED_DEFINITIONS = (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs)


def add_names(measurement: Measurement, tree: SyntaxTree) -> None:
    """Count the names that a file binds or uses as keywords, and add the vague ones."""
    for line, name in _names_with_lines(tree):
        measurement.totals["names"] += 1
        if is_vague(name):
            measurement.add_case("vague", line, f"the name '{name}'")


def is_vague(name: str) -> bool:
    """Return whether a name has a vague word, and nothing but such words and fillers.

    >>> is_vague("found"), is_vague("found_items2"), is_vague("found_edges")
    (True, True, False)
    """
    is_magic = name.startswith("__") and name.endswith("__")
    words = words_of_name(name)
    if is_magic or not words:
        return False
    has_vague_word = words[0] in PREPOSITIONS or not VAGUE_WORDS.isdisjoint(words)
    has_plain_word = any(word not in VAGUE_WORDS | PREPOSITIONS | FILLERS for word in words)
    return has_vague_word and not has_plain_word


def words_of_name(name: str) -> list[str]:
    """Divide a name into words in lower case, without numbers.

    >>> words_of_name("_FoundItems2")
    ['found', 'items']
    """
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+", name)]


def _names_with_lines(tree: SyntaxTree) -> Iterator[tuple[int, str]]:
    yield from _bound_names(tree)
    yield from _parameter_names(tree)


def _bound_names(tree: SyntaxTree) -> Iterator[tuple[int, str]]:
    """Yield the names of variables, attributes, definitions and imports."""
    for node in tree.of_type(ast.Name):
        if isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
    for node in tree.of_type(ast.Attribute):
        if isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
    for node in tree.of_type(*NAMED_DEFINITIONS):
        if node.name is not None:
            yield node.lineno, node.name
    for node in tree.of_type(ast.alias):
        if node.asname is not None:
            yield node.lineno, node.asname


def _parameter_names(tree: SyntaxTree) -> Iterator[tuple[int, str]]:
    """Yield the names of parameters, and of the keywords in calls of our functions."""
    modules = set(_module_names(tree))
    for node in tree.of_type(ast.arg):
        if node.arg != NUMPY_ARGUMENT:
            yield node.lineno, node.arg
    for node in tree.of_type(ast.Call):
        is_call_of_module = modules.intersection(dotted_name(node.func)[-1:])
        if is_call_of_module:
            continue  # The author of the module chose the names of its parameters.
        for keyword in node.keywords:
            if keyword.arg not in (None, NUMPY_ARGUMENT):
                yield node.lineno, keyword.arg


def _module_names(tree: SyntaxTree) -> Iterator[str]:
    """Yield the names of imported modules, such as np."""
    for node in tree.of_type(ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0]
