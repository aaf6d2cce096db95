import naive_correlation
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import KINDS_OF_STEPS, image_pairs, in_threads, searches

from stereo_framework.matching_cost import normalized_cross_correlation

parameters = st.fixed_dictionaries(
    {
        "size": st.sampled_from([3, 2, 5, 4]),
        "form": st.sampled_from(["moravec", "standard"]),
        "interpolation": st.sampled_from(["cubic", "linear"]),
    }
)


@pytest.mark.parametrize("steps", KINDS_OF_STEPS)
@given(data=st.data(), images=image_pairs(), parameters=parameters, threads=st.integers(1, 3))
def test_agrees_with_twin(steps, data, images, parameters, threads):
    search = data.draw(searches(steps))
    with in_threads(threads):
        volume = normalized_cross_correlation(*images, search, **parameters)
    expected = naive_correlation.normalized_cross_correlation(*images, search, **parameters)
    assert (volume.costs.dtype, volume.search, volume.outside_cost) == (np.float32, search, 2.0)
    # Costs up to 2 are rounded to float32 once. Thirds of a pixel and samples of float images are rounded to float32 and, where that tips
    # the balance, to another multiple of 1/4096: against standard deviations of a grey level or so.
    exact = steps == (1, 2, 3) or (steps != (1 / 3,) and images[0].dtype == np.uint8)
    np.testing.assert_allclose(volume.costs, expected, rtol=0, atol=2e-7 if exact else 2e-3)
    assert (volume.costs[:, ~volume.inside] == 2).all()
    assert (volume.costs >= 0).all()
    assert (volume.costs <= 2).all()
