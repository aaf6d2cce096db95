"""Read YAML files, and keep the line and column of each value for error messages.

Scalars follow YAML 1.2. Only decimal numbers, ``.inf``, ``.nan``, ``true``, ``false``,
``null``, ``~`` and the empty text are special, and ``010`` is ten. Scalars such as
``no``, ``1:30``, ``2002-05-01`` and ``0x10`` are texts. A repeated key is an error.

Lists and mappings have at most `limits.NESTING` levels. Aliases repeat at most
`limits.NODES` values. These limits prevent a malicious file from filling the memory.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import yaml

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, short
from stereo_framework.io.document import Document, Scalar, dict_of, list_of
from stereo_framework.io.locations import Faults, Location, item_paths, join
from stereo_framework.io.numbers import parse_number, parse_whole_number

_TAG = "tag:yaml.org,2002:"

_COMMAND_LINE = "--set"
"""File name in error messages about command-line values."""


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
    """Convert a text to an integer of at most 64 bits.

    Raises
    ------
    ValueError
        The text is not an integer, or the integer is too large.
    """
    number = parse_whole_number(text)
    if not -(2**63) <= number < 2**64:
        raise ValueError(text)
    return number


def _parse_float(text: str) -> float:
    """Convert a text such as ``-1.5e3``, ``.inf`` or ``.nan`` to a float.

    Raises
    ------
    ValueError
        The text is not a number, or the number is too large for float64.
    """
    # YAML writes .inf and .nan with a dot, but `parse_number` expects no dot.
    plain_text = text.lower().replace(".inf", "inf").replace(".nan", "nan")
    is_finite = "inf" not in plain_text and "nan" not in plain_text
    return parse_number(plain_text, finite=is_finite)


_SCALARS: Mapping[str, tuple[Callable[[str], Scalar], str]] = {
    "null": (lambda text: None, "null"),
    "bool": (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
    "int": (_parse_integer, "a whole number (of 64 bits)"),
    "float": (_parse_float, "a number (of 64 bits)"),
}
"""For each YAML tag, a function that converts a text to a value.

Error messages use the name of the expected value, such as ``true or false``.
"""


def parse(text: str | bytes, file: str, faults: Faults, path: str = "") -> Document | None:
    """Convert a YAML text to a document.

    Parameters
    ----------
    text : str, or bytes in UTF-8
        YAML text.
    file : str
        File name for error messages. The name ``--set`` means a text from the command
        line, which has no line numbers.
    faults : Faults
        Collects syntax errors, repeated keys and unsupported tags.
    path : str
        Dotted path of the value in the script, such as ``aggregation.box``. The path is
        empty for a whole script.

    Returns
    -------
    Document or None
        None if the text is not valid YAML. For an empty text, the data are None.
    """
    reader = _Reader(file, faults)
    try:
        content = text.decode("utf-8-sig") if isinstance(text, bytes) else text
        root = yaml.compose(content, Loader=_Loader)
        if root is None:
            return Document(None, {(): reader.location(None, path)})
        return reader.document(root, path)
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
    """Return PyYAML's description of a syntax error.

    For a tab character, the text also recommends spaces.
    """
    problem = error.problem or error.context or "syntax error"
    if problem.startswith("but ") and error.context:
        problem = f"{error.context} {problem}"
    if "'\\t'" in problem:
        problem += "; indent with spaces"
    return problem


def _location_of_character(content: str, position: int, file: str) -> Location:
    """Convert the index of a character in a text to its line and column."""
    text_before = content[:position]
    line_start = text_before.rfind("\n") + 1
    return Location(file, text_before.count("\n") + 1, len(text_before) - line_start + 1)


class _Reader:
    """Converts PyYAML nodes to documents.

    Parameters
    ----------
    file : str
        File name for error messages.
    faults : Faults
        Collects errors, such as repeated keys.

    Attributes
    ----------
    level : int
        Nesting depth: number of lists and mappings around the current node.
    repeated : int
        Number of nodes that YAML aliases repeat.
    seen : set of int
        Python `id` of each converted PyYAML node.
    """

    def __init__(self, file: str, faults: Faults):
        self.file = file
        self.faults = faults
        self.level = 0
        self.repeated = 0
        self.seen: set[int] = set()

    def location(self, mark: yaml.Mark | None, path: str) -> Location:
        """Convert a position from PyYAML to a `Location`.

        If `mark` is None, the location is the beginning of the file. A text from the
        command line has no line and column.
        """
        if self.file == _COMMAND_LINE:
            return Location(self.file, path=path)
        if mark is None:
            return Location(self.file, line=1, column=1, path=path)
        return Location(self.file, mark.line + 1, mark.column + 1, path)

    def document(self, node: yaml.Node, path: str) -> Document:
        """Convert a PyYAML node with all its child nodes to a document.

        Raises
        ------
        DataError
            The nodes are nested too deeply, or aliases repeat too many nodes.
        """
        location = self.location(node.start_mark, path)
        self._check_limits(node)
        if isinstance(node, yaml.ScalarNode):
            unquoted_text = node.value if node.style is None else None
            scalar = self._scalar(node, location)
            return Document(scalar, {(): replace(location, unquoted_text=unquoted_text)})
        self.level += 1
        if isinstance(node, yaml.MappingNode):
            converted = self._mapping(node, location)
        else:
            converted = self._sequence(node, location)
        self.level -= 1
        return converted

    def _check_limits(self, node: yaml.Node) -> None:
        """Raise an error if nodes are nested too deeply or repeated too often.

        A short text with nested aliases can create billions of values.
        """
        if id(node) in self.seen:
            self.repeated += 1
        self.seen.add(id(node))
        if self.level > limits.NESTING:
            message = (
                f"it is nested too deeply: it has more than {limits.NESTING} levels of lists and "
                "mappings, or an alias inside its own anchor"
            )
            raise DataError(message)
        if self.repeated > limits.NODES:
            message = (
                f"its aliases (such as *name) repeat more than {limits.NODES} values; write fewer "
                "aliases"
            )
            raise DataError(message)

    def _sequence(self, node: yaml.Node, location: Location) -> Document:
        """Convert a YAML list to a document.

        The dotted path of an item contains the name of its stage: ``aggregation.box``.
        """
        self._refuse_tag(node, "seq", location)
        paths = item_paths(location.path, [_used_stage(item) for item in node.value])
        items = [self.document(item, path) for item, path in zip(node.value, paths, strict=True)]
        return list_of(items, location)

    def _mapping(self, node: yaml.MappingNode, location: Location) -> Document:
        """Convert a YAML mapping to a document with a dict.

        Repeated keys and keys that are not texts are stored as faults and ignored.
        """
        self._refuse_tag(node, "map", location)
        entries: dict[str, Document] = {}
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
                first_line = entries[key.value].key().line
                if first_line:
                    message += f"; the first is in line {first_line}"
                self.faults.add(key_location, message)
            else:
                entry = self.document(value, join(location.path, key.value))
                entries[key.value] = entry.at_location(replace(entry.location, key=key_location))
        return dict_of(entries, location)

    def _scalar(self, node: yaml.ScalarNode, location: Location) -> Scalar:
        """Convert a YAML scalar to None, a bool, an int, a float or a str.

        If the conversion fails, for example for a number of 100 digits, a fault is
        stored. The result is then None.
        """
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
        """Store a fault if a node has an unsupported YAML tag, such as ``!!set``.

        Parameters
        ----------
        node : yaml.Node
            List, mapping or scalar.
        usual_tag : {"seq", "map", "str"}
            Supported tag: "seq" for a list, "map" for a mapping, and "str" for a text.
        location : Location
            File, line and column of the node.
        """
        if node.tag != _TAG + usual_tag:
            tag = node.tag.replace(_TAG, "!!")
            self.faults.add(location, f"the tag {tag} is not supported")


def _used_stage(node: yaml.Node) -> str | None:
    """Return the name of the stage in a list item such as ``{use: box, size: 9}``.

    The result is None if the item has no key ``use``.
    """
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in node.value:
        is_use = isinstance(key, yaml.ScalarNode) and key.value == "use"
        if is_use and isinstance(value, yaml.ScalarNode):
            return value.value
    return None
