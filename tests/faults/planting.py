"""Insert faults, which are deliberate mistakes that the tests must find, into files.

Only the text of the old code changes; the rest of the file stays the same.

- In a Python file the old code is searched for in the syntax tree of a function, so
  that layout, quotes, parentheses and comments do not matter. The old code is an
  expression or consecutive statements. An f-string is compared as a whole.
- In a YAML file, if the fault has a ``key``, the value at this path must be the old
  value.
- In all other cases the old text is searched for word by word; the line breaks and
  spaces between two words do not matter.

The old code must occur exactly once. If it occurs three times, ``occurrence: 2 of 3``
selects the second occurrence.
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
    "or remove the entry if the fault is no longer possible"
)


def planted(fault: Fault, root: Path) -> str:
    """Return the text of the fault's file with the fault in it.

    Raises
    ------
    FaultError
        If the file does not exist or cannot be parsed, if the old code does not occur
        as often as expected, or if the new code cannot replace it.
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
    # This raises an error if the fault no longer applies.
    planted(fault, root)
    for test in fault.tests:
        test_file = test.partition("::")[0]
        if not (root / test_file).is_file():
            message = (
                f"{fault.place}: the test file {test_file} does not exist; "
                "name the tests that must find the fault now"
            )
            raise FaultError(message)


def _select_occurrence(fault: Fault, lines: Sequence[int], where: str) -> int:
    """Return the index of the occurrence to replace; `lines` has a line for each."""
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
    remedy = f"write 'occurrence: {min(number, len(lines))} of {len(lines)}'"
    if len(lines) > count:
        remedy += ", or a longer piece of code"
    message = (
        f"{fault.place}: {where} contains {shown(fault.old)} {times} (lines: {line_numbers}), "
        f"but the entry expects {count}; {remedy}"
    )
    raise FaultError(message)


def _refuse_unchanged(fault: Fault, old: object, new: object) -> None:
    """Refuse a fault whose old and new code are equal."""
    if old == new:
        message = (
            f"{fault.place}: 'old' and 'new' are the same code, so nothing would be wrong; "
            "write the fault in 'new'"
        )
        raise FaultError(message)


# --- Python ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Occurrence:
    """An occurrence of the old code of a fault in a syntax tree."""

    parent: ast.AST
    field: str
    index: int | None
    """The index of the first node, or None if the field holds a single node."""
    nodes: Sequence[ast.AST]

    def start(self) -> tuple[int, int]:
        """Return the line and the column in bytes at which the code starts.

        The code of a definition starts at its first decorator.
        """
        first = self.nodes[0]
        # The "@" of a decorator is in the column of the definition.
        decorators = getattr(first, "decorator_list", [])
        line = decorators[0].lineno if decorators else first.lineno
        return line, first.col_offset

    def end(self) -> tuple[int, int]:
        """Return the last line and the column in bytes at which the code ends."""
        return self.nodes[-1].end_lineno, self.nodes[-1].end_col_offset

    def replace_nodes(self, nodes: Sequence[ast.AST]) -> None:
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
    _refuse_unchanged(fault, _structures(old_nodes), _structures(new_nodes))
    where = f"{fault.function} of {fault.file}" if fault.function else f"the module {fault.file}"
    occurrences: list[_Occurrence] = []
    for scope in _find_scopes(fault, tree):
        occurrences.extend(_find_occurrences(scope, old_nodes))
    line_numbers = [occurrence.start()[0] for occurrence in occurrences]
    occurrence = occurrences[_select_occurrence(fault, line_numbers, where)]

    # The replacement of nodes changes positions in the tree, so the texts come first.
    candidates = []
    for code in _spellings(fault, occurrence):
        candidates.append(_replace_source(text, occurrence, code))
    occurrence.replace_nodes(new_nodes)
    expected_structure = ast.dump(tree)
    # New text can change how Python parses the code around it, so a text is accepted
    # only if it gives the tree with the new nodes.
    for candidate in candidates:
        if _structure_of_text(candidate) == expected_structure:
            return candidate
    message = (
        f"{fault.place}: {shown(fault.new)} cannot replace {shown(fault.old)} "
        f"in {where}; write whole statements in both"
    )
    raise FaultError(message)


def _parse(text: str) -> ast.Module:
    """Parse Python code so that a name that is read equals a name that is assigned."""
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
    """Parse the old and the new code, as expressions if both are expressions."""
    old_body = _parse_code(fault, "old", fault.old)
    new_body = _parse_code(fault, "new", fault.new)
    if _is_expression(old_body) and _is_expression(new_body):
        return [old_body[0].value], [new_body[0].value]
    return old_body, new_body


def _parse_code(fault: Fault, field: str, code: str) -> list[ast.stmt]:
    """Return the statements of the code in a field of a fault's entry."""
    try:
        return _parse(textwrap.dedent(code)).body
    except SyntaxError as error:
        message = (
            f"{fault.place}: '{field}' is no valid Python code ({error.msg}): {shown(code)}; "
            "write an expression or whole statements"
        )
        raise FaultError(message) from error


def _is_expression(body: Sequence[ast.stmt]) -> bool:
    return len(body) == 1 and isinstance(body[0], ast.Expr)


def _find_scopes(fault: Fault, tree: ast.Module) -> list[ast.AST]:
    """Return the definitions of the fault's function, or the module if it names none.

    A name may be defined several times, for example in both branches of an `if`.
    """
    scopes: list[ast.AST] = [tree]
    if not fault.function:
        return scopes
    for name in fault.function.split("."):
        scopes = _definitions_named(name, scopes)
    if scopes:
        return scopes

    similar_names = difflib.get_close_matches(fault.function, list(_qualified_names(tree)), 1)
    hint = f"; a similar name is {similar_names[0]!r}" if similar_names else ""
    message = (
        f"{fault.place}: {fault.file} has no function or class {fault.function!r}{hint}; "
        "name the function and the file that contain the code now"
    )
    raise FaultError(message)


def _definitions_named(name: str, scopes: Sequence[ast.AST]) -> list[ast.AST]:
    """Return the functions and classes of some scopes that have a name."""
    definitions: list[ast.AST] = []
    for scope in scopes:
        definitions.extend(child for child in _definitions(scope) if child.name == name)
    return definitions


def _definitions(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the functions and classes of a scope, also those in its `if` blocks."""
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


def _find_occurrences(scope: ast.AST, old_nodes: Sequence[ast.AST]) -> list[_Occurrence]:
    """Return the occurrences of the old code in a scope, from first to last.

    The search of a function includes its inner functions and classes. The search of a
    module or a class excludes the functions and classes in it, which an entry selects
    by ``function``.
    """
    enters_definitions = isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef)
    occurrences = []
    for parent in _searched_nodes(scope, enters_definitions):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                for index in range(len(value) - len(old_nodes) + 1):
                    nodes = value[index : index + len(old_nodes)]
                    if _match(nodes, old_nodes):
                        occurrences.append(_Occurrence(parent, field, index, nodes))
            elif _match([value], old_nodes):
                occurrences.append(_Occurrence(parent, field, None, [value]))
    return sorted(occurrences, key=_Occurrence.start)


def _searched_nodes(scope: ast.AST, enters_definitions: bool) -> Iterator[ast.AST]:
    """Yield the nodes of a scope whose fields are searched for the old code."""
    yield scope
    for child in ast.iter_child_nodes(scope):
        # Before Python 3.12, nodes inside an f-string have no usable positions.
        if isinstance(child, ast.JoinedStr):
            continue
        if enters_definitions or not isinstance(child, _DEFINITIONS):
            yield from _searched_nodes(child, enters_definitions)


def _match(nodes: Sequence[Any], old_nodes: Sequence[ast.AST]) -> bool:
    """Tell whether nodes have the structure of the old code."""
    # To compare structures is slow, so the types are compared first.
    if [type(node) for node in nodes] != [type(node) for node in old_nodes]:
        return False
    return _structures(nodes) == _structures(old_nodes)


def _spellings(fault: Fault, occurrence: _Occurrence) -> list[str]:
    """Return the texts of the new code that may replace an occurrence."""
    code = textwrap.dedent(fault.new).strip()
    if isinstance(occurrence.nodes[0], ast.stmt):
        indentation = " " * occurrence.start()[1]
        # The file already contains the indentation of the first line.
        return [textwrap.indent(code, indentation).lstrip()]
    # Parentheses are needed where an operator of the surrounding code binds stronger.
    return [code, f"({code})"]


def _replace_source(text: str, occurrence: _Occurrence, code: str) -> str:
    """Return a text in which the source of an occurrence is replaced by other code."""
    source = text.encode()
    start = _byte_offset(source, *occurrence.start())
    end = _byte_offset(source, *occurrence.end())
    return (source[:start] + code.encode() + source[end:]).decode()


def _byte_offset(source: bytes, line: int, column: int) -> int:
    """Return the offset of a line and a column, which a syntax tree counts in bytes."""
    lines_before = source.split(b"\n")[: line - 1]
    line_breaks = len(lines_before)
    return sum(map(len, lines_before)) + line_breaks + column


# --- YAML -----------------------------------------------------------------------------


def _planted_in_yaml(fault: Fault, text: str) -> str:
    """Return the text of a YAML file with the new value at the fault's key."""
    _refuse_unchanged(fault, _as_json(fault.old), _as_json(fault.new))
    document = yaml.load(text, _YAML_LOADER)
    node = yaml.compose(text, _YAML_LOADER)
    value: Any = document
    for step in fault.key:
        container = value
        position = _position(fault, container, step)
        value = container[position]
        node = _child_node(fault, node, position)
    if _as_json(value) != _as_json(fault.old):
        message = (
            f"{fault.place}: no longer applies, because {fault.file} has {shown(value)} and not "
            f"{shown(fault.old)} at the key {fault.key}; {_REPAIR}"
        )
        raise FaultError(message)

    changed = _replace_value(text, node, fault.new)
    container[position] = fault.new
    if _json_of_yaml(changed) != _as_json(document):
        message = (
            f"{fault.place}: the value at the key {fault.key} cannot be changed by itself, because "
            "an alias refers to it or YAML reads the new value differently; "
            "remove 'key' and write 'old' and 'new' as text"
        )
        raise FaultError(message)
    return changed


def _replace_value(text: str, node: yaml.Node, value: Any) -> str:
    """Return a YAML text in which the text of a node is replaced by a value."""
    start = node.start_mark.index
    # PyYAML ends a list or a mapping at the next value, so white space is cut off.
    old_text = text[start : node.end_mark.index].rstrip()
    end = start + len(old_text)
    new_text = json.dumps(value, ensure_ascii=False)
    if not isinstance(node, yaml.ScalarNode) and not node.flow_style:
        # A list without brackets may start in the column of its key, but the bracket
        # that replaces it must be indented.
        new_text = " " + new_text
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
    """Return the key or index that a step selects in a mapping or a list.

    A step that is a mapping selects the only item of a list that has all its entries.
    """
    if isinstance(parent, list) and isinstance(step, dict):
        positions = [
            index
            for index, item in enumerate(parent)
            if isinstance(item, dict) and step.items() <= item.items()
        ]
    else:
        keys = range(len(parent)) if isinstance(parent, list) else parent
        exists = isinstance(parent, list | dict) and step in keys
        positions = [step] if exists else []
    if len(positions) == 1:
        return positions[0]
    message = (
        f"{fault.place}: no longer applies, because {fault.file} has {len(positions)} values "
        f"for the step {step!r} of the key {fault.key}, but one is expected; {_REPAIR}"
    )
    raise FaultError(message)


def _child_node(fault: Fault, node: yaml.Node, position: Any) -> yaml.Node:
    """Return the node of the value at a key or index."""
    if isinstance(node, yaml.SequenceNode):
        return node.value[position]
    for key, value in node.value:
        # The node of a key holds text; the loader makes 1 or true of it.
        if yaml.SafeLoader("").construct_document(key) == position:
            return value
    message = (
        f"{fault.place}: the key {position!r} of {fault.file} is merged from another mapping "
        "by '<<', so its value cannot be replaced here; give the path to the original mapping"
    )
    raise FaultError(message)


# --- Text -----------------------------------------------------------------------------


def _planted_in_text(fault: Fault, text: str) -> str:
    """Return the text of a file, of which no syntax is used, with the fault in it."""
    old_words = fault.old.split()
    _refuse_unchanged(fault, old_words, fault.new.split())
    pattern = r"\s+".join(re.escape(word) for word in old_words)
    matches = list(re.finditer(pattern, text))
    lines = [text.count("\n", 0, match.start()) + 1 for match in matches]
    match = matches[_select_occurrence(fault, lines, fault.file)]
    return text[: match.start()] + fault.new.strip() + text[match.end() :]
