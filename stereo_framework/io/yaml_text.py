"""Reading YAML files of users: by the rules of YAML 1.2, and within limits that no honest file exceeds.

Numbers, ``true``, ``false`` and ``null`` are what they seem; everything else is text: ``no``, ``1:30``, ``2002-05-01``, ``0x10``, ``1_000``. ``010`` is ten.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, short
from stereo_framework.io._files import PathLike, read_bytes

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


def read_yaml(path: PathLike) -> Any:
    """The content of a YAML file of a user: scalars, lists and dicts.

    Raises
    ------
    DataError
        The file is missing, too large or not YAML, or holds something that YAML 1.2 does not have. The message is one line with its place.
    """
    data = read_bytes(path, limits.TEXT)
    try:
        root = compose(data)
        return None if root is None else _plain(root, path, [])
    except yaml.MarkedYAMLError as error:
        raise DataError(f"{_place(path, error.problem_mark)}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise DataError(f"{path}: is not a YAML file: {' '.join(str(error).split())}") from None
    except (DataError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {error}" if not str(error).startswith(str(path)) else str(error)) from None


def _place(path: PathLike, mark: yaml.Mark | None) -> str:
    return f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)


def _plain(node: yaml.Node, path: PathLike, around: list[yaml.Node]) -> Any:
    where = _place(path, node.start_mark)
    if any(node is one for one in around):
        raise DataError(f"{where}: an alias inside its own anchor")
    usual: tuple[str, ...] = ("str", "null", *_WORDS)
    if isinstance(node, yaml.CollectionNode):
        usual = ("map",) if isinstance(node, yaml.MappingNode) else ("seq",)
    if node.tag.removeprefix(PREFIX) not in usual:
        raise DataError(f"{where}: the tag {node.tag.replace(PREFIX, '!!')} is not used here")
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, path, [*around, node]) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        found: dict[Any, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise DataError(f"{_place(path, key.start_mark)}: a key must be a text")
            if key.value in found:
                raise DataError(f"{_place(path, key.start_mark)}: the key {key.value!r} occurs twice")
            found[key.value] = _plain(value, path, [*around, node])
        return found
    assert isinstance(node, yaml.ScalarNode), "the third and last kind of node"
    try:
        return scalar(node)
    except ValueError as error:
        raise DataError(f"{where}: {error}") from None
