"""The object `MISSING`, which stands for a value that a result does not have."""

from typing import final


@final
class MissingValue:
    """Class of the object `MISSING`.

    The truth value of the object is False, and its text is empty. The cell of a missing
    value in a CSV file is therefore empty.
    """

    __slots__ = ()
    _only_object: "MissingValue | None" = None

    def __new__(cls) -> "MissingValue":
        """Return the only object of the class, and create it at the first call."""
        if cls._only_object is None:
            cls._only_object = super().__new__(cls)
        return cls._only_object

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "MISSING"

    def __str__(self) -> str:
        return ""

    def __reduce__(self) -> str:
        """Return a name for pickle, so that a copy of the object is the same object."""
        return "MISSING"


MISSING = MissingValue()
"""Object that `Result.value` returns if the result has no value under a name.

For example, a method without a smoothness term has no value for the smoothness weight.
In contrast, None is the value of a parameter that was set to null. The expression
``value is MISSING`` tests whether a value is missing.
"""
