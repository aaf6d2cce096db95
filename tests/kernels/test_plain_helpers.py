"""Helpers of kernels that NumPy could do too, only slower: ranks and the order of numbers."""

import numpy as np
import pytest

from stereo_framework.kernels.ranks import add_rank_shares, rank_shares
from stereo_framework.kernels.segments import _order


def test_ranks_are_the_share_below_and_half_of_what_is_alike():
    values = np.float32([-0.0, 0, -1, 5, -np.inf, np.inf, -1, 1e-40, -1e-40])
    expected = [((values < v).sum() + (values == v).sum() / 2) / values.size for v in values]
    assert rank_shares(values).tolist() == np.float32(expected).tolist()


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
