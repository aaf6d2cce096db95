"""Volumes of uint8 and uint16 costs: converted once, where somebody takes none."""

import dataclasses

import numpy as np
import pytest
from pipeline_parts import in_strips, local, not_local, textured

from stereo_framework import CostVolume, Pipeline
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stage
from stereo_framework.core.volume import Labeling, SearchMask
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import parabola


@pytest.fixture
def parts(registry, monkeypatch):
    """An integer cost, aggregation and optimizer, float ones, and a list of what was converted."""
    converted = []
    floats = CostVolume.floats

    def noted(volume):
        if volume.costs.dtype != np.float32:
            converted.append(volume.costs.dtype)
        return floats(volume)

    monkeypatch.setattr(CostVolume, "floats", noted)

    def whole_numbers(reference, match, search):
        volume = absolute_difference(reference, match, search)
        return dataclasses.replace(volume, costs=volume.costs.astype(np.uint8))

    @stage("matching_cost", **local, integer=True)
    def narrow(reference, match, search):
        return whole_numbers(reference, match, search)

    @stage("matching_cost", **local)
    def wide(reference, match, search):
        return floats(whole_numbers(reference, match, search))

    @stage("aggregation", **not_local, integer=True)
    def twice(volume):
        costs = volume.costs.astype(np.uint16) if volume.costs.dtype == np.uint8 else volume.costs
        return CostVolume(costs * costs.dtype.type(2), volume.search, 2 * volume.outside_cost)

    @stage("optimization", **not_local)
    def decide(volume):
        assert volume.costs.dtype == np.float32
        return winner_take_all(volume)

    @stage("optimization", **not_local, integer=True)
    def decide_in_integers(volume):
        assert volume.costs.dtype != np.float32
        labels = volume.costs.argmin(axis=2).astype(np.int16)
        return Labeling(
            labels,
            np.take_along_axis(volume.costs, labels[..., None].astype(int), 2)[..., 0].astype(
                np.float32
            ),
        )

    return converted, narrow, wide, twice, decide, decide_in_integers


@pytest.mark.parametrize("height", [2, 100])
def test_converted_once_with_the_same_labels(parts, height):
    converted, narrow, wide, twice, decide, _ = parts
    scene = textured()
    results = {
        cost: in_strips(height, Pipeline([cost, twice, decide, parabola, parabola]), scene)
        for cost in (narrow, wide)
    }
    assert converted == [np.uint16]
    for name in ("levels", "disparity", "status"):
        np.testing.assert_array_equal(getattr(results[narrow], name), getattr(results[wide], name))
    assert results[narrow].energy == results[wide].energy


def test_integers_all_the_way(parts):
    converted, narrow, wide, twice, decide, decide_in_integers = parts
    scene = textured()
    match = Pipeline([narrow, twice, decide_in_integers])(scene, keep_volume=True)
    assert converted == []
    assert match.volume.costs.dtype == np.uint16
    np.testing.assert_array_equal(match.levels, Pipeline([wide, twice, decide])(scene).levels)
    # The energy is that of the costs as numbers.
    assert match.energy == Pipeline([wide, twice, decide])(scene).energy


def test_closed_cells_of_integers(parts):
    _, narrow, _, twice, _, decide_in_integers = parts
    scene = textured()
    valid = np.ones((9, 20), bool)
    valid[:, 4] = False
    pair = Pair(
        scene.reference,
        scene.match,
        scene.search,
        SearchMask(valid=valid, low=np.full((9, 20), 1, np.float32)),
    )
    for aggregation in ([], [twice]):
        match = Pipeline([narrow, aggregation, decide_in_integers])(pair, keep_volume=True)
        assert match.volume.costs.dtype == np.uint16
        assert (match.volume.costs[:, 5:, 0] == 65535).all()
        assert (match.volume.costs[:, 4] == 0).all()
        assert (match.levels[:, 4] == -1).all()
        assert (match.levels[:, 5:] >= 1).all()


def test_the_other_views_costs_are_converted_too(parts):
    _, narrow, _, twice, _, decide_in_integers = parts
    seen = []

    @stage("refinement", **not_local, other_needs={"volume"})
    def look(disparity, other):
        seen.append(other.volume.costs)
        return disparity

    @stage("refinement", **not_local, other_needs={"volume"}, integer=True)
    def look_at_integers(disparity, other):
        seen.append(other.volume.costs)
        return disparity

    scene = textured()
    for refinement in (look, look_at_integers):
        Pipeline([narrow, twice, decide_in_integers, refinement])(scene)
    assert [costs.dtype for costs in seen] == [np.float32, np.uint16]
    np.testing.assert_array_equal(*seen)
