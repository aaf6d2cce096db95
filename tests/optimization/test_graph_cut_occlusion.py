import naive_occlusion
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads

from stereo_framework import CostVolume, Energy, Pipeline, SearchRange, load_scene, step
from stereo_framework.evaluation import evaluate
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import _max_flow, graph_cut_occlusion
from stereo_framework.optimization.graph_cut_occlusion import OcclusionMoves
from stereo_framework.refinement import fill_occlusions

TINY = ((1, 5), (2, 3), (2, 2), (4, 1), (1, 4), (1, 1))
SMALL = ((6, 9), (1, 20), (15, 2), (4, 12), (2, 2))


@st.composite
def problems(draw, shapes, levels=(3, 4, 2)):
    """Costs and images of whole numbers, ranges below, around and above 0, and parameters: everything is exact."""
    rows, columns = draw(st.sampled_from(shapes))
    levels, step = draw(st.sampled_from(levels)), draw(st.sampled_from([1, 1, 2]))
    minimum = draw(st.sampled_from([0, -1, 1, -2, -30]))
    search = SearchRange(
        minimum, minimum + step * (levels - 1), step, draw(st.sampled_from([1, -1]))
    )
    costs = draw(filled((rows, columns, levels), np.arange(40))).astype(np.float32)
    images = [
        draw(filled((rows, columns, 3), np.arange(0, 40, 4))).astype(np.uint8) for _ in range(2)
    ]
    parameters = {
        "weight": draw(st.sampled_from([3.0, 8.0, 1.0, 0.0])),
        "gradient_threshold": draw(st.sampled_from([16.0, 8.0, None])),
        "gradient_penalty": draw(st.sampled_from([3.0, 0.0])),
        "occlusion_cost": draw(st.sampled_from([10.0, 15.0, 5.0, 0.0])),
    }
    return CostVolume(costs, search, 1020.0), *images, parameters


def twin_of(volume, reference, match, parameters):
    weight, threshold, penalty, occlusion = parameters.values()
    return naive_occlusion.Occlusion(
        volume.costs, volume.search, reference, match, weight, threshold, penalty, occlusion
    )


def optimize(problem, **others):
    volume, reference, match, parameters = problem
    return graph_cut_occlusion(volume, reference, match, **parameters, **others)


def moves_of(problem):
    *data, parameters = problem
    return OcclusionMoves(*data, *(value or 0.0 for value in parameters.values()))


# --- single moves ----------------------------------------------------------------------------------------------------------


def any_matches(moves, twin, seed):
    """Give `moves` matches drawn at random, as many as fit."""
    matches = set()
    for i in np.random.default_rng(seed).permutation(len(twin.all)):
        one = sorted(twin.all)[i]
        if twin.unique(matches | {one}):
            matches.add(one)
            moves.labels[one[:2]] = one[2]
            moves._owners[twin.partner(one)] = one[1]
    return matches


@given(problem=problems(TINY), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_an_expansion_is_the_best_of_all_changes(problem, seed, data):
    moves, twin = moves_of(problem), twin_of(*problem)
    before = any_matches(moves, twin, seed)
    assert moves.objective() == twin.energy(before)
    for level in data.draw(st.lists(st.integers(0, twin.levels - 1), min_size=2, max_size=4)):
        due = moves.may_improve(level)
        matches, energy = twin.best_expansion(before, level)
        moves.expand(level)
        assert naive_occlusion.matches_of(moves.labels) == matches
        assert moves.objective() == energy
        assert due or matches == before
        before = matches


@given(problem=problems(SMALL, levels=(5, 6, 3)))
def test_solvers_agree_move_by_move_and_none_raises_the_objective(problem):
    ours, theirs, twin = moves_of(problem), moves_of(problem), twin_of(*problem)
    for moves in (ours, theirs):
        any_matches(moves, twin, 1)
    before = ours.objective()
    for level in 2 * list(range(twin.levels)):
        ours.expand(level)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(
                OcclusionMoves.expand.__globals__, "sink_side", _max_flow.sink_side_by_pymaxflow
            )
            theirs.expand(level)
        np.testing.assert_array_equal(ours.labels, theirs.labels)
        matches = naive_occlusion.matches_of(ours.labels)
        assert matches <= twin.all
        assert twin.unique(matches)
        assert ours.objective() == twin.energy(matches) <= before
        before = ours.objective()


# --- the whole optimizer ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["fixed", "random"])
@given(problem=problems(SMALL, levels=(6, 5)), seed=st.integers(0, 9))
@pytest.mark.compiled
def test_cycles_expand_every_level_once(order, problem, seed):
    moves, energy, draw = moves_of(problem), Energy(problem[0]), np.random.PCG64(seed)
    levels = problem[0].search.levels
    objectives, energies = [moves.objective()], []
    while len(objectives) == 1 or objectives[-1] < objectives[-2]:
        ranks = [int(r) for r in draw.random_raw(levels)] if order == "random" else range(levels)
        for level in sorted(range(levels), key=ranks.__getitem__):
            moves.expand(level)
        objectives.append(moves.objective())
        energies.append(energy.of(moves.labels))
    for count in (1, 2):
        with in_threads(count):
            found = optimize(problem, order=order, seed=seed)
        np.testing.assert_array_equal(found.levels, moves.labels)
        assert found.objective == objectives[-1]
        assert [now for _, now in found.trace] == energies


# --- wrong use -------------------------------------------------------------------------------------------------------------


# --- real scenes -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_table5_row_of_graph_cuts_with_occlusions(data):
    cost, cuts = (
        step(absolute_difference, birchfield_tomasi=True, truncation=30.0),
        step(graph_cut_occlusion, weight=8.0, occlusion_cost=10.0),
    )
    method = Pipeline([cost, cuts, fill_occlusions])
    scenes = [load_scene(name, data=data) for name in ("tsukuba", "sawtooth", "venus", "map")]
    bad = [evaluate(method(scene).disparity, scene)["bad_pixels_nonocc"] for scene in scenes]
    # "GC + occl." has 1.27 0.36 2.79 1.79, with parameters of its own that are not published: scene by scene they cannot be met.
    assert np.mean(bad) <= np.mean([1.27, 0.36, 2.79, 1.79])
