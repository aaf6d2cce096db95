"""The blur against its slow version."""

import naive_diffusion
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stereo_framework.core.errors import ParameterError
from stereo_framework.preprocessing import binomial_blur

shapes = st.sampled_from([(1, 1), (1, 5), (4, 1), (3, 4), (5, 6, 3)])


@given(image=shapes.flatmap(lambda shape: hnp.arrays(np.uint8, shape)), iterations=st.integers(1, 3))
def test_both_types_agree_with_the_slow_version(image, iterations):
    expected = naive_diffusion.filtered(image, np.array([1, 2, 1]) / 4, iterations)
    # Sums of 64ths and their powers up to 255: exact in float32.
    np.testing.assert_array_equal(binomial_blur(image.astype(np.float32), iterations=iterations), expected)
    result = binomial_blur(image, iterations=iterations)
    assert result.dtype == np.uint8
    np.testing.assert_array_equal(result, np.rint(expected))


def test_no_iterations():
    with pytest.raises(ParameterError, match="binomial_blur.iterations: 0"):
        binomial_blur(np.zeros((2, 2), np.uint8), iterations=0)
