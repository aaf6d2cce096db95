"""Pipelines that run together and share the results of their common first steps."""

import itertools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from pipeline_parts import assert_same_match, in_strips, local, not_local, textured

from stereo_framework import Estimate, Labeling, Pipeline, SearchRange, step
from stereo_framework.aggregation import box
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.core.pair import Pair
from stereo_framework.core.registration import stage
from stereo_framework.engine import strips
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.refinement import fill_occlusions, parabola


def run_together(pipelines, scene):
    """Run pipelines together, and return the estimate or the error of each."""
    outcomes = dict(PipelineRunner(pipelines, scene, scene.search))
    assert sorted(outcomes) == list(range(len(pipelines)))
    return [outcomes[index] for index in range(len(pipelines))]


def assert_same_estimate(estimate, expected):
    """Compare all values of two estimates except the run times."""
    assert_same_match(estimate, expected)
    assert estimate.objective == expected.objective
    assert estimate.lower_bound == expected.lower_bound
    assert list(estimate.seconds) == list(expected.seconds)


@dataclass
class Calls:
    """A record of the calls of recorded stages."""

    stages: list[str] = field(default_factory=list)
    """Name of the stage, for each call."""
    cost_rows: list[int] = field(default_factory=list)
    """Number of image rows, for each call of the matching cost."""
    iterations: list[tuple[int, bool]] = field(default_factory=list)
    """Iterations and whether they continue a result, for each call of the iteration."""


@dataclass
class RecordedStages:
    """Stages that record their calls."""

    calls: Calls
    difference: Callable
    scale: Callable
    iterate: Callable
    optimize: Callable


@pytest.fixture
def recorded(registry):
    """Register stages that record their calls."""
    calls = Calls()

    @stage("matching_cost", **local)
    def difference(reference, match, search, *, truncation: float = 20.0):
        calls.stages.append("difference")
        calls.cost_rows.append(len(reference))
        return absolute_difference(reference, match, search, truncation=truncation)

    @stage("aggregation", **not_local)
    def scale(volume, *, factor: int = 1):
        calls.stages.append("scale")
        return replace(volume, costs=volume.costs * factor)

    @stage("aggregation", resume="iterations", **not_local)
    def iterate(volume, partial=None, *, iterations: int = 1):
        calls.iterations.append((iterations, partial is not None))
        start = volume if partial is None else partial
        return replace(volume, costs=start.costs + np.float32(iterations))

    @stage("optimization", **not_local)
    def optimize(volume, *, seed: int = 0):
        calls.stages.append("optimize")
        return winner_take_all(volume)

    return RecordedStages(calls, difference, scale, iterate, optimize)


def test_pipelines_compute_their_common_first_steps_once(recorded, registry):
    @stage("refinement", **local)
    def shift(disparity, *, distance: float = 1.0):
        return disparity + np.float32(distance)

    pipelines = []
    grid = itertools.product([5.0, 20.0], [1, 2], [0, 1], [0.5, 1.0, 2.0])
    for truncation, factor, seed, distance in grid:
        cost = step(recorded.difference, truncation=truncation)
        aggregation = step(recorded.scale, factor=factor)
        optimizer = step(recorded.optimize, seed=seed)
        pipelines.append(Pipeline([cost, aggregation, optimizer, step(shift, distance=distance)]))

    estimates = run_together(pipelines, textured())
    assert recorded.calls.stages.count("difference") == 2
    assert recorded.calls.stages.count("scale") == 2 * 2
    assert recorded.calls.stages.count("optimize") == 2 * 2 * 2
    # Each estimate contains the full run time of the steps that it shares.
    cost_seconds = {estimate.seconds["matching_cost"] for estimate in estimates}
    assert len(cost_seconds) == 2
    # The first three pipelines differ only in their refinement.
    optimizer_seconds = {estimate.seconds["optimization"] for estimate in estimates[:3]}
    assert len(optimizer_seconds) == 1


def test_more_iterations_continue_the_result_of_fewer_iterations(recorded):
    numbers_of_iterations = (7, 1, 3)
    pipelines = []
    for number in numbers_of_iterations:
        aggregation = step(recorded.iterate, iterations=number)
        pipelines.append(Pipeline([recorded.difference, aggregation, recorded.optimize]))

    estimates = run_together(pipelines, textured())
    # The pipelines run in the order 1, 3, 7, and each continues the result before it.
    assert recorded.calls.iterations == [(1, False), (3 - 1, True), (7 - 3, True)]
    seconds = {}
    for number, estimate in zip(numbers_of_iterations, estimates, strict=True):
        seconds[number] = estimate.seconds["aggregation.iterate"]
    assert seconds[1] < seconds[3] < seconds[7]
    for estimate, pipeline in zip(estimates, pipelines, strict=True):
        assert_same_estimate(estimate, pipeline(textured()))


def test_a_cost_volume_exists_whole_only_if_pipelines_share_it(recorded, monkeypatch):
    strip_rows = 2
    monkeypatch.setattr(strips, "STRIP_ROWS", strip_rows)
    cost, calls = recorded.difference, recorded.calls

    def largest_number_of_rows(pipelines):
        calls.cost_rows.clear()
        run_together(pipelines, textured(rows=9))
        return max(calls.cost_rows)

    different_costs = []
    for truncation in (5.0, 20.0):
        truncated_cost = step(cost, truncation=truncation)
        different_costs.append(
            Pipeline([truncated_cost, step(box, size=3), winner_take_all, parabola])
        )
    # A window of 3 x 3 pixels needs one more row on both sides of a strip.
    assert largest_number_of_rows(different_costs) == strip_rows + 2

    different_windows = [Pipeline([cost, step(box, size=n), winner_take_all]) for n in (3, 5)]
    assert largest_number_of_rows(different_windows) == 9

    # The last result that these pipelines share is a disparity map, not a cost volume.
    different_refinements = [
        Pipeline([cost, winner_take_all, refinement]) for refinement in ([], [fill_occlusions])
    ]
    assert largest_number_of_rows(different_refinements) == strip_rows


class LivingVolumes:
    """A counter of the cost volumes that exist at the same time."""

    def __init__(self):
        self.clear()

    def clear(self):
        """Forget all volumes."""
        self._arrays = []
        self.largest_number = 0

    def count(self):
        """Count the volumes that are in memory."""
        number = sum(array() is not None for array in self._arrays)
        self.largest_number = max(self.largest_number, number)

    def add(self, volume):
        """Record a volume, count the volumes, and return the recorded volume."""
        self._arrays.append(weakref.ref(volume.costs))
        self.count()
        return volume


def test_at_most_one_volume_of_each_step_is_in_memory(registry):
    volumes = LivingVolumes()

    @stage("matching_cost", **not_local)
    def difference(reference, match, search, *, truncation: float = 20.0):
        volume = absolute_difference(reference, match, search, truncation=truncation)
        return volumes.add(volume)

    @stage("aggregation", **not_local)
    def scale(volume, *, factor: int = 1):
        return volumes.add(replace(volume, costs=volume.costs * factor))

    @stage("optimization", **not_local)
    def optimize(volume, *, seed: int = 0):
        volumes.count()
        return winner_take_all(volume)

    pipelines = []
    grid = itertools.product([5.0, 20.0], [1, 2, 3], [1, 2], [0, 1])
    for truncation, first_factor, second_factor, seed in grid:
        cost = step(difference, truncation=truncation)
        aggregations = [step(scale, factor=first_factor), step(scale, factor=second_factor)]
        pipelines.append(Pipeline([cost, *aggregations, step(optimize, seed=seed)]))

    # One volume is from the matching cost, and two volumes are from the aggregations.
    run_together(pipelines, textured())
    assert volumes.largest_number == 3

    # A single pipeline releases the input of an aggregation after the aggregation.
    volumes.clear()
    run_together(pipelines[:1], textured())
    assert volumes.largest_number == 2


def test_an_error_of_a_stage_stops_only_the_pipelines_with_this_stage(recorded):
    @stage("refinement", **not_local)
    def fail(disparity, *, error: str = "no error"):
        if error == "ValueError":
            raise ValueError("a wrong value")
        if error == "MemoryError":
            raise MemoryError("1 TiB")
        return disparity

    pipelines = []
    for error in ("no error", "ValueError", "MemoryError"):
        for rule in ("left", "background"):
            refinements = [step(fail, error=error), step(fill_occlusions, rule=rule)]
            pipelines.append(Pipeline([recorded.difference, recorded.optimize, refinements]))

    outcomes = run_together(pipelines, textured())
    assert [type(outcome) for outcome in outcomes] == [
        *[Estimate, Estimate],
        *[ValueError, ValueError],
        *[StereoFrameworkError, StereoFrameworkError],
    ]
    assert str(outcomes[4]) == "refinement.fail: out of memory (1 TiB)"
    with pytest.raises(StereoFrameworkError, match=r"^refinement.fail: out of memory \(1 TiB\)$"):
        pipelines[4](textured())


def test_all_iterations_are_computed_if_fewer_iterations_failed(registry):
    @stage("aggregation", resume="iterations", **not_local)
    def fail_at_one_iteration(volume, partial=None, *, iterations: int = 1):
        if iterations == 1:
            raise ValueError("one is too few")
        assert partial is None
        return replace(volume, costs=volume.costs + np.float32(iterations))

    one_iteration, three_iterations = [
        Pipeline([absolute_difference, step(fail_at_one_iteration, iterations=n), winner_take_all])
        for n in (1, 3)
    ]
    error, estimate = run_together([one_iteration, three_iterations], textured())
    assert str(error) == "one is too few"
    assert_same_estimate(estimate, three_iterations(textured()))


@pytest.mark.parametrize(("largest_bytes", "strip_rows"), [(2**30, 2), (100, 1)])
def test_local_steps_run_on_strips_with_the_rows_that_later_windows_need(
    registry, monkeypatch, largest_bytes, strip_rows
):
    numbers_of_rows = []

    @stage("aggregation", **local)
    def record_rows(volume):
        numbers_of_rows.append(len(volume.costs))
        return replace(volume, costs=volume.costs.copy())

    # If the volume of a strip is larger than this limit, the strips are halved.
    monkeypatch.setattr(strips, "_STRIP_BYTES", largest_bytes)
    pipeline = Pipeline([absolute_difference, record_rows, step(box, size=5), winner_take_all])
    in_strips(2, pipeline, textured(rows=12))
    # A window of 5 x 5 pixels needs two more rows on both sides of a strip.
    assert max(numbers_of_rows) == strip_rows + 2 * 2

    # One strip is enough if it may have more rows than the image.
    in_strips(100, pipeline, textured(rows=12))
    assert numbers_of_rows[-1] == 12


def test_an_estimate_contains_the_trace_and_the_bound_of_a_global_optimizer(registry):
    @stage("optimization", **not_local)
    def optimize_whole_image(volume):
        assert volume.costs.shape[0] == 9
        levels = np.zeros(volume.costs.shape[:2], np.int16)
        return Labeling(
            levels, volume.costs[..., 0], trace=((0.5, 9.0),), lower_bound=-1.0, objective=7.0
        )

    estimate = in_strips(2, Pipeline([absolute_difference, optimize_whole_image]), textured(rows=9))
    assert estimate.trace == ((0.5, 9.0),)
    assert estimate.lower_bound == -1.0
    assert estimate.objective == 7.0
    assert (estimate.levels == 0).all()

    local_estimate = Pipeline([absolute_difference, winner_take_all])(textured())
    assert local_estimate.trace == ()
    assert local_estimate.lower_bound is None
    assert local_estimate.objective is None


def test_a_matching_cost_before_a_global_optimizer_is_computed_without_strips(
    registry, monkeypatch
):
    numbers_of_rows = []

    @stage("matching_cost", **local)
    def record_rows(reference, match, search):
        numbers_of_rows.append(len(reference))
        return absolute_difference(reference, match, search)

    @stage("optimization", **not_local)
    def optimize_whole_image(volume):
        return winner_take_all(volume)

    strip_rows = strips.STRIP_ROWS
    rows, columns, levels = 3 * strip_rows, 4, 4
    images = [np.zeros((rows, columns), np.uint8) for _ in range(2)]
    pair = Pair(*images, SearchRange(0, levels - 1))
    volume_bytes = 4 * rows * columns * levels

    def rows_of_calls(optimizer, largest_bytes):
        numbers_of_rows.clear()
        monkeypatch.setattr(strips, "_STRIP_BYTES", largest_bytes)
        Pipeline([record_rows, optimizer])(pair)
        return numbers_of_rows

    assert rows_of_calls(optimize_whole_image, volume_bytes) == [rows]
    assert rows_of_calls(optimize_whole_image, 0) == [rows]
    # A local optimizer runs on strips together with the matching cost.
    assert rows_of_calls(winner_take_all, volume_bytes) == 3 * [strip_rows]
    # If the volume of a strip is larger than the limit, the strips are halved.
    assert rows_of_calls(winner_take_all, 0) == 6 * [strip_rows // 2]
