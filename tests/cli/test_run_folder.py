"""The command ``run`` repeats the run of a results folder, and compares the results."""

import json
import os
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from cli_parts import SCRIPT, call, error_lines, invoke, one_line

from stereo_framework import load_scene
from stereo_framework.cli import _shared
from stereo_framework.cli._repeated_run import print_comparison
from stereo_framework.sweep import ResultSet, Store, environment

FUNCTION = """
import numpy as np

def match(left, right, minimum, maximum):
    return np.full(left.shape[:2], maximum, np.float32)
"""

PLUGIN = """
from stereo_framework import stage

@stage("refinement", source="a test")
def unchanged_in_a_test(disparity):
    return disparity
"""


@pytest.fixture(autouse=True)
def _empty_folder(small_scenes, tmp_path, monkeypatch):
    """Work in an empty folder, on small built-in scenes."""
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a script or another file."""

    def write_file(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))

    return write_file


def stored(folder):
    """Return the identities, names and statistics of the results in a folder."""
    with Store(Path(folder)) as store:
        return [(r.id, r.scene, r.method, r.statistics) for r in store.results()]


def notes(result):
    """Return the notes that a command has printed."""
    return [line for line in error_lines(result) if line.startswith("note: ")]


def test_a_folder_runs_again_to_equal_numbers_in_the_same_order(write):
    write("z.yaml", SCRIPT | {"name": "z"})
    write("a.yaml", SCRIPT | {"name": "a", "sweep": {"grid": {"aggregation.box.size": [3, 1]}}})
    call("run", "z.yaml", "a.yaml", "--out", "out")
    again = call("run", "out", "--out", "new")
    assert notes(again) == [
        "note: 3 results in both out and this run: all numbers are equal, bit by bit"
    ]
    assert stored("new") == stored("out")
    assert [row[2] for row in stored("new")] == ["z", "a", "a"]


def test_the_scenes_of_the_command_line_belong_to_the_run():
    call("run", "window", "--scene", "synthetic/slanted", "--out", "out")
    call("run", "out", "--out", "new")
    assert stored("new") == stored("out")


def test_other_numbers_are_listed(write):
    write("s.yaml", SCRIPT)
    call("run", "s.yaml", "--out", "out")
    again = call("run", "out", "--set", "aggregation.box.size=3", "--out", "new")
    first, second, *further_notes = notes(again)
    assert first == "note: 1 result in both out and this run: 1 have other numbers"
    assert second.startswith("note: synthetic/planes s: ")
    assert further_notes == ["note: 'stereo-framework changes out new' lists all changes"]
    with_other_scene = call("run", "out", "--scene", "synthetic/slanted", "--out", "other")
    assert notes(with_other_scene)[1:3] == [
        "note: 1 result only in out: synthetic/planes s",
        "note: 1 result only in this run: synthetic/slanted s",
    ]


def test_the_same_folder_continues_its_run(write):
    write("s.yaml", SCRIPT)
    call("run", "s.yaml", "--out", "out")
    before = stored("out")
    again = call("run", "out", "--out", "out")
    assert (notes(again), stored("out")) == ([], before)
    # Without a folder for the results, they are compared all the same.
    assert "bit by bit" in notes(call("run", "out"))[0]


def test_other_versions_are_listed_before_the_run(write, monkeypatch):
    write("s.yaml", SCRIPT)
    call("run", "s.yaml", "--out", "out")
    present = environment.environment()
    monkeypatch.setattr(environment, "environment", lambda: present | {"numpy": "9.9.9"})
    again = call("run", "out", "--out", "new")
    version = present["numpy"]
    message = "note: the results in out were computed with other versions or on another processor"
    assert f"{message}: numpy {version} (here 9.9.9)" in notes(again)


def test_a_folder_of_the_name_of_a_built_in_script_needs_a_path(write):
    write("s.yaml", SCRIPT)
    call("run", "s.yaml", "--out", "window")
    one_line(invoke("run", "window"), "window: no scene to run on")
    assert "bit by bit" in notes(call("run", "./window", "--out", "new"))[0]


def test_a_folder_is_the_only_argument(write):
    write("s.yaml", SCRIPT)
    call("run", "s.yaml", "--out", "out")
    one_line(invoke("run", "out", "s.yaml"), "out: is a results folder, which is run again without")


def test_a_search_is_not_repeated_by_run(write):
    pytest.importorskip("optuna")
    write("s.yaml", SCRIPT | {"sweep": {"grid": {"aggregation.box.size": [3, 1]}}})
    words = ("--statistic", "bad_pixels_all", "--trials", 2, "--out", "out")
    call("tune", "s.yaml", *words)
    one_line(invoke("run", "out"), "out: contains a search by 'tune'", "run out/best.yaml")


def test_missing_data_sets_are_named_with_the_command_that_downloads_them(write, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    write("out/s.resolved.yaml", SCRIPT | {"scenes": ["middlebury2001/map", "mine/a", "teddy"]})
    result = invoke("run", "out", "--out", "new")
    assert (result.exit_code, error_lines(result)) == (
        2,
        [
            "error: out: the scripts run on scenes that are missing here: "
            "middlebury2001/map, mine/a, teddy",
            "error: to download them: "
            "stereo-framework scenes --fetch middlebury2001 middlebury2003",
            "error: no public data set contains mine/a; copy the files of these scenes to this "
            "machine, and name their folder with --data",
        ],
    )


def test_a_damaged_scene_is_not_reported_as_missing(write):
    write("mine/scene.yaml", "left: [")
    write("out/s.resolved.yaml", SCRIPT | {"scenes": ["mine/scene.yaml", "teddy"]})
    missing = error_lines(invoke("run", "out"))[0]
    assert missing == "error: out: the scripts run on scenes that are missing here: teddy"
    write("out/s.resolved.yaml", SCRIPT | {"scenes": ["mine/scene.yaml"]})
    damaged = invoke("run", "out")
    assert damaged.exit_code == 2
    assert "are missing here" not in damaged.stderr
    assert "mine/scene.yaml" in damaged.stderr


def test_runs_that_failed_both_times_have_no_equal_numbers(write):
    write("s.yaml", SCRIPT | {"sweep": {"grid": {"aggregation.box.size": [3, 1]}}})
    call("run", "s.yaml", "--out", "out")
    with Store(Path("out"), create=True) as store:
        results = list(store.results())
    failed = [replace(one, statistics={}, energy=None, error="no luck") for one in results]
    for old_results, statement in (
        (failed, "2 runs failed both times"),
        (
            [results[0], failed[1]],
            "1 run failed both times, and for the other runs, all numbers are equal, bit by bit",
        ),
    ):
        with pytest.MonkeyPatch.context() as patch, Store(Path("out")) as store:
            patch.setattr(Store, "results", lambda _, every=False, rows=old_results: rows)
            with pytest.MonkeyPatch.context() as printed:
                lines = []
                printed.setattr(_shared, "tell", lambda _, line, lines=lines: lines.append(line))
                print_comparison(Path("out"), ResultSet(old_results), None)
        assert lines == [f"2 results in both out and this run: {statement}"]


# --- code -----------------------------------------------------------------------------


def run_typed_command(result):
    """Run the command that a refused command has printed."""
    return invoke(*shlex.split(error_lines(result)[-1])[1:])


def test_a_function_runs_after_the_user_has_named_the_script(write, tmp_path):
    write("f.py", FUNCTION)
    write("my script.yaml", SCRIPT | {"matcher": {"use": "python", "function": "f.py:match"}})
    script = yaml.safe_load((tmp_path / "my script.yaml").read_text())
    for slot in ("matching_cost", "aggregation", "optimization"):
        del script[slot]
    write("my script.yaml", script)
    call("run", "my script.yaml", "--out", "out")
    (tmp_path / "f.py").unlink()
    (tmp_path / "out").rename("moved")
    refused = invoke("run", "moved", "--scene", "synthetic/planes", "--out", "new")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert error_lines(refused) == [
        "error: moved/my script.resolved.yaml: a run executes the Python function "
        "moved/plugins/f.py:match",
        "error: moved: is a results folder, and its files are not executed before you name them; "
        "read the code listed above, and then use the command below",
        "stereo-framework run 'moved/my script.resolved.yaml' --scene synthetic/planes --out new",
    ]
    again = run_typed_command(refused)
    assert again.exit_code == 0, again.output
    assert "all numbers are equal, bit by bit" in notes(again)[0]
    assert stored("new") == stored("moved")


@pytest.mark.skipif(os.name != "posix", reason="the program is a POSIX script")
def test_a_program_runs_after_the_user_has_named_the_script(write, tmp_path):
    write("tool.sh", '#!/bin/sh\ncp "$1" "$2"\n')
    (tmp_path / "tool.sh").chmod(0o755)
    line = "./tool.sh {left} {output}"
    matcher = {"use": "command", "command_line": line, "map_format": "png", "grey": True}
    matcher |= {"disparity_scale": 64.0}
    write("s.yaml", {"scenes": ["synthetic/planes"], "matcher": matcher})
    call("run", "s.yaml", "--out", "out")
    refused = invoke("run", "out", "--out", "new")
    assert (refused.exit_code, len(error_lines(refused))) == (2, 3)
    assert f"a run executes the program {tmp_path}/tool.sh" in refused.stderr
    again = run_typed_command(refused)
    assert "all numbers are equal, bit by bit" in notes(again)[0]
    # The peak memory of the program differs in each run.
    assert [row[:3] for row in stored("new")] == [row[:3] for row in stored("out")]


def test_a_plugin_needs_its_name_on_the_command_line(write):
    write("plugin.py", PLUGIN)
    write("s.yaml", SCRIPT | {"plugins": ["plugin.py"], "refinement": ["unchanged_in_a_test"]})
    call("run", "s.yaml", "--out", "out")
    refused = invoke("run", "out", "--protocol", "middlebury-v2", "--out", "new")
    assert error_lines(refused)[-1] == (
        "stereo-framework run out/s.resolved.yaml --plugin out/plugins/plugin.py "
        "--set evaluation.protocol=middlebury-v2 --out new"
    )
    one_line(
        invoke("run", "out/s.resolved.yaml"),
        "out/s.resolved.yaml:5:3: plugins[0]: 'plugins/plugin.py' is a plug-in of a results folder",
        "to allow it, add --plugin out/plugins/plugin.py",
    )


@pytest.mark.parametrize("out", ["new", "out"])
def test_the_printed_command_repeats_all_typed_options(write, monkeypatch, out):
    write("plugin.py", PLUGIN)
    write("s.yaml", SCRIPT | {"plugins": ["plugin.py"], "refinement": ["unchanged_in_a_test"]})
    call("run", "s.yaml", "--out", "out")
    options = ["--report", "--no-maps", "--workers", "2", "--memory", "1G", "--out", out]
    monkeypatch.setattr("sys.argv", ["/bin/stereo-framework", "run", "out", *options])
    assert error_lines(invoke("run", "out", *options))[-1] == (
        "stereo-framework run out/s.resolved.yaml --plugin out/plugins/plugin.py "
        + " ".join(options)
    )


def test_an_axis_of_functions_is_compared_in_another_folder(write, tmp_path):
    for number in (1, 2):
        write(f"f{number}.py", FUNCTION.replace("maximum,", f"maximum - {number},"))
    axis = {"matcher.function": ["f1.py:match", "f2.py:match"]}
    matcher = {"use": "python", "function": "f1.py:match"}
    script = {"scenes": ["synthetic/planes"], "matcher": matcher, "sweep": {"grid": axis}}
    write("s.yaml", script)
    call("run", "s.yaml", "--out", "out")
    (tmp_path / "out").rename("moved")
    again = run_typed_command(invoke("run", "moved", "--out", "new"))
    assert notes(again) == [
        "note: 2 results in both moved and this run: all numbers are equal, bit by bit"
    ]


def test_maps_in_the_folder_are_data(write, tmp_path):
    (tmp_path / "out/mine").mkdir(parents=True)
    np.save(tmp_path / "out/mine/planes.npy", load_scene("synthetic/planes").truth)
    write("s.yaml", {"scenes": ["synthetic/planes"], "maps": "out/mine"})
    first = call("run", "s.yaml", "--out", "out", "--json")
    (tmp_path / "out").rename("moved")
    again = call("run", "moved", "--out", "new", "--json")
    assert json.loads(again.stdout)[0]["id"] == json.loads(first.stdout)[0]["id"]
