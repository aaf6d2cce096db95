"""The command line as a user meets it."""

import json
import subprocess
import sys

import numpy as np
import pytest
import yaml
from cli_parts import SCRIPT, one_line

from stereo_framework import load_scene
from stereo_framework.cli import _shared
from stereo_framework.io.disparity import write_disparity
from stereo_framework.sweep import Result, ResultSet


def test_evaluate(pictures, cli, small_scenes, tmp_path):
    scene = load_scene("synthetic/planes")
    write_disparity(tmp_path / "good.pfm", scene.truth + np.float32(0.75))
    write_disparity(tmp_path / "bad.pfm", scene.truth * 4)
    arguments = (
        "evaluate",
        tmp_path / "good.pfm",
        tmp_path / "bad.pfm",
        "--scene",
        "synthetic/planes",
    )
    result = cli(*arguments, "--threshold", 0.5, "--threshold", 1, "--json")
    good, bad = json.loads(result.stdout)
    assert (good["statistics"]["bad0.5_all"], good["statistics"]["bad1_all"]) == (100, 0)
    assert good["statistics"]["rms_error_all"] == pytest.approx(0.75)
    assert any("scale" in w for w in bad["warnings"])
    write_disparity(tmp_path / "grey.png", scene.truth, disparity_scale=8)
    one_line(cli("evaluate", tmp_path / "grey.png", "--scene", "synthetic/planes"), "scale")
    assert (
        cli(
            "evaluate",
            tmp_path / "grey.png",
            "--scene",
            "synthetic/planes",
            "--disparity-scale",
            8,
            "--out",
            tmp_path / "p",
        ).exit_code
        == 0
    )
    assert (tmp_path / "p").is_dir()
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_disparity(tmp_path / folder / "planes.pfm", scene.truth)
    pictures = ("--out", tmp_path / "q", "--threshold", 3)
    assert (
        cli(
            "evaluate",
            tmp_path / "a/planes.pfm",
            tmp_path / "b/planes.pfm",
            *arguments[3:],
            *pictures,
        ).exit_code
        == 0
    )
    assert {p.name.split("_")[1] for p in (tmp_path / "q" / "pictures").iterdir()} == {
        "a-planes",
        "b-planes",
    }


def test_check_schema_scenes_stages(cli, script):
    assert "no fault; 1 run on synthetic/planes" in cli("check", script(SCRIPT)).stdout
    assert json.loads(cli("check", "--schema").stdout)["type"] == "object"
    assert "synthetic/planes" in cli("scenes").stdout.split()
    assert "320x240 colour" in cli("scenes", "--describe", "synthetic/planes").stdout
    assert {"box", "min_filter", "winner_take_all"} <= set(cli("stages").stdout.split())
    assert "size = 9   (a whole number >= 1; pixels)" in cli("stages", "box").stdout
    assert "  beta = 0.5   (a number >= 0)\n" in cli("stages", "membrane_diffusion").stdout


@pytest.mark.usefixtures("registry")
def test_the_schema_contains_the_stages_of_plug_ins(cli, tmp_path):
    plugin = tmp_path / "mine.py"
    cli("stages", "--new", "my_cost", "--slot", "matching_cost", "--out", plugin)
    definitions = json.loads(cli("check", "--schema", "--plugin", plugin).stdout)["$defs"]
    assert {"const": "my_cost"}.items() <= definitions["matching_cost.my_cost"]["properties"][
        "use"
    ].items()
    assert "matching_cost.my_cost.weight" in definitions["axes"]["properties"]


def test_stages_tell_what_those_of_each_slot_get_and_return(cli, tiny):
    listed = cli("stages").stdout
    rows = {
        line.split()[0]: line
        for line in listed.splitlines()
        if "reference, match, search\t" in line or "solve, pair" in line
    }
    assert {"matcher", "matching_cost", "scheme"} <= rows.keys()
    assert "mask, scene" in rows["matcher"]
    assert rows["matcher"].rstrip().endswith("BothSides of two such results")
    assert "one, or a list that is added" in rows["matching_cost"]
    one = cli("stages", "matcher").stdout
    assert "flat" in one
    assert "mask, scene" in one
    assert "box" not in one
    assert "gets: disparity, auxiliary, confidence" in cli("stages", "blend").stdout


def test_a_script_of_every_kind_from_the_command_line(cli, script, tiny, small_scenes, tmp_path):
    every = {
        **SCRIPT,
        "search": {"maximum": 8},
        "matching_cost": ["absolute_difference", "tenfold"],
        "refinement": ["blend"],
        "auxiliary": {"a": {"matcher": "flat"}},
        "methods": {"sum": {}, "whole": {"matcher": "flat"}},
        "sweep": {
            "grid": {
                "matching_cost.tenfold.weight": [1, 2],
                "auxiliary.a.matcher.radius": [1, 3],
            }
        },
    }
    path, out = script(every), tmp_path / "out"
    assert "no fault; 6 runs on synthetic" in cli("check", path).stdout
    setting = ["--set", "auxiliary.a.matcher.radius=1", "--set", "search.maximum=4"]
    assert cli("run", path, *setting, "--out", out).exit_code == 0
    records = json.loads(
        cli("results", out, "--where", "matching_cost.tenfold.weight=2", "--json").stdout
    )
    assert [(r["method"], r["axes"]) for r in records] == [
        ("sum", {"matching_cost.tenfold.weight": 2.0})
    ]
    records = json.loads(
        cli(
            "results", out, "--where", "matching_cost=absolute_difference + tenfold", "--json"
        ).stdout
    )
    assert len(records) == 2
    assert (
        "flat"
        in cli(
            "results",
            out,
            "--group-by",
            "auxiliary.a.matcher.use",
            "--columns",
            "bad_pixels_all",
        ).stdout
    )
    assert cli("run", out / "script.resolved.yaml").exit_code == 0
    one_line(
        cli("check", path, "--set", "auxiliary.a.matcher.radius=0"),
        "--set auxiliary.a.matcher.radius: 0 is not a whole",
    )


def test_import(cli, script):
    old = script(
        "match_fn 2 aggr_window_size 21 aggr_minfilter 21\nmatch_interpolated 1\ndepth_map ssd.pgm\n",
        "old.txt",
    )
    result = cli("import", old)
    assert result.exit_code == 0
    assert ":3: match_interpolated=1" in result.stderr
    converted = yaml.safe_load(result.stdout)
    assert converted["methods"]["ssd"]["matching_cost"]["use"] == "squared_difference"
    # The old script names a scene of its time.
    assert (
        cli(
            "check", script(result.stdout, "new.yaml"), "--set", "scenes=synthetic/planes"
        ).exit_code
        == 0
    )


@pytest.mark.slow
def test_who_reads_results_loads_no_stages():
    program = "import sys, stereo_framework.page.run_page; print('stereo_framework.optimization' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_metrics_and_protocols(cli):
    result = cli("stages", "metrics")
    assert result.exit_code == 0, result.output
    assert "rms_error" in result.stdout
    assert "'stereo-framework stages protocols' lists the protocols" in result.stdout
    rows = [line.split("\t") for line in cli("stages", "protocols").stdout.splitlines()]
    assert ["kitti2015", "bad (percent) = error > 3 px and > 5 % of the truth"] in [
        row[:2] for row in rows
    ]
    assert "relative_threshold       0.05" in cli("stages", "kitti2015").stdout
    assert "thresholds               0.5" in cli("stages", "{base: eth3d, threshold: 0.5}").stdout


def test_reproduce(cli, tmp_path):
    result = cli("reproduce", "taxonomy2002/table4", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert (
        "our own check, in no total, holds: The scripts ssd, dp, so, gc and bayesian hold the parameters that Table 4 prints"
        in result.stdout
    )
    assert (tmp_path / "taxonomy2002.html").is_file()


def test_the_report_of_a_script_is_written(cli, script, small_scenes, tmp_path):
    plots = {"sizes": {"x": "aggregation.box.size", "y": "bad_pixels_nonocc"}}
    sweep = SCRIPT | {
        "sweep": {"grid": {"aggregation.box.size": [5, 9]}},
        "report": {"plots": plots},
    }
    result = cli("run", script(sweep), "--out", tmp_path / "out")
    assert "the plots are in " in result.stdout.splitlines()[-2]
    assert (tmp_path / "out" / "plots" / "sizes.svg").is_file()
    assert cli("report", tmp_path / "out").exit_code == 0
    page = (tmp_path / "out" / "report.html").read_text()
    for part in (
        "assets/report-0.svg",
        "planes",
        "bad_pixels_nonocc",
        "matching_cost",
        "Script script.resolved.yaml",
    ):
        assert part in page
    assert (
        cli("report", tmp_path / "out", "--single-file", "--out", tmp_path / "one.html").exit_code
        == 0
    )
    assert "assets/" not in (tmp_path / "one.html").read_text()


def test_boundary(cli, script, small_scenes, tmp_path):
    sweep = SCRIPT | {
        "evaluation": {"protocol": "kostliva2007"},
        "scenes": ["synthetic/planes", "synthetic/occlusions"],
        "sweep": {"grid": {"aggregation.box.size": [5, 9]}},
    }
    assert cli("run", script(sweep), "--out", tmp_path / "out").exit_code == 0
    result = cli("rank", tmp_path / "out", "--boundary")
    assert result.exit_code == 0, result.output
    for part in ("Expected", "feasibility boundary of synthetic/planes", "aggregation.box.size="):
        assert part in result.stdout
    [record] = json.loads(
        cli("rank", tmp_path / "out", "--boundary", "--where", "scene=planes", "--json").stdout
    )
    assert list(record["boundary"]) == ["synthetic/planes"]


def test_a_terminal_shows_the_protocol_in_one_line(cli, script, monkeypatch):
    monkeypatch.setattr(_shared, "on_a_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    short = cli("run", script(SCRIPT)).stdout.splitlines()
    assert short[0] == "scene synthetic/planes; method script"
    assert [line.split()[0] for line in short[1:3]] == [
        "bad_pixels_nonocc",
        "bad_pixels_textureless",
    ]
    assert short[-5:-2] == [
        "protocol taxonomy2002: bad (percent) = error > 1 px; fraction_matched (0 to 1) =",
        "share of the pixels with an estimate ('stereo-framework stages taxonomy2002'",
        "lists all choices)",
    ]
    assert short[-2:] == [
        "next step: the option --out DIR stores the results, and 'stereo-framework report",
        "DIR' then writes an HTML report",
    ]
    whole = cli("stages", "taxonomy2002").stdout
    assert "discont: 9x9 window" in " ".join(whole.split())
    assert max(map(len, whole.splitlines())) <= 80


def test_a_warning_names_its_scene_once(capsys):
    text = "the map may have the wrong sign"
    results = [
        Result(
            "",
            "a/b",
            "m",
            {},
            {"size": size},
            "p",
            {"bad_pixels": 1.0},
            protocol_text="p: q",
            warnings=(f"a/b: {text}",),
        )
        for size in (3, 5, 7)
    ]
    _shared.print_results(ResultSet(results))
    assert capsys.readouterr().err == f"warning: a/b m (size=3) and 2 more: {text}\n"
