"""Minimum cuts of graphs whose nodes are pixels and whose edges join 4-neighbours, besides, where wanted, two free links a node.

Two solvers with one interface: the project's own, after Boykov & Kolmogorov (2004), and PyMaxflow (GPL, imported here alone and
on use). The minimum cut of smallest sink side is unique, so that both give the same answer.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import MissingExtraError
from stereo_framework.kernels.decorator import kernel

Bytes = NDArray[np.int8]
Words = NDArray[np.int32]

FREE, SOURCE, SINK = 0, 1, 2
"""Trees that a node may belong to."""
LINKS = 4
"""Directions are 0..3, right, left, down and up, and in graphs that have links `LINKS` and ``LINKS + 1``. The direction back is always
``direction ^ 1``."""
TERMINAL, ORPHAN = 6, 7
"""Parents besides the directions."""
FAR = 1 << 30


class Graph(NamedTuple):
    """Capacities of a cut problem and the working memory of its solution.

    Arrays cover the image row by row with one more row above and below, `columns` wide, so that every pixel has four neighbours in
    them. Outside a problem all capacities are 0; problems without a common pixel may be solved at the same time.

    Parameters
    ----------
    columns : int
    excess : ndarray, float64, (pixels,)
        Capacity from the source, or minus that to the sink.
    residual : ndarray, float64, (pixels, 4 or 6)
        Capacities of the edges in each direction; used up by the solution.
    tree, parent, distance, stamp, active, orphans : ndarray
        The search trees: which one, through which neighbour, how far from its root as known at which time, and two linked lists.
    links : ndarray, int32, (pixels, 2), or None
        Neighbours in the directions `LINKS` and ``LINKS + 1``; a node's first link has that node for its second one. 0, a pixel above the
        image, where there is none.
    """

    columns: int
    excess: NDArray[np.float64]
    residual: NDArray[np.float64]
    tree: Bytes
    parent: Bytes
    distance: Words
    stamp: Words
    active: Words
    orphans: Words
    links: Words | None


def empty_graph(rows: int, columns: int, linked: bool = False) -> Graph:
    """A graph of an image without capacities; with `linked` the nodes have links."""
    pixels = (rows + 2) * columns
    residual = np.zeros((pixels, 6 if linked else 4))
    tree, parent = np.zeros((2, pixels), np.int8)
    distance, stamp, active, orphans = np.zeros((4, pixels), np.int32)
    links = np.zeros((pixels, 2), np.int32) if linked else None
    return Graph(
        columns, np.zeros(pixels), residual, tree, parent, distance, stamp, active, orphans, links
    )


def sink_side_by_pymaxflow(nodes: NDArray[np.intp], graph: Graph) -> NDArray[np.bool_]:
    """As `sink_side`, by PyMaxflow.

    Raises
    ------
    MissingExtraError
        It is not installed; who passes the framework on may leave it out, for its licence.
    """
    try:
        import maxflow
    except ImportError as error:
        raise MissingExtraError(
            "solver pymaxflow: PyMaxflow is not installed; solver grid finds the same cuts without it"
        ) from error
    if nodes.size == 0:
        # The one thing that PyMaxflow cannot solve.
        return np.zeros(0, np.bool_)
    number = np.zeros(graph.excess.size, np.int64)
    number[nodes] = np.arange(nodes.size)
    solver = maxflow.GraphFloat(nodes.size, 2 * nodes.size)
    ids = solver.add_grid_nodes(nodes.size)
    excess = graph.excess[nodes]
    solver.add_grid_tedges(ids, np.maximum(excess, 0), np.maximum(-excess, 0))
    ends = {0: nodes + 1, 2: nodes + graph.columns}
    if graph.links is not None:
        ends[LINKS] = graph.links[nodes, 0]
    for direction, end in ends.items():
        there, back = graph.residual[nodes, direction], graph.residual[end, direction + 1]
        joined = np.flatnonzero((there > 0) | (back > 0))
        solver.add_edges(joined, number[end[joined]], there[joined], back[joined])
    graph.residual[nodes] = 0
    solver.maxflow()
    return solver.get_grid_segments(ids)


def sink_side(nodes: NDArray[np.intp], graph: Graph) -> NDArray[np.bool_]:
    """Which nodes can still reach the sink when the flow is greatest: the smallest sink side of a minimum cut.

    Parameters
    ----------
    nodes : ndarray, intp, (n,)
        Indices into the graph's arrays.
    graph : Graph
        Its capacities at `nodes` are 0 afterwards.

    Returns
    -------
    ndarray, bool, (n,)

    Notes
    -----
    Boykov & Kolmogorov 2004, section 3: two search trees grow from the terminals until they touch, the path found is saturated,
    and the nodes cut off look for new parents. Distances to the roots are estimated with time stamps (Kolmogorov 2004, section 2.3).
    """
    side = np.empty(nodes.size, np.bool_)
    _max_flow(nodes, graph, side)
    return side


@kernel
def neighbour(node: np.uint64, direction: int, columns: int, links: Words | None) -> np.uint64:
    """The neighbour of a node; unsigned, which saves the check for negative indices."""
    if links is not None and direction >= LINKS:
        return np.uint64(links[node, np.uint64(direction - LINKS)])
    offset = (1, -1, columns, -columns)[direction]
    return np.uint64(np.int64(node) + offset)


@kernel
def _directions(links: Words | None) -> int:
    """How many there are: known when the solver is compiled, for graphs with links and without."""
    if links is None:
        return LINKS
    return LINKS + 2


@kernel
def _max_flow(nodes: NDArray[np.intp], graph: Graph, side: NDArray[np.bool_]) -> None:
    columns, excess, residual, tree, parent, distance, stamp, active, _, links = graph
    _push_to_neighbours(nodes, graph)
    # Nodes whose neighbours may join their tree. Linked: the last one points to itself, 0 (a pixel above the image) ends the list.
    first, last = np.uint64(0), np.uint64(0)
    for n in range(nodes.shape[0]):
        i = np.uint64(nodes[n])
        stamp[i] = 0
        if excess[i] == 0:
            tree[i] = FREE
            active[i] = 0
        else:
            tree[i] = SOURCE if excess[i] > 0 else SINK
            parent[i], distance[i] = TERMINAL, 1
            first, last = _append(active, first, last, i)
    time = 0
    current = np.uint64(0)
    while True:
        if current == 0 or tree[current] == FREE:
            current = first
            if current == 0:
                break
            first = np.uint64(0) if first == last else np.uint64(active[first])
            if first == 0:
                last = np.uint64(0)
            active[current] = 0
            if tree[current] == FREE:
                continue
        # Growth.
        i, own = current, tree[current]
        touch = -1
        for d in range(_directions(links)):
            j = neighbour(i, d, columns, links)
            if (residual[i, d] if own == SOURCE else residual[j, d ^ 1]) > 0:
                if tree[j] == FREE:
                    tree[j], parent[j], stamp[j], distance[j] = (
                        own,
                        d ^ 1,
                        stamp[i],
                        distance[i] + 1,
                    )
                    if active[j] == 0:
                        first, last = _append(active, first, last, j)
                elif tree[j] != own:
                    touch = d
                    break
                elif stamp[j] <= stamp[i] and distance[j] > distance[i]:
                    parent[j], stamp[j], distance[j] = d ^ 1, stamp[i], distance[i] + 1
        if touch < 0:
            current = np.uint64(0)
            continue
        time += 1
        j = neighbour(i, touch, columns, links)
        orphan = _augment(i, j, touch, graph) if own == SOURCE else _augment(j, i, touch ^ 1, graph)
        first, last = _adopt(orphan, time, first, last, graph)
    for n in range(nodes.shape[0]):
        i = np.uint64(nodes[n])
        side[n] = tree[i] == SINK
        tree[i] = FREE
        for d in range(_directions(links)):
            residual[i, d] = 0


@kernel
def _push_to_neighbours(nodes: NDArray[np.intp], graph: Graph) -> None:
    """Use up the paths of one edge, most of the flow where data decide, without the trees."""
    columns, excess, residual, links = graph.columns, graph.excess, graph.residual, graph.links
    for n in range(nodes.shape[0]):
        i = np.uint64(nodes[n])
        for d in range(1, _directions(links), 2):
            if residual[i, d] == 0 and d < LINKS:
                # The other way either: without links capacities are the same in both directions.
                continue
            j = neighbour(i, d, columns, links)
            if excess[i] > 0 > excess[j]:
                flow = min(residual[i, d], excess[i], -excess[j])
            elif excess[i] < 0 < excess[j]:
                flow = -min(residual[j, d ^ 1], -excess[i], excess[j])
            else:
                continue
            excess[i] -= flow
            excess[j] += flow
            residual[i, d] -= flow
            residual[j, d ^ 1] += flow


@kernel(inline="always")
def _append(
    links: Words, first: np.uint64, last: np.uint64, node: np.uint64
) -> tuple[np.uint64, np.uint64]:
    links[node] = node
    if last == 0:
        return node, node
    links[last] = node
    return first, node


@kernel
def _augment(source_end: np.uint64, sink_end: np.uint64, direction: int, graph: Graph) -> np.uint64:
    """Saturate the path through an edge between the trees; returns the nodes cut off as a linked list that 0 ends."""
    columns, excess, residual, parent = graph.columns, graph.excess, graph.residual, graph.parent
    orphans, links = graph.orphans, graph.links
    flow = residual[source_end, direction]
    root = source_end
    while parent[root] != TERMINAL:
        d = parent[root]
        root = neighbour(root, d, columns, links)
        flow = min(flow, residual[root, d ^ 1])
    flow = min(flow, excess[root])
    root = sink_end
    while parent[root] != TERMINAL:
        d = parent[root]
        flow = min(flow, residual[root, d])
        root = neighbour(root, d, columns, links)
    flow = min(flow, -excess[root])

    residual[source_end, direction] -= flow
    residual[sink_end, direction ^ 1] += flow
    orphan = np.uint64(0)
    for end in range(2):
        i = source_end if end == 0 else sink_end
        while parent[i] != TERMINAL:
            d = parent[i]
            j = neighbour(i, d, columns, links)
            # Flow runs from the root to the source tree's end and from the sink tree's end to the root.
            residual[i, d] += flow if end == 0 else -flow
            residual[j, d ^ 1] -= flow if end == 0 else -flow
            if (residual[j, d ^ 1] if end == 0 else residual[i, d]) == 0:
                parent[i] = ORPHAN
                orphans[i] = orphan
                orphan = i
            i = j
        excess[i] -= flow if end == 0 else -flow
        if excess[i] == 0:
            parent[i] = ORPHAN
            orphans[i] = orphan
            orphan = i
    return orphan


@kernel
def _adopt(
    orphan: np.uint64, time: int, first: np.uint64, last: np.uint64, graph: Graph
) -> tuple[np.uint64, np.uint64]:
    """Give each orphan a parent connected to its root, the nearest one, or set it free, which makes orphans of its children."""
    columns, _, residual, tree, parent, distance, stamp, active, orphans, links = graph
    end = orphan
    while end != 0 and orphans[end] != 0:
        end = np.uint64(orphans[end])
    while orphan != 0:
        i, own = orphan, tree[orphan]
        best, nearest = -1, FAR
        for d in range(_directions(links)):
            j = neighbour(i, d, columns, links)
            if tree[j] == own and (residual[j, d ^ 1] if own == SOURCE else residual[i, d]) > 0:
                length = _distance_to_root(j, time, columns, parent, distance, stamp, links)
                if length < nearest:
                    best, nearest = d, length
        if best >= 0:
            parent[i], stamp[i], distance[i] = best, time, nearest + 1
        else:
            for d in range(_directions(links)):
                j = neighbour(i, d, columns, links)
                if tree[j] != own:
                    continue
                if active[j] == 0 and (residual[j, d ^ 1] if own == SOURCE else residual[i, d]) > 0:
                    first, last = _append(active, first, last, j)
                if parent[j] == d ^ 1:
                    parent[j] = ORPHAN
                    orphans[j] = 0
                    orphans[end] = j
                    end = j
            tree[i] = FREE
        orphan = np.uint64(orphans[i])
    return first, last


@kernel
def _distance_to_root(
    node: np.uint64,
    time: int,
    columns: int,
    parent: Bytes,
    distance: Words,
    stamp: Words,
    links: Words | None,
) -> int:
    """Edges from a node to its terminal, `FAR` if an orphan is on the way; nodes on the way remember theirs until `time` passes."""
    length, i = 0, node
    while stamp[i] != time:
        length += 1
        if parent[i] == TERMINAL:
            stamp[i], distance[i] = time, 1
            length -= 1
            break
        if parent[i] == ORPHAN:
            return FAR
        i = neighbour(i, parent[i], columns, links)
    length += distance[i]
    i, left = node, length
    while stamp[i] != time:
        stamp[i], distance[i] = time, left
        left -= 1
        i = neighbour(i, parent[i], columns, links)
    return length
