"""A results folder contains its scripts and their sources, and can be run elsewhere."""

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from sweep_parts import WINDOW, numbers

import stereo_framework
from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ScriptError
from stereo_framework.core.module_sources import source_files
from stereo_framework.core.reached_sources import sources_of_file
from stereo_framework.io import output_folder, write_bytes
from stereo_framework.script import load
from stereo_framework.sweep import Store, folder_sources
from stereo_framework.sweep.origin import ORIGIN, add_record, last_record, repositories
from stereo_framework.sweep.result import MEMORY
from stereo_framework.sweep.script_run import execute, load_tasks

PLANES = {"scenes": ["synthetic/planes"], "search": {"minimum": 0, "maximum": 4}}

STAGE = """
from stereo_framework import stage

@stage("refinement", source="a test")
def {name}(disparity):
    return disparity + {shift}
"""

PLUGIN = """
from pathlib import Path

import numpy as np
from neighbour_in_a_test import SHIFTS
from stereo_framework import stage

FACTORS = np.load(Path(__file__).parent / "tables" / "factors.npy")

@stage("refinement", source="a test")
def scaled_in_a_test(disparity, *, index: int = 0):
    return disparity * np.float32(FACTORS[index]) + np.float32(SHIFTS[index])
"""

FUNCTION = """
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from second_neighbour_in_a_test import mean

def match(left, right, minimum, maximum):
    shift = float((Path(__file__).parent / "shift.txt").read_text())
    return np.full(left.shape[:2], mean(minimum, maximum) + shift, np.float32)
"""

PROGRAM = """#!/bin/sh
cp "$1" "$2"
"""

PROJECT = {
    "code/plugin.py": PLUGIN,
    "code/neighbour_in_a_test.py": "SHIFTS = [0.25, 0.5]\n",
    "code/unused.py": "",
    "functions/mine.py": FUNCTION,
    "functions/second_neighbour_in_a_test.py": (
        "def mean(first, last):\n    return (first + last) / 2\n"
    ),
    "functions/shift.txt": "0.125",
    "tool.sh": PROGRAM,
}

SCRIPT = PLANES | {
    "plugins": ["code/plugin.py"],
    "methods": {
        "scaled": WINDOW
        | {
            "refinement": ["scaled_in_a_test"],
            "sweep": {"grid": {"refinement.scaled_in_a_test.index": [1, 0]}},
        },
        "function": {
            "matcher": {
                "use": "python",
                "function": "functions/mine.py:match",
                "files": ["functions/shift.txt"],
            }
        },
        "program": {
            "matcher": {
                "use": "command",
                "command_line": "./tool.sh {left} {output}",
                "map_format": "png",
                "grey": True,
                "disparity_scale": 64.0,
            }
        },
    },
}

posix_only = pytest.mark.skipif(os.name != "posix", reason="the program is a POSIX script")


def write_files(folder, contents):
    """Write files with the given contents below a folder."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))


def command_in(folder, *words):
    """Run the command line in another process, and return the finished process."""
    arguments = [sys.executable, "-m", "stereo_framework", *map(str, words)]
    return subprocess.run(
        arguments, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def stored_numbers(folder):
    """Return all numbers of the results in a folder, without run times and memory."""
    with Store(folder) as store:
        results = list(store.results())
    for result in results:
        result.statistics.pop(MEMORY, None)
    return numbers(results)


def written_script(folder, name="script"):
    """Return the resolved script in a results folder as plain data."""
    return yaml.safe_load((folder / f"{name}.resolved.yaml").read_text())


# --- a folder at another place --------------------------------------------------------


@posix_only
def test_a_moved_folder_runs_to_equal_results_without_the_original_files(tmp_path):
    project = tmp_path / "project"
    write_files(project, PROJECT | {"s.yaml": SCRIPT})
    (project / "code" / "tables").mkdir()
    np.save(project / "code" / "tables" / "factors.npy", np.float32([1.5, 2]))
    (project / "tool.sh").chmod(0o755)
    done = command_in(tmp_path, "run", "project/s.yaml", "--out", "out", "--no-maps")
    assert done.returncode == 0, done.stderr
    expected = stored_numbers(tmp_path / "out")

    # Programs are not copied, so the program stays at its place.
    for name in ("code", "functions", "s.yaml"):
        path = project / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    other_place = tmp_path / "other" / "place"
    shutil.move(tmp_path / "out", other_place / "moved")
    refused = command_in(other_place.parent, "run", "place/moved", "--out", "new")
    assert refused.returncode == 2
    command = refused.stderr.splitlines()[-1]
    assert command == (
        "stereo-framework run place/moved/s.resolved.yaml "
        "--plugin place/moved/plugins/plugin.py --out new"
    )
    done = command_in(other_place.parent, *shlex.split(command)[1:])
    assert done.returncode == 0, done.stderr
    assert stored_numbers(other_place.parent / "new") == expected
    assert len(expected) == 4


def test_the_folder_of_files_does_not_change_the_identity_of_a_run(tmp_path):
    contents = {
        "f.py": "import numpy\ndef match(left, right, low, high):\n    return left[..., 0] * 0.0\n",
        "s.yaml": PLANES
        | {"matcher": {"use": "python", "function": "f.py:match", "files": ["notes.txt"]}},
        "m.yaml": PLANES | {"maps": "maps/{scene}.npy"},
        "notes.txt": "a note",
    }
    identities = []
    for place in ("a", "b/c"):
        write_files(tmp_path / place, contents)
        (tmp_path / place / "maps").mkdir()
        np.save(tmp_path / place / "maps" / "planes.npy", np.zeros((240, 320), np.float32))
        for name in ("s.yaml", "m.yaml"):
            [task] = load_tasks(tmp_path / place / name)[1]
            identities.append(task.id)
    assert identities[:2] == identities[2:]
    (tmp_path / "a" / "notes.txt").write_text("another note")
    [task] = load_tasks(tmp_path / "a" / "s.yaml")[1]
    assert task.id != identities[0]


def test_a_virtual_environment_in_the_folder_of_a_plugin_is_no_source(tmp_path):
    write_files(
        tmp_path,
        {
            "plugin.py": "import numpy\nimport installed_in_a_test\n",
            ".venv/lib/site-packages/installed_in_a_test.py": "",
        },
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path / ".venv/lib/site-packages")
        assert source_files(tmp_path / "plugin.py") == [tmp_path / "plugin.py"]


@pytest.mark.parametrize(
    ("expression", "counts"),
    [
        ("Path(__file__).parent", False),
        ("Path(__file__).parents[1]", True),
        ("Path(__file__).parent.parent", True),
        ("Path(os.path.dirname(__file__)).parent", True),
    ],
)
def test_files_above_a_plugin_count_only_if_the_plugin_searches_there(tmp_path, expression, counts):
    source = f"import os\nfrom pathlib import Path\nFILES = {expression}.glob('*.csv')\n"
    digests = []
    for place, files in (("a", {}), ("b", {"b/above.csv": "1"})):
        write_files(tmp_path, files | {f"{place}/code/plugin.py": source})
        digests.append(sources_of_file(tmp_path / place / "code" / "plugin.py").digests)
    assert (digests[0] != digests[1]) is counts


# --- the contents of the folder -------------------------------------------------------


def run_script(folder, script, out, **options):
    """Write a script to a folder, run the script, and return the resolved script."""
    write_files(folder, {"script.yaml": script})
    stereo_framework.run(folder / "script.yaml", out=out, maps=False, **options)
    return written_script(out)


def test_only_the_files_that_a_plugin_needs_are_copied(tmp_path):
    write_files(tmp_path, PROJECT)
    write_files(tmp_path, {"code/plugin.py": STAGE.format(name="shifted_in_a_test", shift=1)})
    script = PLANES | WINDOW | {"refinement": ["shifted_in_a_test"], "plugins": ["code/plugin.py"]}
    resolved = run_script(tmp_path, script, tmp_path / "out")
    assert resolved["plugins"] == ["plugins/plugin.py"]
    assert [path.name for path in (tmp_path / "out/plugins").iterdir()] == ["plugin.py"]
    record = last_record(tmp_path / "out")
    assert (record["scripts"], record["left_out"]) == (["script.resolved.yaml"], [])


def test_plugins_of_equal_names_are_both_kept(tmp_path):
    for number in (1, 2):
        code = STAGE.format(name=f"stage_{number}_in_a_test", shift=number)
        write_files(tmp_path, {f"{number}/plugin.py": code, f"{number}/only_{number}.csv": "1"})
    stages = ["stage_1_in_a_test", "stage_2_in_a_test"]
    script = PLANES | WINDOW | {"refinement": stages, "plugins": ["1/plugin.py", "2/plugin.py"]}
    resolved = run_script(tmp_path, script, tmp_path / "out")
    assert resolved["plugins"] == ["plugins/plugin.py", "plugins/2/plugin.py"]
    for number, name in ((1, "plugin.py"), (2, "2/plugin.py")):
        assert f"stage_{number}" in (tmp_path / "out/plugins" / name).read_text()


def resolved_plugins(folder, name="script"):
    """Return the paths of the plug-ins that a script in a results folder names."""
    return [folder / plugin for plugin in written_script(folder, name)["plugins"]]


def test_a_changed_plugin_replaces_its_copy_and_no_copy_of_another_script(tmp_path):
    script = PLANES | WINDOW | {"plugins": ["plugin.py"]}
    sources = []
    for number, name in enumerate(("first", "first", "second")):
        place = tmp_path / f"{number}" / "code"
        sources.append(f"NUMBER = {number}\n")
        write_files(place, {"plugin.py": sources[-1], f"{name}.yaml": script})
        stereo_framework.run(place / f"{name}.yaml", out=tmp_path / "out", maps=False)
    copies = {
        name: [path.read_text() for path in resolved_plugins(tmp_path / "out", name)]
        for name in ("first", "second")
    }
    assert copies == {"first": [sources[1]], "second": [sources[2]]}
    assert sorted(path.name for path in (tmp_path / "out/plugins").rglob("*.py")) == [
        "plugin.py",
        "plugin.py",
    ]


def test_a_copy_that_no_script_needs_is_removed_unless_the_user_has_changed_it(tmp_path):
    script = PLANES | WINDOW | {"plugins": ["plugin.py"]}
    copies = tmp_path / "out/plugins"
    for number, (source, change, expected) in enumerate(
        (
            (
                "import third_neighbour_in_a_test\n",
                None,
                ["plugin.py", "third_neighbour_in_a_test.py"],
            ),
            ("VALUE = 1\n", None, ["plugin.py"]),
            ("VALUE = 2\n", "MINE = 1\n", ["2/plugin.py", "plugin.py"]),
        )
    ):
        if change is not None:
            (copies / "plugin.py").write_text(change)
        place = tmp_path / f"{number}"
        write_files(place, {"plugin.py": source, "third_neighbour_in_a_test.py": ""})
        run_script(place, script, tmp_path / "out")
        names = [path.relative_to(copies).as_posix() for path in copies.rglob("*.py")]
        assert sorted(names) == expected
    assert (copies / "plugin.py").read_text() == "MINE = 1\n"


def test_large_files_and_files_of_other_folders_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(folder_sources, "LARGEST_COPY", 1000)
    source = (
        "from pathlib import Path\n"
        "HERE = Path(__file__).parents[0]\n"
        "FILES = (HERE / 'large.csv', HERE / 'small.csv', HERE.parents[0] / 'above.csv')\n"
    )
    contents = {"large.csv": "1" * 1001, "small.csv": "1", "plugin.py": source}
    write_files(tmp_path / "code", contents)
    write_files(tmp_path, {"above.csv": "1"})
    script = PLANES | WINDOW | {"plugins": ["code/plugin.py"]}
    run_script(tmp_path, script, tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out/plugins").iterdir())
    assert names == ["plugin.py", "small.csv"]
    left_out = last_record(tmp_path / "out")["left_out"]
    assert [line.partition(": ")[0] for line in left_out] == [
        str(tmp_path / "above.csv"),
        str(tmp_path / "code/large.csv"),
    ]


def test_paths_in_the_folder_are_relative_and_other_paths_are_absolute(tmp_path):
    map_of_scene = np.zeros((240, 320), np.float32)
    for place in ("out/mine", "elsewhere"):
        (tmp_path / place).mkdir(parents=True)
        np.save(tmp_path / place / "planes.npy", map_of_scene)
    methods = {"inside": {"maps": "out/mine"}, "outside": {"maps": {"path": "elsewhere"}}}
    resolved = run_script(tmp_path, PLANES | {"methods": methods}, tmp_path / "out")
    paths = [method["maps"]["path"] for method in resolved["methods"].values()]
    assert paths == ["mine", str(tmp_path / "elsewhere")]
    shutil.move(tmp_path / "out", tmp_path / "moved")
    [inside, _] = load(tmp_path / "moved/script.resolved.yaml").settings
    assert inside.parameters["matcher.path"] == str(tmp_path / "moved/mine")


@posix_only
def test_a_program_in_the_folder_is_found_after_a_move(tmp_path):
    write_files(tmp_path / "out", {"a tool.sh": PROGRAM})
    (tmp_path / "out/a tool.sh").chmod(0o755)
    line = "'./out/a tool.sh' {left} {output}"
    matcher = {"use": "command", "command_line": line, "map_format": "png", "grey": True}
    resolved = run_script(tmp_path, PLANES | {"matcher": matcher}, tmp_path / "out")
    assert resolved["matcher"]["command_line"] == "'./a tool.sh' {left} {output}"
    shutil.move(tmp_path / "out", tmp_path / "moved")
    script = load(tmp_path / "moved/script.resolved.yaml")
    assert script.executions == (f"the program '{tmp_path}/moved/a tool.sh' {{left}} {{output}}",)


def test_functions_of_axes_and_of_single_scenes_are_copied(tmp_path):
    code = "def match(left, right, low, high):\n    return left[..., 0] * 0.0\n"
    names = ("a", "b", "c", "d")
    write_files(tmp_path, {f"{name}.py": f"NAME = {name!r}\n{code}" for name in names})
    swept = {"matcher.function": ["a.py:match", "b.py:match"]}
    script = PLANES | {
        "matcher": {"use": "python", "function": "a.py:match"},
        "methods": {
            "swept": {"sweep": {"grid": swept}},
            "one_scene": {"by_scene": {"planes": {"matcher.function": "c.py:match"}}},
            "auxiliary": {
                "matcher": None,
                "auxiliary": {"inner": {"matcher": {"use": "python", "function": "d.py:match"}}},
                "matching_cost": "absolute_difference",
                "optimization": {"use": "plane_paths", "initial": "inner"},
            },
        },
    }
    resolved = run_script(tmp_path, script, tmp_path / "out", scenes="synthetic/planes")
    methods = resolved["methods"]
    function = "plugins/{}.py:match"
    axis = methods["swept"]["sweep"]["grid"]["matcher.function"]
    assert axis == [function.format("a"), function.format("b")]
    assert methods["one_scene"]["by_scene"] == {
        "planes": {"matcher.function": function.format("c")}
    }
    inner = methods["auxiliary"]["auxiliary"]["inner"]
    assert inner["matcher"]["function"] == function.format("d")
    expected = stored_numbers(tmp_path / "out")
    for name in names:
        (tmp_path / f"{name}.py").unlink()
    shutil.move(tmp_path / "out", tmp_path / "moved")
    again = stereo_framework.run(tmp_path / "moved/script.resolved.yaml", maps=False)
    # The labels of axes contain the paths.
    assert [(result[0], result[4]) for result in numbers(again)] == [
        (result[0], result[4]) for result in expected
    ]


def test_scripts_of_one_name_are_kept_in_two_files(tmp_path, monkeypatch):
    scripts, tasks = [], []
    for size in (1, 3, 3):
        method = WINDOW | {"aggregation": [{"use": "box", "size": size}]}
        write_files(tmp_path / str(size), {"s.yaml": PLANES | method})
        script, tasks_of_script = load_tasks(tmp_path / str(size) / "s.yaml")
        scripts.append(script)
        tasks += tasks_of_script
    list(execute(scripts, tasks, out=tmp_path / "out", maps=False))
    names = ["s.resolved.yaml", "s-2.resolved.yaml", "s-2.resolved.yaml"]
    assert last_record(tmp_path / "out")["scripts"] == names
    resolved = [yaml.safe_load((tmp_path / "out" / name).read_text()) for name in names]
    assert [script["aggregation"][0]["size"] for script in resolved] == [1, 3, 3]
    assert {script["name"] for script in resolved} == {"s"}


def test_only_the_files_that_a_run_writes_release_their_copies(tmp_path):
    long_number = "9" * 5000
    write_files(
        tmp_path,
        {
            "s.resolved.yaml": "plugins: [plugins/5/p.py]",
            "s-2.resolved.yaml": f"plugins: [plugins/7/p.py, plugins/{long_number}/p.py]",
        },
    )
    script = SimpleNamespace(name="S")
    assert folder_sources._numbers_in_use(tmp_path, [script], []) == {1, 7}
    assert folder_sources._numbers_in_use(tmp_path, [script, script], []) == set()


def test_the_scenes_of_the_user_are_the_scenes_of_the_written_script(tmp_path):
    scenes = ["synthetic/planes", "synthetic/slanted"]
    script = {"by_scene": {"stripes": {"search.maximum": 4}}, "scenes": ["synthetic/stripes"]}
    methods = {"a": WINDOW, "b": WINDOW | {"scenes": ["slanted"]}, "c": WINDOW | script}
    run_script(tmp_path, script | {"methods": methods}, tmp_path / "out", scenes=scenes)
    resolved = written_script(tmp_path / "out")
    assert (resolved["scenes"], "by_scene" in resolved) == (scenes, False)
    assert {name: method.get("scenes") for name, method in resolved["methods"].items()} == {
        "a": None,
        "b": ["synthetic/slanted"],
    }
    again = stereo_framework.run(tmp_path / "out/script.resolved.yaml", maps=False)
    assert numbers(again) == stored_numbers(tmp_path / "out")


def test_a_plugin_of_a_resolved_script_must_be_named(tmp_path):
    write_files(tmp_path, {"plugin.py": "VALUE = 1\n"})
    run_script(tmp_path, PLANES | WINDOW | {"plugins": ["plugin.py"]}, tmp_path / "out")
    script = tmp_path / "out/script.resolved.yaml"
    for source in (script, {"include": str(script)}):
        with pytest.raises(ScriptError, match="is a plug-in of a results folder"):
            load(source)
        assert load(source, plugins=[tmp_path / "out/plugins/plugin.py"]).settings


# --- folders with files of other authors ----------------------------------------------


def test_nothing_is_written_through_a_link(tmp_path):
    write_files(tmp_path, {"plugin.py": "VALUE = 1\n", "victim/x": "", "out/maps/x.pfm": ""})
    script = PLANES | WINDOW | {"plugins": ["plugin.py"]}
    for target in ("../victim", "maps"):
        (tmp_path / "out/plugins").symlink_to(target)
        with pytest.raises(DataError, match="leads out of the folder|the folder is a link"):
            run_script(tmp_path, script, tmp_path / "out")
        (tmp_path / "out/plugins").unlink()
    assert [path.name for path in (tmp_path / "victim").iterdir()] == ["x"]
    assert [path.name for path in (tmp_path / "out/maps").iterdir()] == ["x.pfm"]


def test_files_of_the_user_in_the_folder_of_copies_stay(tmp_path):
    write_files(tmp_path, {"plugin.py": "VALUE = 1\n", "out/plugins/plugin.py": "MINE = 1\n"})
    (tmp_path / "out/plugins/2").mkdir()
    (tmp_path / "out/plugins/2/plugin.py").symlink_to(tmp_path / "plugin.py")
    script = PLANES | WINDOW | {"plugins": ["plugin.py"]}
    resolved = run_script(tmp_path, script, tmp_path / "out")
    assert resolved["plugins"] == ["plugins/3/plugin.py"]
    assert (tmp_path / "out/plugins/plugin.py").read_text() == "MINE = 1\n"


# --- the origin -----------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path):
    """Return a git repository with a committed script."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path / "repository"
    write_files(folder, {"scripts/s.yaml": PLANES | WINDOW})
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first")
    return folder


def git(folder, *words):
    """Run git in a folder, and return its output."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_the_record_names_the_commit_and_changed_files(repository):
    script = repository / "scripts/s.yaml"
    record = {"commit": git(repository, "rev-parse", "HEAD"), "files": ["scripts/s.yaml"]}
    assert repositories([script]) == [record | {"changed": False}]
    (repository / "scripts/plugin.py").write_text("VALUE = 1\n")
    assert repositories([script]) == [record | {"changed": False}]
    # A plug-in that belongs to no commit counts as a change.
    [with_plugin] = repositories([script, repository / "scripts/plugin.py"])
    assert (with_plugin["changed"], with_plugin["files"]) == (
        True,
        ["scripts/plugin.py", "scripts/s.yaml"],
    )
    script.write_text("# changed\n" + script.read_text())
    assert repositories([script]) == [record | {"changed": True}]


def test_a_run_records_its_repository_and_repeats_no_record(repository, tmp_path):
    for _ in range(2):
        stereo_framework.run(repository / "scripts/s.yaml", out=tmp_path / "out", maps=False)
    lines = (tmp_path / "out" / ORIGIN).read_text().splitlines()
    assert len(lines) == 1
    record = json.loads(lines[0])
    assert record["repositories"][0]["commit"] == git(repository, "rev-parse", "HEAD")
    assert (record["command"], record["is_search"]) == (None, False)
    # A built-in script belongs to no repository of the user.
    stereo_framework.run("window", "synthetic/planes", out=tmp_path / "out", maps=False)
    assert last_record(tmp_path / "out")["repositories"] == []


def test_the_file_of_records_keeps_the_last_records(tmp_path, monkeypatch):
    monkeypatch.setattr("stereo_framework.sweep.origin._MAX_RECORDS", 3)
    with output_folder(tmp_path):
        for number in range(5):
            add_record(tmp_path, {"number": number}, [])
        lines = (tmp_path / ORIGIN).read_text().splitlines()
        assert [json.loads(line)["number"] for line in lines] == [2, 3, 4]
        monkeypatch.setattr("stereo_framework.core.limits.TEXT", 250)
        write_bytes(tmp_path / ORIGIN, b"{}\n" * 80)
        add_record(tmp_path, {"number": 5}, [])
        assert (tmp_path / ORIGIN).stat().st_size <= 250
        assert last_record(tmp_path)["number"] == 5


def test_an_unreadable_file_of_records_does_not_stop_a_run(tmp_path):
    out = tmp_path / "out"
    stereo_framework.run("window", "synthetic/planes", out=out, maps=False)
    record = (out / ORIGIN).read_bytes()
    with output_folder(out):
        write_bytes(out / ORIGIN, b"x" * (limits.TEXT + 1))
    with pytest.warns(UserWarning, match="the command is not recorded"):
        stereo_framework.run("window", "synthetic/planes", out=out, maps=False)
    assert (out / ORIGIN).stat().st_size == limits.TEXT + 1
    with output_folder(out):
        write_bytes(out / ORIGIN, b"")
    stereo_framework.run("window", "synthetic/planes", out=out, maps=False)
    assert len((out / ORIGIN).read_bytes().splitlines()) == len(record.splitlines()) == 1


@posix_only
def test_git_starts_no_program_of_a_repository(repository, tmp_path):
    mark = tmp_path / "mark"
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (repository / ".gitattributes").write_text("* filter=evil\n")
    for name in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process", "core.pager"):
        git(repository, "config", name, str(program))
    git(repository, "config", "core.hooksPath", str(tmp_path))
    for name in ("post-index-change", "fsmonitor-watchman"):
        shutil.copy(program, tmp_path / name)
    script = repository / "scripts/s.yaml"
    # The file has other times, so that git must read its content again.
    script.write_text(script.read_text())
    os.utime(script, (1, 1))
    [record] = repositories([script])
    assert (record["changed"], mark.exists()) == (False, False)


def test_without_git_there_is_no_commit(repository, monkeypatch):
    monkeypatch.setenv("PATH", str(repository))
    assert repositories([repository / "scripts/s.yaml"]) == []
