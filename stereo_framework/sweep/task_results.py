"""Compute disparity maps for the tasks of a sweep, and evaluate the disparity maps."""

import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stereo_framework.core.errors import StereoFrameworkError, short
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.scene import Disparity
from stereo_framework.core.step import describe_stage_error
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.evaluation.evaluate import statistics_of
from stereo_framework.evaluation.protocols import Protocol
from stereo_framework.evaluation.sanity import Remedies, reading_errors_of_map
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.threads import thread_count, threads
from stereo_framework.sweep.batches import Batch
from stereo_framework.sweep.environment import current_time, environment
from stereo_framework.sweep.pseudo_truth import pseudo_truth_of
from stereo_framework.sweep.result import (
    EVALUATION,
    GAP,
    LOWER_BOUND,
    MEMORY,
    MESSAGES,
    SCENES_OF_METHOD,
    TRACE,
    Result,
    text_of_trace,
)
from stereo_framework.sweep.tasks import Task

_EXTERNAL = ("maps", "command", "python", "onnx")
"""Names of the matchers whose disparity maps come from another program."""

_MATCHER_STATISTICS = (MEMORY, LOWER_BOUND, GAP)
"""Statistics that the matcher reports, because a map alone does not contain them."""

TaskResults = tuple[Task, list[Result]]
"""A task and the list of its results, which has one result for each protocol."""


@dataclass(frozen=True)
class _MatchOutput:
    """The part of a task's results that does not depend on a protocol.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Disparity map in pixels. The value NaN means that a pixel has no estimate.
    confidence : mapping of str to ndarray
        Confidence maps, by the name of the confidence measure.
    energy : float or None
        Energy of the disparity labels that the optimizer has selected.
    seconds : mapping of str to float
        Run time of each stage in seconds, by the name of the stage.
    warnings : tuple of str
        Warnings that the stages have issued.
    statistics : mapping of str to float
        Peak memory of external programs, lower bound of the energy, and gap between the
        energy and its lower bound.
    environment : mapping of str to str
        Versions of packages, description of the machine, messages of external programs,
        and trace of the optimizer.
    time : str
        Time at which the disparity map was computed.
    threads : int or None
        Number of threads of the kernels, or None if it is unknown.
    processor_seconds : float or None
        Processor time of all stages together, or None if it is unknown.
    map : Path or None
        File of the disparity map, or None if the disparity map is not stored yet.
    keeps_arrays : bool
        Whether the results contain the disparity map and the confidence maps as arrays.
    """

    disparity: Disparity
    confidence: Mapping[str, Disparity]
    energy: float | None
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    statistics: Mapping[str, float]
    environment: Mapping[str, str]
    time: str
    threads: int | None
    processor_seconds: float | None
    map: Path | None = None
    keeps_arrays: bool = False


# --- results of tasks -----------------------------------------------------------------


def run_tasks(batch: Batch, *, keep_maps: bool) -> Iterator[TaskResults]:
    """Compute the disparity map of each task in a batch, and evaluate the map.

    If a stage or a metric raises an exception, only the tasks that need the stage or
    the metric fail.

    Parameters
    ----------
    batch : list of Task
        Tasks with the same scene and search range.
    keep_maps : bool
        Whether the results contain the disparity maps and the confidence maps.

    Yields
    ------
    (Task, list of Result)
        A task and its results. A task has one result for each protocol.
    """
    pipelines = [task.setting.pipeline for task in batch]
    # All tasks of a batch use the same number of threads. This number is determined
    # only once, because each call takes some microseconds.
    kernel_threads = thread_count()
    for i, match in PipelineRunner(pipelines, batch[0].scene, batch[0].search):
        task = batch[i]
        yield task, _results_or_error(task, _evaluate_match, match, kernel_threads, keep_maps)


def results_of_batch(batch: Batch, *, keep_maps: bool) -> list[list[Result]]:
    """Compute a batch with one thread for each kernel, and return a list for each task.

    The list of a task contains one result for each protocol.
    """
    with threads(1):
        results = dict(run_tasks(batch, keep_maps=keep_maps))
    return [results[task] for task in batch]


def measure_stored_map(task: Task, stored: Result) -> list[Result]:
    """Evaluate a stored disparity map with the protocols of a task, without matching.

    Parameters
    ----------
    task : Task
        Task whose results are needed.
    stored : Result
        Result of the same run with a stored disparity map. The result may have been
        evaluated with another protocol.
    """
    return _results_or_error(task, _evaluate_stored_map, stored)


def failed(task: Task, error: str, trace: str = "") -> list[Result]:
    """Return the results of a failed task, which contain an error and no statistics.

    Parameters
    ----------
    task : Task
        Task that has failed. The list has one result for each of its protocols.
    error : str
        Text that describes why the task failed. The results contain a long text in
        shortened form.
    trace : str
        Traceback of the exception, or an empty text if no exception was raised.
    """
    results = []
    for protocol in task.protocols:
        result = _result_of(
            task,
            protocol,
            environment=environment(),
            time=current_time(),
            error=short(error),
            traceback=trace,
        )
        results.append(result)
    return results


def _results_or_error(
    task: Task, evaluate: Callable[..., list[Result]], *arguments: Any
) -> list[Result]:
    """Return the results of a task, or failed results if an exception is raised.

    Parameters
    ----------
    task : Task
        Task whose results are needed.
    evaluate : callable
        Function that takes the task and further arguments, and returns the results.
    *arguments
        Further arguments that `evaluate` takes after the task.
    """
    try:
        return evaluate(task, *arguments)
    except Exception as error:
        # Plug-ins may raise anything, and one failed run must not end a sweep.
        trace = "".join(traceback.format_exception(error))
        return failed(task, describe_stage_error(error), trace)


def _evaluate_match(
    task: Task, match: Estimate | Exception, kernel_threads: int, keep_maps: bool
) -> list[Result]:
    """Return the results of a computed match, or raise its exception if it failed.

    Parameters
    ----------
    task : Task
        Task whose results are needed.
    match : Estimate or Exception
        Estimate of the method of the task, or the exception that a stage has raised.
    kernel_threads : int
        Number of threads with which the kernels have computed the match.
    keep_maps : bool
        Whether the results contain the disparity map and the confidence maps.
    """
    if isinstance(match, Exception):
        raise match
    output = _MatchOutput(
        disparity=match.disparity,
        confidence=match.confidence,
        energy=match.energy,
        seconds=match.seconds,
        warnings=match.warnings,
        statistics=_statistics_of_matcher(match),
        environment=environment() | _texts_of_matcher(match),
        time=current_time(),
        threads=kernel_threads,
        processor_seconds=match.processor_seconds,
        keeps_arrays=keep_maps,
    )
    return _evaluate(task, output)


def _statistics_of_matcher(match: Estimate) -> dict[str, float]:
    """Return the known values of the peak memory, lower bound and gap of a match."""
    statistics: dict[str, float] = {}
    if match.memory is not None:
        statistics[MEMORY] = match.memory
    if match.lower_bound is not None:
        statistics[LOWER_BOUND] = match.lower_bound
        if match.energy is not None and match.lower_bound > 0:
            statistics[GAP] = 100 * (match.energy / match.lower_bound - 1)
    return statistics


def _texts_of_matcher(match: Estimate) -> dict[str, str]:
    """Return the messages of external programs and the trace, without empty texts."""
    texts = {MESSAGES: match.messages, TRACE: text_of_trace(match.trace)}
    return {name: text for name, text in texts.items() if text}


def _evaluate_stored_map(task: Task, stored: Result) -> list[Result]:
    """Evaluate a stored disparity map, and return the results of a task."""
    assert stored.disparity is not None
    statistics = stored.statistics
    output = _MatchOutput(
        disparity=stored.disparity,
        confidence=stored.confidence,
        energy=stored.energy,
        seconds=stored.seconds,
        warnings=stored.warnings,
        statistics={name: statistics[name] for name in _MATCHER_STATISTICS if name in statistics},
        environment=stored.environment,
        time=stored.time,
        threads=stored.threads,
        processor_seconds=stored.processor_seconds,
        map=stored.map,
    )
    return _evaluate(task, output)


def _evaluate(task: Task, output: _MatchOutput) -> list[Result]:
    """Evaluate a disparity map with each protocol of a task."""
    warnings = [*output.warnings]
    pseudo_truth = None
    if any(protocol.without_truth for protocol in task.protocols):
        try:
            pseudo_truth = pseudo_truth_of(task.scene, task.search)
        except StereoFrameworkError as error:
            warnings.append(f"the distances to the pseudo ground truth were not computed: {error}")
    warnings += _reading_errors_of(task, output.disparity)

    results = []
    for protocol in task.protocols:
        start = working_time()
        statistics = statistics_of(
            output.disparity,
            task.scene,
            protocol,
            pseudo_truth=pseudo_truth,
            confidence=output.confidence,
        )
        seconds = {**output.seconds, EVALUATION: working_time() - start}
        result = _result_of(
            task,
            protocol,
            environment=output.environment,
            statistics={**statistics, **output.statistics},
            energy=output.energy,
            seconds=seconds,
            time=output.time,
            threads=output.threads,
            processor_seconds=output.processor_seconds,
            warnings=tuple(dict.fromkeys(warnings)),
            map=output.map,
            _disparity=output.disparity if output.keeps_arrays else None,
            _confidence=output.confidence if output.keeps_arrays else {},
        )
        results.append(result)
    return results


def _reading_errors_of(task: Task, disparity: Disparity) -> list[str]:
    """Return warnings about a map or a ground truth that may have been read wrongly.

    Each warning contains an instruction for the author of the script.
    """
    matchers = task.setting.pipeline.in_slot("matcher")
    is_external = any(
        step.stage.name in _EXTERNAL or not step.stage.is_built_in for step in matchers
    )
    instruction = "let the matcher return NaN there"
    scale = 1.0
    for step in matchers:
        if "unknown" in step.parameters:
            instruction = "set 'unknown: {value}' of the matcher, the value as the file stores it"
            # The value of the parameter `disparity_scale` may be null.
            disparity_scale = step.parameters.get("disparity_scale") or 1.0
            scale = disparity_scale * step.parameters.get("sign", 1)
    remedies = Remedies(disparity_map=instruction, map_scale=scale)
    return reading_errors_of_map(
        disparity, task.scene, task.search, is_external=is_external, remedies=remedies
    )


def _result_of(
    task: Task, protocol: Protocol, *, environment: Mapping[str, str], **outcome: Any
) -> Result:
    """Return a result of a task under a protocol.

    Parameters
    ----------
    task : Task
        Task with the scene and the setting of the result.
    protocol : Protocol
        Protocol that has evaluated the disparity map.
    environment : mapping of str to str
        Environment in which the task was computed.
    **outcome
        Further fields of the class `Result`, such as ``statistics`` or ``error``.
    """
    setting = task.setting
    script = setting.mapping | {"scenes": [task.scene.name]}
    # The script in a result contains only the scene of one run. Therefore the names of
    # all scenes to which the script restricts the method are stored in the environment.
    if setting.scenes:
        environment = {**environment, SCENES_OF_METHOD: json.dumps(setting.scenes)}
    return Result(
        id=task.id,
        scene=task.scene.name,
        method=setting.method,
        parameters=setting.parameters,
        axes=setting.axes,
        protocol=protocol.name,
        protocol_text=str(protocol),
        script=script,
        environment=environment,
        **outcome,
    )
