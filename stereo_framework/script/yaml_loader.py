"""YAML with places, without YAML's traps.

Numbers, ``true``/``false`` and ``null`` are read as in YAML 1.2; all else is text: ``no``, ``1:30``, ``2002-05-01``, ``0x10``,
``1_000``. ``010`` is ten. A key that stands twice is a fault.
"""

from __future__ import annotations

import yaml

from stereo_framework.core.errors import DataError
from stereo_framework.io.yaml_text import PREFIX, compose, scalar
from stereo_framework.script.places import Faults, Node, Place, Scalar, item_paths, join


def parse(text: str, file: str, faults: Faults, path: str = "") -> Node | None:
    """Read one YAML document.

    Parameters
    ----------
    text : str
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
        root = compose(text)
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
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        faults.add(Place(file, line, column), f"not YAML: the character {chr(int(error.character))!r} is not allowed")
    except DataError as error:
        faults.add(reader.place(None, path), f"cannot be read: {error}")
    return None


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
                instead = "repeat the keys, or put them into a file and 'include' it"
                self.faults.add(at, f"merge keys (<<) are not used in scripts; {instead}")
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
            self.faults.add(place, f"the tag {node.tag.replace(PREFIX, '!!')} is not used in scripts")


def _use(node: yaml.Node) -> str | None:
    """The stage that a list item names."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == "use" and isinstance(value, yaml.ScalarNode):
                return value.value
    return None
