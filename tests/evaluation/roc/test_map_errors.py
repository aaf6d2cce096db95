"""Regions and errors against whole matching tables of cells, and on real scenes."""

import dataclasses

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
from stereo_framework.evaluation.roc.matching_table import NONOCC, OCCLUDED
from stereo_framework.sweep.external_maps import measure_map
from stereo_framework.sweep.map_folders import find_maps

NAN = np.nan


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
    disparity, truth, match_truth, evaluated = (
        None if a is None else a[:, ::direction] for a in inputs
    )
    expected = naive_roc.map_errors(disparity, truth, match_truth, direction, evaluated, radius)
    for threads in (1, 2):
        with in_threads(threads):
            table = matching_table(
                truth, match_truth, direction=direction, evaluated=evaluated, radius=radius
            )
            assert dataclasses.astuple(map_errors(disparity, table)) == expected


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize(("difference", "status"), [(1, NONOCC), (1.25, OCCLUDED)])
def test_ground_truths_that_differ_by_one_pixel_agree_in_both_images(direction, difference, status):
    truth = np.full((1, 8), np.nan, np.float32)
    match_truth = truth.copy()
    # Pixel 3 of the target image points to pixel 5, whose own disparity is larger.
    match_truth[0, 3], truth[0, 5] = 2, 2 + difference
    table = matching_table(
        truth[:, ::direction], match_truth[:, ::direction], direction=direction, radius=0
    )
    assert table.match_status[0, 3] == status


def test_rates_need_truth():
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
        nonocc = np.where(table.reference_status == NONOCC, table.truth, NAN)[:, :: table.direction]
        for ideal in (nonocc, nonocc + 1, nonocc - 1):
            errors = map_errors(ideal, table)
            assert (errors.sparsity_rate, errors.error_rate) == (0, 0)
        empty = map_errors(np.full_like(nonocc, NAN), table)
        assert (empty.sparsity_rate, empty.error_rate) == (1, 0)
        # Two pixels are beyond the tolerance: nearly everything is wrong that counts.
        assert map_errors(nonocc + 2, table).error_rate > 0.9 * empty.correspondences / empty.pixels
        # Half of the matches: half of the correspondences are missing, or covered by a neighbour that shares their column.
        sparse = nonocc.copy()
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
    maps = find_maps(
        data / "middlebury-v2" / "submissions" / "patchmatch", protocol="middlebury-v2", data=data
    ).maps
    disparity = measure_map(maps[scene.name], scene).disparity
    rates = [
        map_errors(disparity, scene_table(scene, radius=radius)).error_rate
        for radius in (0, 1, 2, 4)
    ]
    # The numbers move by this much between occlusions found in the truth of one frame and of both.
    assert rates == pytest.approx(PATCHMATCH[scene.name.rpartition("/")[2]], abs=0.0017)
    assert rates == sorted(rates, reverse=True)


def test_either_direction_of_a_synthetic_pair():
    scene = load_scene("synthetic/planes")
    there, back = (
        scene_table(s) for s in (scene, scene.pair(scene.match_index, scene.reference_index))
    )
    # A pixel whose column finds back to another one that it does not agree with is occluded from one side only.
    assert (there.reference_status != back.match_status[:, ::-1]).mean() < 0.002
    assert (there.match_status != back.reference_status[:, ::-1]).mean() < 0.002
