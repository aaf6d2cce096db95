import cv2
import naive_refinement
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, shapes

from stereo_framework.refinement import remove_speckles

hole = np.nan


@given(
    data=st.data(),
    shape=shapes,
    size=st.sampled_from([2, 3, 1, 5, 8, 100]),
    difference=st.sampled_from([1, 0, 0.5, 2.25]),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(data, shape, size, difference, threads):
    # All exact in float32, so that both subtract without rounding.
    values = np.array([hole, 3, 4, 4.5, 5.25, -1, hole])
    disparity = data.draw(filled(shape, values)).astype(np.float32)
    with in_threads(threads):
        kept = remove_speckles(disparity, size=size, difference=difference)
    np.testing.assert_array_equal(kept, naive_refinement.remove_speckles(disparity, size, difference), strict=True)


@pytest.mark.parametrize("size", [1, 6, 40])
@pytest.mark.parametrize("difference", [0, 1])
def test_agrees_with_opencv_on_whole_numbers(size, difference):
    rng = np.random.default_rng(4)
    # Random numbers, smoothed, form surfaces of all sizes.
    noise = rng.normal(0, 8, (60, 80)).astype(np.float32)
    whole = np.rint(cv2.GaussianBlur(noise, (0, 0), 1.5)).astype(np.int16)
    missing = -16000
    whole[rng.random(whole.shape) < 0.1] = missing
    expected = whole.copy()
    cv2.filterSpeckles(expected, missing, size, difference)
    disparity = np.where(whole == missing, np.float32(hole), whole.astype(np.float32))
    kept = remove_speckles(disparity, size=size, difference=difference)
    np.testing.assert_array_equal(kept, np.where(expected == missing, np.float32(hole), expected.astype(np.float32)))
    # Not because all or nothing is taken away.
    assert 0 < np.isfinite(kept).sum() < np.isfinite(disparity).sum()


@pytest.mark.parametrize("threads", [1, 2, 9])
def test_a_surface_over_many_rows_is_counted_whole(threads):
    # A column of 9 pixels in another surface, whatever rows the threads are given; with 9 a row each.
    disparity = np.zeros((9, 5), np.float32)
    disparity[:, 2] = 7
    with in_threads(threads):
        assert np.isfinite(remove_speckles(disparity, size=8)).all()
        gone = np.isnan(remove_speckles(disparity, size=9))
    np.testing.assert_array_equal(gone, disparity == 7)


def test_differences_add_up_along_a_surface_and_diagonals_do_not_connect():
    disparity = np.array([[0, 1, 2, 3, 9], [9, 9, 9, 9, 3]], np.float32)
    expected = np.array([[0, 1, 2, 3, hole], [9, 9, 9, 9, hole]], np.float32)
    np.testing.assert_array_equal(remove_speckles(disparity, size=1), expected)
