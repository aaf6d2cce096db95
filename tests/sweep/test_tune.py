"""Tuning: the optimum of small spaces, what is tried and what given up, and searches that are left and taken up again."""

import importlib
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import optuna
import pytest
import yaml
from optuna.distributions import CategoricalDistribution, IntDistribution
from sweep_parts import WINDOW, lacking, stored

import stereo_framework
from stereo_framework.core.errors import MissingExtraError, ParameterError
from stereo_framework.core.registration import stage
from stereo_framework.core.scene import Frame, Scene, SearchRange
from stereo_framework.kernels.progress import reporting_steps_to
from stereo_framework.script import load
from stereo_framework.sweep import computation
from stereo_framework.sweep.processes import Processes
from stereo_framework.sweep.tune import suggested, tune

BAD = "bad_pixels_all"


def swept(**grid):
    return WINDOW | {"name": "small", "sweep": {"grid": grid}}


SCRIPT = swept(
    **{
        "aggregation.box.size": {"range": [1, 13, 2]},
        "matching_cost.truncation": [5, 20, 80, 300, None],
    }
)
# More settings than the first ten, which are drawn by chance; few enough to try them all.
ALL = swept(
    **{"aggregation.box.size": [1, 3, 7, 11], "matching_cost.truncation": [5, 20, 80, None]}
)
SYNTHETIC = ["synthetic/planes", "synthetic/slanted"]


def noisy(name="noisy", seed=0, noise=60.0):
    """A plane of random dots whose second image is noisy: small windows see too little, large ones cross the step."""
    chance = np.random.default_rng(seed)
    left = chance.integers(0, 256, (32, 48)).astype(np.float32)
    truth = np.full((32, 48), 3, np.float32)
    truth[:, 24:] = 6
    right = chance.integers(0, 256, (32, 48)).astype(np.float32)
    rows, columns = np.indices(truth.shape)
    target = columns - truth.astype(int)
    seen = target >= 0
    right[rows[seen], target[seen]] = left[seen]
    right = np.clip(right + chance.normal(0, noise, right.shape), 0, 255).astype(np.float32)
    frames = Frame("left", lambda: left, 0), Frame("right", lambda: right, 1)
    return Scene(name, frames, search=SearchRange(0, 9), truths={(0, 1): lambda: truth})


def key(one):
    return tuple(one.axes.items())


def averages(script, scenes, statistic=BAD):
    """Of the whole sweep: average by setting."""
    found = {}
    for result in stereo_framework.run(script, scenes):
        found.setdefault(key(result), []).append(result.statistics[statistic])
    return {axes: float(np.mean(values)) for axes, values in found.items()}


def rows(tuned):
    return [(t.number, t.setting.axes, t.scenes, t.value, t.state, t.error) for t in tuned.trials]


def assert_stored(out, tuned):
    """Scenes and settings stand in the results store, each once, as the trials say."""
    keys = [(r.scene, key(r)) for r in stored(out, every=True)]
    assert len(set(keys)) == len(keys), "something was computed twice"
    assert set(keys) == {(scene, key(t.setting)) for t in tuned.trials for scene in t.scenes}


@pytest.fixture
def no_computing(monkeypatch):
    return lambda: monkeypatch.setattr(
        computation, "run_tasks", lambda *_, **__: pytest.fail("computed again")
    )


# --- the search -------------------------------------------------------------------------------------------------------


COST = {"matching_cost": "absolute_difference"}
BOTH = {"aggregation.box.size": [3, 5, 7], "aggregation.box.iterations": [3, 2, 1]}
COSTS = ["absolute_difference", {"use": "squared_difference", "truncation": 50}]
SEVERAL = {
    "optimization": "winner_take_all",
    "methods": {
        "plain": {**COST, "sweep": {"grid": {"matching_cost.truncation": [20, None]}}},
        "window": {
            **COST,
            "aggregation": ["box"],
            "sweep": {"grid": {"matching_cost": COSTS}, "zip": BOTH},
        },
    },
}


@pytest.mark.parametrize(
    ("script", "size", "workers"), [(ALL, 16, 1), (ALL, 16, 2), (SEVERAL, 2 + 2 * 3, 1)]
)
def test_with_enough_trials_everything_is_tried_once(script, size, workers, capfd):
    tuned = tune(script, BAD, noisy(), trials=1000, workers=workers)
    # Optuna says nothing.
    assert capfd.readouterr() == ("", "")
    expected = [
        (r.method, r.axes, r.statistics[BAD]) for r in stereo_framework.run(script, noisy())
    ]
    found = [(t.setting.method, t.setting.axes, t.value) for t in tuned.trials]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert tuned.size == len(found) == size
    assert (tuned.best.value, tuned.better) == (min(value for *_, value in expected), "lower")


def test_a_third_of_the_settings_leads_to_one_of_the_best():
    scenes = [noisy("a", 1), noisy("b", 2)]
    script = swept(
        **{
            "aggregation.box.size": {"range": [1, 23, 2]},
            "matching_cost.truncation": [5, 20, 40, 80, 300, None],
        }
    )
    expected = averages(script, scenes)
    for seed in range(3):
        tuned = tune(script, BAD, scenes, trials=24, seed=seed)
        assert tuned.best.value == pytest.approx(expected[key(tuned.best.setting)], rel=1e-12)
        # One of the best 4 of 72; 24 by chance alone miss them in one search of five: (1 - 4 / 72) ** 24 = 0.25.
        assert tuned.best.value <= sorted(expected.values())[3], seed


def test_hopeless_settings_are_not_tried_on_further_scenes(tmp_path):
    tuned = tune(SCRIPT, BAD, [noisy(str(i), i) for i in range(3)], trials=30, out=tmp_path)
    pruned = [t for t in tuned.trials if t.state == "pruned"]
    complete = [t for t in tuned.trials if t.state == "complete"]
    assert len(pruned) > 3
    assert all(len(t.scenes) == 3 for t in complete)
    assert all(1 <= len(t.scenes) < 3 and t.value is None and t.number >= 5 for t in pruned)
    # Given up is what was worse than three quarters of the complete trials before, after as many scenes.
    for trial in pruned:
        before = [
            np.mean([t.scenes[s] for s in trial.scenes])
            for t in complete
            if t.number < trial.number
        ]
        assert np.mean(list(trial.scenes.values())) > np.percentile(before, 75)
    assert_stored(tmp_path, tuned)


@pytest.mark.slow
def test_a_search_is_the_same_whoever_computes():
    expected = rows(tune(SCRIPT, BAD, SYNTHETIC, trials=4, workers=2))
    assert [state for *_, state, _ in expected] == ["complete"] * 4
    for made in (Processes(2), ThreadPoolExecutor(2)):
        with made as pool:
            assert (
                rows(tune(SCRIPT, BAD, SYNTHETIC, trials=4, workers=2, executor=pool)) == expected
            )


def test_numbers_in_order_are_searched_along_it():
    def dimensions(script):
        trial = optuna.create_study().ask()
        suggested(load(script).expansions, trial)
        return trial.distributions

    grid = {
        "aggregation.box.size": [9, 5, 3],
        "matching_cost.truncation": [5, 20, None],
        "matching_cost.birchfield_tomasi": [False, True],
        "aggregation.box.iterations": [1, 3, 2],
        "search.step": [1],
    }
    assert dimensions(swept(**grid)) == {
        "aggregation.box.size": IntDistribution(0, 2),
        # Without truncation is beyond every truncation.
        "matching_cost.truncation": IntDistribution(0, 2),
        "matching_cost.birchfield_tomasi": CategoricalDistribution(range(2)),
        "aggregation.box.iterations": CategoricalDistribution(range(3)),
    }
    together = {"zip": {"aggregation.box.size": [3, 5, 7], "aggregation.box.iterations": [3, 2, 1]}}
    assert dimensions(WINDOW | {"sweep": together}) == {
        "aggregation.box.size + aggregation.box.iterations": IntDistribution(0, 2)
    }


# --- failures ---------------------------------------------------------------------------------------------------------


def test_settings_that_fail_stop_no_others(registry):
    @stage("refinement", source="a test")
    def refuses_five(disparity, *, size: int = 0):
        """Raise for one value."""
        if size == 5:
            raise ValueError("five is too many")
        return disparity

    grid = {"refinement.refuses_five.size": [4, 5], "search.maximum": [-5, 8]}
    tuned = tune(
        swept(**grid) | {"refinement": ["refuses_five"]}, BAD, [noisy("a"), noisy("b", 1)], trials=5
    )
    found = {tuple(t.setting.axes.values()): t.error for t in tuned.trials}
    refused = "scene a: search.maximum: -5 is not above search.minimum, 0"
    assert (found[4, -5], found[5, -5], found[4, 8]) == (refused, refused, None)
    assert found[5, 8].endswith("refinement stage refuses_five: ValueError: five is too many")


@pytest.mark.parametrize(
    ("statistic", "options", "said"),
    [
        (BAD, {"memory": 1000}, r"box needs about .* are allowed \(--memory\)"),
        # Dots without a textureless pixel.
        ("bad_pixels_textureless", {}, "^bad_pixels_textureless is nan on noisy$"),
    ],
)
def test_trials_may_all_fail(statistic, options, said):
    tuned = tune(SCRIPT, statistic, noisy(), trials=3, **options)
    assert all(re.search(said, t.error) for t in tuned.trials)
    assert ([t.state for t in tuned.trials], tuned.best, tuned.best_script) == (
        ["failed"] * 3,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (
            {},
            {"statistic": "bad_pixel_al"},
            "statistic: no 'bad_pixel_al' on noisy under taxonomy2002; allowed: .*; did you mean 'bad_pixels_all'",
        ),
        ({}, {"statistic": "fraction_matchd"}, "did you mean 'fraction_matched'"),
        (
            {"sweep": {}},
            {},
            "small: nothing to tune: no axis of the script has two values; give some",
        ),
        ({}, {"trials": 0}, "trials: 0 is below 1"),
        ({}, {"seed": -1}, "seed: -1 is below 0"),
        (
            {"evaluation": {"protocol": ["taxonomy2002", "kitti2012"]}},
            {},
            "one protocol must measure all scenes, here are taxonomy2002, kitti2012",
        ),
        (
            {
                "evaluation": {
                    "protocol": {"base": "taxonomy2002", "name": "p", "metrics": ["pixels"]}
                }
            },
            {"statistic": "pixels_all"},
            "statistic: pixels_all is neither better low nor high",
        ),
    ],
)
def test_mistakes_are_told_before_anything_runs(change, options, said, no_computing):
    no_computing()
    with pytest.raises(ParameterError, match=said) as caught:
        tune(SCRIPT | change, **{"statistic": BAD, "scenes": noisy()} | options)
    assert "\n" not in str(caught.value)


def test_without_optuna(monkeypatch):
    monkeypatch.delitem(sys.modules, "stereo_framework.sweep.tune")
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(
        MissingExtraError, match=r"tune needs optuna: pip install '\.\[tune\]' in the folder"
    ):
        importlib.import_module("stereo_framework.sweep.tune")


# --- the folder -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_search_goes_on_as_if_it_had_not_been_left(tmp_path, workers):
    scenes = [noisy("a", 1), noisy("b", 2)]
    whole = tune(SCRIPT, BAD, scenes, trials=14, out=tmp_path / "whole", workers=workers)
    for trials in (4, 4, 12, 14):
        parts = tune(SCRIPT, BAD, scenes, trials=trials, out=tmp_path / "parts", workers=workers)
        assert len(parts.trials) == trials
    assert rows(parts) == rows(whole) == rows(tune(SCRIPT, BAD, scenes, trials=14, workers=workers))
    assert_stored(tmp_path / "parts", whole)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "moment", [1, 23, *(pytest.param(moment, marks=pytest.mark.slow) for moment in (8, 40))]
)
def test_interrupted_in_the_middle_of_trials(tmp_path, workers, moment):
    scenes = [noisy("a", 1), noisy("b", 2)]
    options = {"trials": 12, "out": tmp_path, "workers": workers}
    count = 0

    def watch(doing):
        nonlocal count
        count += 1
        if count == moment:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), reporting_steps_to(watch):
        tune(SCRIPT, BAD, scenes, **options)
    tuned = tune(SCRIPT, BAD, scenes, **options)
    assert rows(tuned) == rows(tune(SCRIPT, BAD, scenes, trials=12, workers=workers))
    assert_stored(tmp_path, tuned)


def test_results_of_a_sweep_and_of_another_statistic_serve_a_search(tmp_path, no_computing):
    swept = stereo_framework.run(ALL, noisy(), out=tmp_path)
    no_computing()
    tune(ALL, BAD, noisy(), trials=10, out=tmp_path)
    tuned = tune(ALL, "rms_error_all", noisy(), trials=16, out=tmp_path)
    assert tuned.best.value == min(r.statistics["rms_error_all"] for r in swept)


def test_the_folder_tells_of_the_search(small_scenes, tmp_path):
    # Those of an earlier call are told of too.
    tune(SCRIPT, BAD, SYNTHETIC, trials=3, out=tmp_path)
    tuned = tune(SCRIPT, BAD, SYNTHETIC, trials=8, out=tmp_path)
    listed = stored(tmp_path)
    assert lacking(tmp_path) == ""
    # In the order of trying.
    assert [r.axes for r in listed] == [t.setting.axes for t in tuned.trials for _ in t.scenes]
    best = stereo_framework.run(tmp_path / "best.yaml")
    assert {r.scene: r.statistics[BAD] for r in best} == tuned.best.scenes
    assert yaml.safe_load((tmp_path / "best.yaml").read_text()) == tuned.best_script
    assert (
        (tmp_path / "best.yaml")
        .read_text()
        .splitlines()[0]
        .startswith(f"# {BAD} {tuned.best.value:.6g} on average")
    )
    # All of its results are known under the same identity.
    assert {r.id for r in best} <= {r.id for r in listed}
    assert load(tmp_path / "small.resolved.yaml").resolved == load(SCRIPT).resolved
