"""Every option of a command and every key of a file has a test of its effect."""

import ast
import functools
import inspect
from pathlib import Path

import pydantic
import pytest
import typer.main
import yaml

from stereo_framework.cli.main import _EVERYWHERE, app
from stereo_framework.core.parameters import parameters_of
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.step import weighted
from stereo_framework.datasets import scene_schema
from stereo_framework.script.keys import KEYS, SEARCH
from stereo_framework.script.report import PARTS

TESTS = Path(__file__).parent
TABLE = yaml.safe_load((TESTS / "option_effects.yaml").read_text())
COMMON, SCRIPT, SCENE = "every command", "keys of a script", "keys of scene.yaml"


def names_of_option(parameter):
    """Return the names of an option or argument, with short forms and synonyms."""
    return [parameter.name] if parameter.param_type_name == "argument" else list(parameter.opts)


def commands():
    """Return the parameters of each command, without those that every command has."""
    parameters = {}
    for name, command in typer.main.get_command(app).commands.items():
        parameters[name] = [
            parameter for parameter in command.params if parameter.name not in _EVERYWHERE
        ]
    return parameters


def keys_of_script():
    """Return the keys of a script, with those of the mappings below them."""
    below = {"search": SEARCH, "sweep": ("grid", "zip"), "evaluation": ("protocol", "metrics")}
    keys = set(parameters_of(weighted))
    for key in KEYS:
        keys |= {f"{key}.{inner}" for inner in below[key]} if key in below else {key}
    for part, kind in PARTS.items():
        keys |= {f"report.{part}.{inner}" for inner in parameters_of(kind) if inner != "name"}
    return keys


def keys_of_scene():
    """Return the keys of a scene.yaml, with those of the mappings below them."""
    below = {
        "frames": scene_schema.FrameEntry,
        "search": scene_schema.SearchEntry,
        "truth": scene_schema.TruthEntry,
        "calibration": scene_schema.CalibrationEntry,
    }
    keys = {"frames"}
    for key in scene_schema.SceneEntry.model_fields:
        keys |= {f"{key}.{inner}" for inner in below[key].model_fields} if key in below else {key}
    return keys


@functools.cache
def sources_in(file):
    """Return the sources of the tests in a file by their names."""
    text = (TESTS.parent / file).read_text()
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.get_source_segment(text, node) for node in functions}


@pytest.mark.parametrize("command", commands())
def test_every_option_of_a_command_has_a_test_of_its_effect(command):
    parameters = commands()[command]
    entries = set(TABLE[command])
    missing = [
        names_of_option(parameter)
        for parameter in parameters
        if not entries.intersection(names_of_option(parameter))
    ]
    assert missing == [], (
        "write a test that shows the effect of these options and name it in tests/option_effects.yaml"
    )
    all_names = set().union(*map(names_of_option, parameters))
    assert entries <= all_names, "these options are gone"


def test_the_options_that_every_command_has_have_tests_of_their_effects():
    assert set(TABLE[COMMON]) == {f"--{name.replace('_', '-')}" for name in _EVERYWHERE}
    assert set(TABLE) == {COMMON, SCRIPT, SCENE, *commands()}


def test_every_key_of_a_script_has_a_test_of_its_effect():
    assert set(SLOTS) < keys_of_script()
    assert set(TABLE[SCRIPT]) == keys_of_script()


def test_every_key_of_a_scene_file_has_a_test_of_its_effect():
    entries = [
        kind
        for _, kind in inspect.getmembers(scene_schema, inspect.isclass)
        if issubclass(kind, pydantic.BaseModel)
    ]
    assert len(entries) == 6, "a new kind of entry belongs into keys_of_scene"
    assert set(TABLE[SCENE]) == keys_of_scene()


@pytest.mark.parametrize("section", TABLE)
def test_the_tests_that_the_table_names_exist_and_use_the_option(section):
    for name, test in TABLE[section].items():
        file, _, function = test.partition("::")
        sources = sources_in(file)
        assert function in sources, f"{section} {name}: there is no test {test}"
        if name.startswith("--") and section != COMMON:
            whole_file = (TESTS.parent / file).read_text()
            short = {"--out": "-o"}.get(name, name)
            assert (
                f'"{name}"' in whole_file or f" {name} " in whole_file or f'"{short}"' in whole_file
            ), f"{test} does not use {name}"
