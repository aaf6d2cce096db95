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


@pytest.mark.parametrize("threads", [1, 2, 9])
def test_a_surface_over_many_rows_is_counted_whole(threads):
    # A column of 9 pixels in another surface, whatever rows the threads are given; with 9 a row each.
    disparity = np.zeros((9, 5), np.float32)
    disparity[:, 2] = 7
    with in_threads(threads):
        assert np.isfinite(remove_speckles(disparity, size=8)).all()
        gone = np.isnan(remove_speckles(disparity, size=9))
    np.testing.assert_array_equal(gone, disparity == 7)
