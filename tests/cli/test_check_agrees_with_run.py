"""The agreement of 'check' and 'run': both refuse the same scripts, with the same messages."""

import pytest
import yaml
from cli_parts import invoke
from yaml_cases import cases_in

import stereo_framework
from stereo_framework.core.errors import StereoFrameworkError

CASES = cases_in("refused_scripts.yaml", __file__)

PLUGIN = '''\
from dataclasses import replace

import numpy as np
from scipy.ndimage import gaussian_filter

from stereo_framework import stage
from stereo_framework.matching_cost import absolute_difference


@stage("aggregation", source="a test", halo=lambda: 0)
def blur(volume):
    """Average the costs of a window."""
    return replace(volume, costs=gaussian_filter(volume.costs, (5, 5, 0)))


@stage("aggregation", source="a test", halo=lambda: -1)
def negative_halo(volume):
    """Return the costs as they are."""
    return volume


@stage("refinement", source="a test")
def by_curvature(disparity, confidence):
    """Remove uncertain estimates."""
    return np.where(confidence["curvature"] < 0, np.float32(np.nan), disparity)


@stage("matching_cost", source="a test")
def one_way(reference, match, search):
    """Look to the left for either image."""
    return absolute_difference(reference, match, replace(search, direction=1)).costs
'''


@pytest.fixture
def folder(tmp_path, monkeypatch, registry):
    (tmp_path / "plugin.py").write_text(PLUGIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEREO_DATA", raising=False)
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=[case["of"] for case in CASES])
def test_check_and_run_refuse_a_script_with_the_same_message(case, folder):
    script = {"scenes": ["synthetic/planes"], **case["script"]}
    (folder / "s.yaml").write_text(yaml.safe_dump(script, sort_keys=False))

    checked = invoke("check", "s.yaml")
    run = invoke("run", "s.yaml", "--out", "results")
    with pytest.raises(StereoFrameworkError) as error:
        stereo_framework.run("s.yaml", out="results")

    assert case["message"] in checked.stderr
    assert (checked.exit_code, checked.stdout) == (2, "")
    assert (run.exit_code, run.stdout) == (2, "")
    assert checked.stderr == run.stderr
    assert checked.stderr.replace("error: ", "").splitlines() == str(error.value).splitlines()
    assert not (folder / "results").exists()


def test_scenes_that_do_not_exist_are_reported_with_all_other_mistakes(folder):
    (folder / "s.yaml").write_text(
        "scenes: [tskuba, synthetic/planes, nowhere]\ninclude: window\nsmoothnes: potts\n"
    )
    lines = invoke("check", "s.yaml").stderr.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["s.yaml:1:10", "s.yaml:1:36", "s.yaml:3:1"]


def test_scenes_of_the_command_line_replace_those_that_do_not_exist(folder):
    (folder / "s.yaml").write_text("scenes: [tskuba]\ninclude: window\n")
    assert invoke("run", "s.yaml", "--scene", "synthetic/planes").exit_code == 0


def test_a_script_without_scenes_is_checked_for_scenes_named_later(folder):
    (folder / "s.yaml").write_text("include: window\n")
    assert invoke("check", "s.yaml").stdout == "s.yaml: no fault; 1 run on scenes named later\n"


def test_check_reports_the_faults_of_all_scripts(folder):
    (folder / "s.yaml").write_text("scenes: [tskuba]\ninclude: window\n")
    (folder / "t.yaml").write_text(
        "scenes: [synthetic/planes]\ninclude: window\nsearch: {minimum: 500}\n"
    )
    lines = invoke("check", "s.yaml", "t.yaml").stderr.splitlines()
    assert len(lines) == 2
    assert "tskuba" in lines[0]
    assert "search.maximum" in lines[1]


@pytest.mark.parametrize("command", ["check", "run"])
def test_axes_without_effect_on_some_settings_are_reported(command, folder):
    sweep = (
        "sweep: {grid: {optimization: [icm, winner_take_all], smoothness.weight: [5, 10, 20]}}\n"
    )
    (folder / "s.yaml").write_text(
        f"scenes: [synthetic/stripes]\nmatching_cost: census\nsmoothness: potts\n{sweep}"
    )
    result = invoke(command, "s.yaml")
    assert result.exit_code == 0
    [line] = [line for line in result.stderr.splitlines() if line.startswith("warning: s.yaml:4:")]
    assert (
        "smoothness.weight: has no effect on 3 settings of method 's', because winner_take_all does not"
        in line
    )
    if command == "check":
        assert "no fault; 4 runs" in result.stdout
    else:
        rows = [line.split("\t")[2:4] for line in result.stdout.splitlines()[1:5]]
        assert rows == [["icm", "5"], ["icm", "10"], ["icm", "20"], ["winner_take_all", "-"]]


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_smoothness_term_that_no_optimizer_reads_is_reported(command, folder):
    (folder / "s.yaml").write_text(
        "scenes: [synthetic/planes]\ninclude: window\nsmoothness: potts\n"
    )
    result = invoke(command, "s.yaml")
    assert result.exit_code == 0
    assert (
        "s.yaml:3:13: smoothness: has no effect on any disparity map, because winner_take_all does not"
        in result.stderr
    )


def test_loading_a_script_does_not_look_for_its_scenes():
    assert stereo_framework.load({"scenes": ["tskuba"], "include": "window"}).scenes == ("tskuba",)
