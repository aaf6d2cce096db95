"""The text that stands for null in tables of parameters that programs read."""

from typing import Any


class NullText(str):
    """The text "none", which no comparison calls smaller or larger than a number.

    A column of a DataFrame that holds numbers and this text can be queried as one that
    holds numbers and NaN: ``frame.query("truncation <= 20")`` leaves the rows with null
    out, where a plain text would raise a TypeError. Unlike NaN, pivot tables and groups
    keep it, and it differs from the missing value of a parameter that a method lacks.
    """

    __slots__ = ()

    def __lt__(self, other: Any) -> bool:
        return isinstance(other, str) and str(self) < other

    def __le__(self, other: Any) -> bool:
        return isinstance(other, str) and str(self) <= other

    def __gt__(self, other: Any) -> bool:
        return isinstance(other, str) and str(self) > other

    def __ge__(self, other: Any) -> bool:
        return isinstance(other, str) and str(self) >= other

    def __float__(self) -> float:
        return float("nan")


NULL = NullText("none")
