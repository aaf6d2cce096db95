"""Box filter and minimum filter, which share their kernels' conventions."""

import naive
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_inputs import in_threads, volumes

from stereo_framework import CostVolume, SearchRange
from stereo_framework.aggregation import box, min_filter

sizes = st.integers(1, 11)
"""Mostly larger than the images."""


@given(volume=volumes(), size=sizes, iterations=st.integers(1, 3), threads=st.integers(1, 3))
def test_box_agrees_with_twin(volume, size, iterations, threads):
    with in_threads(threads):
        result = box(volume, size=size, iterations=iterations)
    # Sums of the volumes' sixteenths are exact in any order; those of a second pass, over means, are rounded once to float32
    # from float64 sums that may differ in their last digits: one unit in the last place.
    tolerance = 0 if iterations == 1 else np.finfo(np.float32).eps
    np.testing.assert_allclose(
        result.costs, naive.box(volume.costs, size, iterations), rtol=tolerance, atol=0
    )
    assert (result.search, result.outside_cost, result.costs.dtype) == (
        volume.search,
        volume.outside_cost,
        np.float32,
    )


def test_box_forgets_large_costs_that_left_the_window():
    # In float32 the sum 260100 + 0.01 - 260100 is 0.
    costs = np.full((9, 9, 2), 0.01, np.float32)
    costs[:2, :2] = 260100
    result = box(CostVolume(costs, SearchRange(0, 1), 260100.0), size=3).costs
    np.testing.assert_allclose(result[3:], 0.01, rtol=1e-6)
    np.testing.assert_allclose(result[:, 3:], 0.01, rtol=1e-6)


def test_even_windows_reach_further_right_and_down():
    costs = np.zeros((5, 5, 2), np.float32)
    costs[2, 2] = 16
    volume = CostVolume(costs, SearchRange(0, 1), 255.0)
    # A window of 4 covers one sample before and two after its centre: the centres 0..3 see sample 2.
    expected = np.zeros((5, 5))
    expected[:4, :4] = 1
    np.testing.assert_array_equal(box(volume, size=4).costs[..., 0], expected)
    lowest = min_filter(CostVolume(16 - costs, SearchRange(0, 1), 255.0), size=4).costs[..., 0]
    np.testing.assert_array_equal(lowest, 16 * (1 - expected))


@given(volume=volumes(), size=sizes, threads=st.integers(1, 3))
def test_min_filter_agrees_with_twin(volume, size, threads):
    with in_threads(threads):
        result = min_filter(volume, size=size)
    np.testing.assert_array_equal(result.costs, naive.min_filter(volume.costs, size))
    assert (result.search, result.outside_cost, result.costs.dtype) == (
        volume.search,
        volume.outside_cost,
        np.float32,
    )


@given(
    costs=hnp.arrays(np.float32, (11, 1, 2), elements=st.integers(-3, 3)),
    size=st.integers(1, 5),
    threads=st.integers(1, 4),
)
def test_min_filter_of_many_rows(costs, size, threads):
    # More rows than two windows: the kernel works on blocks of rows.
    with in_threads(threads):
        result = min_filter(CostVolume(costs, SearchRange(0, 1), 255.0), size=size)
    np.testing.assert_array_equal(result.costs, naive.min_filter(costs, size))
