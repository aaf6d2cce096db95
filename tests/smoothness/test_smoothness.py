import naive_scanlines
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import image_pairs, in_threads, searches

from stereo_framework import SearchRange
from stereo_framework.smoothness import linear, potts, truncated_linear, truncated_quadratic

TERMS = [potts, linear, truncated_linear, truncated_quadratic]
GREY = np.zeros((2, 3), np.uint8)


@pytest.mark.parametrize("term", TERMS)
@given(
    pair=image_pairs(),
    weight=st.sampled_from([20, 0, 2.5]),
    threshold=st.sampled_from([30.0, 120.0, 0.0, None]),
    penalty=st.sampled_from([4, 0.5, 0]),
    threads=st.integers(1, 3),
)
def test_edge_weights_agree_with_twin(term, pair, weight, threshold, penalty, threads):
    image = pair[0]
    with in_threads(threads):
        found = term(
            image,
            SearchRange(0, 3),
            weight=weight,
            gradient_threshold=threshold,
            gradient_penalty=penalty,
        )
    right, down = naive_scanlines.smoothness_weights(image, weight, threshold, penalty)
    np.testing.assert_array_equal(found.right, right)
    np.testing.assert_array_equal(found.down, down)
    assert found.right.dtype == found.down.dtype == found.rho.dtype == np.float32


@given(search=searches(), truncation=st.sampled_from([2.0, 0.75, 100.0]))
def test_penalties_are_in_pixels(search, truncation):
    pixels = [k * search.step for k in range(search.levels)]
    assert potts(GREY, search).rho.tolist() == [float(p > 0) for p in pixels]
    np.testing.assert_allclose(linear(GREY, search).rho, pixels, rtol=1e-6)
    cut = truncated_linear(GREY, search, truncation=truncation).rho
    np.testing.assert_allclose(cut, [min(p, truncation) for p in pixels], rtol=1e-6)
    squares = truncated_quadratic(GREY, search, truncation=truncation).rho
    np.testing.assert_allclose(squares, [min(p * p, truncation) for p in pixels], rtol=1e-6)


def test_gradients_at_the_threshold_pay_the_plain_weight():
    # sqrt((8^2 + 8^2 + 8^2) / 3) = 8, and sqrt((13^2 + 4^2 + 2^2) / 3) = sqrt(63) lies just below.
    image = np.array([[[10, 10, 10], [18, 2, 18], [31, 6, 20]]], np.uint8)
    found = potts(image, SearchRange(0, 1), weight=10, gradient_threshold=8, gradient_penalty=3)
    assert found.right.tolist() == [[10, 30, 0]]
