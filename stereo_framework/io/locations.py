"""Values of a script with their locations, and the faults that are found in them."""

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
"""Largest number of characters of a refused value that a message shows."""


@dataclass(frozen=True)
class Location:
    """The location of a key or a value of a script.

    Parameters
    ----------
    file : str
        Name of the file as the user sees it. It is ``--set`` for an override on the
        command line, and empty for a mapping from Python.
    line, column : int
        Position in the file, from 1; 0 if the value has no position in a file.
    path : str
        Dotted keys that lead to the value, such as ``aggregation.box.size``.
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
        """Absolute folder at which relative paths in the value begin.

        It is the folder of the script, or the working directory if the value is not
        from a file.
        """
        return Path(self.file).parent.absolute() if self.line else Path.cwd()

    def in_brackets(self) -> str:
        """Return the location in brackets, such as ``" (my.yaml:3:5)"``.

        The text is empty for a mapping from Python, which has no lines.
        """
        if not self.file:
            return ""
        # A position in a file is sufficient without the path of keys.
        shown_location = replace(self, path="") if self.line else self
        return f" ({shown_location})"


@dataclass(frozen=True, eq=False)
class Node:
    """A value of a script and its location.

    Parameters
    ----------
    value : None, bool, int, float, str, list of Node or dict of str to Node
        A scalar, or the nodes of a list or a mapping.
    location : Location
        Location of the value.
    keys : mapping of str to Location
        Locations of the keys of a mapping. The `path` in each of them is that of the
        mapping.
    raw : str, optional
        Text of a scalar without quotes, as the file has it. A reader that expects a
        name can use it where YAML reads a number, as in ``2002``.
    """

    value: Scalar | list[Node] | dict[str, Node]
    location: Location
    keys: Mapping[str, Location] = field(default_factory=dict)
    raw: str | None = None

    @property
    def entries(self) -> dict[str, Node]:
        """The entries of a mapping; empty for a list or a scalar."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Node]:
        """The items of a list. A mapping or a scalar is the only item of its list."""
        return self.value if isinstance(self.value, list) else [self]

    def at(self, *keys: str) -> Node:
        """Return the node that a sequence of keys leads to.

        The result is null, at the location of this node, if one of the keys is missing.
        """
        node = self
        for key in keys:
            node = node.entries.get(key, Node(None, self.location))
        return node

    def location_of(self, steps: Iterable[int | str]) -> Location:
        """Return the location at which pydantic found a fault.

        Parameters
        ----------
        steps : iterable of int or str
            Keys and indices that lead from this node to the fault. The step ``[key]``
            means that the key before it is wrong, and not the value.

        Returns
        -------
        Location
            Location of the value, or of its key. For a missing key it is the location
            of the mapping, with the path that the key would have.
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
        """Return the mapping with an entry added or replaced."""
        entries = {**self.entries, name: node}
        keys = {name: node.location, **self.keys}
        return replace(self, value=entries, keys=keys)

    def data(self) -> Any:
        """Return the value without locations, as scalars, lists and dicts."""
        if isinstance(self.value, dict):
            return {name: node.data() for name, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.data() for node in self.value]
        return self.value


class Faults:
    """Collects the faults of a script, at most one for each location.

    The faults are reported in the order of the files, and by line and column in a file.
    If a script has more than ``limits.FAULTS`` faults, the first of them are raised at
    once.

    Parameters
    ----------
    without_plugins : bool
        Whether the script names plug-ins that are not loaded. An unknown stage is then
        not a fault, because a plug-in may define it.

    Attributes
    ----------
    unknown : list of str
        Unknown stages that plug-ins may define.
    files : list of str
        Names of the files, in the order in which they were read.
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
        """Add a fault at a location.

        Later faults at the same location follow from the first one and are left out.

        Raises
        ------
        ScriptError
            There are too many faults.
        """
        # Keys of a mapping from Python share the location of the mapping, so that
        # several faults at such a location may be independent.
        if location.file and location in self._locations:
            return
        if len(self._location_of_fault) == limits.FAULTS:
            last_line = f"{location.file or 'script'}: there are further faults"
            self._location_of_fault[last_line] = Location(location.file, sys.maxsize)
            self.raise_if_any()
        self._location_of_fault.setdefault(f"{location}: {message}", location)
        self._locations.add(location)

    def count_values(self, location: Location, count: float) -> None:
        """Count the values of an axis, before they are created.

        Raises
        ------
        ScriptError
            The axes of the whole script have more values than are possible. The error
            contains all faults so far.
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
        """Raise all faults at once, if there are any.

        Raises
        ------
        ScriptError
            At least one fault was added.
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
    """Append a key to a dotted path."""
    return f"{path}.{name}" if path else name


def item_paths(path: str, uses: Sequence[object]) -> list[str]:
    """Return the paths of the items of a list.

    An item has the name of its stage in its path, as in ``aggregation.box``. If the
    item has no stage, or if the list has the stage twice, the path has the index of the
    item, as in ``scenes[1]``.

    Parameters
    ----------
    path : str
        Path of the list.
    uses : sequence
        For each item the text under its key ``use``. Any other object means that the
        item has no such key.
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
    """Return a mapping, list or scalar of Python as a node.

    Scalars and arrays of NumPy are converted to numbers and lists. A value that a
    script cannot contain is added to the faults and becomes null.
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
    """Return a mapping of Python as a node. Keys that are not texts are faults."""
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
    """Return a list or another iterable of Python as a node."""
    items = list(values)
    uses = [item.get("use") if isinstance(item, Mapping) else None for item in items]
    paths = item_paths(location.path, uses)
    nodes = [
        from_python(item, faults, item_path) for item, item_path in zip(items, paths, strict=True)
    ]
    return Node(nodes, location)
