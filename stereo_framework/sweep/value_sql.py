"""SQL expressions for the values of stored results under a name.

The expressions give the values that `Result.value` returns. SQLite evaluates them
without creating a `Result`, so that large stores are filtered and sorted in a second.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.rows import Texts

_COLUMNS = {
    "scene": ("scene", "text"),
    "method": ("method", "text"),
    "protocol": ("protocol", "text"),
    "protocol_text": ("(SELECT text FROM texts WHERE id = protocol_text)", "text"),
    "energy": ("energy", "real"),
    "seconds": ("matching_seconds", "real"),
    "processor_seconds": ("processor_seconds", "real"),
    "threads": ("threads", "integer"),
    "time": ("nullif(time, '')", "text"),
    "host": ("provenance(environment, 'host')", "text"),
    "processor": ("provenance(environment, 'processor')", "text"),
    "cores": ("provenance(environment, 'cores')", "integer"),
    "versions": ("provenance(environment, 'versions')", "text"),
}
"""SQL expression and JSON type of the value, for each name with its own expression.

A missing value is null.

The function `provenance` is defined by `stored_results.ResultTable`.
"""

NOT_A_NUMBER = "nan"
"""Type of the statistic NaN in addition to the types of SQLite's `json_type`."""


@dataclass(frozen=True)
class ValueSql:
    """SQL expressions for the value of a result under a name.

    Parameters
    ----------
    kind : str
        Expression for the type of the value, as SQLite's function `json_type` returns
        it. The type is NULL if the result has no value, and the text 'null' if the
        value is null.
    value : str
        Expression for the value. Lists and mappings are JSON texts.
    """

    kind: str
    value: str

    @property
    def is_number(self) -> str:
        """Condition that the value is a number, but neither a truth value nor NaN."""
        return f"{self.kind} IN ('integer', 'real')"

    @property
    def columns(self) -> str:
        """The two columns from which `decode_value` restores the value."""
        return f"{self.kind}, {self.value}"

    def order(self, *, descending: bool = False) -> str:
        """Return the terms of ``ORDER BY`` that sort as `tables.sorting.sort_rows`.

        Numbers are ordered by size and come before texts. In descending order, numbers
        come after texts. Rows with null follow, and rows without a value come last.
        """
        direction = "DESC" if descending else "ASC"
        group = (
            f"CASE WHEN {self.kind} IS NULL OR {self.kind} = '{NOT_A_NUMBER}' THEN 3"
            f" WHEN {self.kind} = 'null' THEN 2 WHEN {self.value} = '' THEN 3 ELSE 1 END"
        )
        is_text = f"{self.kind} IN ('text', 'array', 'object')"
        sort_value = (
            f"CASE WHEN {self.kind} IN ('array', 'object') THEN python_text({self.value})"
            f" ELSE {self.value} END"
        )
        return f"{group}, {is_text} {direction}, {sort_value} {direction}"


def value_sql(name: str, texts: Texts) -> ValueSql:
    """Return the SQL expressions for the values of results under a name.

    Parameters
    ----------
    name : str
        Name that `Result.value` accepts.
    texts : Texts
        Texts of the store, which contain the lists of names.

    Returns
    -------
    ValueSql
        The expressions.
    """
    # The sources have the order in which `Result.value` searches them.
    cases = _Cases()
    positions = texts.positions(name)
    cases.add_list_cases("statistic_names", "statistics", positions, null_kind=NOT_A_NUMBER)
    if name in _COLUMNS:
        value, value_kind = _COLUMNS[name]
        kind = f"CASE WHEN {value} IS NULL THEN NULL ELSE '{value_kind}' END"
        return cases.expressions(kind, value)
    if name.startswith("seconds."):
        stage_positions = texts.positions(name.removeprefix("seconds."))
        cases.add_list_cases("stage_names", "seconds", stage_positions, null_kind=NOT_A_NUMBER)
        return cases.expressions()
    cases.add_list_cases("axis_names", "axes", positions, empty_is_missing=True)
    cases.add_list_cases("parameter_names", "parameters", positions)
    cases.add_list_cases("parameter_names", "parameters", texts.positions(f"{name}.use"))
    return cases.expressions()


class _Cases:
    """The cases of two SQL expressions, for the type and for the value."""

    def __init__(self) -> None:
        self._kinds: list[str] = []
        self._values: list[str] = []

    def add_list_cases(
        self,
        names_column: str,
        column: str,
        positions: dict[int, int],
        *,
        null_kind: str = "null",
        empty_is_missing: bool = False,
    ) -> None:
        """Add a case for each position of a name in the lists of a column.

        Parameters
        ----------
        names_column, column : str
            Columns with the number of the list of names, and with the list of values.
        positions : dict of int to int
            Position of the name in each list of names.
        null_kind : str
            Type of the value null.
        empty_is_missing : bool
            Whether an empty text means that the result has no value.
        """
        lists_of_position: dict[int, list[int]] = {}
        for number, position in positions.items():
            lists_of_position.setdefault(position, []).append(number)
        for position, numbers in lists_of_position.items():
            condition = f"{names_column} IN ({', '.join(map(str, numbers))})"
            value = f"json_extract({column}, '$[{position}]')"
            kind = f"json_type({column}, '$[{position}]')"
            if null_kind != "null":
                kind = f"replace({kind}, 'null', '{null_kind}')"
            if empty_is_missing:
                kind = f"CASE WHEN {value} = '' THEN NULL ELSE {kind} END"
            self._kinds.append(f"WHEN {condition} THEN {kind}")
            self._values.append(f"WHEN {condition} THEN {value}")

    def expressions(self, other_kind: str = "NULL", other_value: str = "NULL") -> ValueSql:
        """Return the expressions. The arguments apply to results without a case."""
        if not self._kinds:
            return ValueSql(other_kind, other_value)
        return ValueSql(
            f"CASE {' '.join(self._kinds)} ELSE {other_kind} END",
            f"CASE {' '.join(self._values)} ELSE {other_value} END",
        )


def decode_value(kind: Any, value: Any) -> Any:
    """Return the Python value of two columns that `ValueSql.columns` gives.

    Examples
    --------
    >>> decode_value("array", "[1, 2]"), decode_value(None, None)
    ([1, 2], MISSING)
    """
    if kind is None:
        return MISSING
    decode = _DECODERS.get(kind)
    return value if decode is None else decode(value)


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "null": lambda value: None,
    NOT_A_NUMBER: lambda value: math.nan,
    "true": lambda value: True,
    "false": lambda value: False,
    "array": json.loads,
    "object": json.loads,
}
"""Functions that convert the values of some types. Other values stay unchanged."""


def python_text(json_value: str) -> str:
    """Return the text by which `tables.sorting.sort_rows` sorts a list or a mapping."""
    return str(json.loads(json_value))
