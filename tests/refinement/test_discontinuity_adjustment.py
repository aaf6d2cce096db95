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


def test_only_what_is_next_to_an_edge_changes():
    # Disparity 0 costs nothing anywhere, but columns 0 to 2 form a slope.
    costs = np.full((1, 5, 6), 9)
    costs[..., 0] = 0
    # Column 4 has the neighbour 5 alone, column 3 neighbours 2 and 0.
    assert adjust([[0, 1, 2, 5, 0]], costs).tolist() == [[0, 1, 2, 0, 0]]
    assert adjust([[0, 1, 2, 5, 0]], costs, difference=0.5).tolist() == [[0, 0, 2, 0, 0]]


def test_own_disparity_wins_ties_and_of_two_neighbours_the_lower():
    assert adjust([[0, 2, 4]], [[[7] * 5] * 3]).tolist() == [[0, 2, 4]]
    assert adjust([[4, 2, 0]], [[[7] * 5, [5, 9, 6, 9, 5], [7] * 5]]).tolist() == [[4, 0, 0]]
    assert adjust([[0, 2, 4]], [[[7] * 5, [5, 9, 6, 9, 5], [7] * 5]]).tolist() == [[0, 0, 4]]


def test_fractions_count_as_the_nearest_level_and_are_taken_over_as_they_are():
    costs = np.full((1, 2, 9), 9)
    costs[0, 0, 5] = 1
    search = Search(-2, 2, 0.5)
    # -2 + 5 * 0.5 = 0.5 is the level nearest to 0.625.
    assert adjust([[2, 0.625]], costs, search=search).tolist() == [[0.625, 0.625]]


def test_holes_and_what_is_off_the_levels_stay():
    costs = np.zeros((1, 3, 3))
    costs[..., 2] = 9
    np.testing.assert_array_equal(adjust([[hole, 2, hole]], costs), [[hole, 2, hole]])
    np.testing.assert_array_equal(adjust([[7, 2, -4]], costs), [[7, 2, -4]])
