"""JSON Schema of parameter scripts, with which editors complete and check scripts.

The file ``schema.yaml`` contains the parts that do not depend on the stages. This
module adds the parameters of all registered stages.
"""

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stereo_framework.core.docstrings import parameter_descriptions, summary
from stereo_framework.core.package_files import package_yaml, short_script_names
from stereo_framework.core.parameters import checkers_of, inner_slot, parameters_of
from stereo_framework.core.registration import find, stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.stage import Stage
from stereo_framework.core.step import Step, weighted
from stereo_framework.datasets import scene_names
from stereo_framework.evaluation.metrics import METRICS, Metric
from stereo_framework.evaluation.protocols import PRESETS
from stereo_framework.script.addresses import NAME, parameters
from stereo_framework.script.catalogue import built_in_methods
from stereo_framework.script.keys import (
    AUXILIARY_KEYS,
    METHOD_KEYS,
    SEARCH,
    SearchKeys,
    SeedKey,
)
from stereo_framework.script.report import PARTS, Report
from stereo_framework.script.setting import written_stage

Schema = dict[str, Any]
"""A JSON Schema as plain data."""


def schema() -> Schema:
    """Return the JSON Schema of parameter scripts, for the registered stages.

    Returns
    -------
    dict
        JSON Schema (draft 2020-12). It refuses unknown keys, unknown stages, unknown
        parameters and values that are out of range.
    """
    script: Schema = package_yaml("script/schema.yaml")
    keys: dict[str, Schema] = script["properties"]
    definitions: dict[str, Schema] = script["$defs"]

    definitions |= _definitions_of_stages()
    for slot in SLOTS:
        definitions[f"{slot}.name"] = _names(
            {s.name: _description_of_stage(s) for s in stages(slot)}
        )
        definitions[slot]["anyOf"] = _contents_of_slot(slot)
        definitions[f"{slot}.stage"] = {"anyOf": _single_stage(slot)}
    definitions["axes"] |= _axes(definitions)
    definitions |= _suggested_names()

    keys["search"] = _object(_properties(SearchKeys), summary(SearchKeys))
    keys["report"] = _report()
    keys |= _properties(SeedKey)
    keys["maps"]["anyOf"][1] = _maps()

    rule_of_matchers = {"if": script["if"], "then": script["then"]}
    keys["methods"]["additionalProperties"] = _method(METHOD_KEYS, keys, rule_of_matchers)
    auxiliary_method = _method(AUXILIARY_KEYS, keys, rule_of_matchers)
    definitions["auxiliary"] |= {
        "additionalProperties": auxiliary_method,
        "propertyNames": {"pattern": f"^{NAME}$"},
    }
    return script


# --- methods and reports --------------------------------------------------------------


def _method(
    names_of_keys: Sequence[str], keys: dict[str, Schema], rule_of_matchers: Schema
) -> Schema:
    """Return the schema of a method or of an auxiliary method, which may be null.

    Parameters
    ----------
    names_of_keys : sequence of str
        Keys that the method may have.
    keys : dict of str to Schema
        Schemas of the keys at the top of a script.
    rule_of_matchers : Schema
        Condition that excludes slots if the method has a matcher.
    """
    method = _object({name: keys[name] for name in names_of_keys})
    return method | {"type": ["object", "null"], **rule_of_matchers}


def _report() -> Schema:
    """Return the schema of the key ``report``."""
    descriptions = parameter_descriptions(Report)
    properties = {}
    for name, kind in PARTS.items():
        properties[name] = {
            "type": ["object", "null"],
            "additionalProperties": _plot_or_table(kind),
            "description": descriptions[name],
        }
    return _object(properties, summary(Report)) | {"type": ["object", "null"]}


def _plot_or_table(kind: type) -> Schema:
    """Return the schema of a plot or a table.

    The field ``name`` is no key inside it, because the name is the key above it.
    """
    properties = _properties(kind)
    del properties["name"]
    fields = parameters_of(kind)
    required = [name for name in properties if fields[name].default is inspect.Parameter.empty]
    return _object(properties, summary(kind)) | {"required": required}


# --- stages and slots -----------------------------------------------------------------


def _definitions_of_stages() -> dict[str, Schema]:
    """Return the schemas of all stages.

    Their names in the schema are ``SLOT.STAGE``. A stage in a list whose costs are
    added up has more parameters, and its name is ``SLOT.STAGE.added``.
    """
    definitions = {}
    for stage in stages():
        name = f"{stage.slot}.{stage.name}"
        definitions[name] = _stage(stage)
        if SLOTS[stage.slot].added:
            properties = definitions[name]["properties"] | _properties(weighted)
            definitions[f"{name}.added"] = definitions[name] | {"properties": properties}
    return definitions


def _stage(stage: Stage) -> Schema:
    """Return the schema of a stage as a mapping with its parameters."""
    name = {"const": stage.name, "description": _description_of_stage(stage)}
    properties = {"use": name} | _properties(stage.function)
    return _object(properties, stage.summary) | {"required": ["use"]}


def _description_of_stage(stage: Stage) -> str:
    """Return the description of a stage that an editor shows next to its name."""
    return f"{stage.summary} Source: {stage.source}."


def _names(descriptions: Mapping[str, str]) -> Schema:
    """Return the schema of a name, with a description of each name for editors.

    Parameters
    ----------
    descriptions : mapping of str to str
        Descriptions by name. An empty description is left out.
    """
    names = []
    for name, description in descriptions.items():
        described_name = {"const": name}
        if description:
            described_name["description"] = description
        names.append(described_name)
    return {"anyOf": names}


def _suggested_names() -> dict[str, Schema]:
    """Return the definitions of names that editors suggest, while others are allowed.

    A plug-in, a data root or a folder of the user may add further names.
    """
    scripts = dict.fromkeys(short_script_names(), "")
    scripts |= {method.name: f"Suited to: {method.suited_to}" for method in built_in_methods()}
    metrics = {name: _description_of_metric(metric) for name, metric in METRICS.items()}
    presets = dict.fromkeys(PRESETS, "")
    scenes = {name: "" for name in scene_names() if name.startswith("synthetic/")}
    suggestions = {"script": scripts, "metric": metrics, "protocol": presets, "scene": scenes}
    any_text = {"type": "string", "minLength": 1}
    definitions = {}
    for kind, descriptions in suggestions.items():
        definitions[f"{kind}.name"] = {"anyOf": [*_names(descriptions)["anyOf"], any_text]}
    return definitions


def _description_of_metric(metric: Metric) -> str:
    """Return the description of a metric that an editor shows next to its name."""
    description = f"Unit: {metric.unit}."
    if metric.better:
        description += f" A {metric.better} value is better."
    return f"{description} Source: {metric.source}."


def _maps() -> Schema:
    """Return the schema of the key ``maps`` as a mapping.

    The mapping contains the parameters of the stage ``maps`` in the slot ``matcher``.
    """
    stage = _stage(find("matcher", "maps"))
    del stage["properties"]["use"]
    return stage | {"required": ["path"]}


def _contents_of_slot(slot: str) -> list[Schema]:
    """Return the schemas of the contents that a slot may have."""
    contents = _single_stage(slot)
    if SLOTS[slot].many:
        contents.append({"type": "array", "items": {"anyOf": _single_stage(slot)}})
    if SLOTS[slot].added:
        summands = _names_or_mappings(slot, suffix=".added")
        contents.append({"type": "array", "items": {"anyOf": summands}, "minItems": 1})
    if SLOTS[slot].optional:
        contents.append({"type": "null"})
    return contents


def _single_stage(slot: str) -> list[Schema]:
    """Return the schemas of a single stage of a slot: a name or a mapping."""
    return _names_or_mappings(slot, suffix="")


def _names_or_mappings(slot: str, *, suffix: str) -> list[Schema]:
    """Return the schemas of the names of a slot's stages, and of their mappings.

    Parameters
    ----------
    slot : str
    suffix : {"", ".added"}
        Suffix of the definitions of the stages.
    """
    references = [f"{slot}.name"]
    references += [f"{slot}.{stage.name}{suffix}" for stage in stages(slot)]
    return [{"$ref": f"#/$defs/{reference}"} for reference in references]


# --- parameters -----------------------------------------------------------------------


def _properties(function: Callable[..., Any]) -> dict[str, Schema]:
    """Return the schemas of a stage's parameters, or of the fields of a dataclass."""
    descriptions = parameter_descriptions(function)
    properties = {}
    for name, parameter in parameters_of(function).items():
        property_schema = _values_of_parameter(function, parameter)
        # The fields of dataclasses are keys of a script. Many of their default values
        # do not appear in scripts.
        if inspect.isfunction(function):
            property_schema["default"] = _written_default(parameter.default)
        if name in descriptions:
            property_schema["description"] = descriptions[name]
        properties[name] = property_schema
    return properties


def _values_of_parameter(function: Callable[..., Any], parameter: inspect.Parameter) -> Schema:
    """Return the schema of the values that a parameter may have."""
    slot_of_inner_stage = inner_slot(parameter.annotation)
    if slot_of_inner_stage is None:
        return checkers_of(function)[parameter.name].json_schema()
    inner_stage = {"$ref": f"#/$defs/{slot_of_inner_stage}.stage"}
    if type(None) in typing.get_args(parameter.annotation):
        return {"anyOf": [inner_stage, {"type": "null"}]}
    return inner_stage


def _written_default(default: Any) -> Any:
    """Return a default value as a script writes it."""
    if isinstance(default, Step):
        return written_stage(default)
    return default


def _axes(definitions: Mapping[str, Schema]) -> Schema:
    """Return the schema of axes, which checks mainly their names.

    The function `load` checks the values, because its messages are more helpful.
    Editors complete the names of properties, but not names below ``propertyNames``.

    Parameters
    ----------
    definitions : mapping of str to Schema
        Schemas of the slots and of the stages.
    """
    descriptions: dict[str, str] = {}
    for slot in SLOTS:
        descriptions[slot] = definitions[slot]["description"]
        for address in parameters(slot):
            descriptions[address] = _description_of_address(address, definitions)
    descriptions |= parameter_descriptions(SeedKey)
    search_descriptions = parameter_descriptions(SearchKeys)
    for key in SEARCH:
        descriptions[f"search.{key}"] = search_descriptions.get(key, "")

    properties = {}
    for name, description in descriptions.items():
        properties[name] = {"$ref": "#/$defs/axis", "description": description}

    slots = "|".join(SLOTS)
    # Addresses of slots and parameters of auxiliary methods, and addresses with the
    # index of a stage.
    patterns = [rf"^(auxiliary\.{NAME}\.)+({slots})(\.|$)|^\w+\.[0-9]+\.\w+$"]
    inner_names = sorted(set().union(*(stage.inner_slots for stage in stages())))
    if inner_names:
        # Addresses of parameters of inner stages, which may contain further stages.
        patterns.append(rf"^\w+(\.\w+)*\.({'|'.join(inner_names)})\.")
    return {
        "properties": properties,
        "patternProperties": {pattern: {"$ref": "#/$defs/axis"} for pattern in patterns},
        "additionalProperties": False,
    }


def _description_of_address(address: str, definitions: Mapping[str, Schema]) -> str:
    """Describe the parameter at an address, for each stage that has the parameter.

    Parameters
    ----------
    address : str
        Address in a slot, such as ``matching_cost.truncation``.
    definitions : mapping of str to Schema
        Schemas of the stages.
    """
    slot, *stage_names, parameter = address.split(".")
    if not stage_names:
        stage_names = [stage.name for stage in stages(slot) if parameter in stage.parameters]
    suffix = ".added" if SLOTS[slot].added else ""
    stages_of_text: dict[str, list[str]] = {}
    for name in stage_names:
        properties = definitions[f"{slot}.{name}{suffix}"]["properties"]
        text = properties[parameter].get("description", "")
        stages_of_text.setdefault(text, []).append(name)
    if len(stages_of_text) == 1:
        return next(iter(stages_of_text))
    texts = [f"{', '.join(names)}: {text}" for text, names in stages_of_text.items()]
    return "\n".join(texts)


def _object(properties: dict[str, Schema], description: str = "") -> Schema:
    """Return the schema of a mapping that has no other keys than the properties."""
    mapping: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if description:
        mapping = {"description": description, **mapping}
    return mapping
