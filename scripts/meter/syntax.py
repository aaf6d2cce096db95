"""The syntax tree of a file, with the parent, the tokens and the width of each node.

A formatter moves line breaks, parentheses, commas and quotes. The syntax tree
contains no such sign. Therefore sizes are computed from the tree and not from the file.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
HEADERS = (ast.stmt, ast.ExceptHandler, ast.match_case)
"""Nodes that are statements, or clauses with statements below them."""

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list")
"""Fields of a compound statement that contain statements, clauses or decorators."""

LISTS_WITH_COMMAS = ("args", "bases", "elts", "items", "keys", "keywords", "kwonlyargs", "names")


class Grammar(NamedTuple):
    """Text that a node adds to the text of its children: once, and for each value."""

    text: str = ""
    by_field: Mapping[str, str] = {}


GRAMMAR = {
    ast.alias: Grammar("", {"asname": " as "}),
    ast.AnnAssign: Grammar(": ", {"value": " = "}),
    ast.arg: Grammar("", {"annotation": ": "}),
    ast.arguments: Grammar(
        "", {"vararg": "*", "kwarg": "**", "defaults": " = ", "kw_defaults": " = "}
    ),
    ast.Assert: Grammar("assert "),
    ast.Assign: Grammar("", {"targets": " = "}),
    ast.AsyncFor: Grammar("async for  in :"),
    ast.AsyncFunctionDef: Grammar("async def ():", {"returns": " -> "}),
    ast.AsyncWith: Grammar("async with :"),
    ast.Await: Grammar("await "),
    ast.Break: Grammar("break"),
    ast.Call: Grammar("()"),
    ast.ClassDef: Grammar("class :"),
    ast.comprehension: Grammar(" for  in ", {"ifs": " if "}),
    ast.Continue: Grammar("continue"),
    ast.Delete: Grammar("del "),
    ast.Dict: Grammar("{}", {"values": ": "}),
    ast.DictComp: Grammar("{: }"),
    ast.ExceptHandler: Grammar("except :", {"name": " as "}),
    ast.For: Grammar("for  in :"),
    ast.FunctionDef: Grammar("def ():", {"returns": " -> "}),
    ast.Global: Grammar("global "),
    ast.If: Grammar("if :"),
    ast.IfExp: Grammar(" if  else "),
    ast.Import: Grammar("import "),
    ast.ImportFrom: Grammar("from import "),
    ast.keyword: Grammar("="),
    ast.Lambda: Grammar("lambda : "),
    ast.List: Grammar("[]"),
    ast.ListComp: Grammar("[]"),
    ast.Match: Grammar("match :"),
    ast.match_case: Grammar("case :"),
    ast.MatchClass: Grammar("()"),
    ast.MatchMapping: Grammar("{}"),
    ast.MatchSequence: Grammar("[]"),
    ast.NamedExpr: Grammar(" := "),
    ast.Nonlocal: Grammar("nonlocal "),
    ast.Pass: Grammar("pass"),
    ast.Raise: Grammar("raise ", {"cause": " from "}),
    ast.Return: Grammar("return "),
    ast.Set: Grammar("{}"),
    ast.SetComp: Grammar("{}"),
    ast.Slice: Grammar(":", {"step": ":"}),
    ast.Starred: Grammar("*"),
    ast.Subscript: Grammar("[]"),
    ast.Attribute: Grammar("."),
    ast.Try: Grammar("try:"),
    ast.TryStar: Grammar("try:"),
    ast.While: Grammar("while :"),
    ast.With: Grammar("with :"),
    ast.withitem: Grammar("", {"optional_vars": " as "}),
    ast.Yield: Grammar("yield "),
    ast.YieldFrom: Grammar("yield from "),
}

SYMBOLS = {
    ast.Add: " + ",
    ast.And: " and ",
    ast.BitAnd: " & ",
    ast.BitOr: " | ",
    ast.BitXor: " ^ ",
    ast.Div: " / ",
    ast.Eq: " == ",
    ast.FloorDiv: " // ",
    ast.Gt: " > ",
    ast.GtE: " >= ",
    ast.In: " in ",
    ast.Invert: "~",
    ast.Is: " is ",
    ast.IsNot: " is not ",
    ast.LShift: " << ",
    ast.Lt: " < ",
    ast.LtE: " <= ",
    ast.MatMult: " @ ",
    ast.Mod: " % ",
    ast.Mult: " * ",
    ast.Not: "not ",
    ast.NotEq: " != ",
    ast.NotIn: " not in ",
    ast.Or: " or ",
    ast.Pow: "**",
    ast.RShift: " >> ",
    ast.Sub: " - ",
    ast.UAdd: "+",
    ast.USub: "-",
}

TOKEN = re.compile(r"\w+|:=|[()\[\]{}:.]|[^\w\s()\[\]{}:.,]+")


@cache
def count_tokens(text: str) -> int:
    """Count the words, the brackets and the operators of a text."""
    return len(TOKEN.findall(text))


class FieldLayout(NamedTuple):
    """The text that each value of a field adds to a node."""

    name: str
    text: str
    comma: str


@cache
def field_layouts(node_type: type) -> tuple[FieldLayout, ...]:
    """Return the plans of the fields of a type of nodes, without its context."""
    by_field = GRAMMAR.get(node_type, Grammar()).by_field
    plans = []
    for name in node_type._fields:
        comma = ", " if name in LISTS_WITH_COMMAS else ""
        if name != "ctx":
            plans.append(FieldLayout(name, by_field.get(name, ""), comma))
    return tuple(plans)


def is_docstring(node: ast.AST) -> bool:
    """Return whether a statement consists of a text only."""
    return isinstance(node, ast.Expr) and is_text(node.value)


def is_text(node: ast.AST | None) -> bool:
    """Return whether an expression is a constant text."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def dotted_name(node: ast.AST) -> list[str]:
    """Return the names of an expression such as np.linalg.norm, the last name first.

    Calls and subscripts inside the expression are skipped: `a.b(c).d` gives d, b, a.
    """
    names = []
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        names.append(node.id)
    return names


class SyntaxTree:
    """The nodes of a file, each with its parent, its tokens and its width."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.module = ast.parse(source)
        self.nodes: list[ast.AST] = [self.module]
        self.parents: dict[ast.AST, ast.AST] = {}
        self.tokens: dict[ast.AST, int] = {}
        self.widths: dict[ast.AST, int] = {}
        self._by_type: dict[type, list[ast.AST]] = defaultdict(list)
        for node in self.nodes:  # The list grows while it is read.
            self._by_type[type(node)].append(node)
            if isinstance(node, ast.Constant):
                self._add_constant(node)
            else:
                self._add_fields(node)
        self._add_up_sizes()

    def of_type(self, *types: type) -> Iterator[ast.AST]:
        """Yield the nodes of some types."""
        for node_type in types:
            yield from self._by_type[node_type]

    def statements(self) -> Iterator[ast.AST]:
        """Yield the statements, the `except` clauses, and the decorators."""
        for node_type, nodes in self._by_type.items():
            if issubclass(node_type, (ast.stmt, ast.ExceptHandler)):
                yield from (node for node in nodes if not is_docstring(node))
        yield from self._decorators()

    def _decorators(self) -> Iterator[ast.AST]:
        for node in self.of_type(*SCOPES):
            yield from node.decorator_list

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the parent of a node, the parent of that, and so on to the module."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def _add_constant(self, node: ast.Constant) -> None:
        """Measure a constant. The texts inside an f-string are no tokens."""
        is_inside_text = isinstance(self.parents[node], ast.JoinedStr)
        self.tokens[node] = 0 if is_inside_text else 1
        self.widths[node] = len(repr(node.value))

    def _add_fields(self, node: ast.AST) -> None:
        """Add the children of a node to the nodes, and measure the rest of the node."""
        node_type = type(node)
        texts = [GRAMMAR[node_type].text] if node_type in GRAMMAR else []
        for plan in field_layouts(node_type):
            value = getattr(node, plan.name, None)
            if isinstance(value, list):
                texts.append(plan.comma * (len(value) - 1))
                for item in value:
                    texts += self._add_value(node, plan, item)
            else:
                texts += self._add_value(node, plan, value)

        repetitions = len(node.values) - 1 if node_type is ast.BoolOp else 1
        tokens = sum(count_tokens(text) for text in texts if text)
        self.tokens[node] = tokens * repetitions
        self.widths[node] = sum(map(len, texts)) * repetitions
        if node_type is ast.JoinedStr and not self._is_format(node):
            self.tokens[node] += 1

    def _add_value(self, node: ast.AST, plan: FieldLayout, value: object) -> tuple[str, ...]:
        """Add a child to the nodes, and return the texts of the value itself."""
        if value is None:
            return ()
        if isinstance(value, str):
            return (plan.text, value)
        symbol = SYMBOLS.get(type(value))
        if symbol is not None:
            return (plan.text, symbol)
        if isinstance(value, ast.AST):
            self.parents[value] = node
            self.nodes.append(value)
        return (plan.text,)

    def _is_format(self, node: ast.JoinedStr) -> bool:
        """Return whether an f-string is the format of a value, as in f"{x:.{n}f}"."""
        return isinstance(self.parents[node], ast.FormattedValue)

    def _add_up_sizes(self) -> None:
        """Add the size of each node to that of its parent, unless it is a statement."""
        decorators = set(self._decorators())
        for node in reversed(self.nodes[1:]):
            if not isinstance(node, HEADERS) and node not in decorators:
                parent = self.parents[node]
                self.tokens[parent] += self.tokens[node]
                self.widths[parent] += self.widths[node]
