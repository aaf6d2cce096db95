"""Stages that need the results of both images, such as a left-right check."""

import dataclasses
import re

import numpy as np
import pytest
from pipeline_parts import not_local, textured

from stereo_framework import Pipeline, step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stage
from stereo_framework.core.view import BothSides, DisparityMap
from stereo_framework.core.volume import SearchMask, Status
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import fill_occlusions, left_right_check, median

PAIR = Pair.of(textured(rows=20, columns=40))


@pytest.fixture
def box_directions():
    """Return a list of the search direction of each call of `counted_box`."""
    return []


@pytest.fixture
def counted_box(registry, box_directions):
    """Register an aggregation that records its calls."""

    @stage("aggregation", source="a test")
    def my_box(volume, *, size: int = 7):
        box_directions.append(volume.search.direction)
        return box(volume, size=size)

    return my_box


def test_several_settings_share_the_matching_of_each_image_and_report_its_whole_run_time(
    counted_box, box_directions
):
    method = Pipeline([absolute_difference, counted_box, winner_take_all])
    methods = []
    for tolerance in (0.0, 1.0, 4.0):
        first_check = step(left_right_check, tolerance=tolerance)
        refinements = [first_check, fill_occlusions, left_right_check]
        methods.append(method.having(refinement=refinements))
    methods.append(method.having(refinement=[median]))

    estimates = dict(PipelineRunner(methods, PAIR))
    assert sorted(box_directions) == [-1, 1]
    # Each estimate also contains the run times of the shared steps.
    shared_addresses = [
        "matching_cost",
        "aggregation.my_box",
        "restore_outside_cost",
        "optimization",
    ]
    for index, last_address in ((0, "refinement.2"), (3, "refinement.median")):
        addresses = list(estimates[index].seconds)
        assert addresses[:4] == shared_addresses
        assert addresses[-1] == last_address
    # The first setting optimizes both images, and the last setting one image.
    assert estimates[0].seconds["optimization"] > estimates[3].seconds["optimization"]


# --- optimizers with the argument `other` ---------------------------------------------

OFFSET = np.float32(0.25)
"""Difference between the disparities of `optimize_both` and the levels, in pixels."""


def disparities_between_levels(volume):
    """Return the disparities with the lowest costs, plus the offset."""
    levels = volume.costs.argmin(axis=2)
    return volume.search.disparities[levels] + OFFSET


def assert_is_winner_take_all_plus_offset(estimate, expected):
    """Compare an estimate with the estimate of a winner-take-all optimizer."""
    has_disparity = np.isfinite(expected.disparity)
    np.testing.assert_array_equal(
        estimate.disparity[has_disparity], expected.disparity[has_disparity] + OFFSET
    )
    np.testing.assert_array_equal(
        estimate.status == Status.INVALID, expected.status == Status.INVALID
    )
    # The optimizer returns disparities without levels, so no energy is computed.
    assert estimate.levels is None
    assert estimate.energy is None


@pytest.mark.parametrize("has_limits", [False, True])
def test_an_optimizer_that_names_other_decides_both_images_in_one_call(
    counted_box, box_directions, has_limits
):
    optimizer_calls = []

    @stage("optimization", source="a test", other_needs={"volume"})
    def optimize_both(volume, reference, match, search, other, mask=None):
        directions = search.direction, other.search.direction
        optimizer_calls.append((*directions, other.disparity_map is None))
        np.testing.assert_array_equal(reference, PAIR.reference)
        return BothSides(
            disparities_between_levels(volume), disparities_between_levels(other.volume)
        )

    pair = PAIR
    if has_limits:
        low = np.full(PAIR.shape, PAIR.search.minimum + 2, np.float32)
        pair = dataclasses.replace(PAIR, mask=SearchMask(low=low))
    method = Pipeline([absolute_difference, counted_box, optimize_both])

    # The three methods share one call of the optimizer.
    methods = [method.having(refinement=count * [left_right_check]) for count in range(3)]
    estimates = dict(PipelineRunner(methods, pair))
    assert optimizer_calls == [(1, -1, True)]
    assert sorted(box_directions) == [-1, 1]

    [(_, estimates_of_images)] = PipelineRunner([method], pair, both=True)
    assert optimizer_calls == 2 * [(1, -1, True)]
    reference_estimate, target_estimate = estimates_of_images
    winner_method = Pipeline([absolute_difference, counted_box, winner_take_all])
    assert_is_winner_take_all_plus_offset(reference_estimate, winner_method(pair))
    expected_target_estimate = winner_method(pair.exchanged())
    assert_is_winner_take_all_plus_offset(target_estimate, expected_target_estimate)
    # With limits, some target pixels have no allowed disparity.
    assert np.isfinite(expected_target_estimate.disparity).all() == (not has_limits)

    np.testing.assert_array_equal(estimates[0].disparity, reference_estimate.disparity)
    target_map = DisparityMap(
        target_estimate.disparity, target_estimate.status, target_estimate.search
    )
    checked_disparity, _ = left_right_check(
        reference_estimate.disparity,
        target_map,
        reference_estimate.search,
        reference_estimate.status,
    )
    np.testing.assert_array_equal(estimates[1].disparity, checked_disparity)


def test_an_optimizer_that_names_other_must_return_the_maps_of_both_images(registry):
    @stage("optimization", source="a test")
    def optimize_reference_only(volume, other):
        return winner_take_all(volume)

    message = (
        r"returned Labeling\(.*; expected BothSides of both disparity maps, since it names other"
    )
    with pytest.raises(StereoFrameworkError, match=message):
        Pipeline([absolute_difference, optimize_reference_only])(PAIR)


# --- cost volumes of the target image -------------------------------------------------


def first_raw_costs(view):
    """Return the raw costs of the first level."""
    return view.raw.costs[..., 0]


def test_the_error_about_a_cost_volume_that_was_not_kept_names_the_missing_declaration(registry):
    @stage("refinement", **not_local, other_needs=())
    def read_volume(disparity, other):
        return disparity + other.volume.costs[..., 0]

    # The engine finds volumes in the code of the stage, but not in called functions.
    @stage("refinement", **not_local)
    def read_raw_volume_in_a_function(disparity, other):
        return disparity + first_raw_costs(other)

    for refinement, name in ((read_volume, "volume"), (read_raw_volume_in_a_function, "raw")):
        message = (
            f"the cost volume '{name}' of the other image was not kept; "
            f"declare that the stage reads it: @stage(..., other_needs={{'{name}'}})"
        )
        with pytest.raises(StereoFrameworkError, match=f"^{re.escape(message)}$"):
            Pipeline([absolute_difference, winner_take_all, refinement])(textured())
