"""Excluded cells of search masks, from the matching cost to the energy.

The shapes of all maps are (rows, columns). A cell is one disparity of one pixel.
"""

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

MARK = 777
"""Cost that the tests write into excluded cells."""


@pytest.fixture(autouse=True)
def _few_rows_at_a_time(monkeypatch):
    """Divide also small volumes into several groups of rows."""
    monkeypatch.setattr(excluded_cells, "_MAX_CELLS", 100)


# --- random masks ---------------------------------------------------------------------


@st.composite
def search_masks(draw, shape, search):
    """Draw a mask; each of its maps may be missing, and limits may be NaN."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    maps = {}
    for name in ("valid", "match_valid"):
        if draw(st.sampled_from([True, True, False])):
            share_of_valid_pixels = draw(st.sampled_from([0.8, 0.3, 1.0]))
            maps[name] = rng.random(shape) < share_of_valid_pixels
    for name in ("low", "high"):
        if draw(st.sampled_from([True, True, False])):
            maps[name] = draw_limits(rng, shape, search, distances_from_level=[0, 0.25])
    return SearchMask(**maps)


def draw_limits(rng, shape, search, distances_from_level):
    """Draw limits of disparities near levels, some of them outside the search range.

    The distances of a limit from its level are in steps of the search range. A fifth of
    the limits are NaN, which means no limit.
    """
    levels = rng.integers(-1, search.levels + 1, shape)
    limits = search.minimum + search.step * (levels + rng.choice(distances_from_level, shape))
    limits[rng.random(shape) < 0.2] = np.nan
    return limits.astype(np.float32)


@given(data=st.data(), images=image_pairs([np.uint8]), search=searches())
def test_excluded_cells_agree_with_the_naive_twin(data, images, search):
    shape = images[0].shape[:2]
    mask = data.draw(search_masks(shape, search))
    is_allowed = naive.open_cells(mask, search, shape)
    np.testing.assert_array_equal(mask.invalid(search, shape), ~is_allowed.any(axis=2))

    # The level -1 means an unassigned pixel, which has no excluded level.
    levels = np.random.default_rng(0).integers(-1, search.levels, shape).astype(np.int16)
    assigned_levels = np.maximum(levels, 0)[..., None].astype(int)
    has_allowed_level = np.take_along_axis(is_allowed, assigned_levels, axis=2)[..., 0]
    expected = (levels >= 0) & ~has_allowed_level
    np.testing.assert_array_equal(mask.excluded(levels, search), expected)

    volume = absolute_difference(*images, search)
    assert_mask_marks_excluded_cells(mask, volume, is_allowed)


def assert_mask_marks_excluded_cells(mask, volume, is_allowed):
    """Check that `SearchMask.exclude` changes the costs of excluded cells only."""
    costs = volume.costs.copy()
    mask.exclude(volume, MARK)
    np.testing.assert_array_equal(volume.costs, np.where(is_allowed, costs, MARK))


@given(data=st.data(), images=image_pairs([np.uint8]), search=searches())
def test_the_mask_of_exchanged_images_agrees_with_the_naive_twin(data, images, search):
    shape = images[0].shape[:2]
    mask = data.draw(search_masks(shape, search))
    exchanged = mask.exchanged(search)
    assert_maps_of_both_images_are_exchanged(exchanged, mask)
    if mask.low is None and mask.high is None:
        assert exchanged.low is None
        assert exchanged.high is None
    else:
        assert_limits_follow_from_allowed_cells(exchanged, mask, search, shape)


def assert_maps_of_both_images_are_exchanged(exchanged, mask):
    """Check the maps that the two images of an exchanged mask have from each other."""
    assert exchanged.valid is mask.match_valid
    assert exchanged.match_valid is mask.valid
    assert exchanged.match_low is mask.low
    assert exchanged.match_high is mask.high


def assert_limits_follow_from_allowed_cells(exchanged, mask, search, shape):
    """Compare the limits of the exchanged mask with the limits of the naive twin."""
    is_allowed = naive.open_cells(mask, search, shape)
    low, high = naive.reached(is_allowed, search)
    np.testing.assert_array_equal(exchanged.low, low)
    np.testing.assert_array_equal(exchanged.high, high)


# --- combinations of maps -------------------------------------------------------------

SHAPE = (3, 9)
MAPS = ("valid", "match_valid", "low", "high", "match_low", "match_high")
COMBINATIONS = [
    *[(name,) for name in MAPS],
    *itertools.combinations(("valid", "match_valid", "low", "high"), 2),
    *itertools.product(("low", "high"), ("match_low", "match_high")),
]
"""Names of single maps, and of two maps that the code uses together."""


def range_of_six_levels(minimum, step, direction):
    """Return a search range that begins with a disparity."""
    return SearchRange(minimum, minimum + 5 * step, step, direction)


RANGES = [
    range_of_six_levels(-2, step=1, direction=1),
    range_of_six_levels(0, step=2, direction=1),
    range_of_six_levels(-3, step=2, direction=-1),
    range_of_six_levels(1, step=3, direction=-1),
    range_of_six_levels(-1 / 2, step=1 / 2, direction=1),
    range_of_six_levels(3 / 2, step=1 / 2, direction=-1),
    range_of_six_levels(-4 / 3, step=1 / 3, direction=1),
    range_of_six_levels(2 / 3, step=1 / 3, direction=-1),
    range_of_six_levels(-5 / 4, step=1 / 4, direction=1),
    range_of_six_levels(0, step=1 / 4, direction=-1),
]
"""Search ranges with steps above and below one pixel, in both directions."""

each_combination = pytest.mark.parametrize("names", COMBINATIONS, ids="+".join)


def mask_with_maps(names, search, shape):
    """Return a mask that has only the maps with the given names."""
    rng = np.random.default_rng(5)
    maps = {}
    for name in names:
        if name.endswith("valid"):
            maps[name] = rng.random(shape) < 0.7
        else:
            maps[name] = draw_limits(rng, shape, search, distances_from_level=[-0.25, 0, 0.25])
    return SearchMask(**maps)


@each_combination
def test_each_map_excludes_cells_without_and_with_a_second_map(names):
    for search in RANGES:
        mask = mask_with_maps(names, search, SHAPE)
        is_allowed = naive.open_cells(mask, search, SHAPE)
        np.testing.assert_array_equal(mask.invalid(search, SHAPE), ~is_allowed.any(axis=2))

        costs = np.arange(is_allowed.size, dtype=np.float32).reshape(is_allowed.shape)
        volume = CostVolume(costs, search, outside_cost=5.0)
        assert_mask_marks_excluded_cells(mask, volume, is_allowed)
        assert_ranges_are_limits_within_the_search_range(mask, search)


def assert_ranges_are_limits_within_the_search_range(mask, search):
    """Check the range of each pixel; a missing limit or NaN means no limit."""
    low = np.full(SHAPE, -np.inf) if mask.low is None else mask.low
    high = np.full(SHAPE, np.inf) if mask.high is None else mask.high
    lowest, highest = mask.ranges(search, SHAPE)
    # `fmax` and `fmin` ignore NaN.
    np.testing.assert_array_equal(lowest, np.fmax(low, np.float32(search.minimum)))
    np.testing.assert_array_equal(highest, np.fmin(high, np.float32(search.maximum)))


@each_combination
def test_each_map_belongs_to_the_other_image_after_an_exchange(names):
    has_limits = "low" in names or "high" in names
    has_match_limits = "match_low" in names or "match_high" in names
    for search in RANGES:
        mask = mask_with_maps(names, search, SHAPE)
        exchanged = mask.exchanged(search)
        assert_maps_of_both_images_are_exchanged(exchanged, mask)
        if has_limits and not has_match_limits:
            assert_limits_follow_from_allowed_cells(exchanged, mask, search, SHAPE)
        else:
            assert exchanged.low is mask.match_low
            assert exchanged.high is mask.match_high


@each_combination
def test_rows_of_a_mask_are_rows_of_each_of_its_maps(names):
    mask = mask_with_maps(names, SearchRange(0, 5), (6, 9))
    mask_of_rows = mask.rows(2, 5)
    for name in MAPS:
        whole_map = getattr(mask, name)
        rows_of_map = getattr(mask_of_rows, name)
        if whole_map is None:
            assert rows_of_map is None
        else:
            assert rows_of_map is not None
            np.testing.assert_array_equal(rows_of_map, whole_map[2:5])


@each_combination
def test_a_pixel_is_beside_an_excluded_cell_if_one_of_its_three_levels_is_excluded(names):
    for search in RANGES:
        mask = mask_with_maps(names, search, SHAPE)
        levels = np.random.default_rng(6).integers(-1, search.levels, SHAPE)
        expected = beside_excluded_by_loop(mask, levels, search)
        disparity = search.disparity_of(levels)
        np.testing.assert_array_equal(mask.beside_excluded(disparity, search), expected)


def beside_excluded_by_loop(mask, levels, search):
    """Return the pixels for which one of three neighbouring levels is excluded.

    Pixels without a level (-1) are not among them.
    """
    is_allowed = naive.open_cells(mask, search, SHAPE)
    is_beside_excluded = np.zeros(SHAPE, bool)
    for (y, x), level in np.ndenumerate(levels):
        if level >= 0:
            # The three levels must lie in the search range.
            middle = min(max(level, 1), search.levels - 2)
            three_cells = is_allowed[y, x, middle - 1 : middle + 2]
            is_beside_excluded[y, x] = not three_cells.all()
    return is_beside_excluded


def test_limits_of_match_pixels_become_limits_of_reference_pixels_after_an_exchange():
    limits = {}
    for value, name in enumerate(("low", "high", "match_low", "match_high")):
        limits[name] = np.full((2, 3), value, np.float32)
    exchanged = SearchMask(**limits).exchanged(SearchRange(0, 5))
    assert exchanged.low[0, 0] == 2
    assert exchanged.high[0, 0] == 3
    assert exchanged.match_low[0, 0] == 0
    assert exchanged.match_high[0, 0] == 1

    exchanged_twice = exchanged.exchanged(SearchRange(0, 5, direction=-1))
    assert exchanged_twice.low is limits["low"]


# --- pairs with masks -----------------------------------------------------------------


def textured_pair(mask):
    """Return a pair of 9 x 20 pixels with the disparity 2 and a mask."""
    texture = np.random.default_rng(3).integers(0, 256, (9, 22), dtype=np.uint8)
    reference = texture[:, :20].copy()
    match = texture[:, 2:].copy()
    return Pair(reference, match, SearchRange(0, 4), mask)


def test_maps_of_a_wrong_type_or_size_are_refused():
    integers = np.ones((2, 3), np.uint8)
    message = r"^mask.valid: uint8 \(2, 3\); expected bool \(rows, columns\)$"
    with pytest.raises(DataError, match=message):
        SearchMask(valid=integers)

    float64_limits = np.ones((2, 3))
    message = r"^mask.low: float64 \(2, 3\); expected float32 \(rows, columns\)$"
    with pytest.raises(DataError, match=message):
        SearchMask(low=float64_limits)

    valid = np.ones((2, 3), bool)
    wider_limits = np.ones((2, 4), np.float32)
    message = r"^mask: maps of different sizes: valid \(2, 3\), high \(2, 4\)$"
    with pytest.raises(DataError, match=message):
        SearchMask(valid=valid, high=wider_limits)

    small_mask = SearchMask(valid=valid)
    with pytest.raises(DataError, match=r"^a mask of \(2, 3\) for images of \(9, 20\)$"):
        textured_pair(small_mask)


@pytest.mark.parametrize("optimizer", ["dynamic_programming", "maximum_likelihood_matching"])
def test_the_energy_counts_the_outside_cost_for_filled_levels_that_are_excluded(optimizer):
    rng = np.random.default_rng(2)
    mask = SearchMask(valid=rng.random((9, 20)) < 0.9, match_valid=rng.random((9, 20)) < 0.7)
    mask.match_valid[4, 8:] = False
    pair = textured_pair(mask)
    estimate = Pipeline([absolute_difference, optimizer])(pair)

    volume = absolute_difference(pair.reference, pair.match, pair.search)
    is_allowed = naive.open_cells(mask, pair.search, pair.shape)
    is_valid = is_allowed.any(axis=2)
    expected_energy = 0.0
    excluded_levels = 0
    # The energy fills pixels without a level, and the filled level may be excluded.
    for (y, x), level in np.ndenumerate(fill_levels(estimate.levels)):
        if not is_valid[y, x]:
            continue  # Invalid pixels cost nothing.
        if is_allowed[y, x, level]:
            expected_energy += volume.costs[y, x, level]
        else:
            expected_energy += volume.outside_cost
            excluded_levels += 1
    assert excluded_levels > 5
    assert estimate.energy == pytest.approx(expected_energy)
