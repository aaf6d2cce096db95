"""Results in an open store, which are read when they are used."""

from __future__ import annotations

import array
import contextlib
import functools
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from pydantic_core import from_json

from stereo_framework.sweep.conditions import AnyCondition, Condition, NumberCondition
from stereo_framework.sweep.database import Database
from stereo_framework.sweep.result import Result, provenance_of_environment
from stereo_framework.sweep.result_set import ResultSet, single_protocol
from stereo_framework.sweep.rows import RowConverter, StoredRow, Texts, damaged_file_errors
from stereo_framework.sweep.value_columns import NAME_LIST_COLUMNS, ValueReader
from stereo_framework.sweep.value_sources import ValueSources, axis_sources, value_sources
from stereo_framework.sweep.value_sql import ValueSql, decode_value, python_text, value_sql
from stereo_framework.sweep.value_text import method_text

_MAX_CACHED_VALUES = 10_000
"""Maximum number of values for which the result of a condition is cached."""

_ROWS_AT_A_TIME = 100
"""Number of rows that are read by their numbers in one statement."""

COLUMNS = ", ".join(StoredRow._fields)
"""Columns of the table `results` from which a result is made."""


@dataclass(frozen=True)
class Query:
    """The choice and the order of the results that a query returns.

    Parameters
    ----------
    condition : str
        SQL condition that the results meet.
    values : tuple
        Values of the question marks in the condition.
    order : str
        Terms of ``ORDER BY``.
    """

    condition: str
    values: tuple[Any, ...] = ()
    order: str = "rowid"

    def sql(self, columns: str) -> str:
        """Return the statement that reads columns of the chosen results in order."""
        return f"{self.unordered_sql(columns)} ORDER BY {self.order}"

    def unordered_sql(self, columns: str) -> str:
        """Return a statement that reads columns of the chosen results in any order."""
        return f"SELECT {columns} FROM results WHERE {self.condition}"


class ResultTable:
    """The table of results in an open store.

    Parameters
    ----------
    database : Database
        Open results store.
    texts : Texts
        Texts of the store.
    converter : RowConverter
        Object that converts rows to results.
    name : str
        Name of the SQLite file in messages.
    """

    def __init__(self, database: Database, texts: Texts, converter: RowConverter, name: str):
        self.texts = texts
        self.converter = converter
        self._database = database
        self._name = name
        self._function_count = 0
        database.define_function("python_text", python_text, 1)
        database.define_function("provenance", self._provenance, 2)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of an SQL statement.

        Raises
        ------
        DataError
            The store is damaged or cannot be read.
        """
        with self.damage_errors():
            yield from self._database.rows(sql, values)

    def damage_errors(self) -> contextlib.AbstractContextManager[None]:
        """Return a context that converts errors to errors that name the store."""
        return damaged_file_errors(self._name)

    def results(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Result]:
        """Yield the results of a statement that reads the columns `COLUMNS`."""
        for row in self.rows(sql, values):
            yield self.converter.to_result(StoredRow(*row))

    def results_of_rows(self, row_numbers: Iterable[int]) -> Iterator[Result]:
        """Yield the results in the rows with the given numbers, in the given order."""
        for row in self.rows_with_numbers(COLUMNS, row_numbers):
            yield self.converter.to_result(StoredRow(*row))

    def rows_with_numbers(self, columns: str, numbers: Iterable[int]) -> Iterator[tuple[Any, ...]]:
        """Yield columns of the rows with the given numbers, in the given order."""
        iterator = iter(numbers)
        while chunk := list(itertools.islice(iterator, _ROWS_AT_A_TIME)):
            marks = ", ".join("?" * len(chunk))
            sql = f"SELECT rowid, {columns} FROM results WHERE rowid IN ({marks})"
            row_of_number = {number: row for number, *row in self.rows(sql, chunk)}
            for number in chunk:
                yield tuple(row_of_number[number])

    def _provenance(self, environment_number: int, name: str) -> Any:
        """Return a value of the provenance that follows from the environment."""
        environment = self.texts.environment(environment_number)
        return provenance_of_environment(environment)[name]

    def define_condition(self, condition: Condition) -> str:
        """Define an SQL function that tests a condition, and return its name.

        The function takes the type and the value of `ValueSql.columns`.
        """
        self._function_count += 1
        name = f"condition_{self._function_count}"

        @functools.lru_cache(_MAX_CACHED_VALUES)
        def has_value_of_condition(kind: Any, value: Any) -> bool:
            """Return whether a value, given by two columns, is one of the condition."""
            return condition.includes(decode_value(kind, value))

        self._database.define_function(name, has_value_of_condition, 2)
        return name


class StoredResults(ResultSet):
    """Results in an open store, as a result set.

    SQLite selects, sorts and counts the results, and reads single columns. A `Result`
    is created only if it is used. The store must be open while the result set is used.

    Parameters
    ----------
    table : ResultTable
        Table of the store.
    query : Query
        Choice and order of the results.
    """

    __slots__ = (
        "_cached_settings",
        "_columns",
        "_is_in_row_order",
        "_loaded",
        "_query",
        "_row_numbers",
        "_table",
        "_varying",
    )

    def __init__(self, table: ResultTable, query: Query) -> None:
        self._table = table
        self._query = query
        self._row_numbers: array.array[int] | None = None
        self._is_in_row_order: bool | None = None
        self._varying: list[str] | None = None
        self._loaded: tuple[Result, ...] | None = None
        self._columns: dict[str, list[Any]] = {}
        self._cached_settings: _Settings | None = None

    # --- results ----------------------------------------------------------------------

    @property
    def _results(self) -> tuple[Result, ...]:  # type: ignore[override]
        """All results. They are read from the store at the first call, and kept."""
        if self._loaded is None:
            self._loaded = tuple(self._read_results())
        return self._loaded

    def _read_results(self) -> Iterator[Result]:
        """Yield all results."""
        if self._has_row_order():
            return self._table.results(self._ordered_query.sql(COLUMNS), self._query.values)
        # SQLite sorts short row numbers faster than whole rows.
        return self._table.results_of_rows(self._ordered_row_numbers())

    def _ordered_row_numbers(self) -> array.array[int]:
        """Return the row numbers of all results in order."""
        if self._row_numbers is None:
            rows = self._table.rows(self._query.sql("rowid"), self._query.values)
            self._row_numbers = array.array("q", (number for [number] in rows))
        return self._row_numbers

    def _has_row_order(self) -> bool:
        """Return whether the results have the order of their rows in the table.

        SQLite reads the rows in this order without sorting them.
        """
        if self._query.order == "rowid":
            return True
        if self._is_in_row_order is None:
            numbers = self._ordered_row_numbers()
            self._is_in_row_order = all(map(operator.lt, numbers, numbers[1:]))
        return self._is_in_row_order

    @property
    def _ordered_query(self) -> Query:
        """The query, which sorts nothing if the results have the order of the rows."""
        return replace(self._query, order="rowid") if self._has_row_order() else self._query

    def _ordered_rows(self, columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield columns of all results in order."""
        return self._table.rows(self._ordered_query.sql(columns), self._query.values)

    def _unordered_rows(self, columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield columns of all results in any order, which is faster."""
        return self._table.rows(self._query.unordered_sql(columns), self._query.values)

    def __len__(self) -> int:
        return len(self._ordered_row_numbers())

    def __iter__(self) -> Iterator[Result]:
        """Yield all results. They are not kept, so that a loop needs little memory."""
        return self._read_results() if self._loaded is None else iter(self._loaded)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> ResultSet: ...
    def __getitem__(self, index: int | slice) -> Result | ResultSet:
        """Return the result at an index, or the result set of a slice."""
        if self._loaded is not None:
            return super().__getitem__(index)
        if isinstance(index, slice):
            return ResultSet(self._table.results_of_rows(self._row_numbers_of_slice(index)))
        [result] = self._table.results_of_rows([self._ordered_row_numbers()[index]])
        return result

    def _row_numbers_of_slice(self, part: slice) -> Sequence[int]:
        """Return the row numbers of the results in a slice."""
        is_beginning = not part.start and part.step is None
        if self._row_numbers is None and is_beginning and part.stop is not None and part.stop > 0:
            # SQLite finds the first results without sorting all of them.
            statement = f"{self._query.sql('rowid')} LIMIT {part.stop}"
            return [number for [number] in self._table.rows(statement, self._query.values)]
        return self._ordered_row_numbers()[part]

    # --- values -----------------------------------------------------------------------

    def column(self, name: str) -> list[Any]:
        """Return the values of all results under a name, as `ResultSet.column` does."""
        self.read_columns([name])
        return list(self._columns[name])

    def read_columns(self, names: Iterable[str]) -> None:
        """Read the values of several columns in one pass, and keep them."""
        new_names = [name for name in dict.fromkeys(names) if name not in self._columns]
        if new_names:
            values = self._read_values([value_sources(name) for name in new_names])
            self._columns |= zip(new_names, values, strict=True)

    def axis_column(self, name: str) -> list[Any]:
        """Return the values of all results on an axis, as in `ResultSet`."""
        [values] = self._read_values([axis_sources(name)])
        return values

    def _read_values(self, sources: Sequence[ValueSources]) -> list[list[Any]]:
        """Return a list of values for each of several names."""
        distinct_lists = self._unordered_rows(f"DISTINCT {NAME_LIST_COLUMNS}")
        reader = ValueReader(sources, distinct_lists, self._table.texts)
        with self._table.damage_errors():
            return reader.values(self._ordered_rows(reader.columns))

    def _value_sql(self, name: str) -> ValueSql:
        """Return the SQL expressions for the values under a name."""
        return value_sql(value_sources(name), self._table.texts)

    def axis_names(self) -> list[str]:
        """Return the names of all axes, in the order of the first occurrence."""
        return self._names("axis_names")

    def statistic_names(self) -> list[str]:
        """Return the names of all statistics, in the order of the first occurrence."""
        return self._names("statistic_names")

    def parameter_names(self) -> list[str]:
        """Return the addresses of all parameters, in the order of first occurrence."""
        return self._names("parameter_names")

    def stage_names(self) -> list[str]:
        """Return the names of all stages that have a run time."""
        return self._names("stage_names")

    def _names(self, column: str) -> list[str]:
        """Return the names in the lists of names to which a column refers."""
        lists = map(self._table.texts.names, self._distinct_numbers(column))
        return list(dict.fromkeys(itertools.chain.from_iterable(lists)))

    def _distinct_numbers(self, column: str) -> list[int]:
        """Return the different numbers in a column, in order of first occurrence."""
        numbers = [number for [number] in self._unordered_rows(f"DISTINCT {column}")]
        if len(numbers) < 2:
            return numbers
        # The rows are read in order only if the column has several numbers.
        return list(dict.fromkeys(number for [number] in self._ordered_rows(column)))

    def has_value(self, name: str) -> bool:
        """Return whether a result has a value under a name."""
        sql = self._value_sql(name)
        return self._exists(f"{sql.kind} IS NOT NULL")

    def _exists(self, condition: str = "TRUE") -> bool:
        """Return whether a result meets an SQL condition."""
        query = self._with_condition(condition)._query
        rows = self._table.rows(f"{query.unordered_sql('1')} LIMIT 1", query.values)
        return next(rows, None) is not None

    # --- selection and order ----------------------------------------------------------

    def meeting(self, conditions: Iterable[AnyCondition]) -> ResultSet:
        """Select the results that meet all conditions, as `ResultSet.meeting` does."""
        selected = self
        for condition in conditions:
            self.check_name(condition.name)
            sql = self._value_sql(condition.name)
            if isinstance(condition, NumberCondition):
                sql_condition = f"({sql.is_number} AND {sql.value} {condition.sign} ?)"
                selected = selected._with_condition(sql_condition, (condition.limit,))
                continue
            includes_value = f"{self._table.define_condition(condition)}({sql.columns})"
            if self._exists() and not self._exists(includes_value):
                condition.refuse_unused(self.column(condition.name))
            sql_condition = f"NOT {includes_value}" if condition.is_negated else includes_value
            selected = selected._with_condition(sql_condition)
        return selected

    def _with_condition(self, condition: str, values: tuple[Any, ...] = ()) -> StoredResults:
        """Return the results that also meet an SQL condition."""
        new_query = replace(
            self._query,
            condition=f"{self._query.condition} AND {condition}",
            values=(*self._query.values, *values),
        )
        return StoredResults(self._table, new_query)

    def with_settings_of(self, results: Iterable[Result]) -> ResultSet:
        """Select the results whose settings some results have, as in `ResultSet`."""
        settings = {result.setting_name for result in results}

        @functools.cache
        def is_chosen(method: str, names_number: int, axes: str) -> bool:
            """Return whether a setting is one of the settings of the results."""
            names = self._table.texts.names(names_number)
            values = dict(zip(names, from_json(axes), strict=True))
            return method_text(method, values) in settings

        row_numbers: list[int] = []
        with self._table.damage_errors():
            for row_number, *columns in self._ordered_rows("rowid, method, axis_names, axes"):
                if is_chosen(*columns):
                    row_numbers.append(row_number)
        return ResultSet(self._table.results_of_rows(row_numbers))

    def sorted_by(self, keys: Sequence[str]) -> ResultSet:
        """Sort the results in SQLite, as `ResultSet.sorted_by` does."""
        terms: list[str] = []
        for key in keys:
            sql = self._value_sql(key.removeprefix("-"))
            terms.append(sql.order(descending=key.startswith("-")))
        order = ", ".join([*terms, self._query.order])
        return StoredResults(self._table, replace(self._query, order=order))

    def by(self, *names: str) -> dict[tuple[Any, ...], ResultSet]:
        """Group the results by their values under some names, as in `ResultSet`."""
        # Tables show each protocol separately. The groups of all other names are small,
        # so that their results may be read at once.
        if names != ("protocol_text",):
            return super().by(*names)
        numbers = self._distinct_numbers("protocol_text")
        if len(numbers) == 1:
            # This result set already has the columns that were read.
            return {(self._table.texts.text(numbers[0]),): self}
        groups: dict[tuple[Any, ...], ResultSet] = {}
        for number in numbers:
            text = self._table.texts.text(number)
            groups[text,] = self._with_condition("protocol_text = ?", (number,))
        return groups

    # --- properties of all results ----------------------------------------------------

    @property
    def protocol(self) -> str:
        """Text of the protocol of all results, as in `ResultSet`."""
        rows = list(self._unordered_rows("DISTINCT protocol_text, protocol"))
        return single_protocol((self._table.texts.text(number), name) for number, name in rows)

    def failed_indices(self) -> list[int]:
        """Return the indices of the results with an error, as in `ResultSet`."""
        return [i for i, [error] in enumerate(self._ordered_rows("error")) if error]

    def varying(self) -> list[str]:
        """Return the names that distinguish results, as in `ResultSet`."""
        if self._varying is None:
            self._varying = super().varying()
        return list(self._varying)

    def repeated_setting(self) -> tuple[str, str] | None:
        """Return scene and method of a setting that occurs twice, as in `ResultSet`."""
        return self._settings.repeated

    def _parameters_of_methods(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the method and the parameters of each setting once."""
        columns = "method, parameter_names, parameters"
        rows = self._table.rows_with_numbers(columns, self._settings.row_numbers)
        for method, names_number, text in rows:
            yield method, self._table.converter.parameters(names_number, text)

    @property
    def _settings(self) -> _Settings:
        """The settings of all results, which are read at the first call."""
        if self._cached_settings is None:
            repeated = None
            scenes_and_settings: set[tuple[Any, Any]] = set()
            row_number_of_setting: dict[Any, int] = {}
            for row_number, scene, method, setting in self._ordered_rows(
                "rowid, scene, method, setting"
            ):
                if repeated is None and (scene, setting) in scenes_and_settings:
                    repeated = scene, method
                scenes_and_settings.add((scene, setting))
                row_number_of_setting.setdefault(setting, row_number)
            self._cached_settings = _Settings([*row_number_of_setting.values()], repeated)
        return self._cached_settings


@dataclass(frozen=True)
class _Settings:
    """The settings of some results.

    Parameters
    ----------
    row_numbers : list of int
        Number of the first row of each setting.
    repeated : (str, str) or None
        Scene and method of a setting that occurs twice on the scene.
    """

    row_numbers: list[int]
    repeated: tuple[str, str] | None
