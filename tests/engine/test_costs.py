"""Lists of matching costs: weighted, saturated, added."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import image_pairs, searches
from pipeline_parts import in_strips, local, textured
from stereo_framework.engine.engine_steps import cost_sum

from stereo_framework import CostVolume, Pipeline, step
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.registration import stage
from stereo_framework.matching_cost import (
    absolute_difference,
    normalized_cross_correlation,
    squared_difference,
)
from stereo_framework.optimization import winner_take_all


def plain(function, images, search, weight, saturation, **parameters):
    """Compute one entry of a list in float64, with its cost outside the image."""
    volume = function(*images, search, **parameters)
    costs, outside_cost = volume.costs.astype(float), float(volume.outside_cost)
    if saturation is not None:
        costs, outside_cost = (
            1 - np.exp(-costs / saturation),
            1 - np.exp(-outside_cost / saturation),
        )
    return weight * costs, weight * outside_cost


@given(
    images=image_pairs(),
    search=searches(),
    weights=st.tuples(st.sampled_from([1.0, 0.25, 3.0]), st.sampled_from([1.0, 0.5])),
    saturations=st.tuples(st.sampled_from([None, 10.0, 300.0]), st.sampled_from([None, 1000.0])),
)
def test_sums_agree_with_numpy(images, search, weights, saturations):
    parts = [
        step(absolute_difference, truncation=40.0, weight=weights[0], saturation=saturations[0]),
        step(squared_difference, weight=weights[1], saturation=saturations[1]),
    ]
    total = cost_sum(parts)({"reference": images[0], "match": images[1], "search": search})
    one = plain(absolute_difference, images, search, weights[0], saturations[0], truncation=40.0)
    two = plain(squared_difference, images, search, weights[1], saturations[1])
    assert total.costs.dtype == np.float32
    # Each part is rounded to float32, its exponential and the sum too: five steps of 2**-24.
    np.testing.assert_allclose(total.costs, one[0] + two[0], rtol=4e-7, atol=4e-7 * max(weights))
    assert total.outside_cost == pytest.approx(one[1] + two[1])
    # What is out of view holds the sum's own cost, as everywhere.
    for costs in total.costs:
        np.testing.assert_allclose(costs[~total.inside], total.outside_cost, rtol=4e-7)


def test_costs_of_others_are_left_as_they_are(registry):
    kept = np.full((9, 20, 5), 7, np.float32)
    kept.flags.writeable = False

    @stage("matching_cost", **local)
    def own(reference, match, search):
        return CostVolume(kept, search, 7.0)

    method = Pipeline([step(own, weight=2.0, saturation=1.0), absolute_difference, winner_take_all])
    assert np.isfinite(method(textured()).disparity).all()
    assert (kept == 7).all()


def test_integer_costs_are_added_as_numbers(registry):
    @stage("matching_cost", **local, integer=True)
    def worst(reference, match, search):
        return CostVolume(np.full((*reference.shape, search.levels), 255, np.uint8), search, 255.0)

    match = Pipeline([worst, worst, winner_take_all])(textured(), keep_volume=True)
    assert match.volume.costs.dtype == np.float32
    assert (match.volume.costs == 510).all()


def test_lists_in_strips():
    method = Pipeline(
        [
            step(absolute_difference, weight=0.5, saturation=20.0),
            step(normalized_cross_correlation, size=3),
            winner_take_all,
        ]
    )
    assert method.plan[0].halo == 1
    whole = method(textured())
    for height in (1, 2, 4):
        np.testing.assert_array_equal(
            in_strips(height, method, textured()).disparity, whole.disparity
        )


def test_one_that_sees_the_whole_makes_all_see_it(registry):
    @stage("matching_cost", source="a test")
    def whole(reference, match, search):
        assert reference.shape[0] == 9
        return absolute_difference(reference, match, search)

    method = Pipeline([absolute_difference, whole, winner_take_all])
    assert method.plan[0].halo is None
    in_strips(2, method, textured())


def test_addresses_and_words():
    method = Pipeline(
        [
            absolute_difference,
            step(squared_difference, weight=0.5, saturation=100.0),
            winner_take_all,
        ]
    )
    assert [address for address, _ in method.stages()] == [
        "matching_cost.absolute_difference",
        "matching_cost.squared_difference",
        "optimization",
    ]
    assert dict(method.stages())["matching_cost.squared_difference"].parameters["weight"] == 0.5
    assert repr(method) == (
        "Pipeline(absolute_difference > squared_difference(weight=0.5, saturation=100) "
        "> winner_take_all)"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("weight", 0), ("weight", True), ("weight", float("inf")), ("saturation", -1.0)],
)
def test_wrong_factors_are_refused(name, value):
    with pytest.raises(
        ParameterError, match=rf"^matching_cost.absolute_difference.{name}: .* is not a number > 0"
    ):
        step(absolute_difference, **{name: value})
