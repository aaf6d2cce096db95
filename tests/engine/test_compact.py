"""Compact volumes: the same results as whole ones whose other cells are closed, with fewer cells."""

import math
import sys
from dataclasses import replace
from unittest import mock

import naive_semi_global
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_inputs import image_pairs, searches
from pipeline_parts import in_slabs

from stereo_framework import Bound, CostVolume, Energy, Pipeline, Search
from stereo_framework.aggregation import box
from stereo_framework.engine.match import DENSE
from stereo_framework.engine.memory import peak_memory
from stereo_framework.engine.tree import Tree
from stereo_framework.matching_cost import ad_census, census
from stereo_framework.optimization import semi_global, winner_take_all
from stereo_framework.pair import Pair
from stereo_framework.refinement import left_right_check, parabola
from stereo_framework.scheme import pyramid
from stereo_framework.volume import Domain

SMALL = Bound(census, {"width": 3, "height": 3})


def ranges(rng, shape, search, held, *, shorter=0):
    """Ranges of `held` levels, some of them by up to `shorter` less, somewhere in the search."""
    first = rng.integers(0, search.levels - held + 1, shape)
    last = first + held - 1 - rng.integers(0, shorter + 1, shape)
    # One has the full width, so that it is what the volumes hold.
    last[0, 0] = first[0, 0] + held - 1
    return (search.disparities[level] for level in (first, last))


def whole(method, pair, **options):
    """The match of a pair when no volume is compact."""
    with mock.patch.object(Domain, "span", return_value=None):
        return method(pair, **options)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), images=image_pairs([np.uint8]), search=searches(), seed=st.integers(0, 99))
def test_the_same_as_whole_volumes(data, images, search, seed):
    rng, shape = np.random.default_rng(seed), images[0].shape[:2]
    held = data.draw(st.integers(1, max(1, search.levels // 2)))
    low, high = ranges(rng, shape, search, held, shorter=data.draw(st.sampled_from([0, held - 1])))
    limits = {"low": low, "high": high}
    optimizer = data.draw(st.sampled_from([winner_take_all, semi_global]))
    if optimizer is winner_take_all and data.draw(st.booleans()):
        limits |= {"valid": rng.random(shape) < 0.8, "match_valid": rng.random(shape) < 0.8}
    cost = data.draw(st.sampled_from([SMALL, Bound(ad_census, {"width": 3, "height": 3, "steps": 1000})]))
    boxes = [Bound(box, {"size": size}) for size in data.draw(st.sampled_from([[], [3], [2]]))]
    method = Pipeline(cost, optimizer, aggregation=boxes)
    pair = Pair(*images, search, Domain(**limits))
    found, expected = method(pair, keep_volume=True), whole(method, pair, keep_volume=True)
    if search.levels < 2 * held:
        assert found.volume.first is None
        return
    assert found.volume.costs.shape[2] <= held
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.status, expected.status)
    assert found.energy == expected.energy
    levels = found.volume.first[..., None].astype(int) + np.arange(found.volume.costs.shape[2])
    np.testing.assert_array_equal(found.volume.costs, np.take_along_axis(expected.volume.costs, levels, axis=2))
    if optimizer is winner_take_all:
        np.testing.assert_array_equal(in_slabs(1, method, pair).labels, found.labels)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 99), kind=st.sampled_from([np.uint8, np.uint16, np.float32]), paths=st.sampled_from([4, 8]))
def test_paths_agree_with_twin(seed, kind, paths):
    rng = np.random.default_rng(seed)
    search, held = Search(0, 8), int(rng.integers(1, 5))
    costs = rng.integers(0, 64, (3, 4, held)).astype(kind)
    first = rng.integers(0, search.levels - held + 1, (3, 4)).astype(np.int16)
    images = rng.integers(0, 256, (2, 3, 4)).astype(np.uint8)
    given = {"p1": 3, "p2": 20, "penalties": str(rng.choice(["constant", "gradient", "edges"]))}
    full = np.full((3, 4, search.levels), math.inf)
    np.put_along_axis(full, first[..., None].astype(int) + np.arange(held), costs, axis=2)
    sums = naive_semi_global.path_sums(full, *images, search, paths, given["p1"], given["p2"], given["penalties"], 60)
    expected = np.take_along_axis(sums, first[..., None].astype(int) + np.arange(held), axis=2).astype(float)
    volume = CostVolume(costs, search, 31.0, first)
    found = semi_global(Energy(volume), *images, paths=paths, edge_threshold=60, **given)
    # Tenths of penalties at edges are no float32 numbers.
    np.testing.assert_allclose(found.volume.costs, expected, rtol=1e-5)
    np.testing.assert_array_equal(found.labels, first + found.volume.costs.argmin(axis=2))
    np.testing.assert_array_equal(found.costs, volume.chosen(found.labels))


def test_the_parabola_reads_the_costs_around_a_label():
    costs = np.array([[[9, 1, 3], [1, 5, 9]]], np.float32)
    volume = CostVolume(costs, Search(0, 20), 9.0, np.array([[7, 12]], np.int16))
    # The vertex of 9, 1, 3; the other pixel's lower neighbour is not held.
    np.testing.assert_allclose(parabola(np.array([[8, 12]], np.float32), volume), [[8.3, 12]], rtol=1e-6)


def surfaces(rows=24, columns=96):
    """A wall at disparity 6 and a block at 30 before it, of 50 levels."""
    rng = np.random.default_rng(4)
    texture = rng.integers(0, 256, (2, rows // 2, columns + 8)).repeat(2, axis=1).repeat(2, axis=2).astype(np.uint8)
    reference, match = texture[0, :, :columns].copy(), np.roll(texture[0, :, :columns], -6, axis=1)
    reference[8:16, 50:80], match[8:16, 20:50] = texture[1, 8:16, 50:80], texture[1, 8:16, 50:80]
    truth = np.full((rows, columns), 6, np.float32)
    truth[8:16, 50:80] = 30
    return Pair(reference, match, Search(0, 49)), truth


def test_a_pyramid_makes_both_views_compact():
    pair, truth = surfaces()
    method = Pipeline(SMALL, semi_global, refinement=[left_right_check])
    module = sys.modules["stereo_framework.optimization.semi_global"]
    with mock.patch.object(module, "compact_path_sums", wraps=module.compact_path_sums) as sums:
        match = replace(method, scheme=[Bound(pyramid, {"width": 16})])(pair)
    # At half the size 16 levels are more than half of all: compact would save little.
    assert [call.args[0].shape for call in sums.call_args_list] == [(24, 96, 16)] * 2
    assert match.warnings == ()
    kept = np.isfinite(match.disparity)
    assert (np.abs(match.disparity - truth) <= 1)[kept].mean() > 0.8
    assert kept.mean() > 0.6


def test_a_method_that_cannot_says_so():
    pair, _ = surfaces()
    scheme = [Bound(pyramid, {"width": 16})]
    method = Pipeline(SMALL, winner_take_all, aggregation=["min_filter"], confidence=["winner_margin"], scheme=scheme)
    (told,) = [line for line in method(pair).warnings if line.startswith(DENSE)]
    assert told == f"{DENSE}min_filter and winner_margin cannot use them; 50 levels of each pixel were held where 16 would do"


def test_memory_of_a_pyramid_is_that_of_its_width():
    search, shape = Search(0, 279), (100, 200)
    method = Pipeline(SMALL, semi_global, refinement=[parabola])

    def estimated(method):
        return peak_memory(Tree([method]).root, shape, search.levels, search=search)

    assert estimated(replace(method, scheme=[Bound(pyramid, {"width": 56})])) == estimated(method) / 5
    assert estimated(replace(method, scheme=[pyramid])) == estimated(method)
    # A stage that is not compact holds all.
    dense = replace(method, confidence=["winner_margin"])
    assert estimated(replace(dense, scheme=[Bound(pyramid, {"width": 56})])) == estimated(dense)
