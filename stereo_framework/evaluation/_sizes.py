"""Maps and images that must have one size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError


def check_sizes(function: str, **arrays: NDArray) -> None:
    """Refuse arrays of different rows and columns on behalf of a function, whose kernels would read beyond the smaller ones, and masked ones.

    Raises
    ------
    DataError
        One of `arrays` has other rows and columns than the first, or a mask of its own.
    """
    if masked := [name for name, array in arrays.items() if isinstance(array, np.ma.MaskedArray)]:
        raise DataError(f"{function}: {masked[0]} is a masked array; give its numbers, with NaN where there is none")
    (first, one), *others = arrays.items()
    for name, array in others:
        if array.shape[:2] != one.shape[:2]:
            raise DataError(f"{function}: {name} has shape {array.shape}; {one.shape[:2]} fits the {first}")
