"""Graph cuts with occlusions: pixels are matched one to one or not at all."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import Costs, CostVolume, Energy, Labeling, Levels, Smoothness
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.progress import counted
from stereo_framework.optimization._max_flow import LINKS, Graph, empty_graph, sink_side
from stereo_framework.optimization._stopping import MinDecrease, lowers_too_little
from stereo_framework.stages import (
    Image,
    Mask,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    Unit,
    kernel_array,
    stage,
)

RIGHT, DOWN = 1, 2
"""Bits of `flat` masks: the edge to the right, the one to the lower neighbour."""


class _Problem(NamedTuple):
    """Costs of matches, x_match - x_reference by level, the flat edges of both images, weights of edges that are not flat and of flat ones, and what a match
    saves: the cost of two occluded pixels.
    """

    costs: Costs
    shifts: NDArray[np.int64]
    flat: NDArray[np.uint8]
    flat_match: NDArray[np.uint8]
    weights: NDArray[np.float64]
    saved: float


@stage(
    "optimization",
    source="Kolmogorov & Zabih 2001, sections 3 and 4",
    whole_steps="matches pixels one to one",
    memory=4,
)
def graph_cut_occlusion(
    volume: CostVolume,
    reference: Image,
    match: Image,
    smoothness: Smoothness | None = None,
    *,
    weight: Annotated[NonNegative, Unit("units of the matching cost")] = 8.0,
    gradient_threshold: Annotated[NonNegative, Unit("grey levels")] | None = 8.0,
    gradient_penalty: NonNegative = 3.0,
    occlusion_cost: Annotated[NonNegative, Unit("units of the matching cost")] = 10.0,
    order: Literal["random", "fixed"] = "random",
    iterations: PositiveInt = 100,
    seed: NonNegativeInt = 0,
    min_decrease: MinDecrease = None,
) -> Labeling:
    """The matches, each pixel of either image in one or in none, that no expansion of a disparity improves, each by one minimum cut.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels) of a match.
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255.
    smoothness : Smoothness, optional
        Plays no part but in the energy that `trace` tells.
    weight : float
        The paper's lambda: cost of an edge between neighbouring pixels of which one is matched with a disparity and the other is not matched
        with the same, in units of the matching cost. A jump that occludes nothing pays twice, once for either disparity.
    gradient_threshold : float or None
        Intensity difference in grey levels (root mean square over the colours). Where it is smaller both across the edge and across the one
        of the match image that it is matched with, the edge costs `gradient_penalty` times as much; null or 0: the images play no part.
    gradient_penalty : float
        Factor on the weight of edges below the threshold in both images.
    occlusion_cost : float
        Cost of a pixel of either image without a match, in units of the matching cost.
    order : {"random", "fixed"}
        Order of the expansions in a cycle: drawn anew for each cycle, or by rising level.
    iterations : int
        Most cycles. One cycle expands every level once; the last one needed improves nothing more.
    seed : int
        Of the random order; the same seed gives the same labels.
    min_decrease : float or None
        Share of the objective by which a cycle must lower it. If a cycle lowers it by
        no more than this share, the cycles end. A typical value is 0.001. null: the
        cycles end when one does not lower the objective.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), -1 where the reference is occluded. `objective` is the summed cost of matches, occluded pixels of both
        images and edges; `trace` has the seconds and the energy of the filled labels, not the objective, after each cycle.

    Raises
    ------
    ParameterError
        The disparities are fractions of a pixel, the images do not fit the volume, or a parameter is out of its range.

    Notes
    -----
    Kolmogorov & Zabih 2001: an expansion may add any matches of its disparity and drop any others; of equally good ones it makes that
    with fewest of its disparity and most of the others. There are no matches at first. Pixels whose match would lie outside the match image
    are occluded. The paper's threshold and penalty are 8 and 3; the difference is the larger one of both images, as there. Its weight
    and occlusion cost depend on the matching cost. Expansions are left out when nothing has changed since the level's last one.

    Unlike in dynamic programming matches need not be in order, and rows hang together. That no pixel of the match image is matched
    twice needs disparities of whole pixels: refine them afterwards.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange
    >>> reference, match = np.array([[10, 50, 90, 20, 60]], np.uint8), np.array([[10, 20, 60, 30, 30]], np.uint8)
    >>> shifted = np.abs(reference[..., None] - np.stack([match, np.roll(match, 1), np.roll(match, 2)], axis=-1).astype(float))
    >>> volume = CostVolume(shifted.astype(np.float32), SearchRange(0, 2), 255.0)
    >>> result = graph_cut_occlusion(volume, reference, match, weight=1, occlusion_cost=5)
    >>> result.levels.tolist(), result.objective
    ([[0, -1, -1, 2, 2]], 22.0)
    """
    energy = Energy(volume, smoothness)
    threshold = gradient_threshold or 0.0
    search = volume.search
    search.check_whole_steps("graph_cut_occlusion")
    start = working_time()
    moves = OcclusionMoves(
        volume, reference, match, weight, threshold, gradient_penalty, occlusion_cost
    )
    draw = np.random.PCG64(seed)
    trace: list[tuple[float, float]] = []
    objective, lowest = moves.objective(), np.inf
    while objective < lowest and len(trace) < iterations:
        lowest = objective
        # Raw numbers are the only ones that numpy promises never to change.
        levels = (
            np.argsort(draw.random_raw(search.levels))
            if order == "random"
            else np.arange(search.levels)
        )
        for level, _ in zip(
            levels.tolist(), counted(search.levels, f"cycle {len(trace) + 1}, move"), strict=True
        ):
            if moves.may_improve(level):
                moves.expand(level)
        trace.append((working_time() - start, energy.of(moves.labels)))
        objective = moves.objective()
        if lowers_too_little([lowest, objective], min_decrease, period=1):
            break
    labels = moves.labels.copy()
    return Labeling(labels, volume.chosen(labels), trace=tuple(trace), objective=objective)


class OcclusionMoves:
    """A set of matches in which no pixel of either image occurs twice, none at first, and the moves that change it in place.

    Parameters
    ----------
    volume : CostVolume
        Costs of matches; disparities of whole pixels.
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
    weight : float
        Cost of a match beside which the same disparity is not matched.
    gradient_threshold, gradient_penalty : float
        It costs so many times as much where intensities across the edge differ by less than the threshold in both images.
    occlusion_cost : float
        Of a pixel of either image without a match.
    """

    def __init__(
        self,
        volume: CostVolume,
        reference: Image,
        match: Image,
        weight: float,
        gradient_threshold: float,
        gradient_penalty: float,
        occlusion_cost: float,
    ):
        costs, search = kernel_array(volume.costs), volume.search
        rows, columns = costs.shape[:2]
        shifts = -search.direction * (search.first + search.stride * np.arange(search.levels))
        flat, flat_match = (_flat_edges(image, gradient_threshold) for image in (reference, match))
        weights = np.array([weight, weight * gradient_penalty], np.float64)
        # One row of no pixels above and below, as the graph has it.
        self._padded = np.full((rows + 2, columns), -1, np.int16)
        self.labels: Levels = self._padded[1:-1]
        # The reference column that each pixel of the match image is matched with, -1 without one.
        self._owners = np.full((rows, columns), -1, np.int32)
        self._seen = search.in_view(columns)
        self._problem = _Problem(costs, shifts, flat, flat_match, weights, 2.0 * occlusion_cost)
        # Two layers: the matches that there are above, all that the move may add below.
        self._graph = empty_graph(2 * rows + 1, columns, linked=True)
        assert self._graph.links is not None, "asked for"
        self._links = self._graph.links
        self._nodes = np.empty(2 * rows * columns, np.intp)
        # How often something changed, and that number when each level was last expanded.
        self._changes = 0
        self._settled = np.full(costs.shape[2], -1)

    def objective(self) -> float:
        """Costs of matches, of edges that separate a match from no match of its disparity, and of occluded pixels, in float64."""
        rows, columns = self.labels.shape
        return _objective(self._padded, self._problem) + rows * columns * self._problem.saved

    def may_improve(self, level: int) -> bool:
        """False if nothing has changed since this level was last expanded."""
        return bool(self._settled[level] != self._changes)

    def expand(self, level: int) -> None:
        """Add any matches of a level and drop any others; of equal sets the one with fewest of the level and most of the others."""
        count = _build(
            level,
            self._padded,
            self._owners,
            self._seen,
            self._problem,
            self._graph,
            self._links,
            self._nodes,
        )
        nodes = self._nodes[:count]
        self._changes += _apply(
            level,
            nodes,
            sink_side(nodes, self._graph),
            self._problem.shifts,
            self._padded,
            self._owners,
        )
        self._settled[level] = self._changes


def _flat_edges(image: Image, threshold: float) -> NDArray[np.uint8]:
    """Of each pixel, the edges across which the intensities differ, root mean square over the channels, by less than a threshold."""
    rows, columns = image.shape[:2]
    pixels = image.reshape(rows, columns, -1).astype(np.float64)
    limit = threshold**2 * pixels.shape[2]
    flat = np.zeros((rows, columns), np.uint8)
    flat[:, :-1] |= RIGHT * ((np.diff(pixels, axis=1) ** 2).sum(axis=2) < limit).astype(np.uint8)
    flat[:-1] |= DOWN * ((np.diff(pixels, axis=0) ** 2).sum(axis=2) < limit).astype(np.uint8)
    return flat


@kernel(inline="always")
def _weight(direction: int, y: int, x: int, match: int, problem: _Problem) -> float:
    """Of the edge from a match to its right, left, lower or upper neighbour of equal disparity; 0 if one of its pixels is out of view."""
    flat, flat_match, weights = problem.flat, problem.flat_match, problem.weights
    rows, columns = flat.shape
    # Whether the neighbours are pixels of either image; asked of a cell, that is `SearchRange.in_view`.
    step = (0, -1, 0, 0)[direction]
    first, first_match = x + step, match + step
    row = y - (direction == 3)
    if direction < 2:
        if min(first, first_match) < 0 or max(first, first_match) + 1 >= columns:
            return 0.0
    elif row < 0 or row + 1 >= rows:
        return 0.0
    bit = RIGHT if direction < 2 else DOWN
    at, here, there = np.uint64(row), np.uint64(first), np.uint64(first_match)
    return weights[1] if flat[at, here] & flat_match[at, there] & bit else weights[0]


@kernel
def _objective(labels: NDArray[np.int16], problem: _Problem) -> float:
    """What the matches cost more than none at all; each saves the cost of two occluded pixels."""
    costs, shifts, saved = problem.costs, problem.shifts, problem.saved
    rows, columns, _ = costs.shape
    total = 0.0
    for y in range(rows):
        for x in range(columns):
            own = labels[y + 1, x]
            if own < 0:
                continue
            total += np.float64(costs[y, x, own]) - saved
            for d in range(4):
                weight = _weight(d, y, x, x + shifts[own], problem)
                # An edge between neighbours has weight 0 where there is no neighbour.
                if weight > 0 and labels[y + 1 + (0, 0, 1, -1)[d], x + (1, -1, 0, 0)[d]] != own:
                    total += weight
    return total


# A node on the sink's side has changed: a match that there was is dropped, one of the expanded level is there. Excess is what the sink's
# side costs more. A match that there was (source's side) and one of the expanded level that shares a pixel with it (sink's side) must not
# go together: an edge of infinite capacity.


@kernel
def _build(
    level: int,
    labels: NDArray[np.int16],
    owners: NDArray[np.int32],
    seen: Mask,
    problem: _Problem,
    graph: Graph,
    links: NDArray[np.int32],
    nodes: NDArray[np.intp],
) -> int:
    """Fill the graph; the number of its nodes, which `nodes` gets."""
    costs, shifts, saved = problem.costs, problem.shifts, problem.saved
    rows, columns, _ = costs.shape
    excess, residual = graph.excess, graph.residual
    below = (rows + 1) * columns
    count = 0
    for y in range(rows):
        for x in range(columns):
            own = labels[y + 1, x]
            if own in (-1, level):
                continue
            i = np.uint64((y + 1) * columns + x)
            less = saved - np.float64(costs[y, x, own])
            for d in range(4):
                weight = _weight(d, y, x, x + shifts[own], problem)
                capacity = 0.0
                if weight > 0:
                    if labels[y + 1 + (0, 0, 1, -1)[d], x + (1, -1, 0, 0)[d]] == own:
                        capacity = weight
                    else:
                        # No match of its disparity can come up beside it.
                        less -= weight
                residual[i, d] = capacity
            excess[i] = less
            links[i, 0] = links[i, 1] = 0
            nodes[count] = i
            count += 1
        for x in range(columns):
            if not seen[x, level]:
                continue
            own, match = labels[y + 1, x], x + shifts[level]
            above = (y + 1) * columns
            i = np.uint64(below + above + x)
            for d in range(4):
                residual[i, d] = _weight(d, y, x, match, problem)
            excess[i] = np.float64(costs[y, x, level]) - saved
            links[i, 0] = links[i, 1] = 0
            if own != level:
                if own >= 0:
                    _forbid(np.uint64(above + x), i, 0, residual, links)
                if owners[y, match] >= 0:
                    _forbid(np.uint64(above + owners[y, match]), i, 1, residual, links)
            nodes[count] = i
            count += 1
    return count


@kernel(inline="always")
def _forbid(
    there: np.uint64,
    new: np.uint64,
    link: int,
    residual: NDArray[np.float64],
    links: NDArray[np.int32],
) -> None:
    """Join two matches that share a pixel: by link 0 of the one that there was one of the reference, by link 1 one of the match image."""
    links[there, link], links[new, 1 - link] = new, there
    residual[there, LINKS + link] = np.inf


@kernel
def _apply(
    level: int,
    nodes: NDArray[np.intp],
    changed: NDArray[np.bool_],
    shifts: NDArray[np.int64],
    labels: NDArray[np.int16],
    owners: NDArray[np.int32],
) -> int:
    """Drop and add matches; 1 if there were any to drop or add, else 0."""
    rows, columns = owners.shape
    below, found = (rows + 1) * columns, 0
    for added in (False, True):
        for n in range(nodes.shape[0]):
            y, x = divmod(nodes[n] - columns, columns)
            own = labels[y % (rows + 1) + 1, x]
            if nodes[n] < below + columns:
                drop = not added and changed[n]
            else:
                y -= rows + 1
                drop = not added and own == level and not changed[n]
                if added and changed[n] and own != level:
                    labels[y + 1, x] = level
                    owners[y, x + shifts[level]] = x
                    found = 1
            if drop:
                labels[y + 1, x] = -1
                owners[y, x + shifts[own]] = -1
                found = 1
    return found
