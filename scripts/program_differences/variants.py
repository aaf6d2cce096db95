"""Define variants of stages that behave as the programs of the methods' authors.

The module is a plug-in. The scripts of this folder compare each variant with the stage
of the package, and the page "Differences from the authors' programs" lists the results.
The variants contain no code of the programs.
"""

from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order

from stereo_framework import stage
from stereo_framework.core.volume import CostVolume, Labeling
from stereo_framework.optimization import more_global_matching, semi_global, winner_take_all
from stereo_framework.stages import Image, NonNegative, Positive, Unit


@stage("optimization", source="Drory, Haubold, Avidan & Hamprecht 2014")
def corrected_sums(
    volume: CostVolume,
    *,
    method: Literal["more_global_matching", "semi_global"] = "more_global_matching",
    directions: Literal[4, 8] = 8,
    p1: Annotated[NonNegative, Unit("units of the matching cost")] = 20.0,
    p2: Annotated[NonNegative, Unit("units of the matching cost")] = 100.0,
) -> Labeling:
    """Select disparities by sums in which a pixel's own cost counts only once.

    The sum over the directions contains the cost of the pixel itself once for each
    direction. The program of Facciolo, de Franchis and Meinhardt subtracts this cost
    once for each direction but one before it selects the level with the lowest sum.

    Parameters
    ----------
    volume : CostVolume
        Matching costs (rows, columns, levels).
    method : {"more_global_matching", "semi_global"}
        Optimizer that computes the sums.
    directions : int
        Number of directions of the optimizer.
    p1, p2 : float
        Penalties of the optimizer, in units of the matching cost.

    Returns
    -------
    Labeling
        Levels as int16 (rows, columns). Each pixel has a level.
    """
    if method == "semi_global":
        result = semi_global(volume, paths=directions, p1=p1, p2=p2)
    else:
        result = more_global_matching(volume, directions=directions, p1=p1, p2=p2)
    repeated_costs = (directions - 1) * volume.costs.astype(np.float32)
    sums = result.volume.costs.astype(np.float32) - repeated_costs
    corrected = replace(result.volume, costs=sums)
    levels = winner_take_all(corrected).levels
    return Labeling(levels, volume.chosen(levels), corrected)


class _Tree(NamedTuple):
    """Spanning tree: pixels in breadth-first order, their parents, and the differences.

    The difference of a pixel is the intensity difference between the pixel and its
    parent.
    """

    order: NDArray[np.int64]
    parents: NDArray[np.int64]
    differences: NDArray[np.float64]


@stage("aggregation", source="Yang 2012")
def tree_of_the_program(
    volume: CostVolume,
    reference: Image,
    *,
    sigma: Annotated[Positive, Unit("grey levels")] = 25.5,
    median_size: Literal[1, 3, 5] = 3,
) -> CostVolume:
    """Average costs along the spanning tree that the program of Yang builds.

    If edges have equal differences, several trees have the minimum sum of differences.
    The program inserts all edges along rows before all edges along columns. The stage
    `minimum_spanning_tree` inserts edges in the order of their pixels instead.

    Parameters
    ----------
    volume : CostVolume
        Matching costs as float32 (rows, columns, levels).
    reference : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Reference image with intensities from 0 to 255.
    sigma : float
        Sum of the differences along the tree at which a weight decreases to 1/e, in
        grey levels.
    median_size : {1, 3, 5}
        Width and height of the median filter that smooths the image before the tree is
        built, in pixels.

    Returns
    -------
    CostVolume
        Averaged costs with the unit and the shape of the given costs.
    """
    rows, columns, levels = volume.costs.shape
    pixels = np.ascontiguousarray(reference, np.float32)
    if median_size > 1:
        pixels = cv2.medianBlur(pixels, median_size)
    tree = _build_tree(pixels.reshape(rows, columns, -1))

    weights = np.exp(-tree.differences / sigma)
    sums = volume.costs.reshape(-1, levels).astype(np.float64)
    totals = np.ones((rows * columns, 1))
    for values in (sums, totals):
        _sum_over_tree(values, tree, weights)
    return replace(volume, costs=(sums / totals).astype(np.float32).reshape(rows, columns, levels))


def _build_tree(pixels: NDArray[np.float32]) -> _Tree:
    """Build the spanning tree, with edges along rows before edges along columns."""
    rows, columns = pixels.shape[:2]
    places = np.arange(rows * columns).reshape(rows, columns)
    along_rows = np.abs(np.diff(pixels, axis=1)).max(axis=2)
    along_columns = np.abs(np.diff(pixels, axis=0)).max(axis=2)
    differences = np.concatenate([along_rows.reshape(-1), along_columns.T.reshape(-1)])
    starts = np.concatenate([places[:, :-1].reshape(-1), places[:-1].T.reshape(-1)])
    ends = np.concatenate([places[:, 1:].reshape(-1), places[1:].T.reshape(-1)])

    tree_edges = _spanning_edges(starts, ends, np.argsort(differences, kind="stable"))
    graph = coo_array(
        (np.ones(len(tree_edges)), (starts[tree_edges], ends[tree_edges])), (rows * columns,) * 2
    )
    order, parents = breadth_first_order(graph.tocsr(), 0, directed=False)
    edge_differences = np.zeros(rows * columns)
    first_is_parent = parents[ends[tree_edges]] == starts[tree_edges]
    children = np.where(first_is_parent, ends[tree_edges], starts[tree_edges])
    edge_differences[children] = differences[tree_edges]
    return _Tree(order, parents, edge_differences)


def _spanning_edges(
    starts: NDArray[np.int64], ends: NDArray[np.int64], order: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the edges of the spanning tree when edges are inserted in this order.

    An edge is inserted only if it connects two parts that are not yet connected.
    """
    roots = list(range(int(ends.max()) + 1))

    def root_of(pixel: int) -> int:
        while roots[pixel] != pixel:
            roots[pixel] = roots[roots[pixel]]
            pixel = roots[pixel]
        return pixel

    tree_edges = []
    for edge in order.tolist():
        first = root_of(int(starts[edge]))
        second = root_of(int(ends[edge]))
        if first != second:
            roots[max(first, second)] = min(first, second)
            tree_edges.append(edge)
    return np.array(tree_edges)


def _sum_over_tree(values: NDArray[np.float64], tree: _Tree, weights: NDArray[np.float64]) -> None:
    """Replace the values of all pixels by their weighted sums over the tree."""
    for pixel in tree.order[:0:-1]:
        values[tree.parents[pixel]] += weights[pixel] * values[pixel]
    for pixel in tree.order[1:]:
        # The sum of the parent already contains the values of this branch. Therefore,
        # the branch is subtracted before the sum of the parent is added.
        without_branch = values[tree.parents[pixel]] - weights[pixel] * values[pixel]
        values[pixel] += weights[pixel] * without_branch
