"""Proposals of settings: the searched parameters, and the order of their values."""

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, IntDistribution
from sweep_parts import WINDOW

from stereo_framework.io.document import Document
from stereo_framework.io.locations import Location
from stereo_framework.script import load
from stereo_framework.script.axes import Axis
from stereo_framework.sweep.proposals import Proposer, is_ordered, suggest_choice


def make_axis(name, values):
    """Return an axis with some values."""
    location = Location("a test")
    return Axis(name, location, tuple(Document(value, {(): location}) for value in values))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5, 10, 20], True),
        ([20, 10, 5], True),
        ([5, 20, 10], False),
        ([5, 5], True),
        ([5, 10.5], True),
        # A null at an end is beyond all numbers. Between numbers, a null has no order.
        ([5, 10, None], True),
        ([None, 5, 10], True),
        ([None, 10, 5], True),
        ([5, None, 10], False),
        ([None, 5, None], False),
        ([5, None], False),
        ([None, 5], False),
        ([5], False),
        ([True, False], False),
        (["a", "b"], False),
        ([1, "2"], False),
    ],
)
def test_an_axis_is_ordered_if_its_numbers_are_and_a_null_is_at_an_end(values, expected):
    axis = make_axis("matching_cost.truncation", values)
    assert is_ordered(axis) == expected


def test_whole_stages_have_no_order():
    assert not is_ordered(make_axis("matching_cost", [1, 2, 3]))


def searched_parameters(script):
    """Return the parameters of a study that proposes settings of a script."""
    trial = optuna.create_study().ask()
    suggest_choice(load(script).expansions, trial)
    return trial.distributions


def test_sorted_numbers_are_searched_in_their_order_and_other_values_as_categories():
    grid = {
        "aggregation.box.size": [9, 5, 3],
        "matching_cost.truncation": [5, 20, None],
        "matching_cost.birchfield_tomasi": [False, True],
        "aggregation.box.iterations": [1, 3, 2],
        # An axis with a single value is not searched.
        "search.step": [1],
    }
    assert searched_parameters(WINDOW | {"name": "small", "sweep": {"grid": grid}}) == {
        "aggregation.box.size": IntDistribution(0, 2),
        "matching_cost.truncation": IntDistribution(0, 2),
        "matching_cost.birchfield_tomasi": CategoricalDistribution(range(2)),
        "aggregation.box.iterations": CategoricalDistribution(range(3)),
    }


def test_axes_that_move_together_are_one_parameter():
    axes = {"aggregation.box.size": [3, 5, 7], "aggregation.box.iterations": [3, 2, 1]}
    assert searched_parameters(WINDOW | {"sweep": {"zip": axes}}) == {
        "aggregation.box.size + aggregation.box.iterations": IntDistribution(0, 2)
    }


def test_the_method_is_a_parameter_and_its_name_is_in_the_names_of_its_axes():
    grids = {"matching_cost.truncation": [5, 20, 80]}
    methods = {"plain": {"sweep": {"grid": grids}}}
    assert searched_parameters(WINDOW | {"methods": methods | {"other": methods["plain"]}}) in (
        {
            "method": CategoricalDistribution(range(2)),
            f"{name}: matching_cost.truncation": IntDistribution(0, 2),
        }
        for name in ("plain", "other")
    )


def test_a_proposer_proposes_each_setting_once_and_numbers_the_trials():
    grid = {"aggregation.box.size": [1, 3, 5], "matching_cost.truncation": [5, 20]}
    script = load(WINDOW | {"name": "small", "sweep": {"grid": grid}})
    proposer = Proposer(script.expansions, better="lower", seed=3, proposes_batches=False)
    trials = []
    for number in range(6):
        trial = proposer.propose()
        trial.value = float(number)
        proposer.report(trial)
        trials.append(trial)
    assert [trial.number for trial in trials] == list(range(6))
    settings = {tuple(trial.setting.axes.values()) for trial in trials}
    assert len(settings) == 6


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"value": 2.0}, optuna.trial.TrialState.COMPLETE),
        ({}, optuna.trial.TrialState.PRUNED),
        ({"error": "it failed"}, optuna.trial.TrialState.FAIL),
    ],
)
def test_the_study_knows_how_a_reported_trial_ended(fields, state):
    grid = {"aggregation.box.size": [1, 3, 5]}
    script = load(WINDOW | {"name": "small", "sweep": {"grid": grid}})
    proposer = Proposer(script.expansions, better="higher", seed=0, proposes_batches=False)
    trial = proposer.propose()
    for name, value in fields.items():
        setattr(trial, name, value)
    proposer.report(trial)
    [study_trial] = proposer._study.trials
    assert study_trial.state == state
    assert study_trial.value == fields.get("value")
