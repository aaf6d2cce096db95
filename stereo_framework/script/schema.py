"""JSON Schema of parameter scripts, from the stages that are registered: editors complete and check with it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from stereo_framework.engine import pipeline as _pipeline  # noqa: F401  registers the built-in stages
from stereo_framework.evaluation.metrics import GROUPS, METRICS
from stereo_framework.parameters import model
from stereo_framework.script.addresses import NAME
from stereo_framework.script.document import ALTERNATIVE_KEYS, METHOD_KEYS
from stereo_framework.script.report import CHARTS, SCALES, SPREADS
from stereo_framework.script.result_names import STATISTIC, keys
from stereo_framework.script.specs import FACTORS
from stereo_framework.stage import SLOTS, VOLUME_SLOTS, Stage, stages

Schema = dict[str, Any]

_NUMBER: Schema = {"type": "number"}
_TEXTS: Schema = {"type": ["string", "array"], "items": {"type": "string"}}
_SEED: Schema = {
    "type": "integer",
    "minimum": 0,
    "description": "Seed of the stages that draw random numbers and have none of their own.",
}
_SEARCH: dict[str, Schema] = {
    "minimum": {**_NUMBER, "description": "Smallest disparity tried, pixels."},
    "maximum": {**_NUMBER, "description": "Largest disparity tried, pixels; included."},
    "step": {"type": "number", "exclusiveMinimum": 0, "description": "Distance of neighbouring levels, pixels: N or 1/N."},
    "truth_margin": {
        "type": "number",
        "minimum": 0,
        "description": "Bounds that are not given: those of the true disparities, widened to both sides by this share of their range.",
    },
}
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
_FACTORS: dict[str, Schema] = {
    "weight": {**_NUMBER, "exclusiveMinimum": 0, "default": 1, "description": "Factor of this cost in the sum."},
    "scale": {
        "type": ["number", "null"],
        "exclusiveMinimum": 0,
        "default": None,
        "description": "With it costs c become 1 - exp(-c / scale) before they are weighted; in units of the matching cost.",
    },
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
        found = defs[f"{stage.slot}.{stage.name}"] = _stage(stage, defs)
        if SLOTS[stage.slot].added:
            defs[f"{stage.slot}.{stage.name}.added"] = found | {"properties": found["properties"] | _FACTORS}
    for slot in SLOTS:
        defs[slot] = _slot(slot)
    defs["axis"] = _axis({}, continuous=True)
    defs["axes"] = _axes()
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
        "search": _object(_SEARCH, "Disparity range instead of the scene's own, or parts of it."),
        "evaluation": _object({"protocol": _PROTOCOLS}, "How results are measured; default: as the scene's data set demands."),
        "report": _report(),
        "seed": _SEED,
        "sweep": {"$ref": "#/$defs/sweep"},
        **{slot: {"$ref": f"#/$defs/{slot}"} for slot in SLOTS},
        "alternatives": {"$ref": "#/$defs/alternatives"},
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
    patterns = r"^\w+\.[0-9]+\.\w+$", rf"{_WITHIN}({'|'.join((*SLOTS, 'alternatives'))})(\.\w+)*$"
    key = {"anyOf": [{"enum": sorted(keys())}, *({"type": "string", "pattern": pattern} for pattern in patterns)]}
    names, groups = "|".join(["energy", "seconds", *METRICS]), "|".join(GROUPS)
    statistic = {"type": "string", "pattern": rf"^((total_)?bad[0-9].*|({names})([._].*)?|{groups})$"}
    where = {"type": "object", "description": "Only results that have this value, or one of a list, for each of these keys."}
    plot = {
        "x": {**_some(key), "description": "Horizontal axis; of several keys each result uses the first that it has."},
        "y": {**_some(statistic), "description": "Statistics; several become series."},
        "series": {**_some(key), "description": "A curve for each combination of the values of these keys."},
        "panels": {**_some(key, most=2), "description": "A panel for each value; of two keys: rows and columns."},
        "where": where,
        "x_scale": {"enum": list(SCALES), "description": "Default linear; category puts the values side by side."},
        "y_scale": {"enum": list(SCALES[:2]), "description": "Default linear."},
        "spread": {"enum": list(SPREADS), "description": "Error bars over what is averaged; default none."},
        **_words("keys, values and key=value"),
    }
    table = {
        "rows": {**_some(key), "description": "What the rows are."},
        "columns": {**_some(key), "description": f"What the columns are; several statistics: {STATISTIC}."},
        "value": {**_some(statistic), "description": "Statistics in the cells; what is neither row nor column is averaged."},
        "where": where,
    }
    chart = {
        "kinds": {**_some({"enum": list(CHARTS)}), "description": "Which charts; default all."},
        "measures": {**_some(statistic), "description": "What methods are compared by; default hci, the nine HCI metrics."},
        "where": where,
        "weights": {
            "type": "object",
            "propertyNames": statistic,
            "additionalProperties": {"type": "number", "minimum": 0},
            "description": "Of the stacked bars, by statistic or group; default 1 each.",
        },
        "method": {"type": ["string", "number", "null"], "description": "Whose scores the histograms mark; default nobody's."},
        **_words("methods and measures"),
    }
    kinds = {
        "plots": (plot, ["x", "y"], "Plots by name, written to OUT/plots as SVG and PNG."),
        "tables": (table, ["rows", "columns", "value"], "Pivot tables by name, written to OUT/tables as CSV and Markdown."),
        "charts": (chart, [], "Charts for choosing among methods, by name, written to OUT/charts as SVG and PNG."),
    }
    properties = {
        name: {
            "type": ["object", "null"],
            "propertyNames": {"pattern": r"^\w[\w.-]*$"},
            "additionalProperties": {**_object(about), "required": needed},
            "description": text,
        }
        for name, (about, needed, text) in kinds.items()
    }
    return {**_object(properties, "Plots, tables and charts of the results."), "type": ["object", "null"]}


def _words(what: str) -> dict[str, Schema]:
    """Title and labels."""
    texts = {"type": "object", "additionalProperties": {"type": ["string", "number"]}, "description": f"Other words for {what}."}
    return {"title": {"type": ["string", "number"], "description": "Above the panels."}, "labels": texts}


def _some(value: Schema, *, most: int | None = None) -> Schema:
    """One value or a list of them."""
    several = {"type": "array", "items": value, "minItems": 1} | ({"maxItems": most} if most else {})
    return {"anyOf": [value, several]}


def parameter_texts(function: Callable[..., Any]) -> dict[str, str]:
    """What a numpydoc docstring says about each parameter, in one line each.

    Parameters
    ----------
    function : callable

    Returns
    -------
    dict of str to str
        By name; ``a, b : float`` gives both the same text.
    """
    found: dict[str, list[str]] = {}
    names: list[str] = []
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", inspect.getdoc(function) or "", re.DOTALL | re.MULTILINE
    )
    for line in section[1].splitlines() if section else ():
        if line and not line[0].isspace():
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        elif line.strip():
            for name in names:
                found.setdefault(name, []).append(line.strip())
    return {name: " ".join(lines) for name, lines in found.items()}


def _stage(stage: Stage, defs: dict[str, Schema]) -> Schema:
    generated = model(stage.function).model_json_schema(ref_template="#/$defs/{model}")
    defs.update(generated.get("$defs", {}))
    texts = parameter_texts(stage.function)
    properties: dict[str, Schema] = {"use": {"const": stage.name, "description": f"{stage.summary} Source: {stage.source}."}}
    for name, about in generated.get("properties", {}).items():
        about.pop("title", None)
        properties[name] = {**about, **({"description": texts[name]} if name in texts else {})}
    return {**_object(properties, stage.summary), "required": ["use"]}


def _slot(slot: str) -> Schema:
    names = [stage.name for stage in stages(slot)]
    one: list[Schema] = [{"$ref": f"#/$defs/{slot}.{name}"} for name in names]
    one.insert(0, {"enum": names})
    if SLOTS[slot].many:
        one.append({"type": "array", "items": {"anyOf": list(one)}})
    if SLOTS[slot].added:
        several = [{"enum": names}, *({"$ref": f"#/$defs/{slot}.{name}.added"} for name in names)]
        one.append({"type": "array", "items": {"anyOf": several}, "minItems": 1})
    if SLOTS[slot].optional:
        one.append({"type": "null"})
    return {"description": _SLOT_TEXTS[slot], "anyOf": one}


def _axis(value: Schema, *, generated: bool = True, continuous: bool = False) -> Schema:
    """An axis whose values fit `value`."""
    plain: Schema = {"type": "array", "minItems": 1, "items": value}
    if not generated:
        return plain
    three: Schema = {"type": "array", "items": _NUMBER, "minItems": 3, "maxItems": 3}
    kinds = [_object({kind: three}) | {"required": [kind]} for kind in ("range", "linspace", "geomspace")]
    if continuous:
        two: Schema = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
        between = {"between": two, "scale": {"enum": ["linear", "log"]}}
        kinds.append(_object(between, "A continuous axis, for 'tune' alone.") | {"required": ["between"]})
    return {"anyOf": [plain, *kinds]}


def _axes() -> Schema:
    axes: dict[str, Schema] = {f"search.{key}": _axis(about) for key, about in _SEARCH.items()}
    axes["seed"] = _axis(_SEED)
    patterns: dict[str, Schema] = {}
    for slot, about in SLOTS.items():
        own = {slot: _axis({"$ref": f"#/$defs/{slot}"}, generated=False)}
        for stage in stages(slot):
            for name in (*stage.parameters, *(FACTORS if about.added else ())):
                value = {"$ref": f"#/$defs/{slot}.{stage.name}{'.added' * about.added}/properties/{name}"}
                named = [f"{slot}.{name}"] if name in stage.parameters and not about.many else []
                for key in [*named, f"{slot}.{stage.name}.{name}"] if about.many or about.added else named:
                    own.setdefault(key, _axis({"anyOf": []}, continuous=True))["anyOf"][0]["items"]["anyOf"].append(value)
                if about.many or about.added:
                    patterns |= {rf"{start}{slot}\.[0-9]+\.{name}$": {"$ref": "#/$defs/axis"} for start in ("^", _WITHIN)}
        axes |= own
        patterns |= {f"{_WITHIN}{re.escape(key)}$": {"$ref": f"#/$defs/axes/properties/{key}"} for key in own}
    return {**_object(axes), "patternProperties": patterns}


def _object(properties: dict[str, Schema], description: str = "") -> Schema:
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"description": description, **found} if description else found
