"""Results of external maps next to our results, on the command line."""

import json
import re

import numpy as np
import pytest
import yaml
from cli_parts import call, invoke, one_line
from made_files import CALIB, write

import stereo_framework.engine.pipeline  # noqa: F401  registers the stages
from stereo_framework.io import write_disparity, write_image

TRUTH = np.full((24, 32), 3, np.float32)
V2 = ("middlebury-v2/teddy", "middlebury-v2/cones")


@pytest.fixture
def root(own_root):
    """A data root with two small scenes of Middlebury 2003 and their v2 masks, and folders of maps of two programs."""
    image = np.random.default_rng(0).integers(0, 256, (24, 35, 3), dtype=np.uint8)
    views = {"im2.png": image[:, :32].copy(), "im6.png": image[:, 3:].copy()}
    truths = dict.fromkeys(("disp2.png", "disp6.png"), np.full((24, 32), 4 * 3, np.uint8))
    masks = dict.fromkeys(("nonocc.png", "all.png", "disc.png"), np.full((24, 32), 255, np.uint8))
    for name in ("teddy", "cones"):
        write(own_root / "root/middlebury2003" / name, views | truths)
        write(own_root / "root/middlebury-v2/masks" / name, masks)
    write(own_root / "raft", {"teddy.pfm": TRUTH, "cones.pfm": TRUTH + 2})
    write(own_root / "elas", {"teddy.pfm": TRUTH + 2, "cones.pfm": TRUTH + 2})
    return own_root


def _bad(records):
    return {(r["method"], r["scene"]): r["statistics"].get("bad_pixels_all") for r in records}


@pytest.mark.parametrize("run_first", [True, False])
def test_maps_stand_beside_what_run_writes(root, run_first):
    out = root / "out"
    (root / "ours.yaml").write_text(
        yaml.safe_dump({"include": "ssd", "scenes": list(V2), "name": "ours"})
    )
    calls = [
        ("run", root / "ours.yaml", "--out", out),
        ("evaluate", root / "raft", "--protocol", "middlebury-v2", "--out", out),
        ("evaluate", root / "elas", "--protocol", "middlebury-v2", "--out", out, "--name", "ELAS"),
    ]
    for words in calls if run_first else [*calls[1:], calls[0]]:
        call(*words)
    found = _bad(json.loads(call("results", out, "--json").stdout))
    assert {method for method, _ in found} == {"ours", "raft", "ELAS"}
    assert (found["raft", V2[0]], found["raft", V2[1]], found["ELAS", V2[0]]) == (0, 100, 100)
    # The table ends with the mean of both scenes, for each method.
    rows = [
        line.split()
        for line in call("results", out, "--columns", "bad_pixels_all").stdout.splitlines()
    ]
    assert [row[3:5] for row in rows if row[:3] == ["average", "of", "2"]][1:] == [
        ["raft", "50.00"],
        ["ELAS", "100.00"],
    ]
    ranked = json.loads(call("rank", out, "--columns", "bad_pixels_all", "--json").stdout)
    assert {r["method"]: r["scores"][f"{V2[1]}:bad_pixels_all"] for r in ranked}["ELAS"] == 100
    call("report", out)
    page = (out / "report.html").read_text()
    assert page.count("raft") > 3
    assert "average of 2" in page


def test_a_submission_is_measured_by_folder(pictures, root):
    arguments = ("evaluate", root / "raft", "--protocol", "middlebury-v2")
    first, second, _ = json.loads(call(*arguments, "--json").stdout)
    assert (first["scene"], first["method"]) == (V2[1], "raft")
    assert (first["statistics"]["bad_pixels_all"], second["statistics"]["bad_pixels_all"]) == (
        100,
        0,
    )
    table = call(*arguments, "--out", root / "p", "--metric", "mape", "--metric", "rms_error")
    assert "mape_nonocc" in table.stdout
    assert "middlebury-v2+mape+rms_error: " in table.stdout
    [overview] = (root / "p/pictures").glob("middlebury-v2-cones_raft_*_overview.png")
    [stored_map] = (root / "p/maps").glob("middlebury-v2-cones_raft_*.pfm")
    assert overview.name == f"{stored_map.stem}_overview.png"
    one_line(invoke("evaluate", root / "raft"), "fits middlebury-v2/cones and middlebury2003/cones")
    write_image(root / "raft/stone.png", np.zeros((2, 2), np.uint8))
    (root / "raft/cones.pfm").unlink()
    told = call(*arguments).stderr
    assert "stone.png: belongs to no scene; left out" in told
    assert "no map for middlebury-v2/cones; the average leaves them out" in told


def test_compare(pictures, root):
    maps = (root / "raft/teddy.pfm", root / "elas/teddy.pfm")
    arguments = ("compare", *maps, "--scene", "middlebury2003/teddy")
    first, second = json.loads(call(*arguments, "--json").stdout)
    assert (first["method"], second["method"]) == ("raft-teddy", "elas-teddy")
    assert (second["statistics"]["differing_pixels"], second["statistics"]["mean_difference"]) == (
        100,
        2,
    )
    assert "differing_pixels" not in first["statistics"]
    call(*arguments, "--out", root / "p")
    written = {"comparison.png", "raft-teddy_error.png", "elas-teddy_prediction.png"}
    assert {p.name for p in (root / "p").iterdir()} >= written


def test_maps_added_again_replace_those_before(root):
    out = root / "out"
    arguments = ("evaluate", root / "elas", "--protocol", "middlebury-v2", "--out", out)
    call(*arguments)
    write_disparity(root / "elas/teddy.pfm", TRUTH)
    call(*arguments)
    assert _bad(json.loads(call("results", out, "--json").stdout)) == {
        ("elas", V2[0]): 0,
        ("elas", V2[1]): 100,
    }
    # Another protocol stands beside the first.
    call(*arguments, "--threshold", 3)
    records = json.loads(call("results", out, "--json").stdout)
    assert [r["statistics"]["bad_pixels_all"] for r in records] == [100, 0, 0, 0]
    # Both have their average, the derived protocol's too.
    assert call("results", out).stdout.count("average of 2") == 2


def test_a_name_that_a_script_s_method_has_is_refused(root):
    out = root / "out"
    call("run", "ssd", "--scene", V2[0], "--out", out)
    single = ("evaluate", root / "raft/teddy.pfm", "--scene", V2[0], "--out", out)
    assert (
        "has a method 'ssd'; choose another name" in call(*single, "--name", "ssd", status=2).stderr
    )
    call(*single)
    assert {r["method"] for r in json.loads(call("results", out, "--json").stdout)} == {
        "ssd",
        "teddy",
    }


def test_what_rank_reads_of_what_evaluate_stored(root):
    arguments = ("evaluate", root / "raft", root / "elas", "--protocol", "middlebury-v2")
    assert "average of 2" in call(*arguments, "--out", root / "out", "--json").stdout
    texts = {
        kind: call("results", root / "out", "--format", kind).stdout
        for kind in ("csv", "markdown", "latex")
    }
    assert "| average of 2 | raft |" in texts["markdown"]
    assert "\\begin{tabular}" in texts["latex"]
    (root / "scores.csv").write_text(texts["csv"])
    ranking = json.loads(
        call("rank", root / "scores.csv", "--columns", "bad_pixels_all", "--json").stdout
    )
    # Averages are no scenes; raft is first on one scene and shares the first place on the other.
    assert {r["method"]: r["average_rank"] for r in ranking} == {"raft": 1, "elas": 1.5}


def test_data_sets_and_patterns_stand_for_their_scenes(root):
    def ran(*words):
        return [r["scene"] for r in json.loads(call(*words, "--json").stdout)]

    assert ran("run", "ssd", "--scene", "middlebury-v2") == [
        "middlebury-v2/cones",
        "middlebury-v2/teddy",
    ]
    assert ran("run", "ssd", "--scene", "middlebury-v2/c*", "--scene", "middlebury-v2/cones") == [
        "middlebury-v2/cones"
    ]
    assert ran("evaluate", root / "raft", "--scene", "middlebury2003/t*") == [
        "middlebury2003/teddy"
    ]
    (root / "tuned.yaml").write_text(
        "include: ssd\nscenes: 'middlebury2003/*'\nsweep: {grid: {aggregation.box.size: [3, 5]}}\n"
    )
    best = json.loads(call("tune", root / "tuned.yaml", "--trials", 1, "--json").stdout)["best"]
    assert list(best["scenes"]) == ["middlebury2003/cones", "middlebury2003/teddy"]
    wrong = call("run", "ssd", "--scene", "middlebury-v3/*", status=2).stderr
    assert wrong.startswith(
        "error: no scene fits 'middlebury-v3/*'; allowed folders: middlebury-v2, middlebury2003, synthetic"
    )


@pytest.fixture
def mine(root):
    """A folder of one's own, named as Middlebury names its files."""
    below = np.arange(24)[:, None] >= 12
    views = {
        f"im{i}.png": (root / f"root/middlebury2003/teddy/im{view}.png").read_bytes()
        for i, view in ((0, 2), (1, 6))
    }
    write(
        root / "mine",
        views
        | {
            "disp0.pfm": TRUTH,
            "mask0nocc.png": np.where(below, 0, np.full((24, 32), 255, np.uint8)),
        },
    )
    write(root, {"map.pfm": np.where(below, TRUTH + 5, TRUTH), "other.pfm": TRUTH})
    return root / "mine"


def test_a_truth_without_a_scene(root, mine):
    alone = ("--truth", mine / "disp0.pfm", "--truth-mask", mine / "mask0nocc.png")
    [found] = json.loads(
        call("evaluate", root / "map.pfm", *alone, "--protocol", "middlebury-v3", "--json").stdout
    )
    assert found["statistics"]["bad_pixels_all"] == 0
    [whole] = json.loads(call("evaluate", root / "map.pfm", *alone[:2], "--json").stdout)
    assert whole["statistics"]["bad_pixels_all"] == 50  # the lower half is wrong, outside the mask
    write(root, {"grey.png": np.uint8(TRUTH * 4)})
    [beside] = json.loads(
        call(
            "evaluate",
            root / "map.pfm",
            "--truth",
            root / "grey.png",
            "--disparity-scale",
            "4",
            "--json",
        ).stdout
    )
    assert (
        beside["statistics"] == whole["statistics"]
    )  # the scale is that of the grey picture alone
    compared = json.loads(
        call("compare", root / "map.pfm", root / "other.pfm", *alone, "--json").stdout
    )
    assert compared[1]["statistics"]["differing_pixels"] == 0


@pytest.mark.parametrize("calibrated", [True, False])
def test_a_new_scene_file(mine, calibrated):
    if calibrated:
        (mine / "calib.txt").write_text(CALIB)
    told = call("scenes", "--new", mine).stdout
    assert told.startswith(f"{mine}/scene.yaml: look through it")
    record = dict(
        line.split(maxsplit=1) for line in call("scenes", "--describe", mine).stdout.splitlines()
    )
    # ndisp 9 means 0 to 8; else what the images show, which lie 3 pixels apart.
    low, high = map(float, record["search"].split(" ")[0].split(".."))
    assert (low, high) == (0, 8) if calibrated else low <= 3 <= high < 32
    text = (mine / "scene.yaml").read_text()
    assert ("from calib.txt" in text) == calibrated
    # What stands in comments is allowed as well.
    (mine / "truth.pfm").write_bytes((mine / "disp0.pfm").read_bytes())
    (mine / "nonocc.png").write_bytes((mine / "mask0nocc.png").read_bytes())
    (mine / "scene.yaml").write_text(
        re.sub(
            "^# (?=(reference|match|truth|masks|calibration|border):)", "", text, flags=re.MULTILINE
        )
    )
    record = dict(
        line.split(maxsplit=1) for line in call("scenes", "--describe", mine).stdout.splitlines()
    )
    assert record["truth"].startswith("3..3 px")
    assert record["masks"] == "nonocc"
    assert "scene.yaml: exists already" in call("scenes", "--new", mine, status=2).stderr


def test_a_new_scene_needs_a_pair(mine):
    (mine / "im1.png").unlink()
    assert "holds 1 images that may be of a pair" in call("scenes", "--new", mine, status=2).stderr
    write_image(mine / "right.png", np.zeros((3, 3, 3), np.uint8))
    assert "both images must have the same size" in call("scenes", "--new", mine, status=2).stderr
    assert not (mine / "scene.yaml").exists()
