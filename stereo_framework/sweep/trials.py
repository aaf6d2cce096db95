"""Record the trials of a search for the best parameter values, and find the best trial.

A trial runs a setting on one scene after another. After each scene, the average over
the finished scenes decides whether the trial continues.
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
"""Attributes of a trial that `Trial.record` returns under the same names."""


@dataclass(eq=False)
class Trial:
    """A setting that the search tries, and the results of this setting.

    Parameters
    ----------
    number : int
        Index of the trial in the order of the proposals, which begins with 0.
    setting : Setting
        Setting that the trial runs.
    proposal : optuna.Trial
        Trial of the optuna study that has proposed the setting.
    scenes : dict of str to float
        Value of the optimized statistic on each finished scene, by the name of the
        scene.
    statistics : list of mapping of str to float
        All statistics on each finished scene, in the order of the scenes.
    value : float or None
        Average of the optimized statistic over all scenes of the search. The value is
        None until the trial is complete.
    error : str or None
        Reason why the trial failed, or None if the trial did not fail.
    traceback : str
        Traceback of the exception, or an empty text if no exception was raised.
    setting_on_scene : callable, optional
        Function that takes the name of a scene, and returns the setting with the values
        that the script defines for this scene. Pass None if the script defines no
        values for single scenes.
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
        """Return the setting with the values that the script defines for a scene."""
        if self.setting_on_scene is None:
            return self.setting
        return self.setting_on_scene(scene_name)

    @property
    def state(self) -> str:
        """State of the finished trial: ``complete``, ``pruned`` or ``failed``."""
        if self.error:
            return "failed"
        return "pruned" if self.value is None else "complete"

    def record(self) -> dict[str, Any]:
        """Return the trial as a dictionary, which the option ``--json`` prints."""
        fields = {name: getattr(self, name) for name in _RECORDED_FIELDS}
        return fields | {"method": self.setting.method, "axes": self.setting.axes}


@dataclass(eq=False)
class TuningResult:
    """Goal and trials of a search for the best parameter values.

    Parameters
    ----------
    statistic : str
        Name of the statistic that the search optimizes.
    better : str
        The text "lower" if low values of the statistic are better, or "higher" if high
        values are better.
    protocol : Protocol
        Protocol that evaluates the disparity maps on all scenes.
    scenes : sequence of Scene
        Scenes on which each setting runs, in the order of the runs.
    size : int
        Number of all settings in the script.
    trials : list of Trial
        Finished trials, in the order of their proposals.
    """

    statistic: str
    better: str
    protocol: Protocol
    scenes: Sequence[Scene]
    size: int
    trials: list[Trial] = field(default_factory=list)

    def average(self, statistics: Sequence[Mapping[str, float]], scenes: Sequence[Scene]) -> float:
        """Return the average of the optimized statistic over some scenes.

        The protocol defines the weights of the scenes in the average.

        Parameters
        ----------
        statistics : sequence of mapping of str to float
            All statistics of a setting on each of the scenes.
        scenes : sequence of Scene
            Scenes, in the order of the statistics.

        Returns
        -------
        float
            Average of the statistic, or NaN if a scene does not have the statistic.
        """
        weights = [scene.weight for scene in scenes]
        averages = average(statistics, self.protocol, weights)
        return averages.get(self.statistic, math.nan)

    @property
    def best(self) -> Trial | None:
        """The complete trial with the best value, or None if no trial is complete.

        If several trials have the same best value, the property returns the first trial
        with this value.
        """
        complete_trials = [trial for trial in self.trials if trial.value is not None]
        choose = min if self.better == "lower" else max
        return choose(complete_trials, key=attrgetter("value"), default=None)

    @property
    def best_script(self) -> dict[str, Any] | None:
        """The script of the best setting, or None if no trial is complete.

        The script contains the scenes of the search and the values of all parameters,
        so that a run of the script has the same results as the trial.
        """
        best = self.best
        if best is None:
            return None
        return best.setting.mapping | {"scenes": [scene.name for scene in self.scenes]}


def evaluate_last_scene(trial: Trial, result: TuningResult) -> bool:
    """Record the value of a trial on its latest scene, and return whether to continue.

    The latest scene belongs to the last entry of `trial.statistics`. If the value of
    the optimized statistic on the latest scene is not finite, the trial fails. If the
    latest scene is the last scene of the search, the trial is complete.

    Parameters
    ----------
    trial : Trial
        Trial that has run on at least one scene. The function changes the scenes, the
        value and the error of the trial.
    result : TuningResult
        Search that the trial belongs to.

    Returns
    -------
    bool
        False if the trial has failed, or if the average over the finished scenes is so
        bad that the pruner of the study stops the trial. Otherwise True.
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
