"""Pipelines that share their beginnings: what they give, what is computed how often, what is kept in memory."""

import dataclasses
import itertools
import weakref

import numpy as np
import pytest
from pipeline_parts import assert_same_match, in_strips, local, not_local, textured

from stereo_framework import Labeling, Pipeline, SearchRange, step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stage
from stereo_framework.engine import walk
from stereo_framework.engine.walk import Walk
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import fill_occlusions, parabola


def outcomes(pipelines, scene, **options):
    found = dict(Walk(pipelines, scene, scene.search, **options))
    assert sorted(found) == list(range(len(pipelines)))
    return [found[i] for i in range(len(pipelines))]


def assert_same(match, expected):
    assert_same_match(match, expected)
    assert (match.objective, match.lower_bound) == (expected.objective, expected.lower_bound)
    assert list(match.seconds) == list(expected.seconds)


@pytest.fixture
def counted(registry):
    """Stages that note their parameters and the rows that they see."""
    calls = []

    @stage("matching_cost", **local)
    def cost(reference, match, search, *, truncation: float = 20.0):
        calls.append(("cost", truncation, len(reference)))
        return absolute_difference(reference, match, search, truncation=truncation)

    @stage("aggregation", source="a test")
    def whole(volume, *, factor: int = 1):
        calls.append(("whole", factor, len(volume.costs)))
        return dataclasses.replace(volume, costs=volume.costs * factor)

    @stage("aggregation", source="a test", resume="steps")
    def counting(volume, partial=None, *, steps: int = 1):
        calls.append(("counting", steps, partial is not None))
        return dataclasses.replace(
            volume, costs=(volume if partial is None else partial).costs + np.float32(steps)
        )

    @stage("optimization", source="a test")
    def decide(volume, *, seed: int = 0):
        calls.append(("decide", seed, len(volume.costs)))
        return winner_take_all(volume)

    @stage("refinement", **local)
    def shift(disparity, *, by: float = 1.0):
        return disparity + np.float32(by)

    @stage("refinement", source="a test")
    def break_at(disparity, *, value: int = 0):
        if value == 2:
            raise ValueError("two is too many")
        if value == 3:
            raise MemoryError("1 TiB")
        return disparity

    return calls, cost, whole, counting, decide, shift, break_at


def test_each_beginning_is_computed_once(counted):
    calls, cost, whole, _, decide, shift, _ = counted
    grid = itertools.product([5, 20], [1, 2], [0, 1], [0.5, 1.0, 2.0])
    some = [
        Pipeline(
            [
                step(cost, truncation=float(t)),
                step(whole, factor=f),
                step(decide, seed=s),
                step(shift, by=b),
            ]
        )
        for t, f, s, b in grid
    ]
    found = outcomes(some, textured())
    assert [name for name, *_ in calls].count("cost") == 2
    assert [name for name, *_ in calls].count("whole") == 4
    assert [name for name, *_ in calls].count("decide") == 8
    # Each of them tells the time of what it shares as if it had been alone.
    assert {match.seconds["optimization"] for match in found[:3]} == {
        found[0].seconds["optimization"]
    }
    assert len({match.seconds["matching_cost"] for match in found}) == 2


def test_the_longer_continues_the_shorter(counted):
    calls, cost, _, counting, decide, *_ = counted
    some = [Pipeline([cost, step(counting, steps=n), decide]) for n in (7, 1, 3)]
    found = outcomes(some, textured())
    assert [call[1:] for call in calls if call[0] == "counting"] == [
        (1, False),
        (2, True),
        (4, True),
    ]
    times = [match.seconds["aggregation.counting"] for match in found]
    assert times[1] < times[2] < times[0]
    for match, steps in zip(found, (7, 1, 3), strict=True):
        assert_same(match, Pipeline([cost, step(counting, steps=steps), decide])(textured()))


def test_where_nothing_is_shared_no_volume_exists(counted, monkeypatch):
    calls, cost, *_ = counted
    monkeypatch.setattr(walk, "STRIP_ROWS", 2)
    some = [
        Pipeline([step(cost, truncation=float(t)), step(box, size=3), winner_take_all, r])
        for t in (5, 20)
        for r in (parabola,)
    ]
    outcomes(some, textured())
    assert max(rows for _, _, rows in calls) == 2 + 2
    # One cost with two windows is shared, and thus held.
    shared = [Pipeline([cost, step(box, size=n), winner_take_all]) for n in (3, 5)]
    calls.clear()
    outcomes(shared, textured())
    assert max(rows for _, _, rows in calls) == 9
    # Two refinements that do not need it are not.
    refined = [Pipeline([cost, winner_take_all, r]) for r in ([], [step(fill_occlusions)])]
    calls.clear()
    outcomes(refined, textured())
    assert max(rows for _, _, rows in calls) == 2


def test_one_volume_a_depth(registry):
    alive, most = [], [0]

    def remember(volume):
        alive.append(weakref.ref(volume.costs))
        most[0] = max(most[0], sum(ref() is not None for ref in alive))
        return volume

    @stage("matching_cost", source="a test")
    def cost(reference, match, search, *, truncation: float = 20.0):
        return remember(absolute_difference(reference, match, search, truncation=truncation))

    @stage("aggregation", source="a test")
    def scale(volume, *, factor: int = 1):
        return remember(dataclasses.replace(volume, costs=volume.costs * factor))

    @stage("optimization", source="a test")
    def decide(volume, *, seed: int = 0):
        most[0] = max(most[0], sum(ref() is not None for ref in alive))
        return winner_take_all(volume)

    some = [
        Pipeline(
            [
                step(cost, truncation=t),
                step(scale, factor=f),
                step(scale, factor=g),
                step(decide, seed=s),
            ]
        )
        for t in (5.0, 20.0)
        for f in (1, 2, 3)
        for g in (1, 2)
        for s in (0, 1)
    ]
    outcomes(some, textured())
    assert most[0] == 3
    # Without branchings each volume goes when the next is there.
    most[0] = 0
    alive.clear()
    outcomes(some[:1], textured())
    assert most[0] == 2


def test_what_fails_stops_what_depends_on_it_alone(counted):
    _, cost, _, _, decide, _, break_at = counted
    some = [
        Pipeline([cost, decide, step(break_at, value=v), step(fill_occlusions, rule=r)])
        for v in (1, 2, 3)
        for r in ("left", "background")
    ]
    found = outcomes(some, textured())
    assert [type(o).__name__ for o in found] == ["Estimate"] * 2 + ["ValueError"] * 2 + [
        "StereoFrameworkError"
    ] * 2
    assert str(found[4]) == "refinement.break_at: out of memory (1 TiB)"
    with pytest.raises(
        StereoFrameworkError, match=r"^refinement.break_at: out of memory \(1 TiB\)$"
    ):
        some[4](textured())


def test_the_rest_is_computed_anew_where_the_shorter_failed(registry):
    @stage("aggregation", source="a test", resume="steps")
    def fails_at_one(volume, partial=None, *, steps: int = 1):
        if steps == 1:
            raise ValueError("one is too few")
        assert partial is None
        return dataclasses.replace(volume, costs=volume.costs + np.float32(steps))

    some = [
        Pipeline([absolute_difference, step(fails_at_one, steps=n), winner_take_all])
        for n in (1, 3)
    ]
    failed, match = outcomes(some, textured())
    assert str(failed) == "one is too few"
    assert_same(match, some[1](textured()))


@pytest.mark.parametrize(("strip_bytes", "rows"), [(2**30, 2 + 4), (100, 1 + 4)])
def test_volumes_of_local_chains_never_exist_whole(registry, monkeypatch, strip_bytes, rows):
    heights = []

    @stage("aggregation", **local)
    def spy(volume):
        heights.append(volume.costs.shape[0])
        return dataclasses.replace(volume, costs=volume.costs.copy())

    # Slabs that would be too large are halved.
    monkeypatch.setattr(walk, "_STRIP_BYTES", strip_bytes)
    method = Pipeline([absolute_difference, spy, step(box, size=5), winner_take_all])
    in_strips(2, method, textured(rows=12))
    assert max(heights) == rows
    heights.clear()
    in_strips(100, method, textured(rows=12))
    assert heights[-1] == 12


def test_global_optimizers_report_what_they_know(registry):
    @stage("optimization", **not_local)
    def guess(volume):
        assert volume.costs.shape[0] == 9
        zeros = np.zeros(volume.costs.shape[:2], np.int16)
        return Labeling(
            zeros, volume.costs[..., 0], trace=((0.5, 9.0),), lower_bound=-1.0, objective=7.0
        )

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

    rows, columns, levels = 3 * walk.STRIP_ROWS, 4, 4
    pair = Pair(
        *[np.zeros((rows, columns), np.uint8) for _ in range(2)], SearchRange(0, levels - 1)
    )
    a_row = 4 * columns * levels
    for room, last, expected in (
        (rows * a_row, decide, [rows]),
        (0, decide, [rows]),
        (rows * a_row, winner_take_all, 3 * [walk.STRIP_ROWS]),
        # Slabs of large images are halved.
        (0, winner_take_all, 6 * [walk.STRIP_ROWS // 2]),
    ):
        heights.clear()
        monkeypatch.setattr(walk, "_STRIP_BYTES", room)
        Pipeline([noted, last])(pair)
        assert heights == expected
