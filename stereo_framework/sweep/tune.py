"""Search the settings of a script for the best value of a statistic.

The search runs some of the settings on one scene after another. If the average of a
setting over the finished scenes is too bad, the search does not run the setting on
further scenes.
"""

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from stereo_framework.core.errors import ParameterError
from stereo_framework.core.former_names import new_or_nearest
from stereo_framework.core.scene import Scene
from stereo_framework.evaluation.evaluate import statistics_of
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.evaluation.protocols import Protocol, average
from stereo_framework.io import check_replaceable, write_bytes
from stereo_framework.script import Script, load
from stereo_framework.script.expansion import Expansion
from stereo_framework.sweep.computation import Computation
from stereo_framework.sweep.proposals import Proposer
from stereo_framework.sweep.script_run import read_or_compute, scenes_of
from stereo_framework.sweep.store import Store
from stereo_framework.sweep.tasks import Task, tasks_of
from stereo_framework.sweep.trials import Trial, TuningResult, evaluate_last_scene

BEST_SCRIPT = "best.yaml"
"""Name of the file in the output folder that contains the best script."""


def tune(
    script: str | Path | Mapping[str, Any] | Script,
    statistic: str,
    scenes: Sequence[str | Scene] | str | Scene | None = None,
    *,
    overrides: Sequence[str] = (),
    plugins: Sequence[str | Path] = (),
    data: str | Path | None = None,
    trials: int = 50,
    out: str | Path | None = None,
    workers: int = 1,
    seed: int = 0,
    executor: Executor | None = None,
    memory: int | None = None,
    each: Callable[[Trial], None] = lambda trial: None,
) -> TuningResult:
    """Search the settings of a script's ``sweep`` for the best value of a statistic.

    Parameters
    ----------
    script : path, name of a built-in script, mapping or Script
        Script that contains the settings. An axis may have many values if the values
        are numbers in ascending or descending order, because the search uses this
        order. The search treats the values of any other axis, and the methods of the
        script, as unrelated. If you pass a `Script` with very many settings, load the
        script with ``tuning=True``.
    statistic : str
        Name of the statistic, such as ``bad_pixels_nonocc``. The table of metrics
        defines whether lower or higher values are better.
    scenes : scene names or Scene objects, optional
        Scenes to use instead of the scenes of the script. A setting runs on one scene
        after another. The search stops a setting if its average over the finished
        scenes is worse than the averages of 75 % of the complete trials.
    overrides, plugins, data
        Arguments with the same meaning as the arguments of `run` with these names.
    trials : int
        Maximum number of settings to try, including the settings of earlier calls with
        the same `out`. No setting is tried twice.
    out : path, optional
        Folder for the results and for the best script. If the folder already contains a
        result, the result is not computed again. Therefore, to continue a search that
        was stopped, call this function again with the same arguments.
    workers : int
        Number of trials that run at the same time. The number changes which settings
        the search tries, because the search chooses the settings of such trials before
        it knows any of their values. The settings do not depend on run times.
    seed : int
        Seed of the random numbers that the search uses.
    executor, memory
        Arguments with the same meaning as the arguments of `run` with these names. The
        executor and the memory limit do not change the settings or their results.
    each : callable, optional
        Function that is called with each finished trial.

    Returns
    -------
    TuningResult
        All trials of the search, including the best trial.

    Raises
    ------
    ScriptError, DataError, ParameterError
        The script, its scenes or another argument is not valid, or another process
        writes to the folder `out`. These errors are raised before a setting runs.
    MissingExtraError
        Optuna is not installed.

    Notes
    -----
    The protocol defines whether the average over scenes is a plain mean, a weighted
    mean, or a mean over all pixels. The first ten settings are drawn at random. A
    multivariate tree-structured Parzen estimator proposes all later settings (Bergstra
    et al. 2011, Falkner et al. 2018). The estimator ignores settings that fail. If a
    call continues an earlier call, the estimator proposes the same settings again, and
    the search finds their results in the folder `out`.

    Examples
    --------
    >>> grid = {"aggregation.box.size": [1, 7, 15]}
    >>> script = {"include": "window", "sweep": {"grid": grid}}
    >>> result = tune(script, "bad_pixels_nonocc", "synthetic/planes", trials=3)
    >>> result.best.setting.axes["aggregation.box.size"] > 1
    True
    """
    start_folder = Path.cwd()
    if isinstance(script, Script):
        loaded_script = script
    else:
        loaded_script = load(script, overrides=overrides, tuning=True, plugins=plugins)
    _check_minimum("trials", trials, minimum=1)
    _check_minimum("seed", seed, minimum=0)
    # A plug-in may have changed the current folder when it was imported.
    with contextlib.chdir(start_folder):
        result = _prepare_search(loaded_script, statistic, scenes_of(loaded_script, scenes, data))

    proposer = Proposer(
        loaded_script.expansions, better=result.better, seed=seed, proposes_batches=workers > 1
    )
    with contextlib.ExitStack() as stack:
        computation = stack.enter_context(Computation(workers, executor, memory))
        store = None
        if out is not None:
            store = stack.enter_context(Store(start_folder / out, create=True))
            store.describe([loaded_script], result.protocol.metrics)
            check_replaceable(store.folder / BEST_SCRIPT)
        runner = _TrialRunner(loaded_script, result, store, computation)

        number_of_trials = min(trials, result.size)
        for first in range(0, number_of_trials, workers):
            batch_size = min(workers, number_of_trials - first)
            batch = [proposer.propose() for _ in range(batch_size)]
            runner.run(batch)
            for trial in batch:
                proposer.report(trial)
            result.trials += batch
            if store is not None:
                _write_best_script(store.folder, result)
            for trial in batch:
                each(trial)
    return result


def _write_best_script(folder: Path, result: TuningResult) -> None:
    """Write the best script to the output folder if at least one trial is complete."""
    best = result.best
    if best is None:
        return
    comment = (
        f"# The average of {result.statistic} over the scenes is {best.value:.6g}, "
        f"the best value of {len(result.trials)} trials.\n"
    )
    text = comment + yaml.safe_dump(result.best_script, sort_keys=False)
    write_bytes(folder / BEST_SCRIPT, text.encode())


# --- checks before the search ---------------------------------------------------------


def _check_minimum(name: str, value: int, minimum: int) -> None:
    """Refuse an argument that is less than its minimum."""
    if value < minimum:
        message = f"{name} must be at least {minimum}, but it is {value}"
        raise ParameterError(message)


def _prepare_search(script: Script, statistic: str, scenes: Sequence[Scene]) -> TuningResult:
    """Check the arguments of a search, and return the search without any trials.

    Raises
    ------
    ParameterError
        The script, the scenes or the statistic does not allow a search.
    """
    _refuse_methods_with_scenes(script)
    size = sum(map(_number_of_choices, script.expansions))
    if size == 1:
        example = "sweep: {grid: {matching_cost.truncation: [5, 10, 20]}}"
        message = (
            f"{script.name}: there is nothing to tune, because no axis of the script has two "
            f"values; add an axis, such as {example}"
        )
        raise ParameterError(message)
    protocol = _common_protocol(script, scenes)
    _check_statistic(statistic, scenes, protocol)
    better = _better_direction(statistic)
    return TuningResult(statistic, better, protocol, scenes, size)


def _refuse_methods_with_scenes(script: Script) -> None:
    """Refuse a script in which a method has its own scenes under the key ``scenes``."""
    for expansion in script.expansions:
        if expansion.method.scenes:
            message = (
                f"{script.name}: the method {expansion.method.name!r} has the key 'scenes', but "
                "tune compares all methods on the same scenes; remove this key"
            )
            raise ParameterError(message)


def _number_of_choices(expansion: Expansion) -> int:
    """Return the number of settings of a method, for all values of its axes."""
    return math.prod(len(group[0].values) for group in expansion.groups)


def _common_protocol(script: Script, scenes: Sequence[Scene]) -> Protocol:
    """Return the only protocol with which the script evaluates the scenes.

    Raises
    ------
    ParameterError
        The script evaluates a scene with several protocols, or evaluates different
        scenes with different protocols.
    """
    protocols: dict[str, Protocol] = {}
    for scene in scenes:
        protocols |= {str(protocol): protocol for protocol in script.protocols_on(scene)}
    if len(protocols) > 1:
        names = ", ".join(protocol.name for protocol in protocols.values())
        message = (
            f"{script.name}: tune needs one protocol for all scenes, but there are several "
            f"({names}); set evaluation.protocol to one protocol"
        )
        raise ParameterError(message)
    [protocol] = protocols.values()
    return protocol


def _check_statistic(statistic: str, scenes: Sequence[Scene], protocol: Protocol) -> None:
    """Refuse a statistic that the protocol does not compute on the scenes."""
    # The function evaluates a disparity map of zeros on each scene. The keys of the
    # average are the names of all statistics that the protocol computes on the scenes.
    statistics_on_scenes = []
    for scene in scenes:
        zeros = np.zeros(scene.reference.shape[:2], np.float32)
        statistics_on_scenes.append(statistics_of(zeros, scene, protocol, pseudo_truth=zeros))
    weights = [scene.weight for scene in scenes]
    allowed_statistics = average(statistics_on_scenes, protocol, weights)
    if statistic not in allowed_statistics:
        scene_names = ", ".join(scene.name for scene in scenes)
        remedy = new_or_nearest("statistics", "metrics", statistic, allowed_statistics)
        message = (
            f"statistic: the protocol {protocol.name} does not compute {statistic!r} on "
            f"{scene_names}; {remedy}"
        )
        raise ParameterError(message)


def _better_direction(statistic: str) -> str:
    """Return "lower" if low values of a statistic are better, otherwise "higher".

    Raises
    ------
    ParameterError
        Neither low nor high values of the statistic are better.
    """
    metric = metric_of(statistic)
    if metric is None or not metric.better:
        message = (
            f"cannot tune for {statistic!r} because neither low nor high values are better; "
            "choose another statistic, such as bad_pixels_nonocc"
        )
        raise ParameterError(message)
    return metric.better


# --- trials ---------------------------------------------------------------------------


class _TrialRunner:
    """Object that runs batches of trials, and records the results in the trials.

    Parameters
    ----------
    script : Script
        Script that contains the settings of the trials.
    result : TuningResult
        Search that the trials belong to.
    store : Store or None
        Results store, or None if the results are not stored.
    computation : Computation
        Object that computes missing results.
    """

    def __init__(
        self,
        script: Script,
        result: TuningResult,
        store: Store | None,
        computation: Computation,
    ):
        self.script = script
        self.result = result
        self.store = store
        self.computation = computation
        # This list contains the keys of the results of all trials that were started, in
        # the order of their tasks.
        self.keys: list[str] = []

    def run(self, trials: Sequence[Trial]) -> None:
        """Run trials on each scene, without trials that have failed or were stopped."""
        for scene in self.result.scenes:
            trials = self._run_on_scene(trials, scene)

    def _run_on_scene(self, trials: Sequence[Trial], scene: Scene) -> list[Trial]:
        """Run trials on a scene, and return the trials that continue."""
        trial_of_task = self._plan(trials, scene)
        for task in trial_of_task:
            self.keys += task.keys
        if self.store is not None:
            self.store.set_listed_keys(self.keys)

        tasks = list(trial_of_task)
        for task, [task_result] in read_or_compute(self.store, tasks, self.computation):
            trial = trial_of_task[task]
            trial.error = task_result.error
            trial.traceback = task_result.traceback
            trial.statistics.append(task_result.statistics)

        return [
            trial
            for trial in trial_of_task.values()
            if trial.error is None and evaluate_last_scene(trial, self.result)
        ]

    def _plan(self, trials: Sequence[Trial], scene: Scene) -> dict[Task, Trial]:
        """Return a dictionary from the task of each trial on a scene to the trial.

        If the search range of a setting is not valid on the scene, its trial fails.
        """
        settings = [trial.setting_on(scene.name) for trial in trials]
        tasks = tasks_of(scene, self.script, settings)
        trial_of_task: dict[Task, Trial] = {}
        for trial, task in zip(trials, tasks, strict=True):
            if isinstance(task, Task):
                trial_of_task[task] = trial
            else:
                trial.error = str(task)
        return trial_of_task
