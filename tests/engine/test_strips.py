"""Pipelines in strips give what they give on the whole."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import image_pairs, searches
from pipeline_parts import assert_same_match, by_hand, in_strips, local, make_scene, not_local, textured

from stereo_framework import Energy, Labeling, Pipeline, step
from stereo_framework.aggregation import box, min_filter
from stereo_framework.core.pair import Pair
from stereo_framework.core.search import Search
from stereo_framework.core.stage import stage
from stereo_framework.engine import strips
from stereo_framework.matching_cost import absolute_difference, squared_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import parabola

filters = st.one_of(
    st.builds(lambda s, i: step(box, size=s, iterations=i), st.integers(1, 6), st.integers(1, 3)),
    st.builds(lambda s: step(min_filter, size=s), st.integers(1, 6)),
)
costs = st.builds(
    lambda f, t, i: step(f, truncation=t, interval=i),
    st.sampled_from([absolute_difference, squared_difference]),
    st.sampled_from([20, None, 3]),
    st.booleans(),
)
methods = st.builds(
    lambda cost, filters, limits: Pipeline([cost, filters, winner_take_all, [step(parabola, limit=v) for v in limits]]),
    costs,
    st.lists(filters, max_size=3),
    st.lists(st.sampled_from([1.0, 0.5]), max_size=2),
)


@given(
    method=methods,
    images=image_pairs([np.uint8]),
    repeat=st.sampled_from([3, 1]),
    search=searches(),
    height=st.integers(1, 5),
)
def test_strips_give_what_the_functions_give_on_the_whole(method, images, repeat, search, height):
    reference, match = (np.concatenate([np.roll(image, i, axis=0) for i in range(repeat)]) for image in images)
    scene = make_scene(reference, match, search)
    search = scene.search
    disparity, volume = by_hand(method, reference, match, search)
    result = in_strips(height, method, scene)
    np.testing.assert_array_equal(result.disparity, disparity, strict=True)
    assert result.volume is None
    whole = in_strips(1000, method, scene, keep_volume=True)
    partly = in_strips(height, method, scene, keep_volume=True)
    for kept in (whole, partly):
        assert_same_match(kept, result)
        np.testing.assert_array_equal(kept.volume.costs, volume.costs, strict=True)
    assert result.energy == pytest.approx(Energy(volume).of(result.levels))


@given(
    method=methods,
    images=image_pairs([np.uint8]),
    search=searches(),
)
def test_exchanged_pair_runs_in_the_other_direction(method, images, search):
    scene = make_scene(*images, search)
    exchanged = scene.pair(1, 0)
    expected, _ = by_hand(method, images[1], images[0], dataclasses.replace(search, direction=-1))
    result = method(exchanged)
    assert result.search.direction == -1
    np.testing.assert_array_equal(result.disparity, expected)


@pytest.mark.parametrize(("strip_bytes", "rows"), [(2**30, 2 + 4), (100, 1 + 4)])
def test_volumes_of_local_chains_never_exist_whole(registry, monkeypatch, strip_bytes, rows):
    heights = []

    @stage("aggregation", **local)
    def spy(volume):
        heights.append(volume.costs.shape[0])
        return dataclasses.replace(volume, costs=volume.costs.copy())

    # Slabs that would be too large are halved.
    monkeypatch.setattr(strips, "_STRIP_BYTES", strip_bytes)
    method = Pipeline([absolute_difference, spy, step(box, size=5), winner_take_all])
    in_strips(2, method, textured(rows=12))
    assert max(heights) == rows
    heights.clear()
    in_strips(100, method, textured(rows=12))
    assert heights[-1] == 12


def test_stages_without_a_halo_see_the_whole(registry):
    @stage("aggregation", **not_local)
    def normalize(volume, *, offset: float = 0.0):
        return dataclasses.replace(volume, costs=volume.costs - volume.costs.mean(axis=(0, 1)) + np.float32(offset))

    @stage("refinement", **not_local)
    def centre(disparity):
        return disparity - np.float32(np.mean(disparity))

    method = Pipeline(
        [
            absolute_difference,
            step(box, size=3),
            step(normalize, offset=2),
            step(min_filter, size=4),
            winner_take_all,
            parabola,
            centre,
        ]
    )
    scene = textured()
    disparity, volume = by_hand(method.having(refinement=[parabola]), scene.reference, scene.match, scene.search)
    for height in (1, 4, 100):
        result = in_strips(height, method, scene, keep_volume=True)
        np.testing.assert_array_equal(result.disparity, centre(disparity))
        np.testing.assert_array_equal(result.volume.costs, volume.costs)
        assert_same_match(in_strips(height, method, scene), result)


def test_global_optimizers_report_what_they_know(registry):
    @stage("optimization", **not_local)
    def guess(volume):
        assert volume.costs.shape[0] == 9
        zeros = np.zeros(volume.costs.shape[:2], np.int16)
        return Labeling(zeros, volume.costs[..., 0], trace=((0.5, 9.0),), lower_bound=-1.0, objective=7.0)

    result = in_strips(2, Pipeline([absolute_difference, guess]), textured())
    assert (result.trace, result.lower_bound, result.objective) == (((0.5, 9.0),), -1.0, 7.0)
    assert (result.levels == 0).all()
    plain = Pipeline([absolute_difference, winner_take_all])(textured())
    assert (plain.trace, plain.lower_bound, plain.objective) == ((), None, None)


def test_costs_alone_are_made_at_once(registry, monkeypatch):
    heights = []

    @stage("matching_cost", **local)
    def noted(reference, match, search):
        heights.append(len(reference))
        return absolute_difference(reference, match, search)

    @stage("optimization", **not_local)
    def decide(volume):
        return winner_take_all(volume)

    rows, columns, levels = 3 * strips.STRIP_ROWS, 4, 4
    pair = Pair(*[np.zeros((rows, columns), np.uint8) for _ in range(2)], Search(0, levels - 1))
    a_row = 4 * columns * levels
    for room, last, expected in (
        (rows * a_row, decide, [rows]),
        (0, decide, [rows]),
        (rows * a_row, winner_take_all, 3 * [strips.STRIP_ROWS]),
        # Slabs of large images are halved.
        (0, winner_take_all, 6 * [strips.STRIP_ROWS // 2]),
    ):
        heights.clear()
        monkeypatch.setattr(strips, "_STRIP_BYTES", room)
        Pipeline([noted, last])(pair)
        assert heights == expected
