import math
from dataclasses import replace

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from kernel_inputs import image_pairs, searches, shapes

from stereo_framework import Pipeline, Search, load_scene, step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.pair import Pair
from stereo_framework.core.volume import Domain, Status
from stereo_framework.kernels.blocks import block_size
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import left_right_check, parabola
from stereo_framework.scheme.pyramid import narrowed, near, pyramid


def levels_of(blocks, levels):
    """The levels of a pixel's blocks."""
    size = block_size(levels)
    return {min(b * size, levels - size) + k for b in range(-(-levels // size)) if int(blocks) >> b & 1 for k in range(size)}


@settings(max_examples=150, deadline=None)
@given(
    data=st.data(),
    shape=shapes,
    levels=st.sampled_from([20, 40, 70]),
    step=st.sampled_from([1.0, 0.5]),
    margin=st.sampled_from([0.0, 1.0, 0.4, 3.0]),
    window=st.sampled_from([1, 3, 2, 4]),
)
def test_levels_agree_with_twin(data, shape, levels, step, margin, window):
    search = Search(-3, -3 + (levels - 1) * step, step)
    small = tuple(-(-n // 2) for n in shape)
    values = st.sampled_from([search.minimum / 2, search.maximum / 2, 0.25, 3.5, search.maximum]).map(np.float32)
    coarse = data.draw(hnp.arrays(np.float32, small, elements=values))
    found, size = near(coarse, search, shape, margin, window), block_size(levels)
    for y, x in np.ndindex(*shape):
        around = [coarse[j, i] for j in naive.window(y // 2, window, small[0]) for i in naive.window(x // 2, window, small[1])]
        wanted = set()
        for d in map(float, around):
            # From the level at or below what was found less the margin to that at or above it with the margin, as far as the search goes.
            first, last = math.floor((2 * d - margin + 3) / step + 1e-9), math.ceil((2 * d + margin + 3) / step - 1e-9)
            wanted |= {min(max(k, 0), levels - 1) // size for k in range(first, last + 1)}
        assert {b for b in range(64) if int(found[y, x]) >> b & 1} == wanted


def test_what_the_smaller_map_does_not_know_is_filled_from_the_background():
    search = Search(0, 40)
    coarse = np.full((3, 4), np.nan, np.float32)
    assert (near(coarse, search, (6, 8), 0.0, 1) == 2**64 - 1).all()
    coarse[1, 0], coarse[1, 3] = 4, 18
    found = near(coarse, search, (6, 8), 0.0, 1)
    # Between 4 and 18 the lower one goes on; disparity 8 is the first level of the second block, 36 lies in the fifth.
    assert [int(found[2, x]) for x in range(8)] == [2] * 6 + [16] * 2
    assert (found == found[2]).all()


def test_a_width_makes_the_window_smaller():
    search, shape = Search(0, 79), (64, 64)
    rng = np.random.default_rng(5)
    coarse = rng.choice([4, 12, 24, 36], (32, 32)).astype(np.float32)

    def mean(**given):
        found = near(coarse, search, shape, 2.0, 9, **given)
        return np.mean([[len(levels_of(pixel, 80)) for pixel in row] for row in found[::4, ::4]])

    # All four surfaces, each in two blocks.
    assert mean() > 40
    assert mean(width=40) <= 40
    assert mean(width=16) <= 16
    # A single block is the least.
    assert mean(width=1) == 8


@settings(max_examples=30, deadline=None)
@given(images=image_pairs(), search=searches(), levels=st.integers(1, 4), window=st.integers(1, 4))
def test_a_margin_that_covers_the_range_changes_nothing(images, search, levels, window):
    pair = Pair(*images, search)
    plain = Pipeline([absolute_difference, step(box, size=3), winner_take_all, parabola])
    scheme = step(pyramid, levels=levels, window=window, margin=2.0 * (abs(search.minimum) + abs(search.maximum)))
    match = Pipeline([absolute_difference, step(box, size=3), winner_take_all, parabola, scheme])(pair)
    expected = plain(pair)
    np.testing.assert_array_equal(match.disparity, expected.disparity)
    np.testing.assert_array_equal(match.status, expected.status)
    assert match.energy == expected.energy


def two_surfaces(rows=32, columns=64):
    """A wall at disparity 4 and a block at 12 before it, of a smooth texture, with the true map."""
    rng = np.random.default_rng(8)
    texture = rng.integers(0, 256, (rows // 2, columns, 2)).repeat(2, axis=0).astype(np.uint8)
    reference, match = texture[:, :columns, 0].copy(), np.roll(texture[:, :, 0], -4, axis=1)
    reference[8:24, 28:52] = texture[8:24, 28:52, 1]
    match[8:24, 16:40] = texture[8:24, 28:52, 1]
    truth = np.full((rows, columns), 4, np.float32)
    truth[8:24, 28:52] = 12
    return Pair(reference, match, Search(0, 20)), truth


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
    pair, _ = two_surfaces()
    seen, solve = solved_by(lambda pair: np.full(pair.shape, pair.shape[0] / 8, np.float32))
    found = pyramid(solve, pair, levels=3, margin=1.0, window=1)
    # From 8 rows, where disparity 1 is found, by 16 rows, where it is 2, to 32 rows.
    assert [p.shape for p in seen] == [(8, 16), (16, 32), (32, 64)]
    assert [p.search for p in seen] == [Search(0, 5), Search(0, 10), Search(0, 20)]
    # Levels 2 - 1 to 2 + 1 of eleven, and 4 - 1 to 4 + 1 of 21, lie in the first block.
    assert seen[0].domain is None
    assert all((pair.domain.blocks == 1).all() for pair in seen[1:])
    np.testing.assert_array_equal(found.disparity, np.full((32, 64), 4, np.float32))
    seen.clear()
    pyramid(solve, pair, levels=1)
    assert seen == [pair]


def test_the_pairs_own_domain_is_respected():
    pair, _ = two_surfaces()
    valid = np.ones(pair.shape, bool)
    valid[:, 40:44] = False
    low, high = np.full(pair.shape, 3, np.float32), np.full(pair.shape, np.nan, np.float32)
    high[:, :20] = 8
    low[:, 60:] = 15
    own = Domain(valid=valid, match_valid=np.ones(pair.shape, bool), low=low, high=high)
    limited = Pair(pair.reference, pair.match, pair.search, own)
    two = narrowed(limited, np.full(pair.shape, 1, np.uint64)).domain
    assert two.valid is own.valid
    assert two.low is own.low
    # The first block ends below 8: where the range does not reach it, all of that is searched.
    assert (two.blocks[:, :60] == 1).all()
    assert (two.blocks[:, 60:] == 2**64 - 1).all()
    # Those of a pyramid around this one hold as well.
    outer = replace(limited, domain=replace(own, blocks=np.full(pair.shape, 6, np.uint64)))
    assert (narrowed(outer, np.full(pair.shape, 3, np.uint64)).domain.blocks[:, :60] == 2).all()
    assert (narrowed(outer, np.full(pair.shape, 1, np.uint64)).domain.blocks == 6).all()
    method = Pipeline([absolute_difference, step(box, size=3), winner_take_all, pyramid])
    match = method(limited)
    np.testing.assert_array_equal(match.status == Status.INVALID, ~valid)
    assert np.isnan(match.disparity[~valid]).all()
    known = np.where(valid, match.disparity, 5)
    assert (known >= low)[valid].all()
    assert known[:, :20].max() <= 8
    # Reduced pairs keep to it as well: at half the size the masked columns are blocks of their own.
    seen, solve = solved_by(lambda pair: np.full(pair.shape, np.nan, np.float32))
    pyramid(solve, limited, levels=2)
    np.testing.assert_array_equal(seen[0].domain.valid, valid[::2, ::2])
    assert (seen[0].domain.low[:, :30] == 1.5).all()


def test_match_pixels_keep_to_what_reaches_them():
    own = Domain(low=np.full((4, 12), 4, np.float32), high=np.full((4, 12), 5, np.float32))
    pair = Pair(*np.zeros((2, 4, 12), np.uint8), Search(0, 9), own)
    other = narrowed(pair, *np.full((2, *pair.shape), 1, np.uint64)).domain
    # Reference pixels reach the match pixels 4 and 5 to their left: the last four columns are met by none, the fifth by one.
    assert (other.match_low[:, :8] == 4).all()
    assert (other.match_high[:, :7] == 5).all()
    assert (other.match_high[:, 7] == 4).all()
    assert (other.match_low[:, 8:] > other.match_high[:, 8:]).all()
    assert (other.match_blocks[:, :8] == 1).all()


def test_both_views_run_inside():
    pair, truth = two_surfaces()
    check = step(left_right_check, tolerance=1.0)
    inner = Pipeline([absolute_difference, step(box, size=5), winner_take_all, check])
    method = Pipeline([absolute_difference, step(box, size=5), winner_take_all, check, pyramid])
    match = method(pair)
    np.testing.assert_array_equal(match.disparity, pyramid(inner, pair).disparity)
    hidden = np.zeros(truth.shape, bool)
    # What the block hides in the match image, and what lies out of its view.
    hidden[8:24, 20:28], hidden[:, :4] = True, True
    kept = np.isfinite(match.disparity)
    assert (np.abs(match.disparity - truth) <= 1)[kept].mean() > 0.95
    assert kept[~hidden].mean() > 0.8
    assert kept[hidden].mean() < 0.3
    # Seen from the other image: the mirrored problem.
    exchanged = method(pair.exchanged())
    assert exchanged.search.direction == -1
    assert np.nanmedian(exchanged.disparity) == 4


def test_wrong_parameters_are_refused():
    pair, _ = two_surfaces()
    for name, value, legal in (
        ("levels", 0, "a whole number >= 1"),
        ("window", 0, "a whole number >= 1"),
        ("margin", -1, ">= 0"),
        ("width", 0, "a whole number >= 1"),
    ):
        with pytest.raises(ParameterError, match=rf"^pyramid.{name}: {value} is not .*{legal}"):
            pyramid(lambda pair: None, pair, **{name: value})


def test_coarse_to_fine_helps_small_windows(data):
    scene = load_scene("teddy", data=data)
    known = np.isfinite(scene.truth)

    def bad(scheme):
        method = Pipeline([absolute_difference, step(box, size=5), winner_take_all, scheme])
        return (np.abs(method(scene).disparity - scene.truth) > 1)[known].mean()

    assert bad([step(pyramid, window=3)]) < bad([]) - 0.02
