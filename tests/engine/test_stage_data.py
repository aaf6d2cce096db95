"""What stages may name, and what a pipeline hands them."""

import dataclasses

import numpy as np
import pytest
from pipeline_parts import in_strips, local, textured

from stereo_framework import CostVolume, Energy, Pipeline, Search, Smoothness, step
from stereo_framework.aggregation import box
from stereo_framework.core.stage import NonNegative, Positive, stage
from stereo_framework.core.volume import Status, restore_outside
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import parabola


@pytest.fixture
def cross_check(registry):
    @stage("refinement", source="a test")
    def cross_check(disparity, other, search, *, tolerance: NonNegative = 0.5):
        """Keep what the match frame's own disparity confirms."""
        checked = disparity.copy()
        for y, x in np.ndindex(disparity.shape):
            target = x - search.direction * round(float(disparity[y, x]))
            if not 0 <= target < disparity.shape[1] or abs(other.disparity[y, target] - disparity[y, x]) > tolerance:
                checked[y, x] = np.nan
        return checked

    return cross_check


@pytest.mark.parametrize("height", [2, 100])
@pytest.mark.parametrize(("pair", "hidden"), [((0, 1), slice(None, 2)), ((1, 0), slice(-2, None))])
def test_left_right_check(cross_check, pair, hidden, height):
    scene = textured(shift=2).pair(*pair)
    result = in_strips(height, Pipeline([absolute_difference, winner_take_all, cross_check]), scene)
    expected = np.full(scene.reference.shape, 2, np.float32)
    # Two columns are seen in one frame only.
    expected[:, hidden] = np.nan
    np.testing.assert_array_equal(result.disparity, expected)
    np.testing.assert_array_equal(result.status, np.where(np.isnan(expected), Status.MISMATCHED, Status.MATCHED))
    assert not np.isnan(Pipeline([absolute_difference, winner_take_all])(scene).disparity).any()


@pytest.mark.parametrize("height", [2, 100])
def test_other_is_the_exchanged_pair_so_far(registry, height):
    seen = []

    @stage("refinement", **local)
    def add(disparity, *, amount: float = 10.0):
        return disparity + np.float32(amount)

    # What names the other match sees the whole, halo or not.
    @stage("refinement", **local, other_needs={"volume"})
    def look(disparity, other, volume):
        assert disparity.shape == other.disparity.shape == volume.costs.shape[:2]
        seen.append(other)
        return disparity

    scene = textured(search=Search(-1, 4, 0.5))
    method = Pipeline([absolute_difference, box, winner_take_all, look, add, look])
    result = in_strips(height, method, scene)
    plain = Pipeline([absolute_difference, box, winner_take_all])
    expected = plain(scene.pair(1, 0), keep_volume=True)
    # The second look's exchanged pair takes the first look as well.
    assert len(seen) == 3
    np.testing.assert_array_equal(seen[0].disparity, expected.disparity)
    np.testing.assert_array_equal(seen[-1].disparity, expected.disparity + 10)
    for other in seen[0], seen[-1]:
        assert other.search == Search(-1, 4, 0.5, -1)
        assert other.status.shape == other.disparity.shape
        np.testing.assert_array_equal(other.volume.costs, expected.volume.costs)
    np.testing.assert_array_equal(result.disparity, plain(scene).disparity + 10)


def test_what_is_not_named_is_not_computed(registry):
    calls = []

    @stage("matching_cost", **local)
    def count(reference, match, search):
        calls.append(search.direction)
        return absolute_difference(reference, match, search)

    Pipeline([count, winner_take_all, parabola])(textured())
    assert calls == [1]


@pytest.mark.parametrize("height", [2, 100])
def test_raw_is_the_volume_before_aggregation(registry, height):
    seen = {}

    @stage("refinement", **local)
    def costs_of(disparity, volume, raw, reference, match):
        seen.setdefault("raw", []).append(raw.costs)
        assert raw.costs.shape[0] == volume.costs.shape[0] == reference.shape[0] == match.shape[0] == disparity.shape[0]
        return disparity

    @stage("aggregation", **local)
    def keep(volume):
        # Not the same object, but the same costs, of which the pipeline then resets some.
        return dataclasses.replace(volume)

    @stage("aggregation", **local)
    def add_raw(volume, raw):
        return dataclasses.replace(volume, costs=volume.costs + raw.costs)

    scene = textured(search=Search(0, 3, 0.5))
    original = absolute_difference(scene.reference, scene.match, scene.search)
    for aggregation, expected in (
        ([step(box, size=3)], box(original, size=3)),
        ([], None),
        ([keep], original),
        ([step(box, size=3), add_raw], CostVolume(box(original, size=3).costs + original.costs, scene.search, 255.0)),
    ):
        seen.clear()
        method = Pipeline([absolute_difference, aggregation, winner_take_all, costs_of])
        result = in_strips(height, method, scene, keep_volume=True)
        np.testing.assert_array_equal(np.concatenate(seen["raw"]), original.costs)
        expected = restore_outside(expected).costs if expected else original.costs
        np.testing.assert_array_equal(result.volume.costs, expected)
        seen.clear()
        in_strips(height, method, scene)
        np.testing.assert_array_equal(np.concatenate(seen["raw"]), original.costs)


@pytest.mark.parametrize("height", [2, 100])
def test_refinements_see_the_volume_that_the_optimizer_returns(registry, height):
    @stage("optimization", **local)
    def doubling(volume):
        labeling = winner_take_all(volume)
        doubled = dataclasses.replace(volume, costs=2 * volume.costs)
        return dataclasses.replace(labeling, volume=doubled)

    @stage("refinement", **local)
    def cost_at_level_1(disparity, volume):
        return volume.costs[..., 1]

    scene = textured()
    expected = absolute_difference(scene.reference, scene.match, scene.search).costs
    result = in_strips(height, Pipeline([absolute_difference, doubling, cost_at_level_1]), scene)
    np.testing.assert_array_equal(result.disparity, 2 * expected[..., 1])
    # The energy is that of the stage's input all the same.
    assert result.energy == pytest.approx(expected.min(axis=2).sum(dtype=float))
    kept = in_strips(height, Pipeline([absolute_difference, doubling]), scene, keep_volume=True)
    np.testing.assert_array_equal(kept.volume.costs, 2 * expected)


@pytest.mark.parametrize("height", [2, 100])
def test_status_keeps_the_books(registry, height):
    @stage("optimization", **local)
    def leaves_first_columns(volume):
        labeling = winner_take_all(volume)
        labeling.levels[:, :3] = -1
        labeling.costs[:, :3] = 0
        return labeling

    @stage("refinement", **local)
    def forget(disparity):
        disparity = disparity.copy()
        disparity[:, 2:6] = np.nan
        return disparity

    @stage("refinement", **local)
    def fill(disparity):
        disparity = disparity.copy()
        disparity[:, 1:5] = 1
        return disparity

    @stage("refinement", **local)
    def doubt_filled(disparity, status):
        return disparity, np.where(status == Status.FILLED, Status.OCCLUDED, status).astype(np.uint8)

    matched, occluded, mismatched, filled, _ = Status
    scene = textured(columns=7)
    for refinement, columns in (
        ([], [occluded] * 3 + [matched] * 4),
        ([forget], [occluded] * 3 + [mismatched] * 3 + [matched]),
        ([forget, fill], [occluded] + [filled] * 4 + [mismatched] + [matched]),
        ([forget, fill, doubt_filled], [occluded] * 5 + [mismatched] + [matched]),
        ([fill], [occluded] + [filled] * 2 + [matched] * 4),
    ):
        result = in_strips(height, Pipeline([absolute_difference, leaves_first_columns, refinement]), scene)
        np.testing.assert_array_equal(result.status, np.tile(np.uint8(columns), (9, 1)), strict=True)
    assert np.isnan(Pipeline([absolute_difference, leaves_first_columns])(scene).disparity[:, :3]).all()


def test_preprocessing_gets_both_images_and_changes_what_others_see(registry):
    seen = []

    @stage("preprocessing", **local)
    def invert(image):
        return 255 - image

    @stage("preprocessing", **local)
    def halve(image):
        return image // 2

    @stage("refinement", **local)
    def look(disparity, reference, match):
        seen.append((reference, match))
        return disparity

    scene = textured()
    Pipeline([invert, halve, absolute_difference, winner_take_all, look])(scene)
    np.testing.assert_array_equal(seen[0][0], (255 - scene.reference) // 2)
    np.testing.assert_array_equal(seen[0][1], (255 - scene.match) // 2)


@pytest.mark.parametrize("height", [2, 100])
def test_smoothness_enters_the_energy(registry, height):
    @stage("smoothness", **local)
    def steps(reference, search, *, weight: Positive = 1.0):
        right = np.full(reference.shape, weight, np.float32)
        down = np.full(reference.shape, 2 * weight, np.float32)
        right[:, -1] = down[-1] = 0
        return Smoothness(right, down, np.arange(search.levels, dtype=np.float32))

    @stage("optimization", **local)
    def with_gaps(volume, smoothness=None):
        assert smoothness.right.shape == smoothness.down.shape == volume.costs.shape[:2]
        labeling = winner_take_all(volume)
        labeling.levels[:, 4:6] = -1
        labeling.costs[:, 4:6] = 0
        return labeling

    scene = textured()
    volume = absolute_difference(scene.reference, scene.match, scene.search)
    data = Pipeline([absolute_difference, step(steps, weight=1), with_gaps])
    energies = []
    for weight in (1, 5):
        method = data.having(smoothness=step(steps, weight=weight))
        result = in_strips(height, method, scene)
        expected = Energy(volume, steps(scene.reference, scene.search, weight=weight)).of(result.levels)
        assert result.energy == pytest.approx(expected, rel=1e-12)
        energies.append(result.energy)
    assert energies[0] < energies[1]
