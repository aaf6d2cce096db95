"""Maps as protocols measure them."""

import math

import numpy as np
import pytest
from evaluation_inputs import disparity_maps, make_scene
from hypothesis import given

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.preparation import interpolated, prepare


def _naive_interpolated(disparity):
    """KITTI's rule, pixel by pixel: rows, then columns."""

    def line(values):
        known = [i for i, v in enumerate(values) if not math.isnan(v)]
        if not known:
            return values
        filled = []
        for i, v in enumerate(values):
            before, after = [k for k in known if k <= i], [k for k in known if k >= i]
            ends = [values[k] for k in (*before[-1:], *after[:1])]
            filled.append(v if not math.isnan(v) else min(ends))
        return filled

    rows = [line(list(row)) for row in disparity]
    columns = [line(list(column)) for column in zip(*rows, strict=True)]
    return np.array(list(zip(*columns, strict=True)), np.float32)


@given(disparity_maps())
def test_interpolation(disparity):
    before = disparity.copy()
    np.testing.assert_array_equal(interpolated(disparity), _naive_interpolated(disparity))
    np.testing.assert_array_equal(disparity, before)


def test_a_map_that_needs_nothing_is_not_copied():
    disparity = np.ones((3, 4), np.float32)
    prepared, given = prepare(disparity, make_scene(disparity), resolve("taxonomy2002"))
    assert np.shares_memory(prepared, disparity)
    assert given is prepared


@pytest.mark.parametrize(
    ("shape", "protocol", "message"),
    [
        ((4, 6), "taxonomy2002", "the map is 6x4, the scene's images are 12x8: where it is of reduced images, enlarge it"),
        ((2, 3), "taxonomy2002", "enlarge it and multiply its disparities by as much"),
        ((16, 24), "middlebury-v3", "the map is 24x16, the scene's images are 12x8"),
        ((8, 11), "middlebury-v3", "the map is 11x8, the scene's images are 12x8"),
        ((0, 0), "middlebury-v3", "the map is 0x0"),
        ((8, 12, 3), "taxonomy2002", "has shape (8, 12, 3); expected (rows, columns) = (8, 12)"),
    ],
)
def test_other_sizes(shape, protocol, message):
    with pytest.raises(DataError, match=None) as error:
        prepare(np.ones(shape, np.float32), make_scene(np.ones((8, 12), np.float32)), resolve(protocol))
    assert message in str(error.value)


def test_integers_are_no_disparities():
    with pytest.raises(DataError, match="the map holds uint8; expected float32 in pixels"):
        prepare(np.ones((8, 12), np.uint8), make_scene(np.ones((8, 12), np.float32)), resolve("taxonomy2002"))


def test_enlarging():
    small = np.array([[1, np.nan], [2.5, 3]], np.float32)
    whole = prepare(small, make_scene(np.ones((4, 4), np.float32)), resolve("middlebury-v3"))[0]
    expected = [[2, 2, np.nan, np.nan], [2, 2, np.nan, np.nan], [5, 5, 6, 6], [5, 5, 6, 6]]
    np.testing.assert_array_equal(whole, expected)
