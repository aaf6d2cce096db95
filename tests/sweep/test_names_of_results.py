"""No two results share a key or a file, however similar their names and identities are."""

import itertools

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


def result(run, value, **changes):
    """A result whose map and confidence hold one value."""
    fields = {
        "scene": "synthetic/planes",
        "method": "m",
        "parameters": {},
        "axes": {},
        "protocol": "p",
    } | changes
    disparity = np.full((2, 3), value, np.float32)
    return Result(id=run, **fields, _disparity=disparity, _confidence={"c": disparity + 1})


@pytest.mark.parametrize("shared", range(16))
def test_runs_whose_identities_begin_alike_have_files_of_their_own(shared, tmp_path):
    first, second = "0123456789abcdef", "0123456789abcdef"[:shared] + "f" * (15 - shared) + "0"
    with Store(tmp_path, create=True) as store:
        for value, run in enumerate((first, second)):
            [kept] = store.with_map([result(run, value)])
            store.add(result_key(run, "m", "p"), kept)
    both = stored(tmp_path, every=True)
    assert [one.disparity[0, 0] for one in both] == [0, 1]
    assert [one.confidence["c"][0, 0] for one in both] == [1, 2]
    assert len({one.map for one in both}) == 2


@pytest.mark.parametrize(
    ("changes", "others"),
    [
        ({"scene": "a/b-c"}, {"scene": "a-b/c"}),
        ({"scene": "a b"}, {"scene": "a_b"}),
        ({"scene": "x" * 90 + "tail"}, {"scene": "y" + "x" * 89 + "tail"}),
        ({"scene": "s_m"}, {"scene": "s", "method": "m_m"}),
    ],
)
def test_scenes_whose_file_names_are_alike_have_maps_of_their_own(changes, others, tmp_path):
    with Store(tmp_path, create=True) as store:
        for value, (run, names) in enumerate((("0" * 15 + "1", changes), ("0" * 15 + "2", others))):
            [kept] = store.with_map([result(run, value, **names)])
            store.add(run, kept)
    assert [one.disparity[0, 0] for one in stored(tmp_path, every=True)] == [0, 1]


TEXTS = st.lists(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=5), min_size=1, max_size=4
)


@given(TEXTS, TEXTS)
def test_different_names_have_different_keys(first, second):
    assert (result_key(*first) == result_key(*second)) == (first == second)


@given(
    st.text(alphabet='ab "\\[],*?%_\x7fü', min_size=1, max_size=4),
    st.text(alphabet='ab "\\[],*?%_\x7fü', min_size=1, max_size=4),
)
def test_results_of_a_run_are_those_of_its_whole_identity(first, second):
    keys = [result_key(run, "m", "p") for run in (first, second)]
    prefix = result_key(first).removesuffix("]") + ","
    assert [prefix < key < f"{prefix}\x7f" for key in keys] == [True, first == second]


def test_maps_of_methods_and_scenes_whose_names_join_alike_are_both_kept(tmp_path):
    scene = dots("b")
    write_image(tmp_path / "map.png", np.full((24, 32), 3, np.uint8))
    names = (("m", "a b"), ("m a", "b"))
    for method, name in names:
        measured = measure_map(tmp_path / "map.png", dots(name), method=method, scale=1)
        add_maps(tmp_path / "out", [measured])
    assert [(one.method, one.scene) for one in stored(tmp_path / "out")] == list(names)
    # The same method on the same scene is replaced.
    add_maps(tmp_path / "out", [measure_map(tmp_path / "map.png", scene, method="m a", scale=1)])
    assert len(stored(tmp_path / "out")) == 2


def test_a_map_that_two_protocols_read_differently_is_kept_twice(tmp_path):
    """The level 0 is a disparity if a protocol counts missing estimates as bad, and no estimate otherwise."""
    levels = np.full((24, 32), 3, np.uint8)
    levels[:4] = 0
    write_image(tmp_path / "map.png", levels)
    scene = dots()
    for missing in ("bad", "apart"):
        protocol = {"base": "taxonomy2002", "missing": missing}
        add_maps(
            tmp_path / "out",
            [measure_map(tmp_path / "map.png", scene, protocol, method="m", scale=1)],
        )
    first, second = stored(tmp_path / "out")
    assert first.id != second.id
    assert first.map != second.map
    assert (np.isfinite(first.disparity[:4]).all(), np.isnan(second.disparity[:4]).all()) == (
        True,
        True,
    )


def test_tasks_of_one_script_have_different_keys():
    """Methods, settings, scenes and protocols each make a key of their own."""
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


def test_a_second_protocol_measures_the_map_of_its_own_run(tmp_path):
    """The map of each setting is read again from its own file."""
    swept = WINDOW | {"name": "sizes", "sweep": {"grid": {"aggregation.box.size": [1, 3, 5, 7]}}}
    scene = dots()
    first = stereo_framework.run(swept, scene, out=tmp_path, maps=True)
    again = stereo_framework.run(
        swept, scene, out=tmp_path, maps=True, overrides=["evaluation.protocol=middlebury-v2"]
    )
    fresh = stereo_framework.run(swept, scene, overrides=["evaluation.protocol=middlebury-v2"])
    assert [dict(one.statistics) for one in again] == [dict(one.statistics) for one in fresh]
    for one, other in zip(first, again, strict=True):
        assert one.map == other.map
        np.testing.assert_array_equal(one.disparity, other.disparity)
    for one, other in itertools.combinations(first, 2):
        assert one.map != other.map
