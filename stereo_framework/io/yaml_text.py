"""Reading YAML of users: with locations, by the rules of YAML 1.2, and within limits that no honest file exceeds.

Numbers, ``true``, ``false`` and ``null`` are what they seem; everything else is text: ``no``, ``1:30``, ``2002-05-01``, ``0x10``, ``1_000``. ``010`` is ten. A key that stands twice is a fault.
"""

import re
from collections.abc import Callable, Mapping

import yaml

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, short
from stereo_framework.io.locations import Faults, Location, Node, Scalar, item_paths, join
from stereo_framework.io.numbers import parse_number, parse_whole_number

_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """A YAML loader that knows only the scalars of YAML 1.2."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  PyYAML requires a plain dict.


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
):
    _Loader.add_implicit_resolver(
        _TAG + _tag, re.compile(rf"(?:{_pattern})\Z"), [*_first, *([""] if _tag == "null" else [])]
    )


def _whole(text: str) -> int:
    number = parse_whole_number(text)
    if not -(2**63) <= number < 2**64:
        raise ValueError(text)
    return number


def _number(text: str) -> float:
    # YAML writes a dot in front of inf and nan.
    plain_text = text.lower().replace(".inf", "inf").replace(".nan", "nan")
    return parse_number(plain_text, finite="inf" not in plain_text and "nan" not in plain_text)


_SCALARS: Mapping[str, tuple[Callable[[str], Scalar], str]] = {
    "null": (lambda text: None, "null"),
    "bool": (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
    "int": (_whole, "a whole number (of 64 bits)"),
    "float": (_number, "a number (of 64 bits)"),
}
"""What becomes of a scalar's text by its tag, and what it should have been."""


def parse(text: str | bytes, file: str, faults: Faults, path: str = "") -> Node | None:
    """Read one YAML document.

    Parameters
    ----------
    text : str, or bytes in UTF-8
    file : str
        Name of the file in locations; ``--set`` has no lines.
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
        root = yaml.compose(content, Loader=_Loader)
        return (
            reader.node(root, path) if root is not None else Node(None, reader.location(None, path))
        )
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "syntax error"
        if problem.startswith("but ") and error.context:
            problem = f"{error.context} {problem}"
        if "'\\t'" in problem:
            problem += "; indent with spaces"
        faults.add(reader.location(mark, path), f"not YAML: {problem}")
    except yaml.reader.ReaderError as error:
        before = content[: error.position]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        faults.add(
            Location(file, line, column),
            f"not YAML: the character {chr(int(error.character))!r} is not allowed",
        )
    except UnicodeDecodeError as error:
        faults.add(
            reader.location(None, path),
            f"not a text in UTF-8: {error.reason} in byte {error.start}",
        )
    except RecursionError:
        faults.add(reader.location(None, path), "cannot be read: nested too deeply")
    except DataError as error:
        faults.add(reader.location(None, path), f"cannot be read: {error}")
    return None


class _Reader:
    def __init__(self, file: str, faults: Faults):
        self.file = file
        self.faults = faults
        self.level = self.repeated = 0
        self.seen: set[int] = set()

    def location(self, mark: yaml.Mark | None, path: str) -> Location:
        if self.file == "--set":
            return Location(self.file, path=path)
        return Location(
            self.file, mark.line + 1 if mark else 1, mark.column + 1 if mark else 1, path
        )

    def node(self, node: yaml.Node, path: str) -> Node:
        location = self.location(node.start_mark, path)
        self.repeated += id(node) in self.seen
        self.seen.add(id(node))
        if self.level > limits.NESTING:
            raise DataError(
                f"nested too deeply: more than {limits.NESTING} levels, or an alias inside its own anchor"
            )
        if self.repeated > limits.NODES:
            raise DataError(
                f"more than {limits.NODES} values, an alias counted as often as it is used"
            )
        if isinstance(node, yaml.ScalarNode):
            return Node(
                self._scalar(node, location),
                location,
                raw=node.value if node.style is None else None,
            )
        self.level += 1
        if isinstance(node, yaml.MappingNode):
            made = self._mapping(node, location)
        else:
            self._no_tag(node, "seq", location)
            paths = item_paths(path, [_use(item) for item in node.value])
            made = Node(
                [self.node(item, at) for item, at in zip(node.value, paths, strict=True)], location
            )
        self.level -= 1
        return made

    def _mapping(self, node: yaml.MappingNode, location: Location) -> Node:
        self._no_tag(node, "map", location)
        entries: dict[str, Node] = {}
        keys: dict[str, Location] = {}
        for key, value in node.value:
            at = self.location(key.start_mark, location.path)
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
                entries[key.value] = self.node(value, join(location.path, key.value))
                keys[key.value] = at
        return Node(entries, location, keys)

    def _scalar(self, node: yaml.ScalarNode, location: Location) -> Scalar:
        make, expected = _SCALARS.get(node.tag.removeprefix(_TAG), (str, ""))
        if not expected:
            self._no_tag(node, "str", location)
        try:
            return make(node.value)
        except (ValueError, KeyError):
            self.faults.add(location, f"{short(node.value, 40)!r} cannot be read as {expected}")
            return None

    def _no_tag(self, node: yaml.Node, usual: str, location: Location) -> None:
        if node.tag != _TAG + usual:
            self.faults.add(location, f"the tag {node.tag.replace(_TAG, '!!')} is not used here")


def _use(node: yaml.Node) -> str | None:
    """The stage that a list item names."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if (
                isinstance(key, yaml.ScalarNode)
                and key.value == "use"
                and isinstance(value, yaml.ScalarNode)
            ):
                return value.value
    return None
