"""The renderer against its slow twin and against what can be worked out by hand."""

import naive_regions
import numpy as np
import pytest
from evaluation_inputs import disparity_maps
from hypothesis import given
from hypothesis import strategies as st

from stereo_framework.evaluation.prediction import render

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
        render(disparity, disparity, shift, gap=gap),
        naive_regions.render(disparity, disparity, shift, gap),
    )
    np.testing.assert_array_equal(
        render(colours, disparity, shift, gap=gap),
        naive_regions.render(colours, disparity, shift, gap),
    )


@pytest.mark.parametrize(
    ("disparity", "shift", "expected", "others"),
    [
        # A plane moves as a whole.
        ([2] * 5, 1, [20, 30, 40, NAN, NAN], {}),
        ([2] * 5, -1, [NAN, NAN, 0, 10, 20], {}),
        ([2] * 5, 0.5, [10, 20, 30, 40, NAN], {}),
        # Nearer pixels occlude farther ones.
        ([0, 0, 0, 3, 3, 0, 0, 0], 1, [30, 40, 20, NAN, NAN, 50, 60, 70], {}),
        ([0, 0, 0, 3, 3, 0, 0, 0], -1, [0, 10, 20, NAN, NAN, 50, 30, 40], {}),
        # A stretched line, from 0 to 1 - (-1) = 2, is filled by interpolation; splats leave the gap open.
        ([0, -1, -1, -1], 1, [0, 5, 10, 20], {}),
        ([0, -1, -1, -1], 1, [0, NAN, 10, 20], {"gap": 0}),
        # A line from 2 to 3 - 1.5, whose ends changed order, is not drawn; what remains is the splat of the last pixel.
        ([NAN, NAN, 0, 1.5], 1, [NAN, 30, NAN, NAN], {}),
        # A line of no length, both ends at 0.5, has unit slope; the splat of pixel 2 goes to column 0.
        ([NAN, 0.5, 1.5, NAN], 1, [20, 15, NAN, NAN], {}),
        # Lines extrapolate: from 0.4 to 1.4 it is drawn at 0 and 1; the splat of the last pixel then overwrites 1 - round(-0.4) = 1.
        ([-0.4, -0.4], 1, [-40, 100], {"values": [0, 100]}),
        # The walk to the left exchanges the ends, which would be 0 and 1.5, to 0.5 and 1: column 1 alone, with the right value.
        ([0, 0.5, NAN, NAN], -1, [0, 100, NAN, NAN], {"values": [0, 100, 0, 0]}),
        # What lands outside is dropped.
        ([3e38, 5, -3e38, np.inf, -np.inf, NAN], 1, [NAN] * 6, {}),
    ],
)
def test_by_hand(disparity, shift, expected, others):
    np.testing.assert_allclose(draw(disparity, shift, **others), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("disparity", "column"), [(0.5, 1), (-0.5, 3), (0.49999997, 2), (1.5, 0), (-1.4999999, 3)]
)
def test_halves_are_rounded_away_from_zero(disparity, column):
    drawn = draw([NAN, NAN, disparity, NAN], 1)
    assert list(np.flatnonzero(np.isfinite(drawn))) == [column]
