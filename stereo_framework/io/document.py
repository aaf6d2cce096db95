"""Plain data of a YAML file or a Python dict, with the locations of all values.

A `Document` consists of lists, dicts and scalars. The table `Document.locations` gives
the file, line and column of each value, for error messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stereo_framework.core.errors import short
from stereo_framework.io.locations import Faults, Location, item_paths, join

Scalar = None | bool | int | float | str

DataPath = tuple[str | int, ...]
"""Keys and list indices that lead to a value: ``("aggregation", 0, "size")``."""

_SHOWN_VALUE_LENGTH = 80
"""Maximum length of a wrong value in an error message."""


@dataclass(frozen=True, eq=False, slots=True)
class Document:
    """Data with the location of each value.

    Documents are immutable: each method returns a new document.

    Parameters
    ----------
    data : None, bool, int, float, str, list or dict
        Lists and dicts contain such data again. The keys of dicts are texts.
    locations : mapping of DataPath to Location
        Location of each value in `data`. The key ``()`` means the data as a whole.

    Examples
    --------
    >>> script = document_of({"search": {"step": 1}}, Faults())
    >>> script.locations["search", "step"].path
    'search.step'
    >>> script.with_value(("search", "step"), document_of(2, Faults())).data
    {'search': {'step': 2}}
    """

    data: Any
    locations: Mapping[DataPath, Location]

    @property
    def location(self) -> Location:
        """Location of the data as a whole."""
        return self.locations[()]

    @property
    def mapping(self) -> dict[str, Any]:
        """The data if they are a dict, else an empty dict."""
        return self.data if isinstance(self.data, dict) else {}

    def part(self, *path: str | int) -> Document:
        """Return the document of a value inside this document.

        If there is no such value, the data of the result are None. The location is then
        the location of the innermost value around it.
        """
        data = self.data
        for depth, key in enumerate(path):
            if not _has(data, key):
                return Document(None, {(): replace(self.locations[path[:depth]], key=None)})
            data = data[key]
        locations = {inner: self.locations[path + inner] for inner in _paths(data)}
        return Document(data, locations)

    def entries(self) -> dict[str, Document]:
        """Return the documents of a dict's values, by key. A list has no entries."""
        return {name: self.part(name) for name in self.mapping}

    def items(self) -> list[Document]:
        """Return the documents of the items of a list, or a list with this document.

        In a script, ``aggregation: box`` is equivalent to ``aggregation: [box]``.

        Examples
        --------
        >>> [item.data for item in document_of("box", Faults()).items()]
        ['box']
        """
        if not isinstance(self.data, list):
            return [self]
        return [self.part(index) for index in range(len(self.data))]

    def key(self, *path: str | int) -> Location:
        """Return the location of a value's key, with the dotted path of the value."""
        value_location = self.locations[path]
        if value_location.key is None:
            return value_location
        return replace(value_location.key, path=value_location.path)

    def with_value(self, path: DataPath, value: Document) -> Document:
        """Return a copy with another value at a path.

        The value may be new. A dict around it must exist.
        """
        if not path:
            return value
        locations = {
            other: location
            for other, location in self.locations.items()
            if other[: len(path)] != path
        }
        old_location = self.locations.get(path)
        for inner, location in value.locations.items():
            locations[path + inner] = location
        if old_location is not None:
            locations[path] = replace(value.location, key=old_location.key)
        return Document(_replaced(self.data, path, value.data), locations)

    def without_keys(self, *keys: str) -> Document:
        """Return a copy of a dict without some of its keys."""
        if not any(key in self.mapping for key in keys):
            return self
        data = {name: value for name, value in self.mapping.items() if name not in keys}
        locations = {
            path: location
            for path, location in self.locations.items()
            if not path or path[0] not in keys
        }
        return Document(data, locations)

    def at_location(self, location: Location) -> Document:
        """Return the same data at another location."""
        return Document(self.data, {**self.locations, (): location})

    def location_of(self, loc: Iterable[int | str]) -> Location:
        """Return the location of an error that pydantic reports.

        Parameters
        ----------
        loc : iterable of int or str
            The ``loc`` of pydantic's error, such as ``("search", "step")``. A final
            ``"[key]"`` means that the key before it is wrong.

        Returns
        -------
        Location
            Location of the wrong value or key. For a missing key, the line and column
            are those of the dict.
        """
        path: DataPath = ()
        for step in loc:
            location = self.locations[path]
            if step == "[key]":
                return location.key or location
            if (*path, step) not in self.locations:
                # A single value may stand for a list with this value.
                if isinstance(step, int):
                    continue
                return replace(location, path=join(location.path, str(step)))
            path = (*path, step)
        return self.locations[path]


def dict_of(entries: Mapping[str, Document], location: Location) -> Document:
    """Return the document of a dict with the given values."""
    locations: dict[DataPath, Location] = {(): location}
    for name, entry in entries.items():
        for path, inner_location in entry.locations.items():
            locations[(name, *path)] = inner_location
    return Document({name: entry.data for name, entry in entries.items()}, locations)


def list_of(items: Iterable[Document], location: Location) -> Document:
    """Return the document of a list with the given items."""
    locations: dict[DataPath, Location] = {(): location}
    data = []
    for index, item in enumerate(items):
        data.append(item.data)
        for path, inner_location in item.locations.items():
            locations[(index, *path)] = inner_location
    return Document(data, locations)


def same_location(data: Any, location: Location) -> Document:
    """Return the document of plain data that the program wrote, not the user."""
    return Document(data, dict.fromkeys(_paths(data), location))


def document_of(value: Any, faults: Faults, path: str = "") -> Document:
    """Convert a Python dict, list or scalar to a document.

    NumPy scalars become Python numbers, and NumPy arrays become lists. A value of
    another type, such as a set, is a fault and becomes None.

    Parameters
    ----------
    value : object
    faults : Faults
    path : str
        Dotted path of the value in the script.
    """
    location = Location(path=path)
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Path):
        value = str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return Document(value, {(): location})
    if isinstance(value, Mapping):
        return _document_of_mapping(value, faults, location)
    if isinstance(value, Iterable) and not isinstance(value, bytes | set | frozenset):
        return _document_of_list(list(value), faults, location)
    shown_value = short(repr(value), _SHOWN_VALUE_LENGTH)
    message = (
        f"a script cannot contain {shown_value}; allowed: null, true, false, numbers, texts, "
        "lists, mappings"
    )
    faults.add(location, message)
    return Document(None, {(): location})


def _document_of_list(items: list[Any], faults: Faults, location: Location) -> Document:
    """Convert a Python list to a document."""
    uses = [item.get("use") if isinstance(item, Mapping) else None for item in items]
    paths = item_paths(location.path, uses)
    documents = [document_of(item, faults, path) for item, path in zip(items, paths, strict=True)]
    return list_of(documents, location)


def _document_of_mapping(
    mapping: Mapping[Any, Any], faults: Faults, location: Location
) -> Document:
    """Convert a Python dict to a document. Each key that is not a text is a fault."""
    for name in mapping:
        if not isinstance(name, str):
            shown_name = short(repr(name), _SHOWN_VALUE_LENGTH)
            faults.add(location, f"the key {shown_name} is not a text")
    entries = {}
    for name, item in mapping.items():
        if isinstance(name, str):
            entry = document_of(item, faults, join(location.path, name))
            # A dict has no line numbers, so that the key has the location of the dict.
            entries[name] = entry.at_location(replace(entry.location, key=location))
    return dict_of(entries, location)


def _has(data: Any, key: str | int) -> bool:
    """Return whether data contain a key or an index."""
    if isinstance(data, dict):
        return key in data
    return isinstance(data, list) and isinstance(key, int) and 0 <= key < len(data)


def _paths(data: Any, path: DataPath = ()) -> Iterator[DataPath]:
    """Yield the path of each value in data, beginning with the data as a whole."""
    yield path
    if isinstance(data, dict):
        for name, value in data.items():
            yield from _paths(value, (*path, name))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _paths(value, (*path, index))


def _replaced(data: Any, path: DataPath, value: Any) -> Any:
    """Return a copy of data with another value at a path."""
    if not path:
        return value
    key, *rest = path
    if isinstance(data, list):
        items = list(data)
        items[int(key)] = _replaced(items[int(key)], tuple(rest), value)
        return items
    return {**data, key: _replaced(data.get(key), tuple(rest), value)}
