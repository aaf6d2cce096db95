"""Stored results, filtered and sorted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import ParameterError, one_line
from stereo_framework.io import PathLike
from stereo_framework.io.locations import Faults
from stereo_framework.io.yaml_text import parse
from stereo_framework.sweep.conditions import (
    COMPARISONS,
    AnyCondition,
    Condition,
    NumberCondition,
)
from stereo_framework.sweep.numbers import is_number
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.sweep.store import Store

if TYPE_CHECKING:
    import pandas

_CONDITION = re.compile(
    r"\s*(?P<key>[^<>=!]*[^<>=!\s])\s*(?P<sign><=|>=|!=|=|<|>)\s*(?P<text>.*?)\s*", re.DOTALL
)


@checked()
def results(folder: PathLike, *, every: bool = False) -> pandas.DataFrame:
    """Return the results that a run stored in its output folder, as a pandas DataFrame.

    Parameters
    ----------
    folder : path-like
        The folder that was passed to the run as ``out``.
    every : bool
        Include the results of earlier scripts in this folder, not only those of the
        latest one.

    Returns
    -------
    DataFrame
        A row for each result, in the order of the script: id, scene, method, protocol,
        all parameters by dotted name, all statistics, energy, seconds,
        processor_seconds, time, host, processor, cores, threads, versions, error. The
        result set that `run` returns has the same table as its ``frame``.

    Raises
    ------
    DataError
        The folder holds no results.

    Examples
    --------
    >>> import tempfile, stereo_framework
    >>> sizes = {"aggregation.box.size": [3, 9]}
    >>> script = {"include": "window", "sweep": {"grid": sizes}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = stereo_framework.run(script, scenes="synthetic/planes", out=folder)
    ...     frame = stereo_framework.results(folder)
    >>> frame[["scene", "aggregation.box.size"]].values.tolist()
    [['synthetic/planes', 3], ['synthetic/planes', 9]]
    """
    return stored(folder, every=every).frame


def stored(folder: PathLike, *, every: bool = False) -> ResultSet:
    """Return the results in an output folder, with their maps, as a result set."""
    with Store(Path(folder)) as store:
        return store.results(every=every)


def where(results: ResultSet, conditions: Iterable[str]) -> ResultSet:
    """Select the results that meet all conditions, which are written as texts.

    Parameters
    ----------
    results : ResultSet
        Results of any protocols.
    conditions : iterable of str
        ``KEY=VALUE``, ``KEY!=VALUE`` or, for numbers, with ``<``, ``<=``, ``>``,
        ``>=``. Keys are ``scene`` (the full name or its last part), ``method``,
        ``protocol``, parameters, axes, slots and statistics. Values are written as in
        scripts.

    Raises
    ------
    ParameterError
        A text is not a condition, no result has a key, or no result has a value.
    """
    return results.meeting([_condition_of_text(text) for text in conditions])


def _condition_of_text(text: str) -> AnyCondition:
    """Parse a condition that is written as a text, as in `where`."""
    match = _CONDITION.fullmatch(text)
    if not match:
        expected = "key=value, such as matching_cost.truncation=20, or with != < <= > >="
        raise ParameterError(f"{text!r} is not a condition; expected {expected}")
    key, sign, typed = match.group("key", "sign", "text")
    node = parse(typed, "", Faults())
    value = node.data if node is not None else typed
    if sign in COMPARISONS:
        if not isinstance(value, int | float) or not is_number(value):
            message = f"{text!r}: {typed!r} is not a number; {sign} compares numbers"
            raise ParameterError(message)
        return NumberCondition(key, sign, value)
    values = value if isinstance(value, list) else [value]
    return Condition(key, values, typed, is_negated=sign == "!=")


def ordered(results: ResultSet, keys: Sequence[str]) -> ResultSet:
    """Sort results by statistics or parameters, in ascending order.

    Parameters
    ----------
    results : ResultSet
        Results of any protocols.
    keys : sequence of str
        The keys, the most important key first. ``-KEY`` sorts in descending order.
        Results without a value come last.

    Raises
    ------
    ParameterError
        No result has a key.
    """
    for key in keys:
        results.check_name(key.removeprefix("-"))
    return results.sorted_by(keys)


def of_each_protocol(
    results: ResultSet, where: Mapping[str, Sequence[Any]], statistics: Sequence[str]
) -> list[tuple[str, ResultSet]]:
    """Select the results that a plot or table shows, for each protocol.

    Parameters
    ----------
    results : ResultSet
        Results of any protocols.
    where : mapping of str to sequence
        Allowed values by name, as in `ResultSet.where`.
    statistics : sequence of str
        Statistics of the plot or table. Protocols without any of them are left out.

    Returns
    -------
    list of (str, ResultSet)
        The results of each protocol, with an ending for names of files. The ending is
        empty if there is only one protocol.

    Raises
    ------
    ParameterError
        There are no such results.
    """
    selected = results.where(**where)
    shown = [
        results_of_protocol
        for results_of_protocol in selected.by("protocol_text").values()
        if _has_number(results_of_protocol, statistics)
    ]
    if not shown:
        raise ParameterError(f"no result has {' or '.join(map(one_line, statistics))}")
    if len(shown) == 1:
        return [("", shown[0])]
    names = [
        re.sub(r"[^\w.-]+", "_", results_of_protocol[0].protocol).strip("_")
        for results_of_protocol in shown
    ]
    endings: list[str] = []
    for i, name in enumerate(names):
        # Two versions of a protocol may have the same name.
        is_repeated = name in names[:i]
        endings.append(f"_{name}_{i}" if is_repeated else f"_{name}")
    return list(zip(endings, shown, strict=True))


def _has_number(results: ResultSet, statistics: Sequence[str]) -> bool:
    """Return whether a result has a number for one of the statistics."""
    return any(is_number(result.value(name)) for result in results for name in statistics)
