"""The level of lowest cost at each pixel of a row, and what it costs: floats by the patterns of their bits, since LLVM vectorizes minima of integers alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel


@kernel(inline="always")
def ordered(bits: Any) -> Any:
    """The int32 bits of a float32 as an integer of the same order; its own inverse, but for -0, which becomes 0."""
    sign = bits >> np.int32(31)
    return np.int32((bits ^ (sign & np.int32(0x7FFFFFFF))) - sign)


HIGHEST = np.int32(0x7FFFFFFF)
"""Above the bits of every cost."""


@kernel(inline="always")
def lowest_of(values: Any) -> Any:
    """The lowest of some float32 values."""
    least = HIGHEST
    for k in range(values.shape[0]):
        key = ordered(np.float32(values[k]).view(np.int32))
        least = key if key < least else least
    return np.int32(ordered(least)).view(np.float32)


Searched = tuple[NDArray | None, NDArray[np.int32] | None]
"""Costs in C order as winners are searched in them: whole numbers as they are, or the bits of float32. The other one is None, and what would run for it is not
compiled.
"""


def searched(costs: NDArray) -> Searched:
    """Costs uint8, uint16 or float32 in the form in which winners are searched."""
    return (None, costs.view(np.int32)) if costs.dtype == np.float32 else (costs, None)


@kernel
def row_winners(
    whole: NDArray | None, bits: NDArray[np.int32] | None, y: int, labels: NDArray[np.int16]
) -> None:
    """The levels of lowest cost in row `y` of what `searched` gives; of equal costs the lowest level."""
    if whole is not None:
        integer_winners(whole[y], labels)
    if bits is not None:
        float_winners(bits[y], labels)


@kernel(inline="always")
def _key(bits: Any) -> Any:
    """The bits of a float32 as an integer of the same order; every NaN, whatever its sign, comes after infinity."""
    # Below -inf there is nothing but NaN: moved down by this much, it wraps around to the upper end.
    return np.int32(ordered(bits) - np.int32(0x00800000))


@kernel
def float_winners(bits: NDArray[np.int32], labels: NDArray[np.int16]) -> None:
    """The levels of lowest cost in a row ``(columns, levels)`` of bits of float32."""
    columns, levels = bits.shape
    for x in range(columns):
        least = _key(bits[x, 0])
        for k in range(1, levels):
            key = _key(bits[x, k])
            least = key if key < least else least
        winner = np.int32(levels)
        for k in range(levels):
            level = np.int32(k) if _key(bits[x, k]) == least else np.int32(levels)
            winner = level if level < winner else winner
        labels[x] = winner


@kernel
def integer_winners(costs: NDArray, labels: NDArray[np.int16]) -> None:
    """The same of costs uint8 or uint16. Nothing here is wider than 16 bits, so that a register holds as many levels as it can."""
    columns, levels = costs.shape
    for x in range(columns):
        least = costs[x, 0]
        for k in range(1, levels):
            least = costs[x, k] if costs[x, k] < least else least
        winner = np.uint16(levels)
        for k in range(levels):
            level = np.uint16(k) if costs[x, k] == least else np.uint16(levels)
            winner = level if level < winner else winner
        labels[x] = winner
