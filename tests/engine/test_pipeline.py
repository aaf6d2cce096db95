"""Warnings, error messages, names and results of a pipeline, as users see them."""

import math
import re

import numpy as np
import pytest
from pipeline_parts import in_strips, local, make_scene, not_local, ramp, textured

from stereo_framework import Pipeline, SearchRange, StereoFrameworkError, step
from stereo_framework.aggregation import box, min_filter
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.registration import stage
from stereo_framework.engine import pipeline
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import graph_cut, winner_take_all
from stereo_framework.refinement import interpolate, left_right_check, parabola


def test_an_estimate_inside_the_search_range_has_no_warnings():
    assert Pipeline([absolute_difference, box, winner_take_all])(textured()).warnings == ()


WRONG_SIGN = ramp(2, SearchRange(-4, -1))
"""A scene with the disparity 2, and a search range of negative disparities."""


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (
            WRONG_SIGN,
            "^95 % of the pixels chose the upper end of the search range, -1: "
            "the range may be too narrow or have the wrong sign",
        ),
        (
            WRONG_SIGN.pair(1, 0),
            "^95 % of the pixels chose the upper end of the search range, -1:",
        ),
        (
            textured(shift=5, search=SearchRange(0, 5)),
            r"^\d+ % of the pixels chose the upper end of the search range, 5:",
        ),
        (
            textured(shift=1, search=SearchRange(1, 6)),
            r"^\d+ % of the pixels chose the lower end of the search range, 1:",
        ),
        (
            textured(shift=1, search=SearchRange(1, 3, 0.5)),
            r"chose the lower end of the search range, 1:",
        ),
    ],
)
def test_many_disparities_at_an_end_of_the_search_range_cause_a_warning(problem, message):
    [warning] = Pipeline([absolute_difference, winner_take_all])(problem).warnings
    assert re.search(message, warning)


def test_a_disparity_map_without_estimates_causes_a_warning(registry):
    @stage("refinement", **local)
    def remove_all(disparity):
        return np.full_like(disparity, np.nan)

    estimate = Pipeline([absolute_difference, winner_take_all, remove_all])(textured())
    assert estimate.warnings == ("the disparity map contains no disparities",)


def test_the_search_range_comes_from_the_caller_or_from_the_scene():
    scene = textured()
    method = Pipeline([absolute_difference, winner_take_all])
    assert method(scene).search == SearchRange(0, 4)
    # The direction always comes from the scene, because it depends on the cameras.
    assert method(scene, SearchRange(1, 3, 0.5, -1)).search == SearchRange(1, 3, 0.5, 1)

    scene_without_range = make_scene(scene.reference, scene.match)
    message = (
        r"scene made: no search range; "
        r"give one \(search: {minimum: 0, maximum: 64}, in a script or with --set\)"
    )
    with pytest.raises(DataError, match=message):
        method(scene_without_range)


def test_images_of_different_sizes_are_refused():
    reference = np.zeros((2, 3), np.uint8)
    match = np.zeros((2, 4), np.uint8)
    scene = make_scene(reference, match, SearchRange(0, 1))
    message = r"left.png is 3x2 and right.png is 4x2; both images must have the same size"
    with pytest.raises(DataError, match=message):
        Pipeline([absolute_difference, winner_take_all])(scene)


@pytest.mark.parametrize(
    ("slot", "stages", "message"),
    [
        ("matching_cost", box, "^matching_cost: box is a stage of aggregation$"),
        ("optimization", parabola, "^optimization: parabola is a stage of refinement$"),
        ("aggregation", [box, parabola], "^aggregation: parabola is a stage of refinement$"),
        ("refinement", winner_take_all, "^refinement: winner_take_all is a stage of optimization$"),
        ("smoothness", step(box), "^smoothness: box is a stage of aggregation$"),
    ],
)
def test_a_slot_refuses_a_stage_of_another_slot(slot, stages, message):
    method = Pipeline([absolute_difference, winner_take_all])
    with pytest.raises(ParameterError, match=message):
        method.having(**{slot: stages})


@pytest.mark.parametrize(
    ("slot", "stages", "message"),
    [
        (
            "optimization",
            None,
            "^optimization: the method has no stage in this slot; add a stage or a matcher; ",
        ),
        ("aggregation", [len], "^len: not a stage; give step"),
        (
            "optimization",
            graph_cut,
            "^optimization: graph_cut: the energy has no smoothness term, "
            "so every pixel would stand alone",
        ),
    ],
    ids=["no optimizer", "no stage", "no smoothness term"],
)
def test_incomplete_methods_and_functions_that_are_no_stages_are_refused(slot, stages, message):
    method = Pipeline([absolute_difference, winner_take_all])
    with pytest.raises(ParameterError, match=message):
        method.having(**{slot: stages})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("synthetic/planes",),
            r"^Pipeline: scene is 'synthetic/planes'; "
            r"expected a Scene or a Pair, such as Pair\(left,",
        ),
        (
            (np.zeros((2, 3)), np.zeros((2, 3))),
            r"^Pipeline: scene is float64 \(2, 3\); expected a Scene or a Pair",
        ),
        (
            (textured(), (0, 3)),
            r"^Pipeline: search is \(0, 3\); "
            r"expected a SearchRange, such as SearchRange\(0, 63\)$",
        ),
    ],
)
def test_scenes_and_search_ranges_of_a_wrong_type_are_refused(arguments, message):
    method = Pipeline([absolute_difference, winner_take_all])
    with pytest.raises(ParameterError, match=message):
        method(*arguments)


def test_a_pipeline_lists_and_prints_its_stages_and_is_equal_to_its_copy():
    aggregations = [box, min_filter, step(box, size=3)]
    method = Pipeline([absolute_difference, *aggregations, winner_take_all, parabola])
    addresses = [address for address, _ in method.stages()]
    assert addresses == [
        "matching_cost",
        "aggregation.0",
        "aggregation.min_filter",
        "aggregation.2",
        "optimization",
        "refinement.parabola",
    ]
    assert repr(method) == (
        "Pipeline(absolute_difference > box > min_filter > box(size=3) > "
        "winner_take_all > parabola)"
    )
    copied_method = method.having()
    method_without_refinement = method.having(refinement=())
    assert method == copied_method
    assert len({method, copied_method, method_without_refinement}) == 2


def test_pipelines_that_need_more_than_the_free_memory_are_refused(registry, monkeypatch):
    @stage("optimization", **not_local)
    def optimize_whole_image(volume):
        return winner_take_all(volume)

    def set_free_memory(free_bytes):
        monkeypatch.setattr(pipeline, "free_memory", lambda: free_bytes)

    scene = textured(rows=9, columns=20, search=SearchRange(0, 4))
    row_bytes = 4 * 20 * 5
    volume_bytes = 9 * row_bytes

    # A method with this optimizer needs the memory of three whole volumes.
    method = Pipeline([absolute_difference, optimize_whole_image])
    set_free_memory(3 * volume_bytes - 1)
    message = (
        r"^optimize_whole_image needs about 0.0103 MiB for 20x9 pixels and 5 levels; "
        r"0.0103 MiB are free; use fewer levels or smaller images$"
    )
    with pytest.raises(StereoFrameworkError, match=message):
        method(scene)
    for free_bytes in (3 * volume_bytes, math.inf):
        set_free_memory(free_bytes)
        method(scene)

    # While the kept volume is assembled, a strip and its result are in memory, too.
    strip_bytes = 2 * row_bytes
    set_free_memory(volume_bytes + 2 * strip_bytes - 1)
    local_method = Pipeline([absolute_difference, winner_take_all])
    with pytest.raises(StereoFrameworkError, match="winner_take_all needs about"):
        in_strips(2, local_method, scene, keep_volume=True)
    # If no volume is kept, only strips need memory.
    method_with_window = Pipeline([absolute_difference, step(box, size=3), winner_take_all])
    in_strips(1, method_with_window, scene)


def test_images_are_read_only_and_in_c_order(registry):
    @stage("preprocessing", **not_local)
    def change_memory_order(image):
        return np.asfortranarray(image)

    @stage("matching_cost", **local)
    def try_to_write(reference, match, search):
        assert reference.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            reference[0, 0] = 1
        return absolute_difference(reference, match, search)

    for preprocessing in ([], [change_memory_order]):
        Pipeline([preprocessing, try_to_write, winner_take_all])(textured())


@pytest.mark.parametrize(
    "refinements",
    [[], [left_right_check, interpolate]],
    ids=["no refinement", "left-right check"],
)
def test_an_optimizer_may_return_levels_or_a_disparity_map(registry, refinements):
    @stage("optimization", **local)
    def return_levels(volume):
        return volume.costs.argmin(axis=2).astype(np.int16)

    @stage("optimization", **local)
    def return_disparities(volume, search):
        return search.disparities[volume.costs.argmin(axis=2)]

    def estimate_with(optimizer):
        return Pipeline([absolute_difference, box, optimizer, *refinements])(textured())

    by_labeling = estimate_with(winner_take_all)
    by_levels = estimate_with(return_levels)
    by_disparities = estimate_with(return_disparities)
    for estimate in (by_levels, by_disparities):
        np.testing.assert_array_equal(estimate.disparity, by_labeling.disparity)
        np.testing.assert_array_equal(estimate.status, by_labeling.status)
    np.testing.assert_array_equal(by_levels.levels, by_labeling.levels)
    assert by_levels.energy == by_labeling.energy
    # The energy is only known for levels, because each level has a cost.
    assert by_disparities.energy is None
