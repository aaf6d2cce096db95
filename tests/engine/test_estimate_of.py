"""Computation of estimates from the last view and the stage reports of a pipeline."""

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


def constant_map(**fields):
    """Return a disparity map in which each pixel is matched and has the disparity 1."""
    disparity = np.ones(SHAPE, np.float32)
    status = np.full(SHAPE, Status.MATCHED, np.uint8)
    return DisparityMap(disparity, status, SEARCH, **fields)


def last_view(**fields):
    """Return the last view of a pipeline, whose map has the disparity 1 everywhere."""
    return View(disparity_map=constant_map(**fields))


def labeling(objective=None, lower_bound=None, trace=()):
    """Return the labeling of a strip, with numbers that an optimizer reports."""
    return Labeling(
        np.ones(SHAPE, np.int16),
        np.zeros(SHAPE, np.float32),
        objective=objective,
        lower_bound=lower_bound,
        trace=trace,
    )


def view_of_strips(labelings):
    """Return the view of an image that is assembled from a strip for each labeling."""
    image = np.zeros((SHAPE[0] * len(labelings), SHAPE[1]), np.uint8)
    empty_view = View.of(Pair(image, image, SEARCH))
    strips = Strips(empty_view)
    for i, strip_labeling in enumerate(labelings):
        start = i * SHAPE[0]
        strip = empty_view.rows(start, start + SHAPE[0])
        disparity_map = constant_map(labeling=strip_labeling)
        strips.add(replace(strip, disparity_map=disparity_map), start)
    return strips.view()


# --- reports of stages ----------------------------------------------------------------


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
    assert estimate_of(last_view(), {}, reports, "").memory == memory


def test_messages_and_warnings_of_all_programs_are_reported_in_their_order():
    reports = [
        CallReport(messages="first message", warning="first warning"),
        CallReport(),
        CallReport(messages="second message"),
        CallReport(warning="second warning"),
    ]
    estimate = estimate_of(last_view(), {}, reports, "warning about intensities")
    assert estimate.messages == "first message\nsecond message"
    assert estimate.warnings == ("warning about intensities", "first warning", "second warning")


def test_an_estimate_contains_the_reports_of_two_programs_in_one_pipeline(registry):
    @stage("preprocessing", **not_local)
    def first_program(image):
        report_call(CallReport(seconds=5.0, memory=100.0, messages="first"))
        return image

    @stage("refinement", **not_local)
    def second_program(disparity):
        report_call(CallReport(seconds=7.0, memory=60.0, messages="second"))
        return disparity

    method = Pipeline([first_program, absolute_difference, winner_take_all, second_program])
    estimate = method(textured())
    assert estimate.memory == 100.0
    assert estimate.messages == "first\nsecond"
    assert estimate.seconds["preprocessing.first_program"] == 5.0
    assert estimate.seconds["refinement.second_program"] == 7.0


# --- numbers of an optimizer ----------------------------------------------------------


@pytest.mark.parametrize(
    ("objectives", "expected"),
    [([5.0], 5.0), ([5.0, 7.0, 1.0], 13.0), ([5.0, None], None), ([None], None)],
)
def test_the_objectives_of_strips_add_up_unless_one_is_unknown(objectives, expected):
    view = view_of_strips([labeling(objective=objective) for objective in objectives])
    assert estimate_of(view, {}, [], "").objective == expected


def test_an_estimate_without_a_labeling_has_no_objective():
    assert estimate_of(last_view(), {}, [], "").objective is None


def test_an_estimate_has_a_lower_bound_and_a_trace_only_if_the_image_is_one_strip():
    strip_labeling = labeling(lower_bound=3.0, trace=((0.1, 5.0),))
    estimate = estimate_of(view_of_strips([strip_labeling]), {}, [], "")
    assert estimate.lower_bound == 3.0
    assert estimate.trace == ((0.1, 5.0),)

    estimate_of_strips = estimate_of(view_of_strips([strip_labeling, strip_labeling]), {}, [], "")
    assert estimate_of_strips.lower_bound is None
    assert estimate_of_strips.trace == ()


# --- confidence and warnings ----------------------------------------------------------


def test_filled_and_missing_pixels_have_the_lowest_confidence():
    confidence = np.array([[3, 1, 2], [5, 4, 6]], np.float32)
    view = last_view(confidence={"margin": confidence})
    view.disparity[0, 0] = np.nan
    view.status[1, 2] = Status.FILLED
    estimate = estimate_of(view, {}, [], "")
    assert estimate.confidence["margin"].tolist() == [[1, 1, 2], [5, 4, 1]]


def remark_about_end(end, disparity, percentage):
    """Return the remark that many pixels have the disparity at an end of the range."""
    return (
        f"{percentage} % of the pixels chose the {end} end of the search range, {disparity}: "
        "the range may be too narrow or have the wrong sign, the images may be exchanged, "
        "or the costs may be too coarse to tell disparities apart; "
        "widen the range, or exchange the two images"
    )


@pytest.mark.parametrize(
    ("search", "lower_count", "upper_count", "expected"),
    [
        # With ten levels, a uniform distribution has 10 % of the pixels at each end.
        (SearchRange(0, 9), 20, 20, ()),
        (SearchRange(0, 9), 21, 20, (remark_about_end("lower", 0, 21),)),
        (SearchRange(0, 9), 20, 21, (remark_about_end("upper", 9, 21),)),
        (
            SearchRange(-4, 5),
            30,
            25,
            (remark_about_end("lower", -4, 30), remark_about_end("upper", 5, 25)),
        ),
        (SearchRange(0, 2.25, 0.25), 21, 0, (remark_about_end("lower", 0, 21),)),
        (SearchRange(0, 18, 2), 0, 21, (remark_about_end("upper", 18, 21),)),
        # With two levels, it has 50 % of the pixels at each end.
        (SearchRange(0, 1), 40, 60, ()),
        (SearchRange(0, 1), 39, 61, (remark_about_end("upper", 1, 61),)),
    ],
)
def test_an_end_of_the_range_warns_if_its_share_exceeds_a_uniform_one_by_more_than_a_tenth(
    search, lower_count, upper_count, expected
):
    levels = np.full(100, search.levels // 2, np.int16)
    levels[:lower_count] = 0
    levels[100 - upper_count :] = search.levels - 1
    disparity = search.disparity_of(levels)
    assert warnings(levels[None], disparity[None], search) == expected
    # Without levels, each disparity counts as its nearest level.
    disparity_between_levels = disparity + np.float32(search.step / 5)
    assert warnings(None, disparity_between_levels[None], search) == expected


def test_pixels_without_a_level_do_not_count_in_the_shares_at_the_ends_of_the_range():
    # Twenty of eighty pixels with a level are more than a fifth; twenty of all hundred
    # pixels are not.
    levels = np.full(100, 5, np.int16)
    levels[:20] = 0
    levels[80:] = -1
    search = SearchRange(0, 9)
    disparity = search.disparity_of(levels)
    expected = (remark_about_end("lower", 0, 25),)
    assert warnings(levels[None], disparity[None], search) == expected
    assert warnings(None, disparity[None], search) == expected


def test_the_only_warning_about_a_map_without_estimates_is_that_it_has_none():
    disparity = np.full(SHAPE, np.nan, np.float32)
    expected = ("the disparity map contains no disparities",)
    assert warnings(None, disparity, SearchRange(0, 9), "warning about intensities") == expected


def test_the_warning_about_intensities_is_passed_on():
    disparity = np.full(SHAPE, 4, np.float32)
    expected = ("warning about intensities",)
    assert warnings(None, disparity, SearchRange(0, 9), "warning about intensities") == expected
    assert warnings(None, disparity, SearchRange(0, 9)) == ()


# --- representation -------------------------------------------------------------------


def test_an_estimate_is_shown_with_its_density_its_search_range_and_its_run_time():
    view = last_view()
    view.disparity[0, 0] = math.nan
    estimate = estimate_of(view, {"matching_cost": 1.25, "optimization": 0.5}, [], "")
    assert repr(estimate) == "Estimate(83% of 3x2 pixels estimated, search 0..4 step 1, 1.8 s)"
