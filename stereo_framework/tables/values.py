"""What results hold under names: settings, statistics, their directions, and how they are shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from stereo_framework.errors import ParameterError, nearest
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.evaluation.protocols import shortest

if TYPE_CHECKING:
    from stereo_framework.sweep import Result

_Row = TypeVar("_Row")

ABSENT = ""
"""What a result has under the name of a parameter that its method has not; null is None."""


def check_name(name: str, results: Sequence[Result], what: str = "") -> None:
    """Refuse a name that no result has a value under.

    Raises
    ------
    ParameterError
    """
    known = {"scene", "method", "protocol", "energy", "seconds"}
    known |= {n for r in results for n in (*r.parameters, *r.axes, *r.statistics)}
    known |= {f"seconds.{n}" for r in results for n in r.seconds}
    known |= {n.removesuffix(".use") for n in known}
    if results and name not in known:
        raise ParameterError(f"{what}{name!r}: no result has it; {nearest(name, known)}")


def one_protocol(results: Sequence[Result], option: str = "--where 'protocol={}'") -> str:
    """The text of the protocol that all results were measured with.

    Parameters
    ----------
    results : sequence of Result
    option : str
        Of the command line, that chooses the results of a protocol; told where there are several.

    Raises
    ------
    ParameterError
        There are several: their numbers do not belong together.
    """
    texts = dict.fromkeys(r.protocol_text for r in results)
    if len(texts) > 1:
        names = list(dict.fromkeys(r.protocol for r in results))
        how = f"choose those of one protocol, as in {option.format(names[0])}"
        if len(names) == 1:
            how = f"they are of different versions of {names[0]}; leave out those of earlier scripts"
        raise ParameterError(f"results of {' and '.join(names)} do not belong together; {how}")
    return next(iter(texts), "")


def value(result: Result, name: str) -> Any:
    """What a result has under a name; None where it has nothing.

    Parameters
    ----------
    result : Result
    name : str
        A statistic; an axis or parameter; a slot, for its stage; ``scene``, ``method``, ``protocol``, ``energy``; ``seconds`` (of matching, all
        stages together) or ``seconds.STAGE``, of measuring the map ``seconds.evaluation``.
    """
    found = setting(result, name)
    return None if found == ABSENT else found


def setting(result: Result, name: str) -> Any:
    """The same, with `ABSENT` where the result has nothing and None where it has null."""
    if name in ("scene", "method", "protocol", "energy"):
        return getattr(result, name)
    if name == "seconds":
        return result.matching_seconds
    if name.startswith("seconds."):
        return result.seconds.get(name.removeprefix("seconds."))
    for values in (result.statistics, result.axes, result.parameters):
        if name in values:
            return values[name]
    return result.parameters.get(f"{name}.use", ABSENT)


def is_number(item: object) -> bool:
    """A number that is one: neither true nor false, nor NaN."""
    return isinstance(item, int | float) and not isinstance(item, bool) and not math.isnan(item)


def better(name: str) -> str:
    """Which direction of a statistic is better: ``lower``, ``higher`` or, for what is neither, ``""``."""
    if name == "energy" or name.partition(".")[0] == "seconds":
        return "lower"
    metric = metric_of(name)
    return metric.better if metric else ""


def show(item: Any) -> str:
    """A value as tables print it: numbers with the digits that matter, nothing as "-"."""
    if item is None or item == ABSENT:
        return "-"
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, float):
        if not math.isfinite(item):
            return "-"
        return f"{item:.0f}" if abs(item) >= 10_000 else f"{item:.2g}" if 0 < abs(item) < 0.1 else f"{item:.2f}"
    return str(item)


def word(item: Any) -> str:
    """What was set, as tables and figures print it: 20, not 20.00, and "none" for null."""
    return "none" if item is None else shortest(item) if isinstance(item, float) else show(item)


def sort_rows(rows: Iterable[_Row], key: Callable[[_Row], Any], *, descending: bool) -> list[_Row]:
    """Rows by a value: numbers by size, then texts, either way round, and in any case what has none at the end."""
    numbers: list[_Row] = []
    texts: list[_Row] = []
    nothing: list[_Row] = []
    for row in rows:
        item = key(row)
        (
            numbers if is_number(item) or isinstance(item, bool) else nothing if item in (None, ABSENT) or item != item else texts
        ).append(row)
    numbers.sort(key=key, reverse=descending)
    texts.sort(key=lambda row: str(key(row)), reverse=descending)
    return [*texts, *numbers, *nothing] if descending else [*numbers, *texts, *nothing]
