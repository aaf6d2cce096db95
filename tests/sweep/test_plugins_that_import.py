"""Plug-ins may import each other: each file is executed once in a process."""

import itertools
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import stereo_framework
from stereo_framework import load_scene
from stereo_framework.core.errors import ParameterError, StereoFrameworkError
from stereo_framework.core.plugins import PLUGIN_PREFIX, load_plugin
from stereo_framework.core.registration import find
from stereo_framework.script import load
from stereo_framework.sweep.packed_tasks import pack_tasks, run_packed_tasks
from stereo_framework.sweep.processes import Processes
from stereo_framework.sweep.tasks import tasks_of_script

COUNT = """
from pathlib import Path
with Path(__file__).resolve().with_suffix(".count").open("a") as file:
    file.write("1")
"""
"""Text that counts the executions of a file."""

STAGE = """
from stereo_framework import stage
@stage("refinement", source="a test")
def {name}(disparity):
    return disparity + {shift}
"""

FIRST = f"{COUNT}from second_of_two import shift\n{STAGE.format(name='first_stage', shift='shift')}"
SECOND = f"{COUNT}shift = 1\n{STAGE.format(name='second_stage', shift='shift')}"

SCRIPT = """
plugins: [{plugins}]
matching_cost: absolute_difference
optimization: winner_take_all
refinement: [first_stage, second_stage]
scenes: [synthetic/planes]
sweep: {{grid: {{search.maximum: [6, 7, 8]}}}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, registry):
    """Write a plug-in that imports another plug-in, and return their folder."""
    plugin_folder = tmp_path / "plugins"
    plugin_folder.mkdir()
    (plugin_folder / "first_of_two.py").write_text(FIRST)
    (plugin_folder / "second_of_two.py").write_text(SECOND)
    (plugin_folder / "link.py").symlink_to(plugin_folder / "second_of_two.py")
    monkeypatch.chdir(plugin_folder)
    yield plugin_folder
    for name in ("first_of_two", "second_of_two"):
        sys.modules.pop(name, None)


def write_script(folder, *plugins):
    """Write a script with plug-ins, and return its path."""
    path = folder / "s.yaml"
    path.write_text(SCRIPT.format(plugins=", ".join(map(str, plugins))))
    return path


def count_executions(folder, name):
    """Count the executions of a plug-in file."""
    return len((folder / f"{name}.count").read_text())


# --- names of a file ----------------------------------------------------------------


@pytest.mark.parametrize(
    "plugins",
    [
        *itertools.permutations(["first_of_two.py", "second_of_two.py"]),
        ("first_of_two.py", "link.py", "second_of_two.py"),
        ("link.py", "../plugins/second_of_two.py", "first_of_two.py"),
        ("second_of_two", "first_of_two.py", "second_of_two.py"),
        ("first_of_two.py", "second_of_two.py", "second_of_two"),
    ],
)
def test_a_file_is_executed_once_whatever_its_names(folder, monkeypatch, plugins):
    monkeypatch.syspath_prepend(folder)
    script = write_script(folder, *plugins)
    loaded = load(script, plugins=["second_of_two.py", folder / "first_of_two.py"])
    assert (
        count_executions(folder, "first_of_two") == count_executions(folder, "second_of_two") == 1
    )
    assert sorted(loaded.plugins) == [
        str(folder / "first_of_two.py"),
        str(folder / "second_of_two.py"),
    ]


def test_an_included_script_may_name_a_plug_in_of_its_includer(folder):
    write_script(folder, "second_of_two.py", "first_of_two.py")
    outer = folder / "outer.yaml"
    outer.write_text("include: s.yaml\nplugins: link.py\n")
    load(outer)
    assert count_executions(folder, "second_of_two") == 1


def test_a_stage_keeps_its_function_under_all_names_of_its_file(folder):
    load_plugin("second_of_two.py")
    function = find("refinement", "second_stage").public
    load_plugin("first_of_two.py")
    assert sys.modules["second_of_two"].shift == 1
    assert sys.modules["second_of_two"].__spec__.name.startswith(PLUGIN_PREFIX)
    assert find("refinement", "second_stage").public is function
    assert pickle.loads(pickle.dumps(function)) is function


def test_a_cycle_of_imports_behaves_as_in_python(folder):
    text = f"{COUNT}import first_of_two\nshift = 1\n{STAGE.format(name='second_stage', shift=1)}"
    (folder / "second_of_two.py").write_text(text)
    load(write_script(folder, "first_of_two.py", "second_of_two.py"))
    assert (
        count_executions(folder, "first_of_two") == count_executions(folder, "second_of_two") == 1
    )
    assert sys.modules["second_of_two"].first_of_two is sys.modules["first_of_two"]


def test_a_cycle_that_needs_an_unfinished_name_fails_and_works_after_a_repair(folder):
    (folder / "second_of_two.py").write_text("from first_of_two import no_such_name\nshift = 1\n")
    with pytest.raises(ParameterError, match=r"second_of_two.py:1: ImportError: cannot import"):
        load_plugin("first_of_two.py")
    assert not {"first_of_two", "second_of_two"} & set(sys.modules)
    (folder / "second_of_two.py").write_text(SECOND)
    load(write_script(folder, "first_of_two.py", "second_of_two.py"))
    assert count_executions(folder, "second_of_two") == 1


def test_an_import_inside_a_function_finds_the_plug_in(folder):
    text = "def shift():\n    from second_of_two import shift\n    return shift\n"
    (folder / "late.py").write_text(text)
    load_plugin("second_of_two.py")
    load_plugin("late.py")
    [late] = [module for name, module in sys.modules.items() if f"{PLUGIN_PREFIX}late_" in name]
    assert late.shift() == 1
    assert count_executions(folder, "second_of_two") == 1


def test_only_files_of_a_plug_in_folder_find_its_modules(folder, tmp_path):
    load_plugin("second_of_two.py")
    other = tmp_path / "other.py"
    other.write_text("import first_of_two\n")
    with pytest.raises(ParameterError, match="No module named 'first_of_two'"):
        load_plugin(str(other))


def test_modules_of_one_name_in_two_plug_in_folders_are_refused(folder, tmp_path):
    load_plugin("first_of_two.py")
    other = tmp_path / "other"
    other.mkdir()
    (other / "second_of_two.py").write_text("shift = 2\n")
    (other / "third.py").write_text("def late():\n    from second_of_two import shift\n")
    with pytest.raises(ParameterError, match="rename one of the two files") as caught:
        load_plugin(str(other / "third.py"))
    assert str(other / "second_of_two.py") in str(caught.value)
    assert str(folder / "second_of_two.py") in str(caught.value)


PROGRAM = """
import sys, os
sys.path.insert(0, {folder!r})
import second_of_two
from stereo_framework.script import load
load({script!r})
"""


@pytest.mark.parametrize(("hours", "count"), [(-1, 1), (1, 2)])
def test_a_module_of_the_program_is_shared_unless_its_file_has_changed(folder, hours, count):
    script = write_script(folder, "first_of_two.py", "second_of_two.py")
    program = PROGRAM.format(folder=str(folder), script=str(script))
    change = f"import os, time\nos.utime('second_of_two.py', (time.time() + {hours} * 3600,) * 2)\n"
    subprocess.run([sys.executable, "-c", change + program], check=True, cwd=folder)
    assert count_executions(folder, "second_of_two") == count


# --- runs in processes, resumed runs and identities ---------------------------------


def test_worker_processes_execute_each_file_once_and_a_second_run_computes_nothing(folder):
    script = write_script(folder, "first_of_two.py", "second_of_two.py")
    command = [sys.executable, "-m", "stereo_framework", "run", str(script), "--out", "out"]
    options = ["--workers", "2", "--executor", "process"]
    subprocess.run([*command, *options], check=True, capture_output=True)
    # The program and its two workers are three processes.
    assert 2 <= count_executions(folder, "first_of_two") <= 3
    assert count_executions(folder, "second_of_two") == count_executions(folder, "first_of_two")
    before = count_executions(folder, "first_of_two")
    again = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
    assert "synthetic/planes" in again.stdout
    assert count_executions(folder, "first_of_two") == before + 1


def test_threads_and_processes_give_the_same_results(folder):
    script = write_script(folder, "second_of_two.py", "first_of_two.py")
    threads = stereo_framework.run(script, workers=2)
    with Processes(2) as pool:
        processes = stereo_framework.run(script, executor=pool)
    assert [result.id for result in threads] == [result.id for result in processes]
    assert not any(result.error for result in processes)
    assert [result.statistics for result in threads] == [result.statistics for result in processes]


def test_a_module_may_have_another_name_in_a_worker_than_in_the_program(folder):
    # The program executes the file as a plug-in, and the worker imports it.
    load_plugin("second_of_two.py")
    mapping = {
        "plugins": [str(folder / "first_of_two.py")],
        "matching_cost": "absolute_difference",
        "optimization": "winner_take_all",
        "refinement": ["first_stage", "second_stage"],
    }
    [task] = tasks_of_script(load(mapping), [load_scene("synthetic/planes")])
    with Processes(1) as pool:
        packed_tasks = pack_tasks([task], keep_maps=False)
        [[result]] = pool.submit(run_packed_tasks, *packed_tasks).result()
    assert not result.error


def test_the_names_of_a_plug_in_do_not_change_the_identity(folder):
    identities = set()
    for plugins in (["first_of_two.py", "second_of_two.py"], ["first_of_two.py", "link.py"]):
        script = load(write_script(folder, *plugins), plugins=["second_of_two.py"])
        tasks = tasks_of_script(script, [load_scene("synthetic/planes")])
        identities.add(tuple(task.id for task in tasks))
    assert len(identities) == 1


def test_the_identity_covers_a_module_next_to_the_plug_in(folder, tmp_path):
    digests = set()
    for shift in ("1", "2"):
        (folder / "second_of_two.py").write_text(SECOND.replace("shift = 1", f"shift = {shift}"))
        program = (
            "from pathlib import Path\n"
            "from stereo_framework.core.plugins import load_plugin\n"
            "from stereo_framework.core.reached_sources import sources_of_file\n"
            "file = Path(load_plugin('first_of_two.py'))\n"
            "print(sorted(sources_of_file(file).digests))\n"
        )
        process = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=folder
        )
        digests.add(process.stdout)
    assert len(digests) == 2


# --- names that two files define ----------------------------------------------------

DEFINITIONS = {
    "stage of refinement 'same_name'": STAGE.format(name="same_name", shift=0),
    "metric 'same_name'": (
        "from stereo_framework import metric\n"
        "@metric(unit='px', better='lower', source='a test')\n"
        "def same_name(disparity, truth):\n    return 0\n"
    ),
    "protocol 'same_name'": (
        "from stereo_framework import protocol\nprotocol('same_name', base='kitti2015')\n"
    ),
    "reader of images '.same'": (
        "from stereo_framework import reader\n"
        "@reader('.same', kind='image')\n"
        "def read(path):\n    return None\n"
    ),
    "chart 'same_name'": (
        "from stereo_framework import chart\n"
        "@chart('same_name')\n"
        "def draw(results):\n    return None\n"
    ),
    "data set 'same_name'": (
        "from stereo_framework import dataset\n"
        "@dataset('same_name', names=lambda folder: ())\n"
        "def make(folder, name):\n    return None\n"
    ),
}


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_a_name_that_two_files_define_is_refused_with_both_files(tmp_path, registry, definition):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(DEFINITIONS[definition])
    load_plugin("one.py", tmp_path)
    with pytest.raises(StereoFrameworkError) as caught:
        load_plugin("two.py", tmp_path)
    message = str(caught.value)
    first = Path(tmp_path).resolve() / "one.py"
    second = Path(tmp_path).resolve() / "two.py"
    assert f"{definition}: already registered by {first}, and {second} registers" in message
    assert message.endswith("too; rename one of the two")


@pytest.mark.parametrize(
    ("code", "location"),
    [
        (
            STAGE.format(name="median", shift=0),
            r"stage of refinement 'median': .* by stereo_framework.refinement.median "
            r"\(\S+/refinement/median.py, built in\)",
        ),
        (
            "import stereo_framework\nstereo_framework.protocol('eth3d', base='kitti2015')\n",
            r"protocol 'eth3d': .* by stereo_framework \(\S+, built in\)",
        ),
    ],
)
def test_the_name_of_a_built_in_object_is_refused(tmp_path, registry, code, location):
    (tmp_path / "mine.py").write_text(code)
    message = rf"{location}, so {tmp_path}/mine.py cannot register it; choose another name"
    with pytest.raises(StereoFrameworkError, match=message):
        load_plugin("mine.py", tmp_path)
