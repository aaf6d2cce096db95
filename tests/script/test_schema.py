"""The JSON Schema of scripts agrees with `load` about what is wrong, and accepts the built-in scripts; `test_right_scripts` shows it other right ones."""

import functools
from operator import itemgetter

import pytest
import yaml
from jsonschema import Draft202012Validator
from yaml_cases import cases_in

from stereo_framework.core.errors import ScriptError
from stereo_framework.core.package_files import script_names
from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.step import Step
from stereo_framework.script import find_script, load, schema
from stereo_framework.script.setting import written_stage

load_once = functools.cache(load)

WINDOW = {
    "matching_cost": "absolute_difference",
    "aggregation": [{"use": "box", "size": 9}],
    "optimization": "winner_take_all",
}


CASES = cases_in("fault_catalogue.yaml", __file__)


@pytest.fixture(scope="module")
def of_all():
    # Plug-ins of built-in scripts add stages, for good: with all of them it does not matter which test was first.
    for name in script_names():
        load_once(name)
    return Draft202012Validator(schema())


def test_the_schema_is_one(of_all):
    Draft202012Validator.check_schema(of_all.schema)
    assert all(of_all.schema["$defs"][slot]["description"] for slot in SLOTS)
    of_all.validate(
        WINDOW | {"plugins": "mine.py", "include": ["ssd"], "search": {"minimum": -3, "step": 0.5}}
    )


@pytest.mark.parametrize("name", script_names())
def test_shipped_scripts_are_accepted(of_all, name):
    of_all.validate(yaml.safe_load(find_script(name).read_text()))
    of_all.validate(load_once(name).resolved)
    of_all.validate(load_once(name).settings[0].mapping)


REFUSED = [
    case for case in CASES if "schema_refuses" in case["of"] or "as_load_refuses" in case["of"]
]


@pytest.mark.parametrize("case", REFUSED, ids=itemgetter("of"))
def test_what_load_refuses_is_refused(of_all, case):
    assert not of_all.is_valid(case["load"])


def test_every_parameter_is_described_with_its_default(of_all):
    for one in stages():
        about = of_all.schema["$defs"][f"{one.slot}.{one.name}"]["properties"]
        assert about.keys() == {"use", *one.parameters}
        for name, parameter in one.parameters.items():
            default = parameter.default
            if isinstance(default, Step):
                default = written_stage(default)
            assert about[name]["default"] == default
            assert len(about[name]["description"]) > 10, f"{one.name}.{name}"
    assert of_all.schema["$defs"]["aggregation.box"]["properties"]["size"]["minimum"] == 1


AUXILIARY = {
    "refinement": "blend",
    "auxiliary": {"a": {"include": "ssd", "auxiliary": {"b-2": {"matcher": "flat"}}}},
}
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
    WINDOW | {"matching_cost": [{"use": "tenfold", "saturation": "3"}]},
    WINDOW | {"auxiliary": {}},
    WINDOW | {"auxiliary": {"a.b": {"matcher": "flat"}}},
    WINDOW | {"auxiliary": {"a": {"matcher": "flat", "seed": 3}}},
    WINDOW | {"auxiliary": {"a": {"matcher": "flat", "optimization": "winner_take_all"}}},
    WINDOW | AUXILIARY | {"sweep": {"grid": {"auxiliary.a.seed": [1]}}},
]


@pytest.mark.parametrize("script", WRONG)
def test_matchers_sums_and_auxiliary_methods_that_load_refuses_are_refused(tiny, validator, script):
    assert not validator().is_valid(script)
    with pytest.raises(ScriptError):
        load(script)
