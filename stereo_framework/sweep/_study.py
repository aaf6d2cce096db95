"""What `tune` needs of Optuna: the settings of a script as its search space, and a study of them that can be left and taken up again."""

from __future__ import annotations

import contextlib
import functools
import math
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import InMemoryStorage, RDBStorage
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool

from stereo_framework.core.errors import DataError, StereoFrameworkError
from stereo_framework.io import check_plain
from stereo_framework.script.addresses import is_slot
from stereo_framework.script.axes import Axis
from stereo_framework.script.reading import is_number
from stereo_framework.script.settings import MethodSettings, Setting

_P = ParamSpec("_P")
_R = TypeVar("_R")

FILE = "study.sqlite"

ABOUT = "about"
"""Attribute of a trial that says what was tried and what came of it."""

Choice = tuple[int, tuple[float, ...]]
"""Index of a method, and its choice as `MethodSettings.run` takes it."""

_DRAWS = 20
"""How often the model may propose what was tried already, before chance decides."""

_BEFORE_PRUNING = 5
"""Complete trials before the first may be given up."""

_HOPELESS = 75.0
"""Percentage of the complete trials that are better than a hopeless one. The median, 50, gave up the best of a grid of windows on two
scenes in half of all searches."""

_FOR_IMPORTANCE = 50
"""Complete trials without which a parameter's importance is a guess: its estimate wants five trials in the best tenth. From 30
trials it named one axis first or another, depending on the seed."""


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep Optuna's own messages and warnings from the user."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(level)


class Space:
    """The settings of a script as dimensions: the method, where there are several, and for each method its groups of axes.

    A group of axes whose numbers stand in order is searched along that order; other values are searched as unrelated ones.

    Parameters
    ----------
    methods : sequence of MethodSettings
    """

    def __init__(self, methods: Sequence[MethodSettings]):
        self.methods = methods
        self.method = CategoricalDistribution([m.method for m in methods]) if len(methods) > 1 else None
        # Per method and group: name and distribution; None where there is nothing to choose.
        self._groups = [[_dimension(m, group, len(methods) > 1) for group in m.groups] for m in methods]

    @property
    def size(self) -> float:
        """Number of settings; infinite where an axis is continuous."""
        return sum(math.prod(math.inf if g[0].scale else len(g[0].values) for g in m.groups) for m in self.methods)

    @property
    def dimensions(self) -> dict[str, BaseDistribution]:
        """All dimensions of all methods."""
        found: dict[str, BaseDistribution] = {} if self.method is None else {"method": self.method}
        return found | {name: d for i in range(len(self.methods)) for name, d in self.of_method(i).items()}

    def of_method(self, index: int) -> dict[str, BaseDistribution]:
        """The dimensions of one method."""
        return dict(group for group in self._groups[index] if group is not None)

    def index(self, parameters: Mapping[str, Any]) -> int:
        """The method that parameters choose."""
        return 0 if self.method is None else self.method.choices.index(parameters["method"])

    def setting(self, parameters: Mapping[str, Any]) -> Choice | None:
        """The setting that a trial's parameters mean; None while some of them are missing."""
        try:
            index = self.index(parameters)
            return index, tuple(0 if group is None else parameters[group[0]] for group in self._groups[index])
        except KeyError:
            return None

    def suggest(self, trial: Trial) -> Choice:
        """Let a trial choose; what it has chosen already stays."""
        found: dict[str, Any] = {}
        if self.method is not None:
            found["method"] = trial.suggest_categorical("method", self.method.choices)
        for name, distribution in self.of_method(self.index(found)).items():
            if isinstance(distribution, FloatDistribution):
                found[name] = trial.suggest_float(name, distribution.low, distribution.high, log=distribution.log)
            elif isinstance(distribution, IntDistribution):
                found[name] = trial.suggest_int(name, distribution.low, distribution.high)
            elif isinstance(distribution, CategoricalDistribution):
                found[name] = trial.suggest_categorical(name, distribution.choices)
        setting = self.setting(found)
        assert setting is not None, "all dimensions of the method were chosen"
        return setting

    def run(self, setting: Choice) -> Setting:
        """The run of a setting."""
        index, choice = setting
        return self.methods[index].run(choice)


def _dimension(method: MethodSettings, group: Sequence[Axis], several: bool) -> tuple[str, BaseDistribution] | None:
    name = f"{method.method}: " * several + " + ".join(axis.name for axis in group)
    count = len(group[0].values)
    if group[0].scale:
        low, high = (float(node.value) for node in group[0].values)
        return name, FloatDistribution(low, high, log=group[0].scale == "log")
    if count == 1:
        return None
    return name, IntDistribution(0, count - 1) if all(map(_ordered, group)) else CategoricalDistribution(range(count))


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


class _Sampler(optuna.samplers.BaseSampler):
    """Optuna's tree-structured Parzen estimator (TPE), kept from proposing a setting again: its result is known.

    What it proposes depends on the seed, the trial's number and the trials before it alone. A study that was left therefore goes
    on as if it had not been.
    """

    def __init__(self, space: Space, seed: int):
        self.space, self.seed = space, seed

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self.space.dimensions

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        seed = int(np.random.default_rng([self.seed, trial.number]).integers(2**32))
        others = [t for t in study.get_trials(deepcopy=False) if t.number != trial.number]
        tried = {self.space.setting(t.params) for t in others}
        # Settings that are being tried repel further ones.
        beside = any(t.state == TrialState.RUNNING for t in others)
        model = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=beside)
        chance = optuna.samplers.RandomSampler(seed=seed)
        for _ in range(_DRAWS):
            found = self._draw(model, study, trial)
            if self.space.setting(found) not in tried:
                return found
        while self.space.setting(found := self._draw(chance, study, trial)) in tried:
            pass
        return found

    def _draw(self, sampler: optuna.samplers.BaseSampler, study: optuna.Study, trial: FrozenTrial) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.space.method is not None:
            found["method"] = sampler.sample_independent(study, trial, "method", self.space.method)
        wanted = self.space.of_method(self.space.index(found))
        together = sampler.sample_relative(study, trial, wanted)
        for name, distribution in wanted.items():
            found[name] = together[name] if name in together else sampler.sample_independent(study, trial, name, distribution)
        return found

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        raise NotImplementedError("everything is sampled together")


def _storage(path: Path) -> RDBStorage:
    def connected() -> sqlite3.Connection:
        db = sqlite3.connect(path, timeout=30, check_same_thread=False)
        # As the results store does: a killed program loses nothing, and nobody waits for the disk some 20 times a trial.
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        return db

    # In an address of a database a path may hold no question mark, and in one of Optuna's no brace.
    return RDBStorage("sqlite://", engine_kwargs={"creator": connected, "poolclass": QueuePool})


def _told(method: Callable[Concatenate[Study, _P], _R]) -> Callable[Concatenate[Study, _P], _R]:
    """A method of a study that keeps Optuna quiet and tells in a line that the file cannot be used any more."""

    @functools.wraps(method)
    def wrapped(study: Study, /, *arguments: _P.args, **options: _P.kwargs) -> _R:
        try:
            with quiet():
                return method(study, *arguments, **options)
        except (SQLAlchemyError, optuna.exceptions.OptunaError, sqlite3.Error) as error:
            raise StereoFrameworkError(
                f"{study.where}: a trial cannot be read or written: {_first_line(error)}; earlier ones are kept, and the same command continues"
            ) from error

    return wrapped


def _first_line(error: Exception) -> str:
    """What SQLite says, without what Optuna and SQLAlchemy say about it."""
    while isinstance(error.__cause__, Exception):
        error = error.__cause__
    return str(error).splitlines()[0] if str(error) else type(error).__name__


class Study:
    """Trials of settings: which to try next, what came of them.

    Parameters
    ----------
    name : str
        Of the study in its file, which may hold others.
    better : {"lower", "higher"}
        Of the statistic that is searched for.
    folder : Path or None
        Where the file is; None keeps the study in memory.
    space : Space
    seed : int
        Of the search.

    Raises
    ------
    DataError
        The file is none of Optuna's or cannot be used.
    """

    @quiet()
    def __init__(self, name: str, better: Literal["lower", "higher"], folder: Path | None, space: Space, seed: int):
        self.space, self.where = space, "the study" if folder is None else str(folder / FILE)
        if folder is not None:
            check_plain(folder / FILE)
        try:
            self._storage = InMemoryStorage() if folder is None else _storage(folder / FILE)
            self._study = optuna.create_study(
                study_name=name,
                storage=self._storage,
                direction="minimize" if better == "lower" else "maximize",
                sampler=_Sampler(space, seed),
                pruner=optuna.pruners.PercentilePruner(_HOPELESS, n_startup_trials=_BEFORE_PRUNING),
                load_if_exists=True,
            )
        except (SQLAlchemyError, sqlite3.Error, RuntimeError, optuna.exceptions.OptunaError) as error:
            raise DataError(f"{self.where}: cannot be used as a study: {_first_line(error)}; choose another folder") from error

    def close(self) -> None:
        """Close the file."""
        if isinstance(self._storage, RDBStorage):
            self._storage.remove_session()
            self._storage.engine.dispose()

    @property
    @_told
    def finished(self) -> list[FrozenTrial]:
        """All trials that are through, in their order."""
        return [t for t in self._study.get_trials(deepcopy=False) if t.state.is_finished()]

    @_told
    def next(self, most: int, together: int) -> list[tuple[Trial, Choice]]:
        """The trials to make next; none when there are `most` of them or everything was tried.

        Parameters
        ----------
        most : int
            Trials in all.
        together : int
            How many are made at a time.
        """
        known = self._study.get_trials(deepcopy=False)
        # Those that were being made when the program ended.
        found = [Trial(self._study, trial._trial_id) for trial in known if trial.state == TrialState.RUNNING]
        batch = [(trial, self.space.suggest(trial)) for trial in found]
        for number in range(len(known), int(min(most, self.space.size))):
            # Trials are made together by their numbers, so that a study that was left goes on with the same ones.
            if batch and number % together == 0:
                break
            trial = self._study.ask()
            batch.append((trial, self.space.suggest(trial)))
        return batch

    @_told
    def hopeless(self, trial: Trial, value: float, step: int) -> bool:
        """Report a value so far; true if it is worse than those of three quarters of the complete trials at this step."""
        trial.report(value, step)
        return trial.should_prune()

    @_told
    def tell(self, trial: Trial, value: float | None, about: Mapping[str, Any], *, failed: bool) -> None:
        """End a trial: with its value, failed, or else pruned; `about` it is kept with it."""
        trial.set_user_attr(ABOUT, about)
        state = None if value is not None else TrialState.FAIL if failed else TrialState.PRUNED
        self._study.tell(trial, value, state)

    @property
    @_told
    def best(self) -> FrozenTrial | None:
        """The best of the complete trials, the first of equals."""
        complete = any(t.state == TrialState.COMPLETE for t in self.finished)
        return self._study.best_trial if complete else None

    @_told
    def importance(self) -> dict[str, float]:
        """Share of each dimension in what makes a trial one of the best tenth (PED-ANOVA); empty after few trials."""
        complete = [t for t in self.finished if t.state == TrialState.COMPLETE]
        if len(complete) < _FOR_IMPORTANCE or len(self.space.dimensions) < 2:
            return {}
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        return optuna.importance.get_param_importances(self._study, evaluator=evaluator)
