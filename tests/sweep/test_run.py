"""Running scripts: order, resuming, failing runs, workers, maps."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import yaml

import stereo_framework
from stereo_framework import CostVolume
from stereo_framework.core.errors import DataError, ScriptError
from stereo_framework.core.scene import Frame, Scene, Search
from stereo_framework.core.stage import stage
from stereo_framework.io.pfm import read_pfm
from stereo_framework.matching_cost import absolute_difference
from stereo_framework.script import load
from stereo_framework.sweep import Store, executors
from stereo_framework.sweep import run as run_function
from stereo_framework.sweep.identity import code_digest
from stereo_framework.sweep.plan import plan
from stereo_framework.sweep.runs import execute, scenes_of

SWEEP = {
    "name": "sweep",
    "matching_cost": "absolute_difference",
    "aggregation": [{"use": "box", "size": 3}],
    "optimization": "winner_take_all",
    "sweep": {"grid": {"matching_cost.truncation": [10, None], "aggregation.box.size": [1, 3, 5]}},
}
FAILING = '''
from stereo_framework.core.stage import stage

@stage("refinement", source="a test")
def fails_at_five(disparity, volume, *, size: int = 0):
    """Raise for one value.

    Parameters
    ----------
    size : int
        Pixels.
    """
    if size == 5:
        raise ValueError("five is too many")
    return disparity
'''


def _scene(name="tiny", seed=0, **changes):
    random = np.random.default_rng(seed)
    left = random.integers(0, 256, (24, 32, 3), dtype=np.uint8)
    right = np.roll(left, -3, axis=1)
    truth = np.full((24, 32), 3, np.float32)
    frames = (Frame("left", lambda: left, 0), Frame("right", lambda: right, 1))
    return Scene(name, frames, search=Search(0, 7), truths={(0, 1): lambda: truth}, **changes)


def _numbers(results):
    return [(r.id, r.scene, r.axes, r.statistics["bad_pixels_all"], r.energy) for r in results]


def test_order_is_scene_then_axes():
    results = stereo_framework.run(SWEEP, scenes=[_scene("a"), _scene("b", seed=1)])
    expected = [(scene, truncation, size) for scene in "ab" for truncation in (10, None) for size in (1, 3, 5)]
    found = [(r.scene, r.axes["matching_cost.truncation"], r.axes["aggregation.box.size"]) for r in results]
    assert found == expected
    assert len({r.id for r in results}) == 12


def test_workers_change_nothing():
    scene = _scene()
    assert _numbers(stereo_framework.run(SWEEP, scenes=scene)) == _numbers(stereo_framework.run(SWEEP, scenes=scene, workers=3))


def test_a_result_is_that_of_its_pipeline():
    scene = _scene()
    [result] = stereo_framework.run({k: v for k, v in SWEEP.items() if k != "sweep"}, scenes=scene)
    [one] = load({k: v for k, v in SWEEP.items() if k != "sweep"}).settings
    match = one.pipeline(scene)
    np.testing.assert_array_equal(result.disparity, match.disparity)
    assert result.statistics == stereo_framework.evaluate(match.disparity, scene)
    assert set(result.seconds) == {"matching_cost", "aggregation.box", "restore_outside", "optimization", "evaluation"}


def test_the_stored_script_of_a_result_runs_to_the_same_numbers(tmp_path):
    scene = _scene()
    results = stereo_framework.run(SWEEP, scenes=scene, out=tmp_path)
    with Store(tmp_path) as store:
        stored = store.results()
    [again] = stereo_framework.run(stored[4].script, scenes=scene)
    assert again.id == results[4].id
    assert again.statistics == results[4].statistics
    # The whole resolved script as well, from its file.
    whole = stereo_framework.run(tmp_path / "sweep.resolved.yaml", scenes=scene)
    assert _numbers(whole) == _numbers(results)


def test_a_second_run_computes_nothing(tmp_path, monkeypatch):
    first = stereo_framework.run(SWEEP, scenes=_scene(), out=tmp_path)
    monkeypatch.setattr(
        executors,
        "measure",
        lambda *_, **__: pytest.fail("a stored result was computed again"),
    )
    assert _numbers(stereo_framework.run(SWEEP, scenes=_scene(), out=tmp_path, workers=1)) == _numbers(first)


def test_another_scene_of_the_same_name_is_computed(tmp_path):
    first = stereo_framework.run(SWEEP, scenes=_scene(seed=0), out=tmp_path)
    second = stereo_framework.run(SWEEP, scenes=_scene(seed=1), out=tmp_path)
    assert {r.id for r in first}.isdisjoint(r.id for r in second)


def test_a_plugins_code_is_part_of_the_identity(tmp_path):
    for name, text in (("one", "limit = 1\n"), ("same", "limit = 1\n"), ("other", "limit = 2\n")):
        (tmp_path / f"{name}.py").write_text(text)
    one, same, other = (code_digest((str(tmp_path / f"{name}.py"),)) for name in ("one", "same", "other"))
    assert one == same
    assert len({one, other, code_digest()}) == 3


def test_the_cell_of_a_notebook_may_run_again_and_is_part_of_the_identity(registry, tmp_path):
    script = {"matching_cost": "typed", "optimization": "winner_take_all"}
    found = []
    for number in (1, 2, 2):
        # A notebook gives the text of every cell a file of its own.
        cell = tmp_path / f"{number}.py"
        cell.write_text(f"""
@stage("matching_cost", source="a test")
def typed(reference, match, search):
    return CostVolume(absolute_difference(reference, match, search).costs * np.float32({number}), search, 255.0)
""")
        names = {"stage": stage, "CostVolume": CostVolume, "absolute_difference": absolute_difference, "np": np}
        exec(compile(cell.read_text(), cell, "exec"), names | {"__name__": "__main__"})
        found += stereo_framework.run(script, scenes=_scene(seed=0))
    first, changed, same = (r.id for r in found)
    assert first != changed == same


def test_an_interrupted_run_continues(tmp_path):
    script = load(SWEEP)
    tasks = plan(script, [_scene()])
    partial = execute([script], tasks, out=tmp_path, workers=1)
    done = [*next(partial)[1], *next(partial)[1]]
    partial.close()
    with Store(tmp_path) as store:
        assert len(store.results()) == 2
        assert store.missing() == 4
    results = stereo_framework.run(SWEEP, scenes=_scene(), out=tmp_path)
    assert _numbers(results[:2]) == _numbers(done)
    with Store(tmp_path) as store:
        assert store.missing() == 0


def test_a_failing_run_is_recorded_and_stops_nothing(tmp_path):
    (tmp_path / "plugin_that_fails.py").write_text(FAILING)
    script = SWEEP | {
        "plugins": [str(tmp_path / "plugin_that_fails.py")],
        "refinement": ["fails_at_five"],
        "sweep": {"grid": {"refinement.fails_at_five.size": [4, 5, 6]}},
    }
    results = stereo_framework.run(script, scenes=_scene(), out=tmp_path / "out")
    told = f"{tmp_path / 'plugin_that_fails.py'}:14: refinement stage fails_at_five: ValueError: five is too many"
    assert [r.error for r in results] == [None, told, None]
    assert results[1].traceback.endswith("ValueError: five is too many\n")
    assert results[1].statistics == {}
    with Store(tmp_path / "out") as store:
        assert [bool(r.error) for r in store.results()] == [False, True, False]


def test_a_run_that_failed_is_tried_again(tmp_path):
    failed = stereo_framework.run(SWEEP, scenes=_scene(), out=tmp_path, memory=1000)
    assert all("are allowed (--memory)" in r.error for r in failed)
    again = stereo_framework.run(SWEEP, scenes=_scene(), out=tmp_path)
    assert [(r.id, r.error) for r in again] == [(r.id, None) for r in failed]
    with Store(tmp_path) as store:
        assert _numbers(store.results()) == _numbers(again)


def test_maps_are_written_unless_sweeping(tmp_path):
    single = {k: v for k, v in SWEEP.items() if k != "sweep"}
    [result] = stereo_framework.run(single, scenes=_scene("folder/tiny"), out=tmp_path / "one")
    np.testing.assert_array_equal(read_pfm(result.map), result.disparity)
    assert result.map.parent == tmp_path / "one" / "maps"
    with Store(tmp_path / "one") as store:
        [stored] = store.results()
    np.testing.assert_array_equal(stored.disparity, result.disparity)
    stereo_framework.run(SWEEP, scenes=_scene(), out=tmp_path / "many")
    assert not (tmp_path / "many" / "maps").exists()
    # Asked for afterwards, they are computed.
    stereo_framework.run(SWEEP, scenes=_scene(), out=tmp_path / "many", maps=True)
    assert len(list((tmp_path / "many" / "maps").glob("*.pfm"))) == 6


def test_several_protocols_measure_one_match():
    protocols = ["taxonomy2002", {"base": "taxonomy2002", "threshold": 2}]
    results = stereo_framework.run(
        {k: v for k, v in SWEEP.items() if k != "sweep"} | {"evaluation": {"protocol": protocols}}, scenes=_scene()
    )
    assert [r.protocol for r in results] == ["taxonomy2002", "taxonomy2002[thresholds=2]"]
    assert results[0].id == results[1].id


def test_without_a_scene():
    with pytest.raises(DataError, match="no scene to run on"):
        run_function(SWEEP)


def test_a_scene_without_a_range():
    scene = Scene("blank", _scene().frames)
    with pytest.raises(DataError, match="no search range"):
        stereo_framework.run(SWEEP, scenes=scene)
    [result] = stereo_framework.run(
        {k: v for k, v in SWEEP.items() if k != "sweep"} | {"search": {"minimum": 0, "maximum": 7}}, scenes=scene
    )
    # What needs no truth: distances to a reference map and prediction errors.
    measured = {name for name in result.statistics if not name.startswith("reference_")}
    assert measured == {"predict_err_match", "fraction_matched"}


def test_a_range_that_does_not_fit_the_scenes():
    with pytest.raises(ScriptError, match="scene tiny: search.maximum: 7 is not above search.minimum, 9"):
        stereo_framework.run(SWEEP | {"search": {"minimum": 9}}, scenes=_scene())


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
    random = np.random.default_rng(0)
    image = random.integers(0, 256, (4, 8, 3), dtype=np.uint8)
    known = np.resize(np.array(truth, np.float32), (4, 8))
    frames = (Frame("left", lambda: image, 0), Frame("right", lambda: image, 1))
    scene = Scene("known", frames, search=Search(0, 7), truths={(0, 1): lambda: known})
    [task] = plan(load({k: v for k, v in SWEEP.items() if k != "sweep"} | {"search": search}), [scene])
    assert (task.search.minimum, task.search.maximum, task.search.step) == expected
    assert task.setting.parameters["search.truth_margin"] == search["truth_margin"]
    assert load(task.setting.mapping).settings[0].search == task.setting.search


def test_a_range_around_a_truth_that_there_is_not():
    with pytest.raises(DataError, match="scene blank: search.truth_margin needs its truth, and it has none"):
        stereo_framework.run(SWEEP | {"search": {"truth_margin": 0.5}}, scenes=Scene("blank", _scene().frames))


def test_scenes_of_the_script_are_loaded():
    assert [s.name for s in scenes_of(load(SWEEP | {"scenes": ["synthetic/planes"]}), None, None)] == ["synthetic/planes"]


@pytest.mark.parametrize("workers", [1, 2])
def test_of_many_scenes_few_are_loaded(workers):
    scenes = [_scene(f"scene{i}", seed=i) for i in range(12)]
    expected = [stereo_framework.run(SWEEP, scenes=_scene(f"scene{i}", seed=i))[0].id for i in (0, 11)]

    def loaded():
        return sum(bool(scene.__dict__.get("_images")) for scene in scenes)

    tasks = plan(load(SWEEP), scenes)
    assert loaded() == 0
    found = {}
    for task, [result] in execute([], tasks, workers=workers, maps=False):
        found[task] = result
        # Those that are computed, and those that are handed out next.
        assert loaded() <= 2 * workers + 2
    assert loaded() == 0
    assert [found[tasks[0]].id, found[tasks[66]].id] == expected
    assert not any(result.error for result in found.values())


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_a_killed_process_loses_nothing(tmp_path):
    script = tmp_path / "sweep.yaml"
    sizes = {"range": [1, 79, 2]}
    # Slow enough to be killed in the middle.
    slow = SWEEP | {"aggregation": [{"use": "box", "iterations": 6}]}
    script.write_text(yaml.safe_dump(slow | {"scenes": ["synthetic/planes"], "sweep": {"grid": {"aggregation.box.size": sizes}}}))
    command = [sys.executable, "-c", f"import stereo_framework as s; s.run({str(script)!r}, out={str(tmp_path / 'out')!r})"]
    child = subprocess.Popen(command)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (not (tmp_path / "out" / "results.sqlite").is_file() or _stored(tmp_path) < 3):
            assert child.poll() is None, "the sweep was over before it could be killed"
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    finally:
        child.wait()
    kept = _stored(tmp_path)
    assert 3 <= kept < 40
    results = stereo_framework.run(script, out=tmp_path / "out")
    assert len(results) == 40
    assert _stored(tmp_path) == 40


def _stored(folder):
    try:
        with Store(folder / "out") as store:
            return len(store.results())
    except DataError:
        return 0  # the other process is just making the tables
