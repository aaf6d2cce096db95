"""The command ``match``."""

import json
import re

import numpy as np
import pytest
from cli_parts import invoke
from small_scenes import cut_scenes

from stereo_framework import evaluate, load_scene
from stereo_framework.io import read_disparity, write_disparity, write_image
from stereo_framework.io.output_folders import RECORD


@pytest.fixture
def pair(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEREO_DATA", raising=False)
    cut_scenes(monkeypatch, 120, 160)
    scene = load_scene("synthetic/planes")
    for name, image in (("left", scene.reference), ("right", scene.match)):
        write_image(f"{name}.png", image)
    return scene


def call(*arguments):
    return invoke("match", *map(str, arguments))


def test_two_images(pair, tmp_path):
    result = call("left.png", "right.png", "--method", "ssd", "--disparities", "0:31")
    assert result.exit_code == 0, result.output
    pair_line, method_line, place, next_step = result.stdout.splitlines()
    assert (
        pair_line
        == "left: 160x120 pixels, search range 0 to 31 pixels (given), in steps of 1 pixel"
    )
    assert re.fullmatch(
        r"method ssd: 100\.0 % of the pixels have a disparity, and the left and right disparity "
        r"maps agree at \d+\.\d %; matching took \d+\.\d\d s",
        method_line,
    )
    assert place == (
        "results: disparity.pfm, disparity.png, picture.png, confidence.pfm and status.png "
        "are in left_match"
    )
    assert next_step == (
        "next step: open left_match/picture.png, which shows the left image and its disparity map"
    )
    assert read_disparity(tmp_path / "left_match" / "disparity.pfm").shape == (120, 160)


def test_depth(pair, tmp_path):
    result = call(
        "left.png",
        "right.png",
        "--method",
        "fast",
        "--focal-length",
        400,
        "--baseline",
        0.1,
        "-o",
        "out",
        "--json",
    )
    [record] = json.loads(result.stdout)
    assert (record["method"], record["folder"], record["error"]) == ("fast", "out", None)
    assert {*record["files"], RECORD} == {path.name for path in (tmp_path / "out").iterdir()}
    assert {"depth.tiff", "points.ply"} <= set(record["files"])
    assert 0 < record["consistent"] < record["estimated"] <= 1


def test_corrected_rows_are_printed_as_a_note(pair):
    rows = pair.match.astype(float)
    # Each row becomes a mean of two rows, as if the image lay 0.8 rows lower.
    lower_image = 0.2 * rows[1:] + 0.8 * rows[:-1]
    write_image("lower.png", np.rint(lower_image).astype(np.uint8))
    write_image("upper.png", pair.reference[1:])
    result = call("upper.png", "lower.png", "--method", "fast", "--disparities", "0:31")
    assert result.exit_code == 0, result.output
    note = r"note: rows are off by up to 0\.\d px; they were corrected, so no action is needed"
    assert re.search(f"^{note}$", result.stdout, re.MULTILINE)
    assert "rows are off" not in result.stderr


def test_the_example_needs_nothing(pair, tmp_path):
    result = call("--example", "--method", "ssd")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == (
        "to match your own images: stereo-framework match left.png right.png --out results/mine"
    )
    assert (tmp_path / "planes_match" / "picture.png").exists()


def test_folders(pair, tmp_path):
    for folder, image in (("l", pair.reference), ("r", pair.match)):
        (tmp_path / folder).mkdir()
        write_image(tmp_path / folder / "a.png", image)
        write_image(tmp_path / folder / "c.png", image)
    write_image(tmp_path / "l" / "b.png", pair.reference)
    write_image(tmp_path / "r" / "b.png", pair.match[:, :150])
    result = call("l", "r", "--method", "fast", "-o", "out", *["--disparities", "0:31"] * 3)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0].startswith("error: b: ")
    assert "both images must have the same size" in result.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a", "c"]
    assert (tmp_path / "out" / "c" / "disparity.pfm").exists()


def test_what_does_not_fit_into_memory_is_refused(tmp_path):
    result = call("--example", "--method", "sgm", "--memory", "1M", "-o", tmp_path / "out")
    assert (
        result.exit_code,
        "are allowed (--memory); use fewer levels or smaller images" in result.stderr,
    ) == (2, True), result.output


def test_parameters_and_masks(pair, tmp_path):
    mask = np.zeros((120, 160), np.uint8)
    mask[:, :100] = 255
    write_image("mask.png", mask)
    common = (
        "left.png",
        "right.png",
        "--method",
        "window",
        "--set",
        "aggregation.box.size=5",
        "--disparities",
        "0:31",
    )
    assert call(*common, "--mask", "mask.png", "-o", "one").exit_code == 0
    assert call(*common, "--mask", "mask.png", "--mask", "mask.png", "-o", "both").exit_code == 0
    one, both = (
        np.isfinite(read_disparity(tmp_path / folder / "disparity.pfm"))
        for folder in ("one", "both")
    )
    assert not one[:, 100:].any()
    assert both.sum() <= one.sum()


def test_a_truth_is_measured_and_pixels_have_ranges_of_their_own(pair, tmp_path):
    write_disparity("truth.pfm", pair.truth)
    low, high = (
        np.full(pair.truth.shape, np.nan, np.float32),
        np.full(pair.truth.shape, np.nan, np.float32),
    )
    high[-50:] = 5
    write_disparity("low.pfm", low)
    write_disparity("high.pfm", high)
    arguments = (
        "left.png",
        "right.png",
        "--method",
        "ssd",
        "--disparities",
        "31",
        "--truth",
        "truth.pfm",
    )
    [whole] = json.loads(call(*arguments, "--json").stdout)
    found = read_disparity(tmp_path / "left_match" / "disparity.pfm")
    assert [*whole["statistics"].values()] == pytest.approx([*evaluate(found, pair.truth).values()])
    [narrow] = json.loads(
        call(*arguments, "--ranges", "low.pfm", "high.pfm", "-o", "n", "--json").stdout
    )
    assert (
        np.nanmax(read_disparity(tmp_path / "n" / "disparity.pfm")[-50:]) <= 5.5
    )  # the parabola moves by half a level at most
    assert narrow["statistics"]["bad_pixels_all"] > whole["statistics"]["bad_pixels_all"]
    assert "bad_pixels_all" in call(*arguments).stdout
    write_disparity("truth.png", pair.truth, disparity_scale=8)
    [grey] = json.loads(call(*arguments[:-1], "truth.png", "--truth-scale", "8", "--json").stdout)
    assert grey["statistics"]["rms_error_all"] == pytest.approx(
        whole["statistics"]["rms_error_all"], abs=0.05
    )
