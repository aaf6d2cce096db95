"""Segments of an image: connected pixels between which colours change little beside how they change inside (Felzenszwalb & Huttenlocher 2004)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel

_DIGIT = 11
"""Bits of a digit when differences are sorted: its counts are to stay in the first cache."""
# To the right, downwards and along both diagonals: each pair of the eight neighbours once.
_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))


def segments(image: NDArray, sigma: float, scale: float, minimum: int) -> NDArray[np.int32]:
    """Which segment each pixel belongs to.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Colours differ by the Euclidean length of their difference.
    sigma : float
        Standard deviation of the Gaussian that the image is smoothed with first, in pixels; 0 = none.
    scale : float
        The paper's k, in grey levels: two segments become one where the least difference between them is at most the largest needed to connect either, plus
        `scale` divided by its pixels.
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
    smooth = _smoothed(image.reshape(rows, columns, -1).astype(np.float64), sigma)
    differences = np.full((rows, columns, len(_STEPS)), np.inf)
    _differences(smooth, differences)
    first = np.empty(rows * columns, np.int32)
    flat = differences.reshape(-1)
    order = _order(flat.view(np.uint64), np.arange(flat.size, dtype=np.uint32), np.empty(flat.size, np.uint32))
    _join(order, flat, columns, scale, minimum, first)
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
    rows, columns, _ = image.shape
    wide = np.pad(image, ((reach, reach), (0, 0), (0, 0)), mode="symmetric")
    image = _weighted([wide[i : i + rows] for i in range(2 * reach + 1)], weights)
    wide = np.pad(image, ((0, 0), (reach, reach), (0, 0)), mode="symmetric")
    return _weighted([wide[:, i : i + columns] for i in range(2 * reach + 1)], weights)


def _weighted(moved: list[NDArray[np.float64]], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weighted sum of an image moved by one pixel after the other; `weights`: of that in the middle and those around."""
    reach = len(weights) - 1
    found: NDArray[np.float64] = moved[reach] * weights[0]
    both = np.empty_like(found)
    for i in range(reach, 0, -1):
        np.add(moved[reach - i], moved[reach + i], out=both)
        both *= weights[i]
        found += both
    return found


@kernel
def _differences(image: NDArray[np.float64], differences: NDArray[np.float64]) -> None:
    """From each pixel to those one step away; what lies beyond the image is left as it is."""
    rows, columns, channels = image.shape
    for y in range(rows):
        for x in range(columns):
            for k, (down, right) in enumerate(_STEPS):
                v, u = y + down, x + right
                if v < rows and 0 <= u < columns:
                    square = 0.0
                    for c in range(channels):
                        square += (image[v, u, c] - image[y, x, c]) ** 2
                    differences[y, x, k] = np.sqrt(square)


@kernel
def _order(bits: NDArray[np.uint64], order: NDArray[np.uint32], scratch: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The places of numbers that are not negative, given by their bits, the least first, equal ones as they stand: digit by digit, the last first."""
    counts = np.empty(1 << _DIGIT, np.int64)
    for digit in range(-(-64 // _DIGIT)):
        shift = np.uint64(digit * _DIGIT)
        mask = np.uint64((1 << _DIGIT) - 1)
        counts[:] = 0
        for i in range(bits.shape[0]):
            counts[(bits[i] >> shift) & mask] += 1
        if counts[(bits[0] >> shift) & mask] == bits.shape[0]:
            continue
        place = 0
        for i in range(counts.shape[0]):
            place, counts[i] = place + counts[i], place
        for i in range(bits.shape[0]):
            key = (bits[order[i]] >> shift) & mask
            scratch[counts[key]] = order[i]
            counts[key] += 1
        order, scratch = scratch, order
    return order


@kernel
def _join(
    order: NDArray[np.uint32],
    differences: NDArray[np.float64],
    columns: int,
    scale: float,
    minimum: int,
    first: NDArray[np.int32],
) -> None:
    """The first pixel of each pixel's segment. `order`: places of `differences`, the least first."""
    size = np.ones(first.shape[0], np.int32)
    # The largest difference that a segment takes.
    limit = np.full(first.shape[0], scale)
    first[:] = np.arange(first.shape[0])
    for small_ones in (False, True):
        for place in order:
            difference = differences[place]
            # Beyond the image; all that follow are too.
            if difference == np.inf:
                break
            down, right = _STEPS[place % len(_STEPS)]
            pixel = int(place) // len(_STEPS)
            a, b = _first(first, pixel), _first(first, pixel + down * columns + right)
            if a == b:
                continue
            if small_ones:
                wanted = size[a] < minimum or size[b] < minimum
            else:
                wanted = difference <= limit[a] and difference <= limit[b]
            if wanted:
                a, b = min(a, b), max(a, b)
                first[b] = a
                size[a] += size[b]
                limit[a] = difference + scale / size[a]
    for pixel in range(first.shape[0]):
        first[pixel] = _first(first, pixel)


@kernel
def _first(first: NDArray[np.int32], pixel: int) -> int:
    """Follow the pixels that stand for others, and shorten the way for the next time."""
    while first[pixel] != pixel:
        first[pixel] = first[first[pixel]]
        pixel = first[pixel]
    return pixel
