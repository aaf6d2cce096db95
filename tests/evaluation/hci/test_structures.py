"""Fine structures against their slow twins, and by hand."""

import naive_hci
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereo_framework.evaluation.hci import Parameters
from stereo_framework.evaluation.hci.structures import find_structures

NAN = np.nan


@st.composite
def _bars(draw):
    """Maps of few disparities, as bars and holes that go on from row to row, a pixel aside here and there."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = np.float32([1, 1, 1, 5, 5, 5.5, 9, NAN])
    rows, columns = draw(st.sampled_from([5, 4, 3, 1])), draw(st.sampled_from([16, 12, 7, 1]))
    row = np.repeat(rng.choice(values, columns), rng.integers(1, 5, columns))[:columns]
    truth = np.array([np.roll(row, shift) for shift in np.cumsum(rng.choice([0, 0, 1, -1], rows))])
    return np.where(
        rng.random(truth.shape) < draw(st.sampled_from([0.1, 0])),
        rng.choice(values, truth.shape),
        truth,
    )


@given(
    _bars(),
    st.sampled_from([1.0, 4.0]),
    st.integers(1, 6),
    st.integers(1, 3),
    st.sampled_from([1.0, 2.5]),
    st.integers(0, 3),
)
def test_structures_equal_their_twins(truth, jump, widest, least, around, border):
    parameters = Parameters(
        edge_jump=jump, structure_width=widest, structure_height=least, neighbourhood_width=around
    )
    evaluated = ~np.isnan(truth)
    evaluated[:, :border] = False
    found = find_structures(truth, evaluated, parameters)
    labels = found.structures
    sets = {frozenset(naive_hci.pixels(labels == i)) for i in range(1, labels.max() + 1)}
    assert sets == naive_hci.structures(truth, evaluated, jump, widest, least)
    expected = naive_hci.neighbourhood(truth, labels, jump, around)
    np.testing.assert_array_equal(found.neighbourhood_disparity, expected)
    np.testing.assert_array_equal(found.neighbourhood, ~np.isnan(expected))


def test_bars_of_a_grid():
    truth = np.full((30, 40), 2, np.float32)
    for start, disparity in ((10, 9), (16, 11), (24, 9)):
        truth[8:22, start : start + 3] = disparity
    found = find_structures(truth, truth > 0, Parameters())
    assert [np.flatnonzero(found.structures[15] == i).tolist() for i in (1, 2, 3)] == [
        [10, 11, 12],
        [16, 17, 18],
        [24, 25, 26],
    ]
    # As wide as the bar on each side; in the middle between two it is that of the left one. The bar's own disparity.
    assert np.flatnonzero(found.neighbourhood[15]).tolist() == [
        7,
        8,
        9,
        13,
        14,
        15,
        19,
        20,
        21,
        22,
        23,
        27,
        28,
        29,
    ]
    assert found.neighbourhood_disparity[15, 13:16].tolist() == [9, 9, 11]
    assert found.neighbourhood_disparity[15, 19:24].tolist() == [11, 11, 11, 9, 9]
    assert not found.neighbourhood[5].any()
    # They are 14 rows high.
    assert not find_structures(truth, truth > 0, Parameters(structure_height=15)).structures.any()


@pytest.mark.parametrize(("beside", "is_far"), [(5.0, False), (4.5, True)])
def test_a_neighbourhood_ends_where_the_surface_is_only_the_jump_further_away(beside, is_far):
    truth = np.float32([[1, beside, 1, 9, 9, 1, beside, 1]])
    parameters = Parameters(
        edge_jump=4, structure_width=4, structure_height=1, neighbourhood_width=2
    )
    structures = find_structures(truth, truth > 0, parameters)
    expected = [False, is_far, True, False, False, True, is_far, False]
    assert structures.neighbourhood.tolist() == [expected]
