"""Graph cuts: swaps or expansions of labels, until a round of all of them lowers the energy no more."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal

import numpy as np

from stereo_framework.core.stage import NonNegativeInt, PositiveInt, stage
from stereo_framework.core.volume import CostVolume, Energy, Labeling, Smoothness
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.counting import round_counter
from stereo_framework.kernels.threads import over_rows, thread_count
from stereo_framework.optimization._graph_moves import Move, Moves, Solver
from stereo_framework.optimization._smoothness import no_smoothness, required_smoothness
from stereo_framework.optimization.winner_take_all import winner_take_all


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

    Returns
    -------
    Labeling
        Levels int16 (rows, columns), all assigned; `trace` has the seconds and the energy after each cycle.

    Raises
    ------
    ParameterError
        There is no smoothness term, or one with negative weights or penalties.

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
    >>> from stereo_framework import CostVolume, Search, Smoothness
    >>> volume = CostVolume(np.array([[[0, 9], [5, 4], [0, 9]]], np.float32), Search(0, 1), 255.0)
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
    if move == "swap":
        cycle: list[Move] = [(a, b) for b in range(levels) for a in range(b + 1, levels)]
    else:
        cycle = [(a,) for a in range(levels)]
    draw = np.random.PCG64(seed)
    trace: list[tuple[float, float]] = []
    lowest = energy.of(moves.labels)
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
        if now >= lowest:
            break
        lowest = now
    labels = moves.labels.copy()
    return Labeling(labels, volume.chosen(labels), trace=tuple(trace))


def _run(cycle: Sequence[Move], moves: Moves, what: str) -> None:
    """Make the moves, in as many threads as allowed; those that touch a common label stay in order, so that all see the same labels."""
    pending, busy, state, tell = list(cycle), set[int](), threading.Condition(), round_counter()
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

    def work(start: int, stop: int) -> None:
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
        over_rows(work, thread_count(), 50 * len(pending) * rows * columns // moves.levels)
    finally:
        tell(len(cycle), len(cycle), what)
