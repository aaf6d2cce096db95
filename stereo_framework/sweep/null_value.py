"""The text that stands for null in tables of parameters that programs read."""

from typing import Any


class NullText(str):
    """The text "none", which no comparison calls smaller or larger than a number.

    A column of a DataFrame with numbers and this text can be queried like a column with
    numbers and NaN. For example, ``frame.query("truncation <= 20")`` leaves out the
    rows with null, but a plain text would raise a TypeError. Unlike NaN, the text stays
    in pivot tables and groups, and it differs from the missing value of a parameter
    that a method does not have.
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
"""The text of a parameter that was set to null."""
