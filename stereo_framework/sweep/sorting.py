"""The order of rows in tables."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.numbers import is_number

_Row = TypeVar("_Row")


def sort_rows(
    rows: Iterable[_Row], keys: Sequence[str], value_of: Callable[[_Row, str], Any]
) -> list[_Row]:
    """Sort rows by their values under some keys.

    Numbers are ordered by size and come before texts. In descending order, numbers come
    after texts. Rows with null come after all rows with values, and rows without a
    value come last.

    Parameters
    ----------
    rows : iterable
        The rows, of any type.
    keys : sequence of str
        The keys, the most important key first. ``-KEY`` sorts in descending order.
    value_of : callable
        Function that takes a row and a key and returns the value of the row.

    Returns
    -------
    list
        The sorted rows. Rows with equal values keep their order.
    """
    sorted_rows = list(rows)
    # The sort is stable, so that the last sort decides first.
    for key in reversed(keys):
        name = key.removeprefix("-")
        sorted_rows = _sort_by_key(
            sorted_rows, [value_of(row, name) for row in sorted_rows], reverse=key.startswith("-")
        )
    return sorted_rows


def _sort_by_key(rows: Sequence[_Row], values: Sequence[Any], *, reverse: bool) -> list[_Row]:
    """Sort rows by one value for each row."""
    rows_with_value: list[tuple[Any, _Row]] = []
    null_rows: list[_Row] = []
    empty_rows: list[_Row] = []
    for row, value in zip(rows, values, strict=True):
        if value is None:
            null_rows.append(row)
        elif _is_empty(value):
            empty_rows.append(row)
        else:
            rows_with_value.append((value, row))
    rows_with_value.sort(key=lambda pair: _sort_key(pair[0]), reverse=reverse)
    return [*(row for _, row in rows_with_value), *null_rows, *empty_rows]


def _is_empty(value: Any) -> bool:
    """Return whether a value is missing, an empty text or NaN."""
    return bool(value is MISSING or value == "" or value != value)


def _sort_key(value: Any) -> tuple[bool, float, str]:
    """Return the key by which Python sorts a value: numbers first, then texts."""
    if is_number(value) or isinstance(value, bool):
        return False, value, ""
    return True, 0, str(value)
