"""Matchers, which compute a disparity map without a cost volume."""

import numpy as np
import pytest
from pipeline_parts import local, textured

from stereo_framework import Pipeline
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.registration import stage
from stereo_framework.core.view import BothSides
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.refinement import fill_occlusions, left_right_check, median, parabola


@pytest.mark.parametrize("returns_both_maps", [False, True])
def test_left_right_checks_run_a_matcher_on_the_exchanged_pair_if_it_returns_only_one_map(
    registry, returns_both_maps
):
    directions = []

    @stage("matcher", source="a test")
    def flat(reference, match, search):
        directions.append(search.direction)
        disparity = np.full(reference.shape, 2, np.float32)
        if returns_both_maps:
            return BothSides(disparity, disparity)
        return disparity

    method = Pipeline([flat])
    checked_method = Pipeline([flat, left_right_check, fill_occlusions, left_right_check, median])
    for scene in (textured(), textured().pair(1, 0)):
        method(scene)
        assert directions == [scene.direction]
        directions.clear()

        checked_method(scene)
        if returns_both_maps:
            assert directions == [scene.direction]
        else:
            assert directions == [scene.direction, -scene.direction]
        directions.clear()


def test_the_warning_about_the_end_of_the_search_range_needs_no_levels(registry):
    @stage("matcher", source="a test")
    def always_maximum(reference, match, search):
        return np.full(reference.shape, search.maximum, np.float32)

    estimate = Pipeline([always_maximum])(textured())
    [warning] = estimate.warnings
    assert warning.startswith("100 % of the pixels chose the upper end of the search range, 4:")
    assert estimate.levels is None
    assert estimate.energy is None
    assert estimate.objective is None
    assert estimate.trace == ()


def test_a_matcher_with_a_matching_cost_or_with_stages_that_read_costs_is_refused(registry):
    @stage("matcher", source="a test")
    def my_matcher(reference, match, search):
        raise AssertionError("This matcher must not run.")

    @stage("confidence", **local)
    def needs_costs(disparity, volume):
        return disparity

    with pytest.raises(ParameterError) as caught:
        Pipeline([my_matcher, absolute_difference, needs_costs, parabola])
    assert str(caught.value).splitlines() == [
        "matching_cost: the matcher my_matcher replaces this stage; remove the stage or my_matcher",
        "confidence.needs_costs: "
        "needs_costs needs the volume, but the matcher my_matcher makes no cost volume",
        "refinement.parabola: "
        "parabola needs the volume, but the matcher my_matcher makes no cost volume",
    ]
