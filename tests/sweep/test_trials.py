"""Single trials of a search: the order of axes, averages, and records."""

import numpy as np
import optuna
import pytest
from sweep_parts import WINDOW, dots

from stereo_framework.evaluation.protocols import resolve
from stereo_framework.io.document import Document
from stereo_framework.io.locations import Location
from stereo_framework.script import load
from stereo_framework.script.axes import Axis
from stereo_framework.sweep import tune as tuning
from stereo_framework.sweep.tune import Trial, Tuned, tune

BAD = "bad_pixels_all"


def axis(name, values):
    """Return an axis with some values."""
    location = Location("a test")
    return Axis(name, location, tuple(Document(value, {(): location}) for value in values))


@pytest.mark.parametrize(
    ("values", "is_ordered"),
    [
        ([5, 10, 20], True),
        ([20, 10, 5], True),
        ([5, 20, 10], False),
        ([5, 5], True),
        ([5, 10.5], True),
        # A null at an end is beyond all numbers; between them it has no order.
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
def test_an_axis_is_ordered_if_its_numbers_are_and_a_null_stands_at_an_end(values, is_ordered):
    assert tuning._ordered(axis("matching_cost.truncation", values)) == is_ordered


def test_whole_stages_have_no_order():
    assert not tuning._ordered(axis("matching_cost", [1, 2, 3]))


@pytest.fixture
def setting():
    """Return a setting of a sweep over windows."""
    sweep = {"grid": {"aggregation.box.size": [3, 5]}}
    return load(WINDOW | {"name": "window", "sweep": sweep}).settings[1]


def searched(scenes, protocol="taxonomy2002", better="lower"):
    """Return a search without trials."""
    return Tuned(BAD, better, resolve(protocol), scenes, 2)


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
def test_a_record_of_a_trial_has_all_that_is_known_of_it(setting, fields, state):
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
    tuned = searched([dots()], better=better)
    tuned.trials += [Trial(i, setting, None, value=value) for i, value in enumerate(values)]
    assert tuned.best == (None if best is None else tuned.trials[best])
    expected = None if best is None else setting.mapping | {"scenes": ["tiny"]}
    assert tuned.best_script == expected


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [("taxonomy2002", (10 + 40) / 2), ("middlebury-v3", (10 * 1 + 40 * 0.5) / 1.5)],
)
def test_an_average_has_the_weights_of_the_protocol(protocol, expected):
    scenes = [dots("a"), dots("b", weight=0.5)]
    measured = [{BAD: 10.0}, {BAD: 40.0}]
    assert searched(scenes, protocol).average(measured, scenes) == pytest.approx(expected)
    assert searched(scenes, protocol).average(measured[:1], scenes[:1]) == 10.0


def study_with(values, direction="minimize"):
    """Return a study whose complete trials had these values on the first scene."""
    study = optuna.create_study(direction=direction, pruner=tuning._PRUNER)
    for value in values:
        study.add_trial(
            optuna.trial.create_trial(value=value, intermediate_values={0: float(value)})
        )
    return study


@pytest.mark.parametrize(
    ("values", "value", "is_hopeful"),
    [
        # Of 1 to 5 three quarters are at most 4.
        ([1, 2, 3, 4, 5], 4.0, True),
        ([1, 2, 3, 4, 5], 4.1, False),
        ([1, 2, 3, 4, 5], 3.5, True),
        # Five trials are complete before the first one is given up.
        ([1, 2, 3, 4], 100.0, True),
        ([], 100.0, True),
        ([1, 1, 1, 1, 1], 1.0, True),
    ],
)
def test_a_trial_that_is_worse_than_three_quarters_of_the_complete_ones_is_given_up(
    setting, values, value, is_hopeful
):
    tuned = searched([dots("a"), dots("b")])
    trial = Trial(9, setting, study_with(values).ask(), measured=[{BAD: value}])
    assert tuning._hopeful(trial, tuned) == is_hopeful
    assert (trial.scenes, trial.value, trial.error) == ({"a": value}, None, None)


def test_high_values_are_worse_if_low_ones_are_not_better(setting):
    tuned = searched([dots("a"), dots("b")], better="higher")
    for value, is_hopeful in ((2.0, True), (1.9, False)):
        study = study_with([1, 2, 3, 4, 5], "maximize")
        trial = Trial(9, setting, study.ask(), measured=[{BAD: value}])
        assert tuning._hopeful(trial, tuned) == is_hopeful


def test_what_counts_is_the_average_over_the_scenes_so_far(setting):
    scenes = [dots("a"), dots("b"), dots("c")]
    tuned = searched(scenes)
    study = study_with([])
    trial = Trial(0, setting, study.ask())
    values = (10.0, 40.0, 100.0)
    for value, expected in zip(values, (None, None, 50.0), strict=True):
        trial.measured.append({BAD: value})
        assert tuning._hopeful(trial, tuned)
        assert trial.value == expected
    assert trial.scenes == {"a": 10.0, "b": 40.0, "c": 100.0}
    assert study.trials[0].intermediate_values == {0: 10.0, 1: 25.0, 2: 50.0}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_trial_without_a_finite_value_has_failed(setting, value):
    tuned = searched([dots("a")])
    trial = Trial(0, setting, study_with([]).ask(), measured=[{BAD: value}])
    assert not tuning._hopeful(trial, tuned)
    assert trial.error == f"{BAD} is {value} on a"
    assert trial.state == "failed"


SCRIPT = WINDOW | {"name": "window", "sweep": {"grid": {"aggregation.box.size": [1, 3, 5]}}}


@pytest.mark.parametrize(("trials", "count"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_as_many_trials_are_made_as_are_asked_for_and_there_are(tmp_path, trials, count):
    seen = []
    tuned = tune(SCRIPT, BAD, dots(), trials=trials, out=tmp_path, each=seen.append)
    assert [trial.number for trial in tuned.trials] == list(range(count))
    assert seen == tuned.trials
    first, *_ = (tmp_path / "best.yaml").read_text().splitlines()
    best = f"# {BAD} {tuned.best.value:.6g} on average over the scenes"
    assert first == f"{best}: the best of {count} trials."


def test_a_seed_of_0_is_a_seed_and_decides_with_the_number_of_workers():
    grid = {"aggregation.box.size": [1, 3, 5, 7, 9], "matching_cost.truncation": [5, 20, None]}
    script = SCRIPT | {"sweep": {"grid": grid}}

    def proposed(**options):
        return [
            trial.setting.axes for trial in tune(script, BAD, dots(), trials=4, **options).trials
        ]

    assert proposed(seed=0) == proposed()
    assert proposed(seed=1) != proposed(seed=0)
