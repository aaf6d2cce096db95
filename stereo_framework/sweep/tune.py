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
from stereo_framework.script.reading import is_number
from stereo_framework.script.settings import MethodSettings, Setting
from stereo_framework.sweep.executors import Options, Workers
from stereo_framework.sweep.plan import Planner, Task
from stereo_framework.sweep.runs import check_workers, scenes_of, stored_or_computed, write_script
from stereo_framework.sweep.store import Store

try:
    import optuna
except ImportError:
    raise MissingExtraError(f"tune needs optuna: {brings('tune')}") from None

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
    method : str
    axes : mapping
        What was chosen, by address.
    scenes : mapping of str to float
        The statistic on each scene, as far as it was measured.
    value : float or None
        Its average over all scenes; None unless the trial is complete.
    state : {"complete", "pruned", "failed"}
    error : str or None
        Why it failed.
    traceback : str
        Where in the code the error was raised, as Python prints it; empty if nothing was raised.
    """

    number: int
    method: str
    axes: Mapping[str, Any]
    scenes: dict[str, float] = field(default_factory=dict)
    value: float | None = None
    state: Literal["complete", "pruned", "failed"] = "pruned"
    error: str | None = None
    traceback: str = ""

    def record(self) -> dict[str, Any]:
        """The trial as the plain object that ``--json`` prints."""
        return {key: value for key, value in vars(self).items() if key != "traceback"}


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a search found.

    Parameters
    ----------
    statistic : str
    better : {"lower", "higher"}
    protocol : Protocol
        That measured.
    trials : tuple of Trial
    best : Trial or None
        None if no trial is complete.
    script : mapping or None
        The script of the best setting on the same scenes, all values filled in; it runs to the same numbers.
    size : float
        Number of settings that there are; infinite with a continuous axis.
    """

    statistic: str
    better: Literal["lower", "higher"]
    protocol: Protocol
    trials: tuple[Trial, ...]
    best: Trial | None
    script: Mapping[str, Any] | None
    size: float


@dataclass
class _Making:
    """A trial that is being made: Optuna's, what it tries, and what was measured so far."""

    asked: optuna.Trial
    setting: Setting
    trial: Trial
    statistics: list[Mapping[str, float]] = field(default_factory=list)


def tune(
    script: str | Path | Mapping[str, Any] | Script,
    statistic: str,
    scenes: Sequence[str | Scene] | str | Scene | None = None,
    **options: Any,
) -> Tuned:
    """Search the settings that a script's ``sweep`` spans for the best value of a statistic.

    Parameters
    ----------
    script, statistic, scenes, **options
        As those of `Tuner`.

    Returns
    -------
    Tuned

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
    with Tuner(script, statistic, scenes, **options) as tuner:
        for _ in tuner:
            pass
        return tuner.tuned()


class Tuner:
    """`tune` trial by trial. A context manager; iterating yields the trials of earlier calls, then the others as they end.

    Parameters
    ----------
    script : path, name of a shipped script, mapping or Script
        Axes whose numbers stand in order are searched along it. Axes may be continuous besides, which a run refuses:
        ``{between: [lowest, highest]}``, with ``scale: log`` where ratios count. Several methods are one more choice. A `Script` must have
        been loaded with ``tuning=True`` for that.
    statistic : str
        ``bad_pixels_nonocc``, say. Whether lower or higher is better follows from the table of metrics.
    scenes : scene names or Scene objects, optional
        Instead of the script's own. Each setting is tried on one after the other; where the average so far is worse than those of three
        quarters of the complete trials, the other scenes are left out.
    trials : int
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
    executor, dask, memory
        Who computes, and within what memory, as for `run`; they change neither what is tried nor its numbers.
    overrides : sequence of str
        ``key.path=value`` settings over the script's.
    data : path, optional
        Data root, as for `run`.
    watch : callable, optional
        Called with a text whenever a stage begins.
    """

    def __init__(
        self,
        script: str | Path | Mapping[str, Any] | Script,
        statistic: str,
        scenes: Sequence[str | Scene] | str | Scene | None = None,
        *,
        trials: int = 50,
        out: str | Path | None = None,
        workers: int = 1,
        seed: int = 0,
        timeout: float | None = None,
        executor: Literal["thread", "process"] | Executor = "thread",
        dask: str | None = None,
        memory: int | None = None,
        overrides: Sequence[str] = (),
        plugins: Sequence[str | Path] = (),
        data: str | Path | None = None,
        watch: Callable[[str], None] | None = None,
    ):
        check_workers(workers)
        if trials < 1:
            raise ParameterError(f"trials: {trials} is below 1")
        if seed < 0:
            raise ParameterError(f"seed: {seed} is below 0")
        self.script = script if isinstance(script, Script) else load(script, overrides=overrides, tuning=True, plugins=plugins)
        self.size = sum(map(_settings, self.script.methods))
        if self.size == 1:
            example = "sweep: {grid: {matching_cost.truncation: [5, 10, 20]}}"
            raise ParameterError(
                f"{self.script.name}: nothing to tune: no axis of the script has two values; give some, as {example}"
            )
        self.scenes = scenes_of(self.script, scenes, data)
        self.statistic, self.protocol = statistic, self._protocol()
        self.better = _better(statistic, self.scenes, self.protocol)
        self.trials, self.seed, self.timeout = int(min(trials, self.size)), seed, timeout
        self.out = None if out is None else Path(out)
        self.workers = workers
        options = Options(workers, memory, keep=False, data=None if data is None else str(data), watch=watch)
        self._crew = Workers(options, executor, dask)
        self._planners = [Planner(scene, self.script.plugins) for scene in self.scenes]
        self._stack = contextlib.ExitStack()
        self._store: Store | None = None
        self._made: list[_Making] = []
        self._tried: set[tuple[int, tuple[float, ...]]] = set()
        with _quiet():
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

    def __enter__(self) -> Tuner:
        if self.out is not None:
            self._store = self._stack.enter_context(Store(self.out, create=True))
            with contextlib.ExitStack() as undo:
                undo.callback(self._stack.close)
                write_script(self.out, self.script)
                check_own(self.out / BEST)
                self._store.plan([])
                undo.pop_all()
        self._stack.enter_context(self._crew)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def __iter__(self) -> Iterator[Trial]:
        """Make the trials; those of earlier calls are proposed again, and their results are in the store."""
        began = time.monotonic()
        while len(self._made) < self.trials and (self.timeout is None or time.monotonic() - began < self.timeout):
            first = len(self._made)
            batch = [self._ask(number) for number in range(first, min(first + self.workers, self.trials))]
            self._make(batch)
            self._made += batch
            self._write_best()
            yield from (one.trial for one in batch)

    def _ask(self, number: int) -> _Making:
        """The next setting to try, by the model or, where it proposes none but those that were tried, by chance."""
        with _quiet():
            for draw in itertools.count():
                # Of the seed and what was proposed before alone, so that a search that was left goes on as if it had not been.
                seed = int(np.random.default_rng([self.seed, number, draw]).integers(2**32))
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
        setting = self.script.methods[index].run(choice)
        return _Making(asked, setting, Trial(number, setting.method, setting.axes))

    def _make(self, batch: Sequence[_Making]) -> None:
        """Try settings on scene after scene, those that have no hope on none of the further ones."""
        alive = list(batch)
        for step, planner in enumerate(self._planners):
            tasks: list[Task] = []
            for one in list(alive):
                try:
                    tasks.append(planner.task(one.setting))
                except ParameterError as error:
                    one.trial.error = str(error)
                    alive.remove(one)
            if self._store is not None:
                self._store.plan([key for task in tasks for key in task.keys], after=True)
            for i, result in stored_or_computed(self._store, tasks, self._crew):
                alive[i].trial.error, alive[i].trial.traceback = result.error, result.traceback
                alive[i].statistics.append(result.statistics)
            alive = [one for one in alive if one.trial.error is None and self._hopeful(one, step)]
        states = optuna.trial.TrialState
        for one in batch:
            trial = one.trial
            trial.state = "failed" if trial.error else "pruned" if trial.value is None else "complete"
            with _quiet():
                self._study.tell(
                    one.asked, trial.value, states.FAIL if trial.error else None if trial.value is not None else states.PRUNED
                )

    def _hopeful(self, one: _Making, step: int) -> bool:
        """Note what was measured on a scene; false if the trial failed there or is worse than those of three quarters of the complete ones."""
        scene, trial = self.scenes[step].name, one.trial
        trial.scenes[scene] = value = self._average(one.statistics[-1:], step)
        if not math.isfinite(value):
            trial.error = f"{self.statistic} is {value} on {scene}"
            return False
        value = self._average(one.statistics, 0)
        one.asked.report(value, step)
        trial.value = value if step == len(self.scenes) - 1 else None
        return not one.asked.should_prune()

    def _average(self, statistics: Sequence[Mapping[str, float]], first: int) -> float:
        """The protocol's average over scenes from the one of that index on."""
        weights = [scene.weight for scene in self.scenes[first : first + len(statistics)]]
        return average(statistics, self.protocol, weights).get(self.statistic, math.nan)

    def _best(self) -> _Making | None:
        """The best of the complete trials, the first of equals."""
        complete = [one for one in self._made if one.trial.value is not None]
        sign = 1 if self.better == "lower" else -1
        return min(complete, key=lambda one: sign * (one.trial.value or 0), default=None)

    def _write_best(self) -> None:
        if self.out is not None and (best := self._best()) is not None:
            said = (
                f"# {self.statistic} {best.trial.value:.6g} on average over the scenes: the best of {len(self._made)} trials.\n"
            )
            write_bytes(self.out / BEST, (said + yaml.safe_dump(self._script(best), sort_keys=False)).encode())

    def _script(self, one: _Making) -> dict[str, Any]:
        return {**one.setting.mapping, "scenes": [scene.name for scene in self.scenes]}

    def tuned(self) -> Tuned:
        """What was found so far."""
        best = self._best()
        return Tuned(
            statistic=self.statistic,
            better=self.better,
            protocol=self.protocol,
            trials=tuple(one.trial for one in self._made),
            best=best.trial if best else None,
            script=self._script(best) if best else None,
            size=self.size,
        )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep Optuna's own messages and warnings from the user."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(level)


def _settings(method: MethodSettings) -> float:
    """How many settings a method has; infinitely many where an axis is continuous."""
    return math.prod(math.inf if group[0].scale else len(group[0].values) for group in method.groups)


def suggested(methods: Sequence[MethodSettings], trial: optuna.Trial) -> tuple[int, tuple[float, ...]]:
    """The index of a method, and a choice as its `run` takes it: the method is one choice, where there are several, and each of its groups of axes another.

    A group of axes whose numbers stand in order is searched along that order; other values are searched as unrelated ones.
    """
    several = len(methods) > 1
    index = trial.suggest_categorical("method", range(len(methods))) if several else 0
    choice: list[float] = []
    for group in methods[index].groups:
        name = f"{methods[index].method}: " * several + " + ".join(axis.name for axis in group)
        values, scale = group[0].values, group[0].scale
        if scale:
            choice.append(trial.suggest_float(name, *(float(node.value) for node in values), log=scale == "log"))
        elif len(values) == 1:
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
