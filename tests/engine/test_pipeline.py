"""What users see of a pipeline: warnings, refusals, names and times."""

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


def test_no_warning_where_all_is_well():
    assert Pipeline([absolute_difference, box, winner_take_all])(textured()).warnings == ()


@pytest.mark.parametrize(
    ("scene", "message"),
    [
        (
            ramp(2, SearchRange(-4, -1)),
            "^95 % of the pixels chose the upper end of the search range, -1: the range may be too narrow or have the wrong sign",
        ),
        (
            ramp(2, SearchRange(-4, -1)).pair(1, 0),
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
def test_winners_at_the_ends_of_the_range_warn(scene, message):
    [warning] = Pipeline([absolute_difference, winner_take_all])(scene).warnings
    assert re.search(message, warning)


def test_a_map_without_estimates_warns(registry):
    @stage("refinement", **local)
    def forget(disparity):
        return np.full_like(disparity, np.nan)

    result = Pipeline([absolute_difference, winner_take_all, forget])(textured())
    assert result.warnings == ("the result holds no estimate at all",)


def test_range_is_the_scenes_or_the_callers():
    scene = textured()
    method = Pipeline([absolute_difference, winner_take_all])
    assert method(scene).search == SearchRange(0, 4)
    # The direction is the scene's in any case.
    assert method(scene, SearchRange(1, 3, 0.5, -1)).search == SearchRange(1, 3, 0.5, 1)
    with pytest.raises(
        DataError,
        match=r"scene made: no search range; give one \(search: {minimum: 0, maximum: 64}, in a script or with --set\)",
    ):
        method(make_scene(scene.reference, scene.match))


def test_images_of_different_size_are_refused():
    scene = make_scene(np.zeros((2, 3), np.uint8), np.zeros((2, 4), np.uint8), SearchRange(0, 1))
    with pytest.raises(
        DataError,
        match=r"left.png is 3x2 and right.png is 4x2; both images must have the same size",
    ):
        Pipeline([absolute_difference, winner_take_all])(scene)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"matching_cost": box}, "^matching_cost: box is a stage of aggregation$"),
        ({"optimization": parabola}, "^optimization: parabola is a stage of refinement$"),
        ({"aggregation": [box, parabola]}, "^aggregation: parabola is a stage of refinement$"),
        (
            {"refinement": winner_take_all},
            "^refinement: winner_take_all is a stage of optimization$",
        ),
        ({"smoothness": step(box)}, "^smoothness: box is a stage of aggregation$"),
        (
            {"optimization": None},
            "^optimization: missing; a method needs one, or a matcher; allowed stages: ",
        ),
        ({"aggregation": [len]}, "^len: not a stage; give step"),
        (
            {"optimization": graph_cut},
            "^optimization: graph_cut: the energy has no smoothness term, so every pixel would stand alone",
        ),
    ],
)
def test_stages_that_cannot_stand_there_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        Pipeline([absolute_difference, winner_take_all]).having(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("synthetic/planes",),
            r"^Pipeline: scene is 'synthetic/planes'; expected a Scene or a Pair, such as Pair\(left,",
        ),
        (
            (np.zeros((2, 3)), np.zeros((2, 3))),
            r"^Pipeline: scene is float64 \(2, 3\); expected a Scene or a Pair",
        ),
        (
            (textured(), (0, 3)),
            r"^Pipeline: search is \(0, 3\); expected a SearchRange, such as SearchRange\(0, 63\)$",
        ),
    ],
)
def test_what_is_no_scene_or_search_is_told(arguments, message):
    with pytest.raises(ParameterError, match=message):
        Pipeline([absolute_difference, winner_take_all])(*arguments)


def test_pipelines_print_compare_and_list_their_stages():
    method = Pipeline(
        [absolute_difference, box, min_filter, step(box, size=3), winner_take_all, parabola]
    )
    addresses = [address for address, _ in method.stages()]
    assert addresses == [
        "matching_cost",
        "aggregation.0",
        "aggregation.min_filter",
        "aggregation.2",
        "optimization",
        "refinement.parabola",
    ]
    assert (
        repr(method)
        == "Pipeline(absolute_difference > box > min_filter > box(size=3) > winner_take_all > parabola)"
    )
    assert method == method.having()
    assert len({method, method.having(), method.having(refinement=())}) == 2


def test_volumes_that_do_not_fit_are_refused(registry, monkeypatch):
    @stage("optimization", **not_local)
    def everything(volume):
        return winner_take_all(volume)

    # Three volumes of 9 x 20 x 5 float32 cells.
    monkeypatch.setattr(pipeline, "free_memory", lambda: 3 * 4 * 900 - 1)
    method = Pipeline([absolute_difference, everything])
    with pytest.raises(
        StereoFrameworkError,
        match=r"^everything needs about 0.0103 MiB for 20x9 pixels and 5 levels; 0.0103 MiB are free; use fewer levels or smaller images$",
    ):
        method(textured())
    # A strip is read and another one written while the volume that is kept is put together.
    monkeypatch.setattr(pipeline, "free_memory", lambda: 4 * 900 + 2 * 4 * 200 - 1)
    with pytest.raises(StereoFrameworkError, match="winner_take_all needs about"):
        in_strips(2, Pipeline([absolute_difference, winner_take_all]), textured(), keep_volume=True)
    # Strips that nobody keeps fit.
    in_strips(1, Pipeline([absolute_difference, step(box, size=3), winner_take_all]), textured())
    for free in (3 * 4 * 900, math.inf):
        monkeypatch.setattr(pipeline, "free_memory", lambda free=free: free)
        method(textured())


def test_images_are_read_only_and_in_c_order(registry):
    @stage("preprocessing", source="a test")
    def turned(image):
        return np.asfortranarray(image)

    @stage("matching_cost", **local)
    def writes(reference, match, search):
        assert reference.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            reference[0, 0] = 1
        return absolute_difference(reference, match, search)

    for preprocessing in ([], [turned]):
        Pipeline([preprocessing, writes, winner_take_all])(textured())


@pytest.mark.parametrize("extra", [[], [left_right_check, interpolate]])
def test_an_optimizer_may_return_levels_or_a_map(registry, extra):
    @stage("optimization", **local)
    def levels_alone(volume):
        return volume.costs.argmin(axis=2).astype(np.int16)

    @stage("optimization", **local)
    def map_alone(volume, search):
        return search.disparities[volume.costs.argmin(axis=2)]

    labelled, by_levels, by_map = (
        Pipeline([absolute_difference, box, optimizer, *extra])(textured())
        for optimizer in (winner_take_all, levels_alone, map_alone)
    )
    for found in (by_levels, by_map):
        np.testing.assert_array_equal(found.disparity, labelled.disparity)
        np.testing.assert_array_equal(found.status, labelled.status)
    assert (by_levels.energy, by_map.energy) == (labelled.energy, None)
    np.testing.assert_array_equal(by_levels.levels, labelled.levels)
