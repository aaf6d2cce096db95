import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_inputs import in_threads, volumes

from stereo_framework import CostVolume, Search
from stereo_framework.refinement import equiangular


def refine(costs, level, *, search=None, kind=np.float32):
    """The refined disparity of one pixel."""
    search = search or Search(0, len(costs) - 1)
    volume = CostVolume(np.array([[costs]], kind), search, 255.0)
    return float(equiangular(np.array([[search.disparities[level]]], np.float32), volume)[0, 0])


@given(data=st.data(), volume=volumes(), threads=st.integers(1, 3))
def test_agrees_with_twin(data, volume, threads):
    search = volume.search
    on_level = st.sampled_from(search.disparities.tolist())
    elsewhere = st.sampled_from(
        [np.nan, search.minimum - search.step, search.maximum + search.step, search.minimum + 0.3 * search.step]
    )
    disparity = data.draw(hnp.arrays(np.float32, volume.costs.shape[:2], elements=(on_level | elsewhere).map(np.float32)))
    with in_threads(threads):
        refined = equiangular(disparity, volume)
    assert refined.dtype == np.float32
    # Few operations in float32, which rounds to 6e-8.
    np.testing.assert_allclose(refined, naive.equiangular(disparity, volume.costs, search), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.uint8, np.uint16])
def test_offsets(kind):
    # (9 - 5) / (2 * 8), (5 - 9) / (2 * 8).
    assert refine([9, 1, 5], 1, kind=kind) == 1.25
    assert refine([5, 1, 9], 1, kind=kind) == 0.75
    assert refine([3, 1, 3], 1, kind=kind) == 1
    assert refine([9, 1, 1], 1, kind=kind) == 1.5
    assert refine([9, 1, 5], 1, search=Search(-1, 0, 0.5), kind=kind) == -0.375
    assert refine([9, 1, 5], 1, search=Search(4, 12, 4), kind=kind) == 9
