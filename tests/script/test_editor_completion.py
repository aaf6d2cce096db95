"""The completions in the pictures of the editor follow from the schema of scripts."""

import json
import re
from pathlib import Path

import pytest

from stereo_framework.core.docstrings import parameter_descriptions
from stereo_framework.core.plugins import load_plugin
from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.evaluation.metrics import METRICS
from stereo_framework.evaluation.protocols import PRESETS
from stereo_framework.script import schema
from stereo_framework.script.addresses import parameters
from stereo_framework.script.catalogue import built_in_methods

ROOT = Path(__file__).parents[2]
PICTURES = json.loads((ROOT / "docs/images/howto/editor.json").read_text())


def parts_of(script_schema, node):
    """Yield the schemas that describe a value, through references and choices."""
    if "$ref" in node:
        definition = node["$ref"].rpartition("/")[2]
        yield from parts_of(script_schema, script_schema["$defs"][definition])
    for choice in node.get("anyOf", []):
        yield from parts_of(script_schema, choice)
    yield node


def values_of(script_schema, node):
    """Return the constant values that an editor lists for a node, with descriptions."""
    descriptions = {}
    for part in parts_of(script_schema, node):
        if "const" in part:
            descriptions[part["const"]] = part.get("description", "")
    return descriptions


def items_of(script_schema, node):
    """Return the schema of the items of a list."""
    [items] = [part["items"] for part in parts_of(script_schema, node) if "items" in part]
    return items


def keys_of(script_schema, node):
    """Return the keys that an editor lists in a mapping, with descriptions."""
    descriptions = {}
    for part in parts_of(script_schema, node):
        for key, value in part.get("properties", {}).items():
            descriptions[key] = value.get("description") or description_of(script_schema, value)
    return descriptions


def description_of(script_schema, node):
    """Return the first description in the schemas of a value, or an empty text."""
    for part in parts_of(script_schema, node):
        if "description" in part:
            return part["description"]
    return ""


def property_of(script_schema, node, key):
    """Return the schema of a key in a mapping."""
    for part in parts_of(script_schema, node):
        if key in part.get("properties", {}):
            return part["properties"][key]
    raise AssertionError(f"no key {key!r}")


def completions(script_schema, script):
    """Return the completions at the end of a script, with descriptions.

    The script ends with a key at the top and a colon, or with the beginning of a key in
    mappings above which there are only mappings.
    """
    lines = script.splitlines()
    node = {"properties": script_schema["properties"]}
    for line in lines:
        key, colon, _ = line.strip().partition(":")
        if not colon:
            names = keys_of(script_schema, node)
            return {name: text for name, text in names.items() if name.startswith(key)}
        is_last = line is lines[-1]
        opens_mapping = line.endswith(":")
        if is_last or opens_mapping:
            node = property_of(script_schema, node, key)
    return values_of(script_schema, node)


@pytest.fixture
def schema_with_plugin(registry, tmp_path):
    """The schema with the plug-in that the pictures name."""
    example = (ROOT / "examples/stages/matching_cost.py").read_text()
    [name] = re.findall(r"^@stage\(.*\)\ndef (\w+)", example, re.MULTILINE)
    (tmp_path / "my_cost.py").write_text(re.sub(rf"\b{name}\b", "my_cost", example))
    load_plugin("my_cost.py", tmp_path)
    return schema()


@pytest.mark.parametrize("picture", PICTURES)
def test_the_names_in_a_picture_follow_from_the_schema(schema_with_plugin, picture):
    shown = PICTURES[picture]
    expected = completions(schema_with_plugin, shown["script"])
    assert sorted(shown["entries"]) == sorted(expected)
    shown_text = " ".join(shown["description"].split())
    assert shown_text == " ".join(expected[shown["selected"]].split())
    assert (ROOT / f"docs/images/howto/{picture}.png").is_file()


def test_every_stage_is_listed_with_its_summary_and_its_source():
    script_schema = schema()
    for slot in SLOTS:
        listed = values_of(script_schema, script_schema["properties"][slot])
        names = {stage.name: stage for stage in stages(slot)}
        assert listed.keys() == names.keys()
        for name, stage in names.items():
            assert listed[name] == f"{stage.summary} Source: {stage.source}."


def test_every_axis_is_listed_with_a_description():
    script_schema = schema()
    axes = keys_of(script_schema, script_schema["$defs"]["sweep"]["properties"]["grid"])
    for slot in SLOTS:
        assert {slot, *parameters(slot)} <= axes.keys()
    assert all(axes.values())
    [box] = [stage for stage in stages("aggregation") if stage.name == "box"]
    description = parameter_descriptions(box.function)["size"]
    assert axes["aggregation.box.size"] == description
    # Several stages of the slot have the parameter, with two descriptions.
    assert re.search(r"^\w+(, \w+)*: .+\n\w+", axes["optimization.schedule"])


def test_every_parameter_has_a_default_in_the_schema():
    script_schema = schema()
    for stage in stages():
        properties = script_schema["$defs"][f"{stage.slot}.{stage.name}"]["properties"]
        assert all("default" in properties[name] for name in stage.parameters)


def test_built_in_scripts_metrics_protocols_and_scenes_are_listed():
    script_schema = schema()
    keys = script_schema["properties"]
    scripts = values_of(script_schema, keys["include"])
    for method in built_in_methods():
        assert scripts[method.name] == f"Suited to: {method.suited_to}"
    evaluation = keys["evaluation"]["properties"]
    metrics = values_of(script_schema, items_of(script_schema, evaluation["metrics"]))
    assert metrics.keys() == METRICS.keys()
    assert values_of(script_schema, evaluation["protocol"]).keys() == PRESETS.keys()
    assert "synthetic/planes" in values_of(script_schema, keys["scenes"])
