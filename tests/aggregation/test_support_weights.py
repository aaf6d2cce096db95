"""Adaptive support weights beside their twin, and what follows from their definition."""

import naive
import naive_support
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import STEPS, guided_volumes, in_threads, search_masks

from stereo_framework.aggregation import support_weights
from stereo_framework.core.volume import SearchMask

PARAMETERS = st.fixed_dictionaries(
    {
        "size": st.sampled_from([5, 3, 19]),
        "colour_scale": st.sampled_from([5.0, 40.0, 1e6, 0.5]),
        "space_scale": st.sampled_from([17.5, 1.0, 1e6]),
        "views": st.sampled_from(["both", "reference"]),
    }
)


@pytest.mark.parametrize("step", STEPS)
@given(data=st.data(), parameters=PARAMETERS, threads=st.integers(1, 2))
def test_agrees_with_twin(step, data, parameters, threads):
    volume, images = data.draw(guided_volumes(step, 8))
    mask = data.draw(search_masks(images[0].shape[:2]))
    with in_threads(threads):
        result = support_weights(volume, *images, mask, **parameters)
    is_open = naive.open_cells(mask or SearchMask(), volume.search, volume.costs.shape[:2])
    expected = naive_support.support_weights(volume.costs, volume.search, 1020, *images, is_open, **parameters)
    # Colours of up to 100 are rounded to float32, by 4e-6, which a scale of 0.5 makes 2e-5 of a weight; it is less than a share of all costs.
    np.testing.assert_allclose(result.costs, expected, rtol=1e-4, atol=1e-4)
    assert (result.search, result.outside, result.costs.dtype) == (volume.search, volume.outside, np.float32)
