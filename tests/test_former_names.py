"""Errors about former names give the new names, at each place of their use."""

import importlib
import inspect
import pkgutil
import re
import sys

import numpy as np
import pytest
import typer.main
from cli_parts import error_lines, invoke

import stereo_framework as sf
from stereo_framework.cli.main import app
from stereo_framework.cli.stages import KINDS
from stereo_framework.core import former_names, package_files
from stereo_framework.core import registration as registered
from stereo_framework.core.errors import (
    DataError,
    ParameterError,
    ScriptError,
    StereoFrameworkError,
)
from stereo_framework.core.parameters import parameters_of
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.step import FACTORS
from stereo_framework.datasets.scene_schema import TruthEntry
from stereo_framework.evaluation import Protocol, resolve, user_metrics
from stereo_framework.evaluation.hci import Parameters as HciParameters
from stereo_framework.evaluation.metrics import METRICS
from stereo_framework.io import write_image
from stereo_framework.script import schema
from stereo_framework.script.keys import AUXILIARY_KEYS, KEYS

ENTRIES = [
    (section, place, former, new)
    for section, places in former_names.table().items()
    for place, names in places.items()
    for former, new in names.items()
]
IDS = ["-".join(entry[:3]) for entry in ENTRIES]

CLASSES = {
    "CostVolume": "stereo_framework.core.volume",
    "MethodChoice": "stereo_framework.user_pair.method_choice",
    "Pipeline": "stereo_framework.engine.pipeline",
    "PointCloud": "stereo_framework.user_pair.match_result",
    "Protocol": "stereo_framework.evaluation",
    "View": "stereo_framework.core.view",
}
"""Modules of the classes whose attributes had other names."""

STAGE_PARAMETERS = [entry[1:] for entry in ENTRIES if entry[0] == "stage_parameters"]


@pytest.fixture(autouse=True)
def _working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def clause(new):
    return f"it is called {new!r} now"


def fault_about(name, script):
    """Load a script from a file, and return its fault about a name without the line."""
    with open("script.yaml", "w") as file:
        file.write(script)
    with pytest.raises(ScriptError) as error:
        sf.load("script.yaml")
    lines = error.value.faults
    assert all(re.match(r"script\.yaml:\d+:\d+: ", line) for line in lines)
    [line] = [line for line in lines if repr(name) in line]
    return re.sub(r"^script\.yaml:\d+:\d+: ", "", line)


# --- an error for each section of the table -------------------------------------------


def stage_of(place):
    """Return a stage at a place of the table; the star stands for any of the slot."""
    slot, _, name = place.partition(".")
    if name == "*":
        return registered.stages(slot)[0]
    return registered.find(slot, name)


def stage_parameter_errors(place, former, new):
    stage = stage_of(place)
    added = place.endswith(".*")
    entry = f"{{use: {stage.name}, {former}: 1}}"
    is_list = added or SLOTS[stage.slot].many
    value = f"[{entry}]" if is_list else entry
    path = f"{stage.slot}.{stage.name}" if is_list else stage.slot
    message = f"{stage.name} has no parameter {former!r}; {clause(new)}"
    yield fault_about(former, f"{stage.slot}: {value}"), f"{path}: {message}"


def script_key_errors(place, former, new):
    text = f"{former}: {{a: 1}}"
    if place != "script":
        expected = f"{place}: there is no key {former!r}; {clause(new)}"
        yield fault_about(former, f"{place}: {{{text}}}"), expected
        return
    yield fault_about(former, text), f"there is no key {former!r}; {clause(new)}"
    expected = f"methods.m: there is no key {former!r} of a method; {clause(new)}"
    yield fault_about(former, f"methods: {{m: {{{text}}}}}"), expected


def protocol_field_errors(place, former, new):
    fields = {former: 1} if place == "protocol" else {place: {former: 1}}
    with pytest.raises(ParameterError) as error:
        resolve({"base": "taxonomy2002", **fields})
    if place == "protocol":
        expected = f"protocol.{former}: a protocol has no such field; {clause(new)}"
    else:
        expected = f"protocol.{place}: {former}: no such parameter; {clause(new)}"
    yield str(error.value), expected


def scene_key_errors(place, former, new):
    for name in ("a.png", "b.png"):
        write_image(name, np.zeros((4, 5), np.uint8))
    with open("scene.yaml", "w") as file:
        file.write(f"frames: [a.png, b.png]\n{place}: {{file: t.pfm, {former}: 1}}\n")
    with pytest.raises(DataError) as error:
        sf.load_scene("scene.yaml")
    yield (
        re.sub(r"^\S*scene\.yaml:\d+:\d+: ", "", str(error.value)),
        f"{place}: unknown key '{former}'; {clause(new)}",
    )


def command_option_errors(place, former, new):
    result = invoke(place, former, "x")
    assert result.exit_code == 2
    help_text = f"stereo-framework {place} --help shows the usage"
    [line] = error_lines(result)
    yield line, f"error: No such option: {former}; it is called {new} now; {help_text}"


def command_value_errors(place, former, new):
    command, _, option = place.partition(" ")
    words = [command, "--new", "mine", option, former] if option else [command, former]
    result = invoke(*words)
    assert result.exit_code == 2
    [line] = error_lines(result)
    event = f"{option}: no slot" if option else "there is no stage"
    yield line, f"error: {event} {former!r}; {clause(new)}"


def script_name_errors(place, former, new):
    with pytest.raises(ScriptError) as error:
        sf.load(former)
    line = str(error.value)
    assert line.startswith(f"script {former!r}: no such file in ")
    yield line.rpartition("; ")[2], clause(new)


def data_argument_errors(place, former, new):
    register = DECORATORS[place]
    with pytest.raises(StereoFrameworkError) as error:
        register(former)
    if place == "stage":
        event = f"stage refinement.mine: stages of refinement get no data {former!r}"
        expected = f"{event}; {clause(new)}; parameters stand after '*'"
    else:
        expected = f"metric mine: no such data {former!r}; {clause(new)}"
    yield str(error.value), expected


def _register_stage(argument):
    functions = {}
    exec(f"def mine(disparity, {argument}):\n    return disparity", functions)
    sf.stage("refinement", source="x")(functions["mine"])


def _register_metric(argument):
    functions = {}
    exec(f"def mine(prediction, image, {argument}):\n    return 0.0", functions)
    sf.metric(unit="px", better="lower", source="x")(functions["mine"])


DECORATORS = {"stage": _register_stage, "metric": _register_metric}


def module_name_errors(place, former, new):
    with pytest.raises(AttributeError) as error:
        getattr(importlib.import_module(place), former)
    yield str(error.value), f"module {place!r} has no attribute {former!r}; {clause(new)}"
    with pytest.raises(ImportError) as error:
        exec(f"from {place} import {former}", {})
    yield str(error.value), f"cannot import name {former!r} from {place!r}; {clause(new)}"


def moved_name_errors(place, former, new):
    hint = f"import it from {new!r}"
    with pytest.raises(AttributeError) as error:
        getattr(importlib.import_module(place), former)
    yield str(error.value), f"module {place!r} has no attribute {former!r}; {hint}"
    with pytest.raises(ImportError) as error:
        exec(f"from {place} import {former}", {})
    yield str(error.value), f"cannot import name {former!r} from {place!r}; {hint}"
    exec(f"from {new} import {former}", {})


def attribute_errors(place, former, new):
    kind = getattr(importlib.import_module(CLASSES[place]), place)
    empty = () if not issubclass(kind, tuple) else (None,) * len(kind._fields)
    with pytest.raises(AttributeError) as error:
        getattr(kind.__new__(kind, *empty), former)
    yield str(error.value), f"{place!r} object has no attribute {former!r}; {clause(new)}"


def argument_errors(place, former, new):
    if place == "Pipeline.having":
        chain = sf.Pipeline(["absolute_difference", "winner_take_all"])
        with pytest.raises(ParameterError) as error:
            chain.having(**{former: None})
        yield str(error.value), f"{former}: no stage has this parameter; {clause(new)}"
        return
    with pytest.raises(TypeError) as error:
        function_at(place)(**{former: None})
    message = f"{place}() got an unexpected keyword argument {former!r}; {clause(new)}"
    yield str(error.value), message


def function_at(place):
    """Return a function, a method or a class whose arguments had other names."""
    if place == "Pipeline.stages":
        return sf.Pipeline(["absolute_difference", "winner_take_all"]).stages
    if place in CLASSES:
        return getattr(importlib.import_module(CLASSES[place]), place)
    return getattr(sf, place)


def statistic_errors(place, former, new):
    plots = f"report: {{plots: {{a: {{x: matching_cost.truncation, y: {former}}}}}}}"
    message = f"there is no statistic {former!r}; {clause(new)}"
    yield fault_about(former, plots), f"report.plots.a.y: {message}"
    with pytest.raises(ParameterError) as error:
        resolve({"base": "taxonomy2002", place: [former]})
    yield str(error.value), f"protocol.{place}: there is no metric {former!r}; {clause(new)}"


ERRORS = {
    "stage_parameters": stage_parameter_errors,
    "script_keys": script_key_errors,
    "protocol_fields": protocol_field_errors,
    "scene_keys": scene_key_errors,
    "statistics": statistic_errors,
    "command_options": command_option_errors,
    "command_values": command_value_errors,
    "script_names": script_name_errors,
    "data_arguments": data_argument_errors,
    "module_names": module_name_errors,
    "moved_names": moved_name_errors,
    "attributes": attribute_errors,
    "arguments": argument_errors,
}
"""For each section of the table the function that provokes the errors of an entry."""


@pytest.mark.parametrize(("section", "place", "former", "new"), ENTRIES, ids=IDS)
def test_the_error_about_a_former_name_gives_the_new_name(section, place, former, new):
    for message, expected in ERRORS[section](place, former, new):
        assert message == expected


# --- the new names exist --------------------------------------------------------------


def stage_parameter_names(place):
    return FACTORS if place.endswith(".*") else stage_of(place).parameters


def script_key_names(place):
    if place == "script":
        return KEYS
    return schema()["properties"][place]["properties"]


def protocol_field_names(place):
    if place == "hci":
        return parameters_of(HciParameters)
    return {*parameters_of(Protocol), "metric"}  # field() makes the plural of metric


def command_option_names(place):
    command = typer.main.get_command(app).commands[place]
    return [option for parameter in command.params for option in parameter.opts]


def command_value_names(place):
    return KINDS if place.endswith("--slot") else ("metrics",)


def data_argument_names(place):
    return user_metrics._FRAME if place == "metric" else SLOTS["refinement"].may_name


def module_name_names(place):
    module = importlib.import_module(place)
    folders = getattr(module, "__path__", ())
    return {*dir(module), *(found.name for found in pkgutil.iter_modules(folders))}


def attribute_names(place):
    kind = getattr(importlib.import_module(CLASSES[place]), place)
    return {*dir(kind), *getattr(kind, "__dataclass_fields__", ())}


def argument_names(place):
    if place == "Pipeline.having":
        return AUXILIARY_KEYS
    return inspect.signature(function_at(place)).parameters


NAMES = {
    "stage_parameters": stage_parameter_names,
    "script_keys": script_key_names,
    "protocol_fields": protocol_field_names,
    "statistics": lambda place: METRICS,
    "scene_keys": lambda place: {"truth": TruthEntry}[place].model_fields,
    "command_options": command_option_names,
    "command_values": command_value_names,
    "script_names": lambda place: package_files.script_names(),
    "data_arguments": data_argument_names,
    "module_names": module_name_names,
    "moved_names": lambda place: sys.modules,
    "attributes": attribute_names,
    "arguments": argument_names,
}
"""For each section of the table the function that returns the correct names."""


@pytest.mark.parametrize(("section", "place", "former", "new"), ENTRIES, ids=IDS)
def test_the_new_name_is_correct_where_the_former_name_is_not(section, place, former, new):
    names = NAMES[section](place)
    assert new in names
    assert former not in names


def test_each_section_of_the_table_has_tests():
    assert set(ERRORS) == set(NAMES) == set(former_names.table())


# --- other places at which users write parameters -------------------------------------


@pytest.fixture
def chain_script():
    return {
        "scenes": ["synthetic/planes"],
        "matching_cost": "absolute_difference",
        "aggregation": ["cross_based"],
        "optimization": "winner_take_all",
    }


@pytest.mark.parametrize(
    "address", ["length", "aggregation.length", "aggregation.cross_based.length"]
)
def test_an_override_of_a_former_parameter_gives_the_new_name(address, chain_script):
    with pytest.raises(ScriptError, match=r"; it is called 'max_arm' now"):
        sf.load(chain_script, overrides=[f"{address}=5"])


@pytest.mark.parametrize("address", ["aggregation.cross_based.length", "aggregation.0.length"])
def test_an_axis_of_a_former_parameter_gives_the_new_name(address, chain_script):
    with pytest.raises(ScriptError, match=r"; it is called 'max_arm' now"):
        sf.load(chain_script | {"sweep": {"grid": {address: [5, 6]}}})


def test_an_axis_in_former_alternatives_gives_the_new_key(chain_script):
    axis = {"alternatives.robust.aggregation.box.size": [5]}
    with pytest.raises(ScriptError, match=r"; it is called 'auxiliary' now"):
        sf.load(chain_script | {"sweep": {"grid": axis}})


def test_a_plot_over_a_former_parameter_gives_the_new_name(chain_script):
    plots = {"a": {"x": "aggregation.cross_based.length", "y": "bad_pixels_all"}}
    with pytest.raises(ScriptError, match=r"; it is called 'max_arm' now"):
        sf.load(chain_script | {"report": {"plots": plots}})


@pytest.mark.parametrize("name", ["length", "cross_based.length", "aggregation.cross_based.length"])
def test_a_pipeline_with_a_former_parameter_gives_the_new_name(name):
    chain = sf.Pipeline(["absolute_difference", "cross_based", "winner_take_all"])
    message = rf"^{name}: no stage has this parameter; it is called 'max_arm'"
    with pytest.raises(ParameterError, match=message):
        chain.having(**{name: 5})


@pytest.mark.parametrize(("place", "former", "new"), STAGE_PARAMETERS)
def test_a_call_with_a_former_parameter_gives_the_new_name(place, former, new):
    stage = stage_of(place)
    message = f"{stage.name}.{former}: no such parameter of {stage.name}; {clause(new)}"
    for call in (stage.public, lambda **named: sf.step(stage.public, **named)):
        with pytest.raises(ParameterError) as error:
            call(**{former: 1})
        assert str(error.value) == message


def test_a_name_that_was_never_one_of_the_program_gets_the_allowed_names():
    with pytest.raises(ParameterError, match="allowed parameters: iterations, size"):
        sf.step("box", scale=3)
    with pytest.raises(AttributeError, match="^module 'stereo_framework' has no attribute 'x'$"):
        sf.x  # noqa: B018


def test_a_stage_of_a_plug_in_has_no_former_names():
    """A plug-in may have a stage, and a parameter, with a name of this package."""

    @sf.stage("refinement", source="a test")
    def cross_based(disparity, *, arm: int = 3):
        return disparity

    with pytest.raises(ParameterError, match="allowed parameters: arm$"):
        sf.step(cross_based, length=5)


def test_a_former_name_is_no_attribute():
    assert not hasattr(sf, "Search")
    assert getattr(sf, "Search", None) is None


def test_the_error_of_a_property_is_not_replaced():
    @former_names.report_attributes
    class Example:
        @property
        def area(self):
            return self.size

    with pytest.raises(AttributeError, match="^'Example' object has no attribute 'size'$"):
        Example().area  # noqa: B018
