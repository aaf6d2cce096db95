"""Planting of faults: the place of a fault is found, and its text alone is replaced.

- In a Python file the old code is searched for in the syntax tree of a function, so
  that layout, quotes, parentheses and comments do not matter. The old code is an
  expression or consecutive statements. An f-string is compared as a whole.
- In a YAML file with ``key`` the old value is expected at that path.
- In all other files the old text is searched for without regard to white space.

The old code must occur exactly once, or as often as ``occurrence`` states.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from fault import Fault, FaultError, occurrence_of, shown

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The loader written in C is ten times as fast, but not installed everywhere."""

_REPAIR = (
    "write the fault again for the present code, "
    "or remove the entry if the mistake is impossible now"
)


def planted(fault: Fault, root: Path) -> str:
    """Return the text of the fault's file with the fault in it.

    Raises
    ------
    FaultError
        If the old code does not occur, or occurs in several places.
    """
    path = root / fault.file
    if not path.is_file():
        message = (
            f"{fault.place}: the file {fault.file} does not exist; "
            "name the file that contains the code now"
        )
        raise FaultError(message)
    text = path.read_text(encoding="utf-8")
    try:
        if fault.file.endswith(".py"):
            return _planted_in_python(fault, text)
        if fault.key:
            return _planted_in_yaml(fault, text)
        return _planted_in_text(fault, text)
    except (SyntaxError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        message = f"{fault.place}: {fault.file} cannot be parsed ({reason}); correct the file"
        raise FaultError(message) from error


def plant(fault: Fault, root: Path) -> None:
    """Write the fault into its file."""
    text = planted(fault, root)
    (root / fault.file).write_text(text, encoding="utf-8")


def check_fault(fault: Fault, root: Path) -> None:
    """Refuse a fault that no longer applies, or whose tests do not exist."""
    planted(fault, root)
    for test in fault.tests:
        test_file = test.partition("::")[0]
        if not (root / test_file).is_file():
            message = (
                f"{fault.place}: the test file {test_file} does not exist; "
                "name the tests that must find the fault now"
            )
            raise FaultError(message)


def _choose(fault: Fault, lines: Sequence[int], where: str) -> int:
    """Return the index of the occurrence that a fault means, given the line of each."""
    number, count = occurrence_of(fault)
    if len(lines) == count:
        return number - 1
    if not lines:
        message = (
            f"{fault.place}: no longer applies, because {where} does not contain "
            f"{shown(fault.old)}; {_REPAIR}"
        )
        raise FaultError(message)
    line_numbers = ", ".join(str(line) for line in lines)
    times = "once" if len(lines) == 1 else f"{len(lines)} times"
    message = (
        f"{fault.place}: {where} contains {shown(fault.old)} {times} (lines: {line_numbers}), "
        f"but the entry expects {count}; write a longer piece of code, "
        f"or 'occurrence: {min(number, len(lines))} of {len(lines)}'"
    )
    raise FaultError(message)


def _refuse_equal_codes(fault: Fault, are_equal: bool) -> None:
    """Refuse a fault that changes nothing."""
    if are_equal:
        message = (
            f"{fault.place}: 'old' and 'new' are the same code, so nothing would be wrong; "
            "write the mistake in 'new'"
        )
        raise FaultError(message)


# --- Python ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """A position in a syntax tree at which the old code of a fault occurs."""

    parent: ast.AST
    field: str
    index: int | None
    """The index of the first node, or None if the field holds a single node."""
    nodes: Sequence[ast.AST]

    def start(self) -> tuple[int, int]:
        """Return the first line and its column in bytes; decorators count."""
        first = self.nodes[0]
        decorators = getattr(first, "decorator_list", [])
        line = decorators[0].lineno if decorators else first.lineno
        return line, first.col_offset

    def end(self) -> tuple[int, int]:
        """Return the last line and the column in bytes at which the code ends."""
        return self.nodes[-1].end_lineno, self.nodes[-1].end_col_offset

    def put(self, nodes: Sequence[ast.AST]) -> None:
        """Replace the old code in the tree by other nodes."""
        if self.index is None:
            setattr(self.parent, self.field, nodes[0])
        else:
            siblings = getattr(self.parent, self.field)
            siblings[self.index : self.index + len(self.nodes)] = nodes


def _planted_in_python(fault: Fault, text: str) -> str:
    """Return the text of a Python file with the fault in it."""
    tree = _parse(text)
    old_nodes, new_nodes = _parse_codes(fault)
    _refuse_equal_codes(fault, _structures(old_nodes) == _structures(new_nodes))
    where = f"{fault.function} of {fault.file}" if fault.function else f"the module {fault.file}"
    places = [
        place for scope in _find_scopes(fault, tree) for place in _find_places(scope, old_nodes)
    ]
    index = _choose(fault, [place.start()[0] for place in places], where)

    place = places[index]
    candidates = [_replace_source(text, place, code) for code in _spellings(fault, place)]
    place.put(new_nodes)
    expected_structure = ast.dump(tree)
    for candidate in candidates:
        if _structure_of_text(candidate) == expected_structure:
            return candidate
    message = (
        f"{fault.place}: {shown(fault.new)} cannot replace {shown(fault.old)} "
        f"in {where}; write whole statements in both"
    )
    raise FaultError(message)


def _parse(text: str) -> ast.Module:
    """Parse Python code, without the difference between reading and writing a name."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if hasattr(node, "ctx"):
            node.ctx = ast.Load()
    return tree


def _structure_of_text(text: str) -> str | None:
    """Return the structure of Python code, or None if the code is not valid."""
    try:
        return ast.dump(_parse(text))
    except SyntaxError:
        return None


def _structures(nodes: Sequence[ast.AST]) -> list[str]:
    return [ast.dump(node) for node in nodes]


def _parse_codes(fault: Fault) -> tuple[list[ast.AST], list[ast.AST]]:
    """Parse the old and the new code, as statements if one of them is no expression."""
    bodies = []
    for field, code in (("old", fault.old), ("new", fault.new)):
        try:
            bodies.append(_parse(textwrap.dedent(code)).body)
        except SyntaxError as error:
            message = (
                f"{fault.place}: '{field}' is no valid Python code ({error.msg}): {shown(code)}; "
                "write an expression or whole statements"
            )
            raise FaultError(message) from error
    old_body, new_body = bodies
    if _is_expression(old_body) and _is_expression(new_body):
        return [old_body[0].value], [new_body[0].value]
    return old_body, new_body


def _is_expression(body: Sequence[ast.stmt]) -> bool:
    return len(body) == 1 and isinstance(body[0], ast.Expr)


def _find_scopes(fault: Fault, tree: ast.Module) -> list[ast.AST]:
    """Return the definitions of the fault's function; for module level the module."""
    scopes: list[ast.AST] = [tree]
    if not fault.function:
        return scopes
    for name in fault.function.split("."):
        inner = [definition for scope in scopes for definition in _definitions(scope)]
        scopes = [definition for definition in inner if definition.name == name]
    if scopes:
        return scopes

    similar_names = difflib.get_close_matches(fault.function, list(_qualified_names(tree)), 1)
    hint = f"; a similar name is {similar_names[0]!r}" if similar_names else ""
    message = (
        f"{fault.place}: {fault.file} has no function or class {fault.function!r}{hint}; "
        "name the function and the file that contain the code now"
    )
    raise FaultError(message)


def _definitions(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the functions and classes that are defined directly in a scope."""
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, _DEFINITIONS):
            yield child
        else:
            yield from _definitions(child)


def _qualified_names(scope: ast.AST, prefix: str = "") -> Iterator[str]:
    """Yield the qualified names of all functions and classes in a scope."""
    for definition in _definitions(scope):
        yield prefix + definition.name
        yield from _qualified_names(definition, f"{prefix}{definition.name}.")


def _find_places(scope: ast.AST, old_nodes: Sequence[ast.AST]) -> list[_Place]:
    """Return the places of a scope at which the old code occurs, from first to last.

    A function is searched with all functions that it contains. A module or a class is
    searched without its functions and classes, because they have names of their own.
    """
    enters_definitions = isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef)
    old_structures = _structures(old_nodes)
    places = []
    for parent in _searched_nodes(scope, enters_definitions):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                for index in range(len(value) - len(old_nodes) + 1):
                    nodes = value[index : index + len(old_nodes)]
                    if _match(nodes, old_nodes, old_structures):
                        places.append(_Place(parent, field, index, nodes))
            elif _match([value], old_nodes, old_structures):
                places.append(_Place(parent, field, None, [value]))
    return sorted(places, key=_Place.start)


def _searched_nodes(scope: ast.AST, enters_definitions: bool) -> Iterator[ast.AST]:
    """Yield the nodes of a scope in which code is searched for."""
    yield scope
    for child in ast.iter_child_nodes(scope):
        # Before Python 3.12, nodes inside an f-string have no usable positions.
        if isinstance(child, ast.JoinedStr):
            continue
        if enters_definitions or not isinstance(child, _DEFINITIONS):
            yield from _searched_nodes(child, enters_definitions)


def _match(nodes: Sequence[Any], old_nodes: Sequence[ast.AST], old_structures: list[str]) -> bool:
    """Tell whether nodes have the structure of the old code."""
    # Comparing the types first is what makes the search fast.
    if [type(node) for node in nodes] != [type(node) for node in old_nodes]:
        return False
    return _structures(nodes) == old_structures


def _spellings(fault: Fault, place: _Place) -> list[str]:
    """Return the texts of the new code that may stand in a place."""
    code = textwrap.dedent(fault.new).strip()
    if isinstance(place.nodes[0], ast.stmt):
        indentation = " " * place.start()[1]
        return [textwrap.indent(code, indentation).lstrip()]
    # Parentheses are needed where an operator of the surrounding code binds stronger.
    return [code, f"({code})"]


def _replace_source(text: str, place: _Place, code: str) -> str:
    """Return a text in which the source of a place is replaced by other code."""
    # The columns of a syntax tree count bytes, and the text may contain Greek letters.
    lines = text.encode().split(b"\n")
    first_line, first_column = place.start()
    last_line, last_column = place.end()
    before = [*lines[: first_line - 1], lines[first_line - 1][:first_column]]
    after = [lines[last_line - 1][last_column:], *lines[last_line:]]
    return (b"\n".join(before) + code.encode() + b"\n".join(after)).decode()


# --- YAML -----------------------------------------------------------------------------


def _planted_in_yaml(fault: Fault, text: str) -> str:
    """Return the text of a YAML file with the new value at the fault's key."""
    _refuse_equal_codes(fault, _as_json(fault.old) == _as_json(fault.new))
    document = {"root": yaml.load(text, _YAML_LOADER)}
    node = yaml.compose(text, _YAML_LOADER)
    parent: Any = document
    last_step: Any = "root"
    for step in fault.key:
        parent = parent[last_step]
        last_step = _position(fault, parent, step)
        node = _child_node(node, last_step)
    value = parent[last_step]
    if _as_json(value) != _as_json(fault.old):
        message = (
            f"{fault.place}: no longer applies, because {fault.file} has {shown(value)} and not "
            f"{shown(fault.old)} at the key {fault.key}; {_REPAIR}"
        )
        raise FaultError(message)

    changed = _replace_value(text, node, fault.new)
    parent[last_step] = fault.new
    if _json_of_yaml(changed) != _as_json(document["root"]):
        message = (
            f"{fault.place}: the value at the key {fault.key} cannot be changed by itself, because "
            "it is shared or YAML reads the new value otherwise; remove 'key' and write text"
        )
        raise FaultError(message)
    return changed


def _replace_value(text: str, node: yaml.Node, value: Any) -> str:
    """Return a YAML text in which the text of a node is replaced by a value."""
    start, end = node.start_mark.index, node.end_mark.index
    # The text of a list or a mapping extends to the beginning of the next value.
    space_after = text[start:end][len(text[start:end].rstrip()) :]
    # A value in brackets must be indented, but a list of lines need not be.
    space_before = "" if isinstance(node, yaml.ScalarNode) or node.flow_style else " "
    new_text = space_before + json.dumps(value, ensure_ascii=False) + space_after
    return text[:start] + new_text + text[end:]


def _as_json(value: Any) -> str:
    """Return a value as text that distinguishes 1, 1.0 and true, with sorted keys."""
    return json.dumps(value, sort_keys=True, default=str)


def _json_of_yaml(text: str) -> str | None:
    """Return the value of a YAML text as JSON, or None if the text is not valid."""
    try:
        return _as_json(yaml.load(text, _YAML_LOADER))
    except yaml.YAMLError:
        return None


def _position(fault: Fault, parent: Any, step: Any) -> Any:
    """Return the key or index of a step; a mapping selects the item with its values."""
    if isinstance(parent, list) and isinstance(step, dict):
        positions = [
            index
            for index, item in enumerate(parent)
            if isinstance(item, dict) and step.items() <= item.items()
        ]
    elif isinstance(parent, list):
        positions = [step] if step in range(len(parent)) else []
    else:
        positions = [step] if isinstance(parent, dict) and step in parent else []
    if len(positions) == 1:
        return positions[0]
    message = (
        f"{fault.place}: no longer applies, because {fault.file} has {len(positions)} values "
        f"for the step {step!r} of the key {fault.key}, but one is expected; {_REPAIR}"
    )
    raise FaultError(message)


def _child_node(node: yaml.Node, position: Any) -> yaml.Node:
    """Return the node of the value at a key or index."""
    if isinstance(node, yaml.SequenceNode):
        return node.value[position]
    for key, value in node.value:
        if yaml.SafeLoader("").construct_document(key) == position:
            return value
    message = f"the key {position!r} is merged from another mapping"
    raise yaml.YAMLError(message)


# --- Text -----------------------------------------------------------------------------


def _planted_in_text(fault: Fault, text: str) -> str:
    """Return the text of any other file with the fault in it."""
    old_words = fault.old.split()
    _refuse_equal_codes(fault, old_words == fault.new.split())
    pattern = r"\s+".join(re.escape(word) for word in old_words)
    matches = list(re.finditer(pattern, text))
    lines = [text.count("\n", 0, match.start()) + 1 for match in matches]
    match = matches[_choose(fault, lines, fault.file)]
    return text[: match.start()] + fault.new.strip() + text[match.end() :]
