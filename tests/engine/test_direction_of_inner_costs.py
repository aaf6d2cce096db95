"""Tests of the check that an inner matching cost obeys the direction of the search."""

from dataclasses import replace
from typing import Annotated

import numpy as np
import pytest

from stereo_framework import Pair, Pipeline, SearchRange, load_scene, step
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.matching_cost import absolute_difference, census, multi_baseline
from stereo_framework.script.rehearsal import direction_faults
from stereo_framework.stages import CostVolume, InSlot, OtherFrame, Step, stage

IGNORED = r"one_way returned costs that do not obey search\.direction"

InnerCost = Annotated[Step, InSlot("matching_cost")]


@pytest.fixture(scope="module")
def small_pair():
    scene = load_scene("synthetic/planes")
    return Pair(scene.reference[:40, :64], scene.match[:40, :64], SearchRange(0, 15))


@pytest.fixture(autouse=True)
def plugins(registry):
    """Register matching costs of a plug-in, and remove them after the test."""

    @stage("matching_cost", source="Author 2000", halo=lambda: 0)
    def one_way(reference, match, search):
        """Compute costs that are wrong for the right image."""
        volume = absolute_difference(reference, match, replace(search, direction=1))
        return replace(volume, search=search)

    @stage("matching_cost", source="Author 2000", halo=lambda: 0)
    def halved(reference, match, search, *, inner: InnerCost = step(census)):
        """Halve the costs of the inner matching cost."""
        volume = inner()
        costs = volume.costs.astype(np.float32) / np.float32(2)
        return CostVolume(costs, search, volume.outside_cost / 2)

    @stage("matching_cost", source="Author 2000", halo=lambda: 0)
    def mirrored(reference, match, search, *, inner: InnerCost = step(one_way)):
        """Mirror the images of the right view, so that the search is to the left."""
        if search.direction > 0:
            return inner()
        left_search = replace(search, direction=1)
        images = [np.ascontiguousarray(image[:, ::-1]) for image in (reference, match)]
        volume = inner(reference=images[0], match=images[1], search=left_search)
        costs = np.ascontiguousarray(volume.costs[:, ::-1])
        return CostVolume(costs, search, volume.outside_cost)


@pytest.mark.parametrize(
    ("names", "outer_names"),
    [
        (["multi_baseline", "one_way"], r"\(inside multi_baseline\)$"),
        (["multi_baseline", "halved", "one_way"], r"\(inside halved\) \(inside multi_baseline\)$"),
        (["halved", "multi_baseline", "one_way"], r"\(inside multi_baseline\) \(inside halved\)$"),
    ],
    ids=["one level", "two levels", "inside a plug-in"],
)
def test_inner_costs_that_ignore_the_direction_are_refused(names, outer_names, small_pair):
    *stages_around, innermost = names
    outer = step(innermost)
    for name in reversed(stages_around):
        outer = step(name, inner=outer)
    message = f"{IGNORED}.*{outer_names}"
    method = Pipeline([outer, "winner_take_all"])
    assert method.estimate(small_pair).disparity.shape == small_pair.shape
    assert list(direction_faults(method)) == []
    with pytest.raises(StereoFrameworkError, match=message):
        method.estimate(small_pair.exchanged())

    checked_method = Pipeline([outer, "winner_take_all", "left_right_check"])
    with pytest.raises(StereoFrameworkError, match=message):
        checked_method.estimate(small_pair)
    [(address, fault)] = direction_faults(checked_method)
    assert address == "matching_cost"
    with pytest.raises(StereoFrameworkError, match=message):
        raise StereoFrameworkError(fault)


def test_an_inner_cost_in_a_sum_of_costs_is_checked(small_pair):
    costs = [step(multi_baseline, inner="one_way", weight=1), step("census", weight=1)]
    with pytest.raises(StereoFrameworkError, match=rf"{IGNORED}.*\(inside multi_baseline\)$"):
        Pipeline([*costs, "winner_take_all"]).estimate(small_pair.exchanged())


def test_costs_of_a_frame_at_a_negative_baseline_are_checked(small_pair):
    frame = OtherFrame(lambda: small_pair.match, baseline=-1.0)
    method = Pipeline([step(multi_baseline, inner="one_way"), "winner_take_all"])
    with pytest.raises(StereoFrameworkError, match=rf"{IGNORED}.*\(inside multi_baseline\)$"):
        method.estimate(replace(small_pair, frames=(frame,)))
    positive_frame = OtherFrame(lambda: small_pair.match, baseline=0.5)
    method.estimate(replace(small_pair, frames=(positive_frame,)))


def test_inner_costs_of_other_slots_are_checked(small_pair):
    @stage("aggregation", source="Author 2000")
    def replaced(volume, reference, match, search, *, inner: InnerCost = step("one_way")):
        return inner()

    method = Pipeline(["census", replaced, "winner_take_all", "left_right_check"])
    with pytest.raises(StereoFrameworkError, match=rf"{IGNORED}.*\(inside replaced\)$"):
        method.estimate(small_pair)


@pytest.mark.parametrize("cost", ["mirrored", "multi_baseline", "halved"])
def test_methods_whose_inner_costs_search_correctly_are_accepted(cost, small_pair):
    outer = step(cost)
    if cost == "multi_baseline":
        outer = step(outer, inner="mirrored")
    method = Pipeline([outer, "winner_take_all", "left_right_check"])
    assert list(direction_faults(method)) == []
    estimate = method.estimate(small_pair)
    assert np.isfinite(estimate.disparity).mean() > 0.4
