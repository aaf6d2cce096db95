import tracemalloc
from dataclasses import replace
from pathlib import Path

import naive
import naive_semi_global
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, image_pairs, in_threads, searches
from numba import config
from random_scene import random_planes

from stereo_framework import CostVolume, Energy, Pipeline, Search, load_scene, step
from stereo_framework.core.scene import Scene
from stereo_framework.core.stage import stage
from stereo_framework.core.volume import Status
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import semi_global, winner_take_all
from stereo_framework.smoothness import potts

GOLDEN = np.load(Path(__file__).parents[1] / "golden" / "semi_global.npz")
PAIRS = [(3, 20), (20, 60), (40, 40), (0, 0), (0, 7), (0.75, 2.5)]
LEVELS = [2, 3, 31, 32, 33, 64, 70]


def volume_of(costs, search=None):
    return CostVolume(costs, search or Search(0, costs.shape[2] - 1), 255.0)


def solve(costs, *, search=None, images=None, **parameters):
    """The labeling of costs, by default for images without any texture."""
    left, right = np.full((2, *costs.shape[:2]), 9, np.uint8) if images is None else images
    return semi_global(volume_of(costs, search), left, right, **parameters)


def sums(costs, **parameters):
    return solve(costs, **parameters).volume.costs


@st.composite
def problems(draw):
    """Whole costs below 64 and some of 255, images of the same size, and parameters."""
    images, search = draw(image_pairs()), draw(searches())
    costs = draw(filled((*images[0].shape[:2], search.levels), np.append(np.arange(64), [255] * 9)))
    p1, p2 = draw(st.sampled_from(PAIRS))
    parameters = {"paths": draw(st.sampled_from([8, 4])), "p1": p1, "p2": p2}
    parameters["penalties"] = draw(st.sampled_from(["edges", "gradient", "constant"]))
    # Intensities are random: few of their differences are small.
    parameters["edge_threshold"] = draw(st.sampled_from([120, 60, 15, 0]))
    return costs, images, search, parameters


@given(problem=problems(), kind=st.sampled_from([np.uint8, np.uint16, np.float32]), threads=st.integers(1, 2))
def test_agrees_with_twin(problem, kind, threads):
    costs, images, search, parameters = problem
    with in_threads(threads):
        result = solve(costs.astype(kind), search=search, images=images, **parameters)
    expected = naive_semi_global.path_sums(
        costs, *images, search, **{{"edge_threshold": "threshold"}.get(name, name): value for name, value in parameters.items()}
    )
    whole = all(value == int(value) for value in expected.flat)
    found = result.volume.costs
    if whole:
        np.testing.assert_array_equal(found, expected.astype(float))
    else:
        # float32 rounds each of the few hundred operations on a path to 6e-8 of at most some thousand.
        np.testing.assert_allclose(found, expected.astype(float), rtol=1e-5, atol=1e-3)
    assert found.dtype == np.float32 or (kind != np.float32 and whole)
    labels, _ = naive.winner_take_all(found)
    np.testing.assert_array_equal(result.levels, labels)
    np.testing.assert_array_equal(result.costs, np.take_along_axis(costs, labels[..., None].astype(int), axis=2)[..., 0])
    assert (result.levels.dtype, result.costs.dtype) == (np.int16, np.float32)
    assert result.objective is None


@pytest.mark.parametrize("paths", [4, 8])
@pytest.mark.compiled
def test_path_sums_are_those_of_libsgm(paths):
    p1, p2 = GOLDEN[f"penalties{paths}"].tolist()
    for kind in (np.uint8, np.uint16, np.float32):
        found = sums(GOLDEN["costs"].astype(kind), paths=paths, p1=p1, p2=p2)
        np.testing.assert_array_equal(found, GOLDEN[f"sums{paths}"])


def test_costs_by_hand():
    # From the left: 0 9 | 5 + 0, 4 + 2 (from level 0 with one change) | 0 + 0, 9 + 1. From the right the same mirrored. Two paths along
    # columns of one row: the costs alone, twice.
    costs = np.array([[[0, 9], [5, 4], [0, 9]]], np.uint8)
    result = solve(costs, paths=4, p1=2, p2=2)
    left, right = np.array([[0, 9], [5, 6], [0, 10]]), np.array([[0, 10], [5, 6], [0, 9]])
    np.testing.assert_array_equal(result.volume.costs[0], left + right + 2 * costs[0])


@pytest.mark.parametrize(
    ("p1", "difference", "penalty"),
    [(2, 0, 20), (2, 1, 20), (2, 3, 7), (2, 6, 3), (2, 100, 2), (2.5, 3, 20 / 3), (2.5, 100, 2.5)],
)
def test_gradients_divide_the_penalty(p1, difference, penalty):
    costs = np.array([[[0, 100, 100], [50, 50, 50]]], np.uint8)
    image = np.array([[20, 20 + difference]], np.uint8)
    found = sums(costs, images=(image, image), paths=4, p1=p1, p2=20, penalties="gradient")
    # At the second pixel the path from the left changes from level 0 to 2; the three others start there.
    assert found[0, 1, 2] == pytest.approx(4 * 50 + penalty, rel=1e-6)


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize(("penalties", "p1", "p2"), [("constant", 7, 40), ("gradient", 7, 300), ("edges", 20, 60)])
def test_integers_and_floats_give_the_same(levels, penalties, p1, p2):
    rng = np.random.default_rng(levels)
    costs = rng.integers(0, 63, (9, 11, levels)).astype(np.uint8)
    images = rng.integers(0, 60, (2, 9, 11, 3)).astype(np.uint8)
    results = [
        solve(costs.astype(kind), images=images, penalties=penalties, p1=p1, p2=p2) for kind in (np.uint8, np.uint16, np.float32)
    ]
    assert [r.volume.costs.dtype for r in results] == [np.uint16, np.uint16, np.float32]
    for result in results[:2]:
        np.testing.assert_array_equal(result.volume.costs, results[2].volume.costs)
        np.testing.assert_array_equal(result.levels, results[2].levels)
        np.testing.assert_array_equal(result.costs, results[2].costs)


@pytest.mark.parametrize(
    ("paths", "kind", "largest", "size"),
    [pytest.param(8, np.uint8, 255, 70, marks=pytest.mark.compiled), (8, np.uint16, 3000, 12), (4, np.uint16, 3000, 12)],
)
def test_sums_never_wrap(paths, kind, largest, size):
    # Far from the border each path costs the largest cost and a change from the level that costs nothing.
    costs = np.zeros((size, size, 2), kind)
    costs[..., 1] = largest
    most = 65534 // paths - largest
    for p2, expected in ((most, np.uint16), (most + 1, np.float32)):
        found = sums(costs, paths=paths, p1=p2, p2=p2)
        assert found.dtype == expected
        assert found.max() == paths * (largest + p2)
        np.testing.assert_array_equal(found, sums(costs.astype(np.float32), paths=paths, p1=p2, p2=p2))


@pytest.mark.parametrize("kind", [np.uint16, np.float32])
def test_lowest_levels_win_ties(kind):
    for levels in LEVELS:
        assert (solve(np.full((3, 4, levels), 3, kind)).levels == 0).all()


def test_constant_costs_are_multiplied_by_the_paths():
    assert (sums(np.full((5, 6, 3), 11, np.uint8), paths=8) == 88).all()
    assert (sums(np.full((5, 6, 3), 11, np.uint8), paths=4) == 44).all()


def test_smoothness_is_not_used():
    costs = np.random.default_rng(3).integers(0, 60, (6, 7, 4)).astype(np.float32)
    image = np.zeros((6, 7), np.uint8)
    energy = Energy(volume_of(costs), potts(image, Search(0, 3), weight=1000))
    np.testing.assert_array_equal(semi_global(energy.volume, image, image).levels, solve(costs).levels)


# --- closed cells -------------------------------------------------------------------------------------------------------


def closed_problem():
    """Costs, the cells that a mask closes, and the pixels without an open cell, which cost nothing."""
    rng = np.random.default_rng(4)
    costs = rng.integers(0, 63, (10, 12, 35)).astype(float)
    closed = rng.random(costs.shape) < 0.4
    empty = rng.random(costs.shape[:2]) < 0.1
    closed[empty] = True
    return costs, closed, empty


@pytest.mark.compiled
def test_closed_cells_stay_closed_and_change_no_others():
    costs, closed, empty = closed_problem()
    image = np.zeros(costs.shape[:2], np.uint8)
    infinite = np.where(closed, np.inf, costs)
    infinite[empty] = 0
    expected = naive_semi_global.path_sums(infinite, image, image, Search(0, 34), 8, 9, 60, "constant", 0).astype(float)
    is_open = np.isfinite(expected)
    for kind, mark in ((np.uint16, 65535), (np.float32, 1e6)):
        given_costs = np.where(np.isinf(infinite), mark, infinite).astype(kind)
        result = solve(given_costs, p1=9, p2=60)
        found = result.volume.costs
        assert found.dtype == kind
        np.testing.assert_array_equal(found[is_open], expected[is_open])
        assert (found[~is_open] >= mark).all()
        chosen = np.take_along_axis(closed, result.levels[..., None].astype(int), axis=2)[..., 0]
        np.testing.assert_array_equal(chosen, empty)


def test_closed_cells_stay_closed_where_integers_are_widened():
    costs, closed, empty = closed_problem()
    costs[closed] = 65535
    costs[empty] = 0
    found = sums(costs.astype(np.uint16), p1=0.5, p2=60)
    assert found.dtype == np.float32
    costs[costs == 65535] = 1e6
    np.testing.assert_array_equal(found, sums(costs.astype(np.float32), p1=0.5, p2=60))


def test_pixels_all_of_whose_cells_are_closed_spread_nothing():
    costs = np.full((3, 5, 4), 7, np.uint16)
    costs[1, 2] = 65535
    found = sums(costs)
    assert (found[1, 2] == 65535).all()
    found[1, 2] = 56
    assert (found == 56).all()


@pytest.mark.compiled
@pytest.mark.parametrize("kind", [np.float32, np.uint8])
def test_masked_pixels_are_not_matched(kind, registry):
    scene = random_planes(rows=30, columns=40, levels=8, seed=1)
    valid = np.ones((30, 40), bool)
    valid[10:20, 15:25] = False
    frames = (replace(scene.frames[0], valid=lambda: valid), *scene.frames[1:])
    masked = Scene("masked", frames, search=scene.search)

    @stage("matching_cost", source="of the test, 2026", integer=True)
    def narrow_difference(reference, match, search):
        costs = absolute_difference(reference, match, search, truncation=60)
        return replace(costs, costs=costs.costs.astype(kind))

    match = Pipeline([narrow_difference, semi_global])(masked)
    np.testing.assert_array_equal(match.status == Status.INVALID, ~valid)
    np.testing.assert_array_equal(np.isnan(match.disparity), ~valid)


# --- in a pipeline ------------------------------------------------------------------------------------------------------


def test_refinements_see_the_sums(registry):
    seen = []

    @stage("refinement", source="of the test, 2026", integer=True)
    def look(disparity, volume, raw):
        seen.append((volume, raw))
        return disparity

    scene = random_planes(rows=20, columns=30, levels=6, seed=2)
    match = Pipeline([absolute_difference, semi_global, look])(scene)
    [(volume, raw)] = seen
    expected = semi_global(raw, scene.reference, scene.match)
    np.testing.assert_array_equal(volume.costs, expected.volume.costs)
    np.testing.assert_array_equal(match.levels, expected.levels)


@pytest.mark.skipif(config.DISABLE_JIT, reason="without the JIT numpy's temporary arrays count")
def test_holds_no_volume_but_the_sums():
    costs = np.random.default_rng(6).integers(0, 63, (200, 5, 1000)).astype(np.uint8)
    solve(costs[:2])
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        found = sums(costs)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Paths of a row and a class for each step and pixel are a twentieth of these sums.
    assert peak - before < 1.1 * found.nbytes


@pytest.mark.compiled
def test_fewer_errors_than_winners_on_noise():
    scene = random_planes(rows=40, columns=60, levels=8, seed=3, noise=8)

    def errors(optimizer):
        return np.mean(np.abs(Pipeline([absolute_difference, optimizer])(scene).disparity - scene.truth) > 1)

    # Without any smoothness every second pixel is wrong; near borders and behind objects paths are wrong too.
    for paths in (4, 8):
        assert errors(step(semi_global, p1=40, p2=160, paths=paths)) < 0.6 * errors(winner_take_all)


def test_real_scene(data):
    scene = load_scene("tsukuba", data=data)
    method = Pipeline([absolute_difference, step(semi_global, p1=20, p2=80)])
    match = method(scene)
    wrong = np.abs(match.disparity - scene.truth) > 1
    assert wrong[np.isfinite(scene.truth)].mean() < 0.1
