"""Third-party code is listed by `check`, and nothing executes it if the user forbids that."""

import os
import shlex
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import yaml
from cli_parts import invoke

import stereo_framework
from stereo_framework.core.errors import ParameterError, ScriptError
from stereo_framework.core.plugins import installed_plugins
from stereo_framework.core.registration import step
from stereo_framework.papers.energies2008.items import _energy
from stereo_framework.script import load
from stereo_framework.script.load import inspect_script
from stereo_framework.sweep.processes import Processes

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="the commands are those of a POSIX shell"
)

FUNCTION = """
import pathlib
import numpy as np

pathlib.Path({mark!r}).touch()

def match(left, right, minimum, maximum):
    return np.zeros(left.shape[:2], np.float32)
"""
SHELL = "touch {mark}; cp {{left}} {{output}}"
GREY = {"map_format": "png", "grey": True, "disparity_scale": 1.0}
BASE = {"scenes": ["synthetic/planes"], "search": {"minimum": 0, "maximum": 4}}
COMPARISON = {"optimization": "winner_take_all", "matching_cost": "absolute_difference"}


@pytest.fixture
def mark(tmp_path, monkeypatch):
    """A file that third-party code of this folder writes when it is executed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEREO_NO_PLUGINS", raising=False)
    mark = tmp_path / "mark"
    (tmp_path / "evil.py").write_text(FUNCTION.format(mark=str(mark)))
    (tmp_path / "tool.sh").write_text(f"#!/bin/sh\ntouch {mark}\ncp $1 $2\n")
    (tmp_path / "tool.sh").chmod(0o755)
    return mark


def matchers(mark):
    """The values of the slot that execute code, with the lines that `check` lists."""
    here = mark.parent
    shell = SHELL.format(mark=mark)
    function = f"the Python function {here / 'evil.py'}:match"
    return {
        "function": ({"use": "python", "function": "evil.py:match"}, function),
        "shell": (
            {"use": "command", "shell": True, "command_line": shell} | GREY,
            f"the shell command {shell}",
        ),
        "program": (
            {"use": "command", "command_line": "./tool.sh {left} {output}"} | GREY,
            f"the program {here / 'tool.sh'} {{left}} {{output}}",
        ),
    }


def write_script(name, script):
    Path(name).write_text(yaml.safe_dump(script, sort_keys=False))


KINDS = ("function", "shell", "program")
COMMANDS = (
    ("run", "s.yaml"),
    ("run", "s.yaml", "--out", "o", "--no-maps"),
    ("tune", "s.yaml"),
    ("match", "--example", "--method", "s.yaml"),
    ("choose", "--scene", "synthetic/planes", "--methods", "s.yaml,window"),
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("switch", ["option", "variable"])
def test_no_command_executes_functions_and_programs_that_the_user_forbids(
    kind, switch, mark, monkeypatch
):
    matcher, execution = matchers(mark)[kind]
    write_script("s.yaml", BASE | {"matcher": matcher})
    option = ["--no-plugins"] if switch == "option" else []
    if switch == "variable":
        monkeypatch.setenv("STEREO_NO_PLUGINS", "1")
    for command in COMMANDS:
        result = invoke(*command, *option)
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1), result.output
        assert (
            f"{execution} is not executed: --no-plugins, or STEREO_NO_PLUGINS in the environment"
            in result.stderr
        )
    assert not mark.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_check_lists_functions_and_programs_and_executes_none(kind, mark):
    matcher, execution = matchers(mark)[kind]
    write_script("s.yaml", BASE | {"matcher": matcher})
    expected = f"s.yaml: no fault; 1 run on synthetic/planes\ns.yaml: a run executes {execution}\n"
    for option in ([], ["--no-plugins"]):
        result = invoke("check", "s.yaml", *option)
        assert (result.exit_code, result.stdout) == (0, expected)
    assert not mark.exists()
    # Without the switch the same script executes the code.
    assert invoke("run", "s.yaml").exit_code == 0
    assert mark.exists()


def test_check_on_a_small_pair_needs_permission_to_execute_code(mark, monkeypatch):
    write_script("s.yaml", BASE | {"matcher": matchers(mark)["function"][0]})
    assert invoke("check", "s.yaml", "--try", "--no-plugins").exit_code == 2
    monkeypatch.setenv("STEREO_NO_PLUGINS", "1")
    assert invoke("check", "s.yaml", "--try").exit_code == 2
    assert not mark.exists()


def hidden_places(matcher, other):
    """Scripts in which third-party code stands in other places than the slot at the top."""
    auxiliary = {"inner": {"matcher": matcher}}
    chain = COMPARISON | {"optimization": "plane_paths"}
    swept = {"sweep": {"grid": {"matcher": [other, matcher]}}}
    zipped = {"sweep": {"zip": {"matcher": [other, matcher], "search.step": [1, 1]}}}
    tiles = {"scheme": {"use": "tiles", "tile_size": 64, "overlap": 16}}
    return {
        "method": BASE | {"methods": {"a": COMPARISON, "b": {"matcher": matcher}}},
        "auxiliary method": BASE | chain | {"auxiliary": auxiliary},
        "auxiliary method of a method": BASE | {"methods": {"a": chain | {"auxiliary": auxiliary}}},
        "axis": BASE | {"matcher": other} | swept,
        "axes that move together": BASE | {"matcher": other} | zipped,
        "axis of a method": BASE | {"methods": {"a": {"matcher": other} | swept}},
        "include": BASE | {"include": "inner.yaml"},
        "include of a method": BASE | {"methods": {"a": {"include": "inner.yaml"}}},
        "include of an auxiliary method": BASE
        | chain
        | {"auxiliary": {"inner": {"include": "inner.yaml"}}},
        "scheme": BASE | {"matcher": matcher} | tiles,
        "plug-in beside it": BASE
        | {"plugins": ["stages.py"], "matcher": matcher, "refinement": ["of_the_plugin"]},
        "auxiliary method of an unknown stage": (
            BASE
            | {"plugins": ["stages.py"], "auxiliary": auxiliary}
            | COMPARISON
            | {"optimization": "of_the_plugin"}
        ),
    }


@pytest.mark.parametrize("place", hidden_places({}, {}))
def test_check_lists_code_wherever_it_stands_in_a_script(place, mark):
    (mark.parent / "stages.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    write_script("inner.yaml", {"matcher": matchers(mark)["function"][0]})
    matcher, execution = matchers(mark)["function"]
    write_script("s.yaml", hidden_places(matcher, {"use": "opencv_bm"})[place])
    result = invoke("check", "s.yaml", "--no-plugins")
    assert result.exit_code == 0, result.output
    assert f"s.yaml: a run executes {execution}\n" in result.stdout
    forbidden = invoke("run", "s.yaml", "--no-plugins")
    assert forbidden.exit_code == 2
    assert not mark.exists()


def test_check_lists_each_value_of_an_axis_over_a_parameter(mark):
    shutil.copy("evil.py", "worse.py")
    axis = {"matcher.function": ["evil.py:match", "worse.py:match"]}
    write_script(
        "s.yaml",
        BASE | {"matcher": {"use": "python", "function": "evil.py:match"}, "sweep": {"grid": axis}},
    )
    listed = invoke("check", "s.yaml", "--no-plugins").stdout
    assert all(f"{mark.parent / name}:match" in listed for name in ("evil.py", "worse.py"))
    override = invoke(
        "check", "s.yaml", "--no-plugins", "--set", f"matcher.function={mark.parent}/other.py:match"
    )
    assert f"python.function: no file {mark.parent}/other.py" in override.stderr
    assert not mark.exists()


def test_check_shows_the_whole_command_in_one_line(mark):
    """A stranger could hide a part behind blanks, line ends or characters that turn the text round."""
    command = "true" + " " * 3000 + f"; touch {mark}\n\u202e# {{output}}"
    write_script(
        "s.yaml", BASE | {"matcher": {"use": "command", "shell": True, "command_line": command}}
    )
    result = invoke("check", "s.yaml", "--no-plugins")
    [_, line] = result.stdout.splitlines()
    assert f"; touch {mark}\\n\\u202e# {{output}}" in line


def test_a_check_imports_no_package_of_a_function(mark, monkeypatch):
    package = mark.parent / "hostile"
    package.mkdir()
    (package / "__init__.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    (package / "inner.py").write_text("def match(left, right, minimum, maximum): ...\n")
    monkeypatch.syspath_prepend(mark.parent)
    write_script("s.yaml", BASE | {"matcher": {"use": "python", "function": "hostile.inner:match"}})
    for option in ([], ["--no-plugins"]):
        result = invoke("check", "s.yaml", *option)
        assert (result.exit_code, "the Python function hostile.inner:match" in result.stdout) == (
            0,
            True,
        ), result.output
    assert not mark.exists()


# --- Python -----------------------------------------------------------------------------------------------------------


def test_python_calls_execute_nothing_that_the_user_forbids(mark, monkeypatch):
    matcher, _ = matchers(mark)["function"]
    allowed = load(BASE | {"matcher": matcher})
    calls = {
        "load": lambda: load(BASE | {"matcher": matcher}),
        "run": lambda: stereo_framework.run(BASE | {"matcher": matcher}),
        "plugins": lambda: load(BASE | COMPARISON, plugins=["evil.py"]),
    }
    scene = stereo_framework.load_scene("synthetic/planes")
    monkeypatch.setenv("STEREO_NO_PLUGINS", "1")
    for call in calls.values():
        with pytest.raises(
            ScriptError, match="is not (executed|imported): --no-plugins, or STEREO_NO_PLUGINS"
        ):
            call()
    # Objects that exist already are refused when they are called.
    with pytest.raises(ParameterError, match="is not executed"):
        allowed.pipeline(scene)
    with pytest.raises(ParameterError, match="is not executed"):
        step("command", command_line=f"touch {mark} {{output}}", shell=True).stage.function(
            scene.reference,
            scene.match,
            scene.search,
            command_line=f"touch {mark} {{output}}",
            shell=True,
        )
    [result] = stereo_framework.run(allowed)
    assert "is not executed" in result.error
    assert not mark.exists()


@pytest.mark.compiled
def test_worker_processes_obey_the_switch(mark, monkeypatch):
    allowed = load(BASE | {"matcher": matchers(mark)["function"][0]})
    monkeypatch.setenv("STEREO_NO_PLUGINS", "1")
    with Processes(1) as executor:
        [result] = stereo_framework.run(allowed, executor=executor)
        in_worker = executor.submit(os.getenv, "STEREO_NO_PLUGINS").result()
    assert (in_worker, "is not executed" in result.error) == ("1", True)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("text", "forbidden"), [("1", True), ("0", True), ("no", True), ("", False)]
)
def test_any_text_but_an_empty_one_turns_the_switch_on(text, forbidden, mark, monkeypatch):
    write_script("s.yaml", BASE | {"matcher": matchers(mark)["function"][0]})
    monkeypatch.setenv("STEREO_NO_PLUGINS", text)
    assert invoke("run", "s.yaml").exit_code == (2 if forbidden else 0)
    assert mark.exists() is not forbidden


def test_the_switch_and_a_plug_in_contradict_each_other(mark, monkeypatch):
    for command in (
        ("check", "ssd"),
        ("run", "ssd", "--scene", "synthetic/planes"),
        ("results", "o"),
        ("stages",),
    ):
        result = invoke(*command, "--plugin", "evil.py", "--no-plugins")
        assert (
            result.exit_code,
            "--plugin and --no-plugins contradict each other" in result.stderr,
        ) == (2, True)
    monkeypatch.setenv("STEREO_NO_PLUGINS", "1")
    assert invoke("stages", "--plugin", "evil.py").exit_code == 2
    assert not mark.exists()


def test_installed_plug_ins_are_passed_over_if_the_variable_is_set(tmp_path, monkeypatch):
    (tmp_path / "passed_over.py").write_text("raise SystemExit('executed')\n")
    (tmp_path / "passed_over-1.dist-info").mkdir()
    (tmp_path / "passed_over-1.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: passed_over\nVersion: 1\n"
    )
    entry = "[stereo_framework.plugins]\npassed_over = passed_over\n"
    (tmp_path / "passed_over-1.dist-info/entry_points.txt").write_text(entry)
    monkeypatch.syspath_prepend(tmp_path)
    for text, status in (("1", 0), ("", 2)):
        installed_plugins.cache_clear()
        monkeypatch.setenv("STEREO_NO_PLUGINS", text)
        assert invoke("stages", "box").exit_code == status
    installed_plugins.cache_clear()


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["script", "scene", "protocol"])
@pytest.mark.parametrize(
    "tag", ["!!python/object/apply:os.system", "!!python/name:os.system", "!!python/module:os"]
)
def test_yaml_tags_execute_nothing(kind, tag, mark):
    value = f"{tag} [touch {mark}]" if "apply" in tag else f"{tag} ''"
    Path("s.yaml").write_text(f"include: window\nseed: {value}\n")
    Path("scene.yaml").write_text(f"frames: [a.png, b.png]\nborder: {value}\n")
    words = {
        "script": ("check", "s.yaml"),
        "scene": ("scenes", "--describe", "./scene.yaml"),
        "protocol": (
            "run",
            "window",
            "--scene",
            "synthetic/planes",
            "--protocol",
            f"{{base: {value}}}",
        ),
    }[kind]
    result = invoke(*words)
    assert (result.exit_code, f"{tag.partition(' ')[0]} is not supported" in result.stderr) == (
        2,
        True,
    ), result.output
    assert not mark.exists()


class Bomb:
    """An object that writes a file when it is unpickled."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


@pytest.mark.parametrize("name", ["map.npy", "map.npz"])
def test_pickled_objects_in_numpy_files_are_not_read(name, mark):
    array = np.array([[Bomb(mark)]], dtype=object)
    if name.endswith(".npy"):
        np.save(name, array, allow_pickle=True)
    else:
        np.savez(name, array)
    mark.unlink(missing_ok=True)
    result = invoke("evaluate", name, "--scene", "synthetic/planes")
    assert (
        result.exit_code,
        f"{name}: the file has Python objects, which are not read" in result.stderr,
    ) == (2, True)
    assert not mark.exists()


# --- results folders --------------------------------------------------------------------------------------------------

READERS = (
    ("results", "o"),
    ("rank", "o"),
    ("report", "o"),
    ("results", "o", "--json"),
    ("merge", "o", "--out", "merged"),
    ("changes", "o", "merged"),
    ("results", "o", "merged"),
)


def test_no_command_executes_code_that_a_results_folder_names(mark):
    write_script(
        "s.yaml", BASE | {"matcher": matchers(mark)["function"][0], "plugins": ["stages.py"]}
    )
    Path("stages.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    assert invoke("run", "s.yaml", "--out", "o").exit_code == 0
    mark.unlink()
    for command in READERS:
        assert invoke(*command).exit_code == 0
    # The folder has only one method, so there is nothing to compare.
    assert invoke("differences", "o").exit_code == 2
    map_file = next(Path("o/maps").glob("*.pfm"))
    assert (
        invoke(
            "evaluate", map_file, "--scene", "synthetic/planes", "--out", "o", "--name", "copy"
        ).exit_code
        == 0
    )
    assert not mark.exists()
    # The resolved script names copies of the code: check lists them, the switch refuses them.
    listed = invoke("check", "o/s.resolved.yaml", "--no-plugins").stdout
    assert f"the Python function {mark.parent / 'o/plugins/evil.py'}:match" in listed
    assert f"the plug-in {mark.parent / 'o/plugins/stages.py'}" in listed
    assert invoke("run", "o/s.resolved.yaml", "--no-plugins").exit_code == 2
    # A plug-in of a results folder is data until the user names it.
    assert invoke("run", "o/s.resolved.yaml").exit_code == 2
    assert invoke("run", "o").exit_code == 2
    # The same holds for the copies of the code in the folder of a merge.
    assert Path("merged/plugins/stages.py").is_file()
    assert invoke("run", "merged").exit_code == 2
    assert not mark.exists()


HOSTILE_PLUGINS = {
    "above the folder": "../evil.py",
    "far above the folder": "plugins/../../evil.py",
    "absolute": "{folder}/evil.py",
    "in the folder": "plugins/evil.py",
    "a link": "plugins/link.py",
    "without a name": "../.py",
    "in an include": None,
}
"""Paths of a plug-in in a resolved script of a results folder."""


@pytest.fixture
def hostile_folder(mark):
    """Write a results folder with copies of code, which a test completes by a script."""
    Path("o/plugins").mkdir(parents=True)
    for name in ("o/plugins/evil.py", ".py"):
        shutil.copy("evil.py", name)
    Path("o/plugins/link.py").symlink_to(mark.parent / "evil.py")
    write_script("inner.yaml", {"plugins": ["evil.py"]})
    return Path("o")


@pytest.fixture(params=HOSTILE_PLUGINS)
def hostile_script(request, mark, hostile_folder):
    """Write a script that names a plug-in to a results folder, and return its path."""
    plugin = HOSTILE_PLUGINS[request.param]
    part = {"include": "../inner.yaml"}
    if plugin is not None:
        part = {"plugins": [plugin.format(folder=mark.parent)]}
    write_script(hostile_folder / "s.resolved.yaml", BASE | COMPARISON | part)
    return hostile_folder / "s.resolved.yaml"


def test_a_results_folder_executes_no_plug_in(mark, hostile_script):
    for words in (("run", "o"), ("run", "o", "--out", "new"), ("run", "./o", "--json")):
        result = invoke(*words)
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        *lines, command = result.stderr.splitlines()
        assert lines[0].startswith("error: o/s.resolved.yaml: a run executes the plug-in ")
        assert command.startswith("stereo-framework run o/s.resolved.yaml")
    assert not mark.exists()
    assert not Path("new").exists()


def test_no_command_executes_the_plug_in_of_a_resolved_script(mark, hostile_script):
    for words in (("run",), ("check",), ("match", "--example", "--method")):
        assert invoke(*words, hostile_script).exit_code == 2
    assert not mark.exists()


@pytest.mark.parametrize(
    ("place", "kind"),
    [*(("slot", kind) for kind in KINDS), *((place, "shell") for place in hidden_places({}, {}))],
)
def test_a_results_folder_executes_no_function_and_no_program(place, kind, mark, hostile_folder):
    matcher, execution = matchers(mark)[kind]
    for name in ("inner.yaml", "evil.py", "stages.py"):
        Path("o", name).write_text("")
    shutil.copy("evil.py", "o/evil.py")
    shutil.copy("tool.sh", "o/tool.sh")
    write_script("o/inner.yaml", {"matcher": matcher})
    script = BASE | {"matcher": matcher}
    if place != "slot":
        script = hidden_places(matcher, {"use": "opencv_bm"})[place]
    write_script("o/s.resolved.yaml", script)
    result = invoke("run", "o", "--out", "new")
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    expected = execution.replace(f"{mark.parent}/evil", "o/evil")
    assert expected.replace(f"{mark.parent}/tool", "o/tool") in result.stderr
    assert not mark.exists()
    assert not Path("new").exists()


def test_a_module_that_a_results_folder_names_is_not_imported(mark, hostile_folder, monkeypatch):
    Path("hostile_module.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(mark.parent)
    script = BASE | COMPARISON | {"plugins": ["hostile_module"]}
    write_script(hostile_folder / "s.resolved.yaml", script)
    result = invoke("run", "o")
    assert (result.exit_code, "the plug-in hostile_module" in result.stderr) == (2, True)
    assert not mark.exists()


@pytest.mark.parametrize(
    "record",
    [
        '{"scripts": ["../evil.resolved.yaml", "/etc/passwd", 3, null], "is_search": 1}',
        '{"scripts": {"a": 1}, "repositories": 3}',
        "[" * 100_000,
        '"s.resolved.yaml"',
        "\u202e\x1b[31m",
    ],
)
def test_a_record_in_a_results_folder_adds_no_script(record, mark, hostile_folder):
    evil = {"matcher": matchers(mark)["function"][0]}
    write_script("evil.resolved.yaml", BASE | evil)
    write_script(hostile_folder / "s.resolved.yaml", BASE | COMPARISON)
    Path("o/origin.jsonl").write_text(record)
    result = invoke("run", "o", "--out", "new")
    assert result.exit_code == 0, result.output
    assert [path.name for path in Path("new").glob("*.yaml")] == ["s.resolved.yaml"]
    assert not mark.exists()


def test_the_printed_command_cannot_be_extended_by_a_name(mark, hostile_folder):
    name = "x; touch mark #\u202e\x1b[31m.py"
    Path("o", name).write_text("")
    script = BASE | COMPARISON | {"plugins": [name]}
    write_script(hostile_folder / "s.resolved.yaml", script)
    command = invoke("run", "o").stderr.splitlines()[-1]
    assert command.isprintable()
    assert shlex.split(command)[:4] == ["stereo-framework", "run", "o/s.resolved.yaml", "--plugin"]
    assert len(shlex.split(command)) == 5


def test_a_stored_script_of_a_paper_loads_no_plug_in(mark):
    write_script("inner.yaml", {"plugins": ["evil.py"]})
    slots = {"matching_cost": "squared_difference", "smoothness": "potts", "optimization": "icm"}
    scene = stereo_framework.load_scene("synthetic/planes")
    stored = types.SimpleNamespace(
        script=slots | {"plugins": [str(mark.parent / "evil.py")], "include": "inner.yaml"}
    )
    assert _energy(stored, scene).volume.costs.size
    assert not mark.exists()


def test_a_mapping_that_includes_a_file_gives_it_no_other_folder(mark):
    Path("folder").mkdir()
    write_script("folder/s.yaml", BASE | COMPARISON | {"plugins": ["../evil.py"]})
    with pytest.raises(ScriptError, match="is outside the script's folder"):
        load({"include": "folder/s.yaml"})
    assert not mark.exists()
    assert load({"include": "folder/s.yaml"}, plugins=["evil.py"]).executions == (
        f"the plug-in {mark.parent / 'evil.py'}",
    )


def test_the_installed_command_imports_no_module_of_the_current_folder(mark):
    command = Path(sys.executable).with_name("stereo-framework")
    if not command.is_file():
        pytest.skip("the package is not installed as a command")
    for module in ("yaml", "numpy", "typer"):
        Path(f"{module}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    done = subprocess.run(
        [command, "check", "window", "--no-plugins"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not mark.exists()


def test_the_list_does_not_contain_files_that_a_plug_in_imports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("import helper\n")
    (tmp_path / "helper.py").write_text("size = 3\n")
    (tmp_path / "script.yaml").write_text("include: window\nplugins: [mine.py]\n")
    executions = inspect_script("script.yaml").executions
    assert executions == (f"the plug-in {tmp_path / 'mine.py'}",)
