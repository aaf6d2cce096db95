"""Cost volumes of type uint8 and uint16, converted only for stages that need floats."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from pipeline_parts import in_strips, local, not_local, textured

from stereo_framework import CostVolume, Pipeline
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stage
from stereo_framework.core.volume import Labeling, SearchMask
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import parabola


@pytest.fixture
def converted_types(monkeypatch):
    """Record the types of the integer costs that are converted to float32."""
    types = []
    convert_to_floats = CostVolume.floats

    def record_type(volume, **options):
        if volume.costs.dtype != np.float32:
            types.append(volume.costs.dtype)
        return convert_to_floats(volume, **options)

    monkeypatch.setattr(CostVolume, "floats", record_type)
    return types


class Stages(NamedTuple):
    """Stages for integer costs, and stages for the same costs in float32.

    `double_costs` is an aggregation. It accepts integers and floats, and converts uint8
    to uint16.
    """

    integer_cost: Callable
    float_cost: Callable
    double_costs: Callable
    integer_optimizer: Callable
    float_optimizer: Callable


@pytest.fixture
def stages(registry):
    """Register the stages, whose optimizers also check the type of the costs."""

    def difference_as(dtype, reference, match, search):
        volume = absolute_difference(reference, match, search)
        whole_costs = volume.costs.astype(np.uint8)
        return dataclasses.replace(volume, costs=whole_costs.astype(dtype))

    @stage("matching_cost", **local, integer=True)
    def integer_cost(reference, match, search):
        return difference_as(np.uint8, reference, match, search)

    @stage("matching_cost", **local)
    def float_cost(reference, match, search):
        return difference_as(np.float32, reference, match, search)

    @stage("aggregation", **not_local, integer=True)
    def double_costs(volume):
        costs = volume.costs
        if costs.dtype == np.uint8:
            costs = costs.astype(np.uint16)
        return CostVolume(costs * costs.dtype.type(2), volume.search, 2 * volume.outside_cost)

    @stage("optimization", **not_local, integer=True)
    def integer_optimizer(volume):
        assert volume.costs.dtype != np.float32
        levels = volume.costs.argmin(axis=2).astype(np.int16)
        return Labeling(levels, volume.costs.min(axis=2).astype(np.float32))

    @stage("optimization", **not_local)
    def float_optimizer(volume):
        assert volume.costs.dtype == np.float32
        return winner_take_all(volume)

    return Stages(integer_cost, float_cost, double_costs, integer_optimizer, float_optimizer)


@pytest.mark.parametrize("strip_height", [2, 100])
def test_integer_costs_are_converted_once_and_give_the_same_disparity_map_as_float_costs(
    stages, converted_types, strip_height
):
    scene = textured()
    # The optimizer and both refinements read the cost volume in float32.
    later_stages = [stages.double_costs, stages.float_optimizer, parabola, parabola]
    integer_method = Pipeline([stages.integer_cost, *later_stages])
    float_method = Pipeline([stages.float_cost, *later_stages])

    estimate = in_strips(strip_height, integer_method, scene)
    expected = in_strips(strip_height, float_method, scene)
    assert converted_types == [np.uint16]
    for name in ("levels", "disparity", "status"):
        np.testing.assert_array_equal(getattr(estimate, name), getattr(expected, name))
    assert estimate.energy == expected.energy


def test_stages_that_all_accept_integers_get_integer_costs_without_conversion(
    stages, converted_types
):
    scene = textured()
    integer_method = Pipeline([stages.integer_cost, stages.double_costs, stages.integer_optimizer])
    estimate = integer_method(scene, keep_volume=True)
    assert converted_types == []
    assert estimate.volume.costs.dtype == np.uint16

    float_method = Pipeline([stages.float_cost, stages.double_costs, stages.float_optimizer])
    expected = float_method(scene)
    np.testing.assert_array_equal(estimate.levels, expected.levels)
    assert estimate.energy == expected.energy


def test_excluded_cells_of_integer_costs_get_the_largest_uint16_and_are_never_chosen(stages):
    scene = textured()
    valid = np.ones((9, 20), bool)
    valid[:, 4] = False
    low = np.full((9, 20), 1, np.float32)
    mask = SearchMask(valid=valid, low=low)
    pair = Pair(scene.reference, scene.match, scene.search, mask)

    for aggregations in ([], [stages.double_costs]):
        method = Pipeline([stages.integer_cost, *aggregations, stages.integer_optimizer])
        estimate = method(pair, keep_volume=True)
        costs = estimate.volume.costs
        assert costs.dtype == np.uint16
        # The lower limit of the disparities excludes only level 0.
        assert (costs[:, 5:, 0] == 65535).all()
        assert (estimate.levels[:, 5:] >= 1).all()
        # Invalid pixels have no level, and their costs are 0.
        assert (costs[:, 4] == 0).all()
        assert (estimate.levels[:, 4] == -1).all()


def test_costs_of_the_target_image_are_converted_only_for_stages_that_need_floats(stages):
    target_costs = []

    @stage("refinement", **not_local, other_needs={"volume"})
    def read_float_costs(disparity, other):
        target_costs.append(other.volume.costs)
        return disparity

    @stage("refinement", **not_local, other_needs={"volume"}, integer=True)
    def read_integer_costs(disparity, other):
        target_costs.append(other.volume.costs)
        return disparity

    method = Pipeline([stages.integer_cost, stages.double_costs, stages.integer_optimizer])
    for refinement in (read_float_costs, read_integer_costs):
        method.having(refinement=[refinement])(textured())
    float_costs, integer_costs = target_costs
    assert float_costs.dtype == np.float32
    assert integer_costs.dtype == np.uint16
    np.testing.assert_array_equal(float_costs, integer_costs)
