"""Parameters and script files of the original 2002 program."""

import pytest

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.script import load
from stereo_framework.script.legacy import DEFAULTS, convert, translate


def test_the_originals_defaults():
    # No parameter at all: AD, 7x7 box, winner-take-all (taxonomy of defaults in the original's parameter list).
    assert translate({}) == {
        "matching_cost": {
            "use": "absolute_difference",
            "truncation": 1000,
            "birchfield_tomasi": False,
            "interpolation": "cubic",
        },
        "aggregation": [{"use": "box", "size": 7, "iterations": 1}],
        "optimization": {"use": "winner_take_all"},
    }


def test_a_long_line_of_parameters():
    script = translate(
        {
            "disp_step": 0.5,
            "match_fn": 2,
            "match_interp": 1,
            "match_max": 20,
            "match_interval": 1,
            "aggr_iter": 0,
            "aggr_minfilter": 5,
            "refine_subpix": 1,
            "preproc_blur_iter": 2,
            "eval_bad_thresh": 0.5,
            "eval_disp_gap": 3,
            "eval_predict_type": 2,
            "eval_lin_interp": 0,
        }
    )
    assert script == {
        "search": {"step": 0.5},
        "preprocessing": [{"use": "binomial_blur", "iterations": 2}],
        "matching_cost": {
            "use": "squared_difference",
            "truncation": 20,
            "birchfield_tomasi": True,
            "interpolation": "linear",
        },
        "aggregation": [{"use": "min_filter", "size": 5}],
        "optimization": {"use": "winner_take_all"},
        "refinement": [{"use": "parabola", "max_offset": 1.0}],
        "evaluation": {
            "protocol": {
                "base": "taxonomy2002",
                "thresholds": [0.5],
                "disparity_gap": 3,
                "prediction_lines": False,
                "prediction": "inverse",
            }
        },
    }
    assert len(load(script).settings) == 1


@pytest.mark.parametrize(
    ("parameters", "use"),
    [
        ({"aggr_fn": 2}, "binomial"),
        ({"aggr_fn": 3}, "diffusion"),
        ({"aggr_fn": 4}, "membrane_diffusion"),
        ({"aggr_fn": 5}, "bayesian_diffusion"),
        ({"opt_fn": 2}, "dynamic_programming"),
        ({"opt_fn": 3}, "scanline_optimization"),
        ({"opt_fn": 4}, "graph_cut"),
        ({"opt_fn": 5}, "simulated_annealing"),
    ],
)
def test_every_method_becomes_a_script_that_loads(parameters, use):
    script = translate(parameters)
    slot = script["aggregation"][0] if "aggr_fn" in parameters else script["optimization"]
    assert slot["use"] == use
    [run] = load(script).settings
    assert use in str(run.pipeline)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"match_interpolated": 1},
            "match_interpolated=1: the original compares both images at interpolated positions",
        ),
        ({"aggr_subpixel": 1}, "use refinement: parabola"),
        ({"aggr_colapse": 1}, "did you mean 'aggr_collapse'?"),
        (
            {"opt_fn": 9},
            "opt_fn=9: the original program has no choice with this number; allowed: 1, 2, 3, 4, 5",
        ),
        (
            {"eval_predict_type": 3},
            "eval_predict_type=3: the original program has no choice with this number; "
            "allowed: 0, 1, 2",
        ),
    ],
)
def test_what_cannot_be_carried_over(parameters, message):
    with pytest.raises(ParameterError, match=message.replace("?", r"\?")):
        translate(parameters)


@pytest.fixture
def tree(tmp_path):
    """A tree of scripts as the original's users had them: cd per data set, experiments shared."""
    for scene in ("tsukuba", "venus"):
        (tmp_path / scene).mkdir()
        (tmp_path / scene / "param_in.txt").write_text("frame_ref 2\nframe_match 3\ndisp_max 15\n")
    (tmp_path / "exp_all.txt").write_text(
        "cd tsukuba\nscript ../exp1.txt\ncd ../venus\nscript ../exp1.txt\n"
    )
    (tmp_path / "exp1.txt").write_text(
        "# experiment 1\n"
        "input_data data_in.txt input_params param_in.txt verbose 2\n"
        "reset\n"
        "match_fn 1 match_max 20   # truncated\n"
        "aggr_window_size 9 depth_map SAD9.pgm output_params +all.txt\n"
        "aggr_minfilter 9 depth_map SAD9mf.pgm\n"
        "aggr_subpixel 1 depth_map SAD9mf.pgm\n"
        "exit\n"
        "depth_map never.pgm\n"
    )
    return tmp_path


def test_a_tree_of_scripts(tree):
    lines = []
    scripts = convert(tree / "exp_all.txt", lines.append)
    assert list(scripts) == ["tsukuba", "venus"]
    methods = scripts["tsukuba"]["methods"]
    assert list(methods) == ["SAD9", "SAD9mf", "SAD9mf_2"]
    # Parameters stay from line to line; 'reset' kept the disparity range of the parameter file.
    assert methods["SAD9"]["aggregation"] == [{"use": "box", "size": 9, "iterations": 1}]
    assert methods["SAD9mf"]["aggregation"][1] == {"use": "min_filter", "size": 9}
    assert methods["SAD9mf"]["matching_cost"]["truncation"] == 20
    assert scripts["tsukuba"]["search"] == {"maximum": 15}
    assert any("exp1.txt:7: aggr_subpixel=1" in line for line in lines)
    assert [run.method for run in load(scripts["venus"]).settings] == ["SAD9", "SAD9mf", "SAD9mf_2"]


def test_runs_that_need_scripts_of_their_own(tmp_path):
    path = tmp_path / "old.txt"
    path.write_text(
        "disp_max 15 depth_map a.pgm\ndisp_max 20 depth_map b.pgm\ndisp_max 15 aggr_iter 0 depth_map c.pgm\n"
    )
    scripts = convert(path, print)
    assert {key: list(script["methods"]) for key, script in scripts.items()} == {
        "scene": ["a", "c"],
        "scene_2": ["b"],
    }
    assert [script["search"]["maximum"] for script in scripts.values()] == [15, 20]


def test_lines_that_make_no_sense(tmp_path):
    path = tmp_path / "old.txt"
    path.write_text(
        "match_fn two\naggr_windw_size 5\naggr_window_size\ninput_params none.txt\n"
        "cost_map c.pgm depth_map a.pgm\n"
    )
    lines = []
    [script] = convert(path, lines.append).values()
    assert [line.partition(": ")[0] for line in lines] == [f"{path}:{n}" for n in (1, 2, 3, 4, 5)]
    assert script["methods"]["a"]["aggregation"][0]["size"] == DEFAULTS["aggr_window_size"]


def test_numbers_that_are_none_and_the_mark_of_an_editor(tmp_path):
    path = tmp_path / "old.txt"
    path.write_bytes(
        b"\xef\xbb\xbfmatch_max nan aggr_window_size 1e400\nmatch_fn inf depth_map a.pgm\n"
    )
    lines = []
    [script] = convert(path, lines.append).values()
    values = [
        f"{path}:1: match_max: nan",
        f"{path}:1: aggr_window_size: 1e400",
        f"{path}:2: match_fn: inf",
    ]
    message = "is not a number; skipped parameters keep their values"
    assert lines == [f"{value} {message}" for value in values]
    assert load(script).only.method == "a"


def test_files_that_cannot_be_converted(tmp_path):
    empty, loop = tmp_path / "empty.txt", tmp_path / "loop.txt"
    empty.write_text("match_fn 1\n")
    loop.write_text("script loop.txt\n")
    with pytest.raises(DataError, match="runs nothing"):
        convert(empty, print)
    with pytest.raises(DataError, match="may run itself"):
        convert(loop, print)
    with pytest.raises(DataError, match="no such file"):
        convert(tmp_path / "none.txt", print)
