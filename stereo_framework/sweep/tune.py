"""Search a script's settings for the best value of a statistic: promising ones are tried, hopeless ones given up early."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import yaml

from stereo_framework.core.errors import MissingExtraError, ParameterError, brings, close_names, nearest
from stereo_framework.core.scene import Scene
from stereo_framework.evaluation.evaluate import statistics_of
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.evaluation.protocol_average import average
from stereo_framework.evaluation.protocols import Protocol, of_scene
from stereo_framework.io import check_own, write_bytes
from stereo_framework.script import Script, load
from stereo_framework.script.addresses import is_slot
from stereo_framework.script.axes import Axis
from stereo_framework.script.methods import Method
from stereo_framework.script.reading import is_number
from stereo_framework.script.settings import Setting
from stereo_framework.sweep.executors import Crew
from stereo_framework.sweep.plan import planner
from stereo_framework.sweep.runs import scenes_of, stored_or_computed
from stereo_framework.sweep.store import Store

try:
    import optuna
except ImportError:
    raise MissingExtraError(f"tune needs optuna: {brings('tune')}") from None

# It tells of each trial otherwise.
optuna.logging.set_verbosity(optuna.logging.ERROR)

BEST = "best.yaml"
"""The best script, in the output folder."""

_DRAWS = 10
"""How often the model may propose what was tried already, before chance decides."""

_BEFORE_PRUNING = 5
"""Complete trials before the first may be given up."""

_HOPELESS = 75.0
"""Percentage of the complete trials that are better than a hopeless one. The median, 50, gave up the best of a grid of windows on two
scenes in half of all searches."""


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
    """

    number: int
    setting: Setting
    asked: optuna.Trial
    scenes: dict[str, float] = field(default_factory=dict)
    measured: list[Mapping[str, float]] = field(default_factory=list)
    value: float | None = None
    error: str | None = None
    traceback: str = ""

    @property
    def method(self) -> str:
        """Of the setting."""
        return self.setting.method

    @property
    def axes(self) -> Mapping[str, Any]:
        """What was chosen, by address."""
        return self.setting.axes

    @property
    def state(self) -> Literal["complete", "pruned", "failed"]:
        """How it ended."""
        return "failed" if self.error else "pruned" if self.value is None else "complete"

    def record(self) -> dict[str, Any]:
        """The trial as the plain object that ``--json`` prints."""
        return {name: getattr(self, name) for name in ("number", "method", "axes", "scenes", "value", "state", "error")}


def tune(
    script: str | Path | Mapping[str, Any] | Script,
    statistic: str,
    scenes: Sequence[str | Scene] | str | Scene | None = None,
    *,
    overrides: Sequence[str] = (),
    plugins: Sequence[str | Path] = (),
    data: str | Path | None = None,
    trials: int = 50,
    **options: Any,
) -> Tuner:
    """Search the settings that a script's ``sweep`` spans for the best value of a statistic.

    Parameters
    ----------
    script : path, name of a shipped script, mapping or Script
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
    **options
        As those of `Tuner`.

    Returns
    -------
    Tuner
        With all its trials made, and the best of them.

    Raises
    ------
    ScriptError, DataError, ParameterError
        Faults of the script, its scenes or the other parameters, before anything runs; another sweep that writes to `out`.
    MissingExtraError
        Optuna is not installed.

    Notes
    -----
    The average is the protocol's: over scenes, weighted or over pixels. Settings are proposed by a multivariate tree-structured Parzen
    estimator (Bergstra et al. 2011; Falkner et al. 2018), the first ten by chance. A setting that fails is left out.

    Examples
    --------
    >>> script = {"include": "window", "sweep": {"grid": {"aggregation.box.size": [1, 7, 15]}}}
    >>> found = tune(script, "bad_pixels_nonocc", "synthetic/planes", trials=3)
    >>> found.best.axes["aggregation.box.size"] > 1
    True
    """
    loaded = script if isinstance(script, Script) else load(script, overrides=overrides, tuning=True, plugins=plugins)
    tuner = Tuner(loaded, statistic, scenes_of(loaded, scenes, data), trials, **options)
    for _ in tuner:
        pass
    return tuner


@dataclass(eq=False)
class Tuner:
    """`tune` trial by trial: iterating makes the trials, those of earlier calls first, and yields each as it ends.

    Its attributes `protocol`, `better` ("lower" or "higher"), `size` (number of settings that there are), `trials`,
    `best` and `best_script` (that of the best setting on the same scenes, which runs to the same numbers) tell what was found so far.

    Parameters
    ----------
    script : Script
    statistic : str
    scenes : sequence of Scene
    wanted : int
        Settings to try in all, those of earlier calls included. Each is tried once.
    out : path, optional
        Folder for the results store and the best script. Results that are there are not computed again, so that the same call goes on where
        an earlier one ended, however that was.
    workers : int
        Trials at a time. Their number decides what is tried, as trials made together do not know of each other; time does not.
    seed : int
        Of the search.
    timeout : float, optional
        Seconds after which no trial is begun.
    executor, memory
        Who computes, and within what memory, as for `run`; they change neither what is tried nor its numbers.
    watch : callable, optional
        Called with a text whenever a stage begins.
    """

    script: Script
    statistic: str
    scenes: Sequence[Scene]
    wanted: int = 50
    out: str | Path | None = None
    workers: int = 1
    seed: int = 0
    timeout: float | None = None
    executor: Executor | None = None
    memory: int | None = None
    watch: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        self._crew = Crew(self.workers, self.executor, self.memory, watch=self.watch)
        if self.wanted < 1:
            raise ParameterError(f"trials: {self.wanted} is below 1")
        if self.seed < 0:
            raise ParameterError(f"seed: {self.seed} is below 0")
        self.size = sum(map(_settings, self.script.methods))
        if self.size == 1:
            example = "sweep: {grid: {matching_cost.truncation: [5, 10, 20]}}"
            raise ParameterError(
                f"{self.script.name}: nothing to tune: no axis of the script has two values; give some, as {example}"
            )
        self.wanted = int(min(self.wanted, self.size))
        self.protocol = self._protocol()
        self.better = _better(self.statistic, self.scenes, self.protocol)
        self.trials: list[Trial] = []
        self._tried: set[tuple[int, tuple[int, ...]]] = set()
        self._study = optuna.create_study(
            direction="minimize" if self.better == "lower" else "maximize",
            pruner=optuna.pruners.PercentilePruner(_HOPELESS, n_startup_trials=_BEFORE_PRUNING),
        )

    def _protocol(self) -> Protocol:
        given = self.script.methods[0].protocols
        found = {str(p): p for scene in self.scenes for p in given or (of_scene(scene),)}
        if len(found) > 1:
            names = ", ".join(p.name for p in found.values())
            raise ParameterError(
                f"{self.script.name}: one protocol must measure all scenes, here are {names}; set evaluation.protocol"
            )
        return next(iter(found.values()))

    @property
    def best(self) -> Trial | None:
        """The best of the complete trials, the first of equals; None if no trial is complete."""
        sign = 1 if self.better == "lower" else -1
        complete = [(sign * trial.value, trial.number, trial) for trial in self.trials if trial.value is not None]
        return min(complete)[2] if complete else None

    @property
    def best_script(self) -> dict[str, Any] | None:
        """The script of the best setting, all values filled in; None if no trial is complete."""
        if self.best is None:
            return None
        return {**self.best.setting.mapping, "scenes": [scene.name for scene in self.scenes]}

    def __iter__(self) -> Iterator[Trial]:
        """Make the trials; those of earlier calls are proposed again, and their results are in the store."""
        began = time.monotonic()
        with contextlib.ExitStack() as stack:
            store = None if self.out is None else stack.enter_context(Store(Path(self.out), create=True))
            if store is not None:
                store.describe([self.script], self.protocol.measures)
                check_own(store.folder / BEST)
                store.plan([])
            while len(self.trials) < self.wanted and (self.timeout is None or time.monotonic() - began < self.timeout):
                first = len(self.trials)
                batch = [self._ask(number) for number in range(first, min(first + self.workers, self.wanted))]
                self._make(batch, store)
                self.trials += batch
                if store is not None and (best := self.best) is not None:
                    said = f"# {self.statistic} {best.value:.6g} on average over the scenes: the best of {len(self.trials)} trials.\n"
                    write_bytes(store.folder / BEST, (said + yaml.safe_dump(self.best_script, sort_keys=False)).encode())
                yield from batch

    def _ask(self, number: int) -> Trial:
        """The next setting to try, by the model or, where it proposes none but those that were tried, by chance."""
        for draw in itertools.count():
            # Of the seed and what was proposed before alone, so that a search that was left goes on as if it had not been.
            seed = int(np.random.default_rng([self.seed, number, draw]).integers(2**32))
            with warnings.catch_warnings():
                # That the model of several parameters at a time may change.
                warnings.simplefilter("ignore")
                self._study.sampler = (
                    optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True, constant_liar=self.workers > 1)
                    if draw < _DRAWS
                    else optuna.samplers.RandomSampler(seed=seed)
                )
            asked = self._study.ask()
            index, choice = found = suggested(self.script.methods, asked)
            if found not in self._tried:
                break
            self._study.tell(asked, state=optuna.trial.TrialState.FAIL)
        self._tried.add(found)
        return Trial(number, self.script.methods[index].run(choice), asked)

    def _make(self, batch: Sequence[Trial], store: Store | None) -> None:
        """Try settings on scene after scene, those that have no hope on none of the further ones."""
        alive = list(batch)
        for scene in self.scenes:
            tasks = []
            planned = planner(scene, self.script.plugins)
            for trial in list(alive):
                try:
                    tasks.append(planned(trial.setting))
                except ParameterError as error:
                    trial.error = str(error)
                    alive.remove(trial)
            if store is not None:
                store.plan([key for task in tasks for key in task.keys], after=True)
            of_task = dict(zip(tasks, alive, strict=True))
            for task, [result] in stored_or_computed(store, tasks, self._crew):
                trial = of_task[task]
                trial.error, trial.traceback = result.error, result.traceback
                trial.measured.append(result.statistics)
            alive = [trial for trial in alive if trial.error is None and self._hopeful(trial, scene)]
        for trial in batch:
            state = {"failed": "FAIL", "pruned": "PRUNED", "complete": "COMPLETE"}[trial.state]
            self._study.tell(trial.asked, trial.value, optuna.trial.TrialState[state])

    def _hopeful(self, trial: Trial, scene: Scene) -> bool:
        """Note what was measured on a scene; false if the trial failed there or is worse than those of three quarters of the complete ones."""
        trial.scenes[scene.name] = value = self._average(trial.measured[-1:], [scene])
        if not math.isfinite(value):
            trial.error = f"{self.statistic} is {value} on {scene.name}"
            return False
        tried = len(trial.measured)
        value = self._average(trial.measured, self.scenes[:tried])
        trial.asked.report(value, tried - 1)
        trial.value = value if tried == len(self.scenes) else None
        return not trial.asked.should_prune()

    def _average(self, statistics: Sequence[Mapping[str, float]], scenes: Sequence[Scene]) -> float:
        """The protocol's average over scenes."""
        return average(statistics, self.protocol, [scene.weight for scene in scenes]).get(self.statistic, math.nan)


def _settings(method: Method) -> int:
    """How many settings a method has."""
    return math.prod(len(group[0].values) for group in method.groups)


def suggested(methods: Sequence[Method], trial: optuna.Trial) -> tuple[int, tuple[int, ...]]:
    """The index of a method, and a choice as its `run` takes it: the method is one choice, where there are several, and each of its groups of axes another.

    A group of axes whose numbers stand in order is searched along that order; other values are searched as unrelated ones.
    """
    several = len(methods) > 1
    index = trial.suggest_categorical("method", range(len(methods))) if several else 0
    choice: list[int] = []
    for group in methods[index].groups:
        name = f"{methods[index].name}: " * several + " + ".join(axis.name for axis in group)
        values = group[0].values
        if len(values) == 1:
            choice.append(0)
        elif all(map(_ordered, group)):
            choice.append(trial.suggest_int(name, 0, len(values) - 1))
        else:
            choice.append(trial.suggest_categorical(name, range(len(values))))
    return index, tuple(choice)


def _ordered(axis: Axis) -> bool:
    """Whether an axis lists numbers upwards or downwards; a null at an end means beyond all of them, as for a truncation."""
    if is_slot(axis.name):
        return False
    values = [node.value for node in axis.values]
    if None in (values[0], values[-1]):
        values.remove(None)
    if len(values) < 2 or not all(map(is_number, values)):
        return False
    return values in (sorted(values), sorted(values, reverse=True))


def _better(statistic: str, scenes: Sequence[Scene], protocol: Protocol) -> Literal["lower", "higher"]:
    """Which values of a statistic are better; refuses what no scene or not every scene has."""
    # What is measured of any map tells the names.
    zeros = [np.zeros(scene.reference.shape[:2], np.float32) for scene in scenes]
    blank = [statistics_of(zero, scene, protocol, reference=zero) for scene, zero in zip(scenes, zeros, strict=True)]
    names = average(blank, protocol, [scene.weight for scene in scenes])
    if statistic not in names:
        close = close_names(statistic, names, 5)
        legal = f"did you mean {', '.join(close)}?" if close else nearest(statistic, names)
        where = f"{', '.join(scene.name for scene in scenes)} under {protocol.name}"
        raise ParameterError(f"statistic: no {statistic!r} on {where}; {legal}")
    metric = metric_of(statistic)
    if metric is None or not metric.better:
        raise ParameterError(f"statistic: {statistic} is neither better low nor high; name one that is, as bad_pixels_nonocc")
    return metric.better
