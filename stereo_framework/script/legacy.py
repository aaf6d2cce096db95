"""Scripts and parameters of the original 2002 program (StereoMatcher 1.0) as ours.

Its parameters, and what they are called here, stand in ``legacy.yaml`` beside this file.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.shipped import shipped_yaml

_TABLES: Mapping[str, Any] = shipped_yaml("script/legacy.yaml")

DEFAULTS: Mapping[str, Any] = _TABLES["defaults"]
"""The original's parameters and their values when nothing is said."""

SURVIVE_RESET: Container[str] = _TABLES["survive_reset"]
"""Parameters that the command ``reset`` leaves alone."""


def translate(parameters: Mapping[str, Any], *, report: Callable[[str], None] | None = None) -> dict[str, Any]:
    """A mapping of the original program's parameter names as one of our scripts.

    Parameters
    ----------
    parameters : mapping
        Values by the original's names; the rest keep the original's defaults, but the disparity range, border and gap are then the
        scene's and the protocol's own.
    report : callable, optional
        Gets one line for everything that cannot be carried over. Without it that is an error.

    Returns
    -------
    dict
        A script that `load` takes.

    Raises
    ------
    ParameterError
        Something cannot be carried over and there is no `report`; or a number stands for no method of the original.

    Notes
    -----
    The original's own ways are kept where its figures need them: holes of dynamic programming are filled from the left, and the
    parabola's vertex may lie a whole level away.

    Examples
    --------
    >>> translate({"match_fn": 2, "aggr_window_size": 21, "aggr_minfilter": 21})["aggregation"]
    [{'use': 'box', 'size': 21, 'iterations': 1}, {'use': 'min_filter', 'size': 21}]
    """
    tell = report or _refuse
    for name in parameters:
        if name not in DEFAULTS and name not in _TABLES["without_effect"]:
            tell(f"{name}: no parameter of the original program; {nearest(name, DEFAULTS, kind='parameters')}")
    value = {**DEFAULTS, **{k: v for k, v in parameters.items() if k in DEFAULTS}}
    for name, what in _TABLES["lost"].items():
        if value[name]:
            tell(f"{name}={value[name]:g}: {what}")
    value = _chosen(value)
    blur, protocol = value["preproc_blur_iter"], _protocol(parameters, value)
    local = value["opt_fn"]["use"] == "winner_take_all"
    script = {
        "search": _given(parameters, "search"),
        "preprocessing": [{"use": "binomial_blur", "iterations": blur}] if blur else [],
        "matching_cost": _matching_cost(value),
        "aggregation": _aggregation(value),
        "smoothness": None if local else _filled(_TABLES["smoothness"], value),
        "optimization": value["opt_fn"],
        "refinement": _refinement(value),
        "evaluation": {"protocol": {"base": "taxonomy2002", **protocol}} if protocol else None,
    }
    return {key: item for key, item in script.items() if item}


def _refuse(line: str) -> None:
    raise ParameterError(line)


def _chosen(value: Mapping[str, Any]) -> dict[str, Any]:
    """The same parameters, numbers replaced by the words and stages that they stand for."""
    order, visiting = ("random", "random") if value["opt_random"] else ("fixed", "raster")
    found = {**value, "order": order, "visiting": visiting}
    for name, choices in _TABLES["choices"].items():
        if value[name] not in choices:
            legal = ", ".join(map(str, choices))
            raise ParameterError(f"{name}={value[name]!r}: no such method of the original; legal: {legal}")
        found[name] = _filled(choices[value[name]], found)
    return found


def _filled(template: Any, value: Mapping[str, Any]) -> Any:
    """A word as it is; a stage with its ``$names`` replaced."""
    if isinstance(template, str):
        return template
    return {key: value[word[1:]] if word.startswith("$") else word for key, word in template.items()}


def _given(parameters: Mapping[str, Any], table: str) -> dict[str, Any]:
    """The parameters of a table that were given: their values under our names."""
    return {ours: parameters[theirs] for ours, theirs in _TABLES[table].items() if theirs in parameters}


def _matching_cost(value: Mapping[str, Any]) -> dict[str, Any]:
    use = value["match_fn"]
    # Its default of 1000 cuts no squared difference, but does set the cost of cells out of view in colour (1020 without it).
    truncation = None if use == "squared_difference" and value["match_max"] >= 1000 else value["match_max"]
    interval, interpolation = bool(value["match_interval"]), value["match_interp"]
    return {"use": use, "truncation": truncation, "interval": interval, "interpolation": interpolation}


def _aggregation(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    stages = [value["aggr_fn"]] if value["aggr_iter"] > 0 else []
    if value["aggr_minfilter"] > 1:
        stages.append({"use": "min_filter", "size": value["aggr_minfilter"]})
    return stages


def _refinement(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    filled = value["opt_fn"]["use"] == "dynamic_programming"
    stages: list[dict[str, Any]] = [{"use": "fill_occlusions", "rule": "left"}] if filled else []
    return stages + ([{"use": "parabola", "limit": 1.0}] if value["refine_subpix"] else [])


def _protocol(parameters: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    changed = _given(parameters, "protocol")
    if "thresholds" in changed:
        changed["thresholds"] = [changed["thresholds"]]
    if "eval_lin_interp" in parameters:
        changed["prediction_lines"] = bool(parameters["eval_lin_interp"])
    if "eval_predict_type" in parameters:
        changed["prediction"] = value["eval_predict_type"]
    return changed
