"""Fine structures against their slow twins, and by hand."""

import naive_hci
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stereo_framework.evaluation.hci import Parameters
from stereo_framework.evaluation.hci.structures import find_structures

NAN = np.nan


def _bars(shape):
    """Maps of few disparities, as bars and holes."""
    return hnp.arrays(np.float32, shape, elements=st.sampled_from([1, 1, 1, 5, 5, 5.5, 9, NAN]), fill=st.nothing())


@given(
    st.tuples(st.integers(1, 6), st.integers(1, 12)).flatmap(_bars),
    st.sampled_from([1.0, 4.0]),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from([1.0, 2.5]),
    st.integers(0, 3),
)
def test_structures_equal_their_twins(truth, jump, widest, least, around, border):
    parameters = Parameters(edge_jump=jump, structure_width=widest, structure_height=least, neighbourhood_width=around)
    evaluated = ~np.isnan(truth)
    evaluated[:, :border] = False
    found = find_structures(truth, evaluated, parameters)
    labels = found.structures
    sets = {frozenset(naive_hci.pixels(labels == i)) for i in range(1, labels.max() + 1)}
    assert sets == naive_hci.structures(truth, evaluated, jump, widest, least)
    expected = naive_hci.neighbourhood(truth, labels, jump, around)
    np.testing.assert_array_equal(found.neighbourhood_disparity, expected)
    np.testing.assert_array_equal(found.neighbourhood, ~np.isnan(expected))


def _grid(*starts, width=3, columns=40):
    truth = np.full((30, columns), 2, np.float32)
    for start in starts:
        truth[8:22, start : start + width] = 9
    return truth


def _find(truth, **parameters):
    return find_structures(truth, ~np.isnan(truth), Parameters(**parameters))


def test_bars_are_separate_objects():
    found = _find(_grid(10, 17, 24))
    assert found.structures.max() == 3
    assert [np.flatnonzero(found.structures[15] == i).tolist() for i in (1, 2, 3)] == [[10, 11, 12], [17, 18, 19], [24, 25, 26]]
    # As wide as the bar on each side; the bar's own disparity.
    assert np.flatnonzero(found.neighbourhood[15]).tolist() == [7, 8, 9, 13, 14, 15, 16, 20, 21, 22, 23, 27, 28, 29]
    assert set(found.neighbourhood_disparity[found.neighbourhood]) == {9}
    assert not found.neighbourhood[5].any()


def test_wide_short_and_far_things_are_no_structures():
    assert not _find(_grid(10, width=6)).structures.any()
    assert _find(_grid(10, width=5)).structures.any()
    assert not _find(_grid(10), structure_height=15).structures.any()
    assert _find(_grid(10), structure_height=14).structures.any()
    slit = 11 - _grid(10)  # a thin thing that is further away
    assert not _find(slit).structures.any()
    at_the_edge = _grid(0)  # one step only
    assert not _find(at_the_edge).structures.any()


def test_the_neighbourhood_ends_at_other_foreground():
    truth = _grid(10)
    truth[:, 14:] = 8.5
    found = _find(truth)
    assert np.flatnonzero(found.neighbourhood[15]).tolist() == [7, 8, 9, 13]
    # Every bar reaches for its half: the middle belongs to the left one.
    truth = _grid(10, 16)
    truth[:, 16:19][8:22] = 11
    assert _find(truth).neighbourhood_disparity[15, 13:16].tolist() == [9, 9, 11]


def test_slanted_bars_hang_together_across_corners():
    truth = np.full((30, 60), 2, np.float32)
    for y in range(5, 25):
        truth[y, 20 + y] = 9
    assert _find(truth).structures.max() == 1
