"""The JSON Schema of scripts agrees with `load` about what is right."""

from operator import itemgetter
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from stereo_framework.core import stage
from stereo_framework.core.errors import ScriptError
from stereo_framework.core.stage import SLOTS
from stereo_framework.script import find_script, load, schema, script_names

WINDOW = {
    "matching_cost": "absolute_difference",
    "aggregation": [{"use": "box", "size": 9}],
    "optimization": "winner_take_all",
}


CASES = yaml.safe_load(Path(__file__).with_name("fault_catalogue.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def validator():
    # Plug-ins of shipped scripts add stages, for good: with all of them it does not matter which test was first.
    for name in script_names():
        load(name)
    return Draft202012Validator(schema())


def test_the_schema_is_one(validator):
    Draft202012Validator.check_schema(validator.schema)
    assert all(validator.schema["$defs"][slot]["description"] for slot in SLOTS)


@pytest.mark.parametrize("name", script_names())
def test_shipped_scripts_are_accepted(validator, name):
    validator.validate(yaml.safe_load(find_script(name).read_text()))
    validator.validate(load(name).resolved)
    validator.validate(load(name).settings[0].mapping)


@pytest.mark.parametrize(
    "more",
    [
        {"aggregation": "box"},
        {"aggregation": {"use": "box"}},
        {"aggregation": None, "smoothness": None},
        {"include": ["ssd"], "plugins": "mine.py", "scenes": "venus", "seed": 3, "name": "x", "report": None},
        {"search": {"minimum": -3, "step": 0.5}},
        {"search": {"truth_margin": 0.5}},
        {"evaluation": {"protocol": ["taxonomy2002", {"base": "taxonomy2002", "threshold": 0.5}], "measures": "mape"}},
        {"methods": {"a": None, "b": {"aggregation": [], "sweep": {"grid": {"matching_cost": ["squared_difference"]}}}}},
        {"sweep": {"grid": {"aggregation": [[], ["box"]], "matching_cost.truncation": [1, None], "search.step": [1, 0.5]}}},
        {"sweep": {"zip": {"aggregation.box.size": {"range": [1, 9, 2]}}}},
        {"aggregation": ["box", "box"], "sweep": {"grid": {"aggregation.0.size": [1, 2]}}},
    ],
)
def test_right_scripts_are_accepted(validator, more):
    validator.validate({**WINDOW, **more})
    if "plugins" not in more:
        load({**WINDOW, **more})


REFUSED = [case for case in CASES if "schema_refuses" in case["of"] or "as_load_refuses" in case["of"]]


@pytest.mark.parametrize("case", REFUSED, ids=itemgetter("of"))
def test_what_load_refuses_is_refused(validator, case):
    assert not validator.is_valid(case["load"])


def test_every_parameter_is_described_with_its_default(validator):
    for one in stage.stages():
        about = validator.schema["$defs"][f"{one.slot}.{one.name}"]["properties"]
        assert about.keys() == {"use", *one.parameters}
        for name, parameter in one.parameters.items():
            assert about[name]["default"] == parameter.default
            assert len(about[name]["description"]) > 10, f"{one.name}.{name}"
    assert validator.schema["$defs"]["aggregation.box"]["properties"]["size"]["minimum"] == 1


ALTERNATIVES = {"refinement": "blend", "alternatives": {"a": {"include": "ssd", "alternatives": {"b-2": {"matcher": "flat"}}}}}
TWO = [{"use": "tenfold", "weight": 2}, {"use": "absolute_difference", "scale": None}]
RIGHT = [
    {"matcher": "flat", "confidence": ["sure"], "scheme": [{"use": "whole", "times": 2}], "aggregation": [], "smoothness": None},
    WINDOW | {"matcher": None, "matching_cost": ["tenfold"]},
    WINDOW | {"matching_cost": TWO, "sweep": {"grid": {"matching_cost.tenfold.weight": [1, 2], "matching_cost.1.scale": [None]}}},
    WINDOW
    | {"sweep": {"grid": {"matching_cost": [TWO, ["tenfold"]], "matching_cost.tenfold.window": [3]}}, "matching_cost": TWO},
    WINDOW | ALTERNATIVES,
    WINDOW | {"alternatives": None},
    {"methods": {"a": {"matcher": "flat", **ALTERNATIVES}}, "sweep": {"zip": {"alternatives.a.aggregation.box.size": [1]}}},
    WINDOW
    | ALTERNATIVES
    | {"sweep": {"grid": {"alternatives.a.aggregation": [[], ["box"]], "alternatives.a.matching_cost": [TWO]}}},
    WINDOW | ALTERNATIVES | {"sweep": {"grid": {"alternatives.a.alternatives.b-2.matcher.radius": {"range": [1, 9, 2]}}}},
]
WRONG = [
    WINDOW | {"matcher": "flat"},
    {"matcher": "flat", "aggregation": "box"},
    {"matcher": {"use": "flat", "hight": 3}},
    {"matcher": ["flat"]},
    {"matcher": "flat", "confidence": ["shure"]},
    WINDOW | {"matching_cost": []},
    WINDOW | {"matching_cost": {"use": "tenfold", "weight": 2}},
    WINDOW | {"matching_cost": [{"use": "tenfold", "weight": 0}]},
    WINDOW | {"matching_cost": [{"use": "tenfold", "weight": None}]},
    WINDOW | {"matching_cost": [{"use": "tenfold", "scale": "3"}]},
    WINDOW | {"alternatives": {}},
    WINDOW | {"alternatives": {"a.b": {"matcher": "flat"}}},
    WINDOW | {"alternatives": {"a": {"matcher": "flat", "seed": 3}}},
    WINDOW | {"alternatives": {"a": {"matcher": "flat", "optimization": "winner_take_all"}}},
    WINDOW | ALTERNATIVES | {"sweep": {"grid": {"alternatives.a.seed": [1]}}},
]


def test_matchers_sums_and_alternatives(tiny):
    validator = Draft202012Validator(schema())
    validator.check_schema(validator.schema)
    for script in RIGHT:
        validator.validate(script)
        loaded = load(script)
        validator.validate(loaded.resolved)
        validator.validate(loaded.settings[0].mapping)
    for script in WRONG:
        assert not validator.is_valid(script), script
        with pytest.raises(ScriptError):
            load(script)
