"""Sparse matches, the range that they and a coarse pass give, and what they say against a pair."""

import numpy as np
import pytest

from stereo_framework import Scene, Search, load_scene
from stereo_framework.own_pair.search_range import (
    SparseMatches,
    doubts,
    estimate_range,
    sparse_matches,
)


@pytest.fixture(scope="module")
def scene():
    return load_scene("synthetic/planes")


@pytest.fixture(scope="module")
def sparse(scene):
    return sparse_matches(scene)


def made(disparities, vertical=0.0):
    disparities = np.asarray(disparities, np.float32)
    here = np.column_stack([disparities, np.zeros_like(disparities)])
    return SparseMatches(
        here,
        np.column_stack(
            [np.zeros_like(disparities), np.full(disparities.shape, vertical, np.float32)]
        ),
        1.0,
    )


def test_sparse_matches_lie_on_the_surfaces(scene, sparse):
    points = sparse.along_rows
    assert points.size > 100
    truth = np.sort(scene.truth[np.isfinite(scene.truth)])
    # SIFT places points to about a third of a pixel.
    nearest = truth[np.clip(np.searchsorted(truth, points), 1, truth.size - 1)]
    assert np.mean(np.abs(nearest - points) < 1) > 0.95


@pytest.mark.parametrize("name", ["synthetic/planes", "middlebury2003/teddy"])
def test_the_range_covers_the_truth_and_little_more(name, data):
    """Of teddy too, whose nearest ground fills three rows at the lower border: half a percent of the truth."""
    scene = load_scene(name, data=data)
    low, high = estimate_range(scene, sparse_matches(scene))
    truth = scene.truth[np.isfinite(scene.truth)]
    assert np.mean((truth >= low) & (truth <= high)) >= 0.995
    assert high - low <= 1.3 * (truth.max() - truth.min())


def test_pixels_without_data_do_not_count(scene):
    # Stripes that lie still in both images, as a border of one colour does, would be matched at 0.
    bands = np.random.default_rng(3).integers(0, 255, (240, 80, 1), dtype=np.uint8)
    images, mask = (
        [image.copy() for image in (scene.reference, scene.match)],
        np.ones((240, 320), bool),
    )
    mask[:, :80] = False
    for image in images:
        image[:, :80] = bands
    masked, whole = (
        Scene.from_images(*images, left_mask=mask, right_mask=mask),
        Scene.from_images(*images),
    )
    seen = sparse_matches(masked)
    assert (np.abs(seen.along_rows) > 1).all()
    assert not (np.abs(sparse_matches(whole).along_rows) > 1).all()
    assert estimate_range(masked, seen)[0] > 0
    assert estimate_range(whole, seen)[0] <= 0


def test_without_sparse_matches_a_wide_range_is_tried(scene):
    low, high = estimate_range(scene, made([]))
    truth = scene.truth[np.isfinite(scene.truth)]
    assert np.mean((truth >= low) & (truth <= high)) >= 0.995
    assert (low, high) != (-0.1 * 320, 0.4 * 320)


SHIFTED = "the images may be exchanged: 100 % of 40 matched points have a disparity below 0"
APART = "40 matched points lie 2.5 rows apart in the median; "
FORTY, NEGATIVE = range(1, 41), range(-40, 0)


@pytest.mark.parametrize(
    ("points", "vertical", "search", "options", "said"),
    [
        (FORTY, 0, (0, 50), {}, None),
        (FORTY, 2.5, (0, 50), {}, f"the pair may not be rectified: {APART}'match --rectify"),
        (
            FORTY,
            2.5,
            (0, 50),
            {"rectified": True},
            f"the pair may still not be rectified: {APART}the calibration given with --rectify may be that of other images",
        ),
        (
            FORTY,
            0,
            (0, 30),
            {},
            "the range may be too narrow: 25 % of 40 matched points lie outside 0:30; try --disparities 1:40",
        ),
        (NEGATIVE, 0, (0, 50), {}, SHIFTED),
        (NEGATIVE, 0, (-50, 0), {}, None),
        (NEGATIVE, 0, (-50, 0), {"estimated": True}, SHIFTED),
        (
            range(3),
            0,
            (0, 50),
            {},
            "the images may show different scenes, or too little texture: 3 points",
        ),
    ],
)
def test_doubts(points, vertical, search, options, said):
    found = doubts(made(list(points), vertical), Search(*search), **options)
    assert len(found) == (said is not None)
    assert all(text.startswith(said) for text in found)


def test_a_wide_range_is_told_by_the_map():
    disparity = np.linspace(10, 40, 600, dtype=np.float32).reshape(20, 30)
    points = made(list(range(10, 41)))
    [doubt] = doubts(points, Search(0, 100), disparity)
    assert doubt.startswith(
        "the range may be wider than needed: 99.5 % of the map lie within 10:40 of 0:100"
    )
    assert doubts(points, Search(0, 60), disparity) == []
