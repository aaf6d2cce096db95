"""Distances to a reference map, their intervals and what is undecided."""

import numpy as np
import pytest

from stereo_framework import evaluate, load_scene
from stereo_framework.core.errors import DataError
from stereo_framework.evaluation.truth_free import distance, standings

ROWS, COLUMNS = 96, 128


@pytest.fixture(scope="module")
def reference():
    disparity = np.full((ROWS, COLUMNS), 7, np.float32)
    disparity[:32] = np.nan
    return disparity


def _off(reference, columns, by=3.0):
    """A map that is off the reference in so many of the 32 columns of each block."""
    disparity = np.where(np.isfinite(reference), reference, np.float32(0))
    disparity[:, np.arange(COLUMNS) % 32 < columns] += np.float32(by)
    return disparity


def test_distance_counts_the_references_pixels_alone(reference):
    assert distance(_off(reference, 8), reference) == 25
    assert distance(_off(reference, 8, by=1.0), reference) == 0
    assert distance(_off(reference, 8, by=1.0), reference, 0.5) == 25
    holes = reference.copy()
    holes[:, :16] = np.nan
    assert distance(holes, reference) == 12.5


def test_lowest_first_and_undecided(reference):
    maps = {"worst": _off(reference, 24), "best": _off(reference, 1), "second": _off(reference, 2)}
    found = standings(maps, reference)
    assert [(s.name, s.distance) for s in found] == [("best", 3.125), ("second", 6.25), ("worst", 75.0)]
    # In every block the second map has twice the errors of the first.
    assert [s.undecided for s in found] == [True, False, False]
    # Where the errors lie in two of the eight blocks, one drawing in ten, (6/8)^8, takes neither: too many to be sure.
    aside = {"none": reference, "some": np.where(np.arange(COLUMNS) < 4, reference + 3, reference)}
    assert [s.undecided for s in standings(aside, reference)] == [True, True]
    # Twice the floor, 6.26: nothing below it is decided.
    assert [s.undecided for s in standings(maps, reference, floor=3.13)] == [True, True, False]
    assert [s.undecided for s in standings(maps, reference, floor=3.12)] == [True, False, False]


def test_the_interval_is_that_of_the_blocks(reference):
    # Errors in one of eight blocks: of eight drawings each takes it with 1/8; the share's standard deviation is sqrt(1/8 * 7/8 / 8).
    one = np.where(np.isfinite(reference), reference, np.float32(0)).copy()
    one[32:64, :32] += 5
    [found] = standings({"one": one}, reference)
    # 400 drawings know a standard deviation to 1 / sqrt(800) of it; three times that.
    assert found.half_width == pytest.approx(196 * np.sqrt(7 / 512), rel=0.11)


def test_refused(reference):
    with pytest.raises(DataError, match="small: 64x32 pixels; the reference map is 128x96"):
        standings({"small": np.zeros((32, 64), np.float32)}, reference)
    with pytest.raises(DataError, match="no pixel that both views agree about"):
        standings({"a": reference}, np.full_like(reference, np.nan))


def test_statistics_under_the_protocol():
    scene = load_scene("synthetic/planes")
    reference = np.where(np.arange(scene.truth.shape[1]) < 80, np.float32(np.nan), scene.truth)
    statistics = evaluate(scene.truth + np.float32(0.75), scene, "truthfree-1", reference=reference)
    known = np.isfinite(reference).mean()
    assert statistics["reference_distance"] == 0
    assert statistics["reference_distance_0.5"] == 100
    assert statistics["reference_distance_mean"] == pytest.approx(0.75, rel=1e-5)
    assert statistics["reference_consistent"] == pytest.approx(100 * known)
    assert not any(name.startswith("bad_pixels") for name in statistics)
    assert not any(name.startswith("reference") for name in evaluate(scene.truth, scene, "truthfree-1"))
