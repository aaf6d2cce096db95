"""Repeated refinements, compared with loops that are written by hand."""

from typing import Annotated

import numpy as np
import pytest
from pipeline_parts import in_strips

from stereo_framework import Pipeline, load_scene, step
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.volume import Status
from stereo_framework.refinement import interpolate, iterated, left_right_check, median
from stereo_framework.stages import PositiveInt, Unit, stage


def noisy_map(rows=40, columns=50):
    """Return a disparity map of random levels with missing pixels."""
    generator = np.random.default_rng(1)
    disparity = generator.integers(0, 4, (rows, columns)).astype(np.float32)
    disparity[generator.random(disparity.shape) < 0.05] = np.nan
    return disparity


@pytest.mark.parametrize("max_iterations", [1, 2, 3, 50])
def test_a_median_filter_is_repeated_until_nothing_changes(max_iterations):
    disparity = noisy_map()
    expected = disparity
    for _ in range(max_iterations):
        expected = median(expected, size=5)
    refined, _ = iterated(disparity, inner=step(median, size=5), max_iterations=max_iterations)
    np.testing.assert_array_equal(refined, expected)
    if max_iterations == 50:
        np.testing.assert_array_equal(median(refined, size=5), refined)


def test_the_repetition_ends_when_nothing_changes():
    calls = []

    @stage("refinement", source="Author 2000")
    def lowered(disparity, *, amount: Annotated[PositiveInt, Unit("pixels")] = 1):
        calls.append(1)
        return np.maximum(disparity - amount, np.float32(0))

    disparity = np.full((2, 3), 4, np.float32)
    refined, _ = iterated(disparity, inner=step(lowered, amount=2), max_iterations=10)
    assert refined.tolist() == [[0] * 3] * 2
    # Two calls lower the disparities, and the third one changes nothing.
    assert len(calls) == 3


def test_the_status_of_each_iteration_is_kept():
    disparity = np.array([[1, np.nan, 5, 5]], np.float32)
    status = np.array([[Status.MATCHED, Status.OCCLUDED, Status.MATCHED, Status.MATCHED]], np.uint8)

    @stage("refinement", source="Author 2000")
    def filled_from_left(disparity):
        filled = disparity.copy()
        missing = np.isnan(disparity)
        filled[:, 1:][missing[:, 1:]] = disparity[:, :-1][missing[:, 1:]]
        filled[:, -1] = np.nan
        return filled

    refined, refined_status = iterated(disparity, status, inner=filled_from_left)
    assert refined.tolist()[0][:3] == [1, 1, 5]
    assert refined_status.tolist()[0] == [
        Status.MATCHED,
        Status.FILLED,
        Status.MATCHED,
        Status.MISMATCHED,
    ]


@pytest.mark.compiled
def test_refinements_that_return_a_status_are_repeated():
    scene = load_scene("synthetic/occlusions")
    method = Pipeline(["census", "winner_take_all", left_right_check])
    checked = method(scene)
    expected = Pipeline([*method.steps, interpolate])(scene)
    refined, status = iterated(
        checked.disparity, checked.status, inner=interpolate, reference=scene.reference
    )
    np.testing.assert_array_equal(refined, expected.disparity)
    np.testing.assert_array_equal(status, expected.status)


@pytest.mark.compiled
def test_repetition_in_strips_gives_the_same_map():
    scene = load_scene("synthetic/planes")
    repeated = step(iterated, inner=step(median, size=3), max_iterations=3)
    assert repeated.halo == 3
    method = Pipeline(["absolute_difference", "winner_take_all", repeated])
    whole = method(scene).disparity
    np.testing.assert_array_equal(in_strips(16, method, scene).disparity, whole)


def test_a_refinement_that_reads_the_other_image_has_no_halo():
    assert step(iterated, inner="left_right_check").halo is None


def test_wrong_parameters_are_refused():
    message = "iterated.max_iterations: 0 is not a whole number >= 1"
    with pytest.raises(ParameterError, match=message):
        step(iterated, max_iterations=0)
