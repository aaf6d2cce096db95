"""Sums of several matching costs, each of them with a weight and a saturation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import image_pairs, searches
from pipeline_parts import in_strips, local, textured

from stereo_framework import CostVolume, Pipeline, step
from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.core.registration import stage
from stereo_framework.engine.planned_steps import CostSum
from stereo_framework.matching_cost import (
    absolute_difference,
    normalized_cross_correlation,
    squared_difference,
)
from stereo_framework.optimization import winner_take_all


def saturated_and_weighted(volume, weight, saturation):
    """Compute the costs and the outside cost of a term of the sum in float64."""
    costs = volume.costs.astype(float)
    outside_cost = float(volume.outside_cost)
    if saturation is not None:
        costs = 1 - np.exp(-costs / saturation)
        outside_cost = 1 - np.exp(-outside_cost / saturation)
    return weight * costs, weight * outside_cost


@given(
    images=image_pairs(),
    search=searches(),
    weights=st.tuples(st.sampled_from([1.0, 0.25, 3.0]), st.sampled_from([1.0, 0.5])),
    saturations=st.tuples(st.sampled_from([None, 10.0, 300.0]), st.sampled_from([None, 1000.0])),
)
def test_sums_agree_with_numpy(images, search, weights, saturations):
    reference, match = images
    absolute_step = step(
        absolute_difference, truncation=40.0, weight=weights[0], saturation=saturations[0]
    )
    squared_step = step(squared_difference, weight=weights[1], saturation=saturations[1])
    data = {"reference": reference, "match": match, "search": search}
    total = CostSum((absolute_step, squared_step))(data)

    absolute_costs, absolute_outside_cost = saturated_and_weighted(
        absolute_difference(reference, match, search, truncation=40.0), weights[0], saturations[0]
    )
    squared_costs, squared_outside_cost = saturated_and_weighted(
        squared_difference(reference, match, search), weights[1], saturations[1]
    )
    assert total.costs.dtype == np.float32
    # Each cost, its exponential and the sum are rounded to float32. These are five
    # errors of up to 2**-24.
    np.testing.assert_allclose(
        total.costs, absolute_costs + squared_costs, rtol=4e-7, atol=4e-7 * max(weights)
    )
    assert total.outside_cost == pytest.approx(absolute_outside_cost + squared_outside_cost)
    # In every cost volume, cells outside the target image contain the outside cost.
    for row_costs in total.costs:
        np.testing.assert_allclose(row_costs[~total.inside], total.outside_cost, rtol=4e-7)


def test_a_sum_does_not_change_the_arrays_of_its_costs(registry):
    stored_costs = np.full((9, 20, 5), 7, np.float32)
    stored_costs.flags.writeable = False

    @stage("matching_cost", **local)
    def stored_cost(reference, match, search):
        return CostVolume(stored_costs, search, 7.0)

    weighted_cost = step(stored_cost, weight=2.0, saturation=1.0)
    method = Pipeline([weighted_cost, absolute_difference, winner_take_all])
    assert np.isfinite(method(textured()).disparity).all()
    assert (stored_costs == 7).all()


def test_a_sum_whose_outside_cost_is_too_large_for_float32_is_refused(registry):
    @stage("matching_cost", **local)
    def huge_outside_cost(reference, match, search):
        costs = np.zeros((*reference.shape, search.levels), np.float32)
        return CostVolume(costs, search, 2e38)

    method = Pipeline([huge_outside_cost, huge_outside_cost, winner_take_all])
    message = r"^matching_cost: the sum of the matching costs is a CostVolume with the outside cost"
    with pytest.raises(StereoFrameworkError, match=message):
        method(textured())


def test_a_sum_of_uint8_costs_does_not_overflow(registry):
    @stage("matching_cost", **local, integer=True)
    def largest_cost(reference, match, search):
        costs = np.full((*reference.shape, search.levels), 255, np.uint8)
        return CostVolume(costs, search, 255.0)

    method = Pipeline([largest_cost, largest_cost, winner_take_all])
    volume = method(textured(), keep_volume=True).volume
    assert volume.costs.dtype == np.float32
    assert (volume.costs == 510).all()


def test_a_sum_of_costs_has_the_same_disparities_in_strips():
    method = Pipeline(
        [
            step(absolute_difference, weight=0.5, saturation=20.0),
            step(normalized_cross_correlation, size=3),
            winner_take_all,
        ]
    )
    assert method.plan[0].halo == 1
    expected = method(textured()).disparity
    for height in (1, 2, 4):
        disparity = in_strips(height, method, textured()).disparity
        np.testing.assert_array_equal(disparity, expected)


def test_a_sum_is_not_computed_in_strips_if_one_cost_needs_all_rows(registry):
    @stage("matching_cost", source="a test")
    def cost_of_all_rows(reference, match, search):
        assert reference.shape[0] == 9
        return absolute_difference(reference, match, search)

    method = Pipeline([absolute_difference, cost_of_all_rows, winner_take_all])
    assert method.plan[0].halo is None
    in_strips(2, method, textured())


def test_each_cost_of_a_sum_has_an_address_and_is_shown_with_its_parameters():
    method = Pipeline(
        [
            absolute_difference,
            step(squared_difference, weight=0.5, saturation=100.0),
            winner_take_all,
        ]
    )
    addresses = [address for address, _ in method.stages()]
    assert addresses == [
        "matching_cost.absolute_difference",
        "matching_cost.squared_difference",
        "optimization",
    ]
    squared_step = dict(method.stages())["matching_cost.squared_difference"]
    assert squared_step.parameters["weight"] == 0.5
    assert repr(method) == (
        "Pipeline(absolute_difference > squared_difference(weight=0.5, saturation=100) "
        "> winner_take_all)"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("weight", 0), ("weight", True), ("weight", float("inf")), ("saturation", -1.0)],
)
def test_a_weight_or_saturation_that_is_no_positive_number_is_refused(name, value):
    message = rf"^matching_cost.absolute_difference.{name}: .* is not a number > 0"
    with pytest.raises(ParameterError, match=message):
        step(absolute_difference, **{name: value})
