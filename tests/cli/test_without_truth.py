"""The verbs where there is no ground truth."""

import json
import shutil

import pytest
import yaml
from typer.testing import CliRunner

from stereo_framework.cli.main import app
from stereo_framework.io import read_disparity

SCENE = ["--scene", "synthetic/planes"]


def _call(*arguments, status=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == status, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    _call("run", "window", "sgbm", *SCENE, "--maps", "--out", out)
    return out


def test_rank_of_a_folder_and_of_files(folder):
    [found] = json.loads(_call("rank", "--without-truth", folder, "--json").stdout)
    assert (found["protocol"], found["best"]) == ("truthfree-1", "sgbm")
    maps = sorted((folder / "maps").glob("*.pfm"))
    [same] = json.loads(_call("rank", "--without-truth", *maps, *SCENE, "--json").stdout)
    assert [s["distance"] for s in same["standings"]] == [s["distance"] for s in found["standings"]]
    text = _call("rank", "--without-truth", folder).stdout
    assert "sgbm is better: " in text
    assert "no error rate" in text


def test_rank_refuses(folder, tmp_path):
    [map_file, *_] = sorted((folder / "maps").glob("*.pfm"))
    assert "say which scene the map belongs to" in _call("rank", "--without-truth", map_file, status=2).stderr
    _call("run", "window", *SCENE, "--no-maps", "--out", tmp_path / "bare")
    assert "keeps no disparity map" in _call("rank", "--without-truth", tmp_path / "bare", status=2).stderr


def test_compare(folder, tmp_path):
    maps = sorted((folder / "maps").glob("*.pfm"))
    out = _call("compare", *maps, *SCENE, "--without-truth", "--out", tmp_path).stdout
    assert " is better: " in out
    assert "bad_pixels" not in out
    assert (tmp_path / "disagreement.png").is_file()
    assert "reference map" not in _call("compare", *maps, *SCENE).stdout
    again = tmp_path / "again.pfm"
    shutil.copy(maps[0], again)
    assert "cannot tell " in _call("compare", maps[0], again, *SCENE, "--without-truth").stdout


def test_tune(tmp_path):
    script = tmp_path / "sizes.yaml"
    script.write_text(yaml.safe_dump({"include": "window", "sweep": {"grid": {"aggregation.box.size": [1, 9]}}}))
    found = json.loads(_call("tune", script, *SCENE, "--without-truth", "--json").stdout)
    assert (found["statistic"], found["protocol"]) == ("reference_distance", "truthfree-1")
    assert found["best"]["axes"] == {"aggregation.box.size": 9}


def test_choose(tmp_path):
    out = _call("choose", *SCENE, "--methods", "window,sgbm", "-o", tmp_path / "c").stdout
    assert "chosen: sgbm" in out
    assert yaml.safe_load((tmp_path / "c/best.yaml").read_text())["name"] == "sgbm"
    assert read_disparity(tmp_path / "c/best.pfm").shape == (240, 320)
    assert (tmp_path / "c/comparison.png").is_file()
    assert "choose needs two images" in _call("choose", "--left", "a.png", status=2).stderr
    pair = ["--left", "a.png", "--right", "b.png", "--disparities", "0:9"]
    for third in ("c.png", "c.png:1", ":2", "c.png:nan"):
        assert "expected FILE:POSITION" in _call("choose", *pair, "--third-frame", third, status=2).stderr
