"""Trees that connect the pixels of an image, and means of costs along these trees.

A tree connects each pixel with some of its four neighbours, so that exactly one path
leads from each pixel to each other pixel. If the tree connects neighbours with similar
intensities, a path seldom crosses an edge of an object. Stages that compute weighted
means along such trees can use the functions of this module.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.arguments import checked
from stereo_framework.core.input_checks import IMAGE, ArrayKind, fault, fault_of_numbers
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.segments import find_root, sort_with_order
from stereo_framework.kernels.threads import over_rows
from stereo_framework.stages import Costs, DataError, Image, NonNegative, per_image

_LEVELS = 16
"""Number of disparity levels whose costs are summed in one walk along a tree.

The 16 sums of a pixel, in float64, fill two lines of the processor's cache.
"""

_PENALIZED_SIZE = 50
"""Maximum number of pixels of a small part of a tree.

An edge that links two larger parts gets a penalty.
"""

_COSTS = ArrayKind((np.float32,), (3,), "(rows, columns, levels)")
_WEIGHTS = ArrayKind((np.float64, np.float32), (1,), "(pixels,)")
_PIXEL_NUMBERS = ArrayKind((np.int32,), (1,), "(pixels,)")


@dataclass(frozen=True, eq=False)
class PixelTree:
    """A tree that connects all pixels of an image.

    Pixels are numbered in raster order. The root of the tree is pixel 0. Stages may
    share a tree, so do not modify the arrays of a tree.

    Parameters
    ----------
    shape : (int, int)
        Numbers of rows and columns of the image.
    order : ndarray, int32, (pixels,)
        Numbers of all pixels, beginning with the root. Each pixel stands after its
        parent.
    parents : ndarray, int32, (pixels,)
        Number of the parent of each pixel. The parent of the root is the root itself.
    differences : ndarray, float32, (pixels,)
        Difference between each pixel and its parent in the median-filtered image, in
        grey levels. The difference is the maximum of the absolute differences of the
        channels. If `build_segment_tree` adds a penalty to the edge, the difference
        includes the penalty. The difference of the root is 0.
    segments : ndarray, int32, (rows, columns), or None
        Number of the segment that contains each pixel. Segments are numbered from 0 in
        the raster order of their first pixels. The value is None if the tree was built
        without segments.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[90, 95, 200], [90, 96, 203]], np.uint8)
    >>> tree = build_spanning_tree(image)
    >>> tree.order
    array([0, 1, 3, 2, 4, 5], dtype=int32)
    >>> tree.parents
    array([0, 0, 1, 0, 1, 2], dtype=int32)
    >>> tree.differences
    array([  0.,   5., 105.,   0.,   1.,   3.], dtype=float32)
    """

    shape: tuple[int, int]
    order: NDArray[np.int32]
    parents: NDArray[np.int32]
    differences: NDArray[np.float32]
    segments: NDArray[np.int32] | None = None


class _Edges(NamedTuple):
    """The edges between neighbouring pixels.

    The edge with the number ``2 * pixel`` connects a pixel with the right neighbour.
    The edge with the number ``2 * pixel + 1`` connects a pixel with the lower
    neighbour.

    Parameters
    ----------
    differences : ndarray, float32, (2 * pixels,)
        Difference between the two pixels of each edge, in grey levels. Edges that would
        leave the image have the difference inf.
    ascending : ndarray, int64, (edges,)
        Numbers of the edges inside the image, in ascending order of their differences.
        Edges with equal differences are in ascending order of their numbers.
    columns : int
        Width of the image, in pixels.
    """

    differences: NDArray[np.float32]
    ascending: NDArray[np.int64]
    columns: int


class _Forest(NamedTuple):
    """A disjoint-set data structure for the parts of a tree during its construction.

    Each part is a set of pixels. The representative of a part is the first pixel of the
    part in raster order.

    Parameters
    ----------
    link : ndarray, int32, (pixels,)
        Number of the next pixel on the way from each pixel to the representative of the
        part. `find_root` follows these links. The link of a representative is the
        representative itself.
    size : ndarray, int32, (pixels,)
        Number of pixels of each part. The index of the number is the representative of
        the part.
    chosen : ndarray, bool, (2 * pixels,)
        True at the number of each edge that the tree contains.
    """

    link: NDArray[np.int32]
    size: NDArray[np.int32]
    chosen: NDArray[np.bool_]


@checked()
def build_spanning_tree(image: Image, *, median_size: Literal[1, 3, 5] = 1) -> PixelTree:
    """Build the minimum spanning tree of an image.

    No other tree has a smaller sum of the differences between pixels and their parents.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. The difference of two neighbouring pixels is the maximum of
        the absolute differences of their channels.
    median_size : {1, 3, 5}
        Width and height, in pixels, of the median filter that smooths each channel
        before the tree is built. With 1, the image is not smoothed.

    Returns
    -------
    PixelTree
        Minimum spanning tree. The attribute `segments` is None.

    Raises
    ------
    ArgumentError
        `median_size` is not 1, 3 or 5.
    DataError
        The image has a wrong type or shape, or an intensity is NaN or infinite.

    Notes
    -----
    Kruskal's algorithm visits the edges in ascending order of their differences. Edges
    with equal differences are visited in the raster order of their left or upper
    pixels. At each pixel, the edge to the right neighbour is visited before the edge to
    the lower neighbour.

    Examples
    --------
    >>> import numpy as np
    >>> tree = build_spanning_tree(np.array([[90, 95, 200], [90, 96, 203]], np.uint8))
    >>> tree.parents.reshape(tree.shape)
    array([[0, 0, 1],
           [0, 1, 2]], dtype=int32)
    """
    return _build_spanning_tree(image, median_size=median_size)


# `per_image` needs the image as the first positional argument, so the public function
# passes the image in this way. Callers of the public function may therefore give the
# image by name.
@per_image
def _build_spanning_tree(image: Image, *, median_size: int) -> PixelTree:
    """Build the minimum spanning tree, or reuse the stored tree of the same image."""
    _check_image("build_spanning_tree", image)
    rows, columns = image.shape[:2]
    edges = _sort_edges(image, median_size)
    forest = _separate_pixels(rows * columns)
    _link_parts(edges, np.float32(0), forest)
    return _rooted_tree((rows, columns), edges, forest)


@checked()
def build_segment_tree(
    image: Image,
    *,
    k: NonNegative = 1200.0,
    link_penalty: NonNegative = 5.0,
    median_size: Literal[1, 3, 5] = 3,
) -> PixelTree:
    """Build the segment tree of an image.

    The function first groups the pixels into segments, and then links the segments. The
    path between two pixels of a segment therefore stays inside the segment.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. The difference of two neighbouring pixels is the maximum of
        the absolute differences of their channels.
    k : float
        Constant k of the rule that groups pixels into segments, in grey levels. Two
        segments are joined if the difference of the edge between them is at most
        d + k / n for each of the two segments. Here, d is the largest difference inside
        the segment, and n is the number of pixels of the segment. Larger values give
        larger segments. With 0, each segment has a constant colour in the
        median-filtered image.
    link_penalty : float
        Penalty for an edge that links two large subtrees, in grey levels. A subtree is
        large if it has more than 50 pixels when the edge is added. The penalty is added
        to the difference of the edge. With 0, no edge gets a penalty.
    median_size : {1, 3, 5}
        Width and height, in pixels, of the median filter that smooths each channel
        before the tree is built. With 1, the image is not smoothed.

    Returns
    -------
    PixelTree
        Segment tree. The attribute `segments` contains the segment of each pixel.

    Raises
    ------
    ArgumentError
        `k` or `link_penalty` is negative, or `median_size` is not 1, 3 or 5.
    DataError
        The image has a wrong type or shape, or an intensity is NaN or infinite.

    Notes
    -----
    Mei, Sun, Dong, Wang & Zhang 2013 (CVPR). The function follows the rules of the
    authors' program, because only the abstract of the paper was available.

    The function visits the edges twice, each time in the order that the docstring of
    `build_spanning_tree` describes. The first visit joins two subtrees p and q if the
    difference w of the edge between them satisfies the inequality ::

        w <= min(Int(p) + k / |p|, Int(q) + k / |q|)

    Int(p) is the largest difference inside the subtree p, and Int(p) is 0 if p is a
    single pixel. The term ``|p|`` is the number of pixels of p. Felzenszwalb &
    Huttenlocher 2004 introduced this inequality. The second visit links all subtrees
    that are still separate.

    With a `link_penalty` of 0, the segment tree equals the minimum spanning tree if `k`
    is 0. The two trees are also equal if `k` is so large that the image is one segment.
    For any other `k`, the sum of the differences along the segment tree is at least the
    sum along the minimum spanning tree.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[10, 12, 14, 16, 20, 21]], np.uint8)
    >>> build_segment_tree(image, k=4, median_size=1).segments
    array([[0, 0, 0, 0, 1, 1]], dtype=int32)
    """
    return _build_segment_tree(image, k=k, link_penalty=link_penalty, median_size=median_size)


@per_image
def _build_segment_tree(
    image: Image, *, k: float, link_penalty: float, median_size: int
) -> PixelTree:
    """Build the segment tree, or reuse the stored tree of the same image.

    A stored tree is reused only if it was built with the same parameters.
    """
    _check_image("build_segment_tree", image)
    rows, columns = image.shape[:2]
    edges = _sort_edges(image, median_size)
    forest = _separate_pixels(rows * columns)

    separating_edge_count = _group_pixels(edges, float(k), forest)
    segments = _number_parts(forest).reshape(rows, columns)

    # `_link_parts` adds the penalties to the array `differences`. The rooted tree gets
    # the penalties, too, because `remaining` and `edges` share this array.
    remaining = edges._replace(ascending=edges.ascending[:separating_edge_count])
    _link_parts(remaining, np.float32(link_penalty), forest)
    return _rooted_tree((rows, columns), edges, forest, segments)


@checked()
def average_along_tree(costs: Costs, tree: PixelTree, weights: NDArray[np.float64]) -> Costs:
    """Average costs over all pixels with weights that decrease along paths of a tree.

    The weight between two pixels is the product of the weights of all edges on the path
    between the pixels. In the mean of a pixel, the pixel itself has the weight 1.

    Parameters
    ----------
    costs : ndarray, float32, (rows, columns, levels)
        Costs, or any other finite numbers. Each level is averaged separately.
    tree : PixelTree
        Tree of an image of the same size.
    weights : ndarray, float64 or float32, (pixels,)
        Weight of the edge between each pixel and its parent, in 0..1. The weight of the
        root has no effect.

    Returns
    -------
    ndarray, float32, (rows, columns, levels)
        Weighted mean of the costs of all pixels, for each pixel and each level.

    Raises
    ------
    ArgumentError
        An argument has a wrong class, such as a list instead of an array.
    DataError
        `costs` or `weights` has a wrong type or a shape that does not fit the tree. A
        cost is NaN or infinite, or a weight is not in 0..1. A pixel stands before its
        parent in `tree.order`.

    Notes
    -----
    Yang 2012 (CVPR), section 3. The function computes the exact sums in a pass from the
    leaves to the root and a pass from the root to the leaves. The computation time does
    not depend on the weights. Sums are computed in float64. The result does not depend
    on the number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[90, 90, 90, 200, 200, 200]], np.uint8)
    >>> tree = build_spanning_tree(image)
    >>> costs = np.array([0, 9, 0, 5, 5, 5], np.float32).reshape(1, 6, 1)
    >>> weights = np.exp(-tree.differences / 25.5)
    >>> average_along_tree(costs, tree, weights).ravel().round(2)
    array([3.03, 3.03, 3.03, 4.97, 4.97, 4.97], dtype=float32)
    """
    _check_costs(costs)
    _check_weights(weights)
    _check_shapes(costs, tree, weights)
    _check_tree(tree)
    return average_finite_costs(costs, tree, weights)


def average_finite_costs(costs: Costs, tree: PixelTree, weights: NDArray[np.float64]) -> Costs:
    """Compute the result of `average_along_tree`, but check only the array shapes.

    Stages call this function, because checks of the values would take 4 % of the time
    of a stage. The shapes are checked because an outer stage may give its inner stage
    costs whose size differs from the size of the image.
    """
    _check_shapes(costs, tree, weights)
    rows, columns, levels = costs.shape
    pixels = rows * columns
    flat_costs = np.ascontiguousarray(costs).reshape(pixels, levels)
    means = np.empty((pixels, levels), np.float32)
    edge_weights = np.ascontiguousarray(weights, np.float64)
    weight_sums = np.ones((pixels, 1))
    _sum_along_tree(tree.order, tree.parents, edge_weights, weight_sums)

    def average_blocks(first_block: int, end_block: int) -> None:
        # `sums` always has `_LEVELS` entries per pixel. In the last block, the entries
        # beyond the last level contain zeros or sums of the previous block. These
        # entries are summed, but the results are not read. The buffer starts with zeros
        # because sums of uninitialized numbers could overflow.
        sums = np.zeros((pixels, _LEVELS))
        for block in range(first_block, end_block):
            first = block * _LEVELS
            part = slice(first, min(first + _LEVELS, levels))
            part_sums = sums[:, : part.stop - first]
            part_sums[:] = flat_costs[:, part]
            _sum_along_tree(tree.order, tree.parents, edge_weights, sums)
            np.divide(part_sums, weight_sums, out=means[:, part], casting="same_kind")

    # `over_rows` distributes the blocks of levels over the threads, in the same way as
    # the rows of an image. The threads read or write about ten numbers for each cost.
    block_count = math.ceil(levels / _LEVELS)
    over_rows(average_blocks, block_count, work=10 * means.size)
    return means.reshape(rows, columns, levels)


def _check_image(function: str, image: Image) -> None:
    """Refuse arrays that are not images, and images with NaN or infinite intensities.

    The function does not warn if the intensities of an image seem to range from 0 to 1.
    A stage that builds a tree has already checked its image and issued this warning.
    """
    if form_fault := fault(image, IMAGE):
        raise DataError(f"{function}: image is {form_fault}")
    if number_fault := fault_of_numbers(image, IMAGE):
        raise DataError(f"{function}: image has {number_fault}")


def _check_tree(tree: PixelTree) -> None:
    """Refuse a tree whose arrays have a wrong type, a wrong number or a wrong order.

    With a wrong number of a pixel, a kernel would access memory outside the arrays.
    """
    pixels = tree.shape[0] * tree.shape[1]
    for name, array in (("order", tree.order), ("parents", tree.parents)):
        if array_fault := fault(array, _PIXEL_NUMBERS, (pixels,)):
            raise DataError(f"average_along_tree: tree.{name} is {array_fault}")
        if array.min() < 0 or array.max() >= pixels:
            message = (
                f"average_along_tree: tree.{name} has numbers from {array.min()} to "
                f"{array.max()}; expected numbers of pixels, from 0 to {pixels - 1}"
            )
            raise DataError(message)

    places = np.full(pixels, -1, np.int64)
    places[tree.order] = np.arange(pixels)
    children = tree.order[1:]
    is_complete = places.min() >= 0
    if not is_complete or (places[tree.parents[children]] >= places[children]).any():
        message = (
            "average_along_tree: tree.order does not have each pixel once and after its "
            "parent; build_spanning_tree and build_segment_tree return such an order"
        )
        raise DataError(message)


def _check_costs(costs: Costs) -> None:
    """Refuse arrays that are not cost arrays, and costs that are NaN or infinite."""
    if form_fault := fault(costs, _COSTS):
        raise DataError(f"average_along_tree: costs is {form_fault}")
    if number_fault := fault_of_numbers(costs, _COSTS):
        raise DataError(f"average_along_tree: costs has {number_fault}")


def _check_weights(weights: NDArray[np.float64]) -> None:
    """Refuse weights outside 0..1, because sums with such weights could overflow."""
    if form_fault := fault(weights, _WEIGHTS):
        raise DataError(f"average_along_tree: weights is {form_fault}")
    # A comparison with NaN is false, so NaN is refused too.
    if not (weights.min() >= 0 and weights.max() <= 1):
        message = (
            f"average_along_tree: weights lie in {weights.min()}..{weights.max()}; "
            "expected weights in 0..1"
        )
        raise DataError(message)


def _check_shapes(costs: Costs, tree: PixelTree, weights: NDArray[np.float64]) -> None:
    """Refuse costs and weights whose shapes do not fit a tree.

    The kernels do not check the shapes of their arguments.
    """
    if costs.shape[:2] != tree.shape:
        message = (
            f"average_along_tree: costs has shape {costs.shape}; expected (rows, columns, "
            f"levels) with {tree.shape[0]} rows and {tree.shape[1]} columns, as the tree has"
        )
        raise DataError(message)
    pixels = tree.shape[0] * tree.shape[1]
    if weights.shape != (pixels,):
        message = (
            f"average_along_tree: weights has shape {weights.shape}; "
            f"expected {(pixels,)}, a weight for each pixel of the tree"
        )
        raise DataError(message)


def _sort_edges(image: Image, median_size: int) -> _Edges:
    """Smooth an image, and sort the edges between its pixels by their differences."""
    rows, columns = image.shape[:2]
    smooth = np.ascontiguousarray(image, np.float32)
    if median_size > 1:
        smooth = cv2.medianBlur(smooth, median_size)
    channels = smooth.reshape(rows, columns, -1)

    differences = np.full((rows, columns, 2), np.float32(np.inf))
    differences[:, :-1, 0] = _largest_channel(np.abs(np.diff(channels, axis=1)))
    differences[:-1, :, 1] = _largest_channel(np.abs(np.diff(channels, axis=0)))
    flat = differences.reshape(-1)
    order, _ = sort_with_order(flat.astype(np.float64))
    count = 2 * rows * columns - rows - columns
    return _Edges(flat, order[:count], columns)


def _largest_channel(channels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the maximum of the channels of each pixel.

    For three channels, this function is several times faster than
    ``channels.max(axis=2)``.
    """
    largest = channels[..., 0]
    for channel in range(1, channels.shape[2]):
        largest = np.maximum(largest, channels[..., channel])
    return largest


def _separate_pixels(pixels: int) -> _Forest:
    """Return a forest in which each pixel is a separate part."""
    return _Forest(
        link=np.arange(pixels, dtype=np.int32),
        size=np.ones(pixels, np.int32),
        chosen=np.zeros(2 * pixels, np.bool_),
    )


def _rooted_tree(
    shape: tuple[int, int],
    edges: _Edges,
    forest: _Forest,
    segments: NDArray[np.int32] | None = None,
) -> PixelTree:
    """Return the tree of the chosen edges, with pixel 0 as the root."""
    pixels = shape[0] * shape[1]
    tree = PixelTree(
        shape,
        order=np.zeros(pixels, np.int32),
        parents=np.zeros(pixels, np.int32),
        differences=np.zeros(pixels, np.float32),
        segments=segments,
    )
    _find_parents(edges, forest.chosen, tree.order, tree.parents, tree.differences)
    return tree


def _number_parts(forest: _Forest) -> NDArray[np.int32]:
    """Return the number of the part of each pixel, as an array (pixels,).

    Parts are numbered from 0 in the raster order of their first pixels.
    """
    first_pixels = np.empty_like(forest.link)
    _find_representatives(forest.link, first_pixels)
    is_first_pixel = first_pixels == np.arange(first_pixels.size)
    numbers = np.cumsum(is_first_pixel, dtype=np.int32) - np.int32(1)
    return numbers[first_pixels]


@kernel
def _find_representatives(link: NDArray[np.int32], out: NDArray[np.int32]) -> None:
    """Find the representative of the part of each pixel, and write it to `out`."""
    for pixel in range(out.shape[0]):
        out[pixel] = find_root(link, np.int32(pixel))


@kernel(inline="always")
def _parts_of_edge(edges: _Edges, forest: _Forest, edge: int) -> tuple[int, int]:
    """Return the representatives of the two parts of an edge in ascending order."""
    pixel = np.int32(edge // 2)
    step = edges.columns if edge % 2 == 1 else 1
    a = find_root(forest.link, pixel)
    b = find_root(forest.link, np.int32(pixel + step))
    return min(a, b), max(a, b)


@kernel(inline="always")
def _join(forest: _Forest, edge: int, first: int, second: int) -> None:
    """Join two parts by an edge.

    The arguments `first` and `second` are the representatives of the two parts. The
    number `first` must be lower than the number `second`.
    """
    forest.link[second] = first
    forest.size[first] += forest.size[second]
    forest.chosen[edge] = True


@kernel
def _group_pixels(edges: _Edges, k: float, forest: _Forest) -> int:
    """Join parts if the difference of the edge between them is within their limits.

    The function visits the edges in ascending order of their differences. If an edge
    connects two parts but does not join them, the number of the edge is moved to the
    beginning of ``edges.ascending``. The moved numbers keep their order.

    Parameters
    ----------
    edges : _Edges
    k : float
        Parameter `k` of `build_segment_tree`, in grey levels.
    forest : _Forest
        Parts of the tree. The function changes the arrays of the forest.

    Returns
    -------
    int
        Number of edges that were moved to the beginning of ``edges.ascending``.
    """
    # The limit of a part is the largest difference of an edge that may join the part
    # with another part. The array `limits` has an entry for each pixel. The limit of a
    # part is the entry of its representative. A part of one pixel has the limit k.
    limits = np.full(forest.link.shape[0], k)
    separating_edge_count = 0
    for i in range(edges.ascending.shape[0]):
        edge = edges.ascending[i]
        first, second = _parts_of_edge(edges, forest, edge)
        if first == second:
            continue
        difference = np.float64(edges.differences[edge])
        if difference <= limits[first] and difference <= limits[second]:
            _join(forest, edge, first, second)
            limits[first] = difference + k / forest.size[first]
        else:
            edges.ascending[separating_edge_count] = edge
            separating_edge_count += 1
    return separating_edge_count


@kernel
def _link_parts(edges: _Edges, penalty: float, forest: _Forest) -> None:
    """Link all parts into one tree by the edges with the smallest differences.

    The function uses Kruskal's algorithm. If an edge links two parts that each have
    more than `_PENALIZED_SIZE` pixels, the function adds the penalty to the difference
    of the edge in ``edges.differences``.
    """
    for edge in edges.ascending:
        first, second = _parts_of_edge(edges, forest, edge)
        if first == second:
            continue
        if min(forest.size[first], forest.size[second]) > _PENALIZED_SIZE:
            edges.differences[edge] += penalty
        _join(forest, edge, first, second)


@kernel
def _find_parents(
    edges: _Edges,
    chosen: NDArray[np.bool_],
    order: NDArray[np.int32],
    parents: NDArray[np.int32],
    differences: NDArray[np.float32],
) -> None:
    """Walk from pixel 0 along the chosen edges, and write the arrays of the tree.

    The walk is a breadth-first search. It visits a pixel earlier if fewer edges lead
    from pixel 0 to the pixel.
    """
    visited = np.zeros(order.shape[0], np.bool_)
    visited[0] = True
    done = 0
    count = 1
    while done < count:
        pixel = order[done]
        done += 1
        # The walk visits the right, lower, left and upper neighbours in this order. The
        # number of an edge follows from the number of its left or upper pixel.
        for side in range(4):
            step = edges.columns if side % 2 == 1 else 1
            owner = pixel if side < 2 else pixel - step
            edge = 2 * owner + side % 2
            if owner < 0 or not chosen[edge]:
                continue
            neighbour = pixel + step if side < 2 else owner
            if not visited[neighbour]:
                visited[neighbour] = True
                order[count] = neighbour
                parents[neighbour] = pixel
                differences[neighbour] = edges.differences[edge]
                count += 1


@kernel
def _sum_along_tree(
    order: NDArray[np.int32],
    parents: NDArray[np.int32],
    weights: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Replace the values of each pixel by their weighted sums over the tree.

    The array `sums` has the shape (pixels, levels). Before the call, the array contains
    the values. After the call, the array contains the weighted sums.
    """
    # In the pass from the leaves to the root, each pixel collects the weighted sums
    # over its subtree.
    for n in range(order.shape[0] - 1, 0, -1):
        pixel = np.uint64(order[n])
        parent = np.uint64(parents[pixel])
        weight = weights[pixel]
        for k in range(sums.shape[1]):
            sums[parent, k] += weight * sums[pixel, k]
    # In the pass from the root to the leaves, each pixel adds the weighted sums over
    # the rest of the tree. These sums are the sums of the parent minus the contribution
    # of the pixel to the sums of the parent.
    for n in range(1, order.shape[0]):
        pixel = np.uint64(order[n])
        parent = np.uint64(parents[pixel])
        weight = weights[pixel]
        for k in range(sums.shape[1]):
            sums[pixel, k] += weight * (sums[parent, k] - weight * sums[pixel, k])
