"""Damage of the images' files is part of every result that was computed from them."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from cli_parts import call

import stereo_framework
from stereo_framework import load_scene
from stereo_framework.core.errors import ResultWarning
from stereo_framework.io import write_pfm

RANGE = ("--disparities", "0:32", "--method", "ssd")


def cut(data):
    """Return a JPEG without its last third, closed by an end marker."""
    return data[: len(data) * 2 // 3] + b"\xff\xd9"


def without_middle(data):
    """Return a JPEG without 200 bytes of its middle."""
    middle = len(data) // 2
    return data[:middle] + data[middle + 200 :]


@pytest.fixture(params=[cut, without_middle])
def pair(request, tmp_path, monkeypatch):
    """Write a pair whose right image is damaged, and a scene of this pair."""
    monkeypatch.chdir(tmp_path)
    texture = np.random.default_rng(1).integers(0, 256, (240, 330), dtype=np.uint8)
    texture = cv2.GaussianBlur(texture, (0, 0), 1.2)
    folder = Path("scene")
    folder.mkdir()
    left = cv2.imencode(".jpg", texture[:, :320])[1].tobytes()
    right = request.param(cv2.imencode(".jpg", texture[:, 10:])[1].tobytes())
    for path, content in {"left.jpg": left, "right.jpg": right}.items():
        Path(path).write_bytes(content)
        (folder / path).write_bytes(content)
    (folder / "scene.yaml").write_text(
        "frames: [left.jpg, right.jpg]\nsearch: {minimum: 0, maximum: 31}\ntruth: truth.pfm\n"
    )
    write_pfm(folder / "truth.pfm", np.full((240, 320), 10, np.float32))
    write_pfm("map.pfm", np.full((240, 320), 10, np.float32))
    return folder


def damage_in(warnings):
    """Return the warnings about damage."""
    text = "right.jpg: the file is damaged, and pixels may be wrong ("
    return [warning for warning in warnings if text in warning]


def test_match_names_the_damaged_file_on_the_terminal_and_in_its_record(pair):
    result = call("match", "left.jpg", "right.jpg", *RANGE, "-o", "out", "--json")
    assert len(damage_in(result.stderr.splitlines())) == 1
    [record] = json.loads(result.stdout)
    assert len(damage_in(record["warnings"])) == 1


def test_match_of_python_names_the_damaged_file(pair):
    with pytest.warns(ResultWarning, match="is damaged, and pixels may be wrong"):
        matched = stereo_framework.match(
            str(Path("left.jpg").absolute()),
            str(Path("right.jpg").absolute()),
            (0, 32),
            method="ssd",
        )
    assert len(damage_in(matched.warnings)) == 1


@pytest.mark.parametrize("executor", ["thread", "process"])
def test_results_of_run_name_the_damaged_file(pair, executor):
    result = call(
        "run", "ssd", "--scene", "./scene", "--executor", executor, "--out", "out", "--json"
    )
    [record] = json.loads(result.stdout)
    assert len(damage_in(record["warnings"])) == 1
    [stored] = json.loads(call("results", "out", "--json").stdout)
    assert len(damage_in(stored["warnings"])) == 1


@pytest.mark.parametrize("executor", ["thread", "process"])
def test_results_name_the_damaged_file_of_another_frame_that_they_read(pair, executor):
    # The left image is matched to itself. The damaged right image is another frame.
    frames = "[left.jpg, {file: left.jpg, baseline: 1}, {file: right.jpg, baseline: 2}]"
    text = f"frames: {frames}\nsearch: {{minimum: 0, maximum: 31}}\ntruth: truth.pfm\n"
    (pair / "scene.yaml").write_text(text)
    Path("frames.yaml").write_text(
        "scenes: [./scene]\noptimization: winner_take_all\n"
        "sweep: {grid: {matching_cost: [absolute_difference, multi_baseline]}}\n"
    )
    result = call("run", "frames.yaml", "--executor", executor, "--out", "out", "--json")
    records = json.loads(result.stdout)
    numbers = {
        record["axes"]["matching_cost"]: len(damage_in(record["warnings"])) for record in records
    }
    assert numbers == {"absolute_difference": 0, "multi_baseline": 1}


def test_evaluate_names_the_damaged_file(pair):
    result = call("evaluate", "map.pfm", "--scene", "./scene", "--json")
    [record] = json.loads(result.stdout)
    assert len(damage_in(record["warnings"])) == 1


def test_a_scene_knows_the_damage_of_its_pair(pair):
    scene = load_scene("./scene")
    with pytest.warns(ResultWarning, match="is damaged"):
        scene.reference, scene.match  # noqa: B018  loads the files
    assert len(damage_in(scene.damage)) == 1
    assert scene.within(np.ones(scene.reference.shape[:2], bool)).damage == scene.damage
    assert len(scene.pair(1, 0).damage) == 1
