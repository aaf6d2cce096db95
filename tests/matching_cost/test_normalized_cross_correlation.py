import naive_correlation
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import STEPS, filled, image_pairs, in_threads, searches

from stereo_framework import Search
from stereo_framework.kernels.window_statistics import window_variance
from stereo_framework.matching_cost import normalized_cross_correlation

parameters = st.fixed_dictionaries(
    {
        "size": st.sampled_from([3, 2, 5, 4]),
        "form": st.sampled_from(["moravec", "standard"]),
        "interpolation": st.sampled_from(["cubic", "linear"]),
    }
)


@pytest.mark.parametrize("step", STEPS)
@given(data=st.data(), images=image_pairs(), parameters=parameters, threads=st.integers(1, 3))
def test_agrees_with_twin(step, data, images, parameters, threads):
    search = data.draw(searches([step]))
    with in_threads(threads):
        volume = normalized_cross_correlation(*images, search, **parameters)
    expected = naive_correlation.normalized_cross_correlation(*images, search, **parameters)
    assert (volume.costs.dtype, volume.search, volume.outside) == (np.float32, search, 2.0)
    # Costs up to 2 are rounded to float32 once. Thirds of a pixel and samples of float images are rounded to float32 and, where that tips
    # the balance, to another multiple of 1/4096: against standard deviations of a grey level or so.
    exact = step not in (1 / 3, 1 / 2, 1 / 4) or (step != 1 / 3 and images[0].dtype == np.uint8)
    np.testing.assert_allclose(volume.costs, expected, rtol=0, atol=2e-7 if exact else 2e-3)
    assert (volume.costs[:, ~volume.inside] == 2).all()
    assert (volume.costs >= 0).all()
    assert (volume.costs <= 2).all()


@given(values=filled((4, 9, 3), np.arange(256)), gain=st.sampled_from([1, 0.5, -0.25]), offset=st.sampled_from([0, 60]))
def test_brightness_and_contrast(values, gain, offset):
    reference = values.astype(np.float32)
    match = (gain * values + offset).astype(np.float32)
    search = Search(0, 1)
    textured = window_variance(reference, 3) > 0
    standard = normalized_cross_correlation(reference, match, search, size=3, form="standard").costs[..., 0]
    moravec = normalized_cross_correlation(reference, match, search, size=3).costs[..., 0]
    np.testing.assert_allclose(standard[textured], 1 - np.sign(gain), atol=1e-7)
    # 2 g v / (v + g^2 v)
    np.testing.assert_allclose(moravec[textured], 1 - 2 * gain / (1 + gain**2), atol=1e-7)
    assert (standard[~textured] == 1).all()
    assert (moravec[~textured] == 1).all()
