"""Sparse matches, the range that they and a coarse pass give, and what they say against a pair."""

import numpy as np
import pytest

from stereo_framework import Scene, SearchRange, load_scene
from stereo_framework.user_pair import search_range as module
from stereo_framework.user_pair.search_range import (
    SparseMatches,
    estimate_range,
    find_pair_problems,
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
    found = find_pair_problems(made(list(points), vertical), SearchRange(*search), **options)
    assert len(found) == (said is not None)
    assert all(text.startswith(said) for text in found)


def test_a_wide_range_is_told_by_the_map():
    disparity = np.linspace(10, 40, 600, dtype=np.float32).reshape(20, 30)
    points = made(list(range(10, 41)))
    [doubt] = find_pair_problems(points, SearchRange(0, 100), disparity)
    assert doubt.startswith(
        "the range may be wider than needed: 99.5 % of the map lie within 10:40 of 0:100"
    )
    assert find_pair_problems(points, SearchRange(0, 60), disparity) == []


@pytest.mark.parametrize(
    ("points", "vertical", "search", "beginning"),
    [
        # Rows are one pixel apart in the median.
        (FORTY, 1.0, (0, 50), None),
        (FORTY, 1.0625, (0, 50), "the pair may not be rectified"),
        (FORTY, -1.0625, (0, 50), "the pair may not be rectified"),
        # A tenth of the points lie outside. Points at the ends of the range lie inside.
        (FORTY, 0, (1, 36), None),
        (FORTY, 0, (5, 40), None),
        (FORTY, 0, (1, 35), "the range may be too narrow: 12 %"),
        (FORTY, 0, (6, 40), "the range may be too narrow: 12 %"),
        # Nine tenths of the points have a disparity below 0; those at 0 do not.
        (range(-36, 4), 0, (0, 50), "the range may be too narrow: 90 %"),
        (range(-37, 3), 0, (0, 50), "the images may be exchanged: 92 %"),
        # Twenty matches are enough for conclusions.
        (range(20), 0, (30, 50), "the range may be too narrow: 100 %"),
        (range(19), 0, (30, 50), "the images may show different scenes"),
    ],
)
def test_doubts_begin_beyond_their_thresholds(points, vertical, search, beginning):
    lines = find_pair_problems(made(list(points), vertical), SearchRange(*search))
    assert [line[: len(beginning or "")] for line in lines] == ([beginning] if beginning else [])


def test_a_map_that_uses_two_fifths_of_the_range_is_no_reason_for_a_narrower_one():
    disparity = np.repeat(np.float32([[10, 50]]), 100, axis=1)
    points = made(list(range(10, 51)))
    assert find_pair_problems(points, SearchRange(0, 100), disparity) == []
    [line] = find_pair_problems(points, SearchRange(0, 101), disparity)
    assert line.startswith("the range may be wider than needed")
    assert find_pair_problems(points, SearchRange(0, 101), disparity, estimated=True) == []


def test_matched_points_need_two_others_with_similar_disparities():
    # The spread is 100 pixels, so that disparities up to two pixels apart are similar.
    alone, two, three = [100], [40, 42], [20, 22, 24]
    sparse = made([0, 0, 0, *three, *two, *alone])
    assert sparse.along_rows.tolist() == [0, 0, 0, 22]


@pytest.mark.parametrize(("size", "vertical"), [(1.0, 1.5), (1.0, -1.5), (2.0, 3.0)])
def test_matched_points_may_lie_one_and_a_half_rows_apart(size, vertical):
    sparse = made([5] * 30, vertical)
    sparse = SparseMatches(sparse.here, sparse.there, size)
    assert sparse.along_rows.size == 30
    further = made([5] * 30, vertical * 1.0625)
    further = SparseMatches(further.here, further.there, size)
    assert further.along_rows.size == 0


@pytest.mark.parametrize(
    ("columns", "points", "found", "expected"),
    [
        # Images of 240 columns are matched at full size: the margin is a pixel.
        (240, [4], (2.25, 9.75), (1, 11)),
        (240, [4], (3, 9), (2, 10)),
        # Those of 480 columns are matched at half the size: the margin is four pixels.
        (480, [4], (20.25, 90.75), (16, 95)),
        (480, [4], (20, 90), (16, 94)),
        # Disparities below 0 need matched points more than half a pixel below 0.
        (240, [-0.5], (-3, 9), (0, 10)),
        (240, [-0.5625], (-3, 9), (-4, 10)),
    ],
)
def test_an_estimated_range_is_widened_to_whole_pixels(
    monkeypatch, columns, points, found, expected
):
    monkeypatch.setattr(module, "_found", lambda *arguments: found)
    monkeypatch.setattr(module, "_CELLS", 0)
    image = np.zeros((10, columns), np.uint8)
    sparse = made(points * 20)
    assert estimate_range(Scene.from_images(image, image), sparse) == expected
