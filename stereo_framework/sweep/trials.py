"""The trials of a search: their values so far, and the best of them.

A trial is a setting that runs on one scene after another. After each scene, the average
over the scenes so far decides whether the trial continues.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from stereo_framework.core.scene import Scene
from stereo_framework.evaluation.protocols import Protocol, average
from stereo_framework.script import Setting

if TYPE_CHECKING:
    import optuna

_RECORDED_FIELDS = ("number", "scenes", "value", "state", "error")
"""Attributes of a trial that its record contains under the same name."""


@dataclass(eq=False)
class Trial:
    """A setting that the search tries, and its results so far.

    Parameters
    ----------
    number : int
        Number of trials that were proposed before.
    setting : Setting
        The setting to run.
    proposal : optuna.Trial
        The same trial in the optuna study, which has proposed the setting.
    scenes : dict of str to float
        Value of the statistic on each scene that was run, by the name of the scene.
    statistics : list of mapping of str to float
        All statistics on each of these scenes, in the same order.
    value : float or None
        Average of the statistic over all scenes. It is None unless the trial is
        complete.
    error : str or None
        Reason why the trial failed.
    traceback : str
        Traceback of the exception. It is empty if no exception was raised.
    setting_on_scene : callable, optional
        Function that takes the name of a scene, and returns the setting with the values
        that the script sets on this scene. None means that there are no such values.
    """

    number: int
    setting: Setting
    proposal: "optuna.Trial"
    scenes: dict[str, float] = field(default_factory=dict)
    statistics: list[Mapping[str, float]] = field(default_factory=list)
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
        """End of the trial: ``complete``, ``pruned`` or ``failed``."""
        if self.error:
            return "failed"
        return "pruned" if self.value is None else "complete"

    def record(self) -> dict[str, Any]:
        """Return the trial as plain data, as ``--json`` prints it."""
        fields = {name: getattr(self, name) for name in _RECORDED_FIELDS}
        return fields | {"method": self.setting.method, "axes": self.setting.axes}


@dataclass(eq=False)
class TuningResult:
    """The goal of a search for the best values, and all its trials.

    Parameters
    ----------
    statistic : str
        Name of the statistic to optimize.
    better : str
        "lower" if low values of the statistic are better, otherwise "higher".
    protocol : Protocol
        The protocol that evaluates the disparity maps on all scenes.
    scenes : sequence of Scene
        The scenes on which each setting runs, in this order.
    size : int
        Number of settings of the script.
    trials : list of Trial
        The finished trials, in the order in which they were proposed.
    """

    statistic: str
    better: str
    protocol: Protocol
    scenes: Sequence[Scene]
    size: int
    trials: list[Trial] = field(default_factory=list)

    def average(self, statistics: Sequence[Mapping[str, float]], scenes: Sequence[Scene]) -> float:
        """Average the statistic over scenes, as the protocol prescribes.

        Parameters
        ----------
        statistics : sequence of mapping of str to float
            All statistics of a setting on each of the scenes.
        scenes : sequence of Scene
            The scenes, in the same order.

        Returns
        -------
        float
            The average. It is NaN if a scene does not have the statistic.
        """
        weights = [scene.weight for scene in scenes]
        averages = average(statistics, self.protocol, weights)
        return averages.get(self.statistic, math.nan)

    @property
    def best(self) -> Trial | None:
        """The complete trial with the best value; None if no trial is complete.

        If several trials have the best value, the result is the first of them.
        """
        complete_trials = [trial for trial in self.trials if trial.value is not None]
        choose = min if self.better == "lower" else max
        return choose(complete_trials, key=attrgetter("value"), default=None)

    @property
    def best_script(self) -> dict[str, Any] | None:
        """The script of the best setting; None if no trial is complete.

        The script names the scenes of the search. It contains the values of all
        parameters, so it gives the same results as the trial.
        """
        best = self.best
        if best is None:
            return None
        return best.setting.mapping | {"scenes": [scene.name for scene in self.scenes]}


def evaluate_last_scene(trial: Trial, result: TuningResult) -> bool:
    """Record the value of a trial on its last scene, and return whether to continue.

    The last scene is the scene of the last entry in `trial.statistics`. The trial fails
    if its value on this scene is not finite. The trial is complete if this scene is the
    last scene of the search.

    Parameters
    ----------
    trial : Trial
        A trial that has run on at least one scene. Its scenes, its value and its error
        are updated.
    result : TuningResult
        The search that the trial belongs to.

    Returns
    -------
    bool
        False if the trial has failed, or if the pruner of the study stops the trial
        because its average over the scenes so far is too bad.
    """
    scenes = result.scenes[: len(trial.statistics)]
    last_scene = scenes[-1]
    value = result.average(trial.statistics[-1:], [last_scene])
    trial.scenes[last_scene.name] = value
    if not math.isfinite(value):
        trial.error = f"{result.statistic} is {value} on {last_scene.name}"
        return False

    average_so_far = result.average(trial.statistics, scenes)
    trial.proposal.report(average_so_far, step=len(scenes) - 1)
    if len(scenes) == len(result.scenes):
        trial.value = average_so_far
    return not trial.proposal.should_prune()
