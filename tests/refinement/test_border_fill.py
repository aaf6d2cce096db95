import naive_refinement
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, shapes

from stereo_framework import Search
from stereo_framework.refinement import border_fill

hole = np.nan


@given(
    data=st.data(),
    shape=shapes | st.just((9, 12)),
    radius=st.sampled_from([2, 1, 25]),
    gate=st.sampled_from([2.5, 0.5]),
    steepest=st.sampled_from([0.3, 0.0, 5.0]),
    kind=st.sampled_from([np.uint8, np.float32]),
    colour=st.booleans(),
    direction=st.sampled_from([1, -1]),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(data, shape, radius, gate, steepest, kind, colour, direction, threads):
    disparity = data.draw(filled(shape, np.array([hole, hole, hole, 1, 2.5, 3.25, 7]))).astype(np.float32)
    ends = data.draw(filled(shape[:1], np.arange(shape[1] + 1))).astype(int)
    disparity[np.arange(shape[1])[::direction] < ends[:, None]] = hole
    status = data.draw(filled(shape, np.array([0, 1, 2, 3, 4]))).astype(np.uint8)
    image = data.draw(filled(shape + (3,) * colour, np.array([0, 9, 9.25, 90, 99, 255]))).astype(kind)
    search = Search(-1, 8, direction=direction)
    before = disparity.copy(), image.copy(), status.copy()
    with in_threads(threads):
        found, told = border_fill(disparity, image, search, status, reach=radius, gate=gate, steepest=steepest)
    expected, why = naive_refinement.border_fill(disparity, image, search, status, radius, gate, steepest)
    # Float64 sums, rounded to float32 once.
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(told, why)
    for array, copy in zip((disparity, image, status), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("direction", [1, -1])
def test_a_plane_goes_on_and_what_stands_inwards_stays(direction):
    rows, columns = np.indices((30, 60))
    plane = (4 + 0.1 * columns[:, ::direction] + 0.05 * rows).astype(np.float32)
    disparity = plane.copy()
    outwards, inwards = (slice(0, 6), slice(20, 25)) if direction > 0 else (slice(54, 60), slice(35, 40))
    disparity[:, outwards] = disparity[:, inwards] = hole
    status = np.where(np.isnan(disparity), 1, 0).astype(np.uint8)
    found, told = border_fill(disparity, np.zeros(plane.shape, np.uint8), Search(0, 20, direction=direction), status)
    # Slopes are held at level by 10 squared pixels among thousands.
    np.testing.assert_allclose(found[:, outwards], plane[:, outwards], atol=0.02)
    assert (told[:, outwards] == 3).all()
    assert np.isnan(found[:, inwards]).all()
    assert (told[:, inwards] == 1).all()
