"""The command ``tune``."""

import json

import pytest
import yaml
from cli_parts import invoke

SCRIPT = """\
include: window
sweep:
  grid:
    aggregation.box.size: [3, 7, 15]
    matching_cost.truncation: [10, null]
"""
SCENES = ("--scene", "synthetic/planes", "--scene", "synthetic/slanted")


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)
    path = tmp_path / "windows.yaml"
    path.write_text(SCRIPT)
    return path


def test_the_best_is_printed_and_runs_to_the_same_numbers(script, small_scenes, tmp_path):
    out = tmp_path / "out"
    result = invoke("tune", script, *SCENES, "--trials", 6, "--out", out)
    assert result.exit_code == 0, result.output
    first, *_ = result.stdout.splitlines()
    assert first.startswith("best of 6 trials")
    assert "of 6 settings: trial " in first
    assert f"best script: {out / 'best.yaml'}" in result.stdout
    assert "taxonomy2002: bad (percent) = error > 1 px" in result.stdout
    ran = json.loads(invoke("run", out / "best.yaml", "--json").stdout)
    again = json.loads(
        invoke("tune", script, *SCENES, "--trials", 6, "--out", out, "--json").stdout
    )
    assert {r["scene"]: r["statistics"]["bad_pixels_nonocc"] for r in ran} == again["best"][
        "scenes"
    ]
    assert again["best"]["value"] == pytest.approx(
        sum(again["best"]["scenes"].values()) / 2, rel=1e-12
    )
    assert yaml.safe_load((out / "best.yaml").read_text()) == again["script"]
    assert (again["statistic"], again["better"], len(again["trials"])) == (
        "bad_pixels_nonocc",
        "lower",
        6,
    )
    for scene, value in again["best"]["scenes"].items():
        assert any(line.split() == [scene, f"{value:.2f}"] for line in result.stdout.splitlines())
    # The other commands know the folder.
    assert len(json.loads(invoke("results", out, "--json").stdout)) == sum(
        len(t["scenes"]) for t in again["trials"]
    )


def test_without_a_folder_the_script_is_printed(script, tmp_path):
    result = invoke(
        "tune",
        script,
        "--scene",
        "synthetic/planes",
        "--trials",
        2,
        "--set",
        "matching_cost.truncation=20",
    )
    assert result.exit_code == 0, result.output
    assert "best of 2 trials of 3 settings: trial " in result.stdout
    best = tmp_path / "best.yaml"
    best.write_text(result.stdout[result.stdout.index("name: windows") :])
    [ran] = json.loads(invoke("run", best, "--json").stdout)
    assert ran["parameters"]["matching_cost.truncation"] == 20
    assert f"{ran['statistics']['bad_pixels_nonocc']:.2f}" in result.stdout


def test_the_place_of_an_error_is_printed_when_asked_for(script, tmp_path):
    plugin = tmp_path / "fails_in_a_trial_plugin.py"
    plugin.write_text(
        "from stereo_framework.stages import stage\n"
        "@stage('refinement', source='a test')\n"
        "def fails_in_a_trial(disparity):\n    raise RuntimeError('no luck')\n"
    )
    script.write_text(f"plugins: [{plugin.name}]\n{SCRIPT}refinement: [fails_in_a_trial]\n")
    place = f'  File "{plugin}", line 4, in fails_in_a_trial\n'
    few = ("tune", script, "--scene", "synthetic/planes", "--trials", 2)
    assert place not in invoke(*few).stderr
    asked = invoke(*few, "--traceback", "--json")
    assert asked.stderr.count(place) == 1  # of both trials once
    assert [
        trial.keys() & {"error", "traceback"} for trial in json.loads(asked.stdout)["trials"]
    ] == [{"error"}] * 2


def test_failed_trials_are_told(script):
    script.write_text(SCRIPT + "    search.maximum: [-5, 12]\n")
    result = invoke("tune", script, "--scene", "synthetic/planes", "--trials", 12)
    assert result.exit_code == 1, result.output
    assert "best of 12 trials (6 failed) of 12 settings" in result.stdout
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: trial ")]
    assert len(errors) == 6
    assert (
        "search.maximum=-5): scene synthetic/planes: search.maximum: -5 is not above search.minimum"
        in errors[0]
    )


def test_an_interrupt_tells_how_to_go_on(script, tmp_path, monkeypatch):
    def search(*_, each, **__):
        for trial in range(2):
            each(trial)
        raise KeyboardInterrupt

    monkeypatch.setattr("stereo_framework.sweep.tune.tune", search)
    result = invoke("tune", script, *SCENES, "--trials", 9, "--out", tmp_path)
    assert result.exit_code == 130
    assert (
        result.stderr.splitlines()[-1]
        == f"interrupted after 2 of 9 trials; the same command continues from {tmp_path}"
    )
