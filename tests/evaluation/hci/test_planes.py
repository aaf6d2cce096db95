"""Planes that are known, and regions that are none."""

import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation.hci import Parameters, extract_subsets, fit_plane
from stereo_framework.evaluation.hci.planes import _best_plane, _least_squares, _planar_parts


def _two_planes(rows=120, columns=200):
    y, x = np.mgrid[:rows, :columns]
    # They meet in a crease, without a jump.
    return np.where(x < 110, 20 + 0.25 * x, 47.5 - 0.125 * (x - 110) + 0.0 * y).astype(np.float32)


def test_planes_that_meet_in_a_crease():
    subsets = extract_subsets(_two_planes())
    np.testing.assert_allclose(
        subsets.plane_coefficients, [[0.25, 0, 20], [-0.125, 0, 61.25]], atol=1e-6
    )
    assert set(subsets.planes[60, 20:101]) == {1}
    assert set(subsets.planes[60, 120:180]) == {2}
    assert not (subsets.planes[~subsets.evaluated]).any()


def test_planes_keep_away_from_edges_and_unknown_and_occluded_pixels():
    truth = np.full((120, 200), 10, np.float32)
    truth[:, 100:] = 30
    truth[60, 50] = np.nan
    nonocc = np.ones(truth.shape, bool)
    nonocc[60, 150] = False
    subsets = extract_subsets(truth, nonocc, Parameters(plane_margin=5))
    row = subsets.planes[60] > 0
    assert np.flatnonzero(~row[20:180]).tolist() == [
        *range(25, 36),
        *range(74, 86),
        *range(125, 136),
    ]


@pytest.mark.parametrize("share", [0.2, 0.35])
def test_outliers_do_not_move_a_plane(share):
    y, x = np.mgrid[:120, :200]
    truth = (0.05 * x - 0.03 * y + 30).astype(np.float32)
    random = np.random.default_rng(1)
    patch = random.random(truth.shape) < share
    # A bump that bends too little to be cut out of the region, as a picture on a wall would be.
    truth[40:80, 60:90] += 0.4
    subsets = extract_subsets(truth, ~patch, Parameters(plane_bend=10, plane_margin=0, edge_jump=1))
    # Within float32 rounding of disparities up to 40: 2e-6 over the pixels of the region.
    np.testing.assert_allclose(subsets.plane_coefficients[0], [0.05, -0.03, 30], atol=1e-5)
    assert not (subsets.planes == 1)[40:80, 60:90].any()


def test_curved_surfaces_are_no_planes():
    y, x = np.mgrid[:120, :200]
    truth = (0.02 * (x - 100.0) ** 2 + 0 * y).astype(np.float32)  # bends by 0.04 a pixel
    assert not extract_subsets(truth, parameters=Parameters(edge_jump=99)).planes.any()


def test_small_planes_are_left_out():
    truth = _two_planes()
    areas = np.bincount(extract_subsets(truth).planes.ravel())[1:]
    limit = areas.min() / truth.size
    for least, expected in ((limit, 2), (limit + 1e-6, 1)):
        assert (
            len(
                extract_subsets(
                    truth, parameters=Parameters(plane_min_share=least)
                ).plane_coefficients
            )
            == expected
        )
    assert extract_subsets(
        truth, parameters=Parameters(plane_min_share=1)
    ).plane_coefficients.shape == (0, 3)


def test_the_seed_decides_and_nothing_else():
    truth = _two_planes() + np.random.default_rng(0).uniform(-0.05, 0.05, (120, 200)).astype(
        np.float32
    )
    parameters = Parameters(plane_iterations=2, plane_sample=50, plane_bend=1)
    first, again = (extract_subsets(truth, parameters=parameters) for _ in range(2))
    np.testing.assert_array_equal(first.planes, again.planes)
    np.testing.assert_array_equal(first.plane_coefficients, again.plane_coefficients)
    others = [
        extract_subsets(truth, parameters=Parameters(**{**parameters.as_dict(), "seed": seed}))
        for seed in range(1, 6)
    ]
    assert any((other.planes != first.planes).any() for other in others)


def test_least_squares_equal_numpy():
    random = np.random.default_rng(0)
    x, y, d = random.integers(0, 50, 40), random.integers(1000, 1100, 40), random.normal(size=40)
    expected = np.linalg.lstsq(np.column_stack([x, y, np.ones(40)]), d, rcond=None)[0]
    np.testing.assert_allclose(_least_squares(x, y, d), expected, rtol=1e-8)


def test_the_best_plane_through_three_pixels():
    x, y = np.array([0, 1, 0, 1, 2]), np.array([0, 0, 1, 1, 2])
    d = 1.0 + x + 2 * y
    d[4] += 5
    triples = np.array([[0, 1, 1], [0, 1, 4], [0, 1, 2], [1, 2, 3]])
    assert _best_plane(x, y, d, triples, 0.1) == (1, 2, 1)
    # Only points on one line: no plane.
    assert np.isinf(_best_plane(x, y, d, triples[:1], 0.1)[2])


def test_a_plane_needs_three_pixels():
    one = np.zeros((4, 4), np.float32)
    for mask in (np.zeros((4, 4), bool), np.eye(4, dtype=bool)):
        with pytest.raises(
            DataError, match="a plane needs three pixels or more that are not on one line"
        ):
            fit_plane(one, mask)


def test_pixels_exactly_at_the_tolerance_are_on_a_plane_and_the_first_plane_wins():
    x, y = np.array([0, 1, 0] * 3), np.array([0, 0, 1] * 3)
    d = np.repeat([0.0, 0.5, 1.0], 3)
    triples = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]])
    # Of the planes at 0, 0.5 and 1, the second one has all pixels within half a pixel.
    assert _best_plane(x, y, d, triples, 0.5) == (0, 0, 0.5)
    assert _best_plane(x, y, d, triples, 0.25) == (0, 0, 0)
    assert _best_plane(x, y, d, triples[::-1], 0.25) == (0, 0, 1)


def test_pixels_exactly_at_the_tolerance_belong_to_a_planar_part():
    disparity = np.zeros((9, 9))
    # The four errors cancel each other, so that the plane of least squares is level.
    disparity[[2, 6], [2, 6]], disparity[[2, 6], [6, 2]] = 0.5, -0.5
    everywhere = np.ones((9, 9), bool)
    random = np.random.default_rng(0)
    for tolerance, count in ((0.5, 81), (0.4375, 77)):
        parts = _planar_parts(disparity, everywhere, 70, tolerance, random, Parameters())
        assert [np.count_nonzero(part) for part in parts] == [count]
