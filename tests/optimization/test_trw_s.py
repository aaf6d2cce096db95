import itertools

import naive_messages
import naive_moves
import naive_trees
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import energy_of, filled, in_threads, parts

from stereo_framework import Smoothness
from stereo_framework.optimization import belief_propagation, icm, trw_s

# Without the JIT these take minutes; their twins are plain Python in any case.
pytestmark = pytest.mark.compiled

RHOS = {
    "potts": lambda levels: np.minimum(np.arange(levels), 1),
    "truncated linear": lambda levels: np.minimum(2 * np.arange(levels), 5),
    "truncated squared": lambda levels: np.minimum(np.arange(levels) ** 2, 5),
    "squared": lambda levels: np.arange(levels) ** 2,
    "no order": lambda levels: np.array([0, 3, 1, 4, 2])[:levels],
}


@st.composite
def problems(draw, shapes, levels=(4, 3, 2), rhos=tuple(RHOS), edges=(1, 1)):
    """Whole numbers; `edges` multiplies the weights of horizontal and vertical edges."""
    rows, columns = draw(st.sampled_from(shapes))
    levels = draw(st.sampled_from(levels))
    costs = draw(filled((rows, columns, levels), np.arange(60))).astype(np.float32)
    right, down = (n * draw(filled((rows, columns), np.arange(12))).astype(np.float32) for n in edges)
    right[:, -1] = down[-1] = 0
    return costs, Smoothness(right, down, RHOS[draw(st.sampled_from(rhos))](levels).astype(np.float32))


def fractions(rows, columns, levels, rho, seed=0):
    """Costs and weights with no two labellings alike."""
    rng = np.random.default_rng(seed)
    costs = (100 * rng.random((rows, columns, levels))).astype(np.float32)
    weights = (30 * rng.random((2, rows, columns))).astype(np.float32)
    weights[0, :, -1] = weights[1, -1] = 0
    return costs, Smoothness(weights[0], weights[1], RHOS[rho](levels).astype(np.float32))


@given(problem=problems(((4, 5), (3, 7), (2, 6), (1, 5), (5, 1), (1, 1))), iterations=st.integers(1, 4))
def test_bounds_agree_with_twin(problem, iterations):
    costs, smoothness = problem
    found = trw_s(*parts(energy_of(costs, smoothness)), iterations=iterations)
    # Halves of halves: sums below 2**10 are off by 2**-14 at most, a few dozen times.
    expected = [bound for _, bound in naive_trees.trw_s(costs, smoothness, iterations)]
    np.testing.assert_allclose([bound for _, _, bound in found.trace], expected, rtol=0, atol=40 * 2.0**-14)
    assert found.lower_bound == min(max(bound for _, _, bound in found.trace), min(now for _, now, _ in found.trace))


@pytest.mark.parametrize("kind", ["trees", "messages", "descent"])
def test_blocks_and_threads_do_not_show(kind):
    # Two by two blocks of 32 by 64 pixels.
    costs, smoothness = fractions(37, 69, 3, "truncated linear", seed=1)
    energy = energy_of(costs, smoothness)

    def match():
        if kind == "trees":
            return trw_s(energy.volume, energy.smoothness, iterations=1)
        return (
            icm(energy.volume, energy.smoothness, iterations=2)
            if kind == "descent"
            else belief_propagation(energy.volume, energy.smoothness, schedule="sequential", iterations=1)
        )

    found = match()
    with in_threads(3):
        again = match()
    np.testing.assert_array_equal(again.levels, found.levels)
    assert again.lower_bound == found.lower_bound
    if kind == "trees":
        [(labels, bound)] = naive_trees.trw_s(costs, smoothness, 1)
        np.testing.assert_array_equal(found.levels, labels)
        # Some eight thousand minima of float32 sums below 512, rounded to 2**-16 each; the errors have either sign.
        assert found.lower_bound == pytest.approx(bound, abs=0.01)
    elif kind == "messages":
        beliefs, _ = naive_messages.propagate(costs, smoothness, "sequential", 1, 0.1)
        # Messages pass through a hundred pixels, but are cut off at 150.
        np.testing.assert_allclose(found.volume.costs, beliefs, atol=0.01)
    else:
        np.testing.assert_array_equal(found.levels, naive_trees.icm(costs, smoothness, 2)[-1])


# --- the bound ---------------------------------------------------------------------------------------------------------------


@given(problem=problems(((2, 3), (3, 2), (2, 2)), levels=(3, 2)))
def test_no_labelling_lies_below_the_bound_which_never_falls(problem):
    costs, smoothness = problem
    energy = energy_of(costs, smoothness)
    found = trw_s(energy.volume, energy.smoothness, iterations=30)
    lowest = naive_moves.lowest_energy(costs, smoothness)
    assert found.lower_bound <= lowest <= energy.of(found.levels)
    bounds = [bound for _, _, bound in found.trace]
    # Rounding of float32 sums below 2**9 in six pixels.
    assert all(later >= earlier - 6 * 2.0**-15 for earlier, later in itertools.pairwise(bounds))


# --- the whole optimizer -------------------------------------------------------------------------------------------------------
