"""Trees that connect the pixels of an image, and means of costs along these trees.

A tree connects each pixel with some of its four neighbours, so that exactly one path
leads from each pixel to each other pixel. A path crosses few edges of the image if the
tree consists of small differences. Stages that compute weighted means along such trees
can use the functions of this module.
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
"""Number of levels that one walk along a tree sums.

The sums of a pixel then fill two lines of the processor's cache.
"""

_PENALIZED_SIZE = 50
"""Number of pixels that both parts must exceed for a penalty between them."""

_COSTS = ArrayKind((np.float32,), (3,), "(rows, columns, levels)")
_WEIGHTS = ArrayKind((np.float64, np.float32), (1,), "(pixels,)")
_PIXEL_NUMBERS = ArrayKind((np.int32,), (1,), "(pixels,)")


@dataclass(frozen=True, eq=False)
class PixelTree:
    """A tree that connects all pixels of an image.

    Pixels are numbered in raster order. The root is pixel 0, the first one. Stages may
    share a tree, so do not modify its arrays.

    Parameters
    ----------
    shape : (int, int)
        Numbers of rows and columns of the image.
    order : ndarray, int32, (pixels,)
        Numbers of all pixels. The root is first, and each parent precedes its children.
    parents : ndarray, int32, (pixels,)
        Number of the parent of each pixel. The parent of the root is the root itself.
    differences : ndarray, float32, (pixels,)
        Difference between each pixel and its parent in the median-filtered image, in
        grey levels. It is the maximum of the absolute differences of the channels. If
        `build_segment_tree` adds a penalty to the edge, the difference includes the
        penalty. The difference of the root is 0.
    segments : ndarray, int32, (rows, columns), or None
        Segment number of each pixel before the segments are linked. Numbers begin with
        0, in raster order of the first pixels of the segments. None in trees that are
        built without segments.

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

    The edge ``2 * pixel`` leads to the right neighbour of a pixel, and the edge ``2 *
    pixel + 1`` leads to its lower neighbour.

    Parameters
    ----------
    differences : ndarray, float32, (2 * pixels,)
        Difference of each edge, in grey levels. Edges that would leave the image have
        the difference inf.
    ascending : ndarray, int64, (edges,)
        Numbers of the edges inside the image, in ascending order of their differences.
        Edges of equal differences stay in the order of their numbers.
    columns : int
        Width of the image, in pixels.
    """

    differences: NDArray[np.float32]
    ascending: NDArray[np.int64]
    columns: int


class _Forest(NamedTuple):
    """Parts of a tree that grows (a disjoint-set data structure).

    Each part is a set of pixels. Its representative is its first pixel in raster order.

    Parameters
    ----------
    link : ndarray, int32, (pixels,)
        Next pixel on the way to the representative. `find_root` follows the links. The
        link of a representative is the representative itself.
    size : ndarray, int32, (pixels,)
        Number of pixels of a part, stored at its representative.
    chosen : ndarray, bool, (2 * pixels,)
        Whether the tree contains each edge.
    """

    link: NDArray[np.int32]
    size: NDArray[np.int32]
    chosen: NDArray[np.bool_]


@checked()
def build_spanning_tree(image: Image, *, median_size: Literal[1, 3, 5] = 1) -> PixelTree:
    """Build the minimum spanning tree of an image.

    The sum of the differences between pixels and their parents is minimum.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. The difference of two neighbouring pixels is the maximum of
        the absolute differences of their channels.
    median_size : {1, 3, 5}
        Width and height of the median filter that smooths each channel before the tree
        is built, in pixels. With 1, the image is not smoothed.

    Returns
    -------
    PixelTree
        Tree without segments.

    Raises
    ------
    ArgumentError
        `median_size` is another number.
    DataError
        The image has another type or shape, or an intensity is not finite.

    Notes
    -----
    Kruskal's algorithm visits the edges in ascending order of their differences. Among
    equal differences, edges are visited in raster order of their left or upper pixel,
    and the edge to the right is visited before the edge downwards.

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
# passes it. A caller may then also give the image by name.
@per_image
def _build_spanning_tree(image: Image, *, median_size: int) -> PixelTree:
    """Build the minimum spanning tree of an image, once for each image."""
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

    Pixels are grouped into segments first, and the segments are linked afterwards. The
    path between two pixels of a segment therefore stays inside the segment.

    Parameters
    ----------
    image : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. The difference of two neighbouring pixels is the maximum of
        the absolute differences of their channels.
    k : float
        Constant of the grouping, in grey levels. Two segments are joined if the
        difference of the edge between them is at most d + k / n for both segments,
        where d is the largest difference inside the segment and n its number of pixels.
        Larger values give larger segments. With 0, segments have a constant colour in
        the median-filtered image.
    link_penalty : float
        Penalty, in grey levels, for an edge that links two subtrees if both have more
        than 50 pixels when they are linked. The penalty is added to the difference of
        the edge. With 0, no edge gets a penalty.
    median_size : {1, 3, 5}
        Width and height of the median filter that smooths each channel before the tree
        is built, in pixels. With 1, the image is not smoothed.

    Returns
    -------
    PixelTree
        Tree with segments.

    Raises
    ------
    ArgumentError
        `k` or `link_penalty` is negative, or `median_size` is not 1, 3 or 5.
    DataError
        The image has another type or shape, or an intensity is not finite.

    Notes
    -----
    Mei, Sun, Dong, Wang & Zhang 2013 (CVPR). The rules are those of the authors'
    program, because only the abstract of the paper was available.

    Edges are visited twice, both times in the order that `build_spanning_tree`
    describes. The first visit joins two subtrees p and q if the difference w of the
    edge fulfils ::

        w <= min(Int(p) + k / |p|, Int(q) + k / |q|)

    Int is the largest difference inside a subtree, 0 for a single pixel. The bars stand
    for the number of pixels. This is the rule of Felzenszwalb & Huttenlocher 2004. The
    second visit links all subtrees that are still separate.

    If `link_penalty` is 0 and `k` is 0 or so large that the image is one segment, the
    result equals the minimum spanning tree. Other values of `k` give a tree whose sum
    of differences is equal or larger.

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
    """Build the segment tree of an image, once for each image and its parameters."""
    _check_image("build_segment_tree", image)
    rows, columns = image.shape[:2]
    edges = _sort_edges(image, median_size)
    forest = _separate_pixels(rows * columns)

    separating_edge_count = _group_pixels(edges, float(k), forest)
    segments = _number_parts(forest).reshape(rows, columns)

    # `remaining` shares the array `differences` with `edges`. Therefore the penalties
    # that `_link_parts` adds are also part of the rooted tree.
    remaining = edges._replace(ascending=edges.ascending[:separating_edge_count])
    _link_parts(remaining, np.float32(link_penalty), forest)
    return _rooted_tree((rows, columns), edges, forest, segments)


@checked()
def average_along_tree(costs: Costs, tree: PixelTree, weights: NDArray[np.float64]) -> Costs:
    """Average costs over all pixels, with weights that fall along the paths of a tree.

    The weight of one pixel for another is the product of the weights of all edges on
    the path between them. Each pixel has the weight 1 for itself.

    Parameters
    ----------
    costs : ndarray, float32, (rows, columns, levels)
        Costs, or any other finite numbers. Each level is averaged separately.
    tree : PixelTree
        Tree of an image of the same size.
    weights : ndarray, float64 or float32, (pixels,)
        Weight of the edge between each pixel and its parent, 0..1. The weight of the
        root has no effect.

    Returns
    -------
    ndarray, float32, (rows, columns, levels)
        Weighted means of the costs of all pixels.

    Raises
    ------
    ArgumentError
        An argument has a wrong class, such as a list instead of an array.
    DataError
        `costs` or `weights` has a wrong type, or a shape that does not fit the tree. A
        cost is NaN or infinite, or a weight is not in 0..1. In `tree.order`, a parent
        does not precede its children.

    Notes
    -----
    Yang 2012 (CVPR), section 3. A pass from the leaves to the root and a pass back give
    the exact sums, in a time that does not depend on the weights. Sums are float64, and
    the result does not depend on the number of threads.

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
    """Compute the result of `average_along_tree`, but check only the shapes.

    Stages call this function, because the other checks would take 4 % of their time. A
    stage that contains such a stage may give it costs of another size than the image.
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
        # beyond the last level hold zeros or sums of the block before. They are summed
        # but not read. The buffer starts with zeros because uninitialized memory could
        # overflow.
        sums = np.zeros((pixels, _LEVELS))
        for block in range(first_block, end_block):
            first = block * _LEVELS
            part = slice(first, min(first + _LEVELS, levels))
            part_sums = sums[:, : part.stop - first]
            part_sums[:] = flat_costs[:, part]
            _sum_along_tree(tree.order, tree.parents, edge_weights, sums)
            np.divide(part_sums, weight_sums, out=means[:, part], casting="same_kind")

    # Each thread computes some blocks of levels, because `over_rows` can distribute
    # blocks instead of rows. About ten numbers are read or written for each cost.
    block_count = math.ceil(levels / _LEVELS)
    over_rows(average_blocks, block_count, work=10 * means.size)
    return means.reshape(rows, columns, levels)


def _check_image(function: str, image: Image) -> None:
    """Refuse arrays that are no images, and intensities that cannot be compared.

    The function does not warn about images whose intensities seem to range from 0 to 1.
    Stages and pipelines warn about such images before they call it.
    """
    if form_fault := fault(image, IMAGE):
        raise DataError(f"{function}: image is {form_fault}")
    if number_fault := fault_of_numbers(image, IMAGE):
        raise DataError(f"{function}: image has {number_fault}")


def _check_tree(tree: PixelTree) -> None:
    """Refuse a tree whose arrays would lead a kernel to a wrong memory address."""
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
    """Refuse arrays that are no costs, and costs that are not finite."""
    if form_fault := fault(costs, _COSTS):
        raise DataError(f"average_along_tree: costs is {form_fault}")
    if number_fault := fault_of_numbers(costs, _COSTS):
        raise DataError(f"average_along_tree: costs has {number_fault}")


def _check_weights(weights: NDArray[np.float64]) -> None:
    """Refuse weights outside 0..1, because sums could grow without limit."""
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
    """Refuse arrays that do not fit a tree, because kernels do not check shapes."""
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
    """Sort the edges of a smoothed image by their differences."""
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

    For three channels, this is several times faster than ``channels.max(axis=2)``.
    """
    largest = channels[..., 0]
    for channel in range(1, channels.shape[2]):
        largest = np.maximum(largest, channels[..., channel])
    return largest


def _separate_pixels(pixels: int) -> _Forest:
    """Return a forest in which each pixel is a part."""
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
    """Return the tree that consists of the chosen edges."""
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
    """Assign numbers to the parts, in raster order of their first pixels; (pixels,)."""
    first_pixels = np.empty_like(forest.link)
    _find_representatives(forest.link, first_pixels)
    is_first_pixel = first_pixels == np.arange(first_pixels.size)
    numbers = np.cumsum(is_first_pixel, dtype=np.int32) - np.int32(1)
    return numbers[first_pixels]


@kernel
def _find_representatives(link: NDArray[np.int32], out: NDArray[np.int32]) -> None:
    """Write the representative of the part of each pixel."""
    for pixel in range(out.shape[0]):
        out[pixel] = find_root(link, np.int32(pixel))


@kernel(inline="always")
def _parts_of_edge(edges: _Edges, forest: _Forest, edge: int) -> tuple[int, int]:
    """Find the representatives of the parts that an edge connects, the lower first."""
    pixel = np.int32(edge // 2)
    step = edges.columns if edge % 2 == 1 else 1
    a = find_root(forest.link, pixel)
    b = find_root(forest.link, np.int32(pixel + step))
    return min(a, b), max(a, b)


@kernel(inline="always")
def _join(forest: _Forest, edge: int, first: int, second: int) -> None:
    """Join two parts by an edge; the representative `first` is the lower number."""
    forest.link[second] = first
    forest.size[first] += forest.size[second]
    forest.chosen[edge] = True


@kernel
def _group_pixels(edges: _Edges, k: float, forest: _Forest) -> int:
    """Visit edges in ascending order, and join parts whose limits allow the difference.

    Edges between parts that stay separate are moved to the beginning of
    ``edges.ascending``. Their order does not change.

    Parameters
    ----------
    edges : _Edges
    k : float
        Parameter of `build_segment_tree`.
    forest : _Forest
        Parts, joined in place.

    Returns
    -------
    int
        Number of edges that did not join parts and did not lie inside a part.
    """
    # A limit is the largest difference that may join a part. It is stored at the
    # representative of the part. A part of one pixel has the limit k.
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
    """Link all parts to one tree, by the edges with the smallest differences.

    This is Kruskal's algorithm. If both parts have more than `_PENALIZED_SIZE` pixels,
    the penalty is added to the difference of the edge in place.
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
    """Walk from pixel 0 along the chosen edges, and write the fields of the tree.

    The walk visits pixels in ascending number of edges between them and pixel 0.
    """
    visited = np.zeros(order.shape[0], np.bool_)
    visited[0] = True
    done = 0
    count = 1
    while done < count:
        pixel = order[done]
        done += 1
        # The neighbours to the right, below, to the left and above are visited in this
        # order. An edge has the number of its left or upper pixel.
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

    The array `sums`, (pixels, levels), contains the values before the call and the sums
    after it.
    """
    # From the leaves to the root, each pixel collects the sums of its subtree.
    for n in range(order.shape[0] - 1, 0, -1):
        pixel = np.uint64(order[n])
        parent = np.uint64(parents[pixel])
        weight = weights[pixel]
        for k in range(sums.shape[1]):
            sums[parent, k] += weight * sums[pixel, k]
    # From the root to the leaves, each pixel adds the share of the rest of the tree,
    # which is the sum of its parent without the part that came from the pixel itself.
    for n in range(1, order.shape[0]):
        pixel = np.uint64(order[n])
        parent = np.uint64(parents[pixel])
        weight = weights[pixel]
        for k in range(sums.shape[1]):
            sums[pixel, k] += weight * (sums[parent, k] - weight * sums[pixel, k])
