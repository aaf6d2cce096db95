"""Two steps and two costs with halos in strips, and the limits of stages' results."""

import itertools

import numpy as np
import pytest
from pipeline_parts import assert_same_match, in_strips, local, make_scene, not_local

from stereo_framework import CostVolume, Labeling, Pipeline, SearchRange, StereoFrameworkError, step
from stereo_framework.aggregation import binomial, box, min_filter
from stereo_framework.core.call_context import CallReport, report_call
from stereo_framework.core.parameters import PositiveInt
from stereo_framework.core.registration import stage
from stereo_framework.core.volume import Status
from stereo_framework.engine.planned_steps import CostSum
from stereo_framework.matching_cost import absolute_difference, census, normalized_cross_correlation
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import left_right_check

CHANCE = np.random.default_rng(8)
SCENE = make_scene(*CHANCE.integers(0, 256, (2, 40, 24), np.uint8), SearchRange(0, 6))
FILTERS = {
    "box 9": step(box, size=9),
    "minimum 7": step(min_filter, size=7),
    "binomial": step(binomial, iterations=2),
    "box 4": step(box, size=4),
}


@pytest.mark.parametrize(
    "names", [*itertools.permutations(FILTERS, 2), tuple(FILTERS)], ids=" > ".join
)
def test_several_filters_with_halos_agree_in_strips_and_whole(names):
    aggregation = [FILTERS[name] for name in names]
    method = Pipeline([step(census, width=3, height=5), *aggregation, winner_take_all])
    whole = method(SCENE)
    for height in (3, 16):
        assert_same_match(in_strips(height, method, SCENE), whole)


@pytest.mark.parametrize(
    ("parts", "halo"),
    [
        ([step(census, width=3, height=9), step(normalized_cross_correlation, size=3)], 4),
        ([step(normalized_cross_correlation, size=3), step(census, width=3, height=9)], 4),
        ([absolute_difference, step(census, width=3, height=9)], 4),
        ([step(census, width=3, height=9), absolute_difference], 4),
        ([absolute_difference, absolute_difference], 0),
        (
            [
                step(census, width=3, height=5),
                step(census, width=3, height=9),
                step(normalized_cross_correlation, size=7),
            ],
            4,
        ),
    ],
)
def test_a_sum_of_costs_has_the_largest_halo(parts, halo):
    weighted = [step(part, weight=1.0) for part in parts]
    assert CostSum(tuple(weighted)).halo == halo
    method = Pipeline([*weighted, winner_take_all])
    assert method.plan[0].halo == halo
    assert_same_match(in_strips(3, method, SCENE), method(SCENE))


@pytest.mark.parametrize(
    ("first", "second", "outside_cost"),
    [
        ({"weight": 1.0}, {"weight": 1.0}, 7 + 7),
        ({"weight": 2.0}, {"weight": 1.0}, 14 + 7),
        ({"weight": 1.0}, {"weight": 3.0}, 7 + 21),
        ({"saturation": 7.0}, {"weight": 1.0}, 1 - np.exp(-1) + 7),
        ({"weight": 1.0}, {"saturation": 14.0}, 7 + 1 - np.exp(-0.5)),
        ({"weight": 2.0, "saturation": 7.0}, {"weight": 3.0, "saturation": 14.0}, None),
    ],
)
def test_the_cost_out_of_view_of_a_sum_has_the_weights_and_saturations_of_its_parts(
    registry, first, second, outside_cost
):
    @stage("matching_cost", **local)
    def sevens(reference, match, search):
        return CostVolume(np.full((*reference.shape, search.levels), 7, np.float32), search, 7.0)

    if outside_cost is None:
        outside_cost = 2 * (1 - np.exp(-1)) + 3 * (1 - np.exp(-0.5))
    method = Pipeline([step(sevens, **first), step(sevens, **second), winner_take_all])
    volume = method(SCENE, keep_volume=True).volume
    assert volume.outside_cost == pytest.approx(outside_cost, rel=1e-12)
    np.testing.assert_allclose(volume.costs, outside_cost, rtol=1e-6)


def test_times_of_both_views_of_one_stage_add_up(registry):
    @stage("aggregation", **not_local)
    def slow(volume, *, seconds: PositiveInt = 1):
        report_call(CallReport(seconds=float(seconds) if volume.search.direction > 0 else 0.25))
        return volume

    method = Pipeline([absolute_difference, step(slow, seconds=5), winner_take_all])
    assert method(SCENE).seconds["aggregation.slow"] == 5.0
    checked = method.having(refinement=[left_right_check])
    assert checked(SCENE).seconds["aggregation.slow"] == 5.25


# --- values at the limits of the results of a stage -----------------------------------


@pytest.mark.parametrize(
    ("value", "is_allowed"),
    [(max(Status), True), (max(Status) + 1, False), (255, False), (0, True)],
)
def test_a_status_is_at_most_the_last_one(registry, value, is_allowed):
    @stage("refinement", **not_local)
    def of_status(disparity):
        return disparity, np.full(disparity.shape, value, np.uint8)

    method = Pipeline([absolute_difference, winner_take_all, of_status])
    if is_allowed:
        assert (method(SCENE).status == value).all()
    else:
        with pytest.raises(
            StereoFrameworkError, match=f"{value}; expected values of Status, 0 to 4"
        ):
            method(SCENE)


@pytest.mark.parametrize(
    ("level", "is_allowed"), [(-2, False), (-1, True), (0, True), (6, True), (7, False)]
)
def test_a_level_is_one_of_the_range_or_none(registry, level, is_allowed):
    @stage("optimization", **not_local)
    def of_level(volume):
        levels = np.zeros(volume.shape, np.int16)
        levels[2, 3] = level
        return Labeling(levels, np.zeros(volume.shape, np.float32))

    method = Pipeline([absolute_difference, of_level])
    if is_allowed:
        assert method(SCENE).levels[2, 3] == level
    else:
        with pytest.raises(StereoFrameworkError, match=r"levels from -?\d to \d; expected -1 to 6"):
            method(SCENE)


LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    ("dtype", "outside_cost", "is_allowed"),
    [
        (np.uint8, 255, True),
        (np.uint8, 256, False),
        (np.uint16, 65535, True),
        (np.uint16, 65536, False),
        (np.float32, LARGEST, True),
        (np.float32, -LARGEST, True),
        (np.float32, np.inf, False),
        (np.float32, np.nan, False),
        (np.float32, "7", False),
    ],
)
def test_a_cost_out_of_view_is_one_that_the_volume_can_hold(
    registry, dtype, outside_cost, is_allowed
):
    @stage("matching_cost", **not_local, integer=True)
    def of_outside(reference, match, search):
        costs = np.zeros((*reference.shape, search.levels), dtype)
        return CostVolume(costs, search, outside_cost)

    method = Pipeline([of_outside, winner_take_all])
    if is_allowed:
        assert method(SCENE).disparity.shape == (40, 24)
    else:
        with pytest.raises(StereoFrameworkError, match="outside"):
            method(SCENE)


@pytest.mark.parametrize(
    ("share", "is_refused"), [(1.0, False), (0.6, False), (0.4, True), (0.1, True)]
)
def test_a_cost_that_is_right_from_one_side_for_most_pixels_only_is_refused(
    registry, share, is_refused
):
    """From the other side it finds the texture only at a share of the pixels."""

    @stage("matching_cost", **not_local)
    def one_sided(reference, match, search):
        volume = absolute_difference(reference, match, search)
        if search.direction < 0:
            wrong = np.random.default_rng(1).random(volume.shape) >= share
            volume.costs[wrong] = volume.costs[wrong][:, ::-1]
        return volume

    method = Pipeline([one_sided, winner_take_all, left_right_check])
    if is_refused:
        with pytest.raises(StereoFrameworkError, match="costs that do not obey search.direction"):
            method(SCENE)
    else:
        assert method(SCENE).disparity.shape == (40, 24)
