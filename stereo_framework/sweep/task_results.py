"""What workers do: compute the tasks of a unit and measure their maps, in this process or in another one."""

import functools
import json
import pickle
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from stereo_framework.core.errors import ParameterError, StereoFrameworkError, short
from stereo_framework.core.estimate import Estimate
from stereo_framework.core.plugins import load_plugin, module_names
from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.core.shared_modules import give_names
from stereo_framework.core.step import describe_stage_error
from stereo_framework.engine.runner import PipelineRunner
from stereo_framework.evaluation.evaluate import statistics_of
from stereo_framework.evaluation.protocols import Protocol
from stereo_framework.evaluation.sanity import Remedies, find_reading_errors
from stereo_framework.kernels.compiling import working_time
from stereo_framework.kernels.threads import threads
from stereo_framework.sweep.code_identity import code_of_program
from stereo_framework.sweep.identity import environment
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
from stereo_framework.sweep.tasks import Task, Unit

_EXTERNAL = ("maps", "command", "python", "onnx")
"""Matchers whose maps other programs compute."""

Done = tuple[Task, list[Result]]
"""A task and its results, one for each protocol."""


def run_tasks(unit: Unit, *, keep: bool) -> Iterator[Done]:
    """Run the tasks of a unit and measure each map under its protocols; what is raised becomes an error of its own task alone.

    Parameters
    ----------
    unit : list of Task
    keep : bool
        Leave the maps in the results.
    """
    pipelines = [task.setting.pipeline for task in unit]
    for i, match in PipelineRunner(pipelines, unit[0].scene, unit[0].search):
        yield unit[i], _results_or_error(unit[i], _of_match, match, keep)


def results_of_tasks(unit: Unit, *, keep: bool) -> list[list[Result]]:
    """The results of each task of a unit, each kernel in one thread."""
    with threads(1):
        found = dict(run_tasks(unit, keep=keep))
    return [found[task] for task in unit]


def measure_stored_map(task: Task, before: Result) -> list[Result]:
    """The results of a task whose match another protocol has measured `before`: its stored map is measured, and nothing is matched."""
    return _results_or_error(task, _of_result, before)


def failed(task: Task, error: str, trace: str = "") -> list[Result]:
    """The results of a task that came to nothing."""
    return [
        _result(task, protocol, error=short(error), traceback=trace) for protocol in task.protocols
    ]


def _results_or_error(
    task: Task, results_of: Callable[..., list[Result]], *found: Any
) -> list[Result]:
    """What was measured; what is raised becomes an error."""
    try:
        return results_of(task, *found)
    except Exception as error:  # a plug-in may raise anything; one failed run must not end a sweep
        return failed(task, describe_stage_error(error), "".join(traceback.format_exception(error)))


def _of_match(task: Task, match: Estimate | Exception, keep: bool) -> list[Result]:
    if isinstance(match, Exception):
        raise match
    about = {MEMORY: match.memory, LOWER_BOUND: match.lower_bound}
    if match.energy is not None and match.lower_bound is not None and match.lower_bound > 0:
        about[GAP] = 100 * (match.energy / match.lower_bound - 1)
    said = {MESSAGES: match.messages, TRACE: text_of_trace(match.trace)}
    found: dict[str, Any] = {
        "energy": match.energy,
        "warnings": match.warnings,
        "seconds": match.seconds,
    }
    found["statistics"] = {name: value for name, value in about.items() if value is not None}
    found["environment"] = environment() | {name: text for name, text in said.items() if text}
    if keep:
        found |= {"_disparity": match.disparity, "_confidence": match.confidence}
    return _results_of_map(task, match.disparity, match.confidence, found)


def _of_result(task: Task, before: Result) -> list[Result]:
    assert before.disparity is not None
    found = {
        name: getattr(before, name)
        for name in ("energy", "warnings", "seconds", "environment", "map")
    }
    found["statistics"] = {
        name: before.statistics[name]
        for name in (MEMORY, LOWER_BOUND, GAP)
        if name in before.statistics
    }
    return _results_of_map(task, before.disparity, before.confidence, found)


def _results_of_map(
    task: Task, disparity: Disparity, confidence: Mapping[str, Disparity], found: dict[str, Any]
) -> list[Result]:
    """What each protocol says of a map, beside what was `found` of it and is no matter of a protocol."""
    told, pseudo_truth = [*found["warnings"]], None
    if any(protocol.without_truth for protocol in task.protocols):
        try:
            pseudo_truth = pseudo_truth_of(task.scene, task.search)
        except StereoFrameworkError as error:
            told.append(f"no distances to the pseudo ground truth: {error}")
    warnings = tuple(dict.fromkeys((*told, *_reading_errors_of(task, disparity))))
    results = []
    for protocol in task.protocols:
        start = working_time()
        statistics = statistics_of(
            disparity, task.scene, protocol, pseudo_truth=pseudo_truth, confidence=confidence
        )
        seconds = {**found["seconds"], EVALUATION: working_time() - start}
        own = {
            "warnings": warnings,
            "statistics": {**statistics, **found["statistics"]},
            "seconds": seconds,
        }
        results.append(_result(task, protocol, **(found | own)))
    return results


def _reading_errors_of(task: Task, disparity: Disparity) -> list[str]:
    """Return the doubts about the map of a task and its truth, with remedies for scripts."""
    matchers = [step for step in task.setting.pipeline.steps if step.stage.slot == "matcher"]
    is_external = any(
        step.stage.name in _EXTERNAL or not step.stage.is_built_in for step in matchers
    )
    instruction = "let the matcher return NaN there"
    scale = 1.0
    for step in matchers:
        if "unknown" in step.parameters:
            instruction = "set 'unknown: {value}' of the matcher, the value as the file stores it"
            scale = (step.parameters.get("disparity_scale") or 1.0) * step.parameters.get("sign", 1)
    remedies = Remedies(disparity_map=instruction, map_scale=scale)
    return find_reading_errors(
        disparity, task.scene, task.search, is_external=is_external, remedies=remedies
    )


def _result(task: Task, protocol: Protocol, **found: Any) -> Result:
    setting, scene = task.setting, task.scene.name
    script = setting.mapping | {"scenes": [scene]}
    known = {"environment": environment(), "script": script, "protocol_text": str(protocol)} | found
    if setting.scenes:
        # The script of the result contains only the scene of this run.
        names = json.dumps(setting.scenes)
        known["environment"] = {**known["environment"], SCENES_OF_METHOD: names}
    return Result(
        task.id, scene, setting.method, setting.parameters, setting.axes, protocol.name, **known
    )


# --- in other processes -----------------------------------------------------------------------------------------------


def pack_tasks(
    unit: Unit, *, keep: bool
) -> tuple[tuple[str, ...], str, dict[str, str], bytes, bytes]:
    """Return the arguments of `run_packed_tasks` for a unit.

    Parameters
    ----------
    unit : sequence of Task
        Tasks on one scene.
    keep : bool
        Whether the worker returns the disparity maps.

    Returns
    -------
    plugins : tuple of str
        Plug-ins that the worker must load first.
    code : str
        Digest of the code that the tasks need.
    names : dict of str to str
        Paths of the sources of the plug-ins, by the names of their modules here.
    packed : bytes
        Tasks without their scene.
    scene : bytes
        Scene with all its arrays.

    Raises
    ------
    ParameterError
        A stage's function cannot be sent.
    """
    plugins = dict.fromkeys(
        plugin for task in unit for plugin in task.setting.shared.get("plugins", ())
    )
    tasks: Any = [replace(task, scene=None) for task in unit]  # type: ignore[arg-type]
    try:
        return (
            tuple(plugins),
            _code_of_tasks(unit),
            module_names(plugins),
            pickle.dumps((tasks, keep)),
            _pickled(unit[0].scene),
        )
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ParameterError(
            f"a stage cannot be sent to another process: {error}; name its file or module under plugins:"
        ) from error


def run_packed_tasks(
    plugins: tuple[str, ...], code: str, names: dict[str, str], packed: bytes, scene: bytes
) -> list[list[Result]]:
    """Compute a unit in this process.

    `pack_tasks` describes the arguments.

    Raises
    ------
    ParameterError
        This process has read other code than the program that sends the unit.
    """
    for plugin in plugins:
        load_plugin(plugin)
    give_names(names)
    try:
        tasks, keep = pickle.loads(packed)
        is_same_code = _code_of_tasks(tasks) == code
    except (AttributeError, ImportError):
        # A stage or a class of the program does not exist here.
        is_same_code = False
    if not is_same_code:
        message = (
            "a worker process has read other code than the program that sends its work, or has "
            "other versions of packages; a file may have changed meanwhile: run again"
        )
        raise ParameterError(message)
    return results_of_tasks([replace(task, scene=_unpickled(scene)) for task in tasks], keep=keep)


def _code_of_tasks(tasks: Unit) -> str:
    """Return the digest of the code that tasks need in any process."""
    pipelines = [task.setting.pipeline for task in tasks]
    return code_of_program(pipelines, [protocol for task in tasks for protocol in task.protocols])


# Units come scene by scene.
@functools.lru_cache(1)
def _pickled(scene: Scene) -> bytes:
    return pickle.dumps(scene)


# What was computed of a scene, its regions for example, stays with it.
@functools.lru_cache(4)
def _unpickled(scene: bytes) -> Scene:
    found: Scene = pickle.loads(scene)
    return found
