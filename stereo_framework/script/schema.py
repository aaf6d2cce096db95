"""JSON Schema of parameter scripts, from the stages that are registered: editors complete and check with it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection
from typing import Any

from stereo_framework.core.docstrings import parameter_texts, summary
from stereo_framework.core.parameters import checkers_of, parameters_of
from stereo_framework.core.stage import SLOTS, VOLUME_SLOTS, Stage, find, stages
from stereo_framework.engine import pipeline as _pipeline  # noqa: F401  registers the built-in stages
from stereo_framework.engine.step import Factors
from stereo_framework.script.addresses import NAME, parameters
from stereo_framework.script.keys import ALTERNATIVE_KEYS, METHOD_KEYS, SearchKeys, SeedKey
from stereo_framework.script.report import FILE_NAME, PARTS, Report

Schema = dict[str, Any]

_NUMBER: Schema = {"type": "number"}
_TEXTS: Schema = {"type": ["string", "array"], "items": {"type": "string"}}
_SLOT_TEXTS = {
    "preprocessing": "Stages that change both images first.",
    "matcher": "A whole matcher instead of cost, aggregation, smoothness and optimization.",
    "matching_cost": "How two pixels are compared; costs of a list are added.",
    "aggregation": "Stages that gather support for the costs, in order.",
    "smoothness": "What it costs that neighbours differ in disparity.",
    "optimization": "How disparities are chosen.",
    "confidence": "Measures of how sure each disparity is.",
    "refinement": "Stages that change the disparity map afterwards, in order.",
    "scheme": "What makes the pairs that the method is run on, the first outermost.",
}
_ONE_OR_THE_OTHER: Schema = {
    "if": {"required": ["matcher"], "properties": {"matcher": {"type": ["string", "object"]}}},
    "then": {
        "properties": {slot: {"enum": [None, []]} if SLOTS[slot].optional else False for slot in VOLUME_SLOTS},
    },
}
"""A matcher stands instead of what makes and reads volumes."""
_WITHIN = rf"^(alternatives\.{NAME}\.)+"


def schema() -> Schema:
    """JSON Schema (draft 2020-12) of parameter scripts with the stages that are registered now.

    Returns
    -------
    dict
        Refuses unknown keys, stages and parameters and values out of range.
    """
    defs: dict[str, Schema] = {}
    for stage in stages():
        found = defs[f"{stage.slot}.{stage.name}"] = _stage(stage)
        if SLOTS[stage.slot].added:
            defs[f"{stage.slot}.{stage.name}.added"] = found | {"properties": found["properties"] | _properties(Factors)}
    for slot in SLOTS:
        defs[slot] = _slot(slot)
    defs["axis"] = _axis({})
    search, seed = _properties(SearchKeys), _properties(SeedKey)
    defs["axes"] = _axes({**{f"search.{key}": about for key, about in search.items()}, **seed})
    texts = {
        "grid": "A product of axes; the last one varies fastest.",
        "zip": "Axes that move together, inside those of the grid.",
    }
    sweep = {name: {"$ref": "#/$defs/axes", "description": text} for name, text in texts.items()}
    defs["sweep"] = _object(sweep, "What is varied.")
    text = {"type": "string", "minLength": 1}
    keys: dict[str, Schema] = {
        "name": {**text, "description": "Name of the method in results; default: the file's name."},
        "include": {
            **_TEXTS,
            "description": "Scripts that this one builds on: paths from here, or names of shipped scripts. Later wins.",
        },
        "plugins": {**_TEXTS, "description": "Modules or .py files that register stages."},
        "scenes": {**_TEXTS, "description": "Scenes to run on.", "minLength": 1, "minItems": 1},
        "search": _object(search, summary(SearchKeys)),
        "evaluation": _object({"protocol": _PROTOCOLS}, "How results are measured; default: as the scene's data set demands."),
        "report": _report(),
        **seed,
        "sweep": {"$ref": "#/$defs/sweep"},
        **{slot: {"$ref": f"#/$defs/{slot}"} for slot in SLOTS},
        "alternatives": {"$ref": "#/$defs/alternatives"},
        "maps": _maps(),
    }
    method, alternative = (
        {**_object({key: keys[key] for key in own}), "type": ["object", "null"], **_ONE_OR_THE_OTHER}
        for own in (METHOD_KEYS, ALTERNATIVE_KEYS)
    )
    defs["alternatives"] = {
        "type": ["object", "null"],
        "minProperties": 1,
        "propertyNames": {"pattern": rf"^{NAME}$"},
        "additionalProperties": alternative,
        "description": "Other methods by name, run on the same pair for the stages that name them.",
    }
    keys["methods"] = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": method,
        "description": "Several methods by name; what stands at the top is their default.",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "stereo_framework parameter script",
        **_object(keys, "A stereo method or several, the scenes they run on and what is swept."),
        **_ONE_OR_THE_OTHER,
        "$defs": defs,
    }


def _maps() -> Schema:
    """Maps of others: a place, or the parameters of the stage that takes them."""
    found = _stage(find("matcher", "maps"))
    mapping = {**found, "properties": {k: v for k, v in found["properties"].items() if k != "use"}, "required": ["place"]}
    text = "Disparity maps of others instead of all stages: a folder of them, or a path with {scene}."
    return {"anyOf": [{"type": "string", "minLength": 1}, mapping, {"type": "null"}], "description": text}


_PROTOCOL: Schema = {
    "anyOf": [
        {"type": "string"},
        {"type": "object", "required": ["base"], "properties": {"base": {"type": "string"}, "name": {"type": "string"}}},
    ]
}
_PROTOCOLS: Schema = {
    "description": "Name of a protocol, {base: NAME, field: value}, or a list of these.",
    "anyOf": [*_PROTOCOL["anyOf"], {"type": "array", "items": _PROTOCOL, "minItems": 1}],
}


def _report() -> Schema:
    texts = parameter_texts(Report)
    properties = {
        name: {
            "type": ["object", "null"],
            "propertyNames": {"pattern": FILE_NAME},
            "additionalProperties": _keys(keys, without=("name",)),
            "description": texts[name],
        }
        for name, keys in PARTS.items()
    }
    return {**_object(properties, summary(Report)), "type": ["object", "null"]}


def _stage(stage: Stage) -> Schema:
    use = {"const": stage.name, "description": f"{stage.summary} Source: {stage.source}."}
    return {**_object({"use": use} | _properties(stage.function), stage.summary), "required": ["use"]}


def _keys(keys: type, *, without: Collection[str] = ()) -> Schema:
    """A mapping whose keys are the fields of a dataclass."""
    found = {name: about for name, about in _properties(keys).items() if name not in without}
    needed = [name for name in found if parameters_of(keys)[name].default is inspect.Parameter.empty]
    return {**_object(found, summary(keys)), "required": needed}


def _properties(function: Callable[..., Any]) -> dict[str, Schema]:
    """What may be given for each parameter of a stage, or field of a dataclass, by name."""
    texts = parameter_texts(function)
    found = {}
    for name, parameter in parameters_of(function).items():
        found[name] = checkers_of(function)[name].json_schema()
        if inspect.isfunction(function):
            found[name]["default"] = parameter.default
        if name in texts:
            found[name]["description"] = texts[name]
    return found


def _slot(slot: str) -> Schema:
    names = [stage.name for stage in stages(slot)]
    one: list[Schema] = [{"enum": names}, *({"$ref": f"#/$defs/{slot}.{name}"} for name in names)]
    if SLOTS[slot].many:
        one.append({"type": "array", "items": {"anyOf": list(one)}})
    if SLOTS[slot].added:
        several = [{"enum": names}, *({"$ref": f"#/$defs/{slot}.{name}.added"} for name in names)]
        one.append({"type": "array", "items": {"anyOf": several}, "minItems": 1})
    if SLOTS[slot].optional:
        one.append({"type": "null"})
    return {"description": _SLOT_TEXTS[slot], "anyOf": one}


def _axis(value: Schema) -> Schema:
    """An axis whose values fit `value`, listed or generated between two ends."""
    plain: Schema = {"type": "array", "minItems": 1, "items": value}
    three: Schema = {"type": "array", "items": _NUMBER, "minItems": 3, "maxItems": 3}
    kinds = [_object({kind: three}) | {"required": [kind]} for kind in ("range", "linspace", "geomspace")]
    return {"anyOf": [plain, *kinds]}


def _axes(values: dict[str, Schema]) -> Schema:
    axes = {name: _axis(about) for name, about in values.items()}
    patterns: dict[str, Schema] = {}
    for slot, about in SLOTS.items():
        own: dict[str, Schema] = {slot: {"type": "array", "minItems": 1, "items": {"$ref": f"#/$defs/{slot}"}}}
        for address, places in parameters(slot).items():
            refs = [f"#/$defs/{slot}.{stage}{'.added' * about.added}/properties/{name}" for stage, name in places]
            own[address] = _axis({"anyOf": [{"$ref": ref} for ref in refs]})
            if about.many or about.added:
                index = rf"{slot}\.[0-9]+\.{places[0][1]}$"
                patterns |= {start + index: {"$ref": "#/$defs/axis"} for start in ("^", _WITHIN)}
        axes |= own
        patterns |= {f"{_WITHIN}{re.escape(key)}$": {"$ref": f"#/$defs/axes/properties/{key}"} for key in own}
    return {**_object(axes), "patternProperties": patterns}


def _object(properties: dict[str, Schema], description: str = "") -> Schema:
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"description": description, **found} if description else found
