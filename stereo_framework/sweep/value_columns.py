"""Reader of single values of stored results, which creates no results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.rows import Texts, checked_number, checked_text
from stereo_framework.sweep.value_sources import ValueColumn, ValueList, ValueSources

_LISTS = tuple(ValueList)

NAME_LIST_COLUMNS = ", ".join(value_list.names_column for value_list in _LISTS)
"""Columns with the numbers of the lists of names of a row."""

_ListNumbers = tuple[Any, ...]
"""The columns `NAME_LIST_COLUMNS` of a row."""


@dataclass(frozen=True)
class _ListSource:
    """A list of values in a row, and the names whose values it contains.

    Parameters
    ----------
    value_list : ValueList
        The list.
    count : int
        Number of the values in the list.
    positions : list of (int, int)
        Pairs of the index of a name and the position of its value in the list.
    """

    value_list: ValueList
    count: int
    positions: list[tuple[int, int]]


@dataclass(frozen=True)
class _RowSources:
    """The parts of a row that contain the values under some names.

    Parameters
    ----------
    lists : list of _ListSource
        Lists of values.
    columns : list of (int, ValueColumn)
        Index of a name, and the expression for its value.
    missing : list of int
        Indices of the names without a value.
    """

    lists: list[_ListSource]
    columns: list[tuple[int, ValueColumn]]
    missing: list[int]


class ValueReader:
    """Reads the values of rows under some names.

    Parameters
    ----------
    sources_of_names : sequence of ValueSources
        Places where the value of each name may be stored.
    distinct_lists : iterable of tuple
        The different combinations of the columns `NAME_LIST_COLUMNS` in the rows.
    texts : Texts
        Texts of the store, which contain the lists of names.
    """

    def __init__(
        self,
        sources_of_names: Sequence[ValueSources],
        distinct_lists: Iterable[_ListNumbers],
        texts: Texts,
    ) -> None:
        self._sources_of_names = sources_of_names
        self._texts = texts
        self._sources = {numbers: self._sources_of(numbers) for numbers in distinct_lists}
        expressions: dict[str, None] = {}
        for sources in self._sources.values():
            expressions |= dict.fromkeys(source.value_list.column for source in sources.lists)
            expressions |= dict.fromkeys(column.sql for _, column in sources.columns)
        self._expressions = [*expressions]

    @property
    def columns(self) -> str:
        """The columns and expressions of the table `results` that `values` needs."""
        return ", ".join([NAME_LIST_COLUMNS, *self._expressions])

    def values(self, rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
        """Return the values of all rows under each name.

        Parameters
        ----------
        rows : iterable of tuple
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
        list_count = len(_LISTS)
        index_of = {sql: i for i, sql in enumerate(self._expressions, list_count)}
        values: list[list[Any]] = [[] for _ in self._sources_of_names]
        for row in rows:
            # Rows with equal numbers of lists have equal names of values.
            sources = self._sources[row[:list_count]]
            for source in sources.lists:
                text = row[index_of[source.value_list.column]]
                items = source.value_list.parse(text)
                if len(items) != source.count:
                    raise ValueError(f"{text[:40]!r} does not have one value for each name")
                for name_index, position in source.positions:
                    values[name_index].append(items[position])
            for name_index, column in sources.columns:
                value = row[index_of[column.sql]]
                values[name_index].append(_checked_value(column, value))
            for name_index in sources.missing:
                values[name_index].append(MISSING)
        return values

    def _sources_of(self, list_numbers: _ListNumbers) -> _RowSources:
        """Return the sources of all values in rows with some lists of names."""
        names_of_list = dict(zip(_LISTS, map(self._texts.names, list_numbers), strict=True))
        positions: dict[ValueList, list[tuple[int, int]]] = {}
        columns: list[tuple[int, ValueColumn]] = []
        missing: list[int] = []
        for name_index, sources in enumerate(self._sources_of_names):
            list_and_position = _first_position(sources, names_of_list)
            if list_and_position is not None:
                value_list, position = list_and_position
                positions.setdefault(value_list, []).append((name_index, position))
            elif sources.column is not None:
                columns.append((name_index, sources.column))
            else:
                missing.append(name_index)
        list_sources = [
            _ListSource(value_list, len(names_of_list[value_list]), positions_in_list)
            for value_list, positions_in_list in positions.items()
        ]
        return _RowSources(list_sources, columns, missing)


def _first_position(
    sources: ValueSources, names_of_list: Mapping[ValueList, Sequence[str]]
) -> tuple[ValueList, int] | None:
    """Return the first list that contains a value, and the position of the value."""
    for value_list, name in sources.lists:
        names = names_of_list[value_list]
        if name in names:
            return value_list, names.index(name)
    return None


def _checked_value(column: ValueColumn, value: Any) -> Any:
    """Return the value of an expression, or raise a ValueError for a wrong type.

    If the result has no value, the expression is NULL, and the value is `MISSING`.
    """
    if value is None and not column.is_required:
        return MISSING
    return checked_text(value) if column.kind == "text" else checked_number(value)
