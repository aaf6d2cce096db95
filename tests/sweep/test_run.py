"""Running scripts: order, resuming, failing runs, workers, maps."""

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


def test_order_is_scene_then_axes():
    results = stereo_framework.run(SIZES, scenes=[dots("a"), dots("b", seed=1)])
    expected = [
        (scene, truncation, size)
        for scene in "ab"
        for truncation in (10, None)
        for size in (1, 3, 5)
    ]
    found = [
        (r.scene, r.axes["matching_cost.truncation"], r.axes["aggregation.box.size"])
        for r in results
    ]
    assert found == expected
    assert len({r.id for r in results}) == 12


def test_a_result_tells_of_its_pipeline_and_what_it_was_computed_with(tmp_path):
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


def test_the_stored_script_of_a_result_runs_to_the_same_numbers(tmp_path):
    results = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path)
    [again] = stereo_framework.run(stored(tmp_path)[4].script, scenes=dots())
    assert (again.id, again.statistics) == (results[4].id, results[4].statistics)
    # The whole resolved script as well, from its file, on scenes that it names.
    assert numbers(
        stereo_framework.run(tmp_path / "sizes.resolved.yaml", scenes=dots())
    ) == numbers(results)
    assert {r.scene for r in stereo_framework.run(SIZES | {"scenes": ["synthetic/planes"]})} == {
        "synthetic/planes"
    }


def test_a_second_run_computes_nothing_but_for_another_scene_of_the_same_name(
    tmp_path, monkeypatch
):
    first = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path)
    other = stereo_framework.run(SIZES, scenes=dots(seed=1), out=tmp_path)
    assert {r.id for r in first}.isdisjoint(r.id for r in other)
    monkeypatch.setattr(
        computation, "run_tasks", lambda *_, **__: pytest.fail("a stored result was computed again")
    )
    assert numbers(stereo_framework.run(SIZES, scenes=dots(), out=tmp_path, workers=1)) == numbers(
        first
    )


def test_a_result_has_the_axes_of_the_script_that_asks(tmp_path):
    first = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path)
    one = ["aggregation.box.size=3", "matching_cost.truncation=10"]
    [same] = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path, overrides=one, maps=True)
    assert (same.id, dict(same.axes)) == (first[1].id, {})
    again = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path)
    assert numbers(again) == numbers(stored(tmp_path)) == numbers(first)


def test_a_method_without_chance_runs_once_over_an_axis_of_seeds(tmp_path):
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


def test_the_cell_of_a_notebook_may_run_again_and_is_part_of_the_identity(registry, tmp_path):
    found = []
    for number in (1, 2, 2):
        # A notebook gives the text of every cell a file of its own.
        cell = tmp_path / f"{number}.py"
        cell.write_text(f"""
@stage("matching_cost", source="a test")
def typed(reference, match, search):
    return CostVolume(absolute_difference(reference, match, search).costs * np.float32({number}), search, 255.0)
""")
        names = {
            "stage": stage,
            "CostVolume": CostVolume,
            "absolute_difference": absolute_difference,
            "np": np,
        }
        exec(compile(cell.read_text(), cell, "exec"), names | {"__name__": "__main__"})
        found += stereo_framework.run(
            {"matching_cost": "typed", "optimization": "winner_take_all"}, scenes=dots()
        )
    first, changed, same = (r.id for r in found)
    assert first != changed == same


def test_an_interrupted_run_continues(tmp_path):
    script = load(SIZES)
    partial = execute([script], tasks_of_script(script, [dots()]), out=tmp_path, workers=1)
    done = [*next(partial)[1], *next(partial)[1]]
    partial.close()
    assert len(stored(tmp_path)) == 2
    assert lacking(tmp_path).startswith("4 results are still missing")
    results = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path)
    assert numbers(results[:2]) == numbers(done)
    assert lacking(tmp_path) == ""


def test_a_failing_run_is_recorded_and_stops_nothing(registry, tmp_path):
    results = stereo_framework.run(
        fails(tmp_path, [-1, 5, -2]), scenes=dots(), out=tmp_path / "out"
    )
    told = f"{tmp_path / 'plugin_without_luck.py'}:8: refinement stage fails: ValueError: no luck"
    assert (
        [r.error for r in results]
        == [r.error for r in stored(tmp_path / "out")]
        == [None, told, None]
    )
    assert results[1].traceback.endswith("ValueError: no luck\n")
    assert results[1].statistics == {}


def test_a_run_that_failed_is_tried_again(tmp_path):
    failed = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path, memory=1000)
    assert all("are allowed (--memory)" in r.error for r in failed)
    again = stereo_framework.run(SIZES, scenes=dots(), out=tmp_path)
    assert [(r.id, r.error) for r in again] == [(r.id, None) for r in failed]
    assert numbers(stored(tmp_path)) == numbers(again)


def test_maps_are_written_unless_sweeping(tmp_path):
    [result] = stereo_framework.run(WINDOW, scenes=dots("folder/tiny"), out=tmp_path / "one")
    np.testing.assert_array_equal(read_pfm(result.map), result.disparity)
    assert result.map.parent == tmp_path / "one" / "maps"
    np.testing.assert_array_equal(stored(tmp_path / "one")[0].disparity, result.disparity)
    stereo_framework.run(SIZES, scenes=dots(), out=tmp_path / "many")
    assert not (tmp_path / "many" / "maps").exists()
    # Asked for afterwards, they are computed.
    stereo_framework.run(SIZES, scenes=dots(), out=tmp_path / "many", maps=True)
    assert len(list((tmp_path / "many" / "maps").glob("*.pfm"))) == 6


def test_several_protocols_measure_one_match():
    protocols = ["taxonomy2002", {"base": "taxonomy2002", "threshold": 2}]
    results = stereo_framework.run(WINDOW | {"evaluation": {"protocol": protocols}}, scenes=dots())
    assert [r.protocol for r in results] == ["taxonomy2002", "taxonomy2002[thresholds=2]"]
    assert results[0].id == results[1].id
    # Metrics stand beside a protocol's own, those of the scene's if the script names none.
    for given, name in (
        ({"protocol": protocols[1]}, "taxonomy2002[thresholds=2]"),
        ({}, "taxonomy2002"),
    ):
        [more] = stereo_framework.run(
            WINDOW | {"evaluation": given | {"metrics": ["mape", "rms_error"]}}, scenes=dots()
        )
        assert more.protocol == f"{name}+mape"
        own = next(r for r in results if r.protocol == name).statistics
        assert repr({key: more.statistics[key] for key in own}) == repr(own)
        assert "mape_all" in more.statistics
        [again] = stereo_framework.run(more.script, scenes=dots())
        assert repr(again.statistics) == repr(more.statistics)


@pytest.mark.parametrize(
    ("change", "scenes", "kind", "said"),
    [
        ({}, None, DataError, "no scene to run on"),
        ({}, BLANK, DataError, "no search range"),
        (
            {"search": {"truth_margin": 0.5}},
            BLANK,
            DataError,
            "scene blank: search.truth_margin needs its truth, and it has none",
        ),
        (
            {"search": {"minimum": 9}},
            dots(),
            ScriptError,
            "scene tiny: search.maximum: 7 is not above search.minimum, 9",
        ),
    ],
)
def test_what_does_not_fit_the_scenes_is_told(change, scenes, kind, said):
    with pytest.raises(kind, match=said):
        stereo_framework.run(SIZES | change, scenes=scenes)


def test_a_scene_without_truth():
    [result] = stereo_framework.run(WINDOW | {"search": {"minimum": 0, "maximum": 7}}, scenes=BLANK)
    # What needs no truth: distances to the pseudo ground truth and prediction errors.
    measured = {name for name in result.statistics if not name.startswith("pseudo_truth_")}
    assert measured == {"predict_err_match", "fraction_matched"}


@pytest.mark.parametrize(
    ("truth", "search", "expected"),
    [
        # 4..10 is 6 wide, half of it to either side
        ([4, 10], {"truth_margin": 0.5}, (1, 13, 1)),
        ([4, 10], {"truth_margin": 0}, (4, 10, 1)),
        ([4.25, 9.5], {"truth_margin": 0}, (4, 10, 1)),
        ([4.25, 9.5], {"truth_margin": 0, "step": 0.25}, (4.25, 9.5, 0.25)),
        ([5.5, 55], {"truth_margin": 0.5}, (-20, 80, 1)),
        ([3, 3], {"truth_margin": 0.5}, (3, 4, 1)),  # two levels at least
        ([4, 10], {"truth_margin": 0.5, "minimum": 0}, (0, 13, 1)),  # what is given counts
        ([np.nan, 4, 10], {"truth_margin": 0.5}, (1, 13, 1)),
    ],
)
def test_a_range_around_the_truth(truth, search, expected):
    image = np.random.default_rng(0).integers(0, 256, (4, 8, 3), dtype=np.uint8)
    known = np.resize(np.array(truth, np.float32), (4, 8))
    frames = (Frame("left", lambda: image, 0), Frame("right", lambda: image, 1))
    scene = Scene("known", frames, search=SearchRange(0, 7), truths={(0, 1): lambda: known})
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
        # Tenths are no float32 numbers, and lie on the grid of their step all the same.
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
def test_a_range_around_the_truth_lies_on_the_grid_of_its_step(
    scene_search, truth, search, expected
):
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
def test_each_end_and_the_step_of_a_script_replace_those_of_the_scene(search, expected):
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
    script = SIZES if sweeps else WINDOW
    out = tmp_path if stored else None
    results = stereo_framework.run(script, scenes=dots(), out=out, maps=maps)
    assert {r.disparity is not None for r in results} == {is_kept}


def test_two_scripts_of_which_one_sweeps_keep_no_maps(tmp_path):
    scripts = [load(WINDOW | {"name": "one"}), load(SIZES)]
    tasks = []
    for script in scripts:
        tasks += tasks_of_script(script, [dots()])
    counts = [len(results) for _, results in execute(scripts, tasks, out=tmp_path)]
    assert sum(counts) == 7
    assert not (tmp_path / "maps").exists()


def test_damage_of_the_images_comes_first_among_the_warnings(tmp_path):
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
def test_of_many_scenes_few_are_loaded(workers):
    scenes = [dots(f"scene{i}", seed=i) for i in range(12)]
    expected = [
        stereo_framework.run(SIZES, scenes=dots(f"scene{i}", seed=i))[0].id for i in (0, 11)
    ]

    def loaded():
        return sum(bool(scene.__dict__.get("_images")) for scene in scenes)

    tasks = tasks_of_script(load(SIZES), scenes)
    assert loaded() == 0
    found = {}
    for task, [result] in execute([], tasks, workers=workers, maps=False):
        found[task] = result
        # Those that are computed, and those that are handed out next.
        assert loaded() <= 2 * workers + 2
    assert loaded() == 0
    assert [found[tasks[0]].id, found[tasks[66]].id] == expected
    assert not any(result.error for result in found.values())
