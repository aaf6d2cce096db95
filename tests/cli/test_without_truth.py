"""The verbs where there is no ground truth."""

import json
import re
import shutil

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from stereo_framework import load_scene
from stereo_framework.cli.main import app
from stereo_framework.core.scene import Scene
from stereo_framework.io import read_disparity, write_disparity, write_image
from stereo_framework.sweep.kept_scenes import keep_scene

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
    # Of files nobody knows whether they are the reference's kin, of a run's methods everybody.
    assert [[s["kin"] for s in one["standings"]] for one in (found, same)] == [[False, False], [None, None]]
    assert "came about is not known" in _call("rank", "--without-truth", *maps, *SCENE).stdout
    text = _call("rank", "--without-truth", folder).stdout
    assert "not known" not in text
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
    out = _call("compare", maps[0], again, *SCENE, "--without-truth", "--reference", again).stdout
    assert "cannot tell " in out
    assert "your own reference map at " in out


def test_tune(tmp_path):
    script = tmp_path / "sizes.yaml"
    script.write_text(yaml.safe_dump({"include": "window", "sweep": {"grid": {"aggregation.box.size": [1, 9]}}}))
    found = json.loads(_call("tune", script, *SCENE, "--without-truth", "--json").stdout)
    assert (found["statistic"], found["protocol"]) == ("reference_distance", "truthfree-1")
    assert found["best"]["axes"] == {"aggregation.box.size": 9}


def test_ones_own_reference(folder, tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (24, 32)).astype(np.uint8)
    truth = np.full(image.shape, 3, np.float32)
    keep_scene(tmp_path, Scene.from_images(image, np.roll(image, -3, axis=1), (0, 7), truth=truth))
    [file] = tmp_path.glob("scenes/*/scene.yaml")
    scene, script, own = ["--scene", file], tmp_path / "sizes.yaml", tmp_path / "own.pfm"
    script.write_text(yaml.safe_dump({"include": "window", "sweep": {"grid": {"aggregation.box.size": [1, 5]}}}))
    write_disparity(own, truth)
    tune = ["tune", script, *scene, "--json"]
    found, wanted = (
        json.loads(_call(*tune, *how).stdout)["best"]
        for how in (
            ["--without-truth", "--reference", own],
            ["--statistic", "bad_pixels_all"],
        )
    )
    # With the truth for a reference a distance is the share of bad pixels.
    assert found["value"] == wanted["value"] > 0
    said = _call(*tune[:-1], "--without-truth", "--reference", own).stdout
    assert "distances are to your own reference map; a distance is no error rate" in said
    assert "add --without-truth" in _call(*tune, "--reference", own, status=2).stderr
    two = [*tune, "--scene", "synthetic/slanted", "--without-truth", "--reference", own]
    assert "a map of one scene, and there are 2: " in _call(*two, status=2).stderr
    maps = sorted((folder / "maps").glob("*.pfm"))
    for verb in ("rank", "compare"):
        assert "add --without-truth" in _call(verb, *maps, *SCENE, "--reference", own, status=2).stderr


def test_choose(tmp_path):
    out = _call("choose", *SCENE, "--stretch", "--methods", "window,sgbm", "-o", tmp_path / "c").stdout
    ends = [
        float(end)
        for end in re.search(r"stretched: the intensities (\S+) to (\S+) became 0 to 255; 'match --stretch", out).groups()
    ]
    scene = load_scene("synthetic/planes")
    assert ends == pytest.approx(np.percentile([scene.reference, scene.match], [0.5, 99.5]), rel=1e-3)  # of 4 digits
    assert "chosen: sgbm" in out
    assert yaml.safe_load((tmp_path / "c/best.yaml").read_text())["name"] == "sgbm"
    assert read_disparity(tmp_path / "c/best.pfm").shape == (240, 320)
    assert (tmp_path / "c/comparison.png").is_file()
    undecided = _call("choose", *SCENE, "--methods", "window,sgm", "-o", tmp_path / "k").stdout
    assert "cannot tell which is best; wrote the one of the lowest distance, sgm, " in undecided
    assert "chosen" not in undecided
    assert "choose needs two images" in _call("choose", "--left", "a.png", status=2).stderr
    image = np.random.default_rng(0).integers(0, 256, (24, 32)).astype(np.uint8)
    for name, size in (("a", 32), ("b", 32), ("c", 31)):
        write_image(tmp_path / f"{name}.png", image[:, :size])
    # A third frame is refused before anything is matched, at a place that nothing is measured at too.
    pair = ["--left", tmp_path / "a.png", "--right", tmp_path / "b.png", "--disparities", "0:9"]
    for third in ("c.png", "c.png:1", ":2", "c.png:nan", "c.png:0.3"):
        assert "expected FILE:POSITION" in _call("choose", *pair, "--third-frame", third, status=2).stderr
    for name, told in (("c", "(24, 31), of the pair (24, 32)"), ("d", "no such file")):
        assert told in _call("choose", *pair, "--third-frame", f"{tmp_path / name}.png:2", status=2).stderr


def test_choose_tells_at_once_that_it_cannot(tmp_path):
    scene = load_scene("synthetic/planes")
    for name, image in (("l", scene.reference), ("r", scene.match)):
        write_image(tmp_path / f"{name}.png", image)
    exchanged = ["choose", "--left", tmp_path / "r.png", "--right", tmp_path / "l.png", "-o", tmp_path / "c"]
    first, second, third = _call(*exchanged, status=1).stdout.splitlines()
    assert first.endswith("nothing was matched")
    assert second.startswith("cannot tell: the images look exchanged: ")
    assert third.startswith("nothing is chosen, and nothing written")
    found = json.loads(_call(*exchanged, "--json", status=1).stdout)
    assert (found["chosen"], found["consistent"], found["standings"]) == (None, None, [])
    assert not (tmp_path / "c").exists()
