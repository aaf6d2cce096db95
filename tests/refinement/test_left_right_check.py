import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_inputs import in_threads, searches, shapes

from stereo_framework import Search
from stereo_framework.core.view import View
from stereo_framework.core.volume import Status
from stereo_framework.refinement import left_right_check

matched, occluded, mismatched, filled, _ = Status


def check(disparity, other, search, status=None, **parameters):
    disparity, other = (np.array(a, np.float32) for a in (disparity, other))
    status = np.zeros(disparity.shape, np.uint8) if status is None else np.array(status, np.uint8)
    return left_right_check(disparity, View(other, status, search), search, status, **parameters)


@given(
    data=st.data(),
    shape=shapes,
    search=searches([1, 1 / 2, 2]),
    tolerance=st.sampled_from([1, 0, 0.5]),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(data, shape, search, tolerance, threads):
    # All values are exact in float32, so that both subtract without rounding. Halves are rounded away from 0.
    values = st.sampled_from([np.nan, *search.disparities.tolist(), 0.5, -0.5, 1.5, 2.25, 0]).map(np.float32)
    disparity, other = (data.draw(hnp.arrays(np.float32, shape, elements=values)) for _ in range(2))
    status = data.draw(hnp.arrays(np.uint8, shape, elements=st.sampled_from(list(map(int, Status)))))
    with in_threads(threads):
        checked, judged = left_right_check(disparity, View(other, status, search), search, status, tolerance=tolerance)
    expected = naive.left_right_check(disparity, other, status, search.direction, tolerance)
    np.testing.assert_array_equal(checked, expected[0], strict=True)
    np.testing.assert_array_equal(judged, expected[1], strict=True)


@pytest.mark.parametrize("tolerance", [0, 1])
def test_occluded_and_mismatched(tolerance):
    # A bar of two pixels at disparity 3 before a wall at disparity 0, and a wrong match at column 8 of the reference image.
    left = [[0, 0, 0, 0, 0, 3, 3, 0, 2, 0]]
    right = [[0, 0, 3, 3, 0, 0, 0, 0, 0, 0]]
    checked, status = check(left, right, Search(0, 3), tolerance=tolerance)
    hole = np.nan
    np.testing.assert_array_equal(checked, [[0, 0, hole, hole, 0, 3, 3, 0, hole, 0]])
    # Columns 2 and 3 lie behind the bar in the other image; column 8 shows what the wall's column 8 does.
    assert status.tolist() == [[matched, matched, occluded, occluded, matched, matched, matched, matched, mismatched, matched]]
    # The mirror image, seen in the other direction.
    mirrored = check(np.fliplr(left), np.fliplr(right), Search(0, 3, direction=-1), tolerance=tolerance)
    np.testing.assert_array_equal(np.fliplr(mirrored[0]), checked)
    np.testing.assert_array_equal(np.fliplr(mirrored[1]), status)
