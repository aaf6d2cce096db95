"""Conditions on the values of results, such as ``aggregation.box.size=9``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereo_framework.core.errors import ParameterError, close_names
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.numbers import is_number
from stereo_framework.sweep.result import PROVENANCE, Result
from stereo_framework.sweep.value_text import cell_text

_MAX_VALUES_IN_MESSAGE = 20

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""The comparisons of numbers, by their signs. SQL has the same signs."""

_MAY_BE_NULL = ("energy", "seconds", *PROVENANCE)
"""Names whose missing values count as null.

If a result has no energy, for example, the option --json prints null. Therefore users
can select such results with the value null.
"""


@dataclass(frozen=True)
class Condition:
    """Condition that a result meets if it has one of several values under a name.

    Parameters
    ----------
    name : str
        Name that `Result.value` accepts.
    values : sequence
        Allowed values under the name.
    text : str, optional
        Text in which the user wrote the allowed values. If tables show the value of a
        result as this text, the result also meets the condition.
    is_negated : bool
        Whether the condition is inverted, so that results with one of the values do not
        meet it.
    """

    name: str
    values: Sequence[Any]
    text: str | None = None
    is_negated: bool = False

    def holds(self, result: Result) -> bool:
        """Return whether a result meets the condition."""
        return self.includes(result.value(self.name)) != self.is_negated

    def includes(self, value: Any) -> bool:
        """Return whether a value is one of `values`. `is_negated` has no influence."""
        return self._is_allowed(self._value_to_compare(value))

    def refuse_unused(self, values: Iterable[Any]) -> None:
        """Raise an error because no result has one of the values of the condition.

        Parameters
        ----------
        values : iterable
            The values of all results under the name.
        """
        text_of_user = self.text
        if text_of_user is None:
            text_of_user = ", ".join(map(cell_text, self.values))
        texts = list(dict.fromkeys(self._texts(values)))
        last_parts = [text.rpartition("/")[2] for text in texts]
        close = close_names(text_of_user, [*texts, *last_parts])
        hint = f"; did you mean {close[0]!r}?" if close else ""
        listed = ", ".join(texts[:_MAX_VALUES_IN_MESSAGE])
        if len(texts) > _MAX_VALUES_IN_MESSAGE:
            listed += ", ..."
        message = f"{self.name}: no result has {text_of_user!r}; there are: {listed}{hint}"
        if not texts:
            message = f"{self.name}: no result has {text_of_user!r}, and no result has a value"
        raise ParameterError(message)

    def _is_allowed(self, value: Any) -> bool:
        """Return whether a compared value is one of the allowed values."""
        if value is MISSING:
            return False
        if self.text is not None and self.text in _texts_of(value):
            return True
        if self.name == "scene" and any(value.endswith(f"/{scene}") for scene in self.values):
            return True
        return any(_is_same_value(value, allowed) for allowed in self.values)

    def _texts(self, values: Iterable[Any]) -> Iterator[str]:
        """Yield each value as a text, and skip results without a value."""
        for value in map(self._value_to_compare, values):
            if value is not MISSING:
                yield "null" if value is None else cell_text(value)

    def _value_to_compare(self, value: Any) -> Any:
        """Return the value that the condition compares, for the value of a result."""
        if value is MISSING and self.name in _MAY_BE_NULL:
            return None
        # If a table of scores has no column for scenes, the names of the scenes of its
        # results are empty. An empty name counts as a missing value.
        return MISSING if value == "" else value


@dataclass(frozen=True)
class NumberCondition:
    """Condition that the number of a result under a name is above or below a limit.

    Results without a number under the name do not meet the condition.

    Parameters
    ----------
    name : str
        Name that `Result.value` accepts.
    sign : {"<", "<=", ">", ">="}
        Comparison of the number with the limit.
    limit : float
        The limit.
    """

    name: str
    sign: str
    limit: float

    def holds(self, result: Result) -> bool:
        """Return whether a result meets the condition."""
        value = result.value(self.name)
        return is_number(value) and COMPARISONS[self.sign](value, self.limit)


AnyCondition = Condition | NumberCondition


def _texts_of(value: Any) -> set[str]:
    """Return all texts that a user may write in a condition for a value."""
    if value is None:
        return {"null", "none"}
    return {cell_text(value), str(value)}


def _is_same_value(value: Any, other: Any) -> bool:
    """Return whether a user who writes one value also means the other value.

    In Python, 1, 1.0 and True are equal. A user who writes 1 may mean 1.0, but does not
    mean True.
    """
    return value == other and isinstance(value, bool) == isinstance(other, bool)
