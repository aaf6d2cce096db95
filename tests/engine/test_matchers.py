"""Whole matchers in a method: how often they run, and what is made of what they return."""

import numpy as np
import pytest
from pipeline_parts import local, not_local, textured

from stereo_framework import Pipeline, step
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.pair import Pair
from stereo_framework.core.stage import stage
from stereo_framework.core.view import Views
from stereo_framework.core.volume import SearchMask, Status
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.preprocessing import binomial_blur
from stereo_framework.refinement import fill_occlusions, left_right_check, median, parabola


def plain(reference, match, search):
    """Disparities of a method of ours, as a matcher from elsewhere would find them."""
    return Pipeline([absolute_difference, winner_take_all])(Pair(reference, match, search)).disparity


@pytest.fixture
def calls():
    return []


@pytest.fixture
def one_view(registry, calls):
    @stage("matcher", source="a test")
    def one_view(reference, match, search):
        calls.append(search.direction)
        return plain(reference, match, search)

    return one_view


@pytest.fixture
def both_views(registry, calls):
    @stage("matcher", source="a test")
    def both_views(reference, match, search):
        calls.append(search.direction)
        pair = Pair(reference, match, search)
        other = pair.exchanged()
        return Views(plain(*vars_of(pair)), (plain(*vars_of(other)), np.full(pair.shape, Status.FILLED, np.uint8)))

    return both_views


def vars_of(pair):
    return pair.reference, pair.match, pair.search


def checked(**matcher):
    return Pipeline([*matcher.values(), left_right_check, fill_occlusions, step(left_right_check, tolerance=0.5), median])


def test_what_looks_across_makes_it_run_on_the_exchanged_pair(one_view, calls):
    scene = textured()
    np.testing.assert_array_equal(Pipeline([one_view])(scene).disparity, plain(scene.reference, scene.match, scene.search))
    assert calls == [1]
    calls.clear()
    match = checked(matcher=one_view)(scene)
    assert calls == [1, -1]
    expected = checked(matching_cost=absolute_difference, optimization=winner_take_all)(scene)
    np.testing.assert_array_equal(match.disparity, expected.disparity)
    np.testing.assert_array_equal(match.status, expected.status)


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
def test_one_call_gives_both_views(both_views, calls, pair):
    scene = textured().pair(*pair)
    match = checked(matcher=both_views)(scene)
    assert calls == [scene.direction]
    expected = checked(matching_cost=absolute_difference, optimization=winner_take_all)(scene)
    np.testing.assert_array_equal(match.disparity, expected.disparity)


def test_the_views_of_one_call_are_not_mixed_up(both_views, calls):
    seen = []

    @stage("refinement", **not_local)
    def look(disparity, other, status):
        seen.append((disparity.copy(), status.copy(), other.disparity.copy(), other.status.copy()))
        return disparity

    scene = textured()
    Pipeline([both_views, look])(scene)
    [(disparity, status, other, other_status)] = seen
    np.testing.assert_array_equal(disparity, plain(scene.reference, scene.match, scene.search))
    back = scene.pair(1, 0)
    np.testing.assert_array_equal(other, plain(back.reference, back.match, back.search))
    assert (status == Status.MATCHED).all()
    assert (other_status == Status.FILLED).all()


def test_it_sees_what_was_prepared(registry):
    seen = []

    @stage("preprocessing", source="a test")
    def darker(reference, match):
        return reference // 2, match // 4

    @stage("matcher", source="a test")
    def look(reference, match, search, mask, scene):
        seen.append((reference, match, mask, scene))
        return np.ones(reference.shape, np.float32)

    scene = textured()
    Pipeline([binomial_blur, darker, look])(scene)
    [(reference, match, mask, own)] = seen
    np.testing.assert_array_equal(reference, binomial_blur(scene.reference) // 2)
    np.testing.assert_array_equal(match, binomial_blur(scene.match) // 4)
    assert mask is None
    assert own is scene
    limits = SearchMask(valid=np.ones((9, 20), bool))
    Pipeline([look])(Pair(scene.reference, scene.match, scene.search, limits))
    np.testing.assert_array_equal(seen[1][2].valid, limits.valid)
    assert seen[1][3] is None


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_status_confidence_and_invalid_pixels(registry, parts):
    @stage("matcher", source="a test")
    def tells(reference, match, search):
        disparity = np.full(reference.shape, 2, np.float32)
        disparity[:, 3] = np.nan
        status = np.full(reference.shape, Status.MISMATCHED, np.uint8)
        confidence = np.tile(np.arange(1, 21, dtype=np.float32), (9, 1))
        found = (disparity, status, confidence)[:parts]
        return found if parts > 1 else disparity

    scene = textured()
    valid = np.ones((9, 20), bool)
    valid[:, 10] = False
    match = Pipeline([tells])(Pair(scene.reference, scene.match, scene.search, SearchMask(valid=valid)))
    expected = np.full((9, 20), Status.MISMATCHED if parts > 1 else Status.MATCHED)
    if parts == 1:
        expected[:, 3] = Status.OCCLUDED
    expected[:, 10] = Status.INVALID
    np.testing.assert_array_equal(match.status, expected)
    assert np.isnan(match.disparity[:, [3, 10]]).all()
    assert (match.levels, match.energy, match.objective, match.trace) == (None, None, None, ())
    if parts == 3:
        # Where nothing is known confidence is lowest.
        expected = np.tile(np.arange(1, 21, dtype=np.float32), (9, 1))
        expected[:, [3, 10]] = 1
        np.testing.assert_array_equal(match.confidence["matcher"], expected)
    else:
        assert match.confidence == {}


def test_warnings_come_from_disparities(registry):
    @stage("matcher", source="a test")
    def at_the_end(reference, match, search):
        return np.full(reference.shape, search.maximum, np.float32)

    [warning] = Pipeline([at_the_end])(textured()).warnings
    assert warning.startswith("100 % of the pixels chose the upper end of the search range, 4:")


def test_what_does_not_go_together(one_view):
    @stage("confidence", **local)
    def needs_costs(disparity, volume):
        return disparity

    with pytest.raises(ParameterError) as caught:
        Pipeline([one_view, absolute_difference, needs_costs, parabola])
    assert str(caught.value).splitlines() == [
        "matching_cost: the matcher one_view stands instead of it; remove one of both",
        "confidence.needs_costs: needs_costs needs the volume, and the matcher one_view makes none",
        "refinement.parabola: parabola needs the volume, and the matcher one_view makes none",
    ]
