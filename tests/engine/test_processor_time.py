"""The processor time in the estimates of pipelines."""

import time

import numpy as np
import pytest
from pipeline_parts import not_local, textured
from processor_work import WORK, work

import stereo_framework
from stereo_framework import Pipeline, step
from stereo_framework.core.call_context import CallReport, report_call
from stereo_framework.core.registration import stage
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.kernels.threads import over_rows
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.optimization import winner_take_all
from stereo_framework.scheme import coarse

TOLERANCE = 0.1
"""Processor time that the other stages of a pipeline may use, in seconds."""


def run_together(pipelines):
    """Run pipelines together, and return the estimate of each."""
    outcomes = dict(PipelineRunner(pipelines, textured()))
    return [outcomes[index] for index in range(len(pipelines))]


@pytest.fixture(autouse=True, scope="module")
def loaded_kernels():
    """Load the modules and kernels of all other stages before a measurement."""
    Pipeline([absolute_difference, "box", winner_take_all, step(coarse, reduction=1)])(textured())


@pytest.fixture
def working(registry):
    """Return a refinement that uses the processor, or waits for the same time."""

    @stage("refinement", **not_local)
    def working_refinement(disparity, *, waits: bool = False):
        if waits:
            time.sleep(WORK)
        else:
            work()
        return disparity

    return working_refinement


def test_a_stage_that_waits_takes_no_processor_time(working):
    methods = [
        Pipeline([absolute_difference, winner_take_all, step(working, waits=waits)])
        for waits in (False, True)
    ]
    busy, waiting = [method(textured()) for method in methods]
    assert waiting.seconds["refinement.working_refinement"] >= WORK
    assert 0 < waiting.processor_seconds < TOLERANCE
    assert WORK <= busy.processor_seconds < WORK + TOLERANCE


@pytest.mark.parametrize("count", [1, 2])
def test_all_threads_of_a_stage_count(registry, count):
    @stage("refinement", **not_local)
    def working_rows(disparity):
        over_rows(lambda start, stop: work(), 2, 10**9)
        return disparity

    method = Pipeline([absolute_difference, winner_take_all, working_rows])
    with stereo_framework.threads(count):
        estimate = method(textured())
    assert count * WORK <= estimate.processor_seconds < count * WORK + TOLERANCE


def test_a_shared_step_counts_in_each_run(registry):
    calls = []

    @stage("matching_cost", **not_local)
    def working_cost(reference, match, search):
        calls.append(reference)
        work()
        return absolute_difference(reference, match, search)

    methods = [Pipeline([working_cost, *others, winner_take_all]) for others in ([], ["box"])]
    estimates = run_together(methods)
    assert len(calls) == 1
    for estimate in estimates:
        assert WORK <= estimate.processor_seconds < WORK + TOLERANCE


def test_continued_iterations_add_up(registry):
    @stage("aggregation", resume="iterations", **not_local)
    def working_iterations(volume, partial=None, *, iterations: int = 1):
        work(iterations * WORK)
        return volume if partial is None else partial

    methods = [
        Pipeline([absolute_difference, step(working_iterations, iterations=n), winner_take_all])
        for n in (1, 3)
    ]
    start = time.thread_time()
    estimates = run_together(methods)
    # The longer method continues the shorter one, so that three iterations run.
    assert time.thread_time() - start < 3 * WORK + 2 * TOLERANCE
    for count, estimate in zip((1, 3), estimates, strict=True):
        assert count * WORK <= estimate.processor_seconds < count * WORK + TOLERANCE


def test_the_method_inside_a_scheme_counts(working):
    method = Pipeline([absolute_difference, winner_take_all, working, step(coarse, reduction=1)])
    assert WORK <= method(textured()).processor_seconds < WORK + TOLERANCE


# --- reports --------------------------------------------------------------------------


@pytest.fixture
def reporting(registry):
    """Return a function that makes a method with a stage that sends a report."""

    def method(report):
        @stage("refinement", **not_local)
        def reporting_refinement(disparity):
            work()
            report_call(report)
            return disparity

        return Pipeline([absolute_difference, winner_take_all, reporting_refinement])

    return method


@pytest.mark.parametrize("reported", [5.0, np.float32(5), 0])
def test_a_reported_processor_time_replaces_the_measured_time(reporting, reported):
    report = CallReport(seconds=7.0, processor_seconds=reported)
    estimate = reporting(report)(textured())
    assert reported <= estimate.processor_seconds < reported + TOLERANCE
    assert type(estimate.processor_seconds) is float


def test_the_processor_time_is_unknown_if_a_stage_reports_only_its_run_time(reporting):
    assert reporting(CallReport(seconds=7.0))(textured()).processor_seconds is None


def test_a_stage_without_a_run_time_has_no_processor_time(reporting):
    """Only the steps in `seconds` count, such as those after a map that was read."""
    estimate = reporting(CallReport())(textured())
    assert "refinement.reporting_refinement" not in estimate.seconds
    assert 0 < estimate.processor_seconds < TOLERANCE


def test_a_report_with_a_warning_replaces_no_time(reporting):
    estimate = reporting(CallReport(warning="a warning"))(textured())
    assert WORK <= estimate.processor_seconds < WORK + TOLERANCE


def test_a_method_without_any_run_time_has_no_processor_time(registry):
    @stage("matcher", **not_local)
    def read_map(reference, match, search):
        report_call(CallReport())
        return np.zeros(reference.shape[:2], np.float32)

    estimate = Pipeline([read_map])(textured())
    assert (estimate.seconds, estimate.processor_seconds) == ({}, None)
