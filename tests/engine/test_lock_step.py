"""Both views in lock step: on a real scene, matched once however many stages and settings look across, and equal to both views by hand."""

import dataclasses
import itertools

import numpy as np
import pytest

from stereo_framework import Bound, Energy, Pipeline, load_scene
from stereo_framework.aggregation import box
from stereo_framework.engine.tree import Tree
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.pair import Pair
from stereo_framework.refinement import fill_occlusions, left_right_check, median
from stereo_framework.stage import stage
from stereo_framework.view import View
from stereo_framework.volume import Status, restore_outside


@pytest.fixture(scope="module")
def pair(data):
    """Some rows of tsukuba."""
    return Pair.of(load_scene("tsukuba", data=data)).rows(100, 160)


@pytest.fixture
def counted(registry):
    """An aggregation that notes each call."""
    calls = []

    @stage("aggregation", source="a test")
    def counted_box(volume, *, size: int = 7):
        calls.append(volume.search.direction)
        return box(volume, size=size)

    return calls, counted_box


def views_by_hand(pair, refinements):
    """(disparity, status) of both views, of which each sees the other as it was before the same refinement."""
    views = []
    for one in (pair, pair.exchanged()):
        volume = box(absolute_difference(one.reference, one.match, one.search), size=7)
        labels = winner_take_all(Energy(restore_outside(volume))).labels
        disparity = one.search.disparity_of(labels)
        views.append(View(disparity, np.zeros(disparity.shape, np.uint8), one.search))
    for function, parameters in refinements:
        before = list(views)
        for i, view in enumerate(before):
            if function is left_right_check:
                result = left_right_check(view.disparity, before[1 - i], view.search, view.status, **parameters)
            else:
                refined, status = function(view.disparity, **parameters), view.status.copy()
                status[np.isnan(view.disparity) & ~np.isnan(refined)] = Status.FILLED
                result = refined, status
            views[i] = View(*result, view.search)
    return views


@pytest.mark.parametrize("checks", [1, 2, 3, 4])
def test_each_view_is_matched_once(pair, counted, checks):
    calls, counted_box = counted
    # The check's tolerance falls, so that each finds something.
    refinements = [
        (left_right_check, {"tolerance": 3.0}),
        (fill_occlusions, {}),
        (left_right_check, {"tolerance": 2.0}),
        (median, {"size": 5}),
        (left_right_check, {"tolerance": 1.0}),
        (fill_occlusions, {"rule": "left"}),
        (left_right_check, {"tolerance": 0.0}),
    ][: 2 * checks - 1]
    method = Pipeline(
        absolute_difference, winner_take_all, aggregation=counted_box, refinement=[Bound(f, p) for f, p in refinements]
    )
    match = method(pair)
    assert sorted(calls) == [-1, 1]
    expected = views_by_hand(pair, refinements)
    np.testing.assert_array_equal(match.disparity, expected[0].disparity)
    np.testing.assert_array_equal(match.status, expected[0].status)
    # Each check takes something away and leaves most.
    assert 0.01 < np.isnan(match.disparity).mean() < 0.6
    # The last stage that looks across ends the other view; who wants both gets both, in the same steps.
    [(_, both)] = Tree([method], both=True).walk(pair)
    for found, view in zip(both, expected, strict=True):
        np.testing.assert_array_equal(found.disparity, view.disparity)
        np.testing.assert_array_equal(found.status, view.status)


def test_a_sweep_over_thresholds_matches_each_view_once(pair, counted):
    calls, counted_box = counted
    thresholds = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0]
    method = Pipeline(absolute_difference, winner_take_all, aggregation=counted_box)
    some = [
        dataclasses.replace(method, refinement=[Bound(left_right_check, {"tolerance": t}), fill_occlusions]) for t in thresholds
    ]
    found = dict(Tree(some).walk(pair))
    assert sorted(calls) == [-1, 1]
    for i, threshold in enumerate(thresholds):
        expected, _ = views_by_hand(pair, [(left_right_check, {"tolerance": threshold}), (fill_occlusions, {})])
        np.testing.assert_array_equal(found[i].disparity, expected.disparity)
        np.testing.assert_array_equal(found[i].status, expected.status)
    # The seconds are those of both views, as if each setting had been alone.
    assert list(found[0].seconds) == [
        "matching_cost",
        "aggregation.counted_box",
        "restore_outside",
        "optimization",
        "refinement.left_right_check",
        "refinement.fill_occlusions",
    ]


def test_a_sweep_before_the_check_matches_each_view_once(pair, counted):
    calls, counted_box = counted
    settings = list(itertools.product([1, 3, 5, 7], [0.5, 1.0]))
    method = Pipeline(absolute_difference, winner_take_all, aggregation=counted_box)
    some = [
        dataclasses.replace(method, refinement=[Bound(median, {"size": s}), Bound(left_right_check, {"tolerance": t})])
        for s, t in settings
    ]
    found = dict(Tree(some).walk(pair))
    assert sorted(calls) == [-1, 1]
    for i, (size, tolerance) in enumerate(settings):
        expected, _ = views_by_hand(pair, [(median, {"size": size}), (left_right_check, {"tolerance": tolerance})])
        np.testing.assert_array_equal(found[i].disparity, expected.disparity)
        np.testing.assert_array_equal(found[i].status, expected.status)


def test_a_volume_of_the_other_view_is_kept_for_those_who_need_it(pair, counted):
    calls, counted_box = counted
    seen = []

    @stage("refinement", source="a test", other_needs={"volume", "raw"})
    def look_at_costs(disparity, other, volume, *, again: int = 0):
        seen.append((other.volume.search.direction, other.volume.costs[3, 50].tolist(), other.raw.costs[3, 50].tolist()))
        return disparity

    method = Pipeline(absolute_difference, winner_take_all, aggregation=counted_box)
    some = [dataclasses.replace(method, refinement=[median, Bound(look_at_costs, {"again": n})]) for n in range(3)]
    assert all(not isinstance(outcome, Exception) for _, outcome in Tree(some).walk(pair))
    assert sorted(calls) == [-1, 1]
    other = pair.exchanged()
    raw = absolute_difference(other.reference, other.match, other.search)
    expected = restore_outside(box(raw, size=7)).costs[3, 50].tolist(), raw.costs[3, 50].tolist()
    assert seen == 3 * [(-1, *expected)]
