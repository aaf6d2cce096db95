"""Graph cuts: swaps or expansions of labels, until a round of all of them lowers the energy no more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.volume import Costs, CostVolume, Energy, Labeling, Levels, Smoothness
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.progress import iteration_callback
from stereo_framework.kernels.threads import over_rows, thread_count
from stereo_framework.optimization._max_flow import (
    Graph,
    empty_graph,
    neighbour,
    sink_side,
    sink_side_by_pymaxflow,
)
from stereo_framework.optimization._smoothness import (
    edge_weights,
    no_smoothness,
    required_smoothness,
)
from stereo_framework.optimization._stopping import MinDecrease, lowers_too_little
from stereo_framework.optimization.winner_take_all import winner_take_all
from stereo_framework.stages import NonNegativeInt, PositiveInt, kernel_array, stage

Move = tuple[int, int] | tuple[int]
"""``(a, b)``, a above b: a swap; ``(a,)``: an expansion of a."""

_Energy = tuple[Costs, NDArray[np.float32], NDArray[np.float64]]
"""Costs and the weights of the four edges of each pixel, of which the graph has one row more at either end, and rho."""

Solver = Literal["grid", "pymaxflow"]

SOLVERS: dict[str, Callable[[NDArray[np.intp], Graph], NDArray[np.bool_]]] = {
    "grid": sink_side,
    "pymaxflow": sink_side_by_pymaxflow,
}


@stage(
    "optimization",
    source="Boykov, Veksler & Zabih 2001, sections 3 and 4; Scharstein & Szeliski 2002, section 4.3",
    check_parameters=no_smoothness,
)
def graph_cut(
    volume: CostVolume,
    smoothness: Smoothness | None = None,
    *,
    move: Literal["swap", "expansion"] = "swap",
    order: Literal["random", "fixed"] = "random",
    iterations: PositiveInt = 100,
    solver: Solver = "grid",
    seed: NonNegativeInt = 0,
    min_decrease: MinDecrease = None,
) -> Labeling:
    """Levels of low energy, found from the winners by moves that change any number of pixels at once, each by one minimum cut.

    Parameters
    ----------
    volume : CostVolume
        Costs float32 (rows, columns, levels).
    smoothness : Smoothness
        What it costs that neighbours differ.
    move : {"swap", "expansion"}
        swap: the pixels of two labels a and b are given a or b anew; undecided ones get the lower level. expansion: any pixels may change to
        a; undecided ones keep their label. They find the best such change where rho is a metric (potts, linear, truncated_linear), else one that
        costs no more than none.
    order : {"random", "fixed"}
        Order of the moves in a cycle: drawn anew for each cycle, or by rising level.
    iterations : int
        Most cycles. One cycle tries every pair of levels, or every level, once; the last one needed lowers the energy no more.
    solver : {"grid", "pymaxflow"}
        What computes minimum cuts: the project's own code for pixel grids, or PyMaxflow. The labels are the same.
    seed : int
        Of the random order; the same seed gives the same labels.
    min_decrease : float or None
        Share of the energy by which a cycle must lower it. If a cycle lowers it by
        no more than this share, the cycles end. A typical value is 0.001. null: the
        cycles end when one does not lower the energy.

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), all assigned; `trace` has the seconds and the energy after each cycle.

    Raises
    ------
    ParameterError
        There is no smoothness term, or one with negative weights or penalties, or
        `min_decrease` is out of its range.

    Notes
    -----
    Boykov, Veksler & Zabih 2001: swaps need a semi-metric, expansions a metric, and for the Potts model expansions end within twice
    the lowest energy. Where rho is no metric, an edge is taken to cost, before an expansion, no more than both changes of one pixel alone
    cost together (Rother et al. 2005), so that the energy still never rises.

    The start, the cycles and the side of undecided pixels are those of the original test bed of Scharstein & Szeliski 2002, which knows swaps under the Potts model only. So is the end: swaps of the last cycle that cost the same still give pixels their lower level, after
    which, rarely, one more swap would lower the energy. A move is left out when nothing that it depends on has changed
    since it was last made, which does not change the result. Cuts are computed in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework import CostVolume, SearchRange, Smoothness
    >>> volume = CostVolume(np.array([[[0, 9], [5, 4], [0, 9]]], np.float32), SearchRange(0, 1), 255.0)
    >>> flat = np.zeros((1, 3), np.float32)
    >>> changes = Smoothness(np.array([[2, 2, 0]], np.float32), flat, np.array([0, 1], np.float32))
    >>> graph_cut(volume, changes).levels.tolist()
    [[0, 0, 0]]
    """
    energy = Energy(volume, smoothness)
    smoothness = required_smoothness(smoothness, "graph_cut")
    start = working_time()
    levels = volume.costs.shape[2]
    moves = Moves(volume.costs, smoothness, winner_take_all(volume).levels, solver)
    cycle = _moves_of_a_cycle(move, levels)
    draw = np.random.PCG64(seed)
    trace: list[tuple[float, float]] = []
    lowest = energy.of(moves.labels)
    # Cycles end at the latest when one lowers the energy no more.
    least_decrease = min_decrease or 0.0
    for _ in range(iterations):
        before = moves.labels.copy()
        # Raw numbers are the only ones that numpy promises never to change.
        ranks = np.argsort(draw.random_raw(len(cycle))) if order == "random" else range(len(cycle))
        _run([cycle[i] for i in ranks], moves, f"cycle {len(trace) + 1}, move")
        now = energy.of(moves.labels)
        if now > lowest:
            # By rounding alone: no move raises the energy.
            moves.labels[:], now = before, lowest
        trace.append((working_time() - start, now))
        if lowers_too_little([lowest, now], least_decrease, period=1):
            break
        lowest = now
    labels = moves.labels.copy()
    return Labeling(labels, volume.chosen(labels), trace=tuple(trace))


def _moves_of_a_cycle(move: str, levels: int) -> list[Move]:
    """List the swaps of all pairs of levels, or the expansions of all levels."""
    if move == "expansion":
        return [(a,) for a in range(levels)]
    pairs: list[Move] = []
    for b in range(levels):
        pairs += [(a, b) for a in range(b + 1, levels)]
    return pairs


def _run(cycle: Sequence[Move], moves: Moves, what: str) -> None:
    """Make the moves, in as many threads as allowed; those that touch a common label stay in order, so that all see the same labels."""
    pending, busy, state, tell = (
        list(cycle),
        set[int](),
        threading.Condition(),
        iteration_callback(),
    )
    rows, columns = moves.labels.shape

    def next_move() -> Move | None:
        blocked = set(busy)
        for i, move in enumerate(pending):
            if len(blocked) == moves.levels:
                break
            if blocked.isdisjoint(moves.touched(move)):
                return pending.pop(i)
            blocked.update(moves.touched(move))
        return None

    def run_moves(start: int, stop: int) -> None:
        while True:
            with state:
                while (move := next_move()) is None and pending:
                    state.wait()
                if move is None:
                    return
                touched = moves.touched(move)
                busy.update(touched)
                tell(len(cycle) - len(pending) - 1, len(cycle), what)
            try:
                if moves.may_improve(move):
                    moves.make(move)
            except BaseException:
                pending.clear()
                raise
            finally:
                with state:
                    busy.difference_update(touched)
                    state.notify_all()

    # A move has some dozens of steps for each of its pixels.
    try:
        over_rows(run_moves, thread_count(), 50 * len(pending) * rows * columns // moves.levels)
    finally:
        tell(len(cycle), len(cycle), what)


class Moves:
    """A labelling and the moves that change it in place.

    Moves that touch no common label (`touched`) may be made at the same time.

    Parameters
    ----------
    costs : ndarray, float32, (rows, columns, levels)
    smoothness : Smoothness
        Weights and rho not negative, ``rho[0] == 0``.
    labels : ndarray, int16, (rows, columns)
        All assigned; copied.
    solver : {"grid", "pymaxflow"}
    """

    def __init__(
        self, costs: Costs, smoothness: Smoothness, labels: Levels, solver: Solver = "grid"
    ):
        rows, columns, levels = costs.shape
        # One row of no pixels above and below, as the graph has it.
        padded = np.full((rows + 2, columns), -1, np.int16)
        self.labels = padded[1:-1]
        self.labels[:] = labels
        self._labels = padded.reshape(-1)
        weights = np.pad(edge_weights(smoothness), ((1, 1), (0, 0), (0, 0))).reshape(-1, 4)
        self._energy = (
            kernel_array(costs).reshape(rows * columns, levels),
            weights,
            smoothness.rho.astype(np.float64),
        )
        self._graph = empty_graph(rows, columns)
        self._cut = SOLVERS[solver]
        self.levels = levels
        self._potts = bool((smoothness.rho[1:] == smoothness.rho[-1]).all())
        # How often each label's pixels have changed, and the numbers at which a move was last made.
        self._changes = [0] * levels
        self._settled: dict[Move, tuple[int, ...]] = {}

    def make(self, move: Move) -> None:
        """Give the pixels labelled a or b the best labels out of these two, undecided ones b; or the best set of pixels the label a, undecided ones their own."""
        labels, (a, *other) = self._labels, move
        b = other[0] if other else -1
        nodes = np.flatnonzero(
            (labels == a) | (labels == b) if other else (labels != a) & (labels >= 0)
        )
        _build(nodes, a, b, labels, self._energy, self._graph)
        found = np.where(
            self._cut(nodes, self._graph), np.int16(a), np.int16(b) if other else labels[nodes]
        )
        if (found != labels[nodes]).any():
            labels[nodes] = found
            for label in move:
                self._changes[label] += 1
        self._settled[move] = self._state(move)

    def may_improve(self, move: Move) -> bool:
        """False if nothing that a move depends on has changed since it was last made."""
        return self._settled.get(move) != self._state(move)

    def touched(self, move: Move) -> Sequence[int]:
        """The labels whose pixels decide what a move does: its own two for a swap if all changes of label cost the same, else all."""
        return move if len(move) == 2 and self._potts else range(self.levels)

    def _state(self, move: Move) -> tuple[int, ...]:
        return tuple(self._changes[label] for label in self.touched(move))


# A node on the sink's side takes label a, one on the source's side b or the label it has. Excess is what the sink's side costs more. An
# edge of a node to a pixel of fixed label adds to the excess; an edge between two nodes, whose cost depends on both sides, becomes
# a capacity, the same in both directions, and a share of each end's excess.


@kernel
def _build(
    nodes: NDArray[np.intp], a: int, b: int, labels: Levels, energy: _Energy, graph: Graph
) -> None:
    """Fill the graph for a swap of a and b, or with a `b` of -1 for an expansion of a."""
    (costs, weights, rho), columns, excess, residual = (
        energy,
        graph.columns,
        graph.excess,
        graph.residual,
    )
    for n in range(nodes.shape[0]):
        i, pixel = np.uint64(nodes[n]), np.uint64(nodes[n] - columns)
        own = b if b >= 0 else labels[i]
        more = np.float64(costs[pixel, a]) - np.float64(costs[pixel, own])
        away = rho[abs(own - a)]
        for d in range(4):
            weight = np.float64(weights[i, d])
            capacity = 0.0
            if weight > 0:
                other = labels[neighbour(i, d, columns, None)]
                if b >= 0 and other == a:
                    other = b
                fixed = other != b if b >= 0 else other == a
                # What changing to a costs on this edge if the neighbour stays on the source's side; if it changes too, -away.
                alone = rho[abs(a - other)] - rho[abs(own - other)]
                if fixed:
                    more += weight * alone
                else:
                    # Without a metric, and in a metric by rounding, an edge may cost more than both changes of one pixel alone. It is
                    # then taken to cost as much, which makes no change look better than it is (Rother et al. 2005, section 3).
                    alone = max(alone, -away)
                    # Kolmogorov & Zabih 2004, theorem 4.1.
                    capacity = 0.5 * weight * (alone + away)
                    more += 0.5 * weight * (alone - away)
            residual[i, d] = capacity
        excess[i] = more
