"""The match that the last view of a pipeline becomes, and what its stages report."""

import math
from dataclasses import replace

import numpy as np
import pytest
from pipeline_parts import not_local, textured

from stereo_framework import Labeling, Pipeline, SearchRange
from stereo_framework.core.call_context import CallReport, report_call
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stage
from stereo_framework.core.view import DisparityMap, View
from stereo_framework.core.volume import Status
from stereo_framework.engine.estimates import estimate_of, warnings
from stereo_framework.engine.strips import Strips
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all

SHAPE = (2, 3)


SEARCH = SearchRange(0, 4)


def map_of_ones(**fields):
    """Return a matched disparity map with 1 pixel everywhere."""
    disparity = np.ones(SHAPE, np.float32)
    status = np.full(SHAPE, Status.MATCHED, np.uint8)
    return DisparityMap(disparity, status, SEARCH, **fields)


def view_of(**fields):
    """Return the last view of a pipeline whose map contains 1 pixel everywhere."""
    return View(disparity_map=map_of_ones(**fields))


def joined(labelings):
    """Return the view of as many strips as there are labelings."""
    image = np.zeros((SHAPE[0] * len(labelings), SHAPE[1]), np.uint8)
    before = View.of(Pair(image, image, SEARCH))
    strips = Strips(before)
    for number, labeling in enumerate(labelings):
        start = number * SHAPE[0]
        strip = before.rows(start, start + SHAPE[0])
        strips.add(replace(strip, disparity_map=map_of_ones(labeling=labeling)), start)
    return strips.view()


@pytest.mark.parametrize(
    ("amounts", "memory"),
    [
        ([], None),
        ([None], None),
        ([100.0], 100.0),
        ([100.0, 60.0], 100.0),
        ([60.0, 100.0], 100.0),
        ([60.0, None, 80.0, None], 80.0),
        ([0.0], 0.0),
    ],
)
def test_the_memory_of_a_match_is_the_most_that_one_program_needed(amounts, memory):
    reports = [CallReport(memory=amount) for amount in amounts]
    assert estimate_of(view_of(), {}, reports, "").memory == memory


def test_messages_and_warnings_of_all_programs_are_kept_in_their_order():
    reports = [
        CallReport(messages="first", warning="one"),
        CallReport(),
        CallReport(messages="second"),
        CallReport(warning="two"),
    ]
    match = estimate_of(view_of(), {}, reports, "a doubt")
    assert match.messages == "first\nsecond"
    assert match.warnings == ("a doubt", "one", "two")


def test_two_programs_in_one_pipeline_are_both_reported(registry):
    @stage("preprocessing", **not_local)
    def first_program(image):
        report_call(CallReport(seconds=5.0, memory=100.0, messages="first"))
        return image

    @stage("refinement", **not_local)
    def second_program(disparity):
        report_call(CallReport(seconds=7.0, memory=60.0, messages="second"))
        return disparity

    match = Pipeline([first_program, absolute_difference, winner_take_all, second_program])(
        textured()
    )
    assert (match.memory, match.messages) == (100.0, "first\nsecond")
    assert match.seconds["preprocessing.first_program"] == 5.0
    assert match.seconds["refinement.second_program"] == 7.0


def labeling(objective=None, lower_bound=None, trace=()):
    """Return the labeling of a strip."""
    return Labeling(
        np.ones(SHAPE, np.int16),
        np.zeros(SHAPE, np.float32),
        objective=objective,
        lower_bound=lower_bound,
        trace=trace,
    )


@pytest.mark.parametrize(
    ("objectives", "expected"),
    [([5.0], 5.0), ([5.0, 7.0, 1.0], 13.0), ([5.0, None], None), ([None], None)],
)
def test_objectives_of_all_strips_add_up(objectives, expected):
    view = joined([labeling(objective=value) for value in objectives])
    assert estimate_of(view, {}, [], "").objective == expected
    assert estimate_of(view_of(), {}, [], "").objective is None


def test_a_bound_and_a_trace_are_those_of_the_whole_image():
    one = labeling(lower_bound=3.0, trace=((0.1, 5.0),))
    whole = estimate_of(joined([one]), {}, [], "")
    assert (whole.lower_bound, whole.trace) == (3.0, ((0.1, 5.0),))
    strips = estimate_of(joined([one, one]), {}, [], "")
    assert (strips.lower_bound, strips.trace) == (None, ())


def test_filled_and_unknown_pixels_have_the_lowest_confidence():
    view = view_of(confidence={"margin": np.array([[3, 1, 2], [5, 4, 6]], np.float32)})
    view.disparity[0, 0] = np.nan
    view.status[1, 2] = Status.FILLED
    confidence = estimate_of(view, {}, [], "").confidence["margin"]
    assert confidence.tolist() == [[1, 1, 2], [5, 4, 1]]


END_OF_RANGE = (
    "{} % of the pixels chose the {} end of the search range, {}: the range may be too narrow or "
    "have the wrong sign, the images may be exchanged, or the costs may be too coarse to tell "
    "disparities apart; widen the range, or exchange the two images"
)


@pytest.mark.parametrize(
    ("search", "lower", "upper", "expected"),
    [
        # Ten levels: a uniform spread has 10 % at each end, and 10 % more are allowed.
        (SearchRange(0, 9), 20, 20, ()),
        (SearchRange(0, 9), 21, 20, (END_OF_RANGE.format(21, "lower", 0),)),
        (SearchRange(0, 9), 20, 21, (END_OF_RANGE.format(21, "upper", 9),)),
        (
            SearchRange(-4, 5),
            30,
            25,
            (END_OF_RANGE.format(30, "lower", -4), END_OF_RANGE.format(25, "upper", 5)),
        ),
        # Two levels: a uniform spread has 50 % at each end.
        (SearchRange(0, 1), 40, 60, ()),
        (SearchRange(0, 1), 39, 61, (END_OF_RANGE.format(61, "upper", 1),)),
        (SearchRange(0, 2.25, 0.25), 21, 0, (END_OF_RANGE.format(21, "lower", 0),)),
        (SearchRange(0, 18, 2), 0, 21, (END_OF_RANGE.format(21, "upper", 18),)),
    ],
)
def test_more_than_a_tenth_beyond_a_uniform_spread_at_an_end_warns(search, lower, upper, expected):
    levels = np.full(100, search.levels // 2, np.int16)
    levels[:lower] = 0
    if upper:
        levels[-upper:] = search.levels - 1
    disparity = search.disparity_of(levels)
    assert warnings(levels[None], disparity[None], search) == expected
    # A map without levels is counted by its nearest levels.
    assert warnings(None, disparity[None] + np.float32(search.step / 5), search) == expected


def test_a_map_without_estimates_and_a_doubtful_scale_warn():
    nothing = np.full(SHAPE, np.nan, np.float32)
    assert warnings(None, nothing, SearchRange(0, 9), "a doubt") == (
        "the result holds no estimate at all",
    )
    middle = np.full(SHAPE, 4, np.float32)
    assert warnings(None, middle, SearchRange(0, 9), "a doubt") == ("a doubt",)
    assert warnings(None, middle, SearchRange(0, 9)) == ()


def test_unassigned_and_unknown_pixels_do_not_count_for_the_ends_of_the_range():
    # Twenty of eighty known pixels are more than a fifth.
    levels = np.full(100, 5, np.int16)
    levels[:20] = 0
    levels[80:] = -1
    disparity = SearchRange(0, 9).disparity_of(levels)
    expected = (END_OF_RANGE.format(25, "lower", 0),)
    assert warnings(levels[None], disparity[None], SearchRange(0, 9)) == expected
    assert warnings(None, disparity[None], SearchRange(0, 9)) == expected


def test_a_match_is_shown_with_its_share_of_estimates_its_range_and_its_time():
    view = view_of()
    view.disparity[0, 0] = math.nan
    match = estimate_of(view, {"matching_cost": 1.25, "optimization": 0.5}, [], "")
    assert repr(match) == "Estimate(83% of 3x2 pixels estimated, search 0..4 step 1, 1.8 s)"
