"""Binomial filter and the three diffusions against their slow versions."""

import naive_diffusion
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import in_threads, volumes

from stereo_framework.aggregation import bayesian_diffusion, binomial, diffusion, membrane_diffusion

iterations = st.integers(1, 4)
threads = st.integers(1, 3)


def _close(result, expected, costs):
    # float32 arithmetic: a few roundings a step, of the size of the largest cost.
    np.testing.assert_allclose(
        result.costs, expected, rtol=0, atol=4e-6 * max(1, np.abs(costs).max())
    )


@given(volume=volumes(), iterations=iterations, threads=threads)
def test_binomial(volume, iterations, threads):
    with in_threads(threads):
        result = binomial(volume, iterations=iterations)
    _close(
        result,
        naive_diffusion.filtered(volume.costs, np.array([1, 4, 6, 4, 1]) / 16, iterations),
        volume.costs,
    )


@given(volume=volumes(), iterations=iterations, threads=threads, rate=st.floats(0.01, 0.25))
def test_diffusion(volume, iterations, threads, rate):
    with in_threads(threads):
        result = diffusion(volume, iterations=iterations, rate=rate)
    _close(result, naive_diffusion.membrane(volume.costs, iterations, rate, 0.0), volume.costs)


@given(
    volume=volumes(),
    iterations=iterations,
    threads=threads,
    rate=st.floats(0.01, 0.2),
    beta=st.floats(0, 1),
)
def test_membrane_diffusion(volume, iterations, threads, rate, beta):
    with in_threads(threads):
        result = membrane_diffusion(volume, iterations=iterations, rate=rate, beta=beta)
    _close(result, naive_diffusion.membrane(volume.costs, iterations, rate, beta), volume.costs)


@given(
    volume=volumes(),
    iterations=iterations,
    threads=threads,
    factor=st.sampled_from([0.001, 0.01, 0.3]),
    mu=st.sampled_from([0.0, 0.5, 1.0]),
    sigma=st.sampled_from([0.05, 0.4, 2.0]),
    epsilon=st.sampled_from([0.0, 0.01, 0.5, 1.0]),
)
def test_bayesian_diffusion(volume, iterations, threads, factor, mu, sigma, epsilon):
    with in_threads(threads):
        result = bayesian_diffusion(
            volume,
            iterations=iterations,
            cost_factor=factor,
            mu=mu,
            sigma_p=sigma,
            epsilon_p=epsilon,
        )
    expected = naive_diffusion.bayesian(volume.costs, iterations, factor, mu, sigma, epsilon)
    # Polynomials of relative error 2e-7 in support terms of up to 37 nepers, five a step, carried from step to step.
    np.testing.assert_allclose(result.costs, expected, rtol=3e-6, atol=2e-3)
