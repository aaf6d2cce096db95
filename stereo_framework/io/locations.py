"""Values of a parameter script with their line numbers, and the script's faults.

A *fault* is a mistake in a parameter script, such as an unknown key. The error message
names the file, the line and the column.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core import limits
from stereo_framework.core.errors import ScriptError, short

Scalar = None | bool | int | float | str

_SHOWN_VALUE_LENGTH = 80
"""Maximum length of a wrong value in an error message."""


@dataclass(frozen=True)
class Location:
    """The file, line and column of a key or a value in a parameter script.

    Parameters
    ----------
    file : str
        Name of the script file, such as ``my.yaml``. The name is ``--set`` for a value
        from the command line. For a value from a Python dict, the name is empty.
    line, column : int
        Line and column in the file, counted from 1. Both are 0 for a value from the
        command line or from a dict.
    path : str
        Dotted path of the value, such as ``aggregation.box.size``.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    path: str = ""

    def __str__(self) -> str:
        if not self.file:
            return self.path or "script"
        if not self.line:
            return f"{self.file} {self.path}".strip()
        position = f"{self.file}:{self.line}:{self.column}"
        return f"{position}: {self.path}" if self.path else position

    @property
    def folder(self) -> Path:
        """Absolute path of the folder that contains the script.

        Relative file names in the script refer to this folder. For a value from the
        command line or a dict, the folder is the working directory.
        """
        return Path(self.file).parent.absolute() if self.line else Path.cwd()

    def in_brackets(self) -> str:
        """Return the location in brackets, such as ``" (my.yaml:3:5)"``.

        The text is empty for a value from a Python dict.
        """
        if not self.file:
            return ""
        # The line and column suffice, so the dotted path is left out.
        shown_location = replace(self, path="") if self.line else self
        return f" ({shown_location})"


@dataclass(frozen=True, eq=False)
class Node:
    """A value of a parameter script with its location in the file.

    Parameters
    ----------
    value : None, bool, int, float, str, list of Node or dict of str to Node
        A scalar, a list of nodes, or a dict of nodes.
    location : Location
        File, line and column of the value.
    keys : mapping of str to Location
        Location of each key, if the value is a dict. The `path` in each location is the
        path of the dict, without the key.
    raw : str, optional
        Original text of a scalar without quotes. For example, YAML converts a scene
        name ``007`` to the number 7, but `raw` is ``007``.
    """

    value: Scalar | list[Node] | dict[str, Node]
    location: Location
    keys: Mapping[str, Location] = field(default_factory=dict)
    raw: str | None = None

    @property
    def entries(self) -> dict[str, Node]:
        """The nodes of a dict by their keys. A list or scalar has no entries."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Node]:
        """The nodes of a list, or a list with this node for a scalar or dict.

        In a script, ``aggregation: box`` is equivalent to ``aggregation: [box]``.

        Examples
        --------
        >>> node = Node("box", Location(path="aggregation"))
        >>> [item.value for item in node.items]
        ['box']
        """
        return self.value if isinstance(self.value, list) else [self]

    def at(self, *keys: str) -> Node:
        """Return the node under nested keys, such as ``node.at("search", "step")``.

        If a key is missing, the result has the value None and the location of this
        node.
        """
        node = self
        for key in keys:
            node = node.entries.get(key, Node(None, self.location))
        return node

    def location_of(self, steps: Iterable[int | str]) -> Location:
        """Return the location in the script of an error that pydantic reports.

        Parameters
        ----------
        steps : iterable of int or str
            The ``loc`` of pydantic's error, such as ``("search", "step")``. Each step
            is a key or a list index. A final step ``"[key]"`` means that the key before
            this step is wrong.

        Returns
        -------
        Location
            Location of the wrong value or key. For a missing key, the line and column
            are those of the dict.
        """
        node = self
        key_location = self.location
        for step in steps:
            if step == "[key]":
                return key_location
            if isinstance(step, str) and step not in node.entries:
                return replace(node.location, path=join(node.location.path, step))
            key_location = node.keys.get(str(step), key_location)
            node = node.items[step] if isinstance(step, int) else node.entries[step]
        return node.location

    def key(self, name: str) -> Location:
        """Return the location of the key `name`, with the path of its value."""
        return replace(self.keys[name], path=join(self.location.path, name))

    def having(self, name: str, node: Node) -> Node:
        """Return a copy of this dict node with `node` under the key `name`."""
        entries = {**self.entries, name: node}
        keys = {name: node.location, **self.keys}
        return replace(self, value=entries, keys=keys)

    def data(self) -> Any:
        """Convert the node to Python scalars, lists and dicts without locations."""
        if isinstance(self.value, dict):
            return {name: node.data() for name, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.data() for node in self.value]
        return self.value


class Faults:
    """Collects the mistakes in a parameter script and reports them together.

    The error message sorts the faults by file, line and column. After ``limits.FAULTS``
    faults, reading of the script stops.

    Parameters
    ----------
    without_plugins : bool
        Whether the script names plug-ins that are not loaded. Unknown stage names are
        then allowed, because a plug-in may define the stages.

    Attributes
    ----------
    unknown : list of str
        Names of unknown stages that plug-ins may define.
    files : list of str
        Names of the script files in reading order.
    """

    def __init__(self, *, without_plugins: bool = False) -> None:
        self.without_plugins = without_plugins
        self.unknown: list[str] = []
        self.files = [""]
        self._value_count = 0.0
        self._location_of_fault: dict[str, Location] = {}
        self._locations: set[Location] = set()

    def __bool__(self) -> bool:
        return bool(self._location_of_fault)

    def add(self, location: Location, message: str) -> None:
        """Store a fault, unless the same line and column already has a fault.

        A second fault at the same position is usually a consequence of the first fault.

        Raises
        ------
        ScriptError
            The script has more than ``limits.FAULTS`` faults.
        """
        # A Python dict has no line numbers, so different values can have equal
        # locations. All faults of a dict are therefore stored.
        if location.file and location in self._locations:
            return
        if len(self._location_of_fault) == limits.FAULTS:
            last_line = f"{location.file or 'script'}: there are further faults"
            self._location_of_fault[last_line] = Location(location.file, sys.maxsize)
            self.raise_if_any()
        self._location_of_fault.setdefault(f"{location}: {message}", location)
        self._locations.add(location)

    def count_values(self, location: Location, count: float) -> None:
        """Raise an error if the axes of the script have too many values in total.

        Call this method before you create the values of an axis. For example, the axis
        ``{range: [0, 60, 1]}`` has 61 values. A typing error could otherwise fill the
        memory.

        Parameters
        ----------
        location : Location
            File, line and column of the axis.
        count : float
            Number of values of the axis.

        Raises
        ------
        ScriptError
            All axes together have more than ``limits.SETTINGS`` values.
        """
        self._value_count += count
        if self._value_count > limits.SETTINGS:
            message = (
                f"the axes of the script have more than {limits.SETTINGS} values, which is the "
                "limit; remove axes or values"
            )
            self.add(location, message)
            self.raise_if_any()

    def raise_if_any(self) -> None:
        """Raise an error that lists all stored faults.

        Raises
        ------
        ScriptError
            At least one fault is stored.
        """
        if not self._location_of_fault:
            return
        files_with_faults = [location.file for location in self._location_of_fault.values()]
        files = list(dict.fromkeys([*self.files, *files_with_faults]))

        def position(fault: str) -> tuple[int, int, int]:
            location = self._location_of_fault[fault]
            return files.index(location.file), location.line, location.column

        raise ScriptError(sorted(self._location_of_fault, key=position))


def join(path: str, name: str) -> str:
    """Append a key to a dotted path.

    Examples
    --------
    >>> join("aggregation.box", "size"), join("", "seed")
    ('aggregation.box.size', 'seed')
    """
    return f"{path}.{name}" if path else name


def item_paths(path: str, uses: Sequence[object]) -> list[str]:
    """Return a dotted path for each item of a list in a script, for error messages.

    The path of the item ``{use: box, size: 9}`` contains the name of its stage:
    ``aggregation.box``. Without a stage name, the path contains the index:
    ``scenes[1]``. If a stage occurs twice, the paths also contain the indices.

    Parameters
    ----------
    path : str
        Dotted path of the list.
    uses : sequence
        Value of the key ``use`` in each item, or None for an item without this key.

    Examples
    --------
    >>> item_paths("aggregation", ["box", "median", "median"])
    ['aggregation.box', 'aggregation[1]', 'aggregation[2]']
    """
    paths = []
    for i, use in enumerate(uses):
        is_name = isinstance(use, str) and use != ""
        if is_name and list(uses).count(use) == 1:
            paths.append(join(path, str(use)))
        else:
            paths.append(f"{path}[{i}]")
    return paths


def from_python(value: Any, faults: Faults, path: str = "") -> Node:
    """Convert a Python dict, list or scalar to a `Node`.

    NumPy scalars become Python numbers, and NumPy arrays become lists. A value of
    another type, such as a set, is a fault and becomes None.
    """
    location = Location(path=path)
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return Node(value, location)
    if isinstance(value, Path):
        return Node(str(value), location)
    if isinstance(value, Mapping):
        return _from_mapping(value, faults, location)
    if isinstance(value, Iterable) and not isinstance(value, bytes | set | frozenset):
        return _from_iterable(value, faults, location)
    shown_value = short(repr(value), _SHOWN_VALUE_LENGTH)
    message = (
        f"a script cannot contain {shown_value}; allowed: null, true, false, numbers, texts, "
        "lists, mappings"
    )
    faults.add(location, message)
    return Node(None, location)


def _from_mapping(mapping: Mapping[Any, Any], faults: Faults, location: Location) -> Node:
    """Convert a Python dict to a node. Each key that is not a str is a fault."""
    for name in mapping:
        if not isinstance(name, str):
            shown_name = short(repr(name), _SHOWN_VALUE_LENGTH)
            faults.add(location, f"the key {shown_name} is not a text")
    entries = {}
    for name, item in mapping.items():
        if isinstance(name, str):
            entries[name] = from_python(item, faults, join(location.path, name))
    return Node(entries, location, dict.fromkeys(entries, location))


def _from_iterable(values: Iterable[Any], faults: Faults, location: Location) -> Node:
    """Convert a Python list, tuple or other iterable to a node with a list."""
    items = list(values)
    uses = [item.get("use") if isinstance(item, Mapping) else None for item in items]
    paths = item_paths(location.path, uses)
    nodes = [
        from_python(item, faults, item_path) for item, item_path in zip(items, paths, strict=True)
    ]
    return Node(nodes, location)
