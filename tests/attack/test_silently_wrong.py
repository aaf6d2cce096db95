"""Numbers that nobody would doubt and that were wrong: each of these gave another one without a word."""

from dataclasses import replace

import numpy as np
import pytest
from naive import fine_row

from stereo_framework import CostVolume, Energy, Pipeline, Search, load_scene
from stereo_framework.aggregation import cross_based
from stereo_framework.matching_cost import census, normalized_cross_correlation
from stereo_framework.optimization import semi_global, winner_take_all
from stereo_framework.refinement import equiangular, parabola
from stereo_framework.volume import Domain, Held


@pytest.fixture(scope="module")
def slanted():
    return load_scene("synthetic/slanted")


@pytest.mark.parametrize("refinement", [parabola, equiangular])
def test_the_marker_of_closed_cells_is_no_cost(refinement):
    # The winner's right neighbour is closed; with the marker as its cost the curve's vertex lies half a level further left.
    costs = np.array([[[9, 1, 1e6, 9]]], np.float32)
    domain = Domain(high=np.array([[1]], np.float32))
    volume, winner = CostVolume(costs, Search(0, 3), 255.0), np.array([[1]], np.float32)
    assert refinement(winner, volume)[0, 0] == pytest.approx(0.5, abs=1e-3)
    assert refinement(winner, volume, domain)[0, 0] == 1
    # An open neighbourhood is refined as ever.
    assert refinement(winner, volume, Domain(high=np.array([[2]], np.float32)))[0, 0] == refinement(winner, volume)[0, 0]


@pytest.mark.parametrize("refinement", [parabola, equiangular])
def test_ranges_around_the_truth_do_not_push_sub_pixel_estimates_out_of_them(slanted, refinement):
    nearest = np.rint(slanted.truth)
    pair = slanted.reference_index, slanted.match_index
    narrow = replace(slanted, ranges={pair: lambda: (nearest, nearest + 1)})
    whole, moved = (Pipeline(census, semi_global, refinement=some)(narrow).disparity for some in ((), refinement))
    error, moved_error = (np.sqrt(np.nanmean((found - slanted.truth) ** 2)) for found in (whole, moved))
    # Both levels of a pixel have a closed neighbour, so nothing may move; half a level too far would nearly double the error.
    np.testing.assert_array_equal(moved, whole)
    assert moved_error == error


NANS = [np.array([bits], np.uint32).view(np.float32)[0] for bits in (0x7FC00000, 0xFFC00000)]


@pytest.mark.parametrize("nan", NANS, ids=["NaN", "-NaN"])
def test_nan_never_wins(nan):
    costs = np.full((6, 40, 24), 5, np.float32)
    costs[..., 7] = 1
    costs[3, 20, [0, 12]] = nan
    image = np.zeros((6, 40), np.uint8)
    energy = Energy(CostVolume(costs, Search(0, 23), 9.0))
    assert (winner_take_all(energy).labels == 7).all()
    found = semi_global(energy, image, image)
    assert (found.labels == 7).all()
    assert np.isfinite(found.volume.costs).all()


@pytest.mark.parametrize("nan", NANS, ids=["NaN", "-NaN"])
def test_nan_never_wins_in_a_compact_volume(nan):
    held = Held(np.array([0, 1]), np.array([8], np.int16), (1, 1), 8, False)
    costs = np.array([[nan, 3, nan, 2, 4, 5, 6, nan]], np.float32)
    volume = CostVolume(costs, Search(0, 31), 9.0, held)
    assert winner_take_all(Energy(volume)).labels.tolist() == [[11]]


def test_minus_infinity_still_beats_every_number():
    costs = np.array([[[-1, -np.inf, np.nan, np.inf]]], np.float32)
    assert winner_take_all(Energy(CostVolume(costs, Search(0, 3), 9.0))).labels.tolist() == [[1]]


def test_correlation_samples_between_the_outermost_pixels_as_every_cost_does():
    row = np.random.default_rng(3).integers(0, 256, 16).astype(np.float32)
    half_way = np.array(fine_row(row, 2, True, False)[1::2], np.float32)
    reference, match = (np.tile(values, (5, 1)) for values in (np.append(half_way, 0).astype(np.float32), row))
    costs = normalized_cross_correlation(reference, match, Search(-0.5, 0, 0.5), size=3).costs
    # All windows of whole samples, those of the outermost ones too, are equal at -0.5; samples are rounded to 1/4096 grey level.
    np.testing.assert_allclose(costs[2, 1:-2, 0], 0, atol=1e-6)


@pytest.mark.parametrize("outside", [1e5, 1e9, 1e30])
def test_a_large_cost_of_cells_out_of_view_takes_no_precision_from_the_others(outside):
    random = np.random.default_rng(0)
    image = random.integers(0, 60, (20, 40), dtype=np.uint8)
    costs, search = random.random((20, 40, 5)).astype(np.float32), Search(0, 4)
    seen = search.in_view(40)
    expected, found = (cross_based(CostVolume(costs, search, rest), image, image).costs[:, seen] for rest in (1.0, outside))
    # Two rounding errors of float32 at 1.
    np.testing.assert_allclose(found, expected, rtol=0, atol=2.4e-7)
