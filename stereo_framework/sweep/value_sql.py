"""SQL expressions for the values of stored results under a name.

The expressions give the values that `Result.value` returns. SQLite evaluates them
without creating a `Result`, so that large stores are filtered and sorted in a second.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stereo_framework.script.setting import NO_EFFECT
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.rows import Texts
from stereo_framework.sweep.value_sources import ValueColumn, ValueList, ValueSources

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
        """Return the terms of ``ORDER BY`` that sort as `sorting.sort_rows`.

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
        terms = [group]
        for term in (is_text, sort_value):
            # Rows with null, and rows without a value, keep their order.
            terms.append(f"CASE WHEN ({group}) = 1 THEN {term} END {direction}")
        return ", ".join(terms)


def value_sql(sources: ValueSources, texts: Texts) -> ValueSql:
    """Return the SQL expressions for the values of results under a name.

    Parameters
    ----------
    sources : ValueSources
        Places where the value may be stored.
    texts : Texts
        Texts of the store, which contain the lists of names.

    Returns
    -------
    ValueSql
        The expressions.
    """
    kinds: list[str] = []
    values: list[str] = []
    for value_list, name in sources.lists:
        for position, numbers in _lists_by_position(texts.positions(name)).items():
            condition = f"{value_list.names_column} IN ({', '.join(map(str, numbers))})"
            case = _list_value_sql(value_list, position)
            kinds.append(f"WHEN {condition} THEN {case.kind}")
            values.append(f"WHEN {condition} THEN {case.value}")

    other = _column_sql(sources.column)
    if not kinds:
        return other
    return ValueSql(
        f"CASE {' '.join(kinds)} ELSE {other.kind} END",
        f"CASE {' '.join(values)} ELSE {other.value} END",
    )


def _lists_by_position(positions: Mapping[int, int]) -> dict[int, list[int]]:
    """Return the numbers of the lists that have a name at the same position."""
    numbers_of_position: dict[int, list[int]] = {}
    for number, position in positions.items():
        numbers_of_position.setdefault(position, []).append(number)
    return numbers_of_position


def _list_value_sql(value_list: ValueList, position: int) -> ValueSql:
    """Return the SQL expressions for a value at a position in a list."""
    arguments = f"{value_list.column}, '$[{position}]'"
    value = f"json_extract({arguments})"
    kind = f"json_type({arguments})"
    if value_list in (ValueList.STATISTICS, ValueList.SECONDS):
        # In lists of numbers, null stands for NaN.
        kind = f"replace({kind}, 'null', '{NOT_A_NUMBER}')"
    if value_list is ValueList.AXES:
        # An empty text means that the axis has no effect on the setting.
        kind = f"CASE WHEN {value} = '{NO_EFFECT}' THEN NULL ELSE {kind} END"
    return ValueSql(kind, value)


def _column_sql(column: ValueColumn | None) -> ValueSql:
    """Return the SQL expressions for a value that is in no list."""
    if column is None:
        return ValueSql("NULL", "NULL")
    return ValueSql(
        f"CASE WHEN {column.sql} IS NULL THEN NULL ELSE '{column.kind}' END", column.sql
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
    """Return the text by which `sorting.sort_rows` sorts a list or a mapping."""
    return str(json.loads(json_value))
