"""Regions and errors against whole matching tables of cells, by hand, and on real scenes."""

import naive_roc
import numpy as np
import pytest
from evaluation_inputs import make_scene
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import in_threads

from stereo_framework import load_scene
from stereo_framework.core.errors import DataError
from stereo_framework.evaluation.roc import map_errors, matching_table, scene_table
from stereo_framework.evaluation.roc.matching_table import VISIBLE
from stereo_framework.sweep.outside import find_maps, measure_map

NAN = np.nan


def _counts(errors):
    return (errors.mismatches, errors.false_positives, errors.false_negatives, errors.correspondences, errors.pixels)


@st.composite
def _tables(draw):
    """A truth of smooth pieces with jumps and unknown stretches, perhaps one of the match frame, and a map of matches near and far."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, columns = draw(st.sampled_from([3, 2, 1])), draw(st.sampled_from([16, 12, 7, 3, 1]))

    def pieces():
        steps = rng.choice([0, 0, 0.25, -0.25, 1, -1, 3, -4], (rows, columns))
        truth = np.clip(rng.integers(-1, 6, (rows, 1)) + np.cumsum(steps, axis=1), -3, 8)
        truth[rng.random((rows, columns)) < draw(st.sampled_from([0.1, 0, 0.4]))] = NAN
        return truth.astype(np.float32)

    truth = pieces()
    match_truth = None
    if draw(st.booleans()):
        # Mostly what the reference frame says, so that they agree here and there.
        match_truth = pieces()
        for y, x in zip(*np.nonzero(np.isfinite(truth)), strict=True):
            j = naive_roc.column(x, truth[y, x])
            if 0 <= j < columns and rng.random() < 0.8:
                match_truth[y, j] = truth[y, x]
    noise = rng.choice([0, 0, 0.5, 1, -1, 1.25, -3, 5, NAN, NAN, np.inf], truth.shape)
    disparity = (np.where(np.isfinite(truth), truth, 2) + noise).astype(np.float32)
    evaluated = rng.random(truth.shape) < 0.9 if draw(st.booleans()) else None
    return disparity, truth, match_truth, evaluated


@given(_tables(), st.sampled_from([1, -1]), st.sampled_from([1, 0, 2, 5]))
def test_equals_tables_of_cells(inputs, direction, radius):
    disparity, truth, match_truth, evaluated = inputs
    expected = naive_roc.map_errors(
        *(a if a is None else a[:, ::direction] for a in inputs[:3]),
        direction,
        None if evaluated is None else evaluated[:, ::direction],
        radius,
    )
    for threads in (1, 2):
        with in_threads(threads):
            mirrored = [None if a is None else a[:, ::direction] for a in (truth, match_truth, evaluated)]
            table = matching_table(mirrored[0], mirrored[1], direction=direction, evaluated=mirrored[2], radius=radius)
            assert _counts(map_errors(disparity[:, ::direction], table)) == expected


def test_one_row_by_hand():
    """A near surface, d = 2, before a background of 0, and a match of every kind."""
    truth = np.float32([[0] * 10 + [2] * 8 + [0] * 10])
    table = matching_table(truth, radius=1)
    # Pixels 8 and 9 are occluded by the near surface, columns 16 and 17 of the match frame are uncovered behind it.
    assert np.flatnonzero(table.reference_status[0] != VISIBLE).tolist() == [8, 9]
    assert np.flatnonzero(table.match_status[0] != VISIBLE).tolist() == [16, 17]
    assert np.flatnonzero(table.ends[0]).tolist() == [0, 7, 10, 17, 18, 27]
    perfect = np.where(table.reference_status == VISIBLE, truth, NAN)
    # Of the 26 correspondences, those at the six ends and their neighbours do not count.
    assert _counts(map_errors(perfect, table)) == (0, 0, 0, 26 - 12, 28)
    found = perfect.copy()
    found[0, 4] = 2  # to column 2, which belongs to pixel 2: a mismatch
    found[0, 5] = NAN  # a false negative: column 5 is hit by nobody
    found[0, 9] = -8  # occluded to column 17, uncovered: a false positive
    found[0, 8] = 4  # occluded to column 4, which pixel 4 belongs to: a mismatch
    found[0, 12] = 3  # a pixel off: right
    found[0, 18] = 9  # next to an end, but far from it in disparity: a mismatch
    assert _counts(map_errors(found, table)) == (3, 1, 1, 14, 28)
    assert map_errors(found, table).error_rate == 4 / 28
    assert map_errors(found, table).sparsity_rate == 1 / 14
    # Hidden by a match of another pixel, a missing one is no false negative: the mismatch has been counted.
    found[0, 6] = 1  # to column 5
    assert _counts(map_errors(found, table)) == (3, 1, 0, 14, 28)


def test_mistakes_are_one_line():
    truth = np.zeros((2, 3), np.float32)
    with pytest.raises(DataError, match=r"^matching_table: match_truth has shape \(2, 2\); \(2, 3\) fits the truth$"):
        matching_table(truth, truth[:, :2])
    with pytest.raises(DataError, match="evaluated has shape \\(1, 3\\)"):
        matching_table(truth, evaluated=truth[:1] > 0)
    with pytest.raises(DataError, match=r"^map_errors: truth has shape \(2, 3\); \(2, 2\) fits the disparity$"):
        map_errors(truth[:, :2], matching_table(truth))
    with pytest.raises(DataError, match="scene made: error and sparsity rates need its truth"):
        scene_table(make_scene(image=np.zeros((2, 3), np.uint8)))


NAMES = ("tsukuba", "venus", "teddy", "cones")


@pytest.fixture(scope="module", params=NAMES)
def scene(request, data):
    return load_scene(f"middlebury-v2/{request.param}", data=data)


def test_ideal_empty_and_shifted_maps_of_real_scenes(scene):
    for one in (scene, scene.pair(scene.match_index, scene.reference_index)):
        if one.truth is None:
            continue
        table = scene_table(one)
        visible = np.where(table.reference_status == VISIBLE, table.truth, NAN)[:, :: table.direction]
        for ideal in (visible, visible + 1, visible - 1):
            errors = map_errors(ideal, table)
            assert (errors.sparsity_rate, errors.error_rate) == (0, 0)
        empty = map_errors(np.full_like(visible, NAN), table)
        assert (empty.sparsity_rate, empty.error_rate) == (1, 0)
        # Two pixels are beyond the tolerance: nearly everything is wrong that counts.
        assert map_errors(visible + 2, table).error_rate > 0.9 * empty.correspondences / empty.pixels
        # Half of the matches: half of the correspondences are missing, or covered by a neighbour that shares their column.
        sparse = visible.copy()
        sparse[:, ::2] = NAN
        assert 0.4 < map_errors(sparse, table).sparsity_rate <= 0.55
        assert map_errors(sparse, table).error_rate == 0


DENSE_TRUTH = {"tsukuba": 0.009, "venus": 0.008, "teddy": 0.088, "cones": 0.086}
"""Error rates of a map equal to the truth even where pixels are occluded, radius 2; computed by another program."""

PATCHMATCH = {
    "tsukuba": (0.037, 0.028, 0.019, 0.009),
    "venus": (0.018, 0.012, 0.008, 0.003),
    "teddy": (0.127, 0.114, 0.101, 0.086),
    "cones": (0.133, 0.113, 0.096, 0.076),
}
"""Error rates of the published PatchMatch maps at radius 0, 1, 2, 4; computed by another program."""


def test_dense_truth_has_the_errors_of_occluded_pixels(scene):
    evaluated = scene_table(scene).reference_status[:, :: scene.direction] > 0
    table = matching_table(scene.truth, direction=scene.direction, evaluated=evaluated)
    errors = map_errors(scene.truth, table)
    # The two programs find occlusions in the truth of one frame by rules of their own: a thousandth of the pixels apart.
    assert errors.error_rate == pytest.approx(DENSE_TRUTH[scene.name.rpartition("/")[2]], abs=0.001)
    assert errors.sparsity_rate == 0


def test_the_published_maps_of_patchmatch(scene, data):
    maps = find_maps(data / "middlebury-v2" / "submissions" / "patchmatch", protocol="middlebury-v2", data=data).maps
    disparity = measure_map(maps[scene.name], scene).disparity
    rates = [map_errors(disparity, scene_table(scene, radius=radius)).error_rate for radius in (0, 1, 2, 4)]
    # The numbers move by this much between occlusions found in the truth of one frame and of both.
    assert rates == pytest.approx(PATCHMATCH[scene.name.rpartition("/")[2]], abs=0.0017)
    assert rates == sorted(rates, reverse=True)


def test_either_direction_of_a_synthetic_pair():
    scene = load_scene("synthetic/planes")
    there, back = (scene_table(s) for s in (scene, scene.pair(scene.match_index, scene.reference_index)))
    # A pixel whose column finds back to another one that it does not agree with is occluded from one side only.
    assert (there.reference_status != back.match_status[:, ::-1]).mean() < 0.002
    assert (there.match_status != back.reference_status[:, ::-1]).mean() < 0.002
