"""Segments of an image: connected pixels between which colours change little beside how they change inside (Felzenszwalb & Huttenlocher 2004)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

# To the right, downwards and along both diagonals: each pair of the eight neighbours once.
_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))
_FOUR = np.uint32(len(_STEPS))
_DIGIT = 9
"""Bits by which numbers are sorted at a time: so few that the places where each goes stay in the first-level cache."""
_LAST = np.uint64((1 << _DIGIT) - 1)


class _Forest(NamedTuple):
    """Of each pixel one of its segment, in steps the first; of that the segment's pixels, and the largest difference that it takes."""

    first: NDArray[np.int32]
    size: NDArray[np.int32]
    limit: NDArray[np.float64]


def segments(image: NDArray, sigma: float, k: float, minimum: int) -> NDArray[np.int32]:
    """Which segment each pixel belongs to.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Colours differ by the Euclidean length of their difference.
    sigma : float
        Standard deviation of the Gaussian that the image is smoothed with first, in pixels; 0 = none.
    k : float
        The paper's k, in grey levels: two segments become one where the least difference between them is at most the largest needed to connect either, plus
        `k` divided by its pixels.
    minimum : int
        Segments of fewer pixels are then joined with the neighbour that differs least.

    Returns
    -------
    ndarray, int32, (rows, columns)
        Numbers from 0 on, in the order in which the segments' first pixels are read. Read-only to whoever gets it: it may be kept for others.

    Notes
    -----
    Of equal differences that at the pixel read first counts first.
    """
    rows, columns = image.shape[:2]
    smooth = _smoothed(np.ascontiguousarray(image.reshape(rows, columns, -1), np.float64), sigma)
    differences = np.full((rows, columns, len(_STEPS)), np.inf)
    over_rows(
        lambda start, stop: _differences(smooth, start, stop, differences), rows, 4 * smooth.size
    )
    forest = _Forest(
        np.arange(rows * columns, dtype=np.int32),
        np.ones(rows * columns, np.int32),
        np.full(rows * columns, float(k)),
    )
    order, ascending = _order(differences.reshape(-1))
    places = order[: np.searchsorted(ascending, np.inf)].astype(np.uint32)
    apart = _join(places, ascending, columns, float(k), 0, forest)
    _join(places[:apart], ascending, columns, float(k), minimum, forest)
    first = forest.first
    _flatten(first)
    # A segment is numbered by how many of the pixels up to its first one are the first of theirs.
    numbers = np.cumsum(first == np.arange(first.size), dtype=np.int32) - np.int32(1)
    return numbers[first].reshape(rows, columns)


def _smoothed(image: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """Gaussian means along columns, then along rows; the image is continued by its mirror image. It is SciPy's filter to the bit, which takes long to load."""
    reach = int(4 * sigma + 0.5)
    if reach == 0:
        return image
    weights = np.exp(-0.5 / sigma**2 * np.arange(reach + 1) ** 2)
    weights /= np.exp(-0.5 / sigma**2 * np.arange(-reach, reach + 1) ** 2).sum()
    for axis in (0, 1):
        around = [(0, 0)] * 3
        around[axis] = reach, reach
        wide, length = (
            np.moveaxis(np.pad(image, around, mode="symmetric"), axis, 0),
            image.shape[axis],
        )
        smooth = wide[reach : reach + length] * weights[0]
        for k in range(reach, 0, -1):
            smooth += (
                wide[reach - k : reach - k + length] + wide[reach + k : reach + k + length]
            ) * weights[k]
        image = np.moveaxis(smooth, 0, axis)
    return np.ascontiguousarray(image)


@kernel
def _differences(
    image: NDArray[np.float64], start: int, stop: int, differences: NDArray[np.float64]
) -> None:
    """From each pixel of some rows to those one step away; what lies beyond the image is left as it is."""
    rows, columns, channels = image.shape
    for y in range(start, stop):
        for x in range(columns):
            for k, (down, right) in enumerate(_STEPS):
                v, u = y + down, x + right
                if v < rows and 0 <= u < columns:
                    square = 0.0
                    for c in range(channels):
                        square += (image[v, u, c] - image[y, x, c]) ** 2
                    differences[y, x, k] = np.sqrt(square)


def _order(numbers: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The places of numbers that are not negative in ascending order, equal ones as they stand, and the numbers in that order.

    A number's first bits and its place are sorted as one, and then those put right that differ in the other bits alone.
    """
    # Bits of numbers that are not negative stand in the numbers' order, and the first one is 0.
    bits, room = numbers.view(np.uint64), numbers.size.bit_length()
    first = bits >> np.uint64(max(room - 1, 0))
    first <<= np.uint64(room)
    first |= np.arange(numbers.size, dtype=np.uint64)
    first = _sorted(first, np.empty_like(first), np.zeros(1 << _DIGIT, np.int64), room)
    order = (first & np.uint64((1 << room) - 1)).view(np.int64)
    sorted_ = numbers[order]
    if (sorted_[1:] < sorted_[:-1]).any():
        first >>= np.uint64(room)
        alike = first[1:] == first[:-1]
        some = np.flatnonzero(np.append(alike, False) | np.append(False, alike))
        order[some] = order[some][np.argsort(sorted_[some], kind="stable")]
        sorted_[some] = numbers[order[some]]
    return order, sorted_


@kernel
def _sorted(
    numbers: NDArray[np.uint64], spare: NDArray[np.uint64], starts: NDArray[np.int64], low: int
) -> NDArray[np.uint64]:
    """Sort whole numbers by their bits from `low` on, `_DIGIT` of them at a time; equal ones stay as they stand. Either array holds the result."""
    for shift in range(low, 64, _DIGIT):
        starts[:] = 0
        for number in numbers:
            starts[(number >> np.uint64(shift)) & _LAST] += 1
        total = 0
        for digit in range(starts.shape[0]):
            starts[digit], total = total, total + starts[digit]
        for number in numbers:
            digit = (number >> np.uint64(shift)) & _LAST
            spare[starts[digit]] = number
            starts[digit] += 1
        numbers, spare = spare, numbers
    return numbers


@kernel
def _join(
    places: NDArray[np.uint32],
    differences: NDArray[np.float64],
    columns: int,
    k: float,
    minimum: int,
    forest: _Forest,
) -> int:
    """Join the segments of pairs of pixels whose difference is small enough or, with a `minimum`, those that have fewer pixels.

    `places`: of the differences, pixel by pixel and step by step, the least difference first. Those of pairs that stay apart are moved to the
    front, and so are their differences; returns how many they are.
    """
    first, size, limit = forest.first, forest.size, forest.limit
    away = np.array([down * columns + right for down, right in _STEPS], np.int32)
    apart = 0
    for i in range(places.shape[0]):
        place, difference = places[i], differences[i]
        pixel = np.int32(place // _FOUR)
        a, b = first_of(first, pixel), first_of(first, np.int32(pixel + away[place % _FOUR]))
        if a == b:
            continue
        if minimum > 0:
            wanted = size[a] < minimum or size[b] < minimum
        else:
            wanted = difference <= limit[a] and difference <= limit[b]
        if wanted:
            a, b = min(a, b), max(a, b)
            first[b] = a
            size[a] += size[b]
            limit[a] = difference + k / size[a]
        else:
            places[apart], differences[apart] = place, difference
            apart += 1
    return apart


@kernel
def _flatten(first: NDArray[np.int32]) -> None:
    """Let every pixel name the first pixel of its segment."""
    for pixel in range(first.shape[0]):
        first[pixel] = first_of(first, np.int32(pixel))


@kernel
def first_of(first: NDArray[np.int32], pixel: Any) -> Any:
    """Follow the pixels that stand for others, and shorten the way for the next time."""
    while first[pixel] != pixel:
        first[pixel] = first[first[pixel]]
        pixel = first[pixel]
    return pixel
