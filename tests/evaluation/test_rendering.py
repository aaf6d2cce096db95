"""The renderer against its slow twin and against what can be worked out by hand."""

import naive_regions
import numpy as np
import pytest
from evaluation_inputs import disparity_maps
from hypothesis import given
from hypothesis import strategies as st

from stereo_framework.evaluation.rendering import render

NAN = np.nan
SHIFTS = (1.0, -1.0, 0.5, -0.5, 1.25, -2.0, 0.0)


def draw(disparity, shift, values=None, gap=2.0):
    disparity = np.array([disparity], np.float32)
    values = np.arange(disparity.shape[1]) * 10 if values is None else values
    return render(np.array([values]), disparity, shift, gap=gap)[0]


@given(disparity_maps(), st.sampled_from(SHIFTS), st.sampled_from([2.0, 1.0, 0.0, 3.5]))
def test_equals_its_twin(disparity, shift, gap):
    colours = np.arange(disparity.size * 3, dtype=np.uint8).reshape(*disparity.shape, 3)[:, ::-1]
    np.testing.assert_array_equal(
        render(disparity, disparity, shift, gap=gap), naive_regions.render(disparity, disparity, shift, gap)
    )
    np.testing.assert_array_equal(
        render(colours, disparity, shift, gap=gap), naive_regions.render(colours, disparity, shift, gap)
    )


def test_a_plane_moves_as_a_whole():
    np.testing.assert_array_equal(draw([2] * 5, 1), [20, 30, 40, NAN, NAN])
    np.testing.assert_array_equal(draw([2] * 5, -1), [NAN, NAN, 0, 10, 20])
    np.testing.assert_array_equal(draw([2] * 5, 0.5), [10, 20, 30, 40, NAN])


@pytest.mark.parametrize(
    ("shift", "expected"), [(1, [30, 40, 20, NAN, NAN, 50, 60, 70]), (-1, [0, 10, 20, NAN, NAN, 50, 30, 40])]
)
def test_nearer_pixels_hide_farther_ones(shift, expected):
    np.testing.assert_array_equal(draw([0, 0, 0, 3, 3, 0, 0, 0], shift), expected)


def test_a_stretched_line_is_filled_by_interpolation():
    # Ends at 0 and 1 - (-1) = 2.
    np.testing.assert_array_equal(draw([0, -1, -1, -1], 1), [0, 5, 10, 20])


def test_splats_leave_the_gap_open():
    np.testing.assert_array_equal(draw([0, -1, -1, -1], 1, gap=0), [0, NAN, 10, 20])


def test_a_line_whose_ends_changed_order_is_not_drawn():
    # From 2 to 3 - 1.5; what remains is the splat of the last pixel.
    np.testing.assert_array_equal(draw([NAN, NAN, 0, 1.5], 1), [NAN, 30, NAN, NAN])


def test_a_line_of_no_length_has_unit_slope():
    # Both ends at 0.5; the splat of pixel 2 goes to column 0.
    np.testing.assert_array_equal(draw([NAN, 0.5, 1.5, NAN], 1), [20, 15, NAN, NAN])


def test_lines_extrapolate_to_the_rounded_ends():
    # Ends at 0.4 and 1.4: drawn at 0 and 1; the splat of the last pixel then overwrites 1 - round(-0.4) = 1.
    np.testing.assert_allclose(draw([-0.4, -0.4], 1, values=[0, 100]), [-40, 100], rtol=1e-5)


def test_the_walk_to_the_left_exchanges_the_ends():
    # Its own ends would be 0 and 1.5; exchanged they are 0.5 and 1: column 1 alone, with the right value.
    np.testing.assert_array_equal(draw([0, 0.5, NAN, NAN], -1, values=[0, 100, 0, 0]), [0, 100, NAN, NAN])


@pytest.mark.parametrize(("disparity", "column"), [(0.5, 1), (-0.5, 3), (0.49999997, 2), (1.5, 0), (-1.4999999, 3)])
def test_halves_are_rounded_away_from_zero(disparity, column):
    drawn = draw([NAN, NAN, disparity, NAN], 1)
    assert list(np.flatnonzero(np.isfinite(drawn))) == [column]


def test_what_lands_outside_is_dropped():
    np.testing.assert_array_equal(draw([3e38, 5, -3e38, np.inf, -np.inf, NAN], 1), [NAN] * 6)
