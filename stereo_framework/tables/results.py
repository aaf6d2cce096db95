"""Stored results, filtered and sorted."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import ParameterError, close_names, one_line
from stereo_framework.io import PathLike
from stereo_framework.io.locations import Faults
from stereo_framework.io.yaml_text import parse
from stereo_framework.sweep import Result, Store
from stereo_framework.sweep.result import ResultList, frame
from stereo_framework.tables.values import (
    NOT_APPLICABLE,
    by_protocol,
    check_name,
    is_number,
    setting,
    settings,
    show,
    sort_rows,
    value,
)

if TYPE_CHECKING:
    import pandas

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@checked()
def results(folder: PathLike, *, every: bool = False) -> pandas.DataFrame:
    """The results that a run stored in its output folder, as a pandas DataFrame.

    Parameters
    ----------
    folder : path-like
        The folder that was given to the run as ``out``.
    every : bool
        Include the results of earlier scripts in this folder, not only those of the latest one.

    Returns
    -------
    DataFrame
        A row for each result, in the order of the script: id, scene, method, protocol, all parameters by dotted name, all statistics, energy, seconds,
        error. What `run` returns has the same as its ``frame``.

    Raises
    ------
    DataError
        The folder holds no results.

    Examples
    --------
    >>> import tempfile, stereo_framework
    >>> script = {"include": "window", "sweep": {"grid": {"aggregation.box.size": [3, 9]}}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = stereo_framework.run(script, scenes="synthetic/planes", out=folder)
    ...     frame = stereo_framework.results(folder)
    >>> frame[["scene", "aggregation.box.size"]].values.tolist()
    [['synthetic/planes', 3], ['synthetic/planes', 9]]
    """
    return frame(stored(folder, every=every))


def stored(folder: PathLike, *, every: bool = False) -> ResultList:
    """The results in an output folder, as `results` describes them, with their maps."""
    with Store(Path(folder)) as store:
        return ResultList(store.results(every=every))


def where(results: Sequence[Result], conditions: Iterable[str]) -> ResultList:
    """The results that meet all conditions.

    Parameters
    ----------
    results : sequence of Result
    conditions : iterable of str
        ``KEY=VALUE``, ``KEY!=VALUE`` or, for numbers, with ``<``, ``<=``, ``>``, ``>=``. Keys are ``scene`` (the full name or its
        last part), ``method``, ``protocol``, parameters, axes, slots and statistics; values as scripts write them.

    Raises
    ------
    ParameterError
        A text is not a condition, no result has a key, or no result has this value under it.
    """
    found = results
    for text in conditions:
        match = re.fullmatch(
            r"\s*([^<>=!]*[^<>=!\s])\s*(<=|>=|!=|=|<|>)\s*(.*?)\s*", text, re.DOTALL
        )
        if not match:
            expected = "key=value, such as matching_cost.truncation=20, or with != < <= > >="
            raise ParameterError(f"{text!r} is not a condition; expected {expected}")
        key, sign, typed = match.groups()
        node = parse(typed, "", Faults())
        read = node.data if node is not None else typed
        if sign not in _COMPARISONS:
            found = _equal(
                found,
                results,
                key,
                read if isinstance(read, list) else [read],
                typed,
                unlike=sign == "!=",
            )
            continue
        check_name(key, results)
        if not is_number(read):
            raise ParameterError(f"{text!r}: {typed!r} is not a number; {sign} compares numbers")
        found = [r for r in found if is_number(v := value(r, key)) and _COMPARISONS[sign](v, read)]
    return ResultList(found)


def ordered(results: Sequence[Result], keys: Sequence[str]) -> ResultList:
    """The results in the order of statistics or parameters, smallest first; ``-KEY`` sorts largest first. Results without a value come last.

    Raises
    ------
    ParameterError
        No result has a key.
    """
    for key in keys:
        check_name(key.removeprefix("-"), results)
    return ResultList(sort_rows(results, keys, setting))


def of_each_protocol(
    results: Sequence[Result], where: Mapping[str, Sequence[Any]], statistics: Sequence[str]
) -> list[tuple[str, list[Result]]]:
    """The results that a plot or table shows: those that `where` chooses, for each protocol that measured one of the statistics.

    Returns
    -------
    list of (str, list of Result)
        Each with an ending for names of files, which is empty if there is only one protocol.

    Raises
    ------
    ParameterError
        There are no such results.
    """
    chosen = results
    for key, values in where.items():
        chosen = _equal(chosen, results, key, values)
    found = [
        same
        for same in by_protocol(chosen).values()
        if any(is_number(value(r, name)) for r in same for name in statistics)
    ]
    if not found:
        raise ParameterError(f"no result has {' or '.join(map(one_line, statistics))}")
    names = [re.sub(r"[^\w.-]+", "_", same[0].protocol).strip("_") for same in found]
    # Two versions of a protocol may have the same name.
    endings = [
        f"_{name}{f'_{i}' * (name in names[:i])}" if len(names) > 1 else ""
        for i, name in enumerate(names)
    ]
    return list(zip(endings, found, strict=True))


def _equal(
    found: Sequence[Result],
    every: Sequence[Result],
    key: str,
    wanted: Sequence[Any],
    typed: str | None = None,
    *,
    unlike: bool = False,
) -> Sequence[Result]:
    """The results of `found` with one of the values, or with none of them; one that no result of `every` has is refused as a mistake. `typed` is how a user wrote it."""
    check_name(key, every)

    def holds(result: Result) -> bool:
        own = setting(result, key)
        if own == NOT_APPLICABLE:
            return False
        if typed is not None and typed in (
            {"null", "none"} if own is None else {show(own), str(own)}
        ):
            return True
        if key == "scene" and any(str(own).endswith(f"/{one}") for one in wanted):
            return True
        # 1 and true are equal in Python but not as parameters.
        return any(own == one and isinstance(own, bool) == isinstance(one, bool) for one in wanted)

    if every and not any(map(holds, every)):
        there = list(
            dict.fromkeys(
                "null" if v is None else show(v)
                for v in settings(every, key)
                if v != NOT_APPLICABLE
            )
        )
        said = typed if typed is not None else ", ".join(map(show, wanted))
        close = close_names(said, [*there, *(name.rpartition("/")[2] for name in there)])
        shown = ", ".join(there[:20]) + (", ..." if len(there) > 20 else "")
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ParameterError(f"{key}: no result has {said!r}; there are: {shown}{hint}")
    return [r for r in found if holds(r) != unlike]
