"""Pipelines that share their beginnings: what they give, what is computed how often, what is kept in memory."""

import dataclasses
import itertools
import re
import weakref

import numpy as np
import pytest
from pipeline_parts import assert_same_match, local, textured

from stereo_framework import Pipeline, Search, step
from stereo_framework.aggregation import box, diffusion
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.stage import stage
from stereo_framework.engine import strips
from stereo_framework.engine.memory import peak_memory
from stereo_framework.engine.walk import Walk
from stereo_framework.matching_cost import absolute_difference, squared_difference
from stereo_framework.optimization import graph_cut, winner_take_all
from stereo_framework.refinement import fill_occlusions, parabola
from stereo_framework.smoothness import potts


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
        return dataclasses.replace(volume, costs=(volume if partial is None else partial).costs + np.float32(steps))

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
        Pipeline([step(cost, truncation=float(t)), step(whole, factor=f), step(decide, seed=s), step(shift, by=b)])
        for t, f, s, b in grid
    ]
    found = outcomes(some, textured())
    assert [name for name, *_ in calls].count("cost") == 2
    assert [name for name, *_ in calls].count("whole") == 4
    assert [name for name, *_ in calls].count("decide") == 8
    # Each of them tells the time of what it shares as if it had been alone.
    assert {match.seconds["optimization"] for match in found[:3]} == {found[0].seconds["optimization"]}
    assert len({match.seconds["matching_cost"] for match in found}) == 2


def test_the_longer_continues_the_shorter(counted):
    calls, cost, _, counting, decide, *_ = counted
    some = [Pipeline([cost, step(counting, steps=n), decide]) for n in (7, 1, 3)]
    found = outcomes(some, textured())
    assert [call[1:] for call in calls if call[0] == "counting"] == [(1, False), (2, True), (4, True)]
    times = [match.seconds["aggregation.counting"] for match in found]
    assert times[1] < times[2] < times[0]
    for match, steps in zip(found, (7, 1, 3), strict=True):
        assert_same(match, Pipeline([cost, step(counting, steps=steps), decide])(textured()))


def test_where_nothing_is_shared_no_volume_exists(counted, monkeypatch):
    calls, cost, *_ = counted
    monkeypatch.setattr(strips, "STRIP_ROWS", 2)
    some = [
        Pipeline([step(cost, truncation=float(t)), step(box, size=3), winner_take_all, r]) for t in (5, 20) for r in (parabola,)
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
        Pipeline([step(cost, truncation=t), step(scale, factor=f), step(scale, factor=g), step(decide, seed=s)])
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


def test_a_shared_volume_is_not_reset_in_place(registry):
    @stage("aggregation", **local)
    def nothing(volume):
        # Not the same object, but the same costs.
        return dataclasses.replace(volume)

    scene = textured()
    chains = [[step(nothing)], [step(nothing), step(nothing)], [step(box, size=3)], [step(nothing), step(box)]]
    some = [Pipeline([step(squared_difference), chain, winner_take_all, parabola]) for chain in chains]
    some = [p for p in some for _ in range(2)] + some[::-1]
    half = dataclasses.replace(scene, search=Search(0, 4, 0.5))
    for match, pipeline in zip(outcomes(some, half), some, strict=True):
        assert_same(match, pipeline(half))


def test_a_stage_may_leave_some_strips_as_they_are(registry, monkeypatch):
    @stage("aggregation", source="a test")
    def whole(volume):
        return dataclasses.replace(volume, costs=volume.costs.copy())

    @stage("aggregation", **local)
    def brighten(volume, *, level: int = 0):
        # Rows that hold no such cost stay the same object.
        if not (volume.costs == level).any():
            return volume
        return dataclasses.replace(volume, costs=volume.costs + np.float32(1))

    monkeypatch.setattr(strips, "STRIP_ROWS", 1)
    chains = [[whole, step(brighten, level=n), *rest] for n in (3, 7, 50) for rest in ([], [whole])]
    some = [Pipeline([absolute_difference, chain, winner_take_all]) for chain in chains]
    scene = textured()
    found = outcomes(some, scene)
    volume = absolute_difference(scene.reference, scene.match, scene.search).costs
    for match, pipeline in zip(found, some, strict=True):
        level = pipeline.in_slot("aggregation")[1].parameters["level"]
        rows = (volume == level).any(axis=(1, 2))
        assert 0 < rows.sum() < len(rows)
        expected = volume + rows[:, None, None].astype(np.float32)
        np.testing.assert_array_equal(match.levels, expected.argmin(axis=2))
        inside = expected.min(axis=2)
        # Cells out of view get the cost that they had; here they never win.
        assert match.energy == pytest.approx(inside.sum())
        assert_same(match, pipeline(scene))


def test_what_fails_stops_what_depends_on_it_alone(counted):
    _, cost, _, _, decide, _, break_at = counted
    some = [
        Pipeline([cost, decide, step(break_at, value=v), step(fill_occlusions, rule=r)])
        for v in (1, 2, 3)
        for r in ("left", "background")
    ]
    found = outcomes(some, textured())
    assert [type(o).__name__ for o in found] == ["Match"] * 2 + ["ValueError"] * 2 + ["StereoFrameworkError"] * 2
    assert str(found[4]) == "refinement.break_at: out of memory (1 TiB)"
    with pytest.raises(StereoFrameworkError, match=r"^refinement.break_at: out of memory \(1 TiB\)$"):
        some[4](textured())


def test_labels_that_mean_no_level_fail_alone(registry):
    @stage("optimization", source="a test")
    def wild(volume, *, level: int = 0):
        labeling = winner_take_all(volume)
        labeling.levels[0, 0] = level
        return labeling

    some = [Pipeline([absolute_difference, potts, step(wild, level=n), r]) for n in (1, 99) for r in (parabola, fill_occlusions)]
    found = outcomes(some, textured())
    assert [isinstance(outcome, Exception) for outcome in found] == [False, False, True, True]
    assert re.search(
        r"test_tree.py:\d+: optimization stage wild returned levels: levels from 0 to 99; expected -1 to 4$", str(found[2])
    )


def test_the_rest_is_computed_anew_where_the_shorter_failed(registry):
    @stage("aggregation", source="a test", resume="steps")
    def fails_at_one(volume, partial=None, *, steps: int = 1):
        if steps == 1:
            raise ValueError("one is too few")
        assert partial is None
        return dataclasses.replace(volume, costs=volume.costs + np.float32(steps))

    some = [Pipeline([absolute_difference, step(fails_at_one, steps=n), winner_take_all]) for n in (1, 3)]
    failed, match = outcomes(some, textured())
    assert str(failed) == "one is too few"
    assert_same(match, some[1](textured()))


def test_addresses_are_those_of_each_pipeline(registry):
    chains = [[step(box, size=3)], [step(box, size=3), step(box, size=5)]]
    some = [Pipeline([absolute_difference, chain, winner_take_all]) for chain in chains]
    one, two = outcomes(some, textured())
    assert list(one.seconds) == ["matching_cost", "aggregation.box", "restore_outside", "optimization"]
    assert list(two.seconds) == ["matching_cost", "aggregation.0", "aggregation.1", "restore_outside", "optimization"]


def test_memory_is_estimated():
    shape, search = (1000, 1000), Search(0, 99)
    volume = 4 * 1000 * 1000 * 100
    plain = Pipeline([absolute_difference, step(box, size=9), winner_take_all])
    assert peak_memory([plain], shape, search) < 0.5 * volume
    cut = Pipeline([absolute_difference, potts, graph_cut])
    assert peak_memory([cut], shape, search) == 3 * volume
    # A cost with two windows: its volume and strips.
    windows = [plain.having(aggregation=[step(box, size=n)]) for n in (9, 11)]
    assert 1 * volume < peak_memory(windows, shape, search) < 1.6 * volume
    # Costs, one result to be continued, the buffers that the hungriest of such stages has.
    spread = [Pipeline([absolute_difference, step(diffusion, iterations=n), winner_take_all]) for n in (5, 9)]
    assert peak_memory(spread, shape, search) == 6 * volume
