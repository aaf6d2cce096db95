import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_inputs import in_threads, volumes

from stereo_framework import CostVolume, Search
from stereo_framework.refinement import parabola


def refine(costs, level, *, search=None, **parameters):
    """The refined disparity of one pixel."""
    search = search or Search(0, len(costs) - 1)
    volume = CostVolume(np.array([[costs]], np.float32), search, 255.0)
    return float(parabola(np.array([[search.disparities[level]]], np.float32), volume, **parameters)[0, 0])


@given(data=st.data(), volume=volumes(), limit=st.sampled_from([0.25, 0.5, 1.0]), threads=st.integers(1, 3))
def test_agrees_with_twin(data, volume, limit, threads):
    search = volume.search
    on_level = st.sampled_from([*search.disparities.tolist(), search.disparities[0].item(), search.disparities[-1].item()])
    elsewhere = st.sampled_from(
        [np.nan, search.minimum - search.step, search.maximum + search.step, search.minimum + 0.3 * search.step]
    )
    disparity = data.draw(hnp.arrays(np.float32, volume.costs.shape[:2], elements=(on_level | elsewhere).map(np.float32)))
    with in_threads(threads):
        refined = parabola(disparity, volume, limit=limit)
    expected = naive.parabola(disparity, volume.costs, search, limit)
    assert refined.dtype == np.float32
    np.testing.assert_allclose(refined, expected, rtol=1e-6, atol=1e-6)


def test_vertex():
    # a = (9 + 3) / 2 - 1 = 5, b = (3 - 9) / 2 = -3: offset 3 / 10.
    assert refine([9, 1, 3], 1) == pytest.approx(1.3)
    assert refine([3, 1, 3], 1) == 1
    assert refine([9, 1, 3], 1, search=Search(-1, 0, 0.5)) == pytest.approx(-0.5 + 0.15)
    assert refine([9, 1, 3], 1, search=Search(4, 12, 4)) == pytest.approx(8 + 1.2)


@pytest.mark.parametrize(("limit", "expected"), [(0.5, 0), (0.66, 0), (0.67, 1 / 3), (1.0, 1 / 3)])
def test_centre_moves_inward_at_the_range_ends(limit, expected):
    # Around level 1: a = 3, b = 4, offset -2/3 from level 1.
    assert refine([1, 2, 9], 0, limit=limit) == pytest.approx(expected)
    assert refine([9, 2, 1], 2, limit=limit) == pytest.approx(2 - expected)


def test_large_ranges_stay_exact():
    # float32 disparities near 1000 are coarse, but still recognized as levels.
    costs = np.full(3001, 9, np.float32)
    costs[2999:] = 1, 3
    assert refine(costs, 2999, search=Search(0, 1000, 1 / 3)) == pytest.approx(2999 / 3 + 0.1, abs=1e-4)
