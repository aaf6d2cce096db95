"""Results with similar names or identities have different keys and files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sweep_parts import WINDOW, dots, stored

import stereo_framework
from stereo_framework.io import write_image
from stereo_framework.script import load
from stereo_framework.sweep import Result, Store
from stereo_framework.sweep.external_maps import add_maps, measure_map
from stereo_framework.sweep.identity import result_key
from stereo_framework.sweep.tasks import Task, tasks_of_script


def make_result(run, value, **changes):
    """Return a result whose disparity map and confidence map have one value each."""
    names = {"scene": "synthetic/planes", "method": "m", "protocol": "p"} | changes
    disparity = np.full((2, 3), value, np.float32)
    return Result(
        id=run,
        parameters={},
        axes={},
        **names,
        _disparity=disparity,
        _confidence={"c": disparity + 1},
    )


def add_with_map(store, key, result):
    """Add a result and its maps to a store."""
    [stored_result] = store.with_map([result])
    store.add(key, stored_result)


# --- files ----------------------------------------------------------------------------


@pytest.mark.parametrize("shared", range(16))
def test_runs_with_similar_identities_have_different_files(shared, tmp_path):
    first = "0123456789abcdef"
    second = first[:shared] + "f" * (15 - shared) + "0"
    with Store(tmp_path, create=True) as store:
        for value, run in enumerate((first, second)):
            add_with_map(store, result_key(run, "m", "p"), make_result(run, value))
    results = stored(tmp_path, every=True)
    assert [result.disparity[0, 0] for result in results] == [0, 1]
    assert [result.confidence["c"][0, 0] for result in results] == [1, 2]
    assert len({result.map for result in results}) == 2


@pytest.mark.parametrize(
    ("first_names", "second_names"),
    [
        ({"scene": "a/b-c"}, {"scene": "a-b/c"}),
        ({"scene": "a b"}, {"scene": "a_b"}),
        ({"scene": "x" * 90 + "tail"}, {"scene": "y" + "x" * 89 + "tail"}),
        ({"scene": "s_m"}, {"scene": "s", "method": "m_m"}),
    ],
)
def test_scenes_with_similar_file_names_have_different_maps(first_names, second_names, tmp_path):
    with Store(tmp_path, create=True) as store:
        for value, names in enumerate((first_names, second_names)):
            run = f"{value + 1:016}"
            add_with_map(store, run, make_result(run, value, **names))
    assert [result.disparity[0, 0] for result in stored(tmp_path, every=True)] == [0, 1]


# --- keys -----------------------------------------------------------------------------


TEXTS = st.lists(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5), min_size=1, max_size=4
)
ODD_NAMES = st.text(alphabet='ab "\\[],*?%_\x7fü', min_size=1, max_size=4)


@given(TEXTS, TEXTS)
def test_different_names_have_different_keys(first, second):
    assert (result_key(*first) == result_key(*second)) == (first == second)


@given(ODD_NAMES, ODD_NAMES)
def test_the_keys_of_a_run_are_between_its_prefix_and_the_end_of_the_prefix(first, second):
    prefix = result_key(first).removesuffix("]") + ","
    end = f"{prefix}\x7f"
    assert prefix < result_key(first, "m", "p") < end
    assert (prefix < result_key(second, "m", "p") < end) == (first == second)


def test_tasks_of_one_script_have_different_keys():
    """Methods, settings, scenes and protocols each change the key."""
    script = {
        "methods": {"a": {}, "a b": {}},
        "sweep": {"grid": {"matching_cost.truncation": [5, 10], "aggregation.box.size": [1, 3]}},
    }
    tasks: list[Task] = []
    for protocol in ("taxonomy2002", {"base": "taxonomy2002", "threshold": 2}):
        loaded = load(WINDOW | script | {"evaluation": {"protocol": protocol}})
        tasks += tasks_of_script(loaded, [dots("one"), dots("two", seed=1)])
    keys = [key for task in tasks for key in task.keys]
    assert len(set(keys)) == len(keys) == 2 * 2 * 2 * 2 * 2


# --- external maps --------------------------------------------------------------------


@pytest.fixture
def add_map(tmp_path):
    """Return a function that writes an image of disparities and adds it to a folder."""

    def add(levels, scene, protocol=None, *, method):
        path = tmp_path / "map.png"
        write_image(path, levels)
        result = measure_map(path, scene, protocol, method=method, disparity_scale=1)
        add_maps(tmp_path / "out", [result])

    return add


def test_methods_and_scenes_whose_joined_names_are_equal_have_a_map_each(tmp_path, add_map):
    levels = np.full((24, 32), 3, np.uint8)
    names = [("m", "a b"), ("m a", "b")]
    for method, scene_name in names:
        add_map(levels, dots(scene_name), method=method)
    assert [(result.method, result.scene) for result in stored(tmp_path / "out")] == names
    # A second map of a method on a scene replaces the first one.
    add_map(levels, dots("b"), method="m a")
    assert len(stored(tmp_path / "out")) == 2


def test_a_map_that_two_protocols_read_differently_is_stored_twice(tmp_path, add_map):
    """Level 0 is a disparity only if the protocol counts missing estimates as bad."""
    levels = np.full((24, 32), 3, np.uint8)
    levels[:4] = 0
    for missing in ("bad", "apart"):
        protocol = {"base": "taxonomy2002", "missing": missing}
        add_map(levels, dots(), protocol, method="m")
    first, second = stored(tmp_path / "out")
    assert first.id != second.id
    assert first.map != second.map
    assert np.isfinite(first.disparity[:4]).all()
    assert np.isnan(second.disparity[:4]).all()


# --- maps of a sweep ------------------------------------------------------------------


def test_a_second_protocol_evaluates_the_stored_map_of_each_setting(tmp_path):
    script = WINDOW | {"name": "sizes", "sweep": {"grid": {"aggregation.box.size": [1, 3, 5, 7]}}}
    scene = dots()
    first = stereo_framework.run(script, scene, out=tmp_path, maps=True)
    overrides = ["evaluation.protocol=middlebury-v2"]
    second = stereo_framework.run(script, scene, out=tmp_path, maps=True, overrides=overrides)
    computed = stereo_framework.run(script, scene, overrides=overrides)
    assert [dict(r.statistics) for r in second] == [dict(r.statistics) for r in computed]
    for first_result, second_result in zip(first, second, strict=True):
        assert first_result.map == second_result.map
        np.testing.assert_array_equal(first_result.disparity, second_result.disparity)
    assert len({result.map for result in first}) == len(first)
