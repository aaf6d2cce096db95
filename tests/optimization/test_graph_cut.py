import sys

import kernel_inputs
import naive_moves
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import METRICS, energy_of, filled, in_threads, parts, smoothness_of

from stereo_framework import Pipeline, Smoothness, load_scene, match, step
from stereo_framework.core.errors import DataError, MissingExtraError, ParameterError
from stereo_framework.evaluation import evaluate
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import graph_cut, winner_take_all
from stereo_framework.optimization.graph_cut import Moves
from stereo_framework.smoothness import potts

SOLVERS = ("grid", "pymaxflow")


@st.composite
def problems(draw, shapes, rhos=METRICS, levels=(4, 3, 2)):
    """Costs, a smoothness term and labels of few pixels."""
    costs, smoothness = draw(kernel_inputs.problems(shapes, levels, rhos))
    return (
        costs,
        smoothness,
        draw(filled(costs.shape[:2], np.arange(costs.shape[2]))).astype(np.int16),
    )


TINY = ((3, 3), (2, 4), (1, 8), (8, 1), (2, 2), (1, 1))
SMALL = ((9, 12), (1, 40), (40, 1), (6, 20), (2, 2))


def moves_of(kind, levels):
    return (
        [(a, b) for b in range(levels) for a in range(b + 1, levels)]
        if kind == "swap"
        else [(a,) for a in range(levels)]
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["swap", "expansion"])
@given(problem=problems(TINY), data=st.data())
def test_a_move_is_the_best_of_all_changes(kind, solver, problem, data):
    costs, smoothness, labels = problem
    move = data.draw(st.sampled_from(moves_of(kind, costs.shape[2])))
    expected, energy = getattr(naive_moves, kind)(costs, smoothness, labels, *move)
    moves = Moves(costs, smoothness, labels, solver)
    moves.make(move)
    np.testing.assert_array_equal(moves.labels, expected)
    assert energy_of(costs, smoothness).of(moves.labels) == energy


@pytest.mark.parametrize("kind", ["swap", "expansion"])
@given(problem=problems(SMALL, levels=(5, 6, 3, 2)))
def test_solvers_agree_move_by_move(kind, problem):
    costs, smoothness, labels = problem
    ours, theirs = (Moves(costs, smoothness, labels, solver) for solver in SOLVERS)
    energy = energy_of(costs, smoothness)
    before = energy.of(labels)
    for move in 2 * moves_of(kind, costs.shape[2]):
        ours.make(move)
        theirs.make(move)
        np.testing.assert_array_equal(ours.labels, theirs.labels)
        now = energy.of(ours.labels)
        assert now <= before
        before = now


@pytest.mark.parametrize("kind", ["swap", "expansion"])
def test_solvers_agree_on_fractional_costs(kind):
    # Long augmenting paths, and sums that are rounded: energies agree, labels need not.
    rng = np.random.default_rng(3)
    costs = rng.normal(50, 20, (20, 30, 4)).astype(np.float32)
    energy = energy_of(costs, smoothness_of(20, 30, [0, 1, 1.7, 1.7], 30.3))
    labels = rng.integers(0, 4, (20, 30)).astype(np.int16)
    ours, theirs = (Moves(costs, energy.smoothness, labels, solver) for solver in SOLVERS)
    for move in moves_of(kind, 4):
        for moves in (ours, theirs):
            moves.make(move)
        assert energy.of(ours.labels) == pytest.approx(energy.of(theirs.labels), rel=1e-12)
        theirs.labels[:] = ours.labels


@given(problem=problems(SMALL, rhos=("potts", "linear")), data=st.data())
def test_a_move_that_is_left_out_would_change_nothing(problem, data):
    costs, smoothness, labels = problem
    kind = data.draw(st.sampled_from(["swap", "expansion"]))
    moves = Moves(costs, smoothness, labels)
    tried = 0
    for move in data.draw(st.permutations(3 * moves_of(kind, costs.shape[2]))):
        due, before = moves.may_improve(move), moves.labels.copy()
        tried += due
        moves.make(move)
        if not due:
            np.testing.assert_array_equal(moves.labels, before)
    assert tried >= len(moves_of(kind, costs.shape[2]))


@pytest.mark.parametrize("order", ["fixed", "random"])
@pytest.mark.parametrize("kind", ["swap", "expansion"])
@given(problem=problems(SMALL, levels=(6, 5)), seed=st.integers(0, 9))
@pytest.mark.compiled
def test_cycles_follow_the_rules_of_the_test_bed(kind, order, problem, seed):
    # From the winners, every move once a cycle, none left out, until a cycle lowers the energy no more.
    costs, smoothness, _ = problem
    energy = energy_of(costs, smoothness)
    moves = Moves(costs, smoothness, winner_take_all(energy.volume).levels, "pymaxflow")
    cycle, draw = moves_of(kind, costs.shape[2]), np.random.PCG64(seed)
    energies = [energy.of(moves.labels)]
    while len(energies) == 1 or energies[-1] < energies[-2]:
        ranks = (
            [int(r) for r in draw.random_raw(len(cycle))]
            if order == "random"
            else range(len(cycle))
        )
        for _, move in sorted(zip(ranks, cycle, strict=True)):
            moves.make(move)
        energies.append(energy.of(moves.labels))
    for count in (1, 2):
        with in_threads(count):
            found = graph_cut(energy.volume, energy.smoothness, move=kind, order=order, seed=seed)
        np.testing.assert_array_equal(found.levels, moves.labels)
        assert [now for _, now in found.trace] == energies[1:]


# --- wrong use -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"right": np.full((2, 3), -1, np.float32)},
            r"^graph_cut: smoothness.right holds -1; all must be finite and >= 0",
        ),
        (
            {"down": np.full((2, 3), np.nan, np.float32)},
            r"^graph_cut: smoothness.down has NaN or infinite numbers \(values: 6\)",
        ),
        (
            {"rho": np.array([1, 1, 1], np.float32)},
            r"smoothness.rho\[0\] is 1; the penalty of no difference must be 0",
        ),
        (
            {"rho": np.array([0, 1], np.float32)},
            r"^graph_cut: smoothness.rho has 2 levels; expected 3 levels",
        ),
        (
            {"right": np.zeros((3, 3), np.float32)},
            r"smoothness.right has shape \(3, 3\); expected \(2, 3\)",
        ),
    ],
)
def test_refuses_smoothness_that_cuts_cannot_take(change, message):
    given = {
        "right": np.zeros((2, 3), np.float32),
        "down": np.zeros((2, 3), np.float32),
        "rho": np.array([0, 1, 1], np.float32),
    }
    with pytest.raises(
        DataError
        if "shape" in message or "levels" in message or "NaN" in message
        else ParameterError,
        match=message,
    ):
        graph_cut(*parts(energy_of(np.zeros((2, 3, 3)), Smoothness(**(given | change)))))


# --- real scenes ----------------------------------------------------------------------------------------------------------

TABLE4 = Pipeline(
    [
        step(absolute_difference, birchfield_tomasi=True),
        step(potts, weight=20.0, gradient_threshold=8.0, gradient_penalty=2.0),
        graph_cut,
    ]
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scene", "lowest", "highest"),
    # Spread of the original for the first two; the paper's Table 5, 1.30 and 0.31, for the others.
    [("tsukuba", 0, 2.09), ("venus", 0, 2.82), ("sawtooth", 1.2, 1.4), ("map", 0.21, 0.41)],
)
def test_table5_row4(data, scene, lowest, highest):
    loaded, before = (
        load_scene(scene, data=data),
        [TABLE4.in_slot("matching_cost"), TABLE4.in_slot("smoothness")],
    )
    maps = [Pipeline([*before, step(graph_cut, seed=seed)])(loaded).disparity for seed in range(7)]
    assert (
        lowest <= np.median([evaluate(one, loaded)["bad_pixels_nonocc"] for one in maps]) <= highest
    )


def test_only_one_solver_needs_pymaxflow(monkeypatch):
    """Which is under the GPL: who passes the framework on may leave it out (docs/licences.md)."""
    monkeypatch.setitem(sys.modules, "maxflow", None)
    scene = load_scene("synthetic/planes")
    pair = scene.reference[:12, :30], scene.match[:12, :30], (0, 4)
    assert np.isfinite(match(*pair, method="gc").disparity).all()
    with pytest.raises(
        MissingExtraError,
        match="solver pymaxflow: PyMaxflow is not installed; solver grid finds the same cuts",
    ):
        match(*pair, method="gc", solver="pymaxflow")
