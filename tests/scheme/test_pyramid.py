import math

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_inputs import image_pairs, searches, shapes

from stereo_framework import Pipeline, SearchRange, step
from stereo_framework.aggregation import box
from stereo_framework.core.pair import Pair
from stereo_framework.core.volume import SearchMask, Status
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import parabola
from stereo_framework.scheme.pyramid import narrowed, pyramid, spread


@given(
    data=st.data(),
    shape=shapes,
    search=searches(),
    margin=st.sampled_from([0.0, 1.0, 0.4, 3.0]),
    window=st.sampled_from([1, 3, 2, 4]),
)
def test_ranges_agree_with_twin(data, shape, search, margin, window):
    small = tuple(-(-n // 2) for n in shape)
    values = st.sampled_from(
        [np.nan, search.minimum / 2, search.maximum / 2, 0.25, -1.5, search.maximum]
    ).map(np.float32)
    coarse = data.draw(hnp.arrays(np.float32, small, elements=values))
    low, high = spread(coarse, search, shape, margin, window)
    for y, x in np.ndindex(*shape):
        around = [
            coarse[j, i]
            for j in naive.window(y // 2, window, small[0])
            for i in naive.window(x // 2, window, small[1])
        ]
        known = [float(d) for d in around if not math.isnan(d)]
        if not known:
            assert math.isnan(low[y, x])
            assert math.isnan(high[y, x])
            continue
        # The range holds what was found, widened, as far as the search does, and ends at levels next to it.
        levels = search.disparities.astype(float)
        least, most = 2 * min(known) - margin, 2 * max(known) + margin
        assert low[y, x] == pytest.approx(
            max([d for d in levels if d <= least + 1e-6] or [levels[0]]), abs=1e-5
        )
        assert high[y, x] == pytest.approx(
            min([d for d in levels if d >= most - 1e-6] or [levels[-1]]), abs=1e-5
        )


@pytest.mark.parametrize("levels", [(0, 5), (1, 3), (1, 6), (3, 7), (-9, -8), (6, 10)])
def test_rounding_of_thirds_widens_a_range_by_at_most_one_level(levels):
    """The quotient of float32 numbers may lie a little below a whole number of levels."""
    minimum, maximum = (level / 3 for level in levels)
    search = SearchRange(minimum, maximum, 1 / 3)
    low, high = spread(np.float32([[maximum / 2]]), search, (2, 2), margin=0.0, size=1)
    assert high == pytest.approx(maximum, abs=1e-5)
    assert (low <= maximum + 1e-5).all()
    assert (low >= maximum - 1 / 3 - 1e-5).all()


@settings(max_examples=30, deadline=None)
@given(images=image_pairs(), search=searches(), octaves=st.integers(1, 4), window=st.integers(1, 4))
def test_a_margin_that_covers_the_range_changes_nothing(images, search, octaves, window):
    pair = Pair(*images, search)
    plain = Pipeline([absolute_difference, step(box, size=3), winner_take_all, parabola])
    scheme = step(
        pyramid,
        octaves=octaves,
        size=window,
        margin=2.0 * (abs(search.minimum) + abs(search.maximum)),
    )
    match = Pipeline([absolute_difference, step(box, size=3), winner_take_all, parabola, scheme])(
        pair
    )
    expected = plain(pair)
    np.testing.assert_array_equal(match.disparity, expected.disparity)
    np.testing.assert_array_equal(match.status, expected.status)
    assert match.energy == expected.energy


PAIR = Pair(
    *np.random.default_rng(8).integers(0, 256, (2, 32, 64), dtype=np.uint8), SearchRange(0, 20)
)


def solved_by(disparity_of):
    """A method that notes its pairs and returns made maps."""
    seen = []

    class Found:
        def __init__(self, disparity):
            self.disparity = disparity

    def solve(pair):
        seen.append(pair)
        return Found(disparity_of(pair))

    return seen, solve


def test_each_size_is_searched_near_the_map_of_the_next_smaller_one():
    seen, solve = solved_by(lambda pair: np.full(pair.shape, pair.shape[0] / 8, np.float32))
    found = pyramid(solve, PAIR, octaves=3, margin=1.0, size=1)
    # From 8 rows, where disparity 1 is found, by 16 rows, where it is 2, to 32 rows.
    assert [p.shape for p in seen] == [(8, 16), (16, 32), (32, 64)]
    assert [p.search for p in seen] == [SearchRange(0, 5), SearchRange(0, 10), SearchRange(0, 20)]
    assert seen[0].mask is None
    for i, disparity in ((1, 2), (2, 4)):
        assert (seen[i].mask.low == disparity - 1).all()
        assert (seen[i].mask.high == disparity + 1).all()
    np.testing.assert_array_equal(found.disparity, np.full((32, 64), 4, np.float32))
    seen.clear()
    pyramid(solve, PAIR, octaves=1)
    assert seen == [PAIR]


def test_the_pairs_own_mask_is_respected():
    pair, valid = PAIR, np.ones(PAIR.shape, bool)
    valid[:, 40:44] = False
    low, high = np.full(pair.shape, 3, np.float32), np.full(pair.shape, np.nan, np.float32)
    high[:, :20] = 8
    low[:, 60:] = 15
    own = SearchMask(valid=valid, match_valid=np.ones(pair.shape, bool), low=low, high=high)
    limited = Pair(pair.reference, pair.match, pair.search, own)
    two = narrowed(
        limited, np.full(pair.shape, 5, np.float32), np.full(pair.shape, 9, np.float32)
    ).mask
    assert two.valid is own.valid
    # What is masked has no range that means anything.
    assert (two.low[valid & (low == 3)] == 5).all()
    assert (two.high[:, :20] == 8).all()
    assert (two.high[:, 20:60][valid[:, 20:60]] == 9).all()
    # Ranges that do not meet: the pair's own.
    assert (two.low[:, 60:] == 15).all()
    assert np.isnan(two.high[:, 60:]).all()
    # Ranges that meet where all that a pixel could match is masked.
    limited.mask.match_valid[:, 20:30] = False
    two = narrowed(
        limited, np.full(pair.shape, 5, np.float32), np.full(pair.shape, 6, np.float32)
    ).mask
    assert (two.low[:, [26, 34]] == 3).all()
    assert (two.low[:, [25, 35]] == 5).all()
    limited.mask.match_valid[:] = True
    method = Pipeline([absolute_difference, step(box, size=3), winner_take_all, pyramid])
    match = method(limited)
    np.testing.assert_array_equal(match.status == Status.INVALID, ~valid)
    assert np.isnan(match.disparity[~valid]).all()
    known = np.where(valid, match.disparity, 5)
    assert (known >= low)[valid].all()
    assert known[:, :20].max() <= 8
    # Reduced pairs keep to it as well: at half the size the masked columns are blocks of their own.
    seen, solve = solved_by(lambda pair: np.full(pair.shape, np.nan, np.float32))
    pyramid(solve, limited, octaves=2)
    np.testing.assert_array_equal(seen[0].mask.valid, valid[::2, ::2])
    assert (seen[0].mask.low[:, :30] == 1).all()


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        # The range of the smaller map is 5 to 9. A limit of the pair narrows one end of it.
        ({}, (5, 9)),
        ({"low": 3}, (5, 9)),
        ({"low": 6}, (6, 9)),
        ({"high": 12}, (5, 9)),
        ({"high": 8}, (5, 8)),
        ({"low": 6, "high": 8}, (6, 8)),
        # Ranges that do not meet leave the limits of the pair.
        ({"low": 10}, (10, np.nan)),
        ({"high": 4}, (np.nan, 4)),
    ],
)
def test_either_limit_of_a_pair_narrows_the_range_alone(limits, expected):
    maps = {name: np.full(PAIR.shape, limit, np.float32) for name, limit in limits.items()}
    mask = SearchMask(**maps) if maps else None
    pair = Pair(PAIR.reference, PAIR.match, PAIR.search, mask)
    ends = (np.full(PAIR.shape, end, np.float32) for end in (5, 9))
    # Column 40 sees all of the range in the target image.
    narrow = narrowed(pair, *ends).mask
    np.testing.assert_array_equal((narrow.low[0, 40], narrow.high[0, 40]), expected)
