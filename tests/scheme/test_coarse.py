from dataclasses import replace

import numpy as np
import pytest

from stereo_framework import Pipeline, SearchRange, step
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.pair import Pair
from stereo_framework.core.volume import SearchMask, Status
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import left_right_check, parabola
from stereo_framework.scheme import coarse

PLAIN = Pipeline([absolute_difference, winner_take_all, parabola, left_right_check])


def pair(shape=(7, 10), search=SearchRange(-2, 5)):  # noqa: B008  A search is immutable.
    rng = np.random.default_rng(4)
    return Pair(*rng.integers(0, 256, (2, *shape, 3), dtype=np.uint8), search)


@pytest.mark.parametrize("reduction", [2, 3])
@pytest.mark.parametrize("direction", [1, -1])
def test_each_pixel_has_what_its_block_has(reduction, direction):
    whole = pair(search=SearchRange(-2, 5, direction=direction))
    small = PLAIN(whole.reduced(reduction))
    match = PLAIN.having(scheme=[step(coarse, reduction=reduction)])(whole)
    assert match.search == whole.search
    assert match.levels is None
    for y, x in np.ndindex(whole.shape):
        block = y // reduction, x // reduction
        expected = small.disparity[block] * np.float32(reduction)
        # Half a level beyond the ends, and no more.
        outside = not -2.5 <= expected <= 5.5 and not np.isnan(expected)
        np.testing.assert_array_equal(match.disparity[y, x], np.nan if outside else expected)
        assert match.status[y, x] == (Status.MISMATCHED if outside else small.status[block])
    assert np.isnan(match.disparity).any()
    assert not np.isnan(match.disparity).all()


def test_blocks_do_not_decide_which_pixels_are_invalid():
    whole, rng = pair(), np.random.default_rng(5)
    # The second row of blocks has one valid pixel a block, and from the sixth column on no pixel of the match image is valid.
    mask = SearchMask(
        valid=rng.random(whole.shape) < 0.7, match_valid=np.arange(10) < np.full(whole.shape, 6)
    )
    mask.valid[2:4], mask.valid[2, ::2] = False, True
    whole = Pair(whole.reference, whole.match, SearchRange(-2, -1), mask)
    match = PLAIN.having(scheme=[coarse])(whole)
    invalid = mask.invalid(whole.search, whole.shape)
    assert invalid[2:4].sum() > 15
    np.testing.assert_array_equal(match.status == Status.INVALID, invalid)
    assert np.isnan(match.disparity[invalid]).all()


@pytest.mark.parametrize("step_size", [2, 1, 1 / 2])
@pytest.mark.parametrize("seed", range(4))
def test_a_pixel_with_an_open_cell_is_never_invalid(step_size, seed):
    """A coarser step may close all cells of a block whose pixels have open cells."""
    whole, rng = pair(search=SearchRange(0, 5)), np.random.default_rng(seed)
    low = rng.integers(0, 5, whole.shape).astype(np.float32)
    mask = SearchMask(
        valid=rng.random(whole.shape) < 0.7,
        match_valid=rng.random(whole.shape) < 0.5,
        low=low,
        high=low + 1,
    )
    masked = Pair(whole.reference, whole.match, whole.search, mask)
    match = PLAIN.having(scheme=[step(coarse, step=step_size)])(masked)
    invalid = mask.invalid(whole.search, whole.shape)
    np.testing.assert_array_equal(match.status == Status.INVALID, invalid)


def test_a_pixel_with_an_open_cell_in_an_invalid_block_is_mismatched():
    whole = pair()

    def solve(small):
        match = PLAIN(small)
        status = match.status.copy()
        status[0, 0] = Status.INVALID
        return replace(match, status=status)

    match = coarse(solve, whole, reduction=2)
    assert (match.status[:2, :2] == Status.MISMATCHED).all()
    assert np.isnan(match.disparity[:2, :2]).all()
    assert (match.status != Status.INVALID).all()


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize(
    ("search", "reduction", "spacing", "expected"),
    [
        ((5.5, 59, 0.5), 2, None, (2.5, 29.5, 0.5)),
        ((5.5, 59, 0.5), 2, 1, (2, 30, 1)),
        ((22, 59, 0.5), 4, None, (5.5, 15, 0.5)),
        ((1 / 3, 2, 1 / 3), 2, 1, (0, 1, 1)),
        ((-3, 9, 2), 2, None, (-2, 6, 2)),
        ((-3, 9, 2), 2, 0.5, (-1.5, 4.5, 0.5)),
        ((0, 0.5, 0.5), 4, 2, (0, 2, 2)),
    ],
)
def test_a_smaller_pair_has_a_valid_range_of_any_step(
    search, reduction, spacing, expected, direction
):
    whole = pair(search=SearchRange(*search, direction))
    assert whole.reduced(reduction, spacing).search == SearchRange(*expected, direction)


@pytest.mark.parametrize(
    ("search", "spacing", "expected"),
    [((5.5, 9, 0.5), 1, (5, 9, 1)), ((5.5, 9, 0.5), None, (5.5, 9, 0.5))],
)
def test_a_pair_of_the_same_size_is_searched_at_the_step_of_the_scheme(search, spacing, expected):
    searched = []

    def solve(one):
        searched.append(one.search)
        return PLAIN(one)

    coarse(solve, pair(search=SearchRange(*search)), reduction=1, step=spacing)
    assert searched == [SearchRange(*expected)]


def test_narrow_ranges_leave_smaller_pairs_a_level():
    """Between 3 and 3 lies no level of half the size, where it is 1.5."""
    limit = np.full((7, 10), 3, np.float32)
    whole = pair()
    found = Pair(
        whole.reference, whole.match, whole.search, SearchMask(low=limit, high=limit)
    ).reduced(2)
    assert (found.mask.low == 1).all()
    assert (found.mask.high == 2).all()
    assert not found.mask.invalid(found.search, found.shape).any()


def test_a_factor_of_1_is_the_pair_itself():
    match, expected = PLAIN.having(scheme=[step(coarse, reduction=1)])(pair()), PLAIN(pair())
    np.testing.assert_array_equal(match.disparity, expected.disparity)
    with pytest.raises(ParameterError, match=r"^coarse.reduction: 0 is not a whole number >= 1"):
        coarse(PLAIN, pair(), reduction=0)


def test_the_small_pair_is_matched_once_for_both_views(monkeypatch):
    solved, plain = [], PipelineRunner.__init__

    def told(self, methods, pair, **others):
        solved.append(pair.shape)
        plain(self, methods, pair, **others)

    monkeypatch.setattr(PipelineRunner, "__init__", told)
    list(PipelineRunner([PLAIN.having(scheme=[coarse])], pair(), both=True))
    assert solved == [(7, 10), (4, 5)]
