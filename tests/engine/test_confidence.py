"""Maps of confidence: when they are measured, on what, and who gets them."""

import numpy as np
import pytest
from pipeline_parts import in_strips, local, not_local, textured

from stereo_framework import Pipeline, StereoFrameworkError
from stereo_framework.aggregation import box
from stereo_framework.core.stage import stage
from stereo_framework.core.volume import Status
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import dynamic_programming, winner_take_all
from stereo_framework.refinement import left_right_check


@pytest.fixture
def measures(registry):
    @stage("confidence", **local)
    def lowest_cost(disparity, volume):
        return -volume.costs.min(axis=2)

    @stage("confidence", **local)
    def agreement(disparity, other):
        return -np.abs(np.nan_to_num(disparity - other.disparity))

    return lowest_cost, agreement


@pytest.mark.parametrize("height", [2, 100])
def test_measured_after_the_optimizer(measures, height):
    lowest_cost, _ = measures
    scene = textured()
    method = Pipeline([absolute_difference, box, winner_take_all, lowest_cost])
    plain = Pipeline([absolute_difference, box, winner_take_all])(scene, keep_volume=True)
    match = in_strips(height, method, scene)
    np.testing.assert_array_equal(match.confidence["lowest_cost"], -plain.volume.costs.min(axis=2))
    assert match.confidence["lowest_cost"].dtype == np.float32
    assert list(match.seconds)[-1] == "confidence.lowest_cost"


def test_lowest_where_nothing_is_known_or_filled(measures):
    lowest_cost, _ = measures

    @stage("refinement", **local)
    def forget(disparity):
        disparity = disparity.copy()
        disparity[:, 5:8] = np.nan
        return disparity

    @stage("refinement", **local)
    def fill(disparity):
        disparity = disparity.copy()
        disparity[:, 6] = 1
        return disparity

    scene = textured()
    measured = Pipeline([absolute_difference, dynamic_programming, lowest_cost])(scene).confidence["lowest_cost"]
    match = Pipeline([absolute_difference, winner_take_all, lowest_cost, forget, fill])(scene)
    plain = Pipeline([absolute_difference, winner_take_all, lowest_cost])(scene).confidence["lowest_cost"]
    found = match.confidence["lowest_cost"]
    assert (match.status[:, 6] == Status.FILLED).all()
    assert (found[:, 5:8] == plain.min()).all()
    kept = np.ones(found.shape, bool)
    kept[:, 5:8] = False
    np.testing.assert_array_equal(found[kept], plain[kept])
    # What the optimizer leaves out is not sure either.
    occluded = np.isnan(Pipeline([absolute_difference, dynamic_programming])(scene).disparity)
    assert (measured[occluded] == measured.min()).all()


@pytest.mark.parametrize("height", [2, 100])
def test_refinements_get_the_maps_as_measured(measures, height):
    lowest_cost, agreement = measures
    seen = []

    @stage("refinement", **local)
    def doubt(disparity, confidence):
        seen.append(sorted(confidence))
        return np.where(confidence["lowest_cost"] < 0, np.float32(np.nan), disparity)

    scene = textured()
    method = Pipeline([absolute_difference, winner_take_all, lowest_cost, agreement, doubt])
    match = in_strips(height, method, scene)
    assert set(map(tuple, seen)) == {("agreement", "lowest_cost")}
    costs = absolute_difference(scene.reference, scene.match, scene.search).costs
    np.testing.assert_array_equal(np.isnan(match.disparity), costs.min(axis=2) > 0)


def test_measures_and_refinements_see_the_other_views(measures):
    lowest_cost, agreement = measures
    seen = []

    @stage("refinement", **not_local)
    def compare(disparity, other, confidence):
        seen.append((confidence, other.confidence))
        return disparity

    scene = textured()
    method = Pipeline([absolute_difference, winner_take_all, lowest_cost, agreement, compare, left_right_check])
    match = method(scene)
    views = {one.direction: Pipeline([absolute_difference, winner_take_all])(one) for one in (scene, scene.pair(1, 0))}
    difference = -np.abs(views[1].disparity - views[-1].disparity)
    # Both views compare: a later stage looks across.
    assert len(seen) == 2
    (own, other), (back_own, back_other) = seen
    np.testing.assert_array_equal(own["agreement"], difference)
    np.testing.assert_array_equal(other["agreement"], difference)
    np.testing.assert_array_equal(other["lowest_cost"], back_own["lowest_cost"])
    np.testing.assert_array_equal(back_other["lowest_cost"], own["lowest_cost"])
    assert set(match.confidence) == {"lowest_cost", "agreement"}


def test_a_volume_that_nobody_declared_is_told(registry):
    @stage("refinement", **not_local, other_needs=())
    def looks(disparity, other):
        return disparity + other.volume.costs[..., 0]

    @stage("refinement", **not_local)
    def helper_looks(disparity, other):
        return disparity + raw_of(other)

    scene = textured()
    for refinement, name in ((looks, "volume"), (helper_looks, "raw")):
        with pytest.raises(
            StereoFrameworkError,
            match=rf"^the other view's {name} was not kept; declare it: @stage\(..., other_needs={{'{name}'}}\)$",
        ):
            Pipeline([absolute_difference, winner_take_all, refinement])(scene)


def raw_of(view):
    return view.raw.costs[..., 0]
