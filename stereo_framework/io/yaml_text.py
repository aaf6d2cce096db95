"""Reading YAML of users: with places, by the rules of YAML 1.2, and within limits that no honest file exceeds.

Numbers, ``true``, ``false`` and ``null`` are what they seem; everything else is text: ``no``, ``1:30``, ``2002-05-01``, ``0x10``, ``1_000``. ``010`` is ten. A key that stands twice is a fault.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ScriptError, short
from stereo_framework.io._files import PathLike, read_bytes
from stereo_framework.io.places import Faults, Node, Place, Scalar, item_paths, join

PREFIX = "tag:yaml.org,2002:"


class Loader(yaml.SafeLoader):
    """A YAML loader that knows only the scalars of YAML 1.2."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  PyYAML's own way; add_implicit_resolver fills it
    _level = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """A node with everything in it. Nodes that are nested too deeply are refused, because PyYAML's time grows with the square of the depth."""
        self._level += 1
        if self._level > limits.NESTING:
            raise _too_deep()
        node = super().compose_node(parent, index)
        self._level -= 1
        return node


def _too_deep() -> DataError:
    return DataError(f"nested too deeply: more than {limits.NESTING} levels")


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
):
    Loader.add_implicit_resolver(PREFIX + _tag, re.compile(rf"(?:{_pattern})\Z"), [*_first, *([""] if _tag == "null" else [])])


def compose(text: str | bytes) -> yaml.Node | None:
    """The nodes of one YAML document, or None if it is empty.

    Raises
    ------
    yaml.YAMLError
        The text is not YAML.
    DataError
        It is nested too deeply, or too large once its aliases are followed. The message does not contain the name of a file.
    """
    known: dict[int, tuple[int, int]] = {}
    root = yaml.compose(text, Loader=Loader)
    nodes, height = (0, 0) if root is None else _size(root, known)
    if height > limits.NESTING:  # by aliases
        raise _too_deep()
    if nodes > max(limits.NODES, len(known)):
        raise DataError(f"more than {limits.NODES} values, an alias counted as often as it is used")
    return root


def _size(node: yaml.Node, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """The number of nodes in a node, and the depth of their nesting. A node that is `known` is examined once and counted each time it is used."""
    if id(node) not in known:
        known[id(node)] = 1, 1  # also inside itself
        inner = node.value if isinstance(node, yaml.CollectionNode) else []
        parts = [_size(part, known) for item in inner for part in (item if isinstance(item, tuple) else (item,))]
        known[id(node)] = 1 + sum(nodes for nodes, _ in parts), 1 + max((height for _, height in parts), default=0)
    return known[id(node)]


def scalar(node: yaml.ScalarNode) -> bool | int | float | str | None:
    """The value of a scalar; for any other tag it is the text itself.

    Raises
    ------
    ValueError
        The text cannot be read as its tag says, or is a number that does not fit 64 bits. The message says what was expected.
    """
    text, tag = node.value, node.tag.removeprefix(PREFIX)
    if tag == "null":
        return None
    try:
        if tag == "bool":
            return {"true": True, "false": False}[text.lower()]
        # To convert longer texts of digits takes time that grows with the square of their length.
        if tag == "int" and len(text) < 25 and -(2**63) <= (number := int(text)) < 2**64:
            return number
        if tag == "float":
            word = text.lower().replace(".inf", "inf").replace(".nan", "nan")
            if word.lstrip("+-") in ("inf", "nan") or math.isfinite(float(text)):
                return float(word)
    except (ValueError, KeyError):
        pass
    if tag in _WORDS:
        raise ValueError(f"{short(text, 40)!r} cannot be read as {_WORDS[tag]}")
    return str(text)


_WORDS = {"bool": "true or false", "int": "a whole number (of 64 bits)", "float": "a number (of 64 bits)"}


def parse(text: str | bytes, file: str, faults: Faults, path: str = "") -> Node | None:
    """Read one YAML document.

    Parameters
    ----------
    text : str, or bytes in UTF-8
    file : str
        Named in places; ``--set`` has no lines.
    faults : Faults
        Gets syntax errors, duplicate keys, tags.
    path : str
        Dotted path of the document itself.

    Returns
    -------
    Node or None
        None after a syntax error. An empty document is null.
    """
    reader = _Reader(file, faults)
    try:
        content = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        root = compose(content)
        return reader.node(root, path) if root is not None else Node(None, reader.place(None, path))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "syntax error"
        if problem.startswith("but ") and error.context:
            problem = f"{error.context} {problem}"
        if "'\\t'" in problem:
            problem += "; indent with spaces"
        faults.add(reader.place(mark, path), f"not YAML: {problem}")
    except yaml.reader.ReaderError as error:
        before = content[: error.position]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        faults.add(Place(file, line, column), f"not YAML: the character {chr(int(error.character))!r} is not allowed")
    except UnicodeDecodeError as error:
        faults.add(reader.place(None, path), f"not a text in UTF-8: {error.reason} in byte {error.start}")
    except DataError as error:
        faults.add(reader.place(None, path), f"cannot be read: {error}")
    return None


def read_yaml(path: PathLike) -> Any:
    """The content of a YAML file of a user: scalars, lists and dicts.

    Raises
    ------
    DataError
        The file is missing, too large or not YAML, or holds something that YAML 1.2 does not have. The message is one line with its place.
    """
    faults = Faults()
    node = parse(read_bytes(path, limits.TEXT), str(path), faults)
    try:
        faults.raise_if_any()
    except ScriptError as error:
        raise DataError(error.faults[0]) from None
    return node and node.data()


class _Reader:
    def __init__(self, file: str, faults: Faults):
        self.file = file
        self.faults = faults
        self.open: list[yaml.Node] = []

    def place(self, mark: yaml.Mark | None, path: str) -> Place:
        if self.file == "--set":
            return Place(self.file, path=path)
        return Place(self.file, mark.line + 1 if mark else 1, mark.column + 1 if mark else 1, path)

    def node(self, node: yaml.Node, path: str) -> Node:
        place = self.place(node.start_mark, path)
        if any(node is one for one in self.open):
            self.faults.add(place, "an alias inside its own anchor")
            return Node(None, place)
        self.open.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, place)
            if isinstance(node, yaml.SequenceNode):
                self._no_tag(node, "seq", place)
                paths = item_paths(path, [_use(item) for item in node.value])
                return Node([self.node(item, at) for item, at in zip(node.value, paths, strict=True)], place)
            assert isinstance(node, yaml.ScalarNode), "the third and last kind of node"
            return Node(self._scalar(node, place), place, raw=node.value if node.style is None else None)
        finally:
            self.open.pop()

    def _mapping(self, node: yaml.MappingNode, place: Place) -> Node:
        self._no_tag(node, "map", place)
        entries: dict[str, Node] = {}
        keys: dict[str, Place] = {}
        for key, value in node.value:
            at = self.place(key.start_mark, place.path)
            if not isinstance(key, yaml.ScalarNode):
                self.faults.add(at, "a key must be a text")
            elif key.value == "<<" and key.style is None:
                instead = "repeat the keys; a script may 'include' a file that has them"
                self.faults.add(at, f"merge keys (<<) are not used here; {instead}")
            elif key.value in entries:
                first = keys[key.value]
                where = f"; first in line {first.line}" if first.line else ""
                self.faults.add(at, f"the key {key.value!r} stands twice{where}")
            else:
                entries[key.value] = self.node(value, join(place.path, key.value))
                keys[key.value] = at
        return Node(entries, place, keys)

    def _scalar(self, node: yaml.ScalarNode, place: Place) -> Scalar:
        try:
            value = scalar(node)
        except ValueError as error:
            self.faults.add(place, str(error))
            return None
        if node.tag.removeprefix(PREFIX) not in ("null", "bool", "int", "float"):
            self._no_tag(node, "str", place)
        return value

    def _no_tag(self, node: yaml.Node, usual: str, place: Place) -> None:
        if node.tag != PREFIX + usual:
            self.faults.add(place, f"the tag {node.tag.replace(PREFIX, '!!')} is not used here")


def _use(node: yaml.Node) -> str | None:
    """The stage that a list item names."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == "use" and isinstance(value, yaml.ScalarNode):
                return value.value
    return None
