"""Helpers of kernels that NumPy could do too, only slower: block means, medians, ranks, the order of numbers."""

import numpy as np
import pytest

from stereo_framework.kernels.block_means import block_means, channel_means, medians
from stereo_framework.kernels.ranks import add_rank_shares, rank_shares
from stereo_framework.kernels.segments import _order


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize(
    "shape", [(6, 2, 5, 2), (6, 2, 5, 2, 3), (1, 3, 1, 3, 2), (4, 9, 3, 9), (4, 9, 3, 9, 3), (3, 1, 4, 1, 4)]
)
def test_means_are_those_of_numpy_to_the_bit(shape, dtype):
    numbers = (np.random.default_rng(3).random(shape) * 255).astype(dtype)
    assert np.array_equal(block_means(numbers), numbers.mean(axis=(1, 3), dtype=np.float32))
    if numbers.ndim == 5:
        flat = numbers.reshape(-1, shape[-1]).astype(np.float32)
        assert np.array_equal(channel_means(flat), flat.mean(axis=1))


@pytest.mark.parametrize("shape", [(1,), (2,), (7, 3), (1000, 3), (1001, 1)])
def test_medians_are_those_of_numpy_to_the_bit(shape):
    numbers = np.random.default_rng(4).normal(0, 30, shape).astype(np.float32)
    found, expected = medians(numbers), np.median(numbers, axis=0)
    assert np.array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_ranks_are_the_share_below_and_half_of_what_is_alike():
    values = np.float32([-0.0, 0, -1, 5, -np.inf, np.inf, -1, 1e-40, -1e-40])
    expected = [((values < v).sum() + (values == v).sum() / 2) / values.size for v in values]
    assert rank_shares(values).tolist() == np.float32(expected).tolist()
    assert rank_shares(values.astype(np.float64)).tolist() == np.float32(expected).tolist()


@pytest.mark.parametrize("scale", [1, 1e-30, -1e30])
def test_weighted_ranks_are_added_up(scale):
    # Neighbours differ by more than a hundredth, or not at all.
    values = np.float32([-0.0, 0, -1, 5, -7, 900, -1, 0.01, -0.01, 901 - 1]) * np.float32(scale)
    scores = np.arange(10, dtype=np.float32)
    add_rank_shares(values, -2.0, scores)
    np.testing.assert_allclose(scores, np.arange(10) - 2 * rank_shares(values), rtol=1e-6)


def test_ranks_by_counting_are_near_those_by_sorting():
    rng = np.random.default_rng(0)
    # With those nearer to 0 there are 270 powers of 2: a step is the 240th part of one, and holds 1 in 9600 of the values.
    values = np.float32(np.exp2(rng.uniform(-10, 10, 20000)) * rng.choice([-1, 1], 20000))
    scores = np.zeros(20000, np.float32)
    add_rank_shares(values, 1.0, scores)
    np.testing.assert_allclose(scores, rank_shares(values), atol=1 / 1500)


@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_numbers_are_put_in_order_as_they_stand_where_they_are_alike(count):
    rng = np.random.default_rng(count)
    # Differences in the last bits alone, and many that are equal.
    numbers = 1 + rng.integers(0, 9, count) * 2.0**-52 + rng.integers(0, 2, count)
    numbers[: count // 3] = 0
    order, ascending = _order(numbers)
    assert order.tolist() == sorted(range(count), key=lambda i: numbers[i])
    assert ascending.tolist() == sorted(numbers.tolist())
