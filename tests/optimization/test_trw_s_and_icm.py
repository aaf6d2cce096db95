import itertools

import naive_messages
import naive_moves
import naive_trees
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import energy_of, in_threads, parts, problems, smoothness_of

from stereo_framework.optimization import belief_propagation, icm, trw_s

# Without the JIT these take minutes; their twins are plain Python in any case.
pytestmark = pytest.mark.compiled


@given(
    problem=problems(((4, 5), (3, 7), (2, 6), (1, 5), (5, 1), (1, 1))), iterations=st.integers(1, 4)
)
def test_bounds_agree_with_twin(problem, iterations):
    costs, smoothness = problem
    found = trw_s(*parts(energy_of(costs, smoothness)), iterations=iterations)
    # Halves of halves: sums below 2**10 are off by 2**-14 at most, a few dozen times.
    expected = [bound for _, bound in naive_trees.trw_s(costs, smoothness, iterations)]
    np.testing.assert_allclose(
        [bound for _, _, bound in found.trace], expected, rtol=0, atol=40 * 2.0**-14
    )
    assert found.lower_bound == min(
        max(bound for _, _, bound in found.trace), min(now for _, now, _ in found.trace)
    )


@pytest.mark.parametrize("kind", ["trees", "messages", "descent"])
def test_blocks_and_threads_do_not_show(kind):
    # Two by two blocks of 32 by 64 pixels.
    rng = np.random.default_rng(1)
    costs = (100 * rng.random((37, 69, 3))).astype(np.float32)
    smoothness = smoothness_of(37, 69, [0, 2, 4], (30 * rng.random((2, 37, 69))).astype(np.float32))
    energy = energy_of(costs, smoothness)

    def match():
        if kind == "trees":
            return trw_s(energy.volume, energy.smoothness, iterations=1)
        return (
            icm(energy.volume, energy.smoothness, iterations=2)
            if kind == "descent"
            else belief_propagation(
                energy.volume, energy.smoothness, schedule="sequential", iterations=1
            )
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


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1), (2, 3)])
def test_the_lowest_of_equally_good_levels_is_chosen(shape):
    # Every pixel has the same cost at all levels, and smoothness prefers no level.
    costs = np.full((*shape, 3), 5, np.float32)
    smoothness = smoothness_of(*shape, [0, 2, 4], np.ones((2, *shape), np.float32))
    energy = energy_of(costs, smoothness)
    result = trw_s(energy.volume, energy.smoothness, iterations=2)
    np.testing.assert_array_equal(result.levels, np.zeros(shape))


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


@given(
    problem=problems(((4, 5), (3, 3), (1, 7), (6, 1), (1, 1)), levels=(4, 3, 2)),
    sweeps=st.integers(1, 3),
)
def test_descent_agrees_with_twin(problem, sweeps):
    energy = energy_of(*problem)
    found = icm(energy.volume, energy.smoothness, iterations=sweeps)
    expected = naive_trees.icm(*problem, sweeps)
    np.testing.assert_array_equal(found.levels, expected[-1])
    assert [now for _, now in found.trace] == [
        energy.of(labels) for labels in expected[: len(found.trace)]
    ]
