"""ROC curves and their numbers: by arithmetic, against sampling, and the identity that binds efficiency and improvement."""

import itertools

import naive_roc
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation.roc import (
    Point,
    efficiency,
    improvement,
    minimal_points,
    outer_curve,
    roc_curve,
)
from stereo_framework.evaluation.roc.points import maximal_points
from stereo_framework.papers.comparison import published_table

# Sixteenths meet each other and the line 1 - x; any other numbers do not.
rates = st.one_of(st.integers(0, 16).map(lambda n: n / 16), st.floats(0, 1))
sets = st.lists(st.tuples(rates, rates), max_size=8)
PLACES = np.linspace(0, 1, 65)


def _points(pairs):
    return [Point(*pair) for pair in pairs]


@given(sets)
def test_minimal_and_maximal_points(pairs):
    points = _points(pairs)
    assert [p.rates for p in minimal_points(points)] == naive_roc.minimal(pairs)
    assert [p.rates for p in maximal_points(points)] == naive_roc.maximal(pairs)


def test_points_of_the_same_rates_stay_all():
    points = [Point(0.5, 0.5, "a"), Point(0.25, 0.75, "b"), Point(0.5, 0.5, "c")]
    assert [p.method for p in minimal_points(points)] == ["b", "a", "c"]
    assert [p.method for p in maximal_points(points)] == ["b", "a", "c"]


@given(sets, st.lists(st.floats(0, 1), max_size=5))
def test_curves_equal_their_definition(pairs, places):
    x = np.concatenate([PLACES, places, *pairs]) if pairs else PLACES
    a, w = roc_curve(_points(pairs)), outer_curve(_points(pairs))
    # At a place just beside a breakpoint, interpolation of 1 - x rounds.
    np.testing.assert_allclose(a(x), [naive_roc.roc(pairs, p) for p in x], atol=1e-12)
    np.testing.assert_array_equal(w(x), [naive_roc.outer(pairs, p) for p in x])
    for curve in (a, w):
        assert curve.x[0] == 0
        assert curve.x[-1] == 1
        assert (np.diff(curve.x) > 0).all()


@given(sets, sets)
def test_numbers_equal_sampling(first, second):
    a, b = roc_curve(_points(first)), roc_curve(_points(second))
    # Midpoints miss at most one step's width at each of at most 16 jumps, of at most 1.
    near = 2 * 16 / 4000
    assert efficiency(a) == pytest.approx(
        2 * naive_roc.integral(lambda x: 1 - x - naive_roc.roc(first, x)), abs=near
    )
    gain = 2 * naive_roc.integral(
        lambda x: max(naive_roc.roc(second, x) - naive_roc.roc(first, x), 0)
    )
    assert improvement(a, b) == pytest.approx(gain, abs=near)


@given(sets, sets)
def test_efficiency_and_improvement(first, second):
    a, b = roc_curve(_points(first)), roc_curve(_points(second))
    assert -1e-12 <= efficiency(a) <= 1 + 1e-12
    assert improvement(a, b) >= 0
    assert improvement(a, a) == 0
    assert efficiency(a) - efficiency(b) == pytest.approx(
        improvement(a, b) - improvement(b, a), abs=1e-12
    )
    # More settings never harm.
    assert (
        efficiency(roc_curve(_points(first + second))) >= max(efficiency(a), efficiency(b)) - 1e-12
    )


@given(rates, rates)
def test_one_point(sparsity, error):
    expected = (1 - sparsity - error) ** 2 if sparsity + error <= 1 else 0
    assert efficiency(roc_curve([Point(sparsity, error)])) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("pair", list(itertools.combinations(("CSM", "GC", "DP", "SDM", "BP"), 2)))
def test_printed_numbers_obey_the_identity(pair):
    """E of the mean ROC curves (Table 1, "Expected") and I (Table 2) as printed, with three digits: ours are the paper's definitions."""
    efficiencies, improvements = (published_table("boundary2007", f"table{i}").rows for i in (1, 2))
    a, b = pair
    e_a, e_b = (efficiencies[name]["Expected"] for name in pair)
    i_ab, i_ba = improvements[a][b], improvements[b][a]
    # The last digit of a sum of four rounded numbers may be off by one, and rounding of decimal fractions comes on top.
    assert e_a - e_b == pytest.approx(i_ab - i_ba, abs=0.001 + 1e-9)


def test_mistakes_are_one_line():
    with pytest.raises(
        DataError, match="^ssd tsukuba: error_rate nan is not a number from 0 to 1$"
    ):
        Point(0.5, np.nan, "ssd", scene="tsukuba")
    with pytest.raises(DataError, match="^point: sparsity_rate 1.5 is not a number from 0 to 1$"):
        Point(1.5, 0)
    with pytest.raises(DataError, match="expected numbers from 0 to 1"):
        roc_curve([])(1.5)
