"""Segmentation of an image by the method of Felzenszwalb and Huttenlocher (2004).

A segment is a connected set of pixels. The colours of adjacent segments differ more
than the colours inside each segment.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows

# Offsets (rows, columns) to the right, lower, lower right and lower left neighbour.
# Four of eight directions are enough, because each pair is visited once.
_STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))
_STEP_COUNT = np.uint32(len(_STEPS))

_DIGIT_BITS = 9
"""Number of bits that one pass of the radix sort sorts.

The table of 512 counts fits into the first-level cache of the processor.
"""
_DIGIT_MASK = np.uint64((1 << _DIGIT_BITS) - 1)


class _Forest(NamedTuple):
    """The segments of an image as trees of pixels (a disjoint-set data structure).

    Each segment is a tree. The root is the first pixel of the segment in raster order.
    Pixels are numbered in raster order.

    Parameters
    ----------
    parent : ndarray, int32, (pixels,)
        Number of the parent of each pixel. The parent of a root is the root itself.
    size : ndarray, int32, (pixels,)
        Number of pixels of a segment, stored at its root.
    limit : ndarray, float64, (pixels,)
        Maximum colour difference for joining a segment, stored at its root.
    """

    parent: NDArray[np.int32]
    size: NDArray[np.int32]
    limit: NDArray[np.float64]


def segment_image(image: NDArray, sigma: float, k: float, min_size: int) -> NDArray[np.int32]:
    """Divide an image into segments, and return the segment number of each pixel.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Grey or colour image. The difference of two pixels is the Euclidean distance of
        their colours.
    sigma : float
        Standard deviation of the Gaussian that smooths the image, in pixels. With 0,
        the image is not smoothed.
    k : float
        Parameter k of the paper, in grey levels. Larger values give larger segments.
    min_size : int
        Minimum number of pixels of a segment. Smaller segments are joined with the most
        similar neighbouring segment.

    Returns
    -------
    ndarray, int32, (rows, columns)
        Segment number of each pixel. Numbers begin with 0, in raster order of the
        segments. Several stages may share the array, so do not modify the array.

    Notes
    -----
    Pairs of neighbouring pixels are visited in ascending order of their differences.
    Equal differences are visited in raster order. Two segments are joined if the
    difference is at most the limit of each segment. The limit of a segment with n
    pixels is ``d + k / n``, where d is the difference at its last join.
    """
    rows, columns = image.shape[:2]
    channels = np.ascontiguousarray(image.reshape(rows, columns, -1), np.float64)
    smooth = _smooth(channels, sigma)
    # The difference remains inf if the neighbour lies outside the image. Such pairs are
    # not used.
    differences = np.full((rows, columns, len(_STEPS)), np.inf)

    def compute(start: int, stop: int) -> None:
        _compute_differences(smooth, start, stop, differences)

    over_rows(compute, rows, 4 * smooth.size)

    forest = _Forest(
        parent=np.arange(rows * columns, dtype=np.int32),
        size=np.ones(rows * columns, np.int32),
        limit=np.full(rows * columns, float(k)),
    )
    order, ascending = sort_with_order(differences.reshape(-1))
    pairs = order[: np.searchsorted(ascending, np.inf)].astype(np.uint32)
    separate = _join_segments(pairs, ascending, columns, float(k), 0, forest)
    _join_segments(pairs[:separate], ascending, columns, float(k), min_size, forest)

    roots = forest.parent
    _replace_by_roots(roots)
    # The first pixel of a segment is the root. Counting the roots in raster order
    # numbers the segments.
    is_first_pixel = roots == np.arange(roots.size)
    numbers = np.cumsum(is_first_pixel, dtype=np.int32) - np.int32(1)
    return numbers[roots].reshape(rows, columns)


def _smooth(image: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """Smooth an image with a Gaussian along columns, and then along rows.

    Outside the image, pixels are mirrored. The result is bit-identical to
    `scipy.ndimage.gaussian_filter`, but importing SciPy takes too long.
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
    """Compute the colour differences of neighbours in the rows `start` to `stop` - 1.

    For example, ``differences[y, x, 0]`` is the difference between pixel (y, x) and its
    right neighbour. Neighbours outside the image are skipped.
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


def sort_with_order(
    numbers: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sort non-negative numbers in ascending order, and return their order.

    A radix sort of the leading bits is several times faster than NumPy's stable sort.
    Numbers with equal leading bits are sorted again by all bits.

    Returns
    -------
    order : ndarray, int64
        Index in `numbers` of each sorted number. Equal numbers keep their order.
    ascending : ndarray, float64
        Sorted numbers.
    """
    # Non-negative floats have the same order as their bits. Each 64-bit key consists of
    # the leading bits of a number and its index. The sign bit is always 0, so the key
    # omits the sign bit.
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
        # The keys are not needed any more, so their leading bits take their place.
        keys >>= np.uint64(index_bits)
        equals_next = keys[1:] == keys[:-1]
        has_equal = np.append(equals_next, False) | np.append(False, equals_next)
        places = np.flatnonzero(has_equal)
        order[places] = order[places][np.argsort(ascending[places], kind="stable")]
        ascending[places] = numbers[order[places]]
    return order, ascending


@kernel
def _radix_sort(
    numbers: NDArray[np.uint64], buffer: NDArray[np.uint64], starts: NDArray[np.int64], low: int
) -> NDArray[np.uint64]:
    """Sort 64-bit integers by their upper bits, with a stable radix sort.

    The sort ignores the lowest `low` bits. All arrays are overwritten.

    Returns
    -------
    ndarray, uint64
        Sorted integers: the array `numbers` or the array `buffer`.
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
    """Visit pairs of neighbouring pixels, and join similar or small segments.

    If `min_size` is 0, similar segments are joined. The difference of the pair must be
    at most the limit of each segment. If `min_size` is positive, segments with fewer
    than `min_size` pixels are joined with a neighbour.

    Parameters
    ----------
    pairs : ndarray, uint32, (pairs,)
        Pairs of pixels, sorted by colour difference. The code of a pair is ``4 * pixel
        + i``, where ``_STEPS[i]`` is the offset of the neighbour. Pairs of separate
        segments are moved to the beginning of the array.
    differences : ndarray, float64, (at least pairs,)
        Colour difference of each pair, moved like the pairs.
    columns : int
        Width of the image, in pixels.
    k, min_size
        Parameters of `segment_image`.
    forest : _Forest
        Segments, modified in place.

    Returns
    -------
    int
        Number of pairs of separate segments.
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
    """Replace the parent of each pixel by the root of its tree."""
    for pixel in range(parent.shape[0]):
        parent[pixel] = find_root(parent, np.int32(pixel))


@kernel
def find_root(parent: NDArray[np.int32], pixel: Any) -> Any:
    """Find the root of the tree of a pixel, and shorten the path to the root.

    With a shorter path, later calls are faster (path halving).
    """
    while parent[pixel] != pixel:
        parent[pixel] = parent[parent[pixel]]
        pixel = parent[pixel]
    return pixel
