"""Methods of `SearchRange` for steps of several pixels and of fractions of a pixel."""

import itertools
import math
from fractions import Fraction

import naive_search
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kernel_inputs import searches

from stereo_framework import SearchRange
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.search import arrange_samples, geometry

STEPS = (1, 2, 3, 1 / 2, 1 / 3, 1 / 4)
RANGES = [
    SearchRange(minimum, minimum + 6 * step, step, direction)
    for step, minimum, direction in itertools.product(STEPS, (-7, 0, 2), (1, -1))
]


@pytest.mark.parametrize("search", RANGES, ids=str)
def test_levels_and_their_disparities_agree_with_the_twin(search):
    expected = naive_search.disparities(search)
    grid = naive_search.exact_step(search).denominator
    assert search.levels == len(expected) == 7
    assert search.disparities.tolist() == [np.float32(float(value)) for value in expected]
    assert search.denominator == grid
    assert search.first == expected[0] * grid
    assert search.stride == (expected[1] - expected[0]) * grid
    levels = np.array([[-1, 0, 6], [3, -1, 1]])
    disparity = search.disparity_of(levels)
    assert np.isnan(disparity).tolist() == [[True, False, False], [False, True, False]]
    assert disparity[levels >= 0].tolist() == [float(search.disparities[k]) for k in (0, 6, 3, 1)]


@pytest.mark.parametrize(
    ("ends", "levels"),
    [
        # 29 thirds and 41 fifths are a little below whole numbers in binary.
        ((0, 29 / 3, 1 / 3), 30),
        ((0, 41 / 5, 1 / 5), 42),
        # A maximum between two levels is no level.
        ((0, 9.9, 1), 10),
        ((0, 10, 3), 4),
        ((0, 12, 3), 5),
        ((0, 1.49, 0.5), 3),
    ],
)
def test_the_last_level_is_at_or_below_the_maximum(ends, levels):
    assert SearchRange(*ends).levels == levels


@pytest.mark.parametrize(("level", "is_valid"), [(-2, False), (-1, True), (6, True), (7, False)])
def test_levels_below_minus_one_or_above_the_last_level_are_refused(level, is_valid):
    search = SearchRange(0, 3, 0.5)
    levels = np.array([0, level])
    if is_valid:
        assert np.isnan(search.disparity_of(levels)).tolist() == [False, level < 0]
        return
    lowest, highest = sorted([0, level])
    message = (
        f"^levels from {lowest} to {highest}; expected 0 to 6, or -1 for a pixel without a level$"
    )
    with pytest.raises(ParameterError, match=message):
        search.disparity_of(levels)


@pytest.mark.parametrize("search", RANGES, ids=str)
def test_disparities_more_than_half_a_step_outside_the_range_are_beyond_it(search):
    lowest, highest = naive_search.exact_ends(search)
    step = naive_search.exact_step(search)
    shares = [Fraction(share) for share in ("0", "0.25", "0.5", "0.5005", "0.502", "0.75", "2")]
    outside = [lowest - share * step for share in shares]
    outside += [highest + share * step for share in shares]
    disparity = np.array([float(value) for value in outside], np.float32)
    expected = [naive_search.is_beyond(search, value) for value in disparity.tolist()]
    assert expected == [False, False, False, False, True, True, True] * 2
    assert search.beyond(disparity).tolist() == expected


def test_half_a_step_and_not_half_a_pixel_is_tolerated_outside_the_range():
    wide = np.array([-1, 10.9, 11.5], np.float32)
    assert SearchRange(0, 10, 2).beyond(wide).tolist() == [False, False, True]
    fine = np.array([10.1, 10.4], np.float32)
    assert SearchRange(0, 10, 0.25).beyond(fine).tolist() == [False, True]


def test_a_pixel_without_a_disparity_is_not_beyond_the_range():
    assert not SearchRange(0, 10).beyond(np.array([np.nan], np.float32))[0]


@pytest.mark.parametrize("search", [search for search in RANGES if search.step != 1 / 3], ids=str)
def test_the_nearest_level_agrees_with_the_twin(search):
    # Eighths of a step are exact, so that the values halfway between two levels are.
    offsets = np.arange(-12, 8 * 7 + 12) / 8
    disparity = (search.minimum + search.step * offsets).astype(np.float32)
    expected = [naive_search.nearest_level(search, value) for value in disparity.tolist()]
    assert search.levels_of(disparity).tolist() == expected
    assert search.levels_of(np.array([np.nan], np.float32)).tolist() == [-1]


@pytest.mark.parametrize("minimum", [-7, 0, 2])
def test_each_disparity_of_thirds_belongs_to_its_level(minimum):
    search = SearchRange(minimum, minimum + 2, 1 / 3)
    for shift in (-0.4, 0, 0.4):
        disparity = search.disparities + np.float32(shift / 3)
        assert search.levels_of(disparity).tolist() == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("columns", [1, 2, 5, 9])
@pytest.mark.parametrize("search", RANGES, ids=str)
def test_levels_that_match_inside_the_image_agree_with_the_twin(search, columns):
    expected = [naive_search.in_view(search, column, columns) for column in range(columns)]
    assert search.in_view(columns).tolist() == expected


@pytest.mark.parametrize("width", [1, 5, 9])
@pytest.mark.parametrize("search", [search for search in RANGES if search.step >= 1], ids=str)
def test_columns_of_whole_steps_are_those_that_match_inside_the_image(search, width):
    is_inside = np.array([naive_search.in_view(search, column, width) for column in range(width)])
    for level, (reference, match) in enumerate(search.columns(width)):
        reference_columns = np.arange(width)[reference]
        assert reference_columns.tolist() == np.flatnonzero(is_inside[:, level]).tolist()
        match_columns = reference_columns - search.direction * int(search.disparities[level])
        assert np.arange(width)[match].tolist() == match_columns.tolist()


@pytest.mark.parametrize("search", [search for search in RANGES if search.step < 1], ids=str)
def test_columns_of_fractions_of_a_pixel_are_refused(search):
    message = rf"^search.columns: the step is {search.step:g} pixels; whole steps are needed$"
    with pytest.raises(ParameterError, match=message):
        next(search.columns(9))
    message = rf"^mine: search.step is 1/{round(1 / search.step)} pixel, but the stage matches"
    with pytest.raises(ParameterError, match=message):
        search.check_whole_steps("mine")


@pytest.mark.parametrize("step", [1, 2, 3])
def test_stages_that_match_each_pixel_at_most_once_accept_whole_steps(step):
    SearchRange(0, 12, step).check_whole_steps("mine")


@settings(max_examples=300)
@given(search=searches(), columns=st.integers(1, 9))
@example(search=SearchRange(0, 3, 1 / 3), columns=1)
@example(search=SearchRange(-6, 6, 3, -1), columns=7)
def test_the_samples_of_neighbouring_levels_are_neighbours_in_a_line(search, columns):
    """The line contains the sample that each level meets at the index of the level."""
    rows = geometry(columns, search)
    samples = np.arange(rows.samples, dtype=np.float32) + 1
    line = arrange_samples(samples[None], rows)[0]
    assert line.shape == (rows.samples + 2 * rows.levels,)
    clipped = []
    for column in range(columns):
        is_inside = naive_search.in_view(search, column, columns)
        levels = np.flatnonzero(is_inside).tolist()
        assert list(range(rows.starts[column], rows.stops[column])) == levels
        if len(levels) < search.levels:
            clipped.append(column)
        for level in levels:
            position = column - search.direction * naive_search.disparities(search)[level]
            sample = int(position * search.denominator)
            assert line[rows.origins[column] + level] == sample + 1
    assert rows.clipped.tolist() == clipped


@pytest.mark.parametrize(
    ("search", "scale", "expected"),
    [
        (SearchRange(0, 13), 0.5, (0, 7, 1)),
        (SearchRange(-13, 0), 0.5, (-7, 0, 1)),
        (SearchRange(3, 13), 2, (6, 26, 1)),
        (SearchRange(1, 5), 1 / 3, (0, 2, 1)),
        (SearchRange(-5, -1), 1 / 3, (-2, 0, 1)),
        (SearchRange(0, 26, 2), 0.5, (0, 13, 2)),
        (SearchRange(0, 27, 2), 0.5, (0, 14, 2)),
        (SearchRange(0.5, 5, 0.5), 0.5, (0, 3, 0.5)),
        (SearchRange(0.25, 4.75, 0.25), 2, (0, 10, 0.25)),
        # The range of the same frames stays, even if its ends are not whole.
        (SearchRange(0.5, 4.5, 0.5), 1, (0.5, 4.5, 0.5)),
    ],
)
def test_a_scaled_range_is_widened_to_whole_pixels(search, scale, expected):
    scaled = search.scaled(scale)
    assert (scaled.minimum, scaled.maximum, scaled.step) == expected


WIDE_RANGE = (
    "the search range {} is wider than half of the image ({} columns); "
    "for most pixels, most of it lies outside the image"
)


@pytest.mark.parametrize(
    ("ends", "columns", "warning"),
    [
        # Ten disparities are exactly half of twenty columns.
        ((0, 9), 20, ""),
        ((0, 9), 19, WIDE_RANGE.format("0..9", 19)),
        ((0, 10), 20, WIDE_RANGE.format("0..10", 20)),
        # Twenty disparities are exactly as many as there are columns.
        ((0, 19), 20, WIDE_RANGE.format("0..19", 20)),
        ((-19, 0), 20, WIDE_RANGE.format("-19..0", 20)),
        # Only the outermost column has a match.
        ((19, 22), 20, ""),
        ((-22, -19), 20, ""),
        ((0, 9, 0.5), 20, ""),
        ((0, 9, 3), 20, ""),
    ],
)
def test_a_range_wider_than_half_of_the_image_gives_a_warning(ends, columns, warning):
    assert SearchRange(*ends).check_width(columns) == warning


@pytest.mark.parametrize(
    ("ends", "columns", "message"),
    [
        ((0, 20), 20, "0..20 (21 pixels) is wider than the image (20 columns)"),
        ((20, 23), 20, "20..23 contains no match inside the image (20 columns)"),
        ((-23, -20), 20, "-23..-20 contains no match inside the image (20 columns)"),
    ],
)
def test_a_range_without_a_match_inside_the_image_is_refused(ends, columns, message):
    with pytest.raises(ParameterError) as error:
        SearchRange(*ends).check_width(columns)
    assert str(error.value) == f"the search range {message}"


@pytest.mark.parametrize(
    ("step", "snapped"),
    [(2.0009, 2), (1.9991, 2), (0.3331, 1 / 3), (0.3336, 1 / 3), (0.25001, 0.25)],
)
def test_a_step_within_a_thousandth_of_n_or_its_inverse_is_snapped(step, snapped):
    assert SearchRange(0, 8, step).step == snapped
    assert SearchRange.covering(0, 8, step).step == snapped


@pytest.mark.parametrize("step", [2.0011, 1.9989, 0.3329, 0.3338])
def test_a_step_more_than_a_thousandth_off_is_refused(step):
    with pytest.raises(ParameterError, match=r"^search.step: \S+ is neither a whole number"):
        SearchRange(0, 8, step)


@settings(max_examples=300)
@given(
    low=st.integers(-40, 40),
    width=st.integers(1, 40),
    step=st.sampled_from(STEPS),
    direction=st.sampled_from([1, -1]),
)
@example(low=1, width=1, step=1 / 2, direction=1)
@example(low=-1, width=1, step=3, direction=-1)
def test_a_covering_range_is_the_smallest_on_the_grid(low, width, step, direction):
    """Eighths of a pixel lie on or between the points of each grid."""
    lowest = Fraction(low, 8)
    highest = lowest + Fraction(width, 8)
    search = SearchRange.covering(float(lowest), float(highest), step, direction)
    exact = Fraction(round(step)) if step >= 1 else Fraction(1, round(1 / step))
    grid = exact.denominator
    first = Fraction(math.floor(lowest * grid), grid)
    last = max(Fraction(math.ceil(highest * grid), grid), first + exact)
    assert search.minimum == float(first)
    assert search.maximum == pytest.approx(float(last), abs=1e-12)
    assert (search.step, search.direction) == (step, direction)


@pytest.mark.parametrize(
    "argument", [(0, 3), [0, 3], np.array([0, 3]), (0, 3, 1), SearchRange(0, 3)]
)
def test_a_search_range_may_be_replaced_by_its_ends_and_step(argument):
    assert SearchRange.of(argument) == SearchRange(0, 3)


@pytest.mark.parametrize("argument", [(0,), (0, 3, 1, 1), 3, "0:3", np.zeros((2, 1)), None])
def test_arguments_of_another_form_are_refused(argument):
    with pytest.raises(ParameterError, match="; expected a SearchRange, such as"):
        SearchRange.of(argument)


@pytest.mark.parametrize(
    ("search", "text"),
    [
        (SearchRange(0, 63), "0..63 step 1"),
        (SearchRange(-2, 4, 2, -1), "-2..4 step 2"),
        (SearchRange(0.5, 3, 0.25), "0.5..3 step 0.25"),
    ],
)
def test_the_text_of_a_range_contains_its_ends_and_step(search, text):
    assert str(search) == text
