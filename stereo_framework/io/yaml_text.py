"""Read YAML files of users as nodes with locations.

The scalars are those of YAML 1.2. Only numbers, ``true``, ``false`` and ``null`` have a
meaning, and ``010`` is ten. All other scalars are texts, such as ``no``, ``1:30``,
``2002-05-01``, ``0x10`` and ``1_000``. A key that occurs twice is a fault. Limits on
the nesting and on the number of values protect the memory; files of users do not reach
them.
"""

import re
from collections.abc import Callable, Mapping

import yaml

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, short
from stereo_framework.io.locations import Faults, Location, Node, Scalar, item_paths, join
from stereo_framework.io.numbers import parse_number, parse_whole_number

_TAG = "tag:yaml.org,2002:"

_COMMAND_LINE = "--set"
"""Name that a text from the command line has in place of the name of a file."""


class _Loader(yaml.SafeLoader):
    """A YAML loader that recognizes only the scalars of YAML 1.2."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  PyYAML requires a plain dict.


for _name, _pattern, _first_characters in (
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    ("int", r"[-+]?[0-9]+", [*"-+0123456789"]),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", [*"-+.0123456789"]),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", [*"-+."]),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), _first_characters)


def _parse_integer(text: str) -> int:
    """Return an integer that fits 64 bits, or raise ValueError."""
    number = parse_whole_number(text)
    if not -(2**63) <= number < 2**64:
        raise ValueError(text)
    return number


def _parse_float(text: str) -> float:
    """Return a number of 64 bits, or raise ValueError."""
    # YAML has a dot in front of inf and nan.
    plain_text = text.lower().replace(".inf", "inf").replace(".nan", "nan")
    is_finite = "inf" not in plain_text and "nan" not in plain_text
    return parse_number(plain_text, finite=is_finite)


_SCALARS: Mapping[str, tuple[Callable[[str], Scalar], str]] = {
    "null": (lambda text: None, "null"),
    "bool": (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
    "int": (_parse_integer, "a whole number (of 64 bits)"),
    "float": (_parse_float, "a number (of 64 bits)"),
}
"""For each tag the function that reads the text of a scalar, and the expected value."""


def parse(text: str | bytes, file: str, faults: Faults, path: str = "") -> Node | None:
    """Read one YAML document.

    Parameters
    ----------
    text : str, or bytes in UTF-8
        The document.
    file : str
        Name of the file in locations. A text that has the name ``--set`` has no lines.
    faults : Faults
        Collects syntax errors, repeated keys and tags that are not supported.
    path : str
        Dotted path of the document itself.

    Returns
    -------
    Node or None
        The document, or None after a syntax error. An empty document is null.
    """
    reader = _Reader(file, faults)
    try:
        content = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        root = yaml.compose(content, Loader=_Loader)
        if root is None:
            return Node(None, reader.location(None, path))
        return reader.node(root, path)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        faults.add(
            reader.location(mark, path), f"the text is not valid YAML: {_syntax_problem(error)}"
        )
    except yaml.reader.ReaderError as error:
        location = _location_of_character(content, error.position, file)
        character = chr(int(error.character))
        message = f"the text is not valid YAML: the character {character!r} is not allowed"
        faults.add(location, message)
    except UnicodeDecodeError as error:
        message = f"the text is not UTF-8: {error.reason} in byte {error.start}"
        faults.add(reader.location(None, path), message)
    except RecursionError:
        message = "the text cannot be read: it is nested too deeply"
        faults.add(reader.location(None, path), message)
    except DataError as error:
        faults.add(reader.location(None, path), f"the text cannot be read: {error}")
    return None


def _syntax_problem(error: yaml.MarkedYAMLError) -> str:
    """Return PyYAML's description of a syntax error, with a remedy for tabs."""
    problem = error.problem or error.context or "syntax error"
    if problem.startswith("but ") and error.context:
        problem = f"{error.context} {problem}"
    if "'\\t'" in problem:
        problem += "; indent with spaces"
    return problem


def _location_of_character(content: str, position: int, file: str) -> Location:
    """Return the line and column of a character, both counted from 1."""
    text_before = content[:position]
    line_start = text_before.rfind("\n") + 1
    return Location(file, text_before.count("\n") + 1, len(text_before) - line_start + 1)


class _Reader:
    """Converts the nodes of PyYAML to nodes with locations, and collects their faults.

    Parameters
    ----------
    file : str
        Name of the file in locations.
    faults : Faults
        Collects the faults.

    Attributes
    ----------
    level : int
        Number of lists and mappings around the node that is being converted.
    repeated : int
        Number of nodes that aliases have repeated so far.
    seen : set of int
        Identities of the nodes that were converted.
    """

    def __init__(self, file: str, faults: Faults):
        self.file = file
        self.faults = faults
        self.level = 0
        self.repeated = 0
        self.seen: set[int] = set()

    def location(self, mark: yaml.Mark | None, path: str) -> Location:
        """Return the location at a mark of PyYAML, or at the beginning of the file."""
        if self.file == _COMMAND_LINE:
            return Location(self.file, path=path)
        if mark is None:
            return Location(self.file, line=1, column=1, path=path)
        return Location(self.file, mark.line + 1, mark.column + 1, path)

    def node(self, node: yaml.Node, path: str) -> Node:
        """Return a node of PyYAML as a node with locations.

        Raises
        ------
        DataError
            The nodes are nested too deeply, or there are too many of them.
        """
        location = self.location(node.start_mark, path)
        self._check_limits(node)
        if isinstance(node, yaml.ScalarNode):
            raw_text = node.value if node.style is None else None
            return Node(self._scalar(node, location), location, raw=raw_text)
        self.level += 1
        if isinstance(node, yaml.MappingNode):
            converted = self._mapping(node, location)
        else:
            converted = self._sequence(node, location)
        self.level -= 1
        return converted

    def _check_limits(self, node: yaml.Node) -> None:
        """Refuse a node that is nested too deeply or repeated too often by aliases."""
        if id(node) in self.seen:
            self.repeated += 1
        self.seen.add(id(node))
        if self.level > limits.NESTING:
            message = (
                f"it is nested too deeply: it has more than {limits.NESTING} levels, or an alias "
                "inside its own anchor"
            )
            raise DataError(message)
        if self.repeated > limits.NODES:
            message = (
                f"it has more than {limits.NODES} values, if an alias is counted as often as it "
                "is used"
            )
            raise DataError(message)

    def _sequence(self, node: yaml.Node, location: Location) -> Node:
        """Return a list. The stages of its items become parts of their paths."""
        self._refuse_tag(node, "seq", location)
        paths = item_paths(location.path, [_used_stage(item) for item in node.value])
        items = [self.node(item, path) for item, path in zip(node.value, paths, strict=True)]
        return Node(items, location)

    def _mapping(self, node: yaml.MappingNode, location: Location) -> Node:
        """Return a mapping. Its keys must be different texts."""
        self._refuse_tag(node, "map", location)
        entries: dict[str, Node] = {}
        keys: dict[str, Location] = {}
        for key, value in node.value:
            key_location = self.location(key.start_mark, location.path)
            if not isinstance(key, yaml.ScalarNode):
                self.faults.add(key_location, "a key must be a text")
            elif key.value == "<<" and key.style is None:
                message = (
                    "YAML merge keys (<<) are not supported; repeat the keys, or move them to a "
                    "file and use 'include'"
                )
                self.faults.add(key_location, message)
            elif key.value in entries:
                message = f"the key {key.value!r} occurs twice"
                first_line = keys[key.value].line
                if first_line:
                    message += f"; the first is in line {first_line}"
                self.faults.add(key_location, message)
            else:
                entries[key.value] = self.node(value, join(location.path, key.value))
                keys[key.value] = key_location
        return Node(entries, location, keys)

    def _scalar(self, node: yaml.ScalarNode, location: Location) -> Scalar:
        """Return the value of a scalar; a text without such a value is a fault."""
        read, expected = _SCALARS.get(node.tag.removeprefix(_TAG), (str, ""))
        if not expected:
            self._refuse_tag(node, "str", location)
        try:
            return read(node.value)
        except (ValueError, KeyError):
            message = f"{short(node.value, 40)!r} cannot be read as {expected}"
            self.faults.add(location, message)
            return None

    def _refuse_tag(self, node: yaml.Node, usual_tag: str, location: Location) -> None:
        """Add a fault if a node has another tag than the usual tag of its kind."""
        if node.tag != _TAG + usual_tag:
            tag = node.tag.replace(_TAG, "!!")
            self.faults.add(location, f"the tag {tag} is not supported")


def _used_stage(node: yaml.Node) -> str | None:
    """Return the text under the key ``use`` of an item, or None."""
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in node.value:
        is_use = isinstance(key, yaml.ScalarNode) and key.value == "use"
        if is_use and isinstance(value, yaml.ScalarNode):
            return value.value
    return None
