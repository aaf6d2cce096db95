"""Means along the minimum spanning tree beside their twin, and what follows from their definition."""

import naive_support
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, searches, shapes

from stereo_framework import CostVolume, Search
from stereo_framework.aggregation import minimum_spanning_tree


@given(
    data=st.data(),
    shape=shapes | st.just((6, 9)),
    search=searches(),
    seed=st.integers(0, 2**32 - 1),
    colour=st.booleans(),
    scale=st.sampled_from([25.5, 5.0, 1000.0, 0.1]),
    threads=st.integers(1, 2),
)
def test_agrees_with_twin(data, shape, search, seed, colour, scale, threads):
    # Only one tree is the least where no two differences are alike.
    image = np.random.default_rng(seed).uniform(0, 90, shape + (3,) * colour).astype(np.float32)
    costs = data.draw(filled((*shape, search.levels), np.append(np.arange(256) / 16, [1020] * 30))).astype(np.float32)
    with in_threads(threads):
        result = minimum_spanning_tree(CostVolume(costs, search, 1020.0), image, scale=scale)
    # The means are rounded to float32. What is far away adds less than can be told from 0, which the second pass takes away again.
    expected = naive_support.minimum_spanning_tree(costs, image, scale=scale)
    np.testing.assert_allclose(result.costs, expected, rtol=1e-6, atol=1e-12)
    assert (result.search, result.outside, result.costs.dtype) == (search, 1020.0, np.float32)


@pytest.mark.parametrize("threads", [1, 2])
def test_levels_beyond_those_that_walk_at_a_time(threads):
    rng = np.random.default_rng(1)
    image, costs = rng.uniform(0, 90, (4, 5)).astype(np.float32), rng.random((4, 5, 37), np.float32)
    with in_threads(threads):
        result = minimum_spanning_tree(CostVolume(costs, Search(0, 36), 1.0), image).costs
    np.testing.assert_allclose(result, naive_support.minimum_spanning_tree(costs, image, scale=25.5), rtol=1e-6)
