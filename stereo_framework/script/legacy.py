"""Scripts and parameters of the original 2002 program (StereoMatcher 1.0) as ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stereo_framework.errors import ParameterError, nearest

DEFAULTS: Mapping[str, Any] = {
    "frame_ref": 0,
    "frame_match": 1,
    "disp_min": 0,
    "disp_max": 7,
    "disp_step": 1,
    "disp_scale": 1,
    "eval_ignore_border": 0,
    "eval_disp_gap": 2,
    "verbose": 3,
    "evaluate_only": 0,
    "preproc_addnoise_stddev": 0,
    "preproc_blur_iter": 0,
    "match_fn": 1,
    "match_interp": 3,
    "match_max": 1000,
    "match_interval": 0,
    "match_interpolated": 0,
    "aggr_fn": 1,
    "aggr_window_size": 7,
    "aggr_iter": 1,
    "aggr_minfilter": 0,
    "aggr_subpixel": 0,
    "aggr_collapse": 0,
    "diff_lambda": 0.15,
    "diff_beta": 0.5,
    "diff_scale_cost": 0.01,
    "diff_mu": 0.5,
    "diff_sigmaP": 0.4,
    "diff_epsP": 0.01,
    "opt_fn": 1,
    "opt_smoothness": 1,
    "opt_grad_thresh": 5,
    "opt_grad_penalty": 1,
    "opt_occlusion_cost": 20,
    "opt_max_iter": 100,
    "opt_random": 1,
    "opt_sa_var": 3,
    "opt_sa_start_T": 10,
    "opt_sa_end_T": 0.01,
    "opt_sa_schedule": 1,
    "opt_min_margin": 0.7,
    "opt_sym_passes": 1,
    "refine_subpix": 0,
    "eval_bad_thresh": 1,
    "eval_error_scale": 2,
    "eval_lin_interp": 1,
    "eval_predict_type": 1,
    "eval_textureless_width": 3,
    "eval_textureless_thresh": 4,
    "eval_discont_width": 9,
    "eval_empty_color": 0x00FFC0FF,
    "eval_predict_diff": 0,
    "eval_partial_shuffle": 0,
    "eval_match_quality": 0,
    "eval_certain_matches_only": 0,
}
"""The original's parameters and their values when nothing is said."""

SURVIVE_RESET = frozenset(
    {"frame_ref", "frame_match", "disp_min", "disp_max", "disp_step", "disp_scale", "eval_ignore_border", "eval_disp_gap"}
    | {"verbose", "evaluate_only"}
)
"""Parameters that the command ``reset`` leaves alone."""

_WITHOUT_EFFECT = frozenset(
    {"verbose", "disp_scale", "eval_error_scale", "eval_empty_color", "eval_predict_diff", "eval_match_quality"}
    | {"eval_certain_matches_only", "opt_min_margin", "opt_sym_passes", "disp_n", "frame_ref", "frame_match"}
)
"""Files, printing and dead parameters; the frames belong to our scenes."""

_LOST: Mapping[str, str] = {
    "match_interpolated": "both images at interpolated positions; this framework interpolates the match image only",
    "aggr_subpixel": "sub-pixel costs during aggregation; use refinement: parabola",
    "aggr_collapse": "collapsing of fractional levels; leave the disparities at their step",
    "preproc_addnoise_stddev": "added noise (the original does not implement it either)",
    "evaluate_only": "measuring a stored map; use 'stereo-framework evaluate MAP'",
}

_RULES = {1: "metropolis", 2: "flip_gibbs", 3: "full_gibbs"}


def translate(
    parameters: Mapping[str, Any], *, scene: str | None = None, report: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """A mapping of the original program's parameter names as one of our scripts.

    Parameters
    ----------
    parameters : mapping
        Values by the original's names; the rest keep the original's defaults, but the disparity range, border and gap are then the
        scene's and the protocol's own.
    scene : str, optional
        Name of the scene to run on.
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
    >>> translate({"match_fn": 2, "aggr_window_size": 21, "aggr_minfilter": 21}, scene="tsukuba")["aggregation"]
    [{'use': 'box', 'size': 21, 'iterations': 1}, {'use': 'min_filter', 'size': 21}]
    """
    tell = report or _refuse
    for name in parameters:
        if name not in DEFAULTS and name not in _WITHOUT_EFFECT:
            tell(f"{name}: no parameter of the original program; {nearest(name, DEFAULTS, kind='parameters')}")
    value = {**DEFAULTS, **{k: v for k, v in parameters.items() if k in DEFAULTS}}
    for name, what in _LOST.items():
        if value[name]:
            tell(f"{name}={value[name]:g}: {what}")
    script: dict[str, Any] = {}
    if scene is not None:
        script["scenes"] = [scene]
    search = {
        ours: value[theirs]
        for ours, theirs in (("minimum", "disp_min"), ("maximum", "disp_max"), ("step", "disp_step"))
        if theirs in parameters
    }
    if search:
        script["search"] = search
    if value["preproc_blur_iter"]:
        script["preprocessing"] = [{"use": "binomial_blur", "iterations": value["preproc_blur_iter"]}]
    script["matching_cost"] = _matching_cost(value)
    script["aggregation"] = _aggregation(value)
    script |= _optimization(value)
    script["refinement"] = _refinement(value)
    protocol = _protocol(parameters)
    if protocol:
        script["evaluation"] = {"protocol": {"base": "taxonomy2002", **protocol}}
    return {key: item for key, item in script.items() if item != []}


def _refuse(line: str) -> None:
    raise ParameterError(line)


def _choose(value: Mapping[str, Any], name: str, choices: Mapping[int, Any]) -> Any:
    if value[name] not in choices:
        raise ParameterError(f"{name}={value[name]!r}: no such method of the original; legal: {', '.join(map(str, choices))}")
    return choices[value[name]]


def _matching_cost(value: Mapping[str, Any]) -> dict[str, Any]:
    use = _choose(value, "match_fn", {1: "absolute_difference", 2: "squared_difference"})
    # Its default of 1000 cuts no squared difference, but does set the cost of cells out of view in colour (1020 without it).
    truncation = None if use == "squared_difference" and value["match_max"] >= 1000 else value["match_max"]
    return {
        "use": use,
        "truncation": truncation,
        "interval": bool(value["match_interval"]),
        "interpolation": _choose(value, "match_interp", {1: "linear", 3: "cubic"}),
    }


def _aggregation(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    iterations = value["aggr_iter"]
    methods = {
        1: {"use": "box", "size": value["aggr_window_size"], "iterations": iterations},
        2: {"use": "binomial", "iterations": iterations},
        3: {"use": "diffusion", "iterations": iterations, "rate": value["diff_lambda"]},
        4: {
            "use": "membrane_diffusion",
            "iterations": iterations,
            "rate": value["diff_lambda"],
            "beta": value["diff_beta"],
        },
        5: {
            "use": "bayesian_diffusion",
            "iterations": iterations,
            "cost_scale": value["diff_scale_cost"],
            "mu": value["diff_mu"],
            "sigma": value["diff_sigmaP"],
            "epsilon": value["diff_epsP"],
        },
    }
    chosen = _choose(value, "aggr_fn", methods)
    stages = [chosen] if iterations > 0 else []
    if value["aggr_minfilter"] > 1:
        stages.append({"use": "min_filter", "size": value["aggr_minfilter"]})
    return stages


def _optimization(value: Mapping[str, Any]) -> dict[str, Any]:
    random = bool(value["opt_random"])
    methods: dict[int, dict[str, Any]] = {
        1: {"use": "winner_take_all"},
        2: {"use": "dynamic_programming", "occlusion_cost": value["opt_occlusion_cost"]},
        3: {"use": "scanline_optimization"},
        4: {"use": "graph_cut", "move": "swap", "order": "random" if random else "fixed", "max_cycles": value["opt_max_iter"]},
        5: {
            "use": "simulated_annealing",
            "rule": _choose(value, "opt_sa_var", _RULES),
            "start_temperature": value["opt_sa_start_T"],
            "end_temperature": value["opt_sa_end_T"],
            "schedule": _choose(value, "opt_sa_schedule", {1: "linear", 2: "logarithmic"}),
            "sweeps": value["opt_max_iter"],
            "visiting": "random" if random else "raster",
        },
    }
    optimization = _choose(value, "opt_fn", methods)
    if optimization["use"] == "winner_take_all":
        return {"optimization": optimization}
    smoothness = {
        "use": "potts",
        "weight": value["opt_smoothness"],
        "gradient_threshold": value["opt_grad_thresh"],
        "gradient_penalty": value["opt_grad_penalty"],
    }
    return {"smoothness": smoothness, "optimization": optimization}


def _refinement(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    stages: list[dict[str, Any]] = [{"use": "fill_occlusions", "rule": "left"}] if value["opt_fn"] == 2 else []
    return stages + ([{"use": "parabola", "limit": 1.0}] if value["refine_subpix"] else [])


def _protocol(parameters: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        "eval_bad_thresh": "thresholds",
        "eval_disp_gap": "disparity_gap",
        "eval_textureless_width": "textureless_width",
        "eval_textureless_thresh": "textureless_threshold",
        "eval_discont_width": "discontinuity_width",
        "eval_ignore_border": "border",
        "eval_partial_shuffle": "partial_shuffle",
    }
    changed = {ours: parameters[theirs] for theirs, ours in names.items() if theirs in parameters}
    if "eval_lin_interp" in parameters:
        changed["prediction_lines"] = bool(parameters["eval_lin_interp"])
    if "eval_predict_type" in parameters:
        changed["prediction"] = _choose(parameters, "eval_predict_type", {0: "none", 1: "forward", 2: "inverse"})
    return {k: [v] if k == "thresholds" else v for k, v in changed.items()}
