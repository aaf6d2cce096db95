"""Discontinuities and bands against their slow twins."""

import naive_hci
import numpy as np
import pytest
from evaluation_inputs import disparity_maps
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stereo_framework.evaluation.hci import Parameters
from stereo_framework.evaluation.hci.edges import distance_to, find_edges, nearest_values

SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 10))
MASKS = SHAPES.flatmap(lambda shape: hnp.arrays(np.bool_, shape))


@given(MASKS)
def test_distances_equal_their_twin(mask):
    found = distance_to(mask)
    for y, x in np.ndindex(mask.shape):
        expected = (
            naive_hci.squared_distance(mask, y, x) ** 0.5 if mask.any() else np.hypot(*mask.shape)
        )
        assert abs(found[y, x] - expected) < 1e-5  # float32


@given(MASKS, st.integers(0, 99))
def test_nearest_values_are_those_of_a_nearest_pixel(mask, seed):
    values = (
        np.random.default_rng(seed).permutation(mask.size).reshape(mask.shape).astype(np.float32)
    )
    found = nearest_values(values, mask)
    for y, x in np.ndindex(mask.shape):
        if mask.any():
            assert found[y, x] in naive_hci.values_of_nearest(values, mask, y, x)
        else:
            assert np.isnan(found[y, x])


@given(
    disparity_maps(SHAPES),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.integers(0, 3),
    st.sampled_from([1, 3, 5]),
)
def test_edges_and_bands_equal_their_twins(truth, jump, width, side):
    found = find_edges(truth, Parameters(edge_jump=jump, band_width=width, band_median=side))
    near, far = naive_hci.edge_sides(truth, jump)
    np.testing.assert_array_equal(found.edges, near | far)
    f, b = nearest_values(truth, near), nearest_values(truth, far)
    foreground, background = naive_hci.bands(truth, jump, width, side, f, b)
    np.testing.assert_array_equal(found.foreground, foreground)
    np.testing.assert_array_equal(found.background, background)
    within = foreground | background
    np.testing.assert_array_equal(found.foreground_disparity, np.where(within, f, np.nan))
    np.testing.assert_array_equal(found.background_disparity, np.where(within, b, np.nan))
    assert not (foreground & background).any()
    assert not np.isnan(truth[within]).any()


@pytest.mark.parametrize(("width", "reach"), [(1, 1), (1.4, 1), (1.6, 2), (2, 2), (2.6, 3)])
def test_bands_reach_the_rounded_width_from_the_discontinuity(width, reach):
    truth = np.repeat(np.float32([[1, 9]]), 6, axis=1)
    edges = find_edges(truth, Parameters(edge_jump=2, band_width=width, band_median=1))
    # Both pixels at the discontinuity have the distance 0.
    assert np.flatnonzero(edges.background).tolist() == list(range(5 - reach, 6))
    assert np.flatnonzero(edges.foreground).tolist() == list(range(6, 7 + reach))
