"""Non-local aggregation: means over the whole image, whose weights fall along the tree that connects all pixels by the least changes of colour."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import Costs, CostVolume
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.segments import find_root
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import Image, Positive, Unit, per_image, stage

Places = NDArray[np.int32]

_LEVELS = 16
"""Levels that walk the tree at a time: of each pixel a line of the caches."""


class _Tree(NamedTuple):
    """Pixels in reading order: all of them, each after the one that it hangs from, that one (of the first pixel itself), and the difference to it."""

    order: NDArray[np.int32]
    parents: NDArray[np.int32]
    differences: NDArray[np.float32]


@stage("aggregation", source="Yang 2012", memory=1)
def minimum_spanning_tree(
    volume: CostVolume,
    reference: Image,
    *,
    sigma: Annotated[Positive, Unit("grey levels")] = 25.5,
    median_size: Annotated[Literal[1, 3, 5], Unit("pixels")] = 1,
) -> CostVolume:
    """Weighted mean of the costs of all pixels, level by level, with weights that fall along the minimum spanning tree of the reference image.

    Parameters
    ----------
    volume : CostVolume
        Float32 (rows, columns, levels).
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. Neighbours differ by the largest difference of a channel.
    sigma : float
        Sum of the differences along the tree, in grey levels, at which a weight falls
        to 1/e: the paper's sigma.
    median_size : {1, 3, 5}
        Width and height of the median filter that smooths each channel of the image
        before the tree is built, in pixels. The program of the paper's author has 3.
        1: the image is not smoothed.

    Returns
    -------
    CostVolume
        Same unit and shape. Lower is better. Cells out of view take part with their cost.

    Raises
    ------
    DataError
        An image that does not fit the volume, or is neither uint8 nor float32.
    ParameterError
        `sigma` is not above 0, or `median_size` is another number.

    Notes
    -----
    Yang 2012 (CVPR), section 3, whose sigma is a tenth of the range of intensities; he takes sums, which are means times the sum of a pixel's weights. The
    tree connects each pixel with some of its four neighbours so that the sum of all differences is least; of equal differences those of the pixel read first
    count first, and to its right before below. Two passes, to the first pixel and from it, give the exact means in a time that does not depend on the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import SearchRange
    >>> image = np.array([[90, 90, 90, 200, 200, 200]], np.uint8)
    >>> costs = np.array([[0, 9, 0, 5, 5, 5]], np.float32)[..., None].repeat(2, axis=2)
    >>> minimum_spanning_tree(CostVolume(costs, SearchRange(0, 1), 9.0), image).costs[0, :, 0].round(2)
    array([3.03, 3.03, 3.03, 4.97, 4.97, 4.97], dtype=float32)
    """
    tree = _tree(reference, median_size)
    weights = np.exp(-tree.differences.astype(np.float64) / sigma)
    rows, columns, levels = volume.costs.shape
    given, costs = (
        np.ascontiguousarray(volume.costs).reshape(-1, levels),
        np.empty((rows * columns, levels), np.float32),
    )
    totals = np.ones((rows * columns, 1))
    _pass(tree.order, tree.parents, weights, totals)

    def run(start: int, stop: int) -> None:
        # Columns beyond the last level are computed with the others, and what empty memory holds may overflow.
        sums = np.zeros((rows * columns, _LEVELS))
        for first in range(start * _LEVELS, min(stop * _LEVELS, levels), _LEVELS):
            part = slice(first, min(first + _LEVELS, levels))
            sums[:, : part.stop - first] = given[:, part]
            _pass(tree.order, tree.parents, weights, sums)
            np.divide(sums[:, : part.stop - first], totals, out=costs[:, part], casting="same_kind")

    over_rows(run, -(-levels // _LEVELS), 10 * costs.size)
    return replace(volume, costs=costs.reshape(rows, columns, levels))


@per_image
def _tree(image: Image, median_size: int) -> _Tree:
    """Build the tree of an image that is smoothed first."""
    rows, columns = image.shape[:2]
    pixels = np.ascontiguousarray(image, np.float32)
    if median_size > 1:
        pixels = cv2.medianBlur(pixels, median_size)
    pixels = pixels.reshape(rows, columns, -1)
    # To the right and down; what would leave the image is infinitely far.
    differences = np.full((rows, columns, 2), np.float32(np.inf))
    differences[:, :-1, 0] = np.abs(np.diff(pixels, axis=1)).max(axis=2)
    differences[:-1, :, 1] = np.abs(np.diff(pixels, axis=0)).max(axis=2)
    chosen = np.zeros((rows * columns, 2), np.bool_)
    flat = differences.reshape(-1)
    _span(np.argsort(flat, kind="stable"), flat, columns, chosen)
    tree = _Tree(*(np.zeros(rows * columns, kind) for kind in (np.int32, np.int32, np.float32)))
    _hang(chosen, differences.reshape(-1, 2), columns, *tree)
    return tree


@kernel
def _span(
    order: NDArray[np.int64],
    differences: NDArray[np.float32],
    columns: int,
    chosen: NDArray[np.bool_],
) -> None:
    """Kruskal's algorithm: take the least difference that connects what is not connected yet."""
    stands_for = np.arange(chosen.shape[0])
    for place in order:
        if differences[place] == np.inf:
            break
        pixel, down = place // 2, place % 2
        a, b = find_root(stands_for, pixel), find_root(stands_for, pixel + (columns if down else 1))
        if a != b:
            stands_for[max(a, b)] = min(a, b)
            chosen[pixel, down] = True


@kernel
def _hang(
    chosen: NDArray[np.bool_],
    differences: Costs,
    columns: int,
    order: Places,
    parents: Places,
    changes: Costs,
) -> None:
    """Walk from the first pixel to all others, nearest first."""
    seen = np.zeros(chosen.shape[0], np.bool_)
    seen[0] = True
    done, count = 0, 1
    while done < count:
        pixel = order[done]
        done += 1
        # To the right, down, to the left, up: an edge belongs to its left or upper end.
        for k in range(4):
            step = columns if k % 2 == 1 else 1
            edge = pixel if k < 2 else pixel - step
            if edge < 0 or not chosen[edge, k % 2]:
                continue
            other = pixel + step if k < 2 else edge
            if not seen[other]:
                seen[other] = True
                order[count], parents[other], changes[other] = (
                    other,
                    pixel,
                    differences[edge, k % 2],
                )
                count += 1


@kernel
def _pass(
    order: NDArray[np.int32],
    parents: NDArray[np.int32],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Turn values into their weighted sums over the tree; (pixels, levels)."""
    for n in range(order.shape[0] - 1, 0, -1):
        pixel = np.uint64(order[n])
        parent, weight = np.uint64(parents[pixel]), weights[pixel]
        for k in range(sums.shape[1]):
            sums[parent, k] += weight * sums[pixel, k]
    for n in range(1, order.shape[0]):
        pixel = np.uint64(order[n])
        parent, weight = np.uint64(parents[pixel]), weights[pixel]
        for k in range(sums.shape[1]):
            # What the parent has, less what it has from here.
            sums[pixel, k] += weight * (sums[parent, k] - weight * sums[pixel, k])
