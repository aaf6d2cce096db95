import naive_refinement
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, shapes

from stereo_framework import SearchRange
from stereo_framework.core.volume import Status
from stereo_framework.kernels.random_numbers import random_number
from stereo_framework.kernels.segments import segment_image
from stereo_framework.refinement import segment_planes

hole = np.nan
SEARCH = SearchRange(-30, 30)
matched, occluded, mismatched, full, invalid = map(int, Status)


@given(
    data=st.data(),
    shape=shapes | st.just((6, 9)),
    values=st.sampled_from([(0, 3, 4, 9, 60, 255), tuple(range(256))]),
    kind=st.sampled_from([np.uint8, np.float32]),
    colour=st.booleans(),
    sigma=st.sampled_from([0.5, 0.0, 1.2]),
    k=st.sampled_from([150.0, 10.0, 1000.0, 1e-3]),
    minimum=st.sampled_from([1, 3, 60]),
)
def test_segments_agree_with_twin(data, shape, values, kind, colour, sigma, k, minimum):
    image = data.draw(filled(shape + (3,) * colour, np.array(values))).astype(kind)
    found = segment_image(image, sigma, k, minimum)
    np.testing.assert_array_equal(found, naive_refinement.segments(image, sigma, k, minimum))
    assert found.dtype == np.int32


def naive(
    disparity,
    image,
    search,
    status,
    sigma,
    k,
    min_segment,
    plane_tolerance,
    min_count,
    min_share,
    plane_iterations,
    seed,
):
    number = naive_refinement.segments(image, sigma, k, min_segment)
    keys = [int(key) >> 32 for key in np.random.PCG64(seed).random_raw(2)]
    filled_, told = disparity.copy(), status.copy()
    for segment in range(number.max() + 1):
        points = [
            (y, x, float(disparity[y, x]))
            for y, x in np.argwhere((number == segment) & ~np.isnan(disparity))
        ]
        triples = []
        if points:
            first = 3 * segment * plane_iterations
            numbers = range(first, first + 3 * plane_iterations)
            draws = [random_number(number, *keys) % len(points) for number in numbers]
            triples = [draws[i : i + 3] for i in range(0, len(draws), 3)]
        plane = naive_refinement.segment_plane(
            points, triples, plane_tolerance, min_count, min_share
        )
        for y, x in (
            np.argwhere((number == segment) & np.isnan(disparity) & (status != invalid))
            if plane is not None
            else ()
        ):
            value = plane[0] + plane[1] * y + plane[2] * x
            if search.minimum <= value <= search.maximum:
                filled_[y, x], told[y, x] = value, full
    return filled_, told


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.sampled_from([(7, 9), (4, 5), (1, 12), (12, 1), (1, 1)]),
    count=st.sampled_from([3, 1, 10]),
    share=st.sampled_from([0.5, 0.0, 1.0]),
    k=st.sampled_from([150.0, 2000.0]),
    plane_iterations=st.sampled_from([20, 1]),
    slopes=st.sampled_from([(0.25, 0.5), (0, 0), (1.5, -0.75), (0, 1.5)]),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(seed, shape, count, share, k, plane_iterations, slopes, threads):
    rng = np.random.default_rng(seed)
    y, x = np.indices(shape)
    # No two estimates of one distance from a plane, so that rounding decides nothing.
    disparity = (30 + slopes[0] * y + slopes[1] * x + rng.normal(0, 0.1, shape)).astype(np.float32)
    wrong = rng.random(shape) < 0.2
    disparity[wrong] = rng.uniform(0, 40, wrong.sum())
    disparity[rng.random(shape) < 0.4] = hole
    status = np.where(
        np.isnan(disparity), rng.choice([occluded, mismatched, invalid], shape), matched
    ).astype(np.uint8)
    image = np.where(x < 5, 10, 200).astype(np.uint8)
    parameters = {
        "sigma": 0.5,
        "k": k,
        "min_segment": 3,
        "plane_tolerance": 0.8,
        "min_count": count,
        "min_share": share,
        "plane_iterations": plane_iterations,
        "seed": 7,
    }
    before = disparity.copy(), image.copy(), status.copy()
    search = SearchRange(0, 33)
    with in_threads(threads):
        found, told = segment_planes(disparity, image, search, status, **parameters)
    expected, expected_told = naive(disparity, image, search, status, **parameters)
    # The twin solves its equations in another way.
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_array_equal(told, expected_told, strict=True)
    for array, copy in zip((disparity, image, status), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def _filled_in_one_segment(estimates, search=SEARCH, **parameters):
    """Return the disparity of the only pixel without an estimate, in one segment."""
    disparity = np.float32([[*estimates, hole]])
    image = np.zeros(disparity.shape, np.uint8)
    status = np.where(np.isnan(disparity), occluded, matched).astype(np.uint8)
    filled_map, _ = segment_planes(disparity, image, search, status, **parameters)
    return float(filled_map[0, -1])


@pytest.mark.parametrize("disparity", [0, 5])
def test_planes_at_the_ends_of_the_search_range_fill(disparity):
    assert _filled_in_one_segment([disparity] * 20, SearchRange(0, 5)) == disparity
    outside = -1 / 16 if disparity == 0 else 5 + 1 / 16
    np.testing.assert_equal(_filled_in_one_segment([outside] * 20, SearchRange(0, 5)), hole)


@pytest.mark.parametrize(("count", "expected"), [(20, 2.0), (19, hole)])
def test_a_plane_needs_the_minimum_number_of_estimates(count, expected):
    found = _filled_in_one_segment([2] * count, min_count=20)
    np.testing.assert_equal(found, expected)


@pytest.mark.parametrize(("near", "expected"), [(10, 2.0), (9, hole)])
def test_a_plane_needs_the_minimum_share_of_the_estimates(near, expected):
    # Ten of twenty estimates are half of them. The others lie apart from each other.
    others = [5 + 3 * i * i for i in range(20 - near)]
    found = _filled_in_one_segment([2] * near + others, SearchRange(0, 400), min_share=0.5)
    np.testing.assert_equal(found, expected)


@pytest.mark.parametrize(
    ("slope", "expected"), [(1.0, hole), (-1.0, hole), (0.875, 5 * 0.875), (-0.875, -5 * 0.875)]
)
def test_a_plane_rises_by_less_than_a_pixel_from_column_to_column(slope, expected):
    disparity = np.tile(slope * np.arange(6, dtype=np.float32), (6, 1))
    disparity[5, 5] = hole
    image = np.zeros(disparity.shape, np.uint8)
    status = np.where(np.isnan(disparity), occluded, matched).astype(np.uint8)
    # A level plane is near a sixth of the estimates, or a third of them.
    filled_map, _ = segment_planes(
        disparity, image, SearchRange(-9, 9), status, plane_tolerance=0.75
    )
    np.testing.assert_allclose(filled_map[5, 5], expected, atol=1e-5)
