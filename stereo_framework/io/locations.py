"""Values of a script with the places where they were written, and the faults found in them."""

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


@dataclass(frozen=True)
class Place:
    """Where a key or a value of a script stands.

    Parameters
    ----------
    file : str
        As shown to the user; ``--set`` for an override, empty for a mapping from Python.
    line, column : int
        From 1; 0 where there are none.
    path : str
        Dotted keys, ``aggregation.box.size``.
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
        return f"{self.file}:{self.line}:{self.column}" + (f": {self.path}" if self.path else "")

    @property
    def folder(self) -> Path:
        """Folder that relative paths written there start from: the script's, else the working directory; absolute."""
        return Path(self.file).parent.absolute() if self.line else Path.cwd()

    def in_brackets(self) -> str:
        """The place inside another line, ``" (my.yaml:3:5)"``; nothing for a mapping from Python, which has no lines."""
        return f" ({replace(self, path='' if self.line else self.path)})" if self.file else ""


@dataclass(frozen=True, eq=False)
class Node:
    """A value and its place.

    Parameters
    ----------
    value : None, bool, int, float, str, list of Node or dict of str to Node
    place : Place
    keys : mapping of str to Place
        Where the keys of a dict stand; their `path` is that of the dict.
    raw : str, optional
        What a scalar without quotes reads: ``no`` may be meant as false, ``2002`` as a name.
    """

    value: Scalar | list[Node] | dict[str, Node]
    place: Place
    keys: Mapping[str, Place] = field(default_factory=dict)
    raw: str | None = None

    @property
    def entries(self) -> dict[str, Node]:
        """The entries of a dict; empty for anything else."""
        return self.value if isinstance(self.value, dict) else {}

    def at(self, *keys: str) -> Node:
        """What stands under a key, and a key there, and so on; null where there is nothing."""
        found = self
        for key in keys:
            found = found.entries.get(key, Node(None, self.place))
        return found

    def place_of(self, steps: Iterable[int | str]) -> Place:
        """Where pydantic found something wrong: a value or, after ``[key]``, its key; of a key that is missing, the mapping that lacks it."""
        node, key = self, self.place
        for step in steps:
            if step == "[key]":
                return key
            if isinstance(step, str) and step not in node.entries:
                return replace(node.place, path=join(node.place.path, step))
            key = node.keys.get(str(step), key)
            node = node.items[step] if isinstance(step, int) else node.entries[step]
        return node.place

    @property
    def items(self) -> list[Node]:
        """The items of a list; anything else is a list of one."""
        return self.value if isinstance(self.value, list) else [self]

    def key(self, name: str) -> Place:
        """Place of the key `name`, with the path of its value."""
        return replace(self.keys[name], path=join(self.place.path, name))

    def having(self, name: str, node: Node) -> Node:
        """The dict with another entry, or one more."""
        return replace(
            self, value={**self.entries, name: node}, keys={name: node.place, **self.keys}
        )

    def data(self) -> Any:
        """The value without places: scalars, lists and dicts."""
        if isinstance(self.value, dict):
            return {name: node.data() for name, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.data() for node in self.value]
        return self.value


class Faults:
    """Collects faults, one for each place; they are reported by file and in its order.

    Where there are very many the first of them are raised at once.

    Parameters
    ----------
    without_plugins : bool
        Plug-ins were named and not loaded: stages that nobody knows may be theirs.

    Attributes
    ----------
    unknown : list of str
        Such stages.
    files : list of str
        The order of the files.
    """

    def __init__(self, *, without_plugins: bool = False) -> None:
        self.without_plugins = without_plugins
        self.unknown: list[str] = []
        self.files = [""]
        self._values = 0.0
        self._found: dict[str, Place] = {}
        self._places: set[Place] = set()

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, place: Place, message: str) -> None:
        """Note that something is wrong at `place`. What is found there later follows from the first fault and is left out."""
        # Keys of a mapping from Python share the place of the mapping.
        if not place.file or place not in self._places:
            if len(self._found) == limits.FAULTS:
                self._found[f"{place.file or 'script'}: there are further faults"] = Place(
                    place.file, sys.maxsize
                )
                self.raise_if_any()
            self._found.setdefault(f"{place}: {message}", place)
            self._places.add(place)

    def count_values(self, place: Place, count: float) -> None:
        """Refuse more values of axes, of the whole script, than can be held, before they are made.

        Raises
        ------
        ScriptError
            With all faults so far.
        """
        self._values += count
        if self._values > limits.SETTINGS:
            self.add(
                place,
                f"the axes of the script have more than {limits.SETTINGS} values; at most so many are possible",
            )
            self.raise_if_any()

    def raise_if_any(self) -> None:
        """Raise all faults at once.

        Raises
        ------
        ScriptError
            Something was added.
        """
        if not self._found:
            return
        files = list(dict.fromkeys([*self.files, *(place.file for place in self._found.values())]))
        order = {
            fault: (files.index(at.file), at.line, at.column) for fault, at in self._found.items()
        }
        raise ScriptError(sorted(order, key=order.__getitem__))


def join(path: str, name: str) -> str:
    """A dotted path grown by one key."""
    return f"{path}.{name}" if path else name


def item_paths(path: str, uses: Sequence[object]) -> list[str]:
    """Paths of a list's items: by the stage they use, ``aggregation.box``, or by index, ``scenes[1]``.

    Parameters
    ----------
    path : str
        Path of the list.
    uses : sequence
        Per item the text under its key ``use``; anything else where there is none.
    """
    named = [
        use if isinstance(use, str) and use and list(uses).count(use) == 1 else None for use in uses
    ]
    return [join(path, name) if name else f"{path}[{i}]" for i, name in enumerate(named)]


def from_python(value: Any, faults: Faults, path: str = "") -> Node:
    """A mapping, list or scalar of Python as a node; NumPy's scalars and arrays count as theirs.

    What cannot stand in a script is reported and becomes null.
    """
    place = Place(path=path)
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return Node(value, place)
    if isinstance(value, Path):
        return Node(str(value), place)
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                faults.add(place, f"the key {short(repr(name), 80)} is not a text")
        named = {name: item for name, item in value.items() if isinstance(name, str)}
        entries = {
            name: from_python(item, faults, join(path, name)) for name, item in named.items()
        }
        return Node(entries, place, dict.fromkeys(entries, place))
    if isinstance(value, Iterable) and not isinstance(value, bytes | set | frozenset):
        items = list(value)
        uses = [item.get("use") if isinstance(item, Mapping) else None for item in items]
        return Node(
            [
                from_python(item, faults, at)
                for item, at in zip(items, item_paths(path, uses), strict=True)
            ],
            place,
        )
    allowed = "null, true, false, numbers, texts, lists, mappings"
    faults.add(place, f"{short(repr(value), 80)} cannot stand in a script; allowed: {allowed}")
    return Node(None, place)
