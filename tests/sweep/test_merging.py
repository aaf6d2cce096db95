"""Tests of merges of results folders: order, equal results, contradictions, files."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from made_results import kept, result
from sweep_parts import SIZES, WINDOW, assert_equal, dots, fails, numbers, stored

import stereo_framework
from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ResultWarning
from stereo_framework.evaluation.metrics import METRICS
from stereo_framework.io import output_folder, write_bytes, write_disparity, write_image
from stereo_framework.io.output_folders import RECORD
from stereo_framework.sweep import Store
from stereo_framework.sweep.computation import Computation
from stereo_framework.sweep.external_maps import add_maps, measure_map
from stereo_framework.sweep.identity import result_key
from stereo_framework.sweep.merged_files import PICTURES
from stereo_framework.sweep.merged_plan import FolderPlan, MethodOnScene, merged_keys
from stereo_framework.sweep.merged_scripts import MergedScripts, ScriptReader
from stereo_framework.sweep.merging import combined_results, merge_folders, united_scripts
from stereo_framework.sweep.origin import ORIGIN, last_record
from stereo_framework.sweep.result import confidence_file

SCENES = [dots("first", seed=1), dots("second", seed=2), dots("third", seed=3)]

OTHER_SCRIPT = {**WINDOW, "name": "medians", "refinement": [{"use": "median", "size": 3}]}
"""A second script, whose method has another name than the method of `SIZES`."""


def run(script, scenes, out, **options):
    """Run a script with an output folder, and return the folder."""
    stereo_framework.run(script, scenes=scenes, out=out, **options)
    return out


def sizes(**axes):
    """Return a script with the name of `SIZES` and some values of its axes."""
    grid = SIZES["sweep"]["grid"] | axes
    return SIZES | {"sweep": {"grid": grid}}


def entries(folder):
    """Return all stored results with their keys and places."""
    with Store(folder) as store:
        return list(store.entries())


def planned_keys(folder):
    """Return the keys of the plan of a folder."""
    with Store(folder) as store:
        return store.planned_keys()


def store_under(folder, results_of_key, planned=None):
    """Store results under given keys, and return the folder.

    The plan contains these keys, unless `planned` has other keys.
    """
    with Store(folder, create=True) as store:
        store.set_listed_keys(results_of_key if planned is None else planned)
        for key, stored_result in results_of_key.items():
            store.add(key, stored_result)
    return folder


def key(number, method="m"):
    """Return the key of a result that no run has made."""
    return result_key(f"{number:016x}", method, "protocol", "0")


def made_result(number=0, **changes):
    """Return a result that no run has made, whose numbers are easy to change."""
    changes = {"id": f"{number:016x}", "environment": {"host": "node1"}} | changes
    statistics = changes.pop("statistics", {"bad_pixels_all": 12.5})
    return result("tiny", {}, statistics, **changes)


def content(folder):
    """Return the contents of all files below a folder."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def assert_same_folder(folder, expected):
    """Check that two folders have the same rows, plans, maps and scripts."""
    assert planned_keys(folder) == planned_keys(expected)
    assert [entry[:2] for entry in entries(folder)] == [entry[:2] for entry in entries(expected)]
    assert_equal(stored(folder), stored(expected))
    assert numbers(stored(folder, every=True)) == numbers(stored(expected, every=True))
    for kind in ("*.resolved.yaml", "maps/*"):
        names = [path.name for path in sorted(folder.glob(kind))]
        assert names == [path.name for path in sorted(expected.glob(kind))]
        for path in folder.glob(kind):
            assert path.read_bytes() == (expected / path.relative_to(folder)).read_bytes()


# --- order of the results -------------------------------------------------------------


def test_folders_of_a_sweep_divided_by_scenes_equal_an_undivided_sweep(tmp_path):
    parts = [run(SIZES, [scene], tmp_path / scene.name, maps=True) for scene in SCENES]
    whole = run(SIZES, SCENES, tmp_path / "whole", maps=True)
    summary = merge_folders(parts, tmp_path / "all")
    assert (summary.result_count, summary.equal_count, summary.missing_count) == (18, 0, 0)
    assert (summary.contradictions, summary.problems) == ((), ())
    assert_same_folder(tmp_path / "all", whole)
    assert_equal(combined_results(parts).results, stored(whole))


def test_folders_of_a_sweep_divided_by_settings_equal_an_undivided_sweep(tmp_path):
    values = {"matching_cost.truncation": [10]}, {"matching_cost.truncation": [None]}
    parts = [run(sizes(**axes), SCENES[:2], tmp_path / f"part{i}") for i, axes in enumerate(values)]
    whole = run(SIZES, SCENES[:2], tmp_path / "whole")
    merge_folders(parts, tmp_path / "all")
    assert planned_keys(tmp_path / "all") == planned_keys(whole)
    assert numbers(stored(tmp_path / "all")) == numbers(stored(whole))
    assert numbers(combined_results(parts).results) == numbers(stored(whole))


def test_scripts_stay_together_if_the_folders_are_divided_by_scenes(tmp_path):
    scripts = [tmp_path / "sizes.yaml", tmp_path / "medians.yaml"]
    for path, script in zip(scripts, (SIZES, OTHER_SCRIPT), strict=True):
        path.write_text(yaml.safe_dump(script))
    folders = {"a": ["planes"], "b": ["slanted"], "whole": ["planes", "slanted"]}
    for name, scenes in folders.items():
        words = [word for scene in scenes for word in ("--scene", f"synthetic/{scene}")]
        assert invoke_run(*scripts, *words, "--out", tmp_path / name) == 0
    merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "all")
    assert_same_folder(tmp_path / "all", tmp_path / "whole")
    methods = [(r.method, r.scene) for r in stored(tmp_path / "all")]
    assert methods[-2:] == [("medians", "synthetic/planes"), ("medians", "synthetic/slanted")]


def invoke_run(*words):
    """Run a command line on small scenes, and return its exit status."""
    from cli_parts import invoke
    from small_scenes import cut_scenes

    with pytest.MonkeyPatch.context() as patch:
        cut_scenes(patch)
        return invoke("run", *words).exit_code


def test_a_folder_that_is_merged_alone_keeps_its_order(tmp_path):
    folder = run(SIZES, SCENES[:2], tmp_path / "one")
    run(OTHER_SCRIPT, SCENES[:2], folder)
    merge_folders([folder], tmp_path / "all")
    assert [entry[:2] for entry in entries(tmp_path / "all")] == [
        entry[:2] for entry in entries(folder)
    ]


def plan(rows, scripts=None, missing=()):
    """Return the plan of a folder from texts such as "a1 method scene"."""
    origins = {}
    keys = []
    for row in rows:
        name, method, scene = row.split()
        keys.append(name)
        if name not in missing:
            origins[name] = MethodOnScene(method, scene)
    return FolderPlan(keys, origins, scripts or {})


def test_folders_of_a_sweep_divided_by_methods_or_by_an_axis_have_the_usual_order():
    whole = plan(["a m s", "b m s", "c n s", "d n s", "e m t", "f m t", "g n t", "h n t"])
    methods = [
        plan(["a m s", "b m s", "e m t", "f m t"]),
        plan(["c n s", "d n s", "g n t", "h n t"]),
    ]
    axes = [plan(["a m s", "c n s", "e m t", "g n t"]), plan(["b m s", "d n s", "f m t", "h n t"])]
    for plans in ([whole], methods, axes):
        assert merged_keys(plans) == list("abcdefgh")


def test_results_are_sorted_by_script_then_by_scene_then_by_folder():
    scripts = {"m": ["one"], "n": ["two"]}
    first = plan(["a m s", "b m t", "c n s"], scripts)
    second = plan(["d n t", "b m t", "e m s", "f m u"], scripts)
    assert merged_keys([first, second]) == ["a", "e", "b", "f", "c", "d"]
    assert merged_keys([second, first]) == ["d", "c", "b", "e", "a", "f"]
    assert merged_keys([]) == []


def test_scripts_with_a_common_method_are_distinguished_by_the_order_of_a_plan():
    scripts = {"x": ["one", "two"], "y": ["one"], "z": ["two"]}
    rows = ["a x s", "b y s", "c x t", "d y t", "e x s", "f z s", "g x t", "h z t"]
    assert merged_keys([plan(rows, scripts)]) == list("abcdefgh")
    divided = [plan([row for row in rows if row.endswith(scene)], scripts) for scene in ("s", "t")]
    assert merged_keys(divided) == list("abcdefgh")


def test_scripts_with_the_same_methods_are_distinguished_by_their_scenes():
    scripts = {"x": ["one", "two"]}
    rows = ["a x s", "b x t", "c x s", "d x t"]
    assert merged_keys([plan(rows, scripts)]) == list("abcd")


def test_results_without_a_script_keep_the_order_of_their_scenes():
    assert merged_keys([plan(["a m s", "b m t"]), plan(["c m s"])]) == ["a", "c", "b"]


def test_a_missing_result_stands_after_the_result_before_it():
    first = plan(["a m s", "b m s", "c m t"], missing={"a", "b"})
    assert merged_keys([first, plan(["d m s"])]) == ["a", "b", "c", "d"]
    # Another folder has computed one of the missing results.
    assert merged_keys([first, plan(["b m s", "d m s"])]) == ["a", "b", "d", "c"]


def test_a_folder_without_any_result_keeps_its_place():
    rows = [["a m s"], ["b m t", "c m t"], ["d m u"]]
    plans = [plan(rows[0]), plan(rows[1], missing={"b", "c"}), plan(rows[2])]
    assert merged_keys(plans) == ["a", "b", "c", "d"]
    assert merged_keys([plans[0], plans[1], plans[1]]) == ["a", "b", "c"]


# --- equal results --------------------------------------------------------------------


def test_results_that_several_folders_contain_are_kept_once(tmp_path):
    first = run(sizes(**{"aggregation.box.size": [1, 3]}), SCENES[:1], tmp_path / "first")
    second = run(sizes(**{"aggregation.box.size": [3, 5]}), SCENES[:1], tmp_path / "second")
    summary = merge_folders([first, second], tmp_path / "all")
    assert (summary.result_count, summary.equal_count) == (6, 2)
    run_times = [r.seconds for r in stored(tmp_path / "all")]
    assert run_times[:4] == [r.seconds for r in stored(first)]
    assert len(combined_results([first, second]).results) == 6
    assert numbers(combined_results([first]).results) == numbers(stored(first))


def test_the_map_is_taken_from_a_folder_that_has_it(tmp_path):
    without_maps = run(WINDOW, SCENES[:1], tmp_path / "without", maps=False)
    with_maps = run(WINDOW, SCENES[:1], tmp_path / "with", maps=True)
    for order in ([without_maps, with_maps], [with_maps, without_maps]):
        out = tmp_path / f"all_{order[0].name}"
        assert merge_folders(order, out).equal_count == 1
        assert_equal(stored(out), stored(with_maps))
        [chosen_result] = combined_results(order).results
        assert chosen_result.map == stored(with_maps)[0].map
    # The file of a map may have been deleted.
    stored(with_maps)[0].map.unlink()
    merge_folders([with_maps], tmp_path / "deleted")
    assert stored(tmp_path / "deleted")[0].map is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"x": math.nan}, {"x": math.nan}),
        ({"x": 0.0}, {"x": -0.0}),
        ({"x": 1, "y": 2.0}, {"y": 2, "x": 1.0}),
        ({}, {}),
    ],
)
def test_numbers_are_compared_by_value(tmp_path, first, second):
    folders = []
    for name, statistics in (("first", first), ("second", second)):
        changes = {"statistics": statistics, "seconds": {"matching_cost": float(len(name))}}
        folders.append(store_under(tmp_path / name, {key(1): made_result(1, **changes)}))
    assert merge_folders(folders, tmp_path / "all").contradictions == ()
    assert len(stored(tmp_path / "all")) == 1


def test_a_result_replaces_the_error_of_another_folder(tmp_path):
    error = {"statistics": {}, "error": "no luck", "energy": None}
    failed = store_under(tmp_path / "failed", {key(1): made_result(1, **error)})
    succeeded = store_under(tmp_path / "succeeded", {key(1): made_result(1)})
    for order in ([failed, succeeded], [succeeded, failed], [failed, succeeded, failed]):
        out = tmp_path / "_".join(folder.name for folder in order)
        assert merge_folders(order, out).contradictions == ()
        assert [(e.key, e.result.error) for e in entries(out)] == [(key(1), None)]
        assert [r.error for r in combined_results(order).results] == [None]
    merge_folders([failed, failed], tmp_path / "both")
    assert [r.error for r in stored(tmp_path / "both")] == ["no luck"]
    # A merged folder gets the result when the other folder has it.
    merge_folders([failed], tmp_path / "grows")
    merge_folders([failed, succeeded], tmp_path / "grows")
    assert [r.error for r in stored(tmp_path / "grows")] == [None]


def test_a_failed_run_is_merged_with_its_error(tmp_path):
    folder = run(fails(tmp_path, [-1, 0]), SCENES[:1], tmp_path / "one")
    merge_folders([folder], tmp_path / "all")
    assert numbers(stored(tmp_path / "all")) == numbers(stored(folder))
    assert [bool(r.error) for r in stored(tmp_path / "all")] == [False, True]


# --- contradictions -------------------------------------------------------------------


@pytest.fixture
def contradicting(tmp_path):
    """Return two folders that disagree about a statistic of one of three results."""
    first = store_under(tmp_path / "first", {key(i): made_result(i) for i in range(3)})
    statistics = {"fraction_matched": 1.0, "bad_pixels_all": 12.25}
    other = made_result(1, statistics=statistics, environment={"host": "node2"})
    results = {key(0): made_result(0), key(1): other, key(2): made_result(2)}
    return [first, store_under(tmp_path / "second", results)]


def values(folder):
    """Return the bad pixels of the stored results by their keys."""
    return {e.key: e.result.statistics["bad_pixels_all"] for e in entries(folder)}


def test_contradicting_results_are_both_kept_and_reported(contradicting, tmp_path):
    out = tmp_path / "all"
    summary = merge_folders(contradicting, out)
    [contradiction] = summary.contradictions
    assert contradiction.message.startswith(
        "tiny m: two computations of this run contradict each other: bad_pixels_all is 12.5 on "
        "node1 and 12.25 on node2; both results are kept; compute the run again"
    )
    [other_key] = set(values(out)) - {key(0), key(1), key(2)}
    assert planned_keys(out) == [key(0), key(1), key(2), other_key]
    assert (values(out)[key(1)], values(out)[other_key]) == (12.5, 12.25)
    parts = json.loads(other_key)
    assert (json.dumps(parts[:-1]), parts[-1][:14]) == (key(1), "contradiction ")

    combined = combined_results(contradicting)
    assert [r.statistics for r in combined.results] == [r.statistics for r in stored(out)]
    assert combined.warnings == [contradiction.message]


def test_merging_contradicting_results_again_gives_the_same_keys(contradicting, tmp_path):
    out = tmp_path / "all"
    merge_folders(contradicting, out)
    before = values(out)
    plan_before = planned_keys(out)
    for folders in (contradicting, contradicting[::-1], [contradicting[1]]):
        assert len(merge_folders(folders, out).contradictions) == 1
        assert (values(out), planned_keys(out)) == (before, plan_before)
    # The result of the second folder has the key of the run if it comes first.
    merge_folders(contradicting[::-1], tmp_path / "reversed")
    for folders in ([out, tmp_path / "reversed"], [tmp_path / "reversed", out]):
        again = tmp_path / f"again_{folders[0].name}"
        assert len(merge_folders(folders, again).contradictions) == 1
        assert values(again) == values(folders[0])


def test_three_different_results_of_a_run_are_two_contradictions(tmp_path):
    folders = []
    for number in (1.0, 2.0, 3.0, 2.0):
        folder = tmp_path / f"part{len(folders)}"
        numbered = made_result(1, statistics={"bad_pixels_all": number})
        folders.append(store_under(folder, {key(1): numbered}))
    summary = merge_folders(folders, tmp_path / "all")
    assert (len(summary.contradictions), summary.result_count) == (2, 3)
    assert summary.equal_count == 1


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"energy": 2.0}, "energy is 1.0 on node1 and 2.0 on node1"),
        ({"energy": None}, "energy is 1.0 on node1 and missing on node1"),
        ({"statistics": {}}, "bad_pixels_all is 12.5 on node1 and missing on node1"),
        (
            {"statistics": {"bad_pixels_all": math.nan}},
            "bad_pixels_all is 12.5 on node1 and nan on node1",
        ),
        ({"id": "f" * 16}, "the disparity maps of node1 and node1 differ"),
        (
            {"statistics": {"bad_pixels_all": 0.1 + 0.2}, "environment": {}},
            "bad_pixels_all is 12.5 on node1 and 0.30000000000000004 on an unknown host",
        ),
    ],
)
def test_any_other_number_is_a_contradiction(tmp_path, changes, difference):
    first = store_under(tmp_path / "first", {key(1): made_result(1)})
    second = store_under(tmp_path / "second", {key(1): made_result(1, **changes)})
    [contradiction] = merge_folders([first, second], tmp_path / "all").contradictions
    assert difference in contradiction.message


def test_contradicting_maps_are_store_under_different_names(tmp_path):
    first = run(WINDOW, SCENES[:1], tmp_path / "first", maps=True)
    shutil.copytree(first, tmp_path / "second")
    with Store(tmp_path / "second", create=True) as store:
        [entry] = store.entries()
        statistics = {**entry.result.statistics, "bad_pixels_all": 99.0}
        other = np.full((24, 32), 5, np.float32)
        write_disparity(entry.result.map, other)
        write_image(store.folder / PICTURES / f"{entry.result.map.stem}_bad.png", np.eye(9) > 0)
        store.add(entry.key, replace(entry.result, statistics=statistics))
    folders = [first, tmp_path / "second"]
    for _ in range(2):
        merge_folders(folders, tmp_path / "all")
        merged_results = stored(tmp_path / "all")
        np.testing.assert_array_equal(merged_results[0].disparity, stored(first)[0].disparity)
        np.testing.assert_array_equal(merged_results[1].disparity, other)
        assert len(list((tmp_path / "all/maps").iterdir())) == 2
        assert [r.changed_files() for r in merged_results] == [[], []]
        [picture] = (tmp_path / "all" / PICTURES).iterdir()
        assert picture.name == f"{merged_results[1].map.stem}_bad.png"
    # The pictures of both maps keep their names in a further merge.
    merge_folders([tmp_path / "all"], tmp_path / "again")
    assert_equal(stored(tmp_path / "again"), merged_results)
    assert [path.name for path in (tmp_path / "again" / PICTURES).iterdir()] == [picture.name]


# --- plans ----------------------------------------------------------------------------


def cut_short(folder, count):
    """Run a script until some results are stored, as a killed run does."""
    results = Computation.results_of

    def stops(self, tasks):
        for i, computed in enumerate(results(self, tasks)):
            if i == count:
                raise KeyboardInterrupt
            yield computed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Computation, "results_of", stops)
        with pytest.raises(KeyboardInterrupt):
            run(SIZES, [SCENES[1]], folder, workers=1)
    return folder


def test_missing_results_stay_planned_until_a_later_merge_has_them(tmp_path):
    first = run(SIZES, SCENES[:1], tmp_path / "first")
    second = cut_short(tmp_path / "second", 2)
    third = run(SIZES, SCENES[2:], tmp_path / "third")
    folders = [first, second, third]
    out = tmp_path / "all"
    summary = merge_folders(folders, out)
    assert (summary.result_count, summary.missing_count) == (14, 4)
    assert len(planned_keys(out)) == 18
    with Store(out) as store:
        assert store.lacking().startswith("4 results are still missing")
    combined = combined_results(folders)
    assert (len(combined.results), combined.missing_count) == (14, 4)
    assert combined.missing_text.startswith(
        "4 planned results are in none of the folders; if no run"
    )

    run(SIZES, [SCENES[1]], second)
    assert merge_folders(folders, out).missing_count == 0
    whole = run(SIZES, SCENES, tmp_path / "whole")
    assert planned_keys(out) == planned_keys(whole)
    assert numbers(stored(out)) == numbers(stored(whole))
    assert combined_results(folders).missing_text == ""


def test_a_folder_without_a_result_adds_its_plan(tmp_path):
    with Store(tmp_path / "empty", create=True) as store:
        store.set_listed_keys([key(7)])
    first = store_under(tmp_path / "first", {key(1): made_result(1)})
    summary = merge_folders([tmp_path / "empty", first], tmp_path / "all")
    assert (summary.result_count, summary.missing_count) == (1, 1)
    assert planned_keys(tmp_path / "all") == [key(7), key(1)]


def test_results_of_earlier_plans_stay_results_of_earlier_plans(tmp_path):
    first = run(OTHER_SCRIPT, SCENES[:1], tmp_path / "first")
    run(SIZES, SCENES[:1], first)
    second = run(SIZES, SCENES[1:2], tmp_path / "second")
    out = tmp_path / "all"
    merge_folders([first, second], out)
    assert {r.method for r in stored(out)} == {"sizes"}
    assert [r.method for r in stored(out, every=True)].count("medians") == 1
    assert [e.result.method for e in entries(out) if e.place is None] == ["medians"]
    combined = combined_results([first, second], every=True)
    assert [r.method for r in combined.results][-1] == "medians"
    assert "medians" not in {r.method for r in combined_results([first, second]).results}
    # A result is planned if one of the folders has planned it.
    third = run(OTHER_SCRIPT, SCENES[:1], tmp_path / "third")
    merge_folders([first, third], tmp_path / "planned")
    assert [e for e in entries(tmp_path / "planned") if e.place is None] == []


def external(folder, shift, method="theirs"):
    """Evaluate a disparity map of another program, and store it in a folder."""
    scene = stereo_framework.load_scene("synthetic/planes")
    path = folder.with_name(f"{method}.pfm")
    write_disparity(path, scene.truth + np.float32(shift))
    add_maps(folder, [measure_map(path, scene, method=method)])
    return folder


def test_external_maps_stay_external_maps(tmp_path, small_scenes):
    first = external(run(WINDOW, SCENES[:1], tmp_path / "first"), 0)
    second = external(external(tmp_path / "second", 0), 2, "others")
    out = tmp_path / "all"
    for _ in range(2):
        merge_folders([first, second], out)
        assert [e.place for e in entries(out)] == [0, -1, -1]
    assert [r.method for r in stored(out)] == ["script", "theirs", "others"]
    assert [r.changed_files() for r in stored(out)] == [[]] * 3
    expected = [r.statistics for r in [*stored(first), stored(second)[1]]]
    assert [r.statistics for r in stored(out)] == expected
    combined = combined_results([second, first])
    assert [r.method for r in combined.results] == ["script", "theirs", "others"]


def test_external_maps_of_one_name_may_contradict_each_other(tmp_path, small_scenes):
    folders = [external(tmp_path / "first", 0), external(tmp_path / "second", 2)]
    for _ in range(2):
        summary = merge_folders(folders, tmp_path / "all")
        [contradiction] = summary.contradictions
        assert contradiction.message.startswith(
            "synthetic/planes theirs: two maps of this name on this scene have different numbers: "
        )
        assert "wrong" not in contradiction.message
        assert [e.place for e in entries(tmp_path / "all")] == [-1, -1]
    first, second = stored(tmp_path / "all")
    assert first.map != second.map
    assert second.disparity[0, 0] == first.disparity[0, 0] + 2


# --- folders --------------------------------------------------------------------------


def test_merged_folders_are_only_read(tmp_path):
    folders = [run(SIZES, [scene], tmp_path / scene.name, maps=True) for scene in SCENES[:2]]
    before = [content(folder) for folder in folders]
    merge_folders(folders, tmp_path / "all")
    combined_results(folders)
    assert [content(folder) for folder in folders] == before


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_folders_without_permission_to_write_are_merged(tmp_path):
    folder = run(WINDOW, SCENES[:1], tmp_path / "one", maps=True)
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        merge_folders([folder], tmp_path / "all")
    finally:
        for path in paths:
            path.chmod(0o755 if path.is_dir() else 0o644)
    assert_equal(stored(tmp_path / "all"), stored(folder))
    # The copies can be replaced by later runs.
    run(WINDOW, SCENES[:1], tmp_path / "all", maps=True)


def test_merged_folders_can_be_merged_again(tmp_path):
    parts = [run(SIZES, [scene], tmp_path / scene.name, maps=True) for scene in SCENES]
    merge_folders(parts, tmp_path / "flat")
    merge_folders(parts[:2], tmp_path / "half")
    merge_folders([tmp_path / "half", parts[2], parts[0]], tmp_path / "nested")
    assert_same_folder(tmp_path / "nested", tmp_path / "flat")


def test_results_are_added_to_a_folder_that_has_results(tmp_path):
    parts = [run(SIZES, [scene], tmp_path / scene.name, maps=True) for scene in SCENES]
    merge_folders(parts[:1], tmp_path / "all")
    merge_folders(parts[1:], tmp_path / "all")
    merge_folders(parts, tmp_path / "at_once")
    assert_same_folder(tmp_path / "all", tmp_path / "at_once")


def test_a_merge_of_folders_inside_the_output_folder(tmp_path):
    parts = [run(SIZES, [scene], tmp_path / scene.name, maps=True) for scene in SCENES[:2]]
    summary = merge_folders(parts, tmp_path)
    assert (summary.result_count, summary.problems) == (12, ())
    assert [r.changed_files() for r in stored(tmp_path)] == [[]] * 12


def test_a_run_in_the_merged_folder_computes_nothing_again(tmp_path, monkeypatch):
    parts = [run(SIZES, [scene], tmp_path / scene.name, maps=True) for scene in SCENES[:2]]
    merge_folders(parts, tmp_path / "all")
    computed_tasks = []
    results_of = Computation.results_of

    def counted(self, tasks):
        computed_tasks.extend(tasks)
        return results_of(self, tasks)

    monkeypatch.setattr(Computation, "results_of", counted)
    run(SIZES, SCENES, tmp_path / "all", maps=True)
    assert {task.scene.name for task in computed_tasks} == {"third"}


@pytest.mark.parametrize("name", ["part", "./part/", "link"])
def test_the_output_folder_is_none_of_the_merged_folders(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    folder = kept(tmp_path / "part", [made_result()])
    (tmp_path / "link").symlink_to(folder)
    before = content(folder)
    with pytest.raises(DataError, match="is the output folder and also one of the merged folders"):
        merge_folders([tmp_path / "part"], Path(name))
    assert content(folder) == before


def test_nothing_is_written_if_a_folder_has_no_results(tmp_path):
    folder = kept(tmp_path / "part", [made_result()])
    with pytest.raises(DataError, match="no results there"):
        merge_folders([folder, tmp_path / "missing"], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_a_merge_is_refused_while_another_command_writes_to_the_output_folder(tmp_path):
    folder = kept(tmp_path / "part", [made_result()])
    with Store(tmp_path / "all", create=True), pytest.raises(DataError, match="holds the lock"):
        merge_folders([folder], tmp_path / "all")


# --- killed merges --------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 5, 11])
def test_a_stopped_merge_is_completed_by_the_same_call(tmp_path, monkeypatch, count):
    parts = [run(SIZES, [scene], tmp_path / scene.name, maps=True) for scene in SCENES[:2]]
    add = Store.add
    added_keys = []

    def stops(self, key, *arguments, **options):
        if len(added_keys) == count:
            raise KeyboardInterrupt
        added_keys.append(key)
        add(self, key, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "add", stops)
        with pytest.raises(KeyboardInterrupt):
            merge_folders(parts, tmp_path / "all")
    assert len(stored(tmp_path / "all")) == count
    with Store(tmp_path / "all") as store:
        assert store.lacking().startswith(f"{12 - count} result")
    merge_folders(parts, tmp_path / "all")
    merge_folders(parts, tmp_path / "at_once")
    assert_same_folder(tmp_path / "all", tmp_path / "at_once")


KILLED = """
import os, signal, sys
from pathlib import Path
from stereo_framework.sweep.merging import merge_folders

count = int(sys.argv[1])

def watch(event, arguments):
    # The process is killed when it gives a file its final name.
    global count
    if event == "os.rename":
        count -= 1
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
*folders, out = map(Path, sys.argv[2:])
merge_folders(folders, out)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends signals")
@pytest.mark.parametrize("count", [1, 4])
def test_a_killed_merge_is_completed_by_the_same_call(tmp_path, count):
    parts = [run(WINDOW, [scene], tmp_path / scene.name, maps=True) for scene in SCENES]
    words = [str(count), *map(str, parts), str(tmp_path / "all")]
    killed = subprocess.run([sys.executable, "-c", KILLED, *words], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert merge_folders(parts, tmp_path / "all").problems == ()
    merge_folders(parts, tmp_path / "at_once")
    assert_same_folder(tmp_path / "all", tmp_path / "at_once")
    leftovers = [path.name for path in (tmp_path / "all/maps").iterdir()]
    assert len(leftovers) == 3


# --- changed and hostile files --------------------------------------------------------


def test_a_changed_map_is_not_copied(tmp_path):
    folder = run(SIZES, SCENES[:1], tmp_path / "one", maps=True)
    changed = stored(folder)[2].map
    write_disparity(changed, np.zeros((24, 32), np.float32))
    summary = merge_folders([folder], tmp_path / "all")
    [problem] = summary.problems
    assert problem.startswith(f"{changed}: the file is not copied, because it is not as this")
    merged = stored(tmp_path / "all")
    assert [r.map is None for r in merged] == [False, False, True, False, False, False]
    assert numbers(merged) == numbers(stored(folder))
    # In memory, the map stays where it is, and is reported as changed.
    assert combined_results([folder, folder]).results[2].changed_files() == [changed]


def test_a_map_without_a_record_of_its_content_is_not_copied(tmp_path):
    folder = run(WINDOW, SCENES[:1], tmp_path / "one", maps=True)
    (folder / RECORD).unlink()
    [problem] = merge_folders([folder], tmp_path / "all").problems
    assert f"its folder was copied without the file {RECORD}" in problem
    assert stored(tmp_path / "all")[0].map is None


@pytest.mark.parametrize("changed", ["map", "confidence"])
def test_a_map_and_its_confidence_maps_are_copied_together(tmp_path, changed):
    script = {**WINDOW, "confidence": ["curvature", "peak_ratio"]}
    folder = run(script, SCENES[:1], tmp_path / "one", maps=True)
    merge_folders([folder], tmp_path / "all")
    [merged] = stored(tmp_path / "all")
    assert list(merged.confidence) == ["curvature", "peak_ratio"]
    for name, confidence in stored(folder)[0].confidence.items():
        np.testing.assert_array_equal(merged.confidence[name], confidence)

    map_file = stored(folder)[0].map
    path = map_file if changed == "map" else confidence_file(map_file, "curvature")
    path.write_bytes(path.read_bytes()[:-4] + b"abcd")
    assert len(merge_folders([folder], tmp_path / "refused").problems) == 1
    assert stored(tmp_path / "refused")[0].map is None
    assert not (tmp_path / "refused/maps").exists()


def test_pictures_are_copied_unless_they_were_changed(tmp_path):
    folder = run(WINDOW, SCENES[:1], tmp_path / "one", maps=True)
    stem = stored(folder)[0].map.stem
    with output_folder(folder):
        for end in ("bad", "overview"):
            write_bytes(folder / PICTURES / f"{stem}_{end}.png", end.encode())
    (folder / PICTURES / f"{stem}_bad.png").write_bytes(b"changed")
    (folder / PICTURES / f"{stem}x_other.png").write_bytes(b"of another map")
    [problem] = merge_folders([folder], tmp_path / "all").problems
    assert f"{stem}_bad.png: the file is not copied" in problem
    [picture] = (tmp_path / "all" / PICTURES).iterdir()
    assert (picture.name, picture.read_bytes()) == (f"{stem}_overview.png", b"overview")


def test_files_of_the_user_in_the_output_folder_are_not_replaced(tmp_path):
    folder = run(WINDOW, SCENES[:1], tmp_path / "one", maps=True)
    (tmp_path / "all").mkdir()
    (tmp_path / "all/script.resolved.yaml").write_text("# mine")
    with pytest.raises(DataError, match="was not written by this program"):
        merge_folders([folder], tmp_path / "all")
    assert (tmp_path / "all/script.resolved.yaml").read_text() == "# mine"


def test_a_map_of_the_user_in_the_output_folder_is_not_replaced(tmp_path):
    folder = run(WINDOW, SCENES[:1], tmp_path / "one", maps=True)
    name = stored(folder)[0].map.name
    (tmp_path / "all/maps").mkdir(parents=True)
    (tmp_path / "all/maps" / name).write_bytes(b"mine")
    merge_folders([folder], tmp_path / "all")
    [merged] = stored(tmp_path / "all")
    assert (tmp_path / "all/maps" / name).read_bytes() == b"mine"
    assert merged.map.name != name
    np.testing.assert_array_equal(merged.disparity, stored(folder)[0].disparity)


def test_a_map_that_is_a_link_is_not_followed(tmp_path):
    folder = run(WINDOW, SCENES[:1], tmp_path / "one", maps=True)
    path = stored(folder)[0].map
    (tmp_path / "secret").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    assert len(merge_folders([folder], tmp_path / "all").problems) == 1
    assert not (tmp_path / "all/maps").exists()
    # A link in place of the folder of the maps leads out of the folder.
    path.unlink()
    (folder / "maps").rmdir()
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(tmp_path / "secret", tmp_path / "elsewhere" / path.name)
    (folder / "maps").symlink_to(tmp_path / "elsewhere")
    [problem] = merge_folders([folder], tmp_path / "again").problems
    assert "leads out of the folder" in problem


@pytest.mark.parametrize("name", ["maps", "pictures", "plugins", "a.resolved.yaml", ORIGIN])
def test_nothing_is_written_through_a_link_in_the_output_folder(tmp_path, name):
    script = {"name": "a", "plugins": ["plugins/p.py"]}
    folder = with_sources(tmp_path / "one", {"plugins/p.py": "P = 1"}, script)
    run(WINDOW, SCENES[:1], folder, maps=True)
    [map_file] = (folder / "maps").iterdir()
    with output_folder(folder):
        write_bytes(folder / PICTURES / f"{map_file.stem}_bad.png", b"bad")
    (tmp_path / "victim/folder").mkdir(parents=True)
    (tmp_path / "victim/file").write_text("mine")
    (tmp_path / "all").mkdir()
    target = "folder" if (folder / name).is_dir() else "file"
    (tmp_path / "all" / name).symlink_to(tmp_path / "victim" / target)
    before = content(tmp_path / "victim")
    with pytest.raises(DataError, match="no file is written there|not written by this program"):
        merge_folders([folder], tmp_path / "all")
    assert content(tmp_path / "victim") == before


@pytest.mark.parametrize("identity", ["../../evil", "a/b", "a\nb", "..", "x" * 200])
def test_the_identity_of_a_run_cannot_choose_another_folder(tmp_path, identity):
    folder = tmp_path / "one"
    with Store(folder, create=True) as store:
        path = folder / "maps/any.pfm"
        write_disparity(path, np.zeros((4, 5), np.float32))
        store.set_listed_keys([key(1)])
        store.add(key(1), made_result(1, id=identity, map=path))
    before = set(tmp_path.iterdir())
    [problem] = merge_folders([folder], tmp_path / "all").problems
    assert "cannot be part of a file name" in problem
    assert "\n" not in problem
    assert set(tmp_path.iterdir()) - before == {tmp_path / "all"}
    assert not (tmp_path / "all/maps").exists()


# --- scripts --------------------------------------------------------------------------


def united(*scripts):
    """Return the united scripts by the names of their files."""
    merged_scripts = MergedScripts()
    for script in scripts:
        merged_scripts.add(script)
    return merged_scripts.scripts


def test_scripts_that_differ_only_in_their_scenes_become_one():
    first = {"name": "a", "scenes": ["s", "t"], "seed": 0}
    second = {"name": "a", "scenes": ["u", "s"], "seed": 0}
    assert united(first, second, first) == {
        "a.resolved.yaml": {"name": "a", "scenes": ["s", "t", "u"], "seed": 0}
    }
    assert first["scenes"] == ["s", "t"]
    [script] = united({"name": "a", "seed": 0}, second).values()
    assert script["scenes"] == ["u", "s"]


def test_scripts_that_differ_otherwise_are_numbered():
    scripts = [{"name": "a", "seed": value} for value in (1, 1.0, True, 2, 1)]
    files = united(*scripts)
    assert list(files) == [
        "a.resolved.yaml",
        "a-2.resolved.yaml",
        "a-3.resolved.yaml",
        "a-4.resolved.yaml",
    ]
    # On some systems, names that differ only in case name the same file.
    assert list(united({"name": "a"}, {"name": "A"})) == ["a.resolved.yaml", "A-2.resolved.yaml"]


def test_values_and_methods_of_single_scenes_are_united():
    method = {"seed": 0}
    first = {
        "name": "a",
        "scenes": ["s"],
        "methods": {"m": {**method, "by_scene": {"s": {"x": 1}}}, "n": {"scenes": ["s"], "y": 1}},
    }
    second = {
        "name": "a",
        "scenes": ["t"],
        "methods": {"m": {**method, "by_scene": {"t": {"x": 2}}}, "o": {"scenes": ["t"], "y": 2}},
    }
    [script] = united(first, second).values()
    assert script["methods"] == {
        "m": {"seed": 0, "by_scene": {"s": {"x": 1}, "t": {"x": 2}}},
        "n": {"scenes": ["s"], "y": 1},
        "o": {"scenes": ["t"], "y": 2},
    }
    third = {"name": "a", "scenes": ["s"], "methods": {"m": {**method, "by_scene": {"s": {}}}}}
    assert len(united(first, third)) == 2
    fourth = {"name": "a", "methods": {"m": method, "n": {"scenes": ["t"], "y": 5}}}
    assert len(united(first, fourth)) == 2


def test_scripts_of_merged_folders_are_not_numbered_again(tmp_path):
    values = {"matching_cost.truncation": [10]}, {"matching_cost.truncation": [None]}
    parts = [run(sizes(**axes), SCENES[:1], tmp_path / f"part{i}") for i, axes in enumerate(values)]
    out = tmp_path / "all"
    for folders in (parts, parts[::-1], parts):
        merge_folders(folders, out)
        assert sorted(united_scripts([out])) == ["sizes-2.resolved.yaml", "sizes.resolved.yaml"]
    expected = [yaml.safe_load((part / "sizes.resolved.yaml").read_text()) for part in parts]
    first, second = [out / "sizes.resolved.yaml", out / "sizes-2.resolved.yaml"]
    assert [yaml.safe_load(first.read_text()), yaml.safe_load(second.read_text())] == expected


HOSTILE_SCRIPTS = {
    "a tag": "name: a\nseed: !!python/object/apply:os.system ['touch hacked']\n",
    "a list": "- 1\n",
    "no YAML": "name: [\n",
    "a path as name": "name: ../../a\n",
    "a name of another type": "name: 5\n",
    "scenes of another type": "name: a\nscenes: {b: 1}\n",
    "a scene of another type": "name: a\nscenes: [[b]]\n",
    "methods of another type": "name: a\nmethods: [b]\n",
    "a method of another type": "name: a\nmethods: {b: 1}\n",
    "values of scenes of another type": "name: a\nby_scene: [b]\n",
    "aliases": "name: a\nb: &b [x, x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"c{i}: &c{i} [{', '.join([f'*c{i - 1}' if i else '*b'] * 10)}]\n" for i in range(9)),
    "deep lists": f"name: a\nb: {'[' * 5000}\n",
    "bytes": "name: \x00\n",
}


@pytest.mark.parametrize("name", HOSTILE_SCRIPTS)
def test_a_hostile_script_is_left_out(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    folder = run(WINDOW, SCENES[:1], tmp_path / "one")
    (folder / "bad.resolved.yaml").write_text(HOSTILE_SCRIPTS[name])
    summary = merge_folders([folder], tmp_path / "all")
    [problem] = summary.problems
    assert problem.startswith(f"{folder / 'bad.resolved.yaml'}")
    assert problem.endswith("; the script is left out")
    with pytest.warns(ResultWarning, match="the script is left out"):
        assert list(united_scripts([folder, tmp_path / "all"])) == ["script.resolved.yaml"]
    assert {path.name for path in tmp_path.iterdir()} == {"one", "all"}


@pytest.mark.skipif(os.name != "posix", reason="names of files of POSIX")
def test_the_name_of_a_script_file_may_be_hostile(tmp_path):
    folder = run(WINDOW, SCENES[:1], tmp_path / "one")
    (folder / "a\x1b[31m\nb.resolved.yaml").write_text("name: a")
    [problem] = merge_folders([folder], tmp_path / "all").problems
    assert "cannot be the name of a file" in problem
    assert problem.isprintable()
    reader = ScriptReader()
    reader.read(folder)
    assert reader.problems == [problem]


# --- other files ----------------------------------------------------------------------


PLUGIN = '''
from stereo_framework.stages import stage

@stage("refinement", source="a test")
def {name}(disparity):
    """Return the map."""
    return disparity + {shift}
'''


def with_sources(folder, files, script):
    """Write a results folder with source files and a script that names them."""
    store_under(folder, {key(1): made_result(1)})
    with output_folder(folder):
        for name, text in files.items():
            write_bytes(folder / name, text.encode())
        write_bytes(folder / "a.resolved.yaml", yaml.safe_dump(script).encode())
    return folder


def test_equal_sources_are_copied_once_and_others_to_a_numbered_subfolder(tmp_path):
    script = {
        "name": "a",
        "plugins": ["plugins/p.py", "installed_module"],
        "matcher": {"use": "python", "function": "plugins/2/f.py:match"},
        "report": {"note": "plugins/p.py"},
    }
    files = {"plugins/p.py": "P = 1", "plugins/2/f.py": "F = 1"}
    first = with_sources(tmp_path / "first", files, script)
    second = with_sources(tmp_path / "second", files, script)
    third = with_sources(tmp_path / "third", files | {"plugins/p.py": "P = 2"}, script)
    fourth = with_sources(tmp_path / "fourth", files | {"plugins/q.py": "Q = 1"}, script)
    out = tmp_path / "all"
    for _ in range(2):
        merge_folders([first, second, third, fourth], out)
        contents = {
            path.relative_to(out).as_posix(): path.read_text()
            for path in (out / "plugins").rglob("*.py")
        }
        assert contents == {
            "plugins/p.py": "P = 1",
            "plugins/q.py": "Q = 1",
            "plugins/2/f.py": "F = 1",
            "plugins/3/p.py": "P = 2",
        }
        scripts = united_scripts([out])
        assert scripts["a.resolved.yaml"] == script
        other = scripts["a-2.resolved.yaml"]
        assert other == script | {"plugins": ["plugins/3/p.py", "installed_module"]}
        assert len(scripts) == 2


def test_sources_that_are_links_or_too_large_are_not_copied(tmp_path, monkeypatch):
    monkeypatch.setattr("stereo_framework.sweep.merged_sources.LARGEST_COPY", 10)
    files = {"plugins/p.py": "P = 1", "plugins/large.py": "L = 1" * 10}
    folder = with_sources(tmp_path / "one", files, {"name": "a"})
    (tmp_path / "secret").write_text("s")
    (folder / "plugins/link.py").symlink_to(tmp_path / "secret")
    (folder / "plugins/folder").symlink_to(tmp_path)
    [problem] = merge_folders([folder], tmp_path / "all").problems
    assert "large.py" in problem
    assert [path.name for path in (tmp_path / "all/plugins").iterdir()] == ["p.py"]


def test_a_merged_script_with_a_plugin_runs_again(tmp_path):
    for name, shift in (("first", 0), ("second", 1)):
        folder = tmp_path / f"scripts_{name}"
        folder.mkdir()
        (folder / "plugin.py").write_text(PLUGIN.format(name=f"shifted_{name}", shift=shift))
        script = {**WINDOW, "plugins": ["plugin.py"], "refinement": [f"shifted_{name}"]}
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(script))
        run(folder / f"{name}.yaml", SCENES[:1], tmp_path / name)
    out = tmp_path / "all"
    merge_folders([tmp_path / "first", tmp_path / "second"], out)
    for name, number in (("first", ""), ("second", "2/")):
        [path] = united_scripts([out])[f"{name}.resolved.yaml"]["plugins"]
        assert path == f"plugins/{number}plugin.py"
        assert (out / path).read_bytes() == (tmp_path / f"scripts_{name}/plugin.py").read_bytes()


def test_descriptions_of_metrics_are_united(tmp_path, monkeypatch):
    descriptions = {
        "one": [["a_metric", "px", "lower", "region", "", "mean"]],
        "two": [
            ["b_metric", "px", "lower", "region", "", "mean"],
            ["a_metric", "%", "lower", "region", "", "mean"],
        ],
        "three": "damaged",
    }
    folders = []
    for number, (name, rows) in enumerate(descriptions.items()):
        folders.append(store_under(tmp_path / name, {key(number): made_result(number)}))
        (tmp_path / name / "metrics.json").write_text(json.dumps(rows))
    try:
        with pytest.warns(UserWarning, match=r"metrics\.json: is damaged"):
            summary = merge_folders(folders, tmp_path / "all")
        [problem] = summary.problems
        assert "two/metrics.json: the metric 'a_metric' has another unit, direction" in problem
        written = json.loads((tmp_path / "all/metrics.json").read_text())
        assert written == [*descriptions["one"], descriptions["two"][0]]
    finally:
        for name in ("a_metric", "b_metric"):
            METRICS.remove(name)


def test_records_of_commands_are_united(tmp_path):
    parts = []
    for number, scene in enumerate(SCENES[:2]):
        parts.append(run(WINDOW, [scene], tmp_path / scene.name))
        record = {"command": f"run {number}", "is_search": False, "left_out": [f"file{number}"]}
        (parts[-1] / ORIGIN).write_text(f"damaged\n[1]\n{json.dumps(record)}\n")
    out = tmp_path / "all"
    for _ in range(2):
        merge_folders(parts, out)
        records = [json.loads(line) for line in (out / ORIGIN).read_text().splitlines()]
        assert [record["command"] for record in records] == ["run 0", "run 1", None]
        assert last_record(out)["scripts"] == ["script.resolved.yaml"]
        assert last_record(out)["left_out"] == ["file0", "file1"]
        assert last_record(out)["is_search"] is False


def test_unreadable_records_are_reported_and_stay_in_the_output_folder(tmp_path):
    folder = run(WINDOW, SCENES[:1], tmp_path / "one")
    out = run(WINDOW, SCENES[1:2], tmp_path / "all")
    (folder / ORIGIN).write_bytes(b"x" * (limits.TEXT + 1))
    [problem] = merge_folders([folder], out).problems
    assert f"one/{ORIGIN}: the file has" in problem
    # The record of the merge equals the record of the run, so it is not repeated.
    assert len((out / ORIGIN).read_text().splitlines()) == 1
    large = (folder / ORIGIN).rename(out / ORIGIN).read_bytes()
    [problem] = merge_folders([folder], out).problems
    assert "no record is added to this file" in problem
    assert (out / ORIGIN).read_bytes() == large


def test_a_merge_takes_over_the_last_record_of_the_output_folder(tmp_path):
    folder = run(WINDOW, SCENES[:1], tmp_path / "one")
    out = run(WINDOW, SCENES[1:2], tmp_path / "all")
    record = {"is_search": True, "left_out": ["model.onnx"]}
    with output_folder(out):
        write_bytes(out / ORIGIN, json.dumps(record).encode())
    merge_folders([folder], out)
    assert last_record(out)["is_search"] is True
    assert last_record(out)["left_out"] == ["model.onnx"]


def test_combined_results_warn_about_damaged_scripts(tmp_path):
    folders = [run(WINDOW, [scene], tmp_path / scene.name) for scene in SCENES[:2]]
    (folders[0] / "script.resolved.yaml").write_text("[")
    with pytest.warns(UserWarning, match=r"script\.resolved\.yaml"):
        assert len(combined_results(folders).results) == 2


def test_a_failed_result_contradicts_no_other_result(contradicting, tmp_path):
    out = tmp_path / "all"
    merge_folders(contradicting, out)
    with Store(out, create=True) as store:
        store.add(key(1), made_result(1, statistics={}, energy=None, error="no luck"))
    first = store_under(tmp_path / "third", {key(0): made_result(0)})
    assert merge_folders([first], out).contradictions == ()


def test_records_that_would_fill_the_file_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("stereo_framework.sweep.merged_origins._MAX_SIZE", 10)
    folder = run(WINDOW, SCENES[:1], tmp_path / "one")
    [problem] = merge_folders([folder], tmp_path / "all").problems
    assert f"{ORIGIN}: the records of the commands are left out" in problem
