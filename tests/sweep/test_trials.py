"""Single trials of a search: averages, the rule that stops trials, and records."""

import numpy as np
import optuna
import pytest
from sweep_parts import WINDOW, dots

from stereo_framework.evaluation.protocols import resolve
from stereo_framework.script import load
from stereo_framework.sweep.proposals import PRUNER
from stereo_framework.sweep.trials import Trial, TuningResult, evaluate_last_scene
from stereo_framework.sweep.tune import tune

BAD = "bad_pixels_all"


@pytest.fixture
def setting():
    """Return a setting of a sweep over windows."""
    sweep = {"grid": {"aggregation.box.size": [3, 5]}}
    return load(WINDOW | {"name": "window", "sweep": sweep}).settings[1]


def make_result(scenes, protocol="taxonomy2002", better="lower"):
    """Return a search without trials."""
    return TuningResult(BAD, better, resolve(protocol), scenes, size=2)


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"value": 1.5}, "complete"),
        ({"value": 0.0}, "complete"),
        ({}, "pruned"),
        ({"error": "no luck"}, "failed"),
        ({"value": 1.5, "error": "no luck"}, "failed"),
    ],
)
def test_the_record_of_a_trial_contains_its_setting_and_its_results(setting, fields, state):
    trial = Trial(3, setting, None, {"tiny": 1.5}, [{BAD: 1.5}], **fields)
    assert trial.state == state
    assert trial.record() == {
        "number": 3,
        "scenes": {"tiny": 1.5},
        "value": fields.get("value"),
        "state": state,
        "error": fields.get("error"),
        "method": "window",
        "axes": {"aggregation.box.size": 5},
    }


def test_a_trial_has_another_setting_on_a_scene_if_a_function_returns_it(setting):
    assert Trial(0, setting, None).setting_on("tiny") is setting
    trial = Trial(0, setting, None, setting_on_scene=lambda scene_name: f"setting on {scene_name}")
    assert trial.setting_on("tiny") == "setting on tiny"


def test_trials_and_searches_with_equal_fields_are_different_objects(setting):
    assert Trial(0, setting, None) != Trial(0, setting, None)
    scenes = [dots()]
    assert make_result(scenes) != make_result(scenes)


@pytest.mark.parametrize(
    ("better", "values", "best"),
    [
        ("lower", [3.0, 1.0, None, 1.0, 2.0], 1),
        ("higher", [3.0, 1.0, None, 3.0, 2.0], 0),
        ("lower", [None, 0.0], 1),
        ("lower", [None, None], None),
        ("higher", [], None),
    ],
)
def test_the_best_trial_is_the_first_of_equal_complete_ones(setting, better, values, best):
    result = make_result([dots()], better=better)
    for number, value in enumerate(values):
        result.trials.append(Trial(number, setting, None, value=value))
    if best is None:
        assert result.best is None
        assert result.best_script is None
    else:
        assert result.best is result.trials[best]
        assert result.best_script == setting.mapping | {"scenes": ["tiny"]}


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [("taxonomy2002", (10 + 40) / 2), ("middlebury-v3", (10 * 1 + 40 * 0.5) / 1.5)],
)
def test_an_average_has_the_weights_of_the_protocol(protocol, expected):
    scenes = [dots("a"), dots("b", weight=0.5)]
    statistics = [{BAD: 10.0}, {BAD: 40.0}]
    result = make_result(scenes, protocol)
    assert result.average(statistics, scenes) == pytest.approx(expected)
    assert result.average(statistics[:1], scenes[:1]) == 10.0


def test_the_average_of_a_missing_statistic_is_not_a_number():
    scenes = [dots("a"), dots("b")]
    assert np.isnan(make_result(scenes).average([{BAD: 1.0}, {}], scenes))


# --- trials that are stopped ----------------------------------------------------------


def make_study(values, direction="minimize"):
    """Return a study whose complete trials had these values on the first scene."""
    study = optuna.create_study(direction=direction, pruner=PRUNER)
    for value in values:
        trial = optuna.trial.create_trial(value=value, intermediate_values={0: float(value)})
        study.add_trial(trial)
    return study


@pytest.mark.parametrize(
    ("values", "value", "continues"),
    [
        # Three quarters of the numbers from 1 to 5 are at most 4.
        ([1, 2, 3, 4, 5], 4.0, True),
        ([1, 2, 3, 4, 5], 4.1, False),
        ([1, 2, 3, 4, 5], 3.5, True),
        # No trial is stopped before five trials are complete.
        ([1, 2, 3, 4], 100.0, True),
        ([], 100.0, True),
        ([1, 1, 1, 1, 1], 1.0, True),
    ],
)
def test_a_trial_stops_if_it_is_worse_than_three_quarters_of_the_complete_ones(
    setting, values, value, continues
):
    result = make_result([dots("a"), dots("b")])
    trial = Trial(9, setting, make_study(values).ask(), statistics=[{BAD: value}])
    assert evaluate_last_scene(trial, result) == continues
    assert (trial.scenes, trial.value, trial.error) == ({"a": value}, None, None)


@pytest.mark.parametrize(("value", "continues"), [(2.0, True), (1.9, False)])
def test_a_trial_with_a_low_value_stops_if_high_values_are_better(setting, value, continues):
    result = make_result([dots("a"), dots("b")], better="higher")
    study = make_study([1, 2, 3, 4, 5], "maximize")
    trial = Trial(9, setting, study.ask(), statistics=[{BAD: value}])
    assert evaluate_last_scene(trial, result) == continues


def test_the_pruner_receives_the_average_over_the_scenes_so_far(setting):
    scenes = [dots("a"), dots("b"), dots("c")]
    result = make_result(scenes)
    study = make_study([])
    trial = Trial(0, setting, study.ask())
    for value, expected in ((10.0, None), (40.0, None), (100.0, 50.0)):
        trial.statistics.append({BAD: value})
        assert evaluate_last_scene(trial, result)
        assert trial.value == expected
    assert trial.scenes == {"a": 10.0, "b": 40.0, "c": 100.0}
    assert study.trials[0].intermediate_values == {0: 10.0, 1: 25.0, 2: 50.0}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_trial_fails_if_its_value_is_not_finite(setting, value):
    result = make_result([dots("a")])
    trial = Trial(0, setting, make_study([]).ask(), statistics=[{BAD: value}])
    assert not evaluate_last_scene(trial, result)
    assert trial.error == f"{BAD} is {value} on a"
    assert trial.state == "failed"
    assert trial.value is None


# --- the trials of a search -----------------------------------------------------------


SCRIPT = WINDOW | {"name": "window", "sweep": {"grid": {"aggregation.box.size": [1, 3, 5]}}}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("trials", "count"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_the_number_of_trials_is_limited_by_the_argument_and_by_the_settings(
    tmp_path, workers, trials, count
):
    finished_trials = []
    options = {"out": tmp_path, "workers": workers, "each": finished_trials.append}
    result = tune(SCRIPT, BAD, dots(), trials=trials, **options)
    assert [trial.number for trial in result.trials] == list(range(count))
    assert finished_trials == result.trials
    first_line = (tmp_path / "best.yaml").read_text().splitlines()[0]
    assert first_line == (
        f"# The average of {BAD} over the scenes is {result.best.value:.6g}, "
        f"the best value of {count} trials."
    )


@pytest.mark.parametrize(("trials", "workers"), [(3, 2), (5, 3), (4, 9)])
def test_the_last_batch_has_only_the_remaining_trials(trials, workers):
    grid = {"aggregation.box.size": [1, 3, 5, 7, 9], "matching_cost.truncation": [5, 20, None]}
    script = SCRIPT | {"sweep": {"grid": grid}}
    result = tune(script, BAD, dots(), trials=trials, workers=workers)
    assert [trial.number for trial in result.trials] == list(range(trials))


def test_the_seed_chooses_the_settings_and_its_default_is_0():
    grid = {"aggregation.box.size": [1, 3, 5, 7, 9], "matching_cost.truncation": [5, 20, None]}
    script = SCRIPT | {"sweep": {"grid": grid}}

    def tried_settings(**options):
        result = tune(script, BAD, dots(), trials=4, **options)
        return [trial.setting.axes for trial in result.trials]

    assert tried_settings(seed=0) == tried_settings()
    assert tried_settings(seed=1) != tried_settings(seed=0)
