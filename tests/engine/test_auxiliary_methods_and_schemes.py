"""Auxiliary methods, and schemes that match parts or sizes of a pair."""

import dataclasses

import numpy as np
import pytest
from pipeline_parts import MIRRORED, local, not_local, textured

from stereo_framework import Pipeline, SearchRange, step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.registration import stage
from stereo_framework.engine.memory import peak_memory
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.matching_cost import absolute_difference, squared_difference
from stereo_framework.optimization import graph_cut, winner_take_all
from stereo_framework.refinement import left_right_check, median
from stereo_framework.scheme import coarse, pyramid
from stereo_framework.smoothness import potts

PLAIN = Pipeline([absolute_difference, winner_take_all])
ROBUST = Pipeline([squared_difference, step(box, size=3), winner_take_all, left_right_check])

# --- auxiliary methods ----------------------------------------------------------------


@pytest.fixture
def cost_directions():
    """Return a list of the search direction of each call of `counted_cost`."""
    return []


@pytest.fixture
def counted_cost(registry, cost_directions):
    """Register a matching cost that records its calls."""

    @stage("matching_cost", **local)
    def my_cost(reference, match, search):
        # The engine also calls each cost of a plug-in to check its search direction.
        is_check = reference.shape[:2] == MIRRORED
        if not is_check:
            cost_directions.append(search.direction)
        return absolute_difference(reference, match, search)

    return my_cost


@pytest.fixture
def replace_unreliable(registry):
    """Register a refinement that reads the map of the auxiliary method `robust`.

    Pixels without a robust estimate get the disparity `fallback`.
    """

    @stage("refinement", **not_local)
    def my_refinement(disparity, auxiliary, *, fallback: float = 1.0):
        is_missing = np.isnan(auxiliary["robust"].disparity)
        return np.where(is_missing, np.float32(fallback), disparity)

    return my_refinement


def test_settings_with_the_same_auxiliary_method_match_it_once(
    counted_cost, replace_unreliable, cost_directions
):
    robust = PLAIN.having(matching_cost=counted_cost)
    method = Pipeline([squared_difference, winner_take_all], {"robust": robust})
    methods = []
    for fallback in (0.0, 1.0, 2.0, 3.0):
        refinements = [step(replace_unreliable, fallback=fallback), left_right_check]
        methods.append(method.having(refinement=refinements))
    estimates = dict(PipelineRunner(methods, textured()))
    # The left-right check needs the auxiliary maps of both images.
    assert sorted(cost_directions) == [-1, 1]
    assert not any(isinstance(estimate, Exception) for estimate in estimates.values())

    # Methods with the same stages differ if their auxiliary methods differ.
    other_robust = robust.having(refinement=[median])
    other_method = methods[0].having(auxiliary={"robust": other_robust})
    assert other_method != methods[0]
    cost_directions.clear()
    dict(PipelineRunner([methods[0], other_method], textured()))
    assert sorted(cost_directions) == [-1, -1, 1, 1]


def test_an_auxiliary_method_of_an_auxiliary_method_is_matched_once(
    counted_cost, replace_unreliable, cost_directions
):
    robust = PLAIN.having(matching_cost=counted_cost)
    inner = PLAIN.having(
        refinement=[replace_unreliable, left_right_check], auxiliary={"robust": robust}
    )
    outer = inner.having(auxiliary={"robust": robust, "inner": inner})
    scene = textured()
    outer(scene)
    assert sorted(cost_directions) == [-1, 1]

    # Each further call matches its images again, even the images of the same scene.
    cost_directions.clear()
    outer(scene, scene.search)
    outer(scene.pair(1, 0))
    assert sorted(cost_directions) == [-1, -1, 1, 1]


def test_a_matcher_receives_the_auxiliary_map_of_the_image_that_it_matches(registry):
    @stage("matcher", **not_local)
    def copy_auxiliary_map(reference, match, search, auxiliary):
        return auxiliary["first"].disparity.copy()

    scene = textured()
    expected = PLAIN.having(refinement=[left_right_check])(scene)
    estimate = Pipeline([copy_auxiliary_map, left_right_check], {"first": PLAIN})(scene)
    np.testing.assert_array_equal(estimate.disparity, expected.disparity)
    # The check removed disparities, so the two auxiliary maps were not the same map.
    assert np.isnan(estimate.disparity).any()


def test_stages_of_nested_auxiliary_methods_have_addresses(replace_unreliable):
    inner = PLAIN.having(refinement=[replace_unreliable], auxiliary={"robust": ROBUST})
    method = Pipeline([absolute_difference, winner_take_all, replace_unreliable], {"robust": inner})
    addresses = [address for address, _ in method.stages()]
    assert addresses[:3] == [
        "auxiliary.robust.auxiliary.robust.matching_cost",
        "auxiliary.robust.auxiliary.robust.aggregation.box",
        "auxiliary.robust.auxiliary.robust.optimization",
    ]
    estimate = method(textured())
    assert estimate.seconds["auxiliary"] > 0

    message = "my_refinement needs the disparity maps of auxiliary methods; add an auxiliary method"
    with pytest.raises(ParameterError, match=f"^refinement.my_refinement: {message}$"):
        Pipeline([absolute_difference, winner_take_all, replace_unreliable])


def test_peak_memory_includes_the_auxiliary_methods(replace_unreliable):
    shape = 1000, 1000
    search = SearchRange(0, 99)
    cut = Pipeline([absolute_difference, potts, graph_cut])
    cut_bytes = peak_memory([cut], shape, search).size
    volume_bytes = 4 * 1000 * 1000 * 100
    assert cut_bytes == 3 * volume_bytes

    method = PLAIN.having(refinement=[replace_unreliable], auxiliary={"robust": cut})
    method_bytes = peak_memory([method], shape, search).size
    assert method_bytes == peak_memory([cut], shape, search, both=True).size
    assert method_bytes > peak_memory([PLAIN], shape, search).size


# --- schemes --------------------------------------------------------------------------


@pytest.fixture
def pairs_of_halves():
    """Return a list of the shape and the direction of each pair that `halves` gets."""
    return []


@pytest.fixture
def halves(registry, pairs_of_halves):
    """Register a scheme that matches the upper and the lower half of the rows."""

    @stage("scheme", source="a test")
    def match_halves(solve, pair):
        pairs_of_halves.append((pair.shape, pair.search.direction))
        rows = pair.shape[0]
        upper = solve(pair.rows(0, rows // 2))
        lower = solve(pair.rows(rows // 2, rows))

        joined_maps = {}
        for name in ("disparity", "status", "levels"):
            joined_maps[name] = np.concatenate([getattr(upper, name), getattr(lower, name)])
        return dataclasses.replace(upper, **joined_maps)

    return match_halves


def test_the_first_scheme_of_a_list_is_the_outermost(halves, pairs_of_halves):
    scene = textured(rows=16)
    estimate = PLAIN.having(scheme=[halves, halves])(scene)
    # The outer scheme gets the whole pair, and the inner scheme gets each half.
    assert [shape for shape, _ in pairs_of_halves] == [(16, 20), (8, 20), (8, 20)]
    # The method matches each row independently, so halves change no disparity.
    np.testing.assert_array_equal(estimate.disparity, PLAIN(scene).disparity)
    [seconds] = estimate.seconds.values()
    assert seconds > 0

    pairs_of_halves.clear()
    PLAIN.having(scheme=[pyramid, halves])(scene)
    assert [shape for shape, _ in pairs_of_halves] == [(4, 5), (8, 10), (16, 20)]

    pairs_of_halves.clear()
    PLAIN.having(scheme=[halves, pyramid])(scene)
    assert [shape for shape, _ in pairs_of_halves] == [(16, 20)]


def test_a_scheme_runs_once_for_each_image_of_a_pair(halves, pairs_of_halves):
    scene = textured(rows=16)
    method = PLAIN.having(scheme=[halves])
    [(_, estimates)] = PipelineRunner([method], scene, both=True)
    assert [direction for _, direction in pairs_of_halves] == [1, -1]
    for estimate, scene_of_image in zip(estimates, (scene, scene.pair(1, 0)), strict=True):
        expected = PLAIN(scene_of_image)
        np.testing.assert_array_equal(estimate.disparity, expected.disparity)
        assert estimate.search == expected.search


def test_methods_under_the_same_scheme_give_the_maps_of_the_single_methods():
    methods = [method.having(scheme=coarse) for method in (PLAIN, ROBUST)]
    scene = textured(rows=16)
    estimates = dict(PipelineRunner(methods, scene, both=True))
    for index, method in enumerate(methods):
        [(_, single_estimates)] = PipelineRunner([method], scene, both=True)
        for estimate, expected in zip(estimates[index], single_estimates, strict=True):
            np.testing.assert_array_equal(estimate.disparity, expected.disparity)


def test_a_matcher_that_needs_the_scene_is_refused_under_a_scheme(registry):
    @stage("matcher", source="a test")
    def needs_scene(reference, match, search, scene):
        return np.zeros(reference.shape, np.float32)

    message = (
        "matcher: needs_scene needs the scene, but the scheme pyramid makes pairs without the scene"
    )
    with pytest.raises(ParameterError, match=f"^{message}$"):
        Pipeline([needs_scene, pyramid])
