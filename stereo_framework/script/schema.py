"""JSON Schema of parameter scripts, from the stages that are registered: editors complete and check with it."""

import inspect
import typing
from collections.abc import Callable
from typing import Any

from stereo_framework.core.docstrings import parameter_descriptions, summary
from stereo_framework.core.package_files import package_yaml
from stereo_framework.core.parameters import checkers_of, inner_slot, parameters_of
from stereo_framework.core.registration import find, stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.core.stage import Stage
from stereo_framework.core.step import Step, weighted
from stereo_framework.script.reading import (
    AUXILIARY_KEYS,
    METHOD_KEYS,
    SEARCH,
    SearchKeys,
    SeedKey,
)
from stereo_framework.script.report import PARTS, Report
from stereo_framework.script.specs import NAME, parameters, written_stage

Schema = dict[str, Any]


def schema() -> Schema:
    """JSON Schema (draft 2020-12) of parameter scripts with the stages that are registered now.

    Returns
    -------
    dict
        Refuses unknown keys, stages and parameters and values out of range.
    """
    found: Schema = package_yaml("script/schema.yaml")
    keys, defs = found["properties"], found["$defs"]
    for stage in stages():
        own = defs[f"{stage.slot}.{stage.name}"] = _stage(stage)
        if SLOTS[stage.slot].added:
            defs[f"{stage.slot}.{stage.name}.added"] = own | {
                "properties": own["properties"] | _properties(weighted)
            }
    for slot in SLOTS:
        defs[slot]["anyOf"] = _slot(slot)
        defs[f"{slot}.stage"] = {"anyOf": _single_stage(slot)}
    defs["axes"] |= _axes()
    search = _object(_properties(SearchKeys), summary(SearchKeys))
    keys |= {"search": search, "report": _report(), **_properties(SeedKey)}
    # The value is the path of maps or a mapping of the parameters of the stage `maps`.
    maps = _stage(find("matcher", "maps"))
    del maps["properties"]["use"]
    keys["maps"]["anyOf"][1] = maps | {"required": ["path"]}
    instead = {"type": ["object", "null"], "if": found["if"], "then": found["then"]}
    method, auxiliary = (
        _object({key: keys[key] for key in own}) | instead for own in (METHOD_KEYS, AUXILIARY_KEYS)
    )
    keys["methods"]["additionalProperties"] = method
    defs["auxiliary"] |= {
        "additionalProperties": auxiliary,
        "propertyNames": {"pattern": f"^{NAME}$"},
    }
    return found


def _report() -> Schema:
    texts = parameter_descriptions(Report)
    properties = {
        name: {
            "type": ["object", "null"],
            "additionalProperties": _keys(keys),
            "description": texts[name],
        }
        for name, keys in PARTS.items()
    }
    return {**_object(properties, summary(Report)), "type": ["object", "null"]}


def _stage(stage: Stage) -> Schema:
    use = {"const": stage.name, "description": f"{stage.summary} Source: {stage.source}."}
    return {
        **_object({"use": use} | _properties(stage.function), stage.summary),
        "required": ["use"],
    }


def _keys(part: type) -> Schema:
    """A mapping whose keys are the fields of a part of a report, but for the name that it stands under."""
    found = {name: about for name, about in _properties(part).items() if name != "name"}
    needed = [
        name for name in found if parameters_of(part)[name].default is inspect.Parameter.empty
    ]
    return {**_object(found, summary(part)), "required": needed}


def _properties(function: Callable[..., Any]) -> dict[str, Schema]:
    """What may be given for each parameter of a stage, or field of a dataclass, by name."""
    texts = parameter_descriptions(function)
    found = {}
    for name, parameter in parameters_of(function).items():
        slot_of_inner_stage = inner_slot(parameter.annotation)
        if slot_of_inner_stage is None:
            found[name] = checkers_of(function)[name].json_schema()
        else:
            found[name] = {"$ref": f"#/$defs/{slot_of_inner_stage}.stage"}
            if type(None) in typing.get_args(parameter.annotation):
                found[name] = {"anyOf": [found[name], {"type": "null"}]}
        if inspect.isfunction(function):
            default = parameter.default
            found[name]["default"] = (
                written_stage(default) if isinstance(default, Step) else default
            )
        if name in texts:
            found[name]["description"] = texts[name]
    return found


def _slot(slot: str) -> list[Schema]:
    """What may stand in a slot."""
    names = [stage.name for stage in stages(slot)]
    choices = _single_stage(slot)
    if SLOTS[slot].many:
        choices.append({"type": "array", "items": {"anyOf": list(choices)}})
    if SLOTS[slot].added:
        several = [{"enum": names}, *({"$ref": f"#/$defs/{slot}.{name}.added"} for name in names)]
        choices.append({"type": "array", "items": {"anyOf": several}, "minItems": 1})
    if SLOTS[slot].optional:
        choices.append({"type": "null"})
    return choices


def _single_stage(slot: str) -> list[Schema]:
    """Return the schemas of a stage of a slot: its name, or a mapping."""
    names = [stage.name for stage in stages(slot)]
    return [{"enum": names}, *({"$ref": f"#/$defs/{slot}.{name}"} for name in names)]


def _axes() -> Schema:
    """The names of axes; what `load` says of their values it says better."""
    own = [address for slot in SLOTS for address in (slot, *parameters(slot))]
    inside = rf"^(auxiliary\.{NAME}\.)+({'|'.join(SLOTS)})(\.|$)|^\w+\.[0-9]+\.\w+$"
    names = [*own, "seed", *(f"search.{key}" for key in SEARCH)]
    inner_names = sorted(set().union(*(stage.inner_slots for stage in stages())))
    patterns = [inside]
    if inner_names:
        # Addresses of parameters of inner stages, which may contain further stages.
        patterns.append(rf"^\w+(\.\w+)*\.({'|'.join(inner_names)})\.")
    return {
        "propertyNames": {
            "anyOf": [{"enum": names}, *({"pattern": pattern} for pattern in patterns)]
        },
        "additionalProperties": {"$ref": "#/$defs/axis"},
    }


def _object(properties: dict[str, Schema], description: str = "") -> Schema:
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"description": description, **found} if description else found
