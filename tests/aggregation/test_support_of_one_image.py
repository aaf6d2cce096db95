"""The guided filter and means along the minimum spanning tree beside their twins."""

from dataclasses import replace

import naive_support
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, image_pairs, in_threads, searches, shapes
from scipy.ndimage import median_filter

from stereo_framework import CostVolume, SearchRange
from stereo_framework.aggregation import guided_filter, minimum_spanning_tree


@given(
    data=st.data(),
    images=image_pairs(),
    search=searches(),
    radius=st.sampled_from([1, 2, 9]),
    epsilon=st.sampled_from([1e-4, 1e-2, 1e-6, 1.0]),
    threads=st.integers(1, 2),
)
def test_agrees_with_twin(data, images, search, radius, epsilon, threads):
    image = images[0]
    shape = (*image.shape[:2], search.levels)
    costs = data.draw(filled(shape, np.append(np.arange(256) / 16, [1020] * 30))).astype(np.float32)
    with in_threads(threads):
        result = guided_filter(
            CostVolume(costs, search, 1020.0), image, size=2 * radius + 1, epsilon=epsilon
        )
    expected = naive_support.guided_filter(costs, image, radius=radius, epsilon=epsilon)
    # Costs are rounded by up to 2^-25 of 1024 (float images; a flat window's fit leaves them alone, steep ones enlarge that by the
    # intensities' 255 over twice epsilon's root), results to float32.
    np.testing.assert_allclose(
        result.costs, expected, rtol=2e-7, atol=1e-4 / min(1, 100 * epsilon**0.5)
    )
    assert (result.search, result.outside_cost, result.costs.dtype) == (search, 1020.0, np.float32)


@pytest.mark.parametrize("levels", [31, 32, 33, 70])
@pytest.mark.parametrize("channels", [(), (3,)])
def test_levels_and_rows_beyond_those_that_are_filtered_at_a_time(levels, channels):
    rng = np.random.default_rng(levels)
    image = rng.integers(0, 256, (30, 11, *channels), dtype=np.uint8)
    costs = rng.random((30, 11, levels)).astype(np.float32)
    expected = naive_support.guided_filter(costs, image, radius=3, epsilon=1e-4)
    result = guided_filter(CostVolume(costs, SearchRange(0, levels - 1), 1.0), image, size=7).costs
    # Results of the size of the costs, rounded to float32; costs to 2^-35.
    np.testing.assert_allclose(result, expected, rtol=0, atol=1.5e-7)


def test_sums_are_exact_whatever_comes_before():
    # Running sums in float64 that began at other rows would end in other digits: costs of very different sizes.
    rng = np.random.default_rng(4)
    image = (rng.random((150, 9, 3)) * 255).astype(np.float32)
    costs = (rng.random((150, 9, 3)) ** 20).astype(np.float32)
    volume = CostVolume(costs, SearchRange(0, 2), 1.0)
    whole = guided_filter(volume, image, size=5).costs
    for top in range(80, 100, 4):
        part = guided_filter(replace(volume, costs=costs[top:]), image[top:], size=5).costs
        np.testing.assert_array_equal(part[4:], whole[top + 4 :])


@given(
    data=st.data(),
    shape=shapes | st.just((6, 9)),
    search=searches(),
    seed=st.integers(0, 2**32 - 1),
    colour=st.booleans(),
    sigma=st.sampled_from([25.5, 5.0, 1000.0, 0.1]),
    threads=st.integers(1, 2),
)
def test_means_along_the_tree_agree_with_twin(data, shape, search, seed, colour, sigma, threads):
    # Only one tree is the least where no two differences are alike.
    image = np.random.default_rng(seed).uniform(0, 90, shape + (3,) * colour).astype(np.float32)
    costs = data.draw(
        filled((*shape, search.levels), np.append(np.arange(256) / 16, [1020] * 30))
    ).astype(np.float32)
    with in_threads(threads):
        result = minimum_spanning_tree(CostVolume(costs, search, 1020.0), image, sigma=sigma)
    # The means are rounded to float32. What is far away adds less than can be told from 0, which the second pass takes away again.
    expected = naive_support.minimum_spanning_tree(costs, image, sigma=sigma)
    np.testing.assert_allclose(result.costs, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_levels_beyond_those_that_walk_at_a_time(threads):
    rng = np.random.default_rng(1)
    image, costs = rng.uniform(0, 90, (4, 5)).astype(np.float32), rng.random((4, 5, 37), np.float32)
    with in_threads(threads):
        result = minimum_spanning_tree(CostVolume(costs, SearchRange(0, 36), 1.0), image).costs
    np.testing.assert_allclose(
        result, naive_support.minimum_spanning_tree(costs, image, sigma=25.5), rtol=1e-6
    )


@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("channels", [(), (3,)])
def test_the_tree_is_that_of_the_smoothed_image(channels, size):
    rng = np.random.default_rng(2)
    image = rng.integers(0, 256, (9, 12, *channels), np.uint8)
    volume = CostVolume(rng.random((9, 12, 3), np.float32), SearchRange(0, 2), 1.0)
    windows = (size, size) + (1,) * len(channels)
    smooth = median_filter(image.astype(np.float32), windows, mode="nearest")
    expected = minimum_spanning_tree(volume, smooth).costs

    result = minimum_spanning_tree(volume, image, median_size=size).costs

    np.testing.assert_array_equal(result, expected)
    assert (result != minimum_spanning_tree(volume, image).costs).any()
