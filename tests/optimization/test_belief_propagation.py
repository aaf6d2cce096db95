import naive_messages
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import energy_of, in_threads, parts, problems, smoothness_of

from stereo_framework.optimization import belief_propagation

SCHEDULES = ("accelerated", "sequential", "synchronous")
SMALL = ((4, 5), (5, 3), (2, 6), (1, 5), (5, 1), (1, 1))


@pytest.mark.parametrize("schedule", SCHEDULES)
@given(
    problem=problems(SMALL),
    iterations=st.integers(1, 4),
    damping=st.sampled_from([0.0, 0.5, 0.25]),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(schedule, problem, iterations, damping, threads):
    costs, smoothness = problem
    beliefs, labels = naive_messages.propagate(costs, smoothness, schedule, iterations, damping)
    energy = energy_of(costs, smoothness)
    with in_threads(threads):
        found = belief_propagation(
            energy.volume,
            energy.smoothness,
            schedule=schedule,
            iterations=iterations,
            damping=damping,
        )
    np.testing.assert_array_equal(found.levels, found.volume.costs.argmin(axis=2))
    if damping:
        # A damped message has more bits than the old and the new one; sums below 500 are off by 2**-16 at most, a few dozen times.
        np.testing.assert_allclose(found.volume.costs, beliefs, rtol=0, atol=40 * 2.0**-16)
    else:
        np.testing.assert_array_equal(found.volume.costs, beliefs)
        assert [now for _, now in found.trace] == [
            energy.of(one.astype(np.int16)) for one in labels
        ]


def test_fractions_are_as_good_as_their_rounding():
    # Thirds of a pixel are no float32 numbers: the envelope of cones adds up what the table holds as products.
    rng = np.random.default_rng(1)
    costs = (100 * rng.random((7, 9, 40))).astype(np.float32)
    smoothness = smoothness_of(7, 9, np.minimum(np.arange(40) / 3, 4.2), 11.3)
    beliefs, _ = naive_messages.propagate(costs, smoothness, "accelerated", 2, 0.0)
    found = belief_propagation(
        *parts(energy_of(costs, smoothness)), iterations=2, damping=0.0
    ).volume.costs
    # Some thirty additions of numbers below 400.
    np.testing.assert_allclose(found, beliefs, atol=30 * 400 * 2.0**-24)
