"""Conversion of DataFrames with results to result sets."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stereo_framework.core.errors import ParameterError, nearest, short
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.sweep.result import PROVENANCE, Result
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.tables.directions import better_direction
from stereo_framework.tables.method_scores import is_seed

if TYPE_CHECKING:
    import pandas

_NO_SETTINGS = ("id", "scene", "method", "protocol", "seconds", "error", *PROVENANCE)
"""Columns of `ResultSet.frame` that never contain a parameter or a statistic.

The scene, the method and the protocol have fields of their own in `Result`.
"""


def results_of_frame(frame: pandas.DataFrame, statistic: str, keys: Sequence[str]) -> ResultSet:
    """Convert the rows of a DataFrame to results with one statistic.

    The parameters of a result are its settings. The settings are the columns in `keys`,
    the columns named ``seed`` or ``*.seed``, and two kinds of columns that are not
    known statistics: columns with a dot in their name, and columns whose type is not a
    floating-point type. Columns of `ResultSet.frame` that describe the run, such as
    ``host``, are never settings.

    If a column of integers has an empty cell, pandas converts the integers to
    floating-point numbers. Such a column is no setting unless `keys` contains its name.
    Convert it to the type ``Int64`` to keep it a setting.

    Parameters
    ----------
    frame : DataFrame
        Rows such as those of `ResultSet.frame`, with a column ``scene``.
    statistic : str
        Name of the column with the statistic.
    keys : sequence of str
        Names of the columns that distinguish the methods.

    Raises
    ------
    ParameterError
        The DataFrame lacks one of these columns, or two columns have the same name.
    """
    if not frame.columns.is_unique:
        repeated_name = str(frame.columns[frame.columns.duplicated()][0])
        message = f"the DataFrame has two columns {short(repeated_name, 80)!r}; rename one of them"
        raise ParameterError(message)
    if "scene" not in frame:
        message = (
            "the DataFrame has no column 'scene'; rename the column with the names of the scenes, "
            "or add such a column"
        )
        raise ParameterError(message)
    for name in (statistic, *keys):
        if name not in frame:
            message = f"{name!r}: no result has it; {nearest(name, map(str, frame))}"
            raise ParameterError(message)

    settings = [
        name for name in frame if name != statistic and _is_setting(name, frame[name], keys)
    ]
    used_columns = ["scene", "method", "protocol", statistic, *settings]
    columns = [name for name in dict.fromkeys(used_columns) if name in frame]
    records = frame[columns].to_dict("records")
    return ResultSet(_result(record, statistic, settings) for record in records)


def _is_setting(name: Hashable, column: pandas.Series, keys: Sequence[str]) -> bool:
    """Return whether a column of a DataFrame contains a setting of the methods."""
    if not isinstance(name, str) or name in _NO_SETTINGS:
        return False
    if name in keys or is_seed(name):
        return True
    if better_direction(name) or metric_of(name):
        return False
    return "." in name or column.dtype.kind != "f"


def _result(record: Mapping[Hashable, Any], statistic: str, settings: Sequence[str]) -> Result:
    """Return the result of one row of a DataFrame."""
    present = {name: value for name, value in record.items() if not _is_missing(value)}
    return Result(
        id="",
        scene=str(record["scene"]),
        method=str(present.get("method", "")),
        parameters={name: present[name] for name in settings if name in present},
        axes={},
        protocol=str(present.get("protocol", "")),
        statistics={statistic: record[statistic]},
    )


def _is_missing(value: Any) -> bool:
    """Return whether a cell of a DataFrame has no value."""
    import pandas

    is_single_value = pandas.api.types.is_scalar(value)
    return bool(is_single_value and pandas.isna(value))
