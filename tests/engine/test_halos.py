"""Halos of steps that run in strips, sums of costs, and checks of returned results."""

import itertools

import numpy as np
import pytest
from pipeline_parts import assert_same_match, in_strips, local, make_scene, not_local

from stereo_framework import CostVolume, Labeling, Pipeline, SearchRange, StereoFrameworkError, step
from stereo_framework.aggregation import binomial, box, min_filter
from stereo_framework.core.call_context import CallReport, report_call
from stereo_framework.core.registration import stage
from stereo_framework.core.volume import Status
from stereo_framework.engine.planned_steps import CostSum
from stereo_framework.matching_cost import absolute_difference, census, normalized_cross_correlation
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import left_right_check

RANDOM = np.random.default_rng(8)
LEFT_IMAGE, RIGHT_IMAGE = RANDOM.integers(0, 256, (2, 40, 24), np.uint8)
SCENE = make_scene(LEFT_IMAGE, RIGHT_IMAGE, SearchRange(0, 6))

# --- aggregations in strips -----------------------------------------------------------

AGGREGATIONS = {
    "box 9": step(box, size=9),
    "minimum 7": step(min_filter, size=7),
    "binomial": step(binomial, iterations=2),
    "box 4": step(box, size=4),
}
PAIRS_OF_AGGREGATIONS = list(itertools.permutations(AGGREGATIONS, 2))


@pytest.mark.parametrize("names", [*PAIRS_OF_AGGREGATIONS, tuple(AGGREGATIONS)], ids=" > ".join)
def test_successive_aggregations_give_the_same_estimate_in_strips_and_on_the_whole_image(names):
    cost = step(census, width=3, height=5)
    aggregations = [AGGREGATIONS[name] for name in names]
    method = Pipeline([cost, *aggregations, winner_take_all])
    expected = method(SCENE)
    for strip_height in (3, 16):
        assert_same_match(in_strips(strip_height, method, SCENE), expected)


# --- sums of costs --------------------------------------------------------------------

CENSUS_OF_5_ROWS = step(census, width=3, height=5, weight=1.0)
CENSUS_OF_9_ROWS = step(census, width=3, height=9, weight=1.0)
CORRELATION_OF_3_ROWS = step(normalized_cross_correlation, size=3, weight=1.0)
CORRELATION_OF_7_ROWS = step(normalized_cross_correlation, size=7, weight=1.0)
DIFFERENCE_OF_PIXELS = step(absolute_difference, weight=1.0)


@pytest.mark.parametrize(
    ("costs", "largest_halo"),
    [
        ([CENSUS_OF_9_ROWS, CORRELATION_OF_3_ROWS], 4),
        ([CORRELATION_OF_3_ROWS, CENSUS_OF_9_ROWS], 4),
        ([DIFFERENCE_OF_PIXELS, CENSUS_OF_9_ROWS], 4),
        ([CENSUS_OF_9_ROWS, DIFFERENCE_OF_PIXELS], 4),
        ([DIFFERENCE_OF_PIXELS, DIFFERENCE_OF_PIXELS], 0),
        ([CENSUS_OF_5_ROWS, CENSUS_OF_9_ROWS, CORRELATION_OF_7_ROWS], 4),
    ],
)
def test_a_sum_of_costs_runs_in_strips_with_the_largest_halo_of_its_costs(costs, largest_halo):
    assert CostSum(tuple(costs)).halo == largest_halo
    method = Pipeline([*costs, winner_take_all])
    assert method.plan[0].halo == largest_halo
    assert_same_match(in_strips(3, method, SCENE), method(SCENE))


def saturated(cost, saturation):
    """Return a saturated cost, which is less than 1."""
    return 1 - np.exp(-cost / saturation)


@pytest.mark.parametrize(
    ("first_factors", "second_factors", "expected_cost"),
    [
        ({"weight": 1.0}, {"weight": 1.0}, 7 + 7),
        ({"weight": 2.0}, {"weight": 1.0}, 2 * 7 + 7),
        ({"weight": 1.0}, {"weight": 3.0}, 7 + 3 * 7),
        ({"saturation": 7.0}, {"weight": 1.0}, saturated(7, 7) + 7),
        ({"weight": 1.0}, {"saturation": 14.0}, 7 + saturated(7, 14)),
        (
            {"weight": 2.0, "saturation": 7.0},
            {"weight": 3.0, "saturation": 14.0},
            2 * saturated(7, 7) + 3 * saturated(7, 14),
        ),
    ],
)
def test_weights_and_saturations_of_summed_costs_apply_to_their_outside_costs(
    registry, first_factors, second_factors, expected_cost
):
    @stage("matching_cost", **local)
    def constant_cost(reference, match, search):
        costs = np.full((*reference.shape, search.levels), 7, np.float32)
        return CostVolume(costs, search, outside_cost=7.0)

    first_cost = step(constant_cost, **first_factors)
    second_cost = step(constant_cost, **second_factors)
    method = Pipeline([first_cost, second_cost, winner_take_all])
    volume = method(SCENE, keep_volume=True).volume
    assert volume.outside_cost == pytest.approx(expected_cost, rel=1e-12)
    np.testing.assert_allclose(volume.costs, expected_cost, rtol=1e-6)


# --- run times ------------------------------------------------------------------------


def test_the_run_time_of_a_stage_is_the_sum_of_its_run_times_for_both_images(registry):
    @stage("aggregation", **not_local)
    def slow(volume):
        is_left_image = volume.search.direction > 0
        seconds = 5.0 if is_left_image else 0.25
        report_call(CallReport(seconds=seconds))
        return volume

    method = Pipeline([absolute_difference, slow, winner_take_all])
    assert method(SCENE).seconds["aggregation.slow"] == 5.0
    # A left-right check also needs the disparity map of the right image.
    checked_method = method.having(refinement=[left_right_check])
    assert checked_method(SCENE).seconds["aggregation.slow"] == 5.25


# --- values in the results of stages --------------------------------------------------


def method_with_status(status):
    """Return a method whose refinement gives all pixels the same status."""

    @stage("refinement", **not_local)
    def set_status(disparity):
        return disparity, np.full(disparity.shape, status, np.uint8)

    return Pipeline([absolute_difference, winner_take_all, set_status])


@pytest.mark.parametrize("status", [0, max(Status)])
def test_the_smallest_and_the_largest_status_are_accepted(registry, status):
    assert (method_with_status(status)(SCENE).status == status).all()


@pytest.mark.parametrize("status", [max(Status) + 1, 255])
def test_a_number_above_the_largest_status_is_refused(registry, status):
    method = method_with_status(status)
    message = f"the value {status}; expected values of Status, from 0 to 4"
    with pytest.raises(StereoFrameworkError, match=message):
        method(SCENE)


def method_with_level(level):
    """Return a method with a level at row 2, column 3, and 0 at all other pixels."""

    @stage("optimization", **not_local)
    def choose_level(volume):
        levels = np.zeros(volume.shape, np.int16)
        levels[2, 3] = level
        return Labeling(levels, np.zeros(volume.shape, np.float32))

    return Pipeline([absolute_difference, choose_level])


@pytest.mark.parametrize("level", [-1, 0, 6])
def test_levels_of_the_search_range_and_minus_one_for_no_level_are_accepted(registry, level):
    assert method_with_level(level)(SCENE).levels[2, 3] == level


@pytest.mark.parametrize("level", [-2, 7])
def test_levels_outside_the_search_range_are_refused(registry, level):
    method = method_with_level(level)
    message = r"levels from -?\d to \d; expected levels -1 to 6"
    with pytest.raises(StereoFrameworkError, match=message):
        method(SCENE)


def method_with_outside_cost(dtype, outside_cost):
    """Return a method whose cost volume has a type of costs and an outside cost."""

    @stage("matching_cost", **not_local, integer=True)
    def zero_cost(reference, match, search):
        costs = np.zeros((*reference.shape, search.levels), dtype)
        return CostVolume(costs, search, outside_cost)

    return Pipeline([zero_cost, winner_take_all])


LARGEST_FLOAT = float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    ("dtype", "outside_cost"),
    [
        (np.uint8, 255),
        (np.uint16, 65535),
        (np.float32, LARGEST_FLOAT),
        (np.float32, -LARGEST_FLOAT),
    ],
)
def test_an_outside_cost_up_to_the_largest_number_of_the_type_of_the_costs_is_accepted(
    registry, dtype, outside_cost
):
    method = method_with_outside_cost(dtype, outside_cost)
    assert method(SCENE).disparity.shape == (40, 24)


@pytest.mark.parametrize(
    ("dtype", "outside_cost"),
    [
        (np.uint8, 256),
        (np.uint16, 65536),
        (np.float32, np.inf),
        (np.float32, np.nan),
        (np.float32, "7"),
    ],
)
def test_an_outside_cost_that_the_type_of_the_costs_cannot_represent_is_refused(
    registry, dtype, outside_cost
):
    method = method_with_outside_cost(dtype, outside_cost)
    with pytest.raises(StereoFrameworkError, match="outside"):
        method(SCENE)


def method_with_errors_on_the_right(correct_share):
    """Return a method with a left-right check whose cost is wrong in the right image.

    Parameters
    ----------
    correct_share : float
        Share of the pixels of the right image with correct costs. The other pixels have
        the costs of their levels in reverse order.
    """

    @stage("matching_cost", **not_local)
    def one_sided(reference, match, search):
        volume = absolute_difference(reference, match, search)
        if search.direction < 0:
            is_wrong = np.random.default_rng(1).random(volume.shape) >= correct_share
            volume.costs[is_wrong] = volume.costs[is_wrong][:, ::-1]
        return volume

    return Pipeline([one_sided, winner_take_all, left_right_check])


@pytest.mark.parametrize("correct_share", [1.0, 0.6])
def test_a_cost_that_is_correct_at_most_pixels_of_the_right_image_is_accepted(
    registry, correct_share
):
    method = method_with_errors_on_the_right(correct_share)
    assert method(SCENE).disparity.shape == (40, 24)


@pytest.mark.parametrize("correct_share", [0.4, 0.1])
def test_a_cost_that_is_correct_at_few_pixels_of_the_right_image_is_refused(
    registry, correct_share
):
    method = method_with_errors_on_the_right(correct_share)
    message = "costs that do not obey search.direction"
    with pytest.raises(StereoFrameworkError, match=message):
        method(SCENE)
