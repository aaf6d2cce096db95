"""The object `MISSING`, which stands for a value that a result does not have."""

from typing import final


@final
class MissingValue:
    """Class of the object `MISSING`.

    The object is false and has no text, so that a CSV file contains an empty cell.
    """

    __slots__ = ()
    _only_object: "MissingValue | None" = None

    def __new__(cls) -> "MissingValue":
        """Return the only object of the class."""
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
        """Return the name of the object, so that copies are the same object."""
        return "MISSING"


MISSING = MissingValue()
"""The value under a name that a result does not have.

An example is the smoothness weight of a method without smoothness term. In contrast,
None is the value of a parameter that was set to null. The test for this object is
``value is MISSING``.
"""
