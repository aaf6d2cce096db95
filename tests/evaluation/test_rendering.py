"""The renderer against its slow twin and against what can be worked out by hand."""

import naive_regions
import numpy as np
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


def test_a_line_whose_ends_changed_order_is_not_drawn():
    # From 2 to 3 - 1.5; what remains is the splat of the last pixel.
    np.testing.assert_array_equal(draw([NAN, NAN, 0, 1.5], 1), [NAN, 30, NAN, NAN])


def test_the_walk_to_the_left_exchanges_the_ends():
    # Its own ends would be 0 and 1.5; exchanged they are 0.5 and 1: column 1 alone, with the right value.
    np.testing.assert_array_equal(draw([0, 0.5, NAN, NAN], -1, values=[0, 100, 0, 0]), [0, 100, NAN, NAN])


def test_what_lands_outside_is_dropped():
    np.testing.assert_array_equal(draw([3e38, 5, -3e38, np.inf, -np.inf, NAN], 1), [NAN] * 6)
