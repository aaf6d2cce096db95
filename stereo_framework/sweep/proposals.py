"""Propose the settings that a search for the best parameter values tries.

The package optuna proposes the settings, by a tree-structured Parzen estimator. The
estimator learns from the values of the trials that have finished.
"""

import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stereo_framework.core.errors import MissingExtraError, install_command
from stereo_framework.script.addresses import split
from stereo_framework.script.axes import Axis
from stereo_framework.script.expansion import Expansion
from stereo_framework.script.keys import is_number
from stereo_framework.sweep.trials import Trial

try:
    import optuna
except ImportError:
    raise MissingExtraError(f"tune needs optuna: {install_command('tune')}") from None

# Without this call, optuna prints a line of text for each trial.
optuna.logging.set_verbosity(optuna.logging.ERROR)

PRUNER = optuna.pruners.PercentilePruner(75.0, n_startup_trials=5)
"""Rule that stops a trial whose average is worse than the averages of 75 % of trials.

The rule compares the average of a trial with the averages of all complete trials over
the same number of scenes. Until five trials are complete, the rule stops no trial. The
more common rule, which compares with the median, is too strict. For a grid of window
sizes on two scenes, this rule stopped the best setting in half of all searches.
"""

_MAX_MODEL_DRAWS = 10
"""Maximum number of consecutive proposals of the model that were already tried.

After this number of proposals, the search draws settings at random.
"""

_STATES = {
    "complete": optuna.trial.TrialState.COMPLETE,
    "pruned": optuna.trial.TrialState.PRUNED,
    "failed": optuna.trial.TrialState.FAIL,
}
"""State of a trial in the study of optuna, for each value of `Trial.state`."""


@dataclass(frozen=True)
class Choice:
    """A method of a script, and a choice of values for its axes.

    Parameters
    ----------
    method_index : int
        Index of the method among the methods of the script.
    value_indices : tuple of int
        Index of the chosen value for each group of axes of the method.
    """

    method_index: int
    value_indices: tuple[int, ...]


class Proposer:
    """Source of proposals, which returns each setting of a script at most once.

    Parameters
    ----------
    expansions : sequence of Expansion
        For each method of the script, the object that expands its axes into settings.
    better : str
        The text "lower" if low values of trials are better, or "higher" if high values
        are better.
    seed : int
        Seed of the random numbers.
    proposes_batches : bool
        Whether the search proposes several settings before it reports the value of the
        first of these settings. The model then assumes that settings without a value
        are bad, so that the settings of a batch differ more.
    """

    def __init__(
        self, expansions: Sequence[Expansion], *, better: str, seed: int, proposes_batches: bool
    ):
        directions = optuna.study.StudyDirection
        direction = directions.MINIMIZE if better == "lower" else directions.MAXIMIZE
        self._expansions = expansions
        self._study = optuna.create_study(direction=direction, pruner=PRUNER)
        with warnings.catch_warnings():
            # Optuna warns that the multivariate model may change in later versions of
            # optuna. This warning would not help the user.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self._model = optuna.samplers.TPESampler(
                seed=seed, multivariate=True, group=True, constant_liar=proposes_batches
            )
        self._random_sampler = optuna.samplers.RandomSampler(seed=seed)
        self._tried_choices: set[Choice] = set()

    def propose(self) -> Trial:
        """Return a trial with a setting that was not proposed before.

        Do not call this method if all settings were proposed before, because the method
        would never return.

        Raises
        ------
        ScriptError
            The values of the setting are not valid together.
        """
        proposal, choice = self._propose_choice()
        number = len(self._tried_choices)
        self._tried_choices.add(choice)
        expansion = self._expansions[choice.method_index]
        setting_on = functools.partial(expansion.setting_on, choice=choice.value_indices)
        setting = expansion.setting(choice.value_indices)
        return Trial(number, setting, proposal, setting_on_scene=setting_on)

    def _propose_choice(self) -> tuple[optuna.Trial, Choice]:
        """Return a trial of the study, and a choice that was not tried before."""
        number_of_draws = 0
        while True:
            is_model_draw = number_of_draws < _MAX_MODEL_DRAWS
            self._study.sampler = self._model if is_model_draw else self._random_sampler
            proposal = self._study.ask()
            choice = suggest_choice(self._expansions, proposal)
            if choice not in self._tried_choices:
                return proposal, choice
            self._study.tell(proposal, state=optuna.trial.TrialState.FAIL)
            number_of_draws += 1

    def report(self, trial: Trial) -> None:
        """Report the result of a finished trial to the model."""
        self._study.tell(trial.proposal, trial.value, _STATES[trial.state])


def suggest_choice(expansions: Sequence[Expansion], proposal: optuna.Trial) -> Choice:
    """Return the method and the values of axes that a trial of optuna suggests.

    If the script has several methods, the choice of the method is a parameter of the
    trial. Each group of axes is another parameter of the trial. If the values of a
    group are sorted numbers, optuna assumes that neighbouring values have similar
    results. Otherwise, optuna treats the values of the group as unrelated.

    Parameters
    ----------
    expansions : sequence of Expansion
        For each method of the script, the object that expands its axes into settings.
    proposal : optuna.Trial
        Trial of the study. This function adds a value for each parameter to the trial.
    """
    has_several_methods = len(expansions) > 1
    method_index = 0
    if has_several_methods:
        method_index = proposal.suggest_categorical("method", range(len(expansions)))
    expansion = expansions[method_index]

    value_indices: list[int] = []
    for group in expansion.groups:
        name = " + ".join(axis.name for axis in group)
        if has_several_methods:
            name = f"{expansion.method.name}: {name}"
        count = len(group[0].values)
        if count == 1:
            value_indices.append(0)
        elif all(map(is_ordered, group)):
            value_indices.append(proposal.suggest_int(name, 0, count - 1))
        else:
            value_indices.append(proposal.suggest_categorical(name, range(count)))
    return Choice(method_index, tuple(value_indices))


def is_ordered(axis: Axis) -> bool:
    """Return whether the values of an axis are numbers that ascend or descend.

    The first or the last value may also be null. For example, a truncation of null
    means that the costs are not truncated, so null follows the largest truncation.
    """
    if split(axis.name).is_slot:
        return False
    values: list[Any] = [document.data for document in axis.values]
    if None in (values[0], values[-1]):
        values.remove(None)
    if len(values) < 2 or not all(map(is_number, values)):
        return False
    return values in (sorted(values), sorted(values, reverse=True))
