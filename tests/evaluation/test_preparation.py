"""Maps as protocols measure them."""

import numpy as np
import pytest
from evaluation_inputs import disparity_maps, make_scene
from hypothesis import given

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.preparation import interpolated, prepare


def _filled(line):
    """Each hole of a row or column takes the smaller of its nearest known neighbours."""
    known, filled = np.flatnonzero(~np.isnan(line)), line.copy()
    for i in range(len(line)):
        neighbours = [*known[known <= i][-1:], *known[known >= i][:1]]
        filled[i] = min(line[neighbours], default=np.nan)
    return filled


@given(disparity_maps())
def test_interpolation(disparity):
    before = disparity.copy()
    # KITTI's rule: rows, then columns.
    expected = np.apply_along_axis(_filled, 0, np.apply_along_axis(_filled, 1, disparity))
    np.testing.assert_array_equal(interpolated(disparity), expected)
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
    ],
)
def test_other_sizes(shape, protocol, message):
    with pytest.raises(DataError, match=message):
        prepare(np.ones(shape, np.float32), make_scene(np.ones((8, 12), np.float32)), resolve(protocol))


def test_enlarging():
    small = np.array([[1, np.nan], [2.5, 3]], np.float32)
    whole = prepare(small, make_scene(np.ones((4, 4), np.float32)), resolve("middlebury-v3"))[0]
    expected = [[2, 2, np.nan, np.nan], [2, 2, np.nan, np.nan], [5, 5, 6, 6], [5, 5, 6, 6]]
    np.testing.assert_array_equal(whole, expected)
