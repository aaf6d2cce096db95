"""Both views in lock step: on a real scene, matched once however many stages and settings look across, and equal to both views by hand."""

import dataclasses

import numpy as np
import pytest

from stereo_framework import Pipeline, load_scene, step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.pair import Pair
from stereo_framework.core.stage import stage
from stereo_framework.core.view import View, Views
from stereo_framework.core.volume import SearchMask, Status, restore_outside
from stereo_framework.engine.walk import Walk
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import fill_occlusions, left_right_check, median


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
        labels = winner_take_all(restore_outside(volume)).levels
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
    method = Pipeline([absolute_difference, counted_box, winner_take_all, [step(f, **p) for f, p in refinements]])
    match = method(pair)
    assert sorted(calls) == [-1, 1]
    expected = views_by_hand(pair, refinements)
    np.testing.assert_array_equal(match.disparity, expected[0].disparity)
    np.testing.assert_array_equal(match.status, expected[0].status)
    # Each check takes something away and leaves most.
    assert 0.01 < np.isnan(match.disparity).mean() < 0.6
    # The last stage that looks across ends the other view; who wants both gets both, in the same steps.
    [(_, both)] = Walk([method], pair, both=True)
    for found, view in zip(both, expected, strict=True):
        np.testing.assert_array_equal(found.disparity, view.disparity)
        np.testing.assert_array_equal(found.status, view.status)


def test_a_sweep_over_thresholds_matches_each_view_once(pair, counted):
    calls, counted_box = counted
    thresholds = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0]
    method = Pipeline([absolute_difference, counted_box, winner_take_all])
    some = [method.having(refinement=[step(left_right_check, tolerance=t), fill_occlusions]) for t in thresholds]
    found = dict(Walk(some, pair))
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


def test_a_volume_of_the_other_view_is_kept_for_those_who_need_it(pair, counted):
    calls, counted_box = counted
    seen = []

    @stage("refinement", source="a test", other_needs={"volume", "raw"})
    def look_at_costs(disparity, other, volume, *, again: int = 0):
        seen.append((other.volume.search.direction, other.volume.costs[3, 50].tolist(), other.raw.costs[3, 50].tolist()))
        return disparity

    method = Pipeline([absolute_difference, counted_box, winner_take_all])
    some = [method.having(refinement=[median, step(look_at_costs, again=n)]) for n in range(3)]
    assert all(not isinstance(outcome, Exception) for _, outcome in Walk(some, pair))
    assert sorted(calls) == [-1, 1]
    other = pair.exchanged()
    raw = absolute_difference(other.reference, other.match, other.search)
    expected = restore_outside(box(raw, size=7)).costs[3, 50].tolist(), raw.costs[3, 50].tolist()
    assert seen == 3 * [(-1, *expected)]


@pytest.mark.parametrize("narrow", [False, True])
def test_an_optimizer_that_names_other_decides_both_sides_at_once(pair, counted, narrow):
    calls, counted_box = counted
    seen = []

    @stage("optimization", source="a test", other_needs={"volume"})
    def both_at_once(volume, reference, match, search, other, mask=None):
        seen.append((search.direction, other.search.direction, other.disparity is None))
        np.testing.assert_array_equal(reference, pair.reference)
        maps = [
            side.search.disparities[side.volume.costs.argmin(axis=2)] + np.float32(0.25) for side in (energy_view(volume), other)
        ]
        return Views(*maps)

    def energy_view(volume):
        return View(search=volume.search, volumes={"volume": volume})

    search = pair.search
    mask = SearchMask(low=np.full(pair.shape, search.minimum + 2, np.float32)) if narrow else None
    problem = dataclasses.replace(pair, mask=mask)
    method = Pipeline([absolute_difference, counted_box, both_at_once])
    # Alone, for both sides, and for stages that look across once more: it runs once, and each side's costs are made once.
    plain = Pipeline([absolute_difference, counted_box, winner_take_all])
    some = [
        method,
        method.having(refinement=[left_right_check]),
        method.having(refinement=[left_right_check, median, left_right_check]),
    ]
    found = dict(Walk(some, problem))
    assert seen == [(1, -1, True)]
    assert sorted(calls) == [-1, 1]
    [(_, sides)] = Walk([method], problem, both=True)
    assert seen == 2 * [(1, -1, True)]
    for match, one in zip(sides, (problem, problem.exchanged()), strict=True):
        expected = plain(one)
        known = np.isfinite(expected.disparity)
        np.testing.assert_array_equal(match.disparity[known], expected.disparity[known] + np.float32(0.25))
        assert (match.levels, match.energy) == (None, None)
        if narrow:
            # A closed level is no estimate, and a pixel without an open cell is invalid.
            assert not known.all() or one is problem
            np.testing.assert_array_equal(match.status == Status.INVALID, expected.status == Status.INVALID)
    np.testing.assert_array_equal(found[0].disparity, sides[0].disparity)
    checked = left_right_check(
        sides[0].disparity, View(sides[1].disparity, sides[1].status, sides[1].search), search, sides[0].status
    )
    np.testing.assert_array_equal(found[1].disparity, checked[0])

    @stage("optimization", source="a test")
    def one_alone(volume, other):
        return winner_take_all(volume)

    with pytest.raises(
        StereoFrameworkError, match=r"returned Labeling\(.*; expected Views of both disparity maps, since it names other"
    ):
        Pipeline([absolute_difference, one_alone])(problem)
