import naive_refinement
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, shapes

from stereo_framework.refinement import plane_smooth

hole = np.nan


@given(
    data=st.data(),
    shape=shapes | st.just((6, 11)),
    parameters=st.fixed_dictionaries(
        {
            "size": st.sampled_from([7, 3, 17]),
            "final_size": st.sampled_from([11, 19, 5]),
            "gate": st.sampled_from([0.5, 0.8, 4.0]),
            "gamma_c": st.sampled_from([15.0, 3.0]),
            "ridge": st.sampled_from([0.05, 0.2, 1e-3]),
        }
    ),
    kind=st.sampled_from([np.uint8, np.float32]),
    colour=st.booleans(),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(data, shape, parameters, kind, colour, threads):
    # Slopes, ripples within the gate, steps beyond it, and holes.
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    slope = rng.uniform(-1.2, 1.2, 2)
    disparity = (
        np.indices(shape).T.dot(slope).T
        + rng.uniform(-0.4, 0.4, shape)
        + rng.choice([0, 0, 5], shape)
    )
    disparity = np.where(rng.random(shape) < 0.2, hole, disparity).astype(np.float32)
    image = data.draw(filled(shape + (3,) * colour, np.array([0, 9, 12, 90, 99, 255]))).astype(kind)
    with in_threads(threads):
        found = plane_smooth(disparity, image, **parameters)
    # Sums of up to 400 float32 products of places up to 9; weights have no steps, so that rounding moves nothing further.
    np.testing.assert_allclose(
        found, naive_refinement.plane_smooth(disparity, image, **parameters), rtol=0, atol=2e-3
    )


@pytest.mark.parametrize("columns", [127, 128, 257])
@pytest.mark.compiled
def test_agrees_with_twin_where_a_row_is_done_in_parts(columns):
    rng = np.random.default_rng(columns)
    disparity = (np.arange(columns) / 3 + rng.uniform(-0.3, 0.3, (2, columns))).astype(np.float32)
    image = rng.integers(0, 30, (2, columns, 3), dtype=np.uint8)
    expected = naive_refinement.plane_smooth(disparity, image, 7, 11, 0.5, 15.0, 0.05)
    np.testing.assert_allclose(plane_smooth(disparity, image), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize(("size", "final_size"), [(6, 11), (7, 10), (6, 10)])
def test_even_windows_count_as_one_pixel_wider(size, final_size):
    rng = np.random.default_rng(2)
    disparity = rng.uniform(0, 1, (9, 15)).astype(np.float32)
    image = rng.integers(0, 20, (9, 15), dtype=np.uint8)
    np.testing.assert_array_equal(
        plane_smooth(disparity, image, size=size, final_size=final_size),
        plane_smooth(disparity, image, size=7, final_size=11),
    )
