"""Maps that must have one size."""

from __future__ import annotations

from stereo_framework.errors import DataError


def check_one_size(what: str, shape: tuple[int, ...], other: str, other_shape: tuple[int, ...]) -> None:
    """Refuse two maps of different sizes.

    Parameters
    ----------
    what, other : str
        Names of the two, for the message: "the map is", "the truth".
    shape, other_shape : tuple of int
        Rows and columns.

    Raises
    ------
    DataError
        The shapes differ.
    """
    if shape != other_shape:
        a, b = (" x ".join(map(str, size[::-1])) for size in (shape, other_shape))
        raise DataError(f"{what} {a}, {other} {b}; expected one size")
