"""Arrays that are measured together are of one size."""

from __future__ import annotations

from numpy.typing import NDArray

from stereo_framework.errors import DataError


def check_sizes(function: str, **arrays: NDArray) -> None:
    """Refuse arrays of different rows and columns on behalf of a function, whose kernels would read beyond the smaller ones.

    Raises
    ------
    DataError
        One of `arrays` has other rows and columns than the first.
    """
    (first, one), *others = arrays.items()
    for name, array in others:
        if array.shape[:2] != one.shape[:2]:
            raise DataError(f"{function}: {name} has shape {array.shape}; {one.shape[:2]} fits the {first}")
