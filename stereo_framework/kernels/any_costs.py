"""Costs of any of the three types in one form, so that a large kernel that reads or writes them is compiled once."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class AnyCosts(NamedTuple):
    """The same array by type; those of the two other types are empty."""

    bytes: NDArray[np.uint8]
    words: NDArray[np.uint16]
    floats: NDArray[np.float32]


def any_costs(costs: NDArray) -> AnyCosts:
    """Costs uint8, uint16 or float32 as `AnyCosts`; all three arrays are read-only if these are."""
    none = [np.empty((0,) * costs.ndim, kind) for kind in (np.uint8, np.uint16, np.float32)]
    for array in none:
        array.flags.writeable = costs.flags.writeable
    return AnyCosts(*(costs if costs.dtype == array.dtype else array for array in none))
