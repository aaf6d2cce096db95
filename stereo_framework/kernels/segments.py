"""Segmentation of an image by the method of Felzenszwalb and Huttenlocher (2004).

A segment is a connected set of pixels. Colours differ more between two segments than
inside them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

# Steps (rows, columns) to four of the eight neighbours, so that each pair of neighbours
# is visited once.
_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))
_STEP_COUNT = np.uint32(len(_STEPS))

_DIGIT_BITS = 9
"""Bits by which numbers are sorted in one pass.

The table with an entry for each digit then fits into the first-level cache.
"""
_DIGIT_MASK = np.uint64((1 << _DIGIT_BITS) - 1)


class _Forest(NamedTuple):
    """The segments as trees of pixels, in a disjoint-set data structure.

    Pixels are numbered in raster order. The root of a tree is the first pixel of its
    segment.

    Parameters
    ----------
    parent : ndarray, int32, (pixels,)
        Parent of each pixel. A root is its own parent.
    size : ndarray, int32, (pixels,)
        Number of pixels of the segment, at its root.
    limit : ndarray, float64, (pixels,)
        Largest difference to another segment with which the segment is joined, at its
        root.
    """

    parent: NDArray[np.int32]
    size: NDArray[np.int32]
    limit: NDArray[np.float64]


def segment_image(image: NDArray, sigma: float, k: float, min_size: int) -> NDArray[np.int32]:
    """Return the number of the segment of each pixel.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Image. The difference of two pixels is the Euclidean distance of their colours.
    sigma : float
        Standard deviation of the Gaussian that smooths the image first, in pixels. If
        it is 0, the image is not smoothed.
    k : float
        Parameter k of the paper, in grey levels. Larger values give larger segments.
        Two segments are joined if the smallest difference between them is at most the
        limit of each. The limit of a segment is the largest difference that was needed
        to connect it, plus `k` divided by its number of pixels.
    min_size : int
        Smaller segments are then joined with the neighbour that differs least.

    Returns
    -------
    ndarray, int32, (rows, columns)
        Numbers from 0 on, in the raster order of the first pixels of the segments.
        Callers must not write into the array, because other stages may share it.

    Notes
    -----
    If several differences are equal, the difference at the first pixel in raster order
    comes first.
    """
    rows, columns = image.shape[:2]
    channels = np.ascontiguousarray(image.reshape(rows, columns, -1), np.float64)
    smooth = _smooth(channels, sigma)
    # Pairs that lie partly outside the image keep the difference infinity.
    differences = np.full((rows, columns, len(_STEPS)), np.inf)

    def compute(start: int, stop: int) -> None:
        _compute_differences(smooth, start, stop, differences)

    over_rows(compute, rows, 4 * smooth.size)

    forest = _Forest(
        parent=np.arange(rows * columns, dtype=np.int32),
        size=np.ones(rows * columns, np.int32),
        limit=np.full(rows * columns, float(k)),
    )
    order, ascending = _sort_with_order(differences.reshape(-1))
    pairs = order[: np.searchsorted(ascending, np.inf)].astype(np.uint32)
    separate = _join_segments(pairs, ascending, columns, float(k), 0, forest)
    _join_segments(pairs[:separate], ascending, columns, float(k), min_size, forest)

    roots = forest.parent
    _replace_by_roots(roots)
    # The number of a segment is the number of segments that begin before it.
    is_first_pixel = roots == np.arange(roots.size)
    numbers = np.cumsum(is_first_pixel, dtype=np.int32) - np.int32(1)
    return numbers[roots].reshape(rows, columns)


def _smooth(image: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """Smooth an image with a Gaussian along columns, and then along rows.

    The image is continued by its mirror image. The result has the same bits as that of
    `scipy.ndimage.gaussian_filter`, which takes long to import.
    """
    radius = int(4 * sigma + 0.5)
    if radius == 0:
        return image
    weights = np.exp(-0.5 / sigma**2 * np.arange(radius + 1) ** 2)
    weights /= np.exp(-0.5 / sigma**2 * np.arange(-radius, radius + 1) ** 2).sum()
    for axis in (0, 1):
        margins = [(0, 0)] * 3
        margins[axis] = (radius, radius)
        padded = np.moveaxis(np.pad(image, margins, mode="symmetric"), axis, 0)
        length = image.shape[axis]
        smooth = padded[radius : radius + length] * weights[0]
        for distance in range(radius, 0, -1):
            before = padded[radius - distance : radius - distance + length]
            after = padded[radius + distance : radius + distance + length]
            smooth += (before + after) * weights[distance]
        image = np.moveaxis(smooth, 0, axis)
    return np.ascontiguousarray(image)


@kernel
def _compute_differences(
    image: NDArray[np.float64], start: int, stop: int, differences: NDArray[np.float64]
) -> None:
    """Write the differences of the pixels in some rows to their neighbours.

    The differences to neighbours outside the image are not written.
    """
    rows, columns, channels = image.shape
    for y in range(start, stop):
        for x in range(columns):
            for step, (down, right) in enumerate(_STEPS):
                v = y + down
                u = x + right
                if v < rows and 0 <= u < columns:
                    square = 0.0
                    for channel in range(channels):
                        square += (image[v, u, channel] - image[y, x, channel]) ** 2
                    differences[y, x, step] = np.sqrt(square)


def _sort_with_order(
    numbers: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the stable ascending order of numbers that are not negative.

    A radix sort of the leading bits is several times faster than NumPy's stable sort. A
    key of 64 bits holds the leading bits of a number above its index. Afterwards,
    numbers with the same leading bits are sorted by all of their bits.

    Returns
    -------
    order : ndarray, int64
        Indices of the numbers in ascending order. Equal numbers keep their order.
    ascending : ndarray, float64
        The sorted numbers.
    """
    # The bits of floats that are not negative have the order of the floats, and the
    # sign bit is 0.
    bits = numbers.view(np.uint64)
    index_bits = numbers.size.bit_length()
    keys = bits >> np.uint64(max(index_bits - 1, 0))
    keys <<= np.uint64(index_bits)
    keys |= np.arange(numbers.size, dtype=np.uint64)
    table = np.zeros(1 << _DIGIT_BITS, np.int64)
    keys = _radix_sort(keys, np.empty_like(keys), table, index_bits)

    index_mask = np.uint64((1 << index_bits) - 1)
    order = (keys & index_mask).view(np.int64)
    ascending = numbers[order]
    if (ascending[1:] < ascending[:-1]).any():
        leading_bits = keys >> np.uint64(index_bits)
        equals_next = leading_bits[1:] == leading_bits[:-1]
        has_equal = np.append(equals_next, False) | np.append(False, equals_next)
        places = np.flatnonzero(has_equal)
        order[places] = order[places][np.argsort(ascending[places], kind="stable")]
        ascending[places] = numbers[order[places]]
    return order, ascending


@kernel
def _radix_sort(
    numbers: NDArray[np.uint64], buffer: NDArray[np.uint64], starts: NDArray[np.int64], low: int
) -> NDArray[np.uint64]:
    """Sort integers by their bits from `low` on, and keep the order of equal ones.

    Returns
    -------
    ndarray, uint64
        The sorted integers, in the memory of `numbers` or of `buffer`. Both are
        changed.
    """
    for shift in range(low, 64, _DIGIT_BITS):
        starts[:] = 0
        for number in numbers:
            starts[(number >> np.uint64(shift)) & _DIGIT_MASK] += 1
        total = 0
        for digit in range(starts.shape[0]):
            count = starts[digit]
            starts[digit] = total
            total += count
        for number in numbers:
            digit = (number >> np.uint64(shift)) & _DIGIT_MASK
            buffer[starts[digit]] = number
            starts[digit] += 1
        numbers, buffer = buffer, numbers
    return numbers


@kernel
def _join_segments(
    pairs: NDArray[np.uint32],
    differences: NDArray[np.float64],
    columns: int,
    k: float,
    min_size: int,
    forest: _Forest,
) -> int:
    """Join the segments of pairs of pixels, in the order of the pairs.

    If `min_size` is 0, segments are joined if the difference of the pair is at most the
    limit of each. Otherwise they are joined if one of them has fewer pixels.

    Parameters
    ----------
    pairs : ndarray, uint32, (pairs,)
        Number of each pair, which is four times its pixel plus its step, sorted by the
        difference of the pair. The pairs of separate segments are moved to the front.
    differences : ndarray, float64, (at least pairs,)
        Differences in the order of `pairs`. They are moved with the pairs.
    columns, k, min_size
        Width of the image, and parameters of `segment_image`.
    forest : _Forest
        Segments, which are changed.

    Returns
    -------
    int
        Number of the pairs at the front, whose segments are separate.
    """
    parent, size, limit = forest.parent, forest.size, forest.limit
    offsets = np.array([down * columns + right for down, right in _STEPS], np.int32)
    separate = 0
    for i in range(pairs.shape[0]):
        pair = pairs[i]
        difference = differences[i]
        pixel = np.int32(pair // _STEP_COUNT)
        neighbour = np.int32(pixel + offsets[pair % _STEP_COUNT])
        a = find_root(parent, pixel)
        b = find_root(parent, neighbour)
        if a == b:
            continue
        if min_size > 0:
            is_joined = size[a] < min_size or size[b] < min_size
        else:
            is_joined = difference <= limit[a] and difference <= limit[b]
        if is_joined:
            root = min(a, b)
            child = max(a, b)
            parent[child] = root
            size[root] += size[child]
            limit[root] = difference + k / size[root]
        else:
            pairs[separate] = pair
            differences[separate] = difference
            separate += 1
    return separate


@kernel
def _replace_by_roots(parent: NDArray[np.int32]) -> None:
    """Make the root of its tree the parent of every pixel."""
    for pixel in range(parent.shape[0]):
        parent[pixel] = find_root(parent, np.int32(pixel))


@kernel
def find_root(parent: NDArray[np.int32], pixel: Any) -> Any:
    """Find the root of the tree of a pixel, and shorten the path to it.

    Later calls then need fewer steps.
    """
    while parent[pixel] != pixel:
        parent[pixel] = parent[parent[pixel]]
        pixel = parent[pixel]
    return pixel
