"""Define the sequence of results that all tables, charts and reports accept."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError, few, nearest, one_line
from stereo_framework.script.setting import NO_EFFECT
from stereo_framework.sweep.conditions import AnyCondition, Condition
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.null_value import NULL
from stereo_framework.sweep.result import PROVENANCE, Result
from stereo_framework.sweep.sorting import sort_rows
from stereo_framework.sweep.value_text import counted, key_value_text

if TYPE_CHECKING:
    import pandas

_NAMES_OF_ALL_RESULTS = ("scene", "method", "protocol", "energy", "seconds", *PROVENANCE)
"""Names that `ResultSet.check_name` always accepts."""

_MAX_PROTOCOLS_IN_MESSAGE = 5


class ResultSet(Sequence[Result]):
    """An immutable sequence of results.

    The functions `run` and `stored` return a result set. All functions for tables,
    charts and reports accept a result set. Like a list, a result set has a length,
    indices and an order. A slice of a result set, and the sum of two result sets, are
    result sets, too. A notebook displays a result set as a table.

    Parameters
    ----------
    results : iterable of Result
        Results of runs, in the order in which tables show the results.

    Examples
    --------
    >>> import stereo_framework
    >>> sizes = {"aggregation.box.size": [3, 9]}
    >>> script = {"include": "window", "sweep": {"grid": sizes}}
    >>> results = stereo_framework.run(script, scenes="synthetic/planes")
    >>> results
    2 results of 1 method on 1 scene
    >>> results.column("aggregation.box.size")
    [3, 9]
    >>> results.where(**{"aggregation.box.size": 9}).column("bad_pixels_nonocc")[0] < 20
    True
    """

    __slots__ = ("_results",)

    def __init__(self, results: Iterable[Result] = ()) -> None:
        self._results = tuple(results)

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> ResultSet: ...
    def __getitem__(self, index: int | slice) -> Result | ResultSet:
        """Return the result at an index, or the result set of a slice."""
        if isinstance(index, slice):
            return ResultSet(self._results[index])
        return self._results[index]

    def __eq__(self, other: object) -> bool:
        """Return whether another result set or list contains the same results."""
        if isinstance(other, ResultSet | list):
            return self._results == tuple(other)
        return NotImplemented

    # In Python, equal objects must have equal hash values. A result set can be equal to
    # a list, and a list has no hash value. Therefore a result set has no hash value.
    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Iterable[Result]) -> ResultSet:
        """Return the results of this result set, followed by other results."""
        return ResultSet((*self, *other))

    def __radd__(self, other: Iterable[Result]) -> ResultSet:
        """Return other results, followed by the results of this result set."""
        return ResultSet((*other, *self))

    def __repr__(self) -> str:
        methods = {result.method for result in self}
        scenes = {result.scene for result in self}
        results_text = counted(len(self), "result")
        methods_text = counted(len(methods), "method")
        scenes_text = counted(len(scenes), "scene")
        return f"{results_text} of {methods_text} on {scenes_text}"

    def _repr_html_(self) -> str:
        """Return the HTML table that a notebook displays for this result set."""
        html: str = self.frame.to_html(max_rows=20, max_cols=20, notebook=True)
        return html

    def column(self, name: str) -> list[Any]:
        """Return the values of all results under a name.

        Parameters
        ----------
        name : str
            A name that `Result.value` accepts, such as a statistic, an axis or the
            address of a parameter.

        Returns
        -------
        list
            One value for each result. None means that a parameter was set to null.
            `MISSING` means that a result has no value under the name.
        """
        # The first part of this method reads common values directly, because calls of
        # `Result.value` are slow for thousands of results. A statistic has priority
        # over an axis of the same name, as in `Result.value`.
        statistics = [result.statistics for result in self]
        if all(name in mapping for mapping in statistics):
            return [mapping[name] for mapping in statistics]
        axes = [result.axes for result in self]
        if all(name in mapping for mapping in axes):
            values = [mapping[name] for mapping in axes]
            if NO_EFFECT not in values and not any(name in mapping for mapping in statistics):
                return values
        return [result.value(name) for result in self]

    def read_columns(self, names: Iterable[str]) -> None:
        """Do nothing, because only the results in an open store read columns ahead."""

    def where(self, /, **values: Any) -> ResultSet:
        """Select the results that have the given values.

        Parameters
        ----------
        **values
            Allowed value, or list of allowed values, for each name. The names are those
            that `Result.value` accepts. If a name contains a dot, pass a dictionary, as
            in ``where(**{"seconds.matcher": 1})``. For a scene, you can pass only the
            last part of its name. If the values of a parameter are lists, pass a list
            that contains the allowed lists.

        Returns
        -------
        ResultSet
            The selected results, in the order of this result set.

        Raises
        ------
        ParameterError
            No result has a value under one of the names, or no result has an allowed
            value.
        """
        conditions: list[Condition] = []
        for name, value in values.items():
            is_list = isinstance(value, Sequence) and not isinstance(value, str)
            conditions.append(Condition(name, value if is_list else [value]))
        return self.meeting(conditions)

    def meeting(self, conditions: Iterable[AnyCondition]) -> ResultSet:
        """Select the results that meet all conditions.

        Raises
        ------
        ParameterError
            No result has a value under the name of a condition, or no result has a
            value that a condition names. Each condition is checked on all results.
        """
        selected = self._results
        for condition in conditions:
            self.check_name(condition.name)
            if isinstance(condition, Condition) and self:
                values = self.column(condition.name)
                if not any(map(condition.includes, values)):
                    condition.refuse_unused(values)
            selected = tuple(result for result in selected if condition.holds(result))
        return ResultSet(selected)

    def by(self, *names: str) -> dict[tuple[Any, ...], ResultSet]:
        """Group the results by their values under some names.

        Parameters
        ----------
        *names : str
            Names that `Result.value` accepts.

        Returns
        -------
        dict of tuple to ResultSet
            The results for each combination of values. The combinations have the order
            in which they first occur in the results. If a value is a list or a mapping,
            the key contains its JSON text, because keys of a dict must be hashable.
        """
        columns = [map(hashable, self.column(name)) for name in names]
        keys = zip(*columns, strict=True) if names else [()] * len(self)
        groups: dict[tuple[Any, ...], list[Result]] = {}
        for key, result in zip(keys, self, strict=True):
            groups.setdefault(key, []).append(result)
        return {key: ResultSet(results) for key, results in groups.items()}

    def sorted_by(self, keys: Sequence[str]) -> ResultSet:
        """Sort the results by their values under some names.

        Parameters
        ----------
        keys : sequence of str
            Names that `Result.value` accepts, the most important name first. ``-NAME``
            sorts in descending order. Results without a value come last.
        """
        return ResultSet(sort_rows(self, keys, Result.value))

    def varying(self) -> list[str]:
        """Return the names that distinguish results of one protocol.

        Returns
        -------
        list of str
            The names ``scene`` and ``method``, the names of all axes, and the addresses
            of other parameters that have several values in the results of one method.
        """
        first_values: dict[str, dict[str, Any]] = {}
        varying: dict[str, None] = {}
        for method, values in self._parameters_of_methods():
            first_values_of_method = first_values.setdefault(method, {})
            for name, value in values.items():
                first = first_values_of_method.setdefault(name, value)
                # In Python, 1, 1.0 and True are equal. The types are compared, too,
                # because results of 1 and of True must not be averaged.
                if first is not value and (type(first) is not type(value) or first != value):
                    varying[name] = None
        axes = self.axis_names()
        parameters = [name for name in varying if not _follows_from_axes(name, axes)]
        return ["scene", "method", *axes, *parameters]

    def setting_names(self) -> list[str]:
        """Return a short name for the setting of each result, such as ``ssd, size=9``.

        A short name contains the values of all axes that vary. If the results have
        several methods, a short name also contains the method. If two settings would
        have the same short name, or if the names of two axes have the same last part,
        the method returns the names of `Result.setting_name` instead.
        """
        full_names = [result.setting_name for result in self]
        # Thousands of results usually have only few settings. Therefore a short name is
        # made once for each setting.
        result_of_setting = dict(zip(full_names, self, strict=True))
        short_names = _short_setting_names(list(result_of_setting.values()))
        if short_names is None:
            return full_names
        short_name_of = dict(zip(result_of_setting, short_names, strict=True))
        return [short_name_of[name] for name in full_names]

    def _parameters_of_methods(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the method and the parameters of each result."""
        for result in self:
            yield result.method, result.parameters

    def repeated_setting(self) -> tuple[str, str] | None:
        """Return scene and method of a setting that occurs twice on the same scene.

        Returns
        -------
        (str, str) or None
            The scene and the method. None means that no setting occurs twice.
        """
        seen_settings = set()
        for result in self:
            axes = repr(sorted(result.axes.items()))
            parameters = repr(sorted(result.parameters.items()))
            setting = (result.scene, result.method, axes, parameters)
            if setting in seen_settings:
                return result.scene, result.method
            seen_settings.add(setting)
        return None

    def failed_indices(self) -> list[int]:
        """Return the indices of the results that have an error."""
        return [i for i, result in enumerate(self) if result.error]

    def axis_column(self, name: str) -> list[Any]:
        """Return the value of `Result.axis_value` for each result."""
        return [result.axis_value(name) for result in self]

    def with_settings_of(self, results: Iterable[Result]) -> ResultSet:
        """Select the results with the method and axes of one of some other results."""
        settings = {result.setting_name for result in results}
        return ResultSet(result for result in self if result.setting_name in settings)

    def axis_names(self) -> list[str]:
        """Return the names of all axes, in the order of the first occurrence."""
        return _distinct_keys(result.axes for result in self)

    def parameter_names(self) -> list[str]:
        """Return the addresses of all parameters, in the order of first occurrence."""
        return _distinct_keys(result.parameters for result in self)

    def stage_names(self) -> list[str]:
        """Return the names of all stages that have a run time."""
        return _distinct_keys(result.seconds for result in self)

    def statistic_names(self) -> list[str]:
        """Return the names of all statistics, in the order of the first occurrence."""
        return _distinct_keys(result.statistics for result in self)

    @property
    def protocol(self) -> str:
        """Text of the protocol of all results, or an empty text if it is not known.

        Raises
        ------
        ParameterError
            The results have several protocols, so their statistics cannot be compared.
        """
        return single_protocol((result.protocol_text, result.protocol) for result in self)

    @property
    def frame(self) -> pandas.DataFrame:
        """The results as a pandas DataFrame with one row for each result.

        The columns are id, scene, method, protocol, the addresses of all parameters,
        the names of all statistics, energy, seconds, processor_seconds, time, host,
        processor, cores, threads, versions and error. `Result.value` describes the
        columns from processor_seconds to versions. If a statistic has the name of one
        of these columns, only the statistic has a column.

        If a result has no value for a column, the cell is missing. If a parameter was
        set to null, its cell has the text "none". Comparisons such as ``<= 20`` do not
        select rows with this text. If a column contains numbers and any other text, all
        numbers become texts.
        """
        # The import of pandas takes half a second, and most commands do not need it.
        import pandas

        header, rows = self.tidy()
        columns = {name: _one_type([row[i] for row in rows]) for i, name in enumerate(header)}
        return pandas.DataFrame(columns, columns=header)

    def tidy(self) -> tuple[list[str], list[list[Any]]]:
        """Return the header and the rows of a table with all parameters and statistics.

        If a parameter was set to null, its cell contains the text `NULL`. A cell
        contains `MISSING` if the method does not have the parameter, if an axis has no
        effect on the setting, or if a statistic is NaN or was not computed.
        """
        parameters = self.parameter_names()
        statistics = self.statistic_names()
        provenance = [name for name in PROVENANCE if name not in statistics]
        rows: list[list[Any]] = []
        for result in self:
            row: list[Any] = [result.id, result.scene, result.method, result.protocol]
            row += _parameter_cells(result, parameters)
            row += [_number_cell(result.statistics.get(name)) for name in statistics]
            row += [result.value("energy"), result.value("seconds")]
            row += _provenance_cells(result, provenance)
            row.append(result.error or MISSING)
            rows.append(row)
        first_columns = ["id", "scene", "method", "protocol"]
        last_columns = ["energy", "seconds", *provenance, "error"]
        return [*first_columns, *parameters, *statistics, *last_columns], rows

    def check_name(self, name: str, role: str = "") -> None:
        """Refuse a name that is unknown in all results.

        If there are no results, all names are accepted.

        Parameters
        ----------
        name : str
            Name that `Result.value` may accept.
        role : str
            Beginning of the error message, such as "metric ".

        Raises
        ------
        ParameterError
            No result has a parameter, an axis, a statistic or a stage of this name.
        """
        if name in _NAMES_OF_ALL_RESULTS or self.has_value(name) or not self:
            return
        allowed = {*_NAMES_OF_ALL_RESULTS, *self.parameter_names(), *self.axis_names()}
        allowed.update(self.statistic_names())
        allowed.update(f"seconds.{stage}" for stage in self.stage_names())
        # The name `optimizer` stands for the parameter `optimizer.use`.
        allowed |= {allowed_name.removesuffix(".use") for allowed_name in allowed}
        if name not in allowed:
            raise ParameterError(f"{role}{name!r}: no result has it; {nearest(name, allowed)}")

    def has_value(self, name: str) -> bool:
        """Return whether a result has a value under a name."""
        # This test is fast, because usually one of the first results has a value.
        return any(result.value(name) is not MISSING for result in self)


def hashable(value: Any) -> Any:
    """Convert a list or dict to its JSON text, and return other values unchanged."""
    if isinstance(value, list | dict):
        return json.dumps(value)
    return value


def _distinct_keys(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the keys of all mappings without duplicates, in their order."""
    # Thousands of results usually have the same keys. The first step removes duplicates
    # of whole tuples of keys, because this is faster than a comparison of single keys.
    distinct_key_tuples = dict.fromkeys(map(tuple, mappings))
    return list(dict.fromkeys(itertools.chain.from_iterable(distinct_key_tuples)))


def _follows_from_axes(name: str, axes: Sequence[str]) -> bool:
    """Return whether one of the axes sets a parameter.

    An axis over a slot sets the parameters of the stage in the slot. An axis over the
    seed of the script sets the seeds of all stages.
    """
    if any(name == axis or name.startswith(f"{axis}.") for axis in axes):
        return True
    return "seed" in axes and name.rpartition(".")[2] == "seed"


def _short_setting_names(results: Sequence[Result]) -> list[str] | None:
    """Return short names of settings, or None if the short names are ambiguous.

    Parameters
    ----------
    results : sequence of Result
        One result for each setting.
    """
    texts_of_axis: dict[str, list[str]] = {}
    for name in _distinct_keys(result.axes for result in results):
        texts = [key_value_text(name, result.axis_value(name)) for result in results]
        if len(set(texts)) > 1:
            texts_of_axis[name] = texts
    last_names = {name.rpartition(".")[2] for name in texts_of_axis}
    if len(last_names) < len(texts_of_axis):
        return None

    with_method = len({result.method for result in results}) > 1 or not texts_of_axis
    short_names: list[str] = []
    for i, result in enumerate(results):
        parts = [result.method] if with_method else []
        parts += [texts[i] for texts in texts_of_axis.values()]
        short_names.append(", ".join(filter(None, parts)))
    if "" in short_names or len(set(short_names)) < len(short_names):
        return None
    return short_names


def single_protocol(protocols: Iterable[tuple[str, str]]) -> str:
    """Return the text of the only protocol of some results, as `ResultSet.protocol`.

    Parameters
    ----------
    protocols : iterable of (str, str)
        Text and name of the protocol of each result. Both may be empty.

    Raises
    ------
    ParameterError
        There are several protocols.
    """
    texts: dict[str, None] = {}
    names: dict[str, None] = {}
    for text, name in protocols:
        texts[text] = None
        names[name] = None
    # Results that were read from a table of scores have no text of a protocol. The
    # table may contain the name of a protocol.
    texts.pop("", None)
    names.pop("", None)
    if len(texts) > 1 or len(names) > 1:
        raise ParameterError(_message_of_several_protocols(list(names)))
    return next(iter(texts), "")


def _message_of_several_protocols(names: Sequence[str]) -> str:
    """Return the error message for results that have several protocols.

    Parameters
    ----------
    names : sequence of str
        Names of the protocols. The sequence is empty if the protocols have no names.
    """
    shown_names = [one_line(name, 80) for name in names] or ["protocols without a name"]
    if len(names) > 1:
        remedy = f"choose those of one protocol, as in --where 'protocol={shown_names[0]}'"
    elif names:
        remedy = (
            f"they are of different versions of {shown_names[0]}; leave out those of earlier "
            "scripts"
        )
    else:
        remedy = "the protocols have no name to choose them by; run again to measure the maps"
    listed = " and ".join(shown_names)
    if len(shown_names) > _MAX_PROTOCOLS_IN_MESSAGE:
        listed = few(shown_names, _MAX_PROTOCOLS_IN_MESSAGE)
    return f"results of {listed} do not belong together; {remedy}"


def _parameter_cells(result: Result, names: Iterable[str]) -> list[Any]:
    """Return the cells with the values of some parameters for `ResultSet.tidy`."""
    # The parameters of a result may contain a value for an axis that has no effect on
    # the setting. The cell of such an axis must be empty.
    without_effect = {name for name in result.axes if result.axis_value(name) is MISSING}
    cells: list[Any] = []
    for name in names:
        value = result.parameters.get(name, MISSING)
        if name in without_effect:
            value = MISSING
        cells.append(NULL if value is None else value)
    return cells


def _provenance_cells(result: Result, names: Iterable[str]) -> list[Any]:
    """Return the cells with some values of `PROVENANCE` for `ResultSet.tidy`."""
    provenance = result.provenance
    values = [provenance[name] for name in names]
    return [MISSING if value is None else value for value in values]


def _number_cell(number: float | None) -> Any:
    """Return the cell with the value of a statistic for `ResultSet.tidy`."""
    if number is None or math.isnan(number):
        return MISSING
    return number


def _one_type(cells: Iterable[Any]) -> list[Any] | NDArray[np.object_]:
    """Convert the cells of a column to values of a single type.

    If the values of a column have several types, such as numbers and texts, all values
    become texts. Cells of missing values become None.

    `NULL` stands for a parameter that was set to null, and may be in a column with
    numbers. A column with `NULL` is returned as an array of objects, because pandas
    would otherwise replace `NULL`, whose class is a subclass of `str`, by a plain text.
    """
    values = [None if cell is MISSING or cell == "" else cell for cell in cells]
    kinds = {_kind_of_value(value) for value in values if value is not None and value is not NULL}
    if len(kinds) > 1:
        return [value if value is None else str(value) for value in values]
    if NULL not in values:
        return values
    objects = np.empty(len(values), object)
    objects[:] = values
    return objects


def _kind_of_value(value: Any) -> Any:
    """Return the text "number" for a number, and the class of any other value."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value)
