"""r^2 of linear fits between every two measures."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import linregress

from stereo_framework.core.errors import DataError
from stereo_framework.tables.ranking import r_squared

CELL = st.one_of(st.integers(-3, 3).map(float), st.floats(-100, 100), st.just(math.nan))


@given(st.integers(0, 12).flatmap(lambda n: st.lists(st.tuples(CELL, CELL, CELL), min_size=n, max_size=n)))
def test_as_a_line_is_fitted(rows):
    table = np.array(rows, np.float64).reshape(-1, 3)
    found, counts = r_squared(table)
    for i, j in itertools.product(range(3), repeat=2):
        there = ~np.isnan(table[:, i]) & ~np.isnan(table[:, j])
        x, y = table[there, i], table[there, j]
        assert counts[i, j] == there.sum()
        if there.sum() < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
            assert np.isnan(found[i, j])
        elif min(np.ptp(x), np.ptp(y)) > 1e-6:  # of hardly different values only the last digits count
            # Both sum the same products in another order.
            np.testing.assert_allclose(found[i, j], linregress(x, y).rvalue ** 2, atol=1e-9)
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1e12])
def test_scores_of_any_size(unit):
    found, _ = r_squared(np.array([[1, 2], [2, 1], [3, 4], [4, 4]]) * unit)
    # Sums of squares about the means: 5, 6.75, and 4.5 of the products.
    np.testing.assert_allclose(found[0, 1], 4.5**2 / (5 * 6.75))


def test_what_is_no_table():
    with pytest.raises(DataError, match=r"scores have shape \(3,\); expected \(samples, measures\)"):
        r_squared([1, 2, 3])
