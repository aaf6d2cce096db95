"""Tests of running scripts: order, repeated runs, failed runs, and stored maps."""

import numpy as np
import pytest
from sweep_parts import SIZES, WINDOW, dots, fails, lacking, numbers, stored

import stereo_framework
from stereo_framework import CostVolume
from stereo_framework.core.errors import DataError, ScriptError
from stereo_framework.core.file_damage import report_damage
from stereo_framework.core.registration import stage
from stereo_framework.core.scene import Frame, Scene, SearchRange
from stereo_framework.io.raw import read_pfm
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.script import load
from stereo_framework.sweep import computation
from stereo_framework.sweep.script_run import execute
from stereo_framework.sweep.tasks import tasks_of_script

BLANK = Scene("blank", dots().frames)


def test_results_are_ordered_by_scene_and_then_by_axes():
    """The last axis varies fastest."""
    results = stereo_framework.run(SIZES, scenes=[dots("a"), dots("b", seed=1)])
    expected = [
        (scene, truncation, size)
        for scene in "ab"
        for truncation in (10, None)
        for size in (1, 3, 5)
    ]
    actual = [
        (r.scene, r.axes["matching_cost.truncation"], r.axes["aggregation.box.size"])
        for r in results
    ]
    assert actual == expected
    assert len({r.id for r in results}) == 12


def test_result_contains_statistics_run_times_and_environment(tmp_path):
    """Compare the values with those of a direct call of the pipeline."""
    [result] = stereo_framework.run(WINDOW, scenes=dots(), out=tmp_path)
    match = load(WINDOW).only.pipeline(dots())
    np.testing.assert_array_equal(result.disparity, match.disparity)
    assert result.statistics == stereo_framework.evaluate(match.disparity, dots())
    assert set(result.seconds) == {
        "matching_cost",
        "aggregation.box",
        "restore_outside_cost",
        "optimization",
        "evaluation",
    }
    assert stored(tmp_path)[0].environment == result.environment
    assert result.environment["numpy"] == np.__version__
    assert result.environment["host"]
    annealed = WINDOW | {
        "smoothness": "potts",
        "seed": 3,
        "optimization": {"use": "simulated_annealing", "iterations": 2},
    }
    [result] = stereo_framework.run(annealed, scenes=dots())
    assert (result.parameters["seed"], result.parameters["optimization.seed"]) == (3, 3)


def test_stored_script_of_a_result_gives_the_same_numbers(tmp_path):
    """Run the script of one result, and the resolved script of the folder."""
    results = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path)
    [again] = stereo_framework.run(stored(tmp_path)[4].script, scenes=dots())
    assert (again.id, again.statistics) == (results[4].id, results[4].statistics)
    # The resolved script of the whole sweep is a file of the folder.
    assert numbers(
        stereo_framework.run(tmp_path / "sizes.resolved.yaml", scenes=dots())
    ) == numbers(results)
    assert {r.scene for r in stereo_framework.run(SIZES | {"scenes": ["synthetic/planes"]})} == {
        "synthetic/planes"
    }


def test_second_run_computes_only_scenes_with_another_content(tmp_path, monkeypatch):
    """Identify a scene by its content, and not only by its name."""
    first = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path)
    other = stereo_framework.run(SIZES, scenes=dots(seed=1), out=tmp_path)
    assert {r.id for r in first}.isdisjoint(r.id for r in other)
    monkeypatch.setattr(
        computation, "run_tasks", lambda *_, **__: pytest.fail("a stored result was computed again")
    )
    assert numbers(stereo_framework.run(SIZES, scenes=dots(), out=tmp_path, workers=1)) == numbers(
        first
    )


def test_stored_result_gets_the_axes_of_the_current_script(tmp_path):
    """Read results of a script that has the same run, but other axes."""
    first = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path)
    values = ["aggregation.box.size=3", "matching_cost.truncation=10"]
    [same] = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path, overrides=values, maps=True)
    assert (same.id, dict(same.axes)) == (first[1].id, {})
    again = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path)
    assert numbers(again) == numbers(stored(tmp_path)) == numbers(first)


def test_method_without_random_numbers_runs_once_over_an_axis_of_seeds(tmp_path):
    """Store a result for each seed only for simulated annealing."""
    optimizers = ["winner_take_all", {"use": "simulated_annealing", "iterations": 1}]
    script = WINDOW | {
        "smoothness": "potts",
        "sweep": {"grid": {"optimization": optimizers, "seed": [0, 1]}},
    }
    first = stereo_framework.run(script, scenes=dots(), out=tmp_path)
    assert len({r.id for r in first}) == 3
    assert [r.axes["seed"] for r in stored(tmp_path)] == ["", 0, 1]
    again = stereo_framework.run(script, scenes=dots(), out=tmp_path, maps=True)
    assert numbers(again) == numbers(stored(tmp_path)) == numbers(first)


def test_cell_of_a_notebook_may_run_again_and_belongs_to_the_identity(registry, tmp_path):
    """Change the identity only if the text of the stage changes."""
    results = []
    for number in (1, 2, 2):
        # A notebook writes the text of each cell to a separate file.
        cell = tmp_path / f"{number}.py"
        cell.write_text(f"""
@stage("matching_cost", source="a test")
def typed(reference, match, search):
    costs = absolute_difference(reference, match, search).costs
    return CostVolume(costs * np.float32({number}), search, 255.0)
""")
        names = {
            "stage": stage,
            "CostVolume": CostVolume,
            "absolute_difference": absolute_difference,
            "np": np,
        }
        exec(compile(cell.read_text(), cell, "exec"), names | {"__name__": "__main__"})
        results += stereo_framework.run(
            {"matching_cost": "typed", "optimization": "winner_take_all"}, scenes=dots()
        )
    first, changed, same = (r.id for r in results)
    assert first != changed == same


def test_interrupted_run_continues(tmp_path):
    """Read the stored results, and compute only the missing ones."""
    script = load(SIZES)
    partial = execute([script], tasks_of_script(script, [dots()]), out=tmp_path, workers=1)
    first_results = [*next(partial)[1], *next(partial)[1]]
    partial.close()
    assert len(stored(tmp_path)) == 2
    assert lacking(tmp_path).startswith("4 results are still missing")
    results = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path)
    assert numbers(results[:2]) == numbers(first_results)
    assert lacking(tmp_path) == ""


def test_failed_run_is_stored_and_stops_no_other_run(registry, tmp_path):
    """The error names the file and the line of the stage."""
    results = stereo_framework.run(
        fails(tmp_path, [-1, 5, -2]), scenes=dots(), out=tmp_path / "out"
    )
    plugin = tmp_path / "plugin_without_luck.py"
    message = f"{plugin}:8: refinement stage fails: ValueError: no luck"
    assert (
        [r.error for r in results]
        == [r.error for r in stored(tmp_path / "out")]
        == [None, message, None]
    )
    assert results[1].traceback.endswith("ValueError: no luck\n")
    assert results[1].statistics == {}


def test_failed_run_is_repeated_by_the_next_command(tmp_path):
    """The first command has too little memory."""
    failed = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path, memory=1000)
    assert all("are allowed (--memory)" in r.error for r in failed)
    again = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path)
    assert [(r.id, r.error) for r in again] == [(r.id, None) for r in failed]
    assert numbers(stored(tmp_path)) == numbers(again)


def test_maps_of_a_sweep_are_written_only_on_request(tmp_path):
    """Compute the runs again if a later command requests the maps."""
    [result] = stereo_framework.run(WINDOW, scenes=dots("folder/tiny"), out=tmp_path / "one")
    np.testing.assert_array_equal(read_pfm(result.map), result.disparity)
    assert result.map.parent == tmp_path / "one" / "maps"
    np.testing.assert_array_equal(stored(tmp_path / "one")[0].disparity, result.disparity)
    stereo_framework.run(SIZES, scenes=dots(), out=tmp_path / "many")
    assert not (tmp_path / "many" / "maps").exists()
    # The store has results without maps, so the maps are computed now.
    stereo_framework.run(SIZES, scenes=dots(), out=tmp_path / "many", maps=True)
    assert len(list((tmp_path / "many" / "maps").glob("*.pfm"))) == 6


def test_several_protocols_evaluate_one_match():
    """Give all results the same identity, and add metrics to a protocol."""
    protocols = ["taxonomy2002", {"base": "taxonomy2002", "threshold": 2}]
    results = stereo_framework.run(WINDOW | {"evaluation": {"protocol": protocols}}, scenes=dots())
    assert [r.protocol for r in results] == ["taxonomy2002", "taxonomy2002[thresholds=2]"]
    assert results[0].id == results[1].id
    # Metrics are added to the protocol of the script, or to the protocol of the scene.
    for evaluation, name in (
        ({"protocol": protocols[1]}, "taxonomy2002[thresholds=2]"),
        ({}, "taxonomy2002"),
    ):
        [more] = stereo_framework.run(
            WINDOW | {"evaluation": evaluation | {"metrics": ["mape", "rms_error"]}}, scenes=dots()
        )
        assert more.protocol == f"{name}+mape"
        statistics = next(r for r in results if r.protocol == name).statistics
        assert repr({key: more.statistics[key] for key in statistics}) == repr(statistics)
        assert "mape_all" in more.statistics
        [again] = stereo_framework.run(more.script, scenes=dots())
        assert repr(again.statistics) == repr(more.statistics)


@pytest.mark.parametrize(
    ("change", "scenes", "kind", "message"),
    [
        ({}, None, DataError, "no scene to run on"),
        ({}, BLANK, DataError, "no search range"),
        (
            {"search": {"truth_margin": 0.5}},
            BLANK,
            DataError,
            "scene blank: search.truth_margin needs ground truth, and it has none",
        ),
        (
            {"search": {"minimum": 9}},
            dots(),
            ScriptError,
            "scene tiny: search.maximum: 7 is not above search.minimum, 9",
        ),
    ],
)
def test_script_that_does_not_fit_its_scenes_is_refused(change, scenes, kind, message):
    """Check scenes, search ranges and ground truth before anything runs."""
    with pytest.raises(kind, match=message):
        stereo_framework.run(SIZES | change, scenes=scenes)


def test_scene_without_ground_truth_has_statistics_that_need_none():
    """Compute prediction errors, and distances to the pseudo ground truth."""
    [result] = stereo_framework.run(WINDOW | {"search": {"minimum": 0, "maximum": 7}}, scenes=BLANK)
    measured = {name for name in result.statistics if not name.startswith("pseudo_truth_")}
    assert measured == {"predict_err_match", "fraction_matched"}


@pytest.mark.parametrize(
    ("truth", "search", "expected"),
    [
        # The range 4..10 has the width 6. Half of the width is added at each end.
        ([4, 10], {"truth_margin": 0.5}, (1, 13, 1)),
        ([4, 10], {"truth_margin": 0}, (4, 10, 1)),
        ([4.25, 9.5], {"truth_margin": 0}, (4, 10, 1)),
        ([4.25, 9.5], {"truth_margin": 0, "step": 0.25}, (4.25, 9.5, 0.25)),
        ([5.5, 55], {"truth_margin": 0.5}, (-20, 80, 1)),
        # A range has at least two levels.
        ([3, 3], {"truth_margin": 0.5}, (3, 4, 1)),
        # An end that the script gives has priority.
        ([4, 10], {"truth_margin": 0.5, "minimum": 0}, (0, 13, 1)),
        ([np.nan, 4, 10], {"truth_margin": 0.5}, (1, 13, 1)),
    ],
)
def test_search_range_around_the_ground_truth(truth, search, expected):
    """The margin is a fraction of the width of the range of true disparities."""
    image = np.random.default_rng(0).integers(0, 256, (4, 8, 3), dtype=np.uint8)
    truth_map = np.resize(np.array(truth, np.float32), (4, 8))
    frames = (Frame("left", lambda: image, 0), Frame("right", lambda: image, 1))
    scene = Scene("known", frames, search=SearchRange(0, 7), truths={(0, 1): lambda: truth_map})
    [task] = tasks_of_script(load(WINDOW | {"search": search}), [scene])
    assert (task.search.minimum, task.search.maximum, task.search.step) == expected
    assert task.setting.parameters["search.truth_margin"] == search["truth_margin"]
    assert load(task.setting.mapping).settings[0].search == task.setting.search


@pytest.mark.parametrize(
    ("scene_search", "truth", "search", "expected"),
    [
        # Without a step in the script, the ends lie on the grid of the scene's step.
        (SearchRange(0, 8, 2), [4, 10], {"truth_margin": 0.5}, (0, 14, 2)),
        (SearchRange(0, 8, 2), [4, 10], {"truth_margin": 0}, (4, 10, 2)),
        (SearchRange(0, 8, 0.5), [4.25, 9.6], {"truth_margin": 0}, (4, 10, 0.5)),
        (SearchRange(0, 8, 0.5), [4.25, 9.6], {"truth_margin": 0, "step": 1}, (4, 10, 1)),
        (SearchRange(0, 8, 2), [4.25, 9.6], {"truth_margin": 0, "step": 0.25}, (4.25, 9.75, 0.25)),
        (SearchRange(0, 8, 2), [3, 3], {"truth_margin": 0.5}, (2, 4, 2)),
        (SearchRange(0, 8, 0.5), [3, 3], {"truth_margin": 0.5}, (3, 3.5, 0.5)),
        # Tenths are not exact in float32, but they still lie on the grid of their step.
        (SearchRange(0, 8, 0.1), [0.3, 0.7], {"truth_margin": 0}, (0.3, 0.7, 0.1)),
        (SearchRange(0, 8, 1 / 3), [2 / 3, 4 / 3], {"truth_margin": 0}, (2 / 3, 4 / 3, 1 / 3)),
        (SearchRange(0, 8), [4, 10], {"truth_margin": 0.5, "maximum": 20}, (1, 20, 1)),
        (
            SearchRange(0, 8),
            [4, 10],
            {"truth_margin": 0.5, "minimum": 0, "maximum": 20},
            (0, 20, 1),
        ),
        (None, [4, 10], {"truth_margin": 0.5}, (1, 13, 1)),
        (None, [4, 10], {"truth_margin": 0.5, "step": 0.5}, (1, 13, 0.5)),
    ],
)
def test_range_around_the_ground_truth_lies_on_the_grid_of_its_step(
    scene_search, truth, search, expected
):
    """The step of the script has priority over the step of the scene."""
    image = np.random.default_rng(0).integers(0, 256, (4, 8, 3), dtype=np.uint8)
    truth_map = np.resize(np.array(truth, np.float32), (4, 8))
    frames = (Frame("left", lambda: image, 0), Frame("right", lambda: image, 1))
    scene = Scene("known", frames, search=scene_search, truths={(0, 1): lambda: truth_map})
    [task] = tasks_of_script(load(WINDOW | {"search": search}), [scene])
    actual = (task.search.minimum, task.search.maximum, task.search.step)
    assert actual == pytest.approx(expected, abs=1e-12)
    assert task.search.direction == 1


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ({"minimum": 1}, SearchRange(1, 7, 0.5, -1)),
        ({"maximum": 9}, SearchRange(0, 9, 0.5, -1)),
        ({"step": 1}, SearchRange(0, 7, 1, -1)),
        ({"minimum": 1, "maximum": 9}, SearchRange(1, 9, 0.5, -1)),
        ({"maximum": 9, "step": 3}, SearchRange(0, 9, 3, -1)),
        ({}, SearchRange(0, 7, 0.5, -1)),
    ],
)
def test_search_values_of_a_script_replace_values_of_the_scene(search, expected):
    """Replace each end and the step separately, and keep the direction."""
    turned = dots(search=SearchRange(0, 7, 0.5)).pair(1, 0, SearchRange(0, 7, 0.5))
    [task] = tasks_of_script(load(WINDOW | {"search": search}), [turned])
    assert task.search == expected


@pytest.mark.parametrize(
    ("stored", "sweeps", "maps", "is_kept"),
    [
        (False, False, None, True),
        (False, True, None, True),
        (False, False, False, False),
        (True, False, None, True),
        (True, True, None, False),
        (True, True, True, True),
        (True, False, False, False),
    ],
)
def test_maps_are_kept_unless_a_stored_script_sweeps(tmp_path, stored, sweeps, maps, is_kept):
    """The argument `maps` has priority over this default."""
    script = SIZES if sweeps else WINDOW
    out = tmp_path if stored else None
    results = stereo_framework.run(script, scenes=dots(), out=out, maps=maps)
    assert {r.disparity is not None for r in results} == {is_kept}


def test_maps_of_several_scripts_are_not_kept_if_one_sweeps(tmp_path):
    """Apply one default to all scripts of a command."""
    scripts = [load(WINDOW | {"name": "one"}), load(SIZES)]
    tasks = []
    for script in scripts:
        tasks += tasks_of_script(script, [dots()])
    counts = [len(results) for _, results in execute(scripts, tasks, out=tmp_path)]
    assert sum(counts) == 7
    assert not (tmp_path / "maps").exists()


def test_damage_of_the_images_is_the_first_warning(tmp_path):
    """Show the damage once, for a computed result and for a stored result."""

    def damaged():
        report_damage("left.png is cut off")
        return np.full((24, 32), 7, np.uint8)

    frames = (Frame("left", damaged, 0), Frame("right", lambda: np.full((24, 32), 7, np.uint8), 1))
    scene = Scene("flat", frames, search=SearchRange(0, 7))
    for _ in range(2):
        [result] = stereo_framework.run(WINDOW, scenes=scene, out=tmp_path)
        first, *later = result.warnings
        assert first == "left.png is cut off"
        assert later
        assert first not in later


@pytest.mark.parametrize("workers", [1, 2])
def test_few_of_many_scenes_are_in_memory(workers):
    """The scenes of finished tasks are released."""
    scenes = [dots(f"scene{i}", seed=i) for i in range(12)]
    expected = [
        stereo_framework.run(SIZES, scenes=dots(f"scene{i}", seed=i))[0].id for i in (0, 11)
    ]

    def count_loaded_scenes():
        return sum(bool(scene.__dict__.get("_images")) for scene in scenes)

    tasks = tasks_of_script(load(SIZES), scenes)
    assert count_loaded_scenes() == 0
    result_of_task = {}
    for task, [result] in execute([], tasks, workers=workers, maps=False):
        result_of_task[task] = result
        # The scenes of running batches and of the next batches are in memory.
        assert count_loaded_scenes() <= 2 * workers + 2
    assert count_loaded_scenes() == 0
    assert [result_of_task[tasks[0]].id, result_of_task[tasks[66]].id] == expected
    assert not any(result.error for result in result_of_task.values())
