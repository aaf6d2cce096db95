"""The verbs where there is no ground truth."""

import json
import re
import shutil

import numpy as np
import pytest
import yaml
from cli_parts import call
from small_scenes import cut_scenes

from stereo_framework import load_scene
from stereo_framework.io import read_disparity, write_disparity, write_image

SCENE = ["--scene", "synthetic/planes"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    call("run", "window", "sgbm", *SCENE, "--maps", "--out", out)
    return out


@pytest.mark.slow
def test_compare(folder, tmp_path):
    [good] = (folder / "maps").glob("*sgbm*.pfm")
    spoilt = read_disparity(good)
    spoilt[:, :160] += 5
    write_disparity(tmp_path / "spoilt.pfm", spoilt)
    both = [good, tmp_path / "spoilt.pfm"]
    out = call("compare", *both, *SCENE, "--without-truth", "--out", tmp_path / "out").stdout
    assert (
        f"synthetic/planes, without truth, against {good.stem}: wrong pixels more (+) or less (-)"
        in out
    )
    assert re.search(r"^spoilt\t\+\d+\.\d\t\+- \d+\.\d\tworse$", out, re.MULTILINE), out
    assert "bad_pixels" not in out
    assert (tmp_path / "out/comparison.png").is_file()
    assert "without truth" not in call("compare", *both, *SCENE).stdout
    assert "\tbetter\n" in call("compare", *reversed(both), *SCENE, "--without-truth").stdout
    again = tmp_path / "again.pfm"
    shutil.copy(good, again)
    [told, *_] = json.loads(
        call("compare", good, again, *SCENE, "--without-truth", "--json").stdout
    )
    [comparison] = told["without_truth"]["comparisons"]
    assert comparison == {
        "name": "again",
        "difference": 0.0,
        "half_width": 0.0,
        "verdict": "cannot tell",
    }


def test_compare_of_a_doubtful_pair_shows_statistics_and_a_warning(tmp_path):
    scene = load_scene("synthetic/planes")
    for name, image in (("left", scene.match), ("right", scene.reference)):
        write_image(tmp_path / f"{name}.png", image)
    exchanged = tmp_path / "scene.yaml"
    exchanged.write_text("{frames: [left.png, right.png], search: {minimum: 0, maximum: 31}}")
    for name in "ab":
        write_disparity(tmp_path / f"{name}.pfm", scene.truth)
    found = call("compare", tmp_path / "a.pfm", tmp_path / "b.pfm", "--scene", exchanged)
    assert "cannot tell: the images may be exchanged" in found.stderr
    assert "predict_err" in found.stdout
    assert "against" not in found.stdout


@pytest.mark.slow
def test_tune(tmp_path):
    script = tmp_path / "sizes.yaml"
    script.write_text(
        yaml.safe_dump({"include": "window", "sweep": {"grid": {"aggregation.box.size": [1, 9]}}})
    )
    asked = ("--statistic", "pseudo_truth_distance", "--protocol", "truthfree-1", "--json")
    found = json.loads(call("tune", script, *SCENE, *asked).stdout)
    assert (found["statistic"], found["protocol"]) == ("pseudo_truth_distance", "truthfree-1")
    assert found["best"]["axes"] == {"aggregation.box.size": 9}


def test_choose(tmp_path, monkeypatch):
    cut_scenes(monkeypatch, 144, 192)
    out = call(
        "choose", *SCENE, "--stretch", "--methods", "window,sgbm", "-o", tmp_path / "c"
    ).stdout
    ends = [
        float(end)
        for end in re.search(
            r"stretched: the intensities (\S+) to (\S+) became 0 to 255; 'match --stretch", out
        ).groups()
    ]
    scene = load_scene("synthetic/planes")
    assert ends == pytest.approx(
        np.percentile([scene.reference, scene.match], [0.5, 99.5]), rel=1e-3
    )  # of 4 digits
    assert re.search(r"^window\t\+\d+\.\d\t\+- \d\.\d\tworse\t", out, re.MULTILINE), out
    assert "chosen: fine, which is best on scenes with truth; nothing is better here" in out
    assert yaml.safe_load((tmp_path / "c/best.yaml").read_text())["name"] == "fine"
    assert read_disparity(tmp_path / "c/best.pfm").shape == (144, 192)
    assert (tmp_path / "c/comparison.png").is_file()
    found = json.loads(
        call("choose", *SCENE, "--methods", "window", "-o", tmp_path / "k", "--json").stdout
    )
    assert (found["chosen"], found["first"], found["left_out"]) == ("fine", "fine", [])
    assert found["seconds"].keys() == {"fine", "window"}


def test_choose_tells_at_once_that_it_cannot(tmp_path):
    scene = load_scene("synthetic/planes")
    for name, image in (("l", scene.reference), ("r", scene.match)):
        write_image(tmp_path / f"{name}.png", image)
    exchanged = ["choose", tmp_path / "r.png", tmp_path / "l.png", "-o", tmp_path / "c"]
    assert "error: cannot tell: the images may be exchanged: " in call(*exchanged, status=2).stderr
    assert not (tmp_path / "c").exists()
