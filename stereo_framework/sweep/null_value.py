"""Text for the value null in tables of parameters that programs read."""

from typing import Any


class NullText(str):
    """The text "none", for which every order comparison with a number is False.

    If a column of a DataFrame contains numbers and a plain text, the expression
    ``frame.query("truncation <= 20")`` raises a TypeError. If the column contains
    numbers and this text, the expression leaves out the rows with the text, as it
    leaves out rows with NaN. Unlike rows with NaN, rows with this text appear in pivot
    tables and groups. In addition, the text differs from the missing value of a
    parameter that a method does not have.
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
"""Text in a table cell whose parameter was set to null."""
