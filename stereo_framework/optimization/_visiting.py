"""Orders in which to visit all pixels, as rounds of pixels that are no neighbours of each other.

A pixel's visit concerns its four neighbours alone. Those of one round can thus be visited in any order, together, or in threads; visiting
the rounds one after the other amounts to visiting the pixels one by one in the order that the rounds stand for.
"""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.random_numbers import random_number

Bytes = NDArray[np.uint8]

_LAST = np.int32(0x7FFFFFFF)
"""A priority after all others, of which there are 2**30."""
_EARLIER, _LATER = np.uint8(255), np.uint8(0)


def fixed_rounds(
    order: str, rows: int, columns: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Raster order, or all pixels with an even sum of row and column and then the others ("checkerboard").

    Pixels, numbered row by row, in their rounds, int32; where each round begins, and at last their number, int64.
    """
    sums = np.add.outer(np.arange(rows), np.arange(columns)).reshape(-1)
    # In raster order a pixel comes after the upper and the left one: those of a diagonal are independent.
    number = sums % 2 if order == "checkerboard" else sums
    return np.argsort(number, kind="stable").astype(np.int32), np.append(
        0, np.cumsum(np.bincount(number))
    )


@kernel
def random_rounds(
    rows: int, columns: int, key: int, other: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """All pixels in a random order, another one for each pair of keys; returns what `fixed_rounds` does."""
    pixels = rows * columns
    # One more row above and below gives every pixel four neighbours.
    priorities = np.full(pixels + 2 * columns, _LAST, np.int32)
    for p in range(pixels):
        priorities[p + columns] = random_number(p, key, other) >> 2
    before = np.empty((4, pixels), np.uint8)
    _compare(priorities, columns, before[0], before[1], before[2], before[3])
    # The ends of successive rows are no neighbours.
    before[0, ::columns] = before[1, columns - 1 :: columns] = _LATER
    number, following = (
        np.zeros(priorities.shape[0], np.uint8),
        np.zeros(priorities.shape[0], np.uint8),
    )
    while _advance(number, columns, before[0], before[1], before[2], before[3], following):
        number, following = following, number
    order = np.empty(pixels, np.int32)
    return order, _sort(number[columns : columns + pixels], order)


@kernel
def _compare(
    priorities: NDArray[np.int32], columns: int, left: Bytes, right: Bytes, up: Bytes, down: Bytes
) -> None:
    """Whether a pixel's neighbour comes before it, 255 or 0, for each of the four; of equal ones the first comes first."""
    own = priorities[columns:-columns]
    beside = priorities[columns - 1 : -columns - 1], priorities[columns + 1 :]
    above, below = priorities[: -2 * columns], priorities[2 * columns :]
    for p in range(own.shape[0]):
        left[p] = _EARLIER if beside[0][p] <= own[p] else _LATER
        right[p] = _EARLIER if beside[1][p] < own[p] else _LATER
        up[p] = _EARLIER if above[p] <= own[p] else _LATER
        down[p] = _EARLIER if below[p] < own[p] else _LATER


@kernel
def _advance(
    number: Bytes, columns: int, left: Bytes, right: Bytes, up: Bytes, down: Bytes, following: Bytes
) -> bool:
    """Put every pixel into the round after those of its neighbours that come before it; whether any changed its round.

    The first round is 0. It takes as many calls as there are rounds: about 13, as a way along which random priorities rise is short. One
    of 256 pixels, which would overflow, is to be expected once in 1e300 images.
    """
    own, beside = (
        number[columns:-columns],
        (number[columns - 1 : -columns - 1], number[columns + 1 :]),
    )
    above, below = number[: -2 * columns], number[2 * columns :]
    out = following[columns:-columns]
    changed = np.uint8(0)
    for p in range(own.shape[0]):
        horizontal = _later(_after(beside[0][p], left[p]), _after(beside[1][p], right[p]))
        vertical = _later(_after(above[p], up[p]), _after(below[p], down[p]))
        out[p] = _later(horizontal, vertical)
        changed = np.uint8(changed | (out[p] ^ own[p]))
    return changed != 0


# Arithmetic that stays in 8 bits, so that a register holds as many pixels as it can.


@kernel(inline="always")
def _after(number: np.uint8, mask: np.uint8) -> np.uint8:
    return np.uint8((number + np.uint8(1)) & mask)


@kernel(inline="always")
def _later(number: np.uint8, other: np.uint8) -> np.uint8:
    return number if number > other else other


@kernel
def _sort(number: Bytes, order: NDArray[np.int32]) -> NDArray[np.int64]:
    """Sort the pixels by their rounds; where each round begins."""
    bounds = np.zeros(int(number.max()) + 2, np.int64)
    for p in range(number.shape[0]):
        bounds[np.uint64(number[p]) + np.uint64(1)] += 1
    bounds = np.cumsum(bounds)
    free = bounds.copy()
    for p in range(number.shape[0]):
        at = np.uint64(number[p])
        order[free[at]] = p
        free[at] += 1
    return bounds
