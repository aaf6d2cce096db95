"""Lines, docstrings, comments and messages of Python files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .columns import CODE_WIDTH, DOC_WIDTH
from .measurement import Measurement, Passage
from .syntax import FUNCTIONS, SyntaxTree, dotted_name, is_docstring, is_text
from .words import FAULT_WORDS

TEXT_OR_COMMENT = re.compile(
    r"""
      (?P<text>
        \"{3}(?:[^\\]|\\.)*?\"{3} | '{3}(?:[^\\]|\\.)*?'{3}
        | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
      )
    | (?P<comment>\#[^\n]*)
    """,
    re.VERBOSE | re.DOTALL,
)
"""A text or a comment in Python. A scan finds comments faster than `tokenize` does."""

COMMENT_SIGN = re.compile(r"#+[:!]? ?")


class Comment(NamedTuple):
    """A comment, and whether its line contains nothing else."""

    line: int
    text: str
    is_alone: bool


@lru_cache(maxsize=1)
def comments_of(source: str) -> list[Comment]:
    """Return the comments of a Python file."""
    comments = []
    line = 1
    position = 0
    for match in TEXT_OR_COMMENT.finditer(source):
        if match["comment"] is None:
            continue
        line += source.count("\n", position, match.start())
        position = match.start()
        first = source.rfind("\n", 0, position) + 1
        is_alone = not source[first:position].strip()
        text = COMMENT_SIGN.sub("", match["comment"], count=1)
        comments.append(Comment(line, text, is_alone))
    return comments


def add_lines(measurement: Measurement, tree: SyntaxTree) -> None:
    """Count the lines of code and of prose, and add the lines that are too wide."""
    lines = tree.source.splitlines()
    prose = {comment.line for comment in comments_of(tree.source) if comment.is_alone}
    for node in tree.of_type(ast.Expr):
        if is_docstring(node):
            prose.update(range(node.lineno, node.end_lineno + 1))

    for number, line in enumerate(lines, start=1):
        width = len(line)
        if number in prose:
            measurement.totals["doc lines"] += 1
            if _is_wide_prose(line):
                measurement.add_case("doc>88", number, f"{width} columns", weight=width)
        elif line.strip():
            measurement.totals["code lines"] += 1
            if width > CODE_WIDTH:
                measurement.add_case(">100", number, f"{width} columns", weight=width)


def _is_wide_prose(line: str) -> bool:
    """Return whether a line can be wrapped. Ruff's rule W505 accepts the same lines.

    A single word cannot be wrapped, and neither can an address at the end of a line.
    """
    words = line.split()
    if len(line) <= DOC_WIDTH or len(words) == 1:
        return False
    last = words[-1]
    is_address = "://" in last and len(line) - len(last) <= DOC_WIDTH
    return not is_address


def add_docs(measurement: Measurement, tree: SyntaxTree) -> None:
    """Add the docstrings and the comments of a file as prose."""
    for node in tree.of_type(ast.Expr):
        if is_docstring(node):
            measurement.add_passage(Passage("docs", node.lineno, node.value.value))
    for passage in _comment_passages(comments_of(tree.source)):
        measurement.add_passage(passage)


def _comment_passages(comments: list[Comment]) -> Iterator[Passage]:
    """Yield the comments. Comments on neighbouring lines form one passage."""
    block: list[Comment] = []
    for comment in comments:
        continues = block and comment.is_alone and comment.line == block[-1].line + 1
        if block and not continues:
            yield _passage_of_block(block)
            block = []
        block.append(comment)
    if block:
        yield _passage_of_block(block)


def _passage_of_block(block: list[Comment]) -> Passage:
    return Passage("docs", block[0].line, "\n".join(comment.text for comment in block))


def add_messages(measurement: Measurement, tree: SyntaxTree) -> None:
    """Add the messages of a file as prose."""
    passages = set()
    constants = _named_texts(tree)
    for node in tree.of_type(ast.Name):
        if node.id in constants and _is_message(tree, node):
            constant = constants[node.id]
            passages.add(Passage("messages", constant.lineno, constant.value))
    for node, text in _texts(tree):
        if _is_message(tree, node):
            passages.add(Passage("messages", node.lineno, text))

    for passage in sorted(passages, key=lambda passage: (passage.line, passage.text)):
        is_prose = len(passage.text.split()) > 1
        if is_prose:
            measurement.add_passage(passage)


def _named_texts(tree: SyntaxTree) -> dict[str, ast.Constant]:
    """Return the texts that are assigned to names at the top of a module."""
    texts = {}
    for statement in tree.module.body:
        if isinstance(statement, ast.Assign) and is_text(statement.value):
            for target in statement.targets:
                texts[ast.unparse(target)] = statement.value
    return texts


def _texts(tree: SyntaxTree) -> Iterator[tuple[ast.AST, str]]:
    """Yield the texts and the f-strings of a file, with X for each value in them."""
    for node in tree.of_type(ast.Constant):
        if is_text(node) and not isinstance(tree.parents[node], ast.JoinedStr):
            yield node, node.value
    for node in tree.of_type(ast.JoinedStr):
        parts = [part.value if is_text(part) else "X" for part in node.values]
        if not isinstance(tree.parents[node], ast.FormattedValue):
            yield node, "".join(parts)


def _is_message(tree: SyntaxTree, text: ast.AST) -> bool:
    """Return whether an expression is a message, by the calls and statements around it.

    A message is raised, passed to a function about faults, assigned to a variable about
    faults, or returned by a function about faults. Their names contain a word such as
    `fault`.
    """
    child = text
    for parent in tree.ancestors(text):
        is_argument = isinstance(parent, ast.Call) and child is not parent.func
        if is_argument and _is_about_faults(parent.func):
            return True
        if isinstance(parent, (ast.Return, ast.Yield)):
            return _is_in_function_about_faults(tree, parent)
        if isinstance(parent, ast.stmt):
            return isinstance(parent, ast.Raise) or _assigns_fault(parent)
        child = parent
    return False


def _is_in_function_about_faults(tree: SyntaxTree, node: ast.AST) -> bool:
    """Return whether the innermost function around a node is about faults."""
    functions = (parent for parent in tree.ancestors(node) if isinstance(parent, FUNCTIONS))
    innermost = next(functions, None)
    return innermost is not None and FAULT_WORDS.search(innermost.name) is not None


def _assigns_fault(statement: ast.stmt) -> bool:
    """Return whether a statement assigns to a variable about faults."""
    if isinstance(statement, ast.Assign):
        return any(_is_about_faults(target) for target in statement.targets)
    is_single = isinstance(statement, (ast.AnnAssign, ast.AugAssign))
    return is_single and _is_about_faults(statement.target)


def _is_about_faults(node: ast.AST) -> bool:
    """Return whether one of the names in an expression is about faults."""
    return any(FAULT_WORDS.search(name) for name in dotted_name(node))
