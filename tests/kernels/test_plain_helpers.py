"""Helpers of kernels that NumPy could do too, only slower: ranks and the order of numbers."""

import numpy as np

from stereo_framework.confidence.learned import _weighted_ranks
from stereo_framework.kernels.ranks import rank_shares


def test_ranks_are_the_share_below_and_half_of_what_is_alike():
    values = np.float32([-0.0, 0, -1, 5, -np.inf, np.inf, -1, 1e-40, -1e-40])
    expected = [((values < v).sum() + (values == v).sum() / 2) / values.size for v in values]
    assert rank_shares(values).tolist() == np.float32(expected).tolist()


def test_ranks_by_counting_are_near_those_by_sorting():
    rng = np.random.default_rng(0)
    # With those nearer to 0 there are 270 powers of 2: a step is the 240th part of one, and holds 1 in 9600 of the values.
    values = np.float32(np.exp2(rng.uniform(-10, 10, 20000)) * rng.choice([-1, 1], 20000))
    np.testing.assert_allclose(_weighted_ranks(values, 1.0), rank_shares(values), atol=1 / 1500)
