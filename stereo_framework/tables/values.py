"""The values that results hold under names: settings and statistics, which direction is better, and how values are printed."""

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from stereo_framework.core.errors import ParameterError, few, nearest, one_line
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.evaluation.protocols import shortest
from stereo_framework.sweep import Result

_Row = TypeVar("_Row")
_Key = TypeVar("_Key", bound=Hashable)

_NUMBERS = (int, float)

NOT_APPLICABLE = ""
"""The cell of a parameter that a method does not have at all, such as a smoothness weight where nothing is smoothed.

None is something else: the value of a parameter that exists and was set to ``null``, such as a truncation that is switched off. `NOT_APPLICABLE` is the
empty text, so that such cells stay empty in CSV files; test for it with ``value == NOT_APPLICABLE``.
"""


def check_name(name: str, results: Sequence[Result], what: str = "") -> None:
    """Refuse a name under which no result has a value.

    Raises
    ------
    ParameterError
    """
    own = ("scene", "method", "protocol", "energy", "seconds")
    # Usually one of the first results has it, and thousands of others need not be asked.
    if name in own or any(setting(r, name) != NOT_APPLICABLE for r in results):
        return
    known = set(own)
    known |= {n for r in results for n in (*r.parameters, *r.axes, *r.statistics)}
    known |= {f"seconds.{n}" for r in results for n in r.seconds}
    known |= {n.removesuffix(".use") for n in known}
    if results and name not in known:
        raise ParameterError(f"{what}{name!r}: no result has it; {nearest(name, known)}")


def one_protocol(results: Sequence[Result]) -> str:
    """Return the text of the protocol that measured all results.

    Raises
    ------
    ParameterError
        Several protocols measured the results, so that their numbers cannot be compared.
    """
    texts = {r.protocol_text: None for r in results if r.protocol_text}
    names = {r.protocol: None for r in results if r.protocol}
    # Files of scores hold names of protocols without their texts, or neither.
    if len(texts) > 1 or len(names) > 1:
        raise ParameterError(_several_protocols(list(names)))
    return next(iter(texts), "")


def _several_protocols(names: Sequence[str]) -> str:
    """Return the message for results of several protocols, some of which may have no name."""
    shown = [one_line(name, 80) for name in names] or ["protocols without a name"]
    if len(names) > 1:
        remedy = f"choose those of one protocol, as in --where 'protocol={shown[0]}'"
    elif names:
        remedy = f"they are of different versions of {shown[0]}; leave out those of earlier scripts"
    else:
        remedy = "the protocols have no name to choose them by; run again to measure the maps"
    listed = " and ".join(shown) if len(shown) <= _NAMED else few(shown, _NAMED)
    return f"results of {listed} do not belong together; {remedy}"


_NAMED = 5
"""Protocols that a message names."""


def value(result: Result, name: str) -> Any:
    """The value of a result under a name, or None if it has none.

    Parameters
    ----------
    result : Result
    name : str
        A statistic, an axis, a parameter, or a slot, whose value is its stage; ``scene``, ``method``, ``protocol`` or ``energy``; ``seconds``, the time of
        matching with all stages, ``seconds.STAGE``, or ``seconds.evaluation``, the time of measuring the map.
    """
    found = setting(result, name)
    return None if found == NOT_APPLICABLE else found


def by_protocol(results: Sequence[Result]) -> dict[str, list[Result]]:
    """The results of each protocol, by its text; those of different protocols never stand in one table."""
    return grouped(results, lambda r: r.protocol_text)


def grouped(items: Iterable[_Row], key: Callable[[_Row], _Key]) -> dict[_Key, list[_Row]]:
    """Items by what they have in common, in their order."""
    found: dict[_Key, list[_Row]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def column(results: Sequence[Result], name: str) -> list[Any]:
    """The values of all results under a name, as `value` gives them."""
    return [None if found == NOT_APPLICABLE else found for found in settings(results, name)]


def settings(results: Sequence[Result], name: str) -> list[Any]:
    """The values of all results under a name, as `setting` gives them."""
    if name in ("scene", "method"):
        return [getattr(r, name) for r in results]
    # Thousands are not asked for their parameters, which take long to read.
    for found in (
        [of.get(name, NOT_APPLICABLE) for of in own]
        for own in ([r.statistics for r in results], [r.axes for r in results])
    ):
        if NOT_APPLICABLE not in found:
            return found
    return [setting(r, name) for r in results]


def all_names(mappings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The keys of mappings, each once, in their order. Thousands of results have the same ones."""
    return list(dict.fromkeys(itertools.chain.from_iterable(dict.fromkeys(map(tuple, mappings)))))


def setting(result: Result, name: str) -> Any:
    """As `value`, but null and nothing are distinguished: None stands for null, `NOT_APPLICABLE` for a parameter that the method does not have."""
    # Statistics come first, since they are asked of thousands of results.
    if name in result.statistics:
        return result.statistics[name]
    if name in ("scene", "method", "protocol", "energy"):
        return getattr(result, name)
    if name == "seconds":
        return result.matching_seconds
    if name.startswith("seconds."):
        return result.seconds.get(name.removeprefix("seconds."), NOT_APPLICABLE)
    for values in (result.axes, result.parameters):
        if name in values:
            return values[name]
    return result.parameters.get(f"{name}.use", NOT_APPLICABLE)


def is_number(item: object) -> bool:
    """Whether a value is a number, which true, false and NaN are not."""
    return isinstance(item, _NUMBERS) and item == item and item is not True and item is not False


def better(name: str) -> str:
    """Which direction of a statistic is better: ``lower`` or ``higher``; ``""`` if neither is."""
    if name in ("energy", "gap") or name.partition(".")[0] == "seconds":
        return "lower"
    if name == "lower_bound":
        return "higher"
    metric = metric_of(name)
    return metric.better if metric else ""


def show(item: Any) -> str:
    """A value as tables print it: a number with the digits that matter, and "-" for no value."""
    if item is None or item == NOT_APPLICABLE:
        return "-"
    if isinstance(item, bool):
        return str(item).lower()
    if isinstance(item, float):
        if not math.isfinite(item):
            return "-"
        return (
            f"{item:.0f}"
            if abs(item) >= 10_000
            else f"{item:.2g}"
            if 0 < abs(item) < 0.1
            else f"{item:.2f}"
        )
    return str(item)


def shown_alike(number: float) -> float:
    """A distance from a number beyond which `show` prints no other number alike, so that of thousands only the near ones must be printed to compare them."""
    size = abs(number)
    return 1 if size >= 10_000 else 0.011 if size >= 0.1 else size / 8


def word(item: Any) -> str:
    """A setting as tables and figures print it: 20 rather than 20.00, and "none" for null."""
    return "none" if item is None else shortest(item) if isinstance(item, float) else show(item)


def sort_rows(
    rows: Iterable[_Row], keys: Sequence[str], item: Callable[[_Row, str], Any]
) -> list[_Row]:
    """Rows sorted by their items under names, of which the first name counts most; ``-NAME`` sorts largest first.

    Numbers are ordered by size and come before texts, or after them when sorting largest first. Rows without an item always come at the end, those with null before
    the others.
    """
    found = list(rows)
    for key in reversed(keys):
        items = [(item(row, key.removeprefix("-")), row) for row in found]
        there = [pair for pair in items if not _is_nothing(pair[0])]
        there.sort(key=lambda pair: _order(pair[0]), reverse=key.startswith("-"))
        null_rows = [row for item, row in items if item is None]
        empty_rows = [row for item, row in items if item is not None and _is_nothing(item)]
        found = [*(row for _, row in there), *null_rows, *empty_rows]
    return found


def _is_nothing(item: Any) -> bool:
    return bool(item in (None, NOT_APPLICABLE) or item != item)


def _order(item: Any) -> tuple[bool, float, str]:
    number = is_number(item) or isinstance(item, bool)
    return not number, item if number else 0, "" if number else str(item)
