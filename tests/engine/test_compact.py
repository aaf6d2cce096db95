"""Compact volumes: the same results as whole ones whose other cells are closed, with fewer cells."""

import math
import sys
from dataclasses import replace
from unittest import mock

import naive_semi_global
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_inputs import image_pairs
from pipeline_parts import in_strips

from stereo_framework import CostVolume, Energy, Pipeline, Search, step
from stereo_framework.aggregation import box
from stereo_framework.core.pair import Pair
from stereo_framework.core.volume import Domain, Held
from stereo_framework.engine import pipeline
from stereo_framework.engine.match import DENSE
from stereo_framework.engine.memory import peak_memory
from stereo_framework.kernels.blocks import block_size
from stereo_framework.matching_cost import ad_census, census
from stereo_framework.optimization import semi_global, winner_take_all
from stereo_framework.refinement import left_right_check, parabola
from stereo_framework.scheme import pyramid

SMALL = step(census, width=3, height=3)


def blocks_of(rng, shape, levels, most=2):
    """Up to so many blocks for each pixel, as in `Domain.blocks`."""
    size = block_size(levels)
    found = np.zeros(shape, np.uint64)
    for _ in range(most):
        found |= np.uint64(1) << rng.integers(0, -(-levels // size), shape).astype(np.uint64)
    return found


def levels_of(blocks, levels):
    """The levels of the blocks of a pixel, in order."""
    size = block_size(levels)
    firsts = [min(b * size, levels - size) for b in range(64) if int(blocks) >> b & 1]
    return sorted({first + k for first in firsts for k in range(size)})


def random_domain(rng, shape, search, *, masks):
    """Blocks, ranges, or both, so that every pixel has an open cell; perhaps with masks."""
    limits, kind = {}, rng.integers(3)
    if kind < 2:
        limits["blocks"] = blocks_of(rng, shape, search.levels)
    if kind > 0:
        first = rng.integers(0, search.levels, shape)
        if kind == 1:
            first = np.array([[rng.choice(levels_of(b, search.levels)) for b in row] for row in limits["blocks"]])
        last = np.minimum(first + rng.integers(0, 9, shape), search.levels - 1)
        limits |= {"low": search.disparities[first], "high": search.disparities[last]}
    if masks:
        limits |= {"valid": rng.random(shape) < 0.8, "match_valid": rng.random(shape) < 0.8}
    return Domain(**limits)


def whole(method, pair, **options):
    """The match of a pair when no volume is compact."""
    with mock.patch.object(Domain, "held", return_value=None):
        return method(pair, **options)


@settings(max_examples=25, deadline=None)
@given(
    data=st.data(),
    images=image_pairs([np.uint8]),
    levels=st.integers(20, 70),
    distance=st.sampled_from([1.0, 0.5]),
    sign=st.sampled_from([1, -1]),
    seed=st.integers(0, 99),
)
def test_the_same_as_whole_volumes(data, images, levels, distance, sign, seed):
    rng, shape = np.random.default_rng(seed), images[0].shape[:2]
    search = Search(-2, -2 + (levels - 1) * distance, distance, direction=sign)
    optimizer = data.draw(st.sampled_from([winner_take_all, semi_global]))
    domain = random_domain(rng, shape, search, masks=optimizer is winner_take_all and data.draw(st.booleans()))
    cost = data.draw(st.sampled_from([SMALL, step(ad_census, width=3, height=3, steps=1000)]))
    boxes = [step(box, size=size) for size in data.draw(st.sampled_from([[], [3], [2]]))]
    method = Pipeline([cost, boxes, optimizer])
    pair = Pair(*images, search, domain)
    found, expected = method(pair, keep_volume=True), whole(method, pair, keep_volume=True)
    held = found.volume.held
    if held is None:
        # Two blocks are more than half of all levels.
        assert levels < 32
        return
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.status, expected.status)
    assert found.energy == expected.energy
    pixels = np.arange(held.starts.size - 1).repeat(np.diff(held.starts))
    cells = held.firsts[:, None].astype(int) + np.arange(held.size)
    of_whole = expected.volume.costs.reshape(len(pixels) and held.starts.size - 1, -1)[pixels[:, None], cells]
    np.testing.assert_array_equal(found.volume.costs, of_whole)
    if optimizer is winner_take_all:
        np.testing.assert_array_equal(in_strips(1, method, pair).labels, found.labels)


@settings(max_examples=40, deadline=None)
@given(levels=st.sampled_from([20, 32, 70, 600]), seed=st.integers(0, 99))
def test_open_cells_agree_with_twin(levels, seed):
    rng = np.random.default_rng(seed)
    search, shape = Search(0, levels - 1), (3, 5)
    domain = random_domain(rng, shape, search, masks=False)
    low, high = (np.full(shape, end) if limit is None else limit for limit, end in ((domain.low, 0), (domain.high, levels)))
    blocks = np.full(shape, 2**64 - 1, np.uint64) if domain.blocks is None else domain.blocks
    size = block_size(levels)
    packed, counts = [], []
    volume = CostVolume(np.zeros((*shape, levels), np.float32), search, 0.0)
    domain.close(volume, 1.0)
    for y, x in np.ndindex(*shape):
        some = [b for b in range(-(-levels // size)) if int(blocks[y, x]) >> b & 1]
        inside = [list(range(first, first + size)) for first in (min(b * size, levels - size) for b in some)]
        open_levels = {k for one in inside for k in one if low[y, x] <= k <= high[y, x]}
        assert set(np.flatnonzero(volume.costs[y, x] == 0)) == open_levels
        least, most = (limit[y, x] for limit in domain.ranges(search, shape))
        assert least == max(low[y, x], min(k for one in inside for k in one))
        assert most == min(high[y, x], max(k for one in inside for k in one))
        meeting = [one for one in inside if open_levels & set(one)]
        # The last block is not needed for levels that the one before has.
        if len(meeting) > 1 and meeting[-1][0] < meeting[-2][0] + size and not open_levels & set(meeting[-1]) - set(meeting[-2]):
            meeting.pop()
        packed.append([one[0] for one in meeting])
        counts.append(len(meeting))
    held = domain.held(search)
    assert domain.held_levels(search) == (levels if held is None else held.mean)
    if held is not None:
        assert held.mean == math.ceil(size * sum(counts) / len(counts))
        assert np.diff(held.starts).tolist() == counts
        assert held.firsts.tolist() == [first for one in packed for first in one]
        assert held.closes == any(
            not low[y, x] <= k <= high[y, x]
            for (y, x), firsts in zip(np.ndindex(*shape), packed, strict=True)
            for first in firsts
            for k in range(first, first + size)
        )


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 99),
    kind=st.sampled_from([np.uint8, np.uint16, np.float32]),
    paths=st.sampled_from([4, 8]),
    size=st.sampled_from([8, 16]),
)
def test_paths_agree_with_twin(seed, kind, paths, size):
    rng = np.random.default_rng(seed)
    shape, search = (3, 4), Search(0, 35)
    # The last block shares levels with the one before.
    starts = [sorted(rng.choice([0, size, 36 - size], rng.integers(1, 4), replace=False)) for _ in range(12)]
    counts = [0, *np.cumsum([len(one) for one in starts])]
    held = Held(np.array(counts), np.array([first for one in starts for first in one], np.int16), shape, size, False)
    full = np.full((*shape, search.levels), math.inf)
    costs = np.empty((counts[-1], size), kind)
    for i, (y, x) in enumerate(np.ndindex(*shape)):
        for j, first in enumerate(starts[i]):
            here = slice(first, first + size)
            new = rng.integers(0, 64, size).astype(kind)
            full[y, x, here] = np.where(np.isinf(full[y, x, here]), new, full[y, x, here])
            costs[counts[i] + j] = full[y, x, here]
    images = rng.integers(0, 256, (2, *shape)).astype(np.uint8)
    given = {"p1": 3, "p2": 20, "penalties": str(rng.choice(["constant", "gradient", "edges"]))}
    sums = naive_semi_global.path_sums(full, *images, search, paths, given["p1"], given["p2"], given["penalties"], 60)
    sums = sums.astype(float)
    volume = CostVolume(costs, search, 31.0, held)
    found = semi_global(Energy(volume), *images, paths=paths, edge_threshold=60, **given)
    for i, (y, x) in enumerate(np.ndindex(*shape)):
        for j, first in enumerate(starts[i]):
            # Tenths of penalties at edges are no float32 numbers.
            np.testing.assert_allclose(found.volume.costs[counts[i] + j], sums[y, x, first : first + size], rtol=1e-5)
        own = np.where(np.isinf(full[y, x]), np.inf, sums[y, x])
        label = found.labels[y, x]
        assert own[label] <= own.min() * (1 + 1e-5)
        assert found.costs[y, x] == full[y, x, label]
    np.testing.assert_array_equal(found.costs, volume.chosen(found.labels))


def blocks_volume(firsts, counts, costs, search, outside=9.0):
    """A volume of blocks of a single row, of pixels with so many blocks each."""
    starts = np.concatenate([[0], np.cumsum(counts)])
    held = Held(starts, np.array(firsts, np.int16), (1, len(counts)), len(costs[0]), False)
    return CostVolume(np.array(costs, np.float32), search, outside, held)


def test_the_parabola_reads_the_costs_around_a_label():
    volume = blocks_volume([7, 10, 12], [2, 1], [[9, 1, 3], [4, 7, 8], [1, 5, 9]], Search(0, 20))
    # The vertices of 9, 1, 3 and, over both blocks, of 1, 3, 4, which has none; the other pixel's lower neighbour is not held.
    found = parabola(np.array([[8, 12]], np.float32), volume)
    np.testing.assert_allclose(found, [[8.3, 12]], rtol=1e-6)
    # Of 3, 4, 7 around level 10, in two blocks: by how far the line of 3 and 7 is off, over the curvature, beyond the limit.
    np.testing.assert_allclose(parabola(np.array([[10, 12]], np.float32), volume, limit=2.0), [[9, 12]], rtol=1e-6)
    assert volume.chosen(np.array([[10, 3]], np.int16)).tolist() == [[4, 0]]


def surfaces(rows=24, columns=96):
    """A wall at disparity 6 and a block at 30 before it, of 50 levels."""
    rng = np.random.default_rng(4)
    texture = rng.integers(0, 256, (2, rows // 2, columns + 8)).repeat(2, axis=1).repeat(2, axis=2).astype(np.uint8)
    reference, match = texture[0, :, :columns].copy(), np.roll(texture[0, :, :columns], -6, axis=1)
    reference[8:16, 50:80], match[8:16, 20:50] = texture[1, 8:16, 50:80], texture[1, 8:16, 50:80]
    truth = np.full((rows, columns), 6, np.float32)
    truth[8:16, 50:80] = 30
    return Pair(reference, match, Search(0, 49)), truth


@pytest.mark.compiled
def test_a_pyramid_makes_both_views_compact():
    pair, truth = surfaces()
    method = Pipeline([SMALL, semi_global, left_right_check])
    module = sys.modules["stereo_framework.optimization.semi_global"]
    with mock.patch.object(module, "compact_path_sums", wraps=module.compact_path_sums) as sums:
        match = method.having(scheme=[step(pyramid, window=3, levels=2)])(pair)
    # 50 levels are seven blocks, of which the wall and the block need one or two each.
    held = [call.args[1] for call in sums.call_args_list]
    assert [one.shape for one in held] == [(24, 96)] * 2
    assert max(one.mean for one in held) <= 25
    assert match.warnings == ()
    kept = np.isfinite(match.disparity)
    assert (np.abs(match.disparity - truth) <= 1)[kept].mean() > 0.8
    assert kept.mean() > 0.6


@pytest.mark.compiled
def test_a_method_that_cannot_says_so():
    pair, _ = surfaces()
    scheme = [step(pyramid, window=3, levels=2)]
    method = Pipeline([SMALL, "min_filter", winner_take_all, "winner_margin", scheme])
    (told,) = [line for line in method(pair).warnings if line.startswith(DENSE)]
    assert told.startswith(f"{DENSE}min_filter and winner_margin cannot use them; 50 levels of a pixel were held where ")
    assert told.endswith(" would do on average")


def test_memory_of_a_pyramid_is_that_of_its_width():
    search, shape = Search(0, 279), (100, 200)
    method = Pipeline([SMALL, semi_global, parabola])

    def estimated(method):
        return peak_memory([method], shape, search.levels, search=search)

    assert estimated(method.having(scheme=[step(pyramid, width=56)])) == estimated(method) / 5
    assert estimated(method.having(scheme=[pyramid])) == estimated(method)
    # A stage that is not compact holds all.
    dense = method.having(confidence=["winner_margin"])
    assert estimated(dense.having(scheme=[step(pyramid, width=56)])) == estimated(dense)
    # One of the two, or a width of more than half of the levels, makes volumes hold all.
    other = method.having(alternatives={"other": dense}, preprocessing=["row_alignment"])
    assert estimated(other.having(scheme=[step(pyramid, width=56)])) == estimated(other)
    assert estimated(method.having(scheme=[step(pyramid, width=140)])) == estimated(method) / 2
    assert estimated(method.having(scheme=[step(pyramid, width=141)])) == estimated(method)


def two_walls():
    """A pair of 10 levels at each reference pixel, of 50, that are far apart on its two halves, so that they meet in the match image."""
    pair, _ = surfaces()
    low = np.full(pair.shape, 2, np.float32)
    low[:, 48:] = 38
    return replace(pair, domain=Domain(low=low, high=low + 9))


def test_memory_is_that_of_the_view_that_takes_more():
    pair = two_walls()
    one, both = Pipeline([SMALL, semi_global]), Pipeline([SMALL, semi_global, left_right_check])
    estimates = []
    with mock.patch.object(pipeline, "peak_memory", side_effect=lambda *given, **_: estimates.append(given[2]) or 0):
        for method in (one, both, one.having(alternatives={"other": both}, preprocessing=["row_alignment"])):
            method._check_memory(pair, keep_volume=False)
    # Levels 2 to 11 lie in two blocks of eight, 38 to 47 as well. Seen from the match image most pixels are reached from both halves, and have all between.
    assert estimates == [16, 50, 50]


def test_each_pass_of_a_box_takes_levels_that_are_not_held_for_cells_out_of_view():
    rng = np.random.default_rng(2)
    search, shape = Search(0, 19), (5, 6)
    domain = Domain(blocks=blocks_of(rng, shape, 20, most=1))
    held = domain.held(search)
    cells = held.firsts[:, None].astype(int) + np.arange(held.size)
    costs = rng.integers(0, 64, cells.shape).astype(np.float32)
    expected, pixels = costs, np.arange(30).repeat(np.diff(held.starts))[:, None]
    for _ in range(2):
        full = np.full((30, search.levels), 31, np.float32)
        full[pixels, cells] = expected
        expected = box(CostVolume(full.reshape(*shape, -1), search, 31.0), size=3).costs.reshape(30, -1)[pixels, cells]
    found = box(CostVolume(costs, search, 31.0, held), size=3, iterations=2)
    np.testing.assert_array_equal(found.costs, expected)
