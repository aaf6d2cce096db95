"""Masks and ranges of each pixel's own, from the cost to the last refinement."""

import itertools

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import image_pairs, searches

from stereo_framework import CostVolume, Pipeline, SearchRange
from stereo_framework.core.errors import DataError
from stereo_framework.core.pair import Pair
from stereo_framework.core.volume import SearchMask, fill_levels
from stereo_framework.kernels import excluded_cells
from stereo_framework.matching_cost import absolute_difference


@pytest.fixture(autouse=True)
def _few_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(excluded_cells, "_MAX_CELLS", 100)


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
            values = search.minimum + search.step * (
                rng.integers(-1, search.levels + 1, shape) + rng.choice([0, 0.25], shape)
            )
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
    expected = (labels >= 0) & ~np.take_along_axis(
        is_open, np.maximum(labels, 0)[..., None].astype(int), axis=2
    )[..., 0]
    np.testing.assert_array_equal(mask.excluded(labels, search), expected)
    volume = absolute_difference(*images, search)
    before = volume.costs.copy()
    mask.exclude(volume, 777)
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


SHAPE = (3, 9)
MAPS = ("valid", "match_valid", "low", "high", "match_low", "match_high")
COMBINATIONS = [
    *[(name,) for name in MAPS],
    *itertools.combinations(MAPS[:4], 2),
    *itertools.product(("low", "high"), ("match_low", "match_high")),
]
"""Each map of a mask alone, and each two of them that meet."""
RANGES = [
    SearchRange(minimum * min(step, 1), minimum * min(step, 1) + 5 * step, step, direction)
    for minimum, step, direction in [
        (-2, 1, 1),
        (0, 2, 1),
        (-3, 2, -1),
        (1, 3, -1),
        (-1, 1 / 2, 1),
        (3, 1 / 2, -1),
        (-4, 1 / 3, 1),
        (2, 1 / 3, -1),
        (-5, 1 / 4, 1),
        (0, 1 / 4, -1),
    ]
]


def mask_of(names, search, shape):
    """Return a mask with some maps; limits lie on levels, a quarter of one below or above, or nowhere."""
    rng = np.random.default_rng(5)
    maps = {}
    for name in names:
        if name.endswith("valid"):
            maps[name] = rng.random(shape) < 0.7
            continue
        levels = rng.integers(-1, search.levels + 1, shape) + rng.choice([-0.25, 0, 0.25], shape)
        limits = search.minimum + search.step * levels
        limits[rng.random(shape) < 0.2] = np.nan
        maps[name] = limits.astype(np.float32)
    return SearchMask(**maps)


@pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)
def test_each_map_counts_alone_and_beside_each_other_map(names):
    for search in RANGES:
        assert_cells_agree_with_twin(mask_of(names, search, SHAPE), search)


def assert_cells_agree_with_twin(mask, search):
    """Check which cells of a mask are closed, and the disparities that its pixels may have."""
    shape = SHAPE
    is_open = naive.open_cells(mask, search, shape)
    np.testing.assert_array_equal(mask.invalid(search, shape), ~is_open.any(axis=2))
    costs = np.arange(is_open.size, dtype=np.float32).reshape(is_open.shape)
    volume = CostVolume(costs.copy(), search, 5.0)
    mask.exclude(volume, 777)
    np.testing.assert_array_equal(volume.costs, np.where(is_open, costs, 777))

    lowest, highest = mask.ranges(search, shape)
    low = np.full(shape, -np.inf) if mask.low is None else mask.low
    high = np.full(shape, np.inf) if mask.high is None else mask.high
    np.testing.assert_array_equal(lowest, np.fmax(low, np.float32(search.minimum)))
    np.testing.assert_array_equal(highest, np.fmin(high, np.float32(search.maximum)))


@pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)
def test_each_map_changes_sides_in_the_exchanged_mask(names):
    for search in RANGES:
        assert_maps_change_sides(mask_of(names, search, SHAPE), names, search)


def assert_maps_change_sides(mask, names, search):
    """Check the maps of an exchanged mask, whose ranges follow from open cells if none is given."""
    exchanged = mask.exchanged(search)
    assert exchanged.valid is mask.match_valid
    assert exchanged.match_valid is mask.valid
    assert exchanged.match_low is mask.low
    assert exchanged.match_high is mask.high
    has_match_range = {"match_low", "match_high"} & set(names)
    has_range = {"low", "high"} & set(names)
    if has_match_range or not has_range:
        assert exchanged.low is mask.match_low
        assert exchanged.high is mask.match_high
    else:
        low, high = naive.reached(naive.open_cells(mask, search, SHAPE), search)
        np.testing.assert_array_equal(exchanged.low, low)
        np.testing.assert_array_equal(exchanged.high, high)


@pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)
def test_rows_of_a_mask_are_rows_of_each_of_its_maps(names):
    mask = mask_of(names, SearchRange(0, 5), (6, 9))
    rows = mask.rows(2, 5)
    for name in MAPS:
        whole = getattr(mask, name)
        part = getattr(rows, name)
        assert (part is None) == (whole is None)
        if whole is not None:
            np.testing.assert_array_equal(part, whole[2:5])


@pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)
def test_a_pixel_lies_beside_a_closed_cell_if_one_of_its_three_levels_is_closed(names):
    for search in RANGES:
        mask = mask_of(names, search, SHAPE)
        is_open = naive.open_cells(mask, search, SHAPE)
        levels = np.random.default_rng(6).integers(-1, search.levels, SHAPE)
        expected = np.zeros(SHAPE, bool)
        for (y, x), level in np.ndenumerate(levels):
            if level >= 0:
                middle = min(max(level, 1), search.levels - 2)
                expected[y, x] = not is_open[y, x, middle - 1 : middle + 2].all()
        disparity = search.disparity_of(levels)
        np.testing.assert_array_equal(mask.beside_excluded(disparity, search), expected)


def test_exchanged_takes_the_match_pixels_own_range():
    ranges = {
        name: np.full((2, 3), i, np.float32)
        for i, name in enumerate(("low", "high", "match_low", "match_high"))
    }
    exchanged = SearchMask(**ranges).exchanged(SearchRange(0, 5))
    assert (
        exchanged.low[0, 0],
        exchanged.high[0, 0],
        exchanged.match_low[0, 0],
        exchanged.match_high[0, 0],
    ) == (2, 3, 0, 1)
    assert exchanged.exchanged(SearchRange(0, 5, direction=-1)).low is ranges["low"]


def textured_pair(mask, *, step=1.0, direction=1):
    texture = np.random.default_rng(3).integers(0, 256, (9, 22), dtype=np.uint8)
    left, right = texture[:, :20], texture[:, 2:]
    images = (left.copy(), right.copy()) if direction == 1 else (right.copy(), left.copy())
    return Pair(*images, SearchRange(0, 4, step, direction), mask)


def test_maps_that_do_not_fit_are_refused():
    with pytest.raises(
        DataError, match=r"^mask.valid: uint8 \(2, 3\); expected bool \(rows, columns\)$"
    ):
        SearchMask(valid=np.ones((2, 3), np.uint8))
    with pytest.raises(
        DataError, match=r"^mask.low: float64 \(2, 3\); expected float32 \(rows, columns\)$"
    ):
        SearchMask(low=np.ones((2, 3)))
    with pytest.raises(
        DataError, match=r"^mask: maps of different sizes: valid \(2, 3\), high \(2, 4\)$"
    ):
        SearchMask(valid=np.ones((2, 3), bool), high=np.ones((2, 4), np.float32))
    with pytest.raises(DataError, match=r"^a mask of \(2, 3\) for images of \(9, 20\)$"):
        textured_pair(SearchMask(valid=np.ones((2, 3), bool)))


@pytest.mark.parametrize("optimizer", ["dynamic_programming", "maximum_likelihood_matching"])
def test_energies_hold_no_marker_of_closed_cells(optimizer):
    """What is filled may lie in a closed cell: it costs what a cell out of view does, and nothing where no cell is open."""
    rng = np.random.default_rng(2)
    mask = SearchMask(valid=rng.random((9, 20)) < 0.9, match_valid=rng.random((9, 20)) < 0.7)
    mask.match_valid[4, 8:] = False
    pair = textured_pair(mask)
    match = Pipeline([absolute_difference, optimizer])(pair)
    volume, is_open = (
        absolute_difference(pair.reference, pair.match, pair.search),
        naive.open_cells(mask, pair.search, pair.shape),
    )
    expected, closed = 0.0, 0
    for (y, x), level in np.ndenumerate(fill_levels(match.levels)):
        if is_open[y, x].any():
            expected += volume.costs[y, x, level] if is_open[y, x, level] else volume.outside_cost
            closed += not is_open[y, x, level]
    assert closed > 5
    assert match.energy == pytest.approx(expected)
