"""Search a script's settings for the best value of a statistic: promising ones are tried, hopeless ones given up early."""

import contextlib
import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from stereo_framework.core.errors import MissingExtraError, ParameterError, install_command
from stereo_framework.core.former_names import new_or_nearest
from stereo_framework.core.scene import Scene
from stereo_framework.evaluation.evaluate import statistics_of
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.evaluation.protocols import Protocol, average
from stereo_framework.io import check_replaceable, write_bytes
from stereo_framework.script import Script, Setting, load
from stereo_framework.script.addresses import split
from stereo_framework.script.axes import Axis
from stereo_framework.script.expansion import Expansion
from stereo_framework.script.keys import is_number
from stereo_framework.sweep.computation import Computation
from stereo_framework.sweep.script_run import read_or_compute, scenes_of
from stereo_framework.sweep.store import Store
from stereo_framework.sweep.tasks import Task, tasks_of

try:
    import optuna
except ImportError:
    raise MissingExtraError(f"tune needs optuna: {install_command('tune')}") from None

# It tells of each trial otherwise, and that the model of several parameters at a time may change.
optuna.logging.set_verbosity(optuna.logging.ERROR)

BEST = "best.yaml"
"""The best script, in the output folder."""

_DRAWS = 10
"""How often the model may propose what was tried already, before chance decides."""

_PRUNER = optuna.pruners.PercentilePruner(75.0, n_startup_trials=5)
"""Hopeless is what three quarters of the complete trials are better than. The median gave up the best of a grid of windows on two scenes in half of all
searches."""


@dataclass(eq=False)
class Trial:
    """A setting that was tried.

    Parameters
    ----------
    number : int
        From 0, in the order of trying.
    setting : Setting
    asked : optuna.Trial
    scenes : mapping of str to float
        The statistic on each scene, as far as it was measured.
    measured : list of mapping
        All statistics of each of these scenes.
    value : float or None
        The statistic's average over all scenes; None unless the trial is complete.
    error : str or None
        Why it failed.
    traceback : str
        Where in the code the error was raised, as Python prints it; empty if nothing was raised.
    setting_on_scene : callable, optional
        Function that takes the name of a scene, and returns the setting with the values
        that the script sets on this scene. None means that there are no such values.
    """

    number: int
    setting: Setting
    asked: optuna.Trial
    scenes: dict[str, float] = field(default_factory=dict)
    measured: list[Mapping[str, float]] = field(default_factory=list)
    value: float | None = None
    error: str | None = None
    traceback: str = ""
    setting_on_scene: Callable[[str], Setting] | None = None

    def setting_on(self, scene_name: str) -> Setting:
        """Return the setting with the values that the script sets on a scene."""
        if self.setting_on_scene is None:
            return self.setting
        return self.setting_on_scene(scene_name)

    @property
    def state(self) -> str:
        """How it ended: ``complete``, ``pruned`` or ``failed``."""
        return "failed" if self.error else "pruned" if self.value is None else "complete"

    def record(self) -> dict[str, Any]:
        """The trial as the plain object that ``--json`` prints."""
        told = {
            name: getattr(self, name) for name in ("number", "scenes", "value", "state", "error")
        }
        return told | {"method": self.setting.method, "axes": self.setting.axes}


@dataclass(eq=False)
class Tuned:
    """What a search found.

    Parameters
    ----------
    statistic, better : str
        What was searched for, and whether it is better ``lower`` or ``higher``.
    protocol : Protocol
    scenes : list of Scene
    size : int
        Settings that there are.
    trials : list of Trial
    """

    statistic: str
    better: str
    protocol: Protocol
    scenes: Sequence[Scene]
    size: int
    trials: list[Trial] = field(default_factory=list)

    def average(self, measured: Sequence[Mapping[str, float]], scenes: Sequence[Scene]) -> float:
        """Of the statistic over scenes, as the protocol prescribes it."""
        return average(measured, self.protocol, [scene.weight for scene in scenes]).get(
            self.statistic, math.nan
        )

    @property
    def best(self) -> Trial | None:
        """The best of the complete trials, the first of equals; None if no trial is complete."""
        choose = min if self.better == "lower" else max
        return choose(
            (trial for trial in self.trials if trial.value is not None),
            key=attrgetter("value"),
            default=None,
        )

    @property
    def best_script(self) -> dict[str, Any] | None:
        """The script of the best setting on the same scenes, all values filled in; it runs to the same numbers. None if no trial is complete."""
        return (
            best.setting.mapping | {"scenes": [scene.name for scene in self.scenes]}
            if (best := self.best)
            else None
        )


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
) -> Tuned:
    """Search the settings that a script's ``sweep`` spans for the best value of a statistic.

    Parameters
    ----------
    script : path, name of a built-in script, mapping or Script
        Axes whose numbers stand in order are searched along it, however many there are. Several methods are one more choice. A `Script` of
        very many settings must have been loaded with ``tuning=True``.
    statistic : str
        ``bad_pixels_nonocc``, say. Whether lower or higher is better follows from the table of metrics.
    scenes : scene names or Scene objects, optional
        Instead of the script's own. Each setting is tried on one after the other; where the average so far is worse than those of three
        quarters of the complete trials, the other scenes are left out.
    overrides, plugins, data
        As for `run`.
    trials : int
        Settings to try in all, those of earlier calls included. Each is tried once.
    out : path, optional
        Folder for the results store and the best script. Results that are there are not computed again, so that the same call goes on where
        an earlier one ended, however that was.
    workers : int
        Trials at a time. Their number decides what is tried, as trials made together do not know of each other; time does not.
    seed : int
        Of the search.
    executor, memory
        Who computes, and within what memory, as for `run`; they change neither what is tried nor its numbers.
    each : callable, optional
        Called with each trial as it ends.

    Returns
    -------
    Tuned
        All trials, and the best of them.

    Raises
    ------
    ScriptError, DataError, ParameterError
        Faults of the script, its scenes or the other parameters, before anything runs; another sweep that writes to `out`.
    MissingExtraError
        Optuna is not installed.

    Notes
    -----
    The average is the protocol's: over scenes, weighted or over pixels. Settings are proposed by a multivariate tree-structured Parzen
    estimator (Bergstra et al. 2011; Falkner et al. 2018), the first ten by chance. A setting that fails is left out. A call that goes on proposes the same
    settings again as before, whose results are in the store.

    Examples
    --------
    >>> script = {"include": "window", "sweep": {"grid": {"aggregation.box.size": [1, 7, 15]}}}
    >>> found = tune(script, "bad_pixels_nonocc", "synthetic/planes", trials=3)
    >>> found.best.setting.axes["aggregation.box.size"] > 1
    True
    """
    start = Path.cwd()
    loaded = (
        script
        if isinstance(script, Script)
        else load(script, overrides=overrides, tuning=True, plugins=plugins)
    )
    if trials < 1 or seed < 0:
        raise ParameterError(
            f"trials: {trials} is below 1" if trials < 1 else f"seed: {seed} is below 0"
        )
    # A plug-in may have changed the current folder when it was imported.
    with contextlib.chdir(start):
        tuned = _prepared(loaded, statistic, scenes_of(loaded, scenes, data))
    study = optuna.create_study(
        direction="minimize" if tuned.better == "lower" else "maximize", pruner=_PRUNER
    )
    proposed = _proposals(study, loaded.expansions, seed, several=workers > 1)
    with contextlib.ExitStack() as stack:
        computation = stack.enter_context(Computation(workers, executor, memory))
        store = None if out is None else stack.enter_context(Store(start / out, create=True))
        if store is not None:
            store.describe([loaded], tuned.protocol.metrics)
            check_replaceable(store.folder / BEST)
        keys: list[str] = []
        for first in range(0, min(trials, tuned.size), workers):
            batch = [next(proposed) for _ in range(first, min(first + workers, trials, tuned.size))]
            _make(batch, tuned, loaded, store, computation, keys)
            for trial in batch:
                told = "FAIL" if trial.error else trial.state.upper()
                study.tell(trial.asked, trial.value, optuna.trial.TrialState[told])
            tuned.trials += batch
            if store is not None and (best := tuned.best) is not None:
                said = f"# {statistic} {best.value:.6g} on average over the scenes: the best of {len(tuned.trials)} trials.\n"
                write_bytes(
                    store.folder / BEST,
                    (said + yaml.safe_dump(tuned.best_script, sort_keys=False)).encode(),
                )
            for trial in batch:
                each(trial)
    return tuned


def _prepared(script: Script, statistic: str, scenes: Sequence[Scene]) -> Tuned:
    """A search without trials, checked."""
    for expansion in script.expansions:
        if expansion.method.scenes:
            name = expansion.method.name
            raise ParameterError(
                f"{script.name}: the method {name!r} has the key 'scenes', but tune compares all "
                "methods on the same scenes; remove this key"
            )
    size = sum(
        math.prod(len(group[0].values) for group in expansion.groups)
        for expansion in script.expansions
    )
    if size == 1:
        example = "sweep: {grid: {matching_cost.truncation: [5, 10, 20]}}"
        raise ParameterError(
            f"{script.name}: nothing to tune: no axis of the script has two values; give some, as {example}"
        )
    protocols = {str(one): one for scene in scenes for one in script.protocols_on(scene)}
    if len(protocols) > 1:
        names = ", ".join(one.name for one in protocols.values())
        raise ParameterError(
            f"{script.name}: one protocol must measure all scenes, here are {names}; set evaluation.protocol"
        )
    [protocol] = protocols.values()
    # What is measured of any map tells the names.
    zeros = {scene: np.zeros(scene.reference.shape[:2], np.float32) for scene in scenes}
    blank = [
        statistics_of(zero, scene, protocol, pseudo_truth=zero) for scene, zero in zeros.items()
    ]
    there = average(blank, protocol, [scene.weight for scene in scenes])
    if statistic not in there:
        where = f"{', '.join(scene.name for scene in scenes)} under {protocol.name}"
        remedy = new_or_nearest("statistics", "metrics", statistic, there)
        raise ParameterError(f"statistic: no {statistic!r} on {where}; {remedy}")
    metric = metric_of(statistic)
    if metric is None or not metric.better:
        raise ParameterError(
            f"statistic: {statistic} is neither better low nor high; name one that is, as bad_pixels_nonocc"
        )
    return Tuned(statistic, metric.better, protocol, scenes, size)


def _proposals(
    study: optuna.Study, expansions: Sequence[Expansion], seed: int, *, several: bool
) -> Iterator[Trial]:
    """Settings to try, each once: by the model or, where it proposes none but those that were tried, by chance."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        model = optuna.samplers.TPESampler(
            seed=seed, multivariate=True, group=True, constant_liar=several
        )
    chance = optuna.samplers.RandomSampler(seed=seed)
    tried: set[tuple[int, tuple[int, ...]]] = set()
    for number in itertools.count():
        for draw in itertools.count():
            study.sampler = model if draw < _DRAWS else chance
            asked = study.ask()
            found = suggested(expansions, asked)
            if found not in tried:
                break
            study.tell(asked, state=optuna.trial.TrialState.FAIL)
        tried.add(found)
        expansion, choice = expansions[found[0]], found[1]
        setting_on = partial(expansion.setting_on, choice=choice)
        yield Trial(number, expansion.setting(choice), asked, setting_on_scene=setting_on)


def suggested(expansions: Sequence[Expansion], trial: optuna.Trial) -> tuple[int, tuple[int, ...]]:
    """Return the index of a method, and a choice for its expansion, that a trial suggests.

    If there are several methods, the method is one parameter of the trial. Each group of
    axes is another one. A group whose values are sorted numbers is searched in their
    order. The values of other groups are searched as unrelated values.
    """
    has_several_methods = len(expansions) > 1
    index = 0
    if has_several_methods:
        index = trial.suggest_categorical("method", range(len(expansions)))
    expansion = expansions[index]
    choice: list[int] = []
    for group in expansion.groups:
        name = " + ".join(axis.name for axis in group)
        if has_several_methods:
            name = f"{expansion.method.name}: {name}"
        count = len(group[0].values)
        if count == 1:
            choice.append(0)
        elif all(map(_ordered, group)):
            choice.append(trial.suggest_int(name, 0, count - 1))
        else:
            choice.append(trial.suggest_categorical(name, range(count)))
    return index, tuple(choice)


def _ordered(axis: Axis) -> bool:
    """Whether an axis lists numbers upwards or downwards; a null at an end means beyond all of them, as for a truncation."""
    if split(axis.name).is_slot:
        return False
    values: list[Any] = [document.data for document in axis.values]
    if None in (values[0], values[-1]):
        values.remove(None)
    return (
        len(values) > 1
        and all(map(is_number, values))
        and values in (sorted(values), sorted(values, reverse=True))
    )


def _make(
    batch: Sequence[Trial],
    tuned: Tuned,
    script: Script,
    store: Store | None,
    computation: Computation,
    keys: list[str],
) -> None:
    """Try settings on scene after scene, those that have no hope on none of the further ones; their results' keys follow those of earlier trials."""
    alive = list(batch)
    for scene in tuned.scenes:
        of_task: dict[Task, Trial] = {}
        for trial, task in zip(
            alive,
            tasks_of(scene, script, [trial.setting_on(scene.name) for trial in alive]),
            strict=True,
        ):
            if isinstance(task, Task):
                of_task[task] = trial
            else:
                trial.error = str(task)
        keys += [key for task in of_task for key in task.keys]
        if store is not None:
            store.set_listed_keys(keys)
        for task, [result] in read_or_compute(store, list(of_task), computation):
            of_task[task].error, of_task[task].traceback = result.error, result.traceback
            of_task[task].measured.append(result.statistics)
        alive = [
            trial for trial in of_task.values() if trial.error is None and _hopeful(trial, tuned)
        ]


def _hopeful(trial: Trial, tuned: Tuned) -> bool:
    """Note what was measured last; false if the trial failed there or is worse than those of three quarters of the complete ones."""
    scenes = tuned.scenes[: len(trial.measured)]
    name = scenes[-1].name
    trial.scenes[name] = alone = tuned.average(trial.measured[-1:], scenes[-1:])
    if not math.isfinite(alone):
        trial.error = f"{tuned.statistic} is {alone} on {name}"
        return False
    together = tuned.average(trial.measured, scenes)
    trial.asked.report(together, len(scenes) - 1)
    trial.value = together if len(scenes) == len(tuned.scenes) else None
    return not trial.asked.should_prune()
