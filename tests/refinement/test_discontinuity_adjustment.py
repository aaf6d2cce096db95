import naive_refinement
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import filled, in_threads, searches, volumes

from stereo_framework import CostVolume, Search
from stereo_framework.refinement import discontinuity_adjustment

hole = np.nan


def adjust(disparity, costs, *, search=None, kind=np.float32, **parameters):
    costs = np.array(costs, kind)
    volume = CostVolume(costs, search or Search(0, costs.shape[2] - 1), 99.0)
    return discontinuity_adjustment(np.array(disparity, np.float32), volume, **parameters)


@given(
    data=st.data(),
    # All disparities are exact in float32, so that both subtract without rounding.
    volume=volumes(searches([1, 1 / 2, 2, 1 / 4])),
    whole=st.booleans(),
    difference=st.sampled_from([1, 0, 0.5, 3]),
    threads=st.integers(1, 3),
)
def test_agrees_with_twin(data, volume, whole, difference, threads):
    search = volume.search
    if whole:
        # Few different costs, so that many are equal.
        volume = CostVolume((volume.costs % 3).astype(np.uint8), search, 2.0)
    off = [hole, search.minimum - search.step, search.maximum + 2 * search.step, search.minimum + 0.25 * search.step]
    values = np.array([*search.disparities.tolist(), *off])
    disparity = data.draw(filled(volume.costs.shape[:2], values)).astype(np.float32)
    with in_threads(threads):
        adjusted = discontinuity_adjustment(disparity, volume, difference=difference)
    expected = naive_refinement.discontinuity_adjustment(disparity, volume.costs, search, difference)
    np.testing.assert_array_equal(adjusted, expected, strict=True)


@pytest.mark.parametrize("kind", [np.float32, np.uint8, np.uint16])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_ragged_edge_becomes_straight(kind, transposed):
    # A far surface at 0 and a near one at 4, which begins at the third column; in the second row it was found to begin at the second.
    true = np.array([[0, 0, 4, 4]] * 3)
    found = true.copy()
    found[1, 1] = 4
    costs = np.full((3, 4, 5), 9)
    np.put_along_axis(costs, true[..., None], 2, axis=2)
    if transposed:
        true, found, costs = true.T, found.T, costs.transpose(1, 0, 2)
    np.testing.assert_array_equal(adjust(found, costs, kind=kind), true)
