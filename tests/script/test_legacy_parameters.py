"""Each parameter of the original 2002 program, and its keys of a script."""

import pytest

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.script import load
from stereo_framework.script.legacy import DEFAULTS, SURVIVE_RESET, convert, translate

BOX = {"use": "box", "size": 7, "iterations": 1}
COST = {
    "use": "absolute_difference",
    "truncation": 1000,
    "birchfield_tomasi": False,
    "interpolation": "cubic",
}
POTTS = {"use": "potts", "weight": 1, "gradient_threshold": 5, "gradient_penalty": 1}
CUT = {"use": "graph_cut", "move": "swap", "order": "random", "iterations": 100}
ANNEALING = {
    "use": "simulated_annealing",
    "sampler": "full_gibbs",
    "start_temperature": 10,
    "end_temperature": 0.01,
    "schedule": "linear",
    "iterations": 100,
    "order": "random",
}


def of_protocol(**fields):
    """Return the changes of a script that measures with these fields of a protocol."""
    return {"evaluation": {"protocol": {"base": "taxonomy2002", **fields}}}


def window(**changes):
    """Return an aggregation by a box with some other parameters."""
    return {"aggregation": [BOX | changes]}


WITH_EFFECT = {
    "disp_min": (-3, {"search": {"minimum": -3}}),
    "disp_max": (15, {"search": {"maximum": 15}}),
    "disp_step": (0.5, {"search": {"step": 0.5}}),
    "eval_ignore_border": (9, of_protocol(border=9)),
    "eval_disp_gap": (3, of_protocol(disparity_gap=3)),
    "eval_bad_thresh": (2, of_protocol(thresholds=[2])),
    "eval_lin_interp": (0, of_protocol(prediction_lines=False)),
    "eval_predict_type": (0, of_protocol(prediction="none")),
    "eval_textureless_width": (5, of_protocol(textureless_width=5)),
    "eval_textureless_thresh": (6, of_protocol(textureless_threshold=6)),
    "eval_discont_width": (11, of_protocol(discontinuity_width=11)),
    "eval_partial_shuffle": (0.3, of_protocol(partial_shuffle=0.3)),
    "preproc_blur_iter": (2, {"preprocessing": [{"use": "binomial_blur", "iterations": 2}]}),
    "match_fn": (2, {"matching_cost": COST | {"use": "squared_difference", "truncation": None}}),
    "match_interp": (1, {"matching_cost": COST | {"interpolation": "linear"}}),
    "match_max": (20, {"matching_cost": COST | {"truncation": 20}}),
    "match_interval": (1, {"matching_cost": COST | {"birchfield_tomasi": True}}),
    "aggr_fn": (2, {"aggregation": [{"use": "binomial", "iterations": 1}]}),
    "aggr_window_size": (9, window(size=9)),
    "aggr_iter": (3, window(iterations=3)),
    "aggr_minfilter": (2, {"aggregation": [BOX, {"use": "min_filter", "size": 2}]}),
    "opt_fn": (3, {"smoothness": POTTS, "optimization": {"use": "scanline_optimization"}}),
    "refine_subpix": (1, {"refinement": [{"use": "parabola", "max_offset": 1.0}]}),
}
"""A value of each parameter with an effect by itself, and the keys that it changes."""

WITHOUT_EFFECT = {
    "verbose": 0,
    "disp_scale": 8,
    "eval_error_scale": 3,
    "eval_empty_color": 0,
    "eval_predict_diff": 1,
    "eval_match_quality": 1,
    "eval_certain_matches_only": 1,
    "opt_min_margin": 0.5,
    "opt_sym_passes": 2,
    "frame_ref": 2,
    "frame_match": 3,
}
NOT_CARRIED_OVER = {
    "match_interpolated": 1,
    "aggr_subpixel": 1,
    "aggr_collapse": 1,
    "preproc_addnoise_stddev": 2,
    "evaluate_only": 1,
}
DIFFUSION = {"use": "diffusion", "iterations": 1, "rate": 0.15}
MEMBRANE = {"use": "membrane_diffusion", "iterations": 1, "rate": 0.15, "beta": 0.5}
BAYESIAN = {
    "use": "bayesian_diffusion",
    "iterations": 1,
    "cost_factor": 0.01,
    "mu": 0.5,
    "sigma_p": 0.4,
    "epsilon_p": 0.01,
}
WITH_OTHER_PARAMETERS = [
    ({"aggr_fn": 3}, "diff_lambda", 0.1, ("aggregation", [DIFFUSION | {"rate": 0.1}])),
    ({"aggr_fn": 4}, "diff_lambda", 0.1, ("aggregation", [MEMBRANE | {"rate": 0.1}])),
    ({"aggr_fn": 4}, "diff_beta", 0.2, ("aggregation", [MEMBRANE | {"beta": 0.2}])),
    ({"aggr_fn": 5}, "diff_scale_cost", 0.2, ("aggregation", [BAYESIAN | {"cost_factor": 0.2}])),
    ({"aggr_fn": 5}, "diff_mu", 0.2, ("aggregation", [BAYESIAN | {"mu": 0.2}])),
    ({"aggr_fn": 5}, "diff_sigmaP", 0.2, ("aggregation", [BAYESIAN | {"sigma_p": 0.2}])),
    ({"aggr_fn": 5}, "diff_epsP", 0.2, ("aggregation", [BAYESIAN | {"epsilon_p": 0.2}])),
    ({"aggr_fn": 5}, "aggr_iter", 4, ("aggregation", [BAYESIAN | {"iterations": 4}])),
    ({"opt_fn": 4}, "opt_smoothness", 7, ("smoothness", POTTS | {"weight": 7})),
    ({"opt_fn": 4}, "opt_grad_thresh", 7, ("smoothness", POTTS | {"gradient_threshold": 7})),
    ({"opt_fn": 4}, "opt_grad_penalty", 7, ("smoothness", POTTS | {"gradient_penalty": 7})),
    ({"opt_fn": 4}, "opt_max_iter", 7, ("optimization", CUT | {"iterations": 7})),
    ({"opt_fn": 4}, "opt_random", 0, ("optimization", CUT | {"order": "fixed"})),
    ({"opt_fn": 5}, "opt_random", 0, ("optimization", ANNEALING | {"order": "raster"})),
    ({"opt_fn": 5}, "opt_max_iter", 7, ("optimization", ANNEALING | {"iterations": 7})),
    ({"opt_fn": 5}, "opt_sa_var", 1, ("optimization", ANNEALING | {"sampler": "metropolis"})),
    ({"opt_fn": 5}, "opt_sa_start_T", 7, ("optimization", ANNEALING | {"start_temperature": 7})),
    ({"opt_fn": 5}, "opt_sa_end_T", 7, ("optimization", ANNEALING | {"end_temperature": 7})),
    (
        {"opt_fn": 5},
        "opt_sa_schedule",
        2,
        ("optimization", ANNEALING | {"schedule": "logarithmic"}),
    ),
    (
        {"opt_fn": 2},
        "opt_occlusion_cost",
        7,
        ("optimization", {"use": "dynamic_programming", "occlusion_cost": 7}),
    ),
]
"""Parameters that have an effect together with others.

An entry contains the other parameters, the name, a value, and the key that it changes.
"""


def test_every_parameter_of_the_original_has_a_case():
    cases = {
        *WITH_EFFECT,
        *WITHOUT_EFFECT,
        *NOT_CARRIED_OVER,
        *(name for _, name, *_ in WITH_OTHER_PARAMETERS),
    }
    assert cases == set(DEFAULTS)


@pytest.mark.parametrize("name", WITH_EFFECT)
def test_a_parameter_alone_changes_its_keys_of_the_script(name):
    value, changes = WITH_EFFECT[name]
    assert value != DEFAULTS[name]
    script = translate({name: value})
    assert script == translate({}) | changes
    assert len(load(script).settings) == 1


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_a_parameter_without_effect_changes_nothing(name):
    assert translate({name: WITHOUT_EFFECT[name]}) == translate({})


@pytest.mark.parametrize("name", NOT_CARRIED_OVER)
def test_a_parameter_that_is_not_carried_over_is_reported_once_and_refused_without_a_report(name):
    lines = []
    assert translate({name: NOT_CARRIED_OVER[name]}, report=lines.append) == translate({})
    [line] = lines
    assert line.startswith(f"{name}={NOT_CARRIED_OVER[name]}: ")
    with pytest.raises(ParameterError, match=f"^{name}="):
        translate({name: NOT_CARRIED_OVER[name]})
    assert translate({name: 0}) == translate({})


@pytest.mark.parametrize(("other_parameters", "name", "value", "change"), WITH_OTHER_PARAMETERS)
def test_a_parameter_of_a_method_changes_its_stage(other_parameters, name, value, change):
    key, expected = change
    before = translate(other_parameters)
    assert translate({**other_parameters, name: value}) == before | {key: expected}
    assert before[key] != expected


@pytest.mark.parametrize(
    ("cost", "limit", "truncation"),
    [
        (1, 999, 999),
        (1, 1000, 1000),
        (1, 1001, 1001),
        (2, 999, 999),
        (2, 1000, None),
        (2, 1001, None),
    ],
)
def test_squared_differences_are_cut_below_the_originals_limit_of_1000(cost, limit, truncation):
    script = translate({"match_fn": cost, "match_max": limit})
    assert script["matching_cost"]["truncation"] == truncation


@pytest.mark.parametrize(("size", "is_filtered"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_minimum_filter_of_two_pixels_or_more_is_a_stage(size, is_filtered):
    stages = translate({"aggr_minfilter": size})["aggregation"]
    assert stages == [BOX, {"use": "min_filter", "size": size}][: 1 + is_filtered]


def test_holes_of_dynamic_programming_are_filled_from_the_left():
    script = translate({"opt_fn": 2, "refine_subpix": 1})
    assert script["optimization"] == {"use": "dynamic_programming", "occlusion_cost": 20}
    assert script["refinement"] == [
        {"use": "fill_occlusions", "rule": "left"},
        {"use": "parabola", "max_offset": 1.0},
    ]


# --- script files ---------------------------------------------------------------------


def converted(path, text):
    """Return the only scripts of a text, and the lines that are reported."""
    path.write_text(text)
    lines = []
    return convert(path, lines.append), lines


@pytest.mark.parametrize(
    ("text", "size"),
    [("0x9", 9), ("0xB", 11), ("0x0b", 11), ("11", 11), ("11.0", 11), ("1.1e1", 11)],
)
def test_numbers_are_decimal_or_hexadecimal(tmp_path, text, size):
    scripts, lines = converted(
        tmp_path / "old.txt", f"verbose 0x2 aggr_window_size {text} depth_map a.pgm\n"
    )
    assert not lines
    aggregation = scripts["scene"]["methods"]["a"]["aggregation"]
    assert aggregation == [BOX | {"size": size}]
    assert type(aggregation[0]["size"]) is int


@pytest.mark.parametrize("text", ["0x", "0xg", "x9", "0x1.8", "-0x9", "9,5"])
def test_other_numbers_are_skipped_with_a_line(tmp_path, text):
    scripts, lines = converted(tmp_path / "old.txt", f"aggr_window_size {text} depth_map a.pgm\n")
    location = f"{tmp_path / 'old.txt'}:1: aggr_window_size"
    message = f"{text} is not a number; skipped parameters keep their values"
    assert lines == [f"{location}: {message}"]
    assert scripts["scene"]["methods"]["a"]["aggregation"] == [BOX]


@pytest.mark.parametrize("name", ["rms_error_all", "bad_pixels_nonocc", "predict_err_near"])
def test_statistics_among_the_parameters_are_passed_over(tmp_path, name):
    _, lines = converted(tmp_path / "old.txt", f"{name} 0.5 total_time 3 depth_map a.pgm\n")
    assert not lines


def test_reset_keeps_the_frames_the_range_and_the_border(tmp_path):
    before = {
        name: WITH_EFFECT[name][0] for name in ("disp_min", "disp_step", "eval_ignore_border")
    }
    before |= {"eval_disp_gap": 3, "disp_max": 15, "aggr_window_size": 9, "eval_bad_thresh": 2}
    line = " ".join(f"{name} {value}" for name, value in before.items())
    scripts, _ = converted(tmp_path / "old.txt", f"{line}\nreset\ndepth_map a.pgm\n")
    [script] = scripts.values()
    assert script["search"] == {"minimum": -3, "maximum": 15, "step": 0.5}
    assert script["evaluation"]["protocol"] == {
        "base": "taxonomy2002",
        "border": 9,
        "disparity_gap": 3,
    }
    assert script["methods"]["a"]["aggregation"] == [BOX]
    assert sorted(SURVIVE_RESET) == sorted(
        [
            "frame_ref",
            "frame_match",
            "disp_min",
            "disp_max",
            "disp_step",
            "disp_scale",
            "eval_ignore_border",
            "eval_disp_gap",
            "verbose",
            "evaluate_only",
        ]
    )


@pytest.mark.parametrize(
    ("second", "names"),
    [
        ("disp_max 15 eval_bad_thresh 1", ["scene"]),
        ("disp_max 16 eval_bad_thresh 1", ["scene", "scene_2"]),
        ("disp_max 15 eval_bad_thresh 2", ["scene", "scene_2"]),
        ("disp_max 15 eval_bad_thresh 1 input_data other/data.txt", ["scene", "other"]),
    ],
)
def test_runs_of_other_ranges_protocols_and_scenes_have_scripts_of_their_own(
    tmp_path, second, names
):
    scripts, _ = converted(
        tmp_path / "old.txt",
        f"disp_max 15 eval_bad_thresh 1 depth_map a.pgm\n{second} aggr_iter 2 depth_map b.pgm\n",
    )
    assert list(scripts) == names
    methods = [list(script["methods"]) for script in scripts.values()]
    assert methods == ([["a", "b"]] if len(names) == 1 else [["a"], ["b"]])


@pytest.mark.parametrize(("depth", "is_allowed"), [(20, True), (21, False)])
def test_twenty_scripts_may_be_nested_in_a_script(tmp_path, depth, is_allowed):
    for number in range(depth):
        (tmp_path / f"{number}.txt").write_text(f"script {number + 1}.txt\n")
    (tmp_path / f"{depth}.txt").write_text("depth_map a.pgm\n")
    if is_allowed:
        assert list(convert(tmp_path / "0.txt", print)) == ["scene"]
    else:
        with pytest.raises(DataError, match="scripts are nested more than 20 deep"):
            convert(tmp_path / "0.txt", print)


def test_two_files_of_parameters_and_two_maps_of_one_line_are_read_in_order(tmp_path):
    (tmp_path / "first.txt").write_text("aggr_window_size 5 disp_max 9\n")
    (tmp_path / "second.txt").write_text("aggr_window_size 11\n")
    scripts, lines = converted(
        tmp_path / "old.txt",
        "input_params first.txt depth_map a.pgm\n"
        "input_params second.txt depth_map a.pgm\n"
        # The parameters of a line take precedence over those in its file.
        "aggr_window_size 3 input_params first.txt depth_map a.pgm\n",
    )
    assert not lines
    [script] = scripts.values()
    methods = script["methods"].items()
    sizes = {name: method["aggregation"][0]["size"] for name, method in methods}
    assert sizes == {"a": 5, "a_2": 11, "a_3": 3}
    assert script["search"] == {"maximum": 9}
