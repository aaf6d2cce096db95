"""Read the values of stored results under some names, without creating results.

The values are those that `Result.value` returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from stereo_framework.script.setting import NO_EFFECT
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.rows import (
    Texts,
    check_axis_value,
    checked_number,
    checked_text,
    numbers_in_text,
)

LIST_NUMBERS = "statistic_names, axis_names, parameter_names, stage_names"
"""Columns that refer to the lists of names of a row, by the numbers of texts."""

_LIST_COUNT = 4
"""Number of the columns in `LIST_NUMBERS`."""

_STATISTICS, _AXES, _PARAMETERS, _SECONDS = range(_LIST_COUNT)
"""Positions of the lists in `LIST_NUMBERS` and in `_LIST_COLUMNS`."""

_LIST_COLUMNS = ("statistics", "axes", "parameters", "seconds")
"""Columns with the values whose names are in the lists of `LIST_NUMBERS`."""

_FIELD_COLUMNS = {
    "scene": "scene",
    "method": "method",
    "protocol": "protocol",
    "protocol_text": "protocol_text",
    "energy": "energy",
    "seconds": "matching_seconds",
}
"""Columns that contain the values under some names."""

_ListNumbers = tuple[Any, ...]
"""Numbers of the four lists of names of a row."""


@dataclass(frozen=True)
class _ListSource:
    """A list of values in a row, and the names whose values it contains.

    Parameters
    ----------
    column : str
        Column with the list.
    parse : callable
        Function that converts the text in the column to a list of values.
    count : int
        Number of the values in the list.
    positions : list of (int, int)
        Pairs of the index of a name and the position of its value in the list.
    """

    column: str
    parse: Callable[[Any], Sequence[Any]]
    count: int
    positions: list[tuple[int, int]]


@dataclass(frozen=True)
class _Sources:
    """The columns of a row that contain the values under some names.

    Parameters
    ----------
    lists : list of _ListSource
        Lists of values.
    fields : list of (int, str)
        Index of a name, and the column with its value.
    missing : list of int
        Indices of the names without a value.
    """

    lists: list[_ListSource]
    fields: list[tuple[int, str]]
    missing: list[int]


class ValueReader:
    """Reads the values of rows under some names.

    Parameters
    ----------
    names : sequence of str
        Names that `Result.value` accepts, except the names of the provenance.
    distinct_lists : iterable of tuple
        The different combinations of the columns `LIST_NUMBERS` in the rows.
    texts : Texts
        Texts of the store, which contain the lists of names.
    """

    def __init__(
        self, names: Sequence[str], distinct_lists: Iterable[_ListNumbers], texts: Texts
    ) -> None:
        self._names = names
        self._texts = texts
        self._sources = {numbers: self._sources_of(numbers) for numbers in distinct_lists}
        columns: dict[str, None] = {}
        for sources in self._sources.values():
            columns |= dict.fromkeys(source.column for source in sources.lists)
            columns |= dict.fromkeys(column for _, column in sources.fields)
        self._columns = [*columns]

    @property
    def columns(self) -> str:
        """The columns of the table `results` that `values` needs."""
        return ", ".join([LIST_NUMBERS, *self._columns])

    def values(self, rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
        """Return the values of all rows under each name.

        Parameters
        ----------
        rows : iterable of sequence
            The rows, with the columns that the property `columns` names.

        Returns
        -------
        list of list
            One list for each name, with one value for each row.

        Raises
        ------
        ValueError, DataError
            The store is damaged.
        """
        index_of_column = {name: i for i, name in enumerate(self._columns, _LIST_COUNT)}
        values: list[list[Any]] = [[] for _ in self._names]
        for row in rows:
            sources = self._sources[row[:_LIST_COUNT]]  # type: ignore[index]
            for source in sources.lists:
                text = row[index_of_column[source.column]]
                items = source.parse(text)
                if len(items) != source.count:
                    raise ValueError(f"{text[:40]!r} does not have one value for each name")
                for name_index, position in source.positions:
                    values[name_index].append(items[position])
            for name_index, column in sources.fields:
                value = self._field_value(column, row[index_of_column[column]])
                values[name_index].append(value)
            for name_index in sources.missing:
                values[name_index].append(MISSING)
        return values

    def _sources_of(self, list_numbers: _ListNumbers) -> _Sources:
        """Return the sources of all values in rows with some lists of names.

        The order of the sources is that in which `Result.value` searches a value.
        """
        names_of_lists = [self._texts.names(number) for number in list_numbers]
        positions: dict[int, list[tuple[int, int]]] = {}
        sources = _Sources([], [], [])
        for name_index, name in enumerate(self._names):
            column = _FIELD_COLUMNS.get(name)
            candidates = [(_STATISTICS, name)]
            if column is None and name.startswith("seconds."):
                candidates.append((_SECONDS, name.removeprefix("seconds.")))
            elif column is None:
                candidates += [(_AXES, name), (_PARAMETERS, name), (_PARAMETERS, f"{name}.use")]
            for list_index, name_in_list in candidates:
                names = names_of_lists[list_index]
                if name_in_list in names:
                    position = names.index(name_in_list)
                    positions.setdefault(list_index, []).append((name_index, position))
                    break
            else:
                if column is None:
                    sources.missing.append(name_index)
                else:
                    sources.fields.append((name_index, column))
        for list_index, positions_in_list in positions.items():
            source = _ListSource(
                column=_LIST_COLUMNS[list_index],
                parse=_LIST_PARSERS[list_index],
                count=len(names_of_lists[list_index]),
                positions=positions_in_list,
            )
            sources.lists.append(source)
        return sources

    def _field_value(self, column: str, value: Any) -> Any:
        """Return the value of a column as `Result.value` returns it."""
        if column in ("scene", "method", "protocol"):
            return checked_text(value)
        if column == "protocol_text":
            return self._texts.text(value)
        return MISSING if value is None else checked_number(value)


def _numbers(text: Any) -> Sequence[Any]:
    """Return the numbers in a JSON list. The number null stands for NaN."""
    numbers = numbers_in_text(text)
    if None in numbers:
        return [math.nan if number is None else number for number in numbers]
    return numbers


def _axis_values(text: Any) -> Sequence[Any]:
    """Return the values of axes, with `MISSING` for an axis without effect."""
    values: list[Any] = from_json(text)
    for value in values:
        check_axis_value(value)
    if NO_EFFECT in values:
        return [MISSING if value == NO_EFFECT else value for value in values]
    return values


_LIST_PARSERS: tuple[Callable[[Any], Sequence[Any]], ...] = (
    _numbers,
    _axis_values,
    from_json,
    _numbers,
)
"""Functions that convert the columns of `_LIST_COLUMNS` to lists of values."""
