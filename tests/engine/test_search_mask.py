"""Masks and ranges of each pixel's own, from the cost to the last refinement."""

import dataclasses

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import image_pairs, searches
from pipeline_parts import in_strips, local, not_local

from stereo_framework import Pipeline, Search, step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import DataError
from stereo_framework.core.pair import Pair
from stereo_framework.core.stage import stage
from stereo_framework.core.volume import SearchMask, Status
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import dynamic_programming, winner_take_all
from stereo_framework.refinement import fill_occlusions, parabola


@st.composite
def search_masks(draw, shape, search, *, ranges=True):
    """Masks and ranges, each there or not; limits on levels and between them, some of them open."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    found = {}
    for name in ("valid", "match_valid"):
        if draw(st.sampled_from([True, True, False])):
            found[name] = rng.random(shape) < draw(st.sampled_from([0.8, 0.3, 1.0]))
    for name in ("low", "high"):
        if ranges and draw(st.sampled_from([True, True, False])):
            values = search.minimum + search.step * (rng.integers(-1, search.levels + 1, shape) + rng.choice([0, 0.25], shape))
            values[rng.random(shape) < 0.2] = np.nan
            found[name] = values.astype(np.float32)
    return SearchMask(**found)


@given(data=st.data(), images=image_pairs([np.uint8]), search=searches())
def test_cells_agree_with_twin(data, images, search):
    shape = images[0].shape[:2]
    mask = data.draw(search_masks(shape, search))
    is_open = naive.open_cells(mask, search, shape)
    np.testing.assert_array_equal(mask.invalid(search, shape), ~is_open.any(axis=2))
    labels = np.random.default_rng(0).integers(-1, search.levels, shape).astype(np.int16)
    expected = (labels >= 0) & ~np.take_along_axis(is_open, np.maximum(labels, 0)[..., None].astype(int), axis=2)[..., 0]
    np.testing.assert_array_equal(mask.closed(labels, search), expected)
    volume = absolute_difference(*images, search)
    before = volume.costs.copy()
    mask.close(volume, 777)
    np.testing.assert_array_equal(volume.costs, np.where(is_open, before, 777))


@given(data=st.data(), images=image_pairs([np.uint8]), search=searches())
def test_exchanged_agrees_with_twin(data, images, search):
    shape = images[0].shape[:2]
    mask = data.draw(search_masks(shape, search))
    exchanged = mask.exchanged(search)
    assert exchanged.valid is mask.match_valid
    assert exchanged.match_valid is mask.valid
    assert (exchanged.match_low, exchanged.match_high) == (mask.low, mask.high)
    if mask.low is None and mask.high is None:
        assert (exchanged.low, exchanged.high) == (None, None)
        return
    low, high = naive.reached(naive.open_cells(mask, search, shape), search)
    np.testing.assert_array_equal(exchanged.low, low)
    np.testing.assert_array_equal(exchanged.high, high)


def test_exchanged_takes_the_match_pixels_own_range():
    ranges = {name: np.full((2, 3), i, np.float32) for i, name in enumerate(("low", "high", "match_low", "match_high"))}
    exchanged = SearchMask(**ranges).exchanged(Search(0, 5))
    assert (exchanged.low[0, 0], exchanged.high[0, 0], exchanged.match_low[0, 0], exchanged.match_high[0, 0]) == (2, 3, 0, 1)
    assert exchanged.exchanged(Search(0, 5, direction=-1)).low is ranges["low"]


@given(data=st.data(), images=image_pairs([np.uint8]), search=searches(), size=st.sampled_from([None, 1, 3]))
def test_nobody_gets_a_disparity_of_a_closed_cell(data, images, search, size):
    shape = images[0].shape[:2]
    mask = data.draw(search_masks(shape, search))
    aggregation = [] if size is None else [step(box, size=size)]
    pair = Pair(*images, search, mask)
    for one in (pair, pair.exchanged()):
        is_open = naive.open_cells(one.mask, one.search, shape)
        method = Pipeline([absolute_difference, aggregation, winner_take_all])
        match = method(one, keep_volume=True)
        some = is_open.any(axis=2)
        # Winners are those of the open cells.
        costs = np.where(is_open, match.volume.costs, np.inf)
        np.testing.assert_array_equal(match.levels, np.where(some, costs.argmin(axis=2), -1))
        np.testing.assert_array_equal(match.status, np.where(some, Status.MATCHED, Status.INVALID))
        np.testing.assert_array_equal(np.isnan(match.disparity), ~some)
        # What the optimizer saw: 1e6 in closed cells, 0 where there is no other.
        closed = np.broadcast_to(np.where(some, 1e6, 0)[..., None], is_open.shape)
        np.testing.assert_array_equal(match.volume.costs[~is_open], closed[~is_open])
        for height in (1, 2):
            strip = in_strips(height, method, one)
            np.testing.assert_array_equal(strip.disparity, match.disparity)
            np.testing.assert_array_equal(strip.status, match.status)
            assert strip.energy == pytest.approx(match.energy, rel=1e-12)


@given(images=image_pairs([np.uint8]), search=searches(), size=st.sampled_from([None, 3]))
def test_a_mask_that_closes_nothing_changes_nothing(images, search, size):
    aggregation = [] if size is None else [step(box, size=size)]
    method = Pipeline([absolute_difference, aggregation, winner_take_all, parabola])
    everything = SearchMask(valid=np.ones(images[0].shape[:2], bool))
    plain, wide = (method(Pair(*images, search, mask), keep_volume=True) for mask in (None, everything))
    np.testing.assert_array_equal(wide.volume.costs, plain.volume.costs)
    np.testing.assert_array_equal(wide.disparity, plain.disparity)
    assert wide.energy == plain.energy


def textured_pair(mask, *, step=1.0, direction=1):
    texture = np.random.default_rng(3).integers(0, 256, (9, 22), dtype=np.uint8)
    left, right = texture[:, :20], texture[:, 2:]
    images = (left.copy(), right.copy()) if direction == 1 else (right.copy(), left.copy())
    return Pair(*images, Search(0, 4, step, direction), mask)


@pytest.mark.parametrize("distance", [1.0, 0.5])
@pytest.mark.parametrize("direction", [1, -1])
def test_closed_cells_hold_outside_until_the_last_aggregation(registry, distance, direction):
    seen = {}

    @stage("aggregation", **local)
    def spy(volume, raw, mask, *, name: str = ""):
        seen[name] = volume.costs.copy(), volume.outside
        seen["raw"], seen["mask"] = raw.costs.copy(), mask
        return dataclasses.replace(volume, costs=volume.costs + np.float32(1))

    @stage("optimization", **not_local)
    def look(volume, mask):
        seen["optimizer"] = volume.costs.copy()
        return winner_take_all(volume)

    @stage("refinement", **local)
    def look_again(disparity, mask, raw):
        seen["mask of refinement"], seen["raw at the end"] = mask, raw.costs.copy()
        return disparity

    valid = np.ones((9, 20), bool)
    valid[:, 8:10] = False
    mask = SearchMask(valid=valid, low=np.full((9, 20), 1, np.float32))
    pair = textured_pair(mask, step=distance, direction=direction)
    is_open = naive.open_cells(mask, pair.search, pair.shape)
    assert 0.5 < is_open.mean() < 0.8
    Pipeline([absolute_difference, step(spy, name="first"), step(spy, name="second"), look, look_again])(pair)
    original = absolute_difference(pair.reference, pair.match, pair.search)
    expected = np.where(is_open, original.costs, 255)
    np.testing.assert_array_equal(seen["first"][0], expected)
    np.testing.assert_array_equal(seen["raw"], expected)
    np.testing.assert_array_equal(seen["raw at the end"], expected)
    # Between aggregations nothing is reset.
    np.testing.assert_array_equal(seen["second"][0], expected + 1)
    some = is_open.any(axis=2)
    np.testing.assert_array_equal(seen["optimizer"][~is_open & some[..., None]], 1e6)
    np.testing.assert_array_equal(seen["optimizer"][~some], 0)
    # Open cells in view hold what was aggregated, those out of view the cost that they had.
    inside = is_open & original.inside
    if step == 1:
        np.testing.assert_array_equal(seen["optimizer"][inside], (expected + 2)[inside])
        outside = is_open & ~original.inside
        np.testing.assert_array_equal(seen["optimizer"][outside], 255)
    for name in ("mask", "mask of refinement"):
        np.testing.assert_array_equal(seen[name].valid, mask.valid)
        np.testing.assert_array_equal(seen[name].low, mask.low)


@pytest.mark.parametrize("height", [2, 100])
def test_labels_in_closed_cells_and_invalid_pixels(registry, height):
    @stage("optimization", **local)
    def always_level_2(volume):
        labeling = winner_take_all(volume)
        labeling.levels[:] = 2
        return labeling

    @stage("refinement", **local)
    def fill_all(disparity):
        return np.where(np.isnan(disparity), np.float32(9), disparity)

    @stage("refinement", **local)
    def mark_all(disparity, status):
        return np.full_like(disparity, 5), np.full_like(status, Status.FILLED)

    valid = np.ones((9, 20), bool)
    valid[:, 8:10] = False
    low = np.zeros((9, 20), np.float32)
    low[:, 15:] = 3
    pair = textured_pair(SearchMask(valid=valid, low=low))
    occluded = np.zeros((9, 20), bool)
    occluded[:, 15:] = True
    for refinement, disparity, status in (
        ([], [2, np.nan, np.nan], [Status.MATCHED, Status.OCCLUDED, Status.INVALID]),
        ([fill_all], [2, 9, np.nan], [Status.MATCHED, Status.FILLED, Status.INVALID]),
        ([fill_all, mark_all], [5, 5, np.nan], [Status.FILLED, Status.FILLED, Status.INVALID]),
        ([fill_all, mark_all, fill_occlusions], [5, 5, np.nan], [Status.FILLED, Status.FILLED, Status.INVALID]),
    ):
        match = in_strips(height, Pipeline([absolute_difference, always_level_2, refinement]), pair)
        kind = np.where(~valid, 2, np.where(occluded, 1, 0))
        np.testing.assert_array_equal(match.levels, np.where(kind == 0, 2, -1))
        np.testing.assert_array_equal(match.disparity, np.float32(disparity)[kind])
        np.testing.assert_array_equal(match.status, np.uint8(status)[kind])


def test_energy_counts_the_costs_of_filled_labels(registry):
    # DP leaves pixels out; with a mask the energy is that of the labels that were filled in, closed cells among them.
    valid = np.ones((9, 20), bool)
    valid[:, 8:10] = False
    pair = textured_pair(SearchMask(valid=valid))
    match = Pipeline([absolute_difference, dynamic_programming])(pair, keep_volume=True)
    labels = naive.fill_levels(match.levels)
    expected = np.take_along_axis(match.volume.costs, labels[..., None].astype(int), axis=2).sum(dtype=float)
    assert (match.levels[:, 8:10] == -1).all()
    assert match.energy == pytest.approx(expected)


def test_images_may_be_parts_of_others():
    pair = textured_pair(None)
    wide = [np.pad(image, ((0, 0), (3, 5))) for image in (pair.reference, pair.match)]
    cut = Pair(wide[0][:, 3:-5], wide[1][:, 3:-5], pair.search)
    method = Pipeline([absolute_difference, winner_take_all])
    np.testing.assert_array_equal(method(cut).disparity, method(pair).disparity)


def test_maps_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match=r"^mask.valid: uint8 \(2, 3\); expected bool \(rows, columns\)$"):
        SearchMask(valid=np.ones((2, 3), np.uint8))
    with pytest.raises(DataError, match=r"^mask.low: float64 \(2, 3\); expected float32 \(rows, columns\)$"):
        SearchMask(low=np.ones((2, 3)))
    with pytest.raises(DataError, match=r"^mask: maps of different sizes: valid \(2, 3\), high \(2, 4\)$"):
        SearchMask(valid=np.ones((2, 3), bool), high=np.ones((2, 4), np.float32))
    with pytest.raises(DataError, match=r"^a mask of \(2, 3\) for images of \(9, 20\)$"):
        textured_pair(SearchMask(valid=np.ones((2, 3), bool)))
