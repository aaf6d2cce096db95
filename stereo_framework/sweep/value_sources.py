"""Places in the table `results` where the value under a name is stored.

`Result.value` defines the value of a result under a name. The sources of a name are in
the order in which `Result.value` searches the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pydantic_core import from_json

from stereo_framework.script.setting import NO_EFFECT
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.rows import check_axis_value, numbers_with_nan


def _axis_values(text: Any) -> Sequence[Any]:
    """Return the values of axes, with `MISSING` for an axis without effect."""
    values: list[Any] = from_json(text)
    for value in values:
        check_axis_value(value)
    if NO_EFFECT in values:
        return [MISSING if value == NO_EFFECT else value for value in values]
    return values


class ValueList(Enum):
    """List of values in a row, whose names are in a list of the table `texts`.

    Attributes
    ----------
    names_column : str
        Column with the number of the list of names.
    column : str
        Column with the JSON list of values.
    parse : callable
        Function that converts the JSON list to the values that `Result.value` returns.
    """

    STATISTICS = ("statistic_names", "statistics", numbers_with_nan)
    AXES = ("axis_names", "axes", _axis_values)
    PARAMETERS = ("parameter_names", "parameters", from_json)
    SECONDS = ("stage_names", "seconds", numbers_with_nan)

    def __init__(
        self, names_column: str, column: str, parse: Callable[[Any], Sequence[Any]]
    ) -> None:
        self.names_column = names_column
        self.column = column
        self.parse = parse


@dataclass(frozen=True)
class ValueColumn:
    """SQL expression for the value under a name that is not in a list.

    Parameters
    ----------
    sql : str
        Expression for the value. Without a value, it is NULL.
    kind : str
        Type of the value, as SQLite's function `json_type` returns it.
    is_required : bool
        Whether each undamaged row has a value.
    """

    sql: str
    kind: str
    is_required: bool = False


_COLUMNS = {
    "scene": ValueColumn("scene", "text", is_required=True),
    "method": ValueColumn("method", "text", is_required=True),
    "protocol": ValueColumn("protocol", "text", is_required=True),
    "protocol_text": ValueColumn(
        "(SELECT text FROM texts WHERE id = protocol_text)", "text", is_required=True
    ),
    "energy": ValueColumn("energy", "real"),
    "seconds": ValueColumn("matching_seconds", "real"),
    "processor_seconds": ValueColumn("processor_seconds", "real"),
    "threads": ValueColumn("threads", "integer"),
    "time": ValueColumn("nullif(time, '')", "text"),
    "host": ValueColumn("provenance(environment, 'host')", "text"),
    "processor": ValueColumn("provenance(environment, 'processor')", "text"),
    "cores": ValueColumn("provenance(environment, 'cores')", "integer"),
    "versions": ValueColumn("provenance(environment, 'versions')", "text"),
}
"""Expressions of the names that have no list of values.

The function `provenance` is defined by `stored_results.ResultTable`.
"""


@dataclass(frozen=True)
class ValueSources:
    """The places where the value under a name may be stored.

    Parameters
    ----------
    lists : tuple of (ValueList, str)
        Lists that may contain the value, and the name of the value in the list.
    column : ValueColumn or None
        Expression for the value if no list contains it.
    """

    lists: tuple[tuple[ValueList, str], ...]
    column: ValueColumn | None = None


def value_sources(name: str) -> ValueSources:
    """Return the places where the value of `Result.value` may be stored."""
    statistic = (ValueList.STATISTICS, name)
    if name in _COLUMNS:
        return ValueSources((statistic,), _COLUMNS[name])
    if name.startswith("seconds."):
        return ValueSources((statistic, (ValueList.SECONDS, name.removeprefix("seconds."))))
    parameter = (ValueList.PARAMETERS, name)
    stage = (ValueList.PARAMETERS, f"{name}.use")
    return ValueSources((statistic, (ValueList.AXES, name), parameter, stage))


def axis_sources(name: str) -> ValueSources:
    """Return the place where the value of `Result.axis_value` is stored."""
    return ValueSources(((ValueList.AXES, name),))
