"""Search a script's settings for the best value of a statistic: promising ones are tried, hopeless ones given up early."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import yaml

from stereo_framework.core.errors import MissingExtraError, ParameterError, brings, close_names, nearest
from stereo_framework.core.scene import Scene
from stereo_framework.evaluation.evaluate import statistics_of
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.evaluation.protocol_average import average
from stereo_framework.evaluation.protocols import Protocol, of_scene
from stereo_framework.io import check_own, write_bytes
from stereo_framework.script import Script, Setting, load
from stereo_framework.sweep.executors import Options, Workers
from stereo_framework.sweep.plan import Planner, Task
from stereo_framework.sweep.runs import check_workers, scenes_of, stored_or_computed, write_script
from stereo_framework.sweep.store import Store

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from stereo_framework.sweep._study import Space, Study

BEST = "best.yaml"
"""The best script, in the output folder."""


@dataclass(frozen=True, eq=False)
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
    scenes: Mapping[str, float]
    value: float | None
    state: Literal["complete", "pruned", "failed"]
    error: str | None
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
    importance : mapping of str to float
        Share of each axis in what makes a trial one of the best tenth, largest first, 1 in all (PED-ANOVA, Watanabe et al. 2023). Empty
        below 50 complete trials.
    size : float
        Number of settings that there are; infinite with a continuous axis.
    """

    statistic: str
    better: Literal["lower", "higher"]
    protocol: Protocol
    trials: tuple[Trial, ...]
    best: Trial | None
    script: Mapping[str, Any] | None
    importance: Mapping[str, float]
    size: float


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
        Settings to try in all, those of earlier calls on the same study included. Each is tried once.
    out : path, optional
        Folder for the study, the results store and the best script. The same call goes on where an earlier one ended, however that
        was; another script, statistic, seed or scene is another study in the same folder. Results that are there are not computed again.
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
        try:
            from stereo_framework.sweep._study import Space
        except ImportError:
            raise MissingExtraError(f"tune needs optuna: {brings('tune')}") from None
        check_workers(workers)
        if trials < 1:
            raise ParameterError(f"trials: {trials} is below 1")
        if seed < 0:
            raise ParameterError(f"seed: {seed} is below 0")
        self.script = script if isinstance(script, Script) else load(script, overrides=overrides, tuning=True, plugins=plugins)
        self.space: Space = Space(self.script.methods)
        if self.space.size == 1:
            example = "sweep: {grid: {matching_cost.truncation: [5, 10, 20]}}"
            raise ParameterError(
                f"{self.script.name}: nothing to tune: no axis of the script has two values; give some, as {example}"
            )
        self.scenes = scenes_of(self.script, scenes, data)
        self.statistic, self.protocol = statistic, self._protocol()
        self.better = _better(statistic, self.scenes, self.protocol)
        self.trials, self.seed, self.timeout = int(min(trials, self.space.size)), seed, timeout
        self.out = None if out is None else Path(out)
        self.workers = workers
        options = Options(workers, memory, keep=False, data=None if data is None else str(data), watch=watch)
        self._crew = Workers(options, executor, dask)
        self._planners = [Planner(scene, self.script.plugins) for scene in self.scenes]
        self._stack = contextlib.ExitStack()
        self._store: Store | None = None
        self._study: Study | None = None

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
        from stereo_framework.sweep._study import Study

        if self.out is not None:
            self._store = self._stack.enter_context(Store(self.out, create=True))
            write_script(self.out, self.script)
            check_own(self.out / BEST)
        with contextlib.ExitStack() as undo:
            undo.callback(self._stack.close)
            self._study = Study(self._name, self.better, self.out, self.space, self.seed)
            undo.pop_all()
        self._stack.callback(self._study.close)
        self._stack.enter_context(self._crew)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    @property
    def _name(self) -> str:
        """Of the study: the same for all that may go on with it."""
        about = {key: value for key, value in self.script.resolved.items() if key not in ("scenes", "report")}
        scenes = [planner.content for planner in self._planners]
        parts = [about, scenes, repr(self.protocol.as_dict()), self._planners[0].code, self.seed]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()[:8]
        return f"{self.script.name}: {self.statistic} ({digest})"

    @property
    def study(self) -> Study:
        """The study, while the tuner is entered."""
        assert self._study is not None, "a tuner is entered before it is used"
        return self._study

    def __iter__(self) -> Iterator[Trial]:
        """Make the trials that are missing."""
        began = time.monotonic()
        known = self.study.finished
        yield from map(self._trial, known)
        told = {trial.number for trial in known}
        if self._store is not None:
            self._store.plan([key for trial in known for key in trial.user_attrs["about"]["keys"]])
        self._write_best()
        while self.timeout is None or time.monotonic() - began < self.timeout:
            batch = [_Making(trial, self.space.run(setting)) for trial, setting in self.study.next(self.trials, self.workers)]
            if not batch:
                return
            self._make(batch)
            for one in batch:
                about: dict[str, Any] = {"method": one.run.method, "axes": one.run.axes, "scenes": one.values, "keys": one.keys}
                about |= {"error": one.error, "traceback": one.traceback}
                self.study.tell(one.trial, one.value, about, failed=one.error is not None)
            self._write_best()
            new = [trial for trial in self.study.finished if trial.number not in told]
            told |= {trial.number for trial in new}
            yield from map(self._trial, new)

    def _make(self, batch: Sequence[_Making]) -> None:
        """Try settings on scene after scene, those that have no hope on none of the further ones."""
        alive = list(batch)
        for step, planner in enumerate(self._planners):
            scene, last = planner.scene.name, step == len(self._planners) - 1
            tasks: list[Task] = []
            for one in list(alive):
                try:
                    tasks.append(planner.task(one.run))
                except ParameterError as error:
                    one.error = str(error)
                    alive.remove(one)
            if self._store is not None:
                self._store.plan(keys := [key for task in tasks for key in task.keys], after=True)
                for one, key in zip(alive, keys, strict=True):
                    one.keys.append(key)
            for i, result in stored_or_computed(self._store, tasks, self._crew):
                alive[i].error, alive[i].traceback = result.error, result.traceback
                alive[i].statistics.append(result.statistics)
            for one in alive:
                if one.error is None:
                    one.values[scene] = self._average(one.statistics[-1:], step)
                    one.error = (
                        None if math.isfinite(one.values[scene]) else f"{self.statistic} is {one.values[scene]} on {scene}"
                    )
                if one.error is None:
                    value = self._average(one.statistics, 0)
                    hopeless = self.study.hopeless(one.trial, value, step)
                    one.value = value if last else None
                    one.pruned = hopeless and not last
            alive = [one for one in alive if one.error is None and not one.pruned]

    def _average(self, statistics: Sequence[Mapping[str, float]], first: int) -> float:
        """The protocol's average over scenes from the one of that index on."""
        weights = [scene.weight for scene in self.scenes[first : first + len(statistics)]]
        return average(statistics, self.protocol, weights).get(self.statistic, math.nan)

    def _trial(self, trial: FrozenTrial) -> Trial:
        state: Any = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}[trial.state.name]
        value = trial.value if state == "complete" else None
        about = {name: what for name, what in trial.user_attrs["about"].items() if name != "keys"}
        return Trial(number=trial.number, value=value, state=state, **about)

    def _best_script(self) -> dict[str, Any] | None:
        best = self.study.best
        setting = None if best is None else self.space.setting(best.params)
        return None if setting is None else {**self.space.run(setting).mapping, "scenes": [scene.name for scene in self.scenes]}

    def _write_best(self) -> None:
        best, script = self.study.best, self._best_script()
        if self.out is None or best is None or script is None:
            return
        said = f"# {self.statistic} {best.value:.6g} on average over the scenes: the best of {len(self.study.finished)} trials.\n"
        write_bytes(self.out / BEST, (said + yaml.safe_dump(script, sort_keys=False)).encode())

    def tuned(self) -> Tuned:
        """What was found so far."""
        best = self.study.best
        return Tuned(
            statistic=self.statistic,
            better=self.better,
            protocol=self.protocol,
            trials=tuple(map(self._trial, self.study.finished)),
            best=None if best is None else self._trial(best),
            script=self._best_script(),
            importance=self.study.importance(),
            size=self.space.size,
        )


@dataclass(eq=False)
class _Making:
    """A trial that is being made."""

    trial: Any
    run: Setting
    statistics: list[Mapping[str, float]] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    value: float | None = None
    error: str | None = None
    traceback: str = ""
    pruned: bool = False


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
