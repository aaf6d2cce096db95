"""Searches for the best values: their settings, failures, and continued searches."""

import importlib
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import yaml
from sweep_parts import WINDOW, lacking, stored

import stereo_framework
from stereo_framework.core.errors import DataError, MissingExtraError, ParameterError
from stereo_framework.core.registration import stage
from stereo_framework.core.scene import Frame, Scene, SearchRange
from stereo_framework.kernels.progress import reporting_steps_to
from stereo_framework.script import load
from stereo_framework.sweep import computation
from stereo_framework.sweep import tune as tune_module
from stereo_framework.sweep.processes import Processes
from stereo_framework.sweep.tune import _better_direction, tune

BAD = "bad_pixels_all"


def sweep_over(**grid):
    """Return a script that sweeps the parameters of a window method."""
    return WINDOW | {"name": "small", "sweep": {"grid": grid}}


SCRIPT = sweep_over(
    **{
        "aggregation.box.size": {"range": [1, 13, 2]},
        "matching_cost.truncation": [5, 20, 80, 300, None],
    }
)

SMALL_SCRIPT = sweep_over(
    **{"aggregation.box.size": [1, 3, 7, 11], "matching_cost.truncation": [5, 20, 80, None]}
)
"""A script with 16 settings. The first ten trials are drawn at random."""

SYNTHETIC = ["synthetic/planes", "synthetic/slanted"]


def noisy_scene(name="noisy", seed=0, noise=60.0):
    """Return a scene of random dots with a disparity step and a noisy second image.

    Small windows suffer from the noise, and large windows cover both sides of the step.
    """
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 256, (32, 48)).astype(np.float32)
    truth = np.full((32, 48), 3, np.float32)
    truth[:, 24:] = 6
    right = rng.integers(0, 256, (32, 48)).astype(np.float32)
    rows, columns = np.indices(truth.shape)
    target_columns = columns - truth.astype(int)
    is_inside = target_columns >= 0
    right[rows[is_inside], target_columns[is_inside]] = left[is_inside]
    right = np.clip(right + rng.normal(0, noise, right.shape), 0, 255).astype(np.float32)
    frames = (Frame("left", lambda: left, 0), Frame("right", lambda: right, 1))
    return Scene(name, frames, search=SearchRange(0, 9), truths={(0, 1): lambda: truth})


def swept_values(result_or_setting):
    """Return the swept values with their addresses, as a key of dictionaries."""
    return tuple(result_or_setting.axes.items())


def averages_of_all_settings(script, scenes):
    """Run the whole sweep, and return the average of bad pixels for each setting."""
    values_of_setting = {}
    for result in stereo_framework.run(script, scenes):
        values = values_of_setting.setdefault(swept_values(result), [])
        values.append(result.statistics[BAD])
    return {setting: float(np.mean(values)) for setting, values in values_of_setting.items()}


def rows_of_trials(result):
    """Return the settings and values of all trials, for comparisons."""
    return [
        (trial.number, trial.setting.axes, trial.scenes, trial.value, trial.state, trial.error)
        for trial in result.trials
    ]


def assert_stored(out, result):
    """Check that the store contains each scene of each trial exactly once."""
    keys = [(row.scene, swept_values(row)) for row in stored(out, every=True)]
    assert len(set(keys)) == len(keys), "a setting was computed twice"
    expected = set()
    for trial in result.trials:
        expected |= {(scene, swept_values(trial.setting)) for scene in trial.scenes}
    assert set(keys) == expected


@pytest.fixture
def forbid_computing(monkeypatch):
    """Return a function after whose call every computation fails the test."""

    def fail(*_, **__):
        pytest.fail("a task was computed")

    return lambda: monkeypatch.setattr(computation, "run_tasks", fail)


# --- the search -----------------------------------------------------------------------


COST = {"matching_cost": "absolute_difference"}
ZIPPED = {"aggregation.box.size": [3, 5, 7], "aggregation.box.iterations": [3, 2, 1]}
COSTS = ["absolute_difference", {"use": "squared_difference", "truncation": 50}]
SCRIPT_WITH_TWO_METHODS = {
    "optimization": "winner_take_all",
    "methods": {
        "plain": {**COST, "sweep": {"grid": {"matching_cost.truncation": [20, None]}}},
        "window": {
            **COST,
            "aggregation": ["box"],
            "sweep": {"grid": {"matching_cost": COSTS}, "zip": ZIPPED},
        },
    },
}


@pytest.mark.parametrize(
    ("script", "size", "workers"),
    [(SMALL_SCRIPT, 16, 1), (SMALL_SCRIPT, 16, 2), (SCRIPT_WITH_TWO_METHODS, 2 + 2 * 3, 1)],
)
def test_with_enough_trials_each_setting_is_tried_once(script, size, workers, capfd):
    result = tune(script, BAD, noisy_scene(), trials=1000, workers=workers)
    # Optuna prints nothing.
    assert capfd.readouterr() == ("", "")
    expected = [
        (row.method, row.axes, row.statistics[BAD])
        for row in stereo_framework.run(script, noisy_scene())
    ]
    tried = [(trial.setting.method, trial.setting.axes, trial.value) for trial in result.trials]
    assert sorted(map(repr, tried)) == sorted(map(repr, expected))
    assert result.size == len(tried) == size
    assert result.best.value == min(value for *_, value in expected)
    assert result.better == "lower"


def test_a_third_of_the_settings_leads_to_one_of_the_best():
    scenes = [noisy_scene("a", 1), noisy_scene("b", 2)]
    script = sweep_over(
        **{
            "aggregation.box.size": {"range": [1, 23, 2]},
            "matching_cost.truncation": [5, 20, 40, 80, 300, None],
        }
    )
    expected = averages_of_all_settings(script, scenes)
    for seed in range(3):
        result = tune(script, BAD, scenes, trials=24, seed=seed)
        best_setting = swept_values(result.best.setting)
        assert result.best.value == pytest.approx(expected[best_setting], rel=1e-12)
        # The best setting is one of the best 4 of 72. If 24 settings were random, one
        # search of four would miss these 4 settings: (1 - 4 / 72) ** 24 = 0.25.
        assert result.best.value <= sorted(expected.values())[3], seed


def test_settings_with_bad_averages_are_not_tried_on_further_scenes(tmp_path):
    scenes = [noisy_scene(str(i), i) for i in range(3)]
    result = tune(SCRIPT, BAD, scenes, trials=30, out=tmp_path)
    pruned = [trial for trial in result.trials if trial.state == "pruned"]
    complete = [trial for trial in result.trials if trial.state == "complete"]
    assert len(pruned) > 3
    assert all(len(trial.scenes) == 3 for trial in complete)
    for trial in pruned:
        assert 1 <= len(trial.scenes) < 3
        assert trial.value is None
        assert trial.number >= 5
        # A stopped trial is worse than three quarters of the complete trials before it,
        # after the same number of scenes.
        earlier_averages = [
            np.mean([earlier.scenes[scene] for scene in trial.scenes])
            for earlier in complete
            if earlier.number < trial.number
        ]
        assert np.mean(list(trial.scenes.values())) > np.percentile(earlier_averages, 75)
    assert_stored(tmp_path, result)


@pytest.mark.slow
def test_a_search_is_the_same_with_each_executor():
    expected = rows_of_trials(tune(SCRIPT, BAD, SYNTHETIC, trials=4, workers=2))
    assert [state for *_, state, _ in expected] == ["complete"] * 4
    for executor in (Processes(2), ThreadPoolExecutor(2)):
        with executor as pool:
            result = tune(SCRIPT, BAD, SYNTHETIC, trials=4, workers=2, executor=pool)
        assert rows_of_trials(result) == expected


# --- failures -------------------------------------------------------------------------


def test_settings_that_fail_do_not_stop_other_settings(registry):
    @stage("refinement", source="a test")
    def refuses_five(disparity, *, size: int = 0):
        """Raise an exception if the size is 5."""
        if size == 5:
            raise ValueError("five is too many")
        return disparity

    grid = {"refinement.refuses_five.size": [4, 5], "search.maximum": [-5, 8]}
    script = sweep_over(**grid) | {"refinement": ["refuses_five"]}
    result = tune(script, BAD, [noisy_scene("a"), noisy_scene("b", 1)], trials=5)
    errors = {tuple(trial.setting.axes.values()): trial.error for trial in result.trials}
    search_error = "scene a: search.maximum: -5 is not above search.minimum, 0"
    assert errors[4, -5] == search_error
    assert errors[5, -5] == search_error
    assert errors[4, 8] is None
    assert errors[5, 8].endswith("refinement stage refuses_five: ValueError: five is too many")


def test_a_setting_without_a_task_is_an_internal_error(monkeypatch):
    monkeypatch.setattr(tune_module, "tasks_of", lambda scene, script, settings: iter(()))
    with pytest.raises(ValueError, match="shorter than argument 1"):
        tune(SCRIPT, BAD, noisy_scene(), trials=1)


def test_a_trial_has_the_traceback_of_its_error(registry):
    @stage("refinement", source="a test")
    def fails_with_traceback(disparity, *, size: int = 0):
        """Raise an exception."""
        raise ValueError("no luck")

    grid = {"refinement.fails_with_traceback.size": [4, 5]}
    script = sweep_over(**grid) | {"refinement": ["fails_with_traceback"]}
    result = tune(script, BAD, noisy_scene(), trials=1)
    assert "in fails_with_traceback" in result.trials[0].traceback


@pytest.mark.parametrize(
    ("statistic", "options", "message"),
    [
        (BAD, {"memory": 1000}, r"box needs about .* are allowed \(--memory\)"),
        # The scene has no textureless pixel.
        ("bad_pixels_textureless", {}, "^bad_pixels_textureless is nan on noisy$"),
    ],
)
def test_a_search_may_have_no_complete_trial(tmp_path, statistic, options, message):
    result = tune(SCRIPT, statistic, noisy_scene(), trials=3, out=tmp_path, **options)
    assert all(re.search(message, trial.error) for trial in result.trials)
    assert [trial.state for trial in result.trials] == ["failed"] * 3
    assert result.best is None
    assert result.best_script is None
    assert not (tmp_path / "best.yaml").exists()


TWO_PROTOCOLS = {"protocol": ["taxonomy2002", "kitti2012"]}
PIXEL_COUNTS = {"protocol": {"base": "taxonomy2002", "name": "p", "metrics": ["pixels"]}}


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            {},
            {"statistic": "bad_pixel_al"},
            "statistic: the protocol taxonomy2002 does not compute 'bad_pixel_al' on noisy; "
            "allowed: .*; did you mean 'bad_pixels_all'",
        ),
        ({}, {"statistic": "fraction_matchd"}, "did you mean 'fraction_matched'"),
        (
            {"sweep": {}},
            {},
            "small: there is nothing to tune, because no axis of the script has two values; "
            "add an axis, such as sweep: {grid: {matching_cost",
        ),
        ({}, {"trials": 0}, "^trials must be at least 1, but it is 0$"),
        ({}, {"seed": -1}, "^seed must be at least 0, but it is -1$"),
        (
            {"evaluation": TWO_PROTOCOLS},
            {},
            r"small: tune needs one protocol for all scenes, but there are several "
            r"\(taxonomy2002, kitti2012\); set evaluation.protocol to one protocol",
        ),
        (
            {"evaluation": PIXEL_COUNTS},
            {"statistic": "pixels_all"},
            "^cannot tune for 'pixels_all' because neither low nor high values are better; "
            "choose another statistic, such as bad_pixels_nonocc$",
        ),
    ],
)
def test_mistakes_are_reported_before_a_setting_runs(change, options, message, forbid_computing):
    forbid_computing()
    arguments = {"statistic": BAD, "scenes": noisy_scene()} | options
    with pytest.raises(ParameterError, match=message) as caught:
        tune(SCRIPT | change, **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("statistic", ["pixels_all", "no_such_metric"])
def test_a_statistic_without_a_direction_is_refused(statistic):
    with pytest.raises(ParameterError, match=f"^cannot tune for '{statistic}' because neither"):
        _better_direction(statistic)


@pytest.mark.parametrize(
    ("statistic", "better"), [("bad0.5_nonocc", "lower"), ("fraction_matched", "higher")]
)
def test_the_metric_of_a_statistic_defines_its_direction(statistic, better):
    assert _better_direction(statistic) == better


def test_without_optuna_the_error_names_the_extra_to_install(monkeypatch):
    for module in ("tune", "proposals"):
        monkeypatch.delitem(sys.modules, f"stereo_framework.sweep.{module}")
    monkeypatch.setitem(sys.modules, "optuna", None)
    message = r"^tune needs optuna: pip install '\.\[tune\]' in the folder"
    with pytest.raises(MissingExtraError, match=message):
        importlib.import_module("stereo_framework.sweep.tune")


# --- the output folder ----------------------------------------------------------------


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_search_in_several_calls_is_the_same_as_in_one_call(tmp_path, workers):
    scenes = [noisy_scene("a", 1), noisy_scene("b", 2)]
    one_call = tune(SCRIPT, BAD, scenes, trials=14, out=tmp_path / "one", workers=workers)
    for trials in (4, 4, 12, 14):
        last_call = tune(
            SCRIPT, BAD, scenes, trials=trials, out=tmp_path / "several", workers=workers
        )
        assert len(last_call.trials) == trials
    without_folder = tune(SCRIPT, BAD, scenes, trials=14, workers=workers)
    assert rows_of_trials(last_call) == rows_of_trials(one_call) == rows_of_trials(without_folder)
    assert_stored(tmp_path / "several", one_call)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "moment", [1, 23, *(pytest.param(moment, marks=pytest.mark.slow) for moment in (8, 40))]
)
def test_a_search_that_was_interrupted_continues(tmp_path, workers, moment):
    scenes = [noisy_scene("a", 1), noisy_scene("b", 2)]
    options = {"trials": 12, "out": tmp_path, "workers": workers}
    count = 0

    def interrupt(step):
        nonlocal count
        count += 1
        if count == moment:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), reporting_steps_to(interrupt):
        tune(SCRIPT, BAD, scenes, **options)
    continued = tune(SCRIPT, BAD, scenes, **options)
    uninterrupted = tune(SCRIPT, BAD, scenes, trials=12, workers=workers)
    assert rows_of_trials(continued) == rows_of_trials(uninterrupted)
    assert_stored(tmp_path, continued)


def test_a_search_uses_results_of_a_sweep_and_of_a_search_for_another_statistic(
    tmp_path, forbid_computing
):
    results = stereo_framework.run(SMALL_SCRIPT, noisy_scene(), out=tmp_path)
    forbid_computing()
    tune(SMALL_SCRIPT, BAD, noisy_scene(), trials=10, out=tmp_path)
    tuned = tune(SMALL_SCRIPT, "rms_error_all", noisy_scene(), trials=16, out=tmp_path)
    assert tuned.best.value == min(result.statistics["rms_error_all"] for result in results)


def test_the_folder_lists_the_results_of_all_trials_in_their_order(small_scenes, tmp_path):
    # The second call lists the results of the first call, too.
    tune(SCRIPT, BAD, SYNTHETIC, trials=3, out=tmp_path)
    tuned = tune(SCRIPT, BAD, SYNTHETIC, trials=8, out=tmp_path)
    assert lacking(tmp_path) == ""
    expected = []
    for trial in tuned.trials:
        expected += [trial.setting.axes] * len(trial.scenes)
    assert [result.axes for result in stored(tmp_path)] == expected
    assert load(tmp_path / "small.resolved.yaml").resolved == load(SCRIPT).resolved


def test_the_best_script_runs_to_the_results_of_the_best_trial(small_scenes, tmp_path):
    tuned = tune(SCRIPT, BAD, SYNTHETIC, trials=8, out=tmp_path)
    best_results = stereo_framework.run(tmp_path / "best.yaml")
    values = {result.scene: result.statistics[BAD] for result in best_results}
    assert values == tuned.best.scenes
    text = (tmp_path / "best.yaml").read_text()
    assert yaml.safe_load(text) == tuned.best_script
    first_line = f"# The average of {BAD} over the scenes is {tuned.best.value:.6g}, the best"
    assert text.startswith(first_line)
    # The results have the same identities as the results of the trials.
    assert {result.id for result in best_results} <= {result.id for result in stored(tmp_path)}


def test_a_file_of_the_user_with_the_name_of_the_best_script_is_refused(tmp_path, forbid_computing):
    forbid_computing()
    (tmp_path / "best.yaml").write_text("include: window\n")
    with pytest.raises(DataError, match=r"best\.yaml"):
        tune(SCRIPT, BAD, noisy_scene(), trials=1, out=tmp_path)
    assert (tmp_path / "best.yaml").read_text() == "include: window\n"


def test_a_search_starts_in_the_folder_of_the_call_if_a_plug_in_changes_the_folder(
    tmp_path, monkeypatch, registry
):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    plugin = tmp_path / "moving_plugin.py"
    plugin.write_text(f"import os\nos.chdir({str(elsewhere)!r})\n")
    monkeypatch.chdir(tmp_path)
    tune(SCRIPT, BAD, noisy_scene(), plugins=[plugin], trials=1, out="out")
    assert (tmp_path / "out/best.yaml").exists()
    assert not (elsewhere / "out").exists()
