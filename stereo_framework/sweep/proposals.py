"""Propose the settings that a search for the best values tries.

A tree-structured Parzen estimator of optuna proposes the settings. It learns from the
trials that were reported to it.
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

# Without this line, optuna prints a line for each trial.
optuna.logging.set_verbosity(optuna.logging.ERROR)

PRUNER = optuna.pruners.PercentilePruner(75.0, n_startup_trials=5)
"""The rule that stops a trial: its average is worse than those of 75 % of the trials.

The averages of complete trials over the same number of scenes are compared. No trial is
stopped before five trials are complete. A pruner that compares with the median stopped
the best setting of a grid of window sizes on two scenes in half of all searches.
"""

_MAX_MODEL_DRAWS = 10
"""Number of times that the model may propose a setting that was already tried.

After these draws, settings are drawn at random.
"""

_STATES = {
    "complete": optuna.trial.TrialState.COMPLETE,
    "pruned": optuna.trial.TrialState.PRUNED,
    "failed": optuna.trial.TrialState.FAIL,
}
"""The state in the study for each value of `Trial.state`."""


@dataclass(frozen=True)
class Choice:
    """A method of a script, and a choice of values for its axes.

    Parameters
    ----------
    method_index : int
        Index of the expansion of the method.
    value_indices : tuple of int
        Index of a value for each group of axes of the expansion.
    """

    method_index: int
    value_indices: tuple[int, ...]


class Proposer:
    """Proposes settings of a script. No setting is proposed twice.

    Parameters
    ----------
    expansions : sequence of Expansion
        The expansion of each method of the script.
    better : str
        "lower" or "higher", the direction in which the values of trials improve.
    seed : int
        Seed of the random numbers.
    proposes_batches : bool
        Whether several settings are proposed before the first of their values is
        reported. The model then assumes that a setting without a value is a bad one,
        so that the settings of a batch differ more.
    """

    def __init__(
        self, expansions: Sequence[Expansion], *, better: str, seed: int, proposes_batches: bool
    ):
        directions = optuna.study.StudyDirection
        direction = directions.MINIMIZE if better == "lower" else directions.MAXIMIZE
        self._expansions = expansions
        self._study = optuna.create_study(direction=direction, pruner=PRUNER)
        with warnings.catch_warnings():
            # Optuna warns that its multivariate model may change in later versions.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self._model = optuna.samplers.TPESampler(
                seed=seed, multivariate=True, group=True, constant_liar=proposes_batches
            )
        self._random_sampler = optuna.samplers.RandomSampler(seed=seed)
        self._tried_choices: set[Choice] = set()

    def propose(self) -> Trial:
        """Return a trial with a setting that was not proposed before.

        If all settings were proposed before, this method never returns.

        Raises
        ------
        ScriptError
            The setting has a fault.
        """
        proposal, choice = self._propose_choice()
        number = len(self._tried_choices)
        self._tried_choices.add(choice)
        expansion = self._expansions[choice.method_index]
        setting_on = functools.partial(expansion.setting_on, choice=choice.value_indices)
        setting = expansion.setting(choice.value_indices)
        return Trial(number, setting, proposal, setting_on_scene=setting_on)

    def _propose_choice(self) -> tuple[optuna.Trial, Choice]:
        """Return a trial of the study, and its choice, which was not tried before."""
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
        """Report the end of a trial to the model, which uses its value from then on."""
        self._study.tell(trial.proposal, trial.value, _STATES[trial.state])


def suggest_choice(expansions: Sequence[Expansion], proposal: optuna.Trial) -> Choice:
    """Return the choice of a method and of its values that a trial suggests.

    If there are several methods, the method is one parameter of the trial. Each group
    of axes is another parameter. A group whose values are sorted numbers is searched in
    their order. The values of other groups are searched as unrelated values.

    Parameters
    ----------
    expansions : sequence of Expansion
        The expansion of each method of the script.
    proposal : optuna.Trial
        A trial of the study, which gets a value for each parameter.
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

    A null is allowed at one end. For a truncation, for example, a null means that the
    costs are not truncated, so that it belongs beyond the largest number.
    """
    if split(axis.name).is_slot:
        return False
    values: list[Any] = [document.data for document in axis.values]
    if None in (values[0], values[-1]):
        values.remove(None)
    if len(values) < 2 or not all(map(is_number, values)):
        return False
    return values in (sorted(values), sorted(values, reverse=True))
