"""Maps of others beside our own results, on the command line: evaluate --out, and every verb that looks at the mixture."""

import json
import re

import numpy as np
import pytest
import yaml
from cli_parts import call, invoke, one_line
from made_files import write

import stereo_framework.engine.pipeline  # noqa: F401  registers the stages
from stereo_framework.io import write_disparity, write_image

TRUTH = np.full((24, 32), 3, np.float32)
V2 = ("middlebury-v2/teddy", "middlebury-v2/cones")


@pytest.fixture
def cli(monkeypatch, tmp_path):
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    return call


@pytest.fixture
def root(tmp_path):
    """A data root with two small scenes of Middlebury 2003 and their v2 masks, and folders of maps of two programs."""
    image = np.random.default_rng(0).integers(0, 256, (24, 35, 3), dtype=np.uint8)
    views = {"im2.png": image[:, :32].copy(), "im6.png": image[:, 3:].copy()}
    truths = dict.fromkeys(("disp2.png", "disp6.png"), np.full((24, 32), 4 * 3, np.uint8))
    masks = dict.fromkeys(("nonocc.png", "all.png", "disc.png"), np.full((24, 32), 255, np.uint8))
    for name in ("teddy", "cones"):
        write(tmp_path / "root/middlebury2003" / name, views | truths)
        write(tmp_path / "root/middlebury-v2/masks" / name, masks)
    write(tmp_path / "raft", {"teddy.pfm": TRUTH, "cones.pfm": TRUTH + 2})
    write(tmp_path / "elas", {"teddy.pfm": TRUTH + 2, "cones.pfm": TRUTH + 2})
    return tmp_path


def _bad(records):
    return {(r["method"], r["scene"]): r["statistics"].get("bad_pixels_all") for r in records}


@pytest.mark.parametrize("run_first", [True, False])
def test_maps_stand_beside_what_run_writes(cli, root, run_first):
    data, out = ("--data", root / "root"), root / "out"
    (root / "ours.yaml").write_text(yaml.safe_dump({"include": "ssd", "scenes": list(V2), "name": "ours"}))
    calls = [
        ("run", root / "ours.yaml", "--out", out, *data),
        ("evaluate", root / "raft", "--protocol", "middlebury-v2", "--out", out, *data),
        ("evaluate", root / "elas", "--protocol", "middlebury-v2", "--out", out, "--name", "ELAS", *data),
    ]
    for words in calls if run_first else [*calls[1:], calls[0]]:
        cli(*words)
    found = _bad(json.loads(cli("results", out, "--json").stdout))
    assert {method for method, _ in found} == {"ours", "raft", "ELAS"}
    assert (found["raft", V2[0]], found["raft", V2[1]], found["ELAS", V2[0]]) == (0, 100, 100)
    # The table ends with the mean of both scenes, for each method.
    rows = [line.split() for line in cli("results", out, "--columns", "bad_pixels_all").stdout.splitlines()]
    assert [row[3:5] for row in rows if row[:3] == ["average", "of", "2"]][1:] == [["raft", "50.00"], ["ELAS", "100.00"]]
    ranked = json.loads(cli("rank", out, "--columns", "bad_pixels_all", "--json").stdout)
    assert {r["method"]: r["scores"][f"{V2[1]}:bad_pixels_all"] for r in ranked}["ELAS"] == 100
    cli("report", out, *data)
    page = (out / "report.html").read_text()
    assert page.count("raft") > 3
    assert "average of 2" in page


def test_a_submission_is_measured_by_folder(pictures, cli, root):
    data = ("--data", root / "root")
    arguments = ("evaluate", root / "raft", "--protocol", "middlebury-v2", *data)
    first, second, _ = json.loads(cli(*arguments, "--json").stdout)
    assert (first["scene"], first["method"]) == (V2[1], "raft")
    assert (first["statistics"]["bad_pixels_all"], second["statistics"]["bad_pixels_all"]) == (100, 0)
    table = cli(*arguments, "--out", root / "p", "--measure", "mape", "--measure", "rms_error")
    assert "mape_nonocc" in table.stdout
    assert "middlebury-v2+mape+rms_error: " in table.stdout
    assert (root / "p/pictures/raft_middlebury-v2-cones_overview.png").is_file()
    one_line(invoke("evaluate", root / "raft", *data), "belongs to middlebury-v2/cones or middlebury2003/cones")
    write_image(root / "raft/stone.png", np.zeros((2, 2), np.uint8))
    (root / "raft/cones.pfm").unlink()
    told = cli(*arguments).stderr
    assert "stone.png: belongs to no scene; left out" in told
    assert "no map for middlebury-v2/cones; the average leaves them out" in told


def test_compare(pictures, cli, root):
    maps = (root / "raft/teddy.pfm", root / "elas/teddy.pfm")
    arguments = ("compare", *maps, "--scene", "middlebury2003/teddy", "--data", root / "root")
    first, second = json.loads(cli(*arguments, "--json").stdout)
    assert (first["method"], second["method"]) == ("raft-teddy", "elas-teddy")
    assert (second["statistics"]["differing_pixels"], second["statistics"]["mean_difference"]) == (100, 2)
    assert "differing_pixels" not in first["statistics"]
    cli(*arguments, "--out", root / "p")
    written = {"comparison.png", "raft-teddy_error.png", "elas-teddy_prediction.png"}
    assert {p.name for p in (root / "p").iterdir()} >= written


def test_maps_added_again_replace_those_before(cli, root):
    data, out = ("--data", root / "root"), root / "out"
    arguments = ("evaluate", root / "elas", "--protocol", "middlebury-v2", "--out", out, *data)
    cli(*arguments)
    write_disparity(root / "elas/teddy.pfm", TRUTH)
    cli(*arguments)
    assert _bad(json.loads(cli("results", out, "--json").stdout)) == {("elas", V2[0]): 0, ("elas", V2[1]): 100}
    # Another protocol stands beside the first.
    cli(*arguments, "--threshold", 3)
    records = json.loads(cli("results", out, "--json").stdout)
    assert [r["statistics"]["bad_pixels_all"] for r in records] == [100, 0, 0, 0]
    # Both have their average, the derived protocol's too.
    assert cli("results", out).stdout.count("average of 2") == 2


def test_a_name_that_a_script_s_method_has_is_refused(cli, root):
    data, out = ("--data", root / "root"), root / "out"
    cli("run", "ssd", "--scene", V2[0], "--out", out, *data)
    single = ("evaluate", root / "raft/teddy.pfm", "--scene", V2[0], "--out", out, *data)
    assert "is called 'ssd'; choose another name" in cli(*single, "--name", "ssd", status=2).stderr
    cli(*single)
    assert {r["method"] for r in json.loads(cli("results", out, "--json").stdout)} == {"ssd", "teddy"}


def test_what_rank_reads_of_what_evaluate_stored(cli, root):
    arguments = ("evaluate", root / "raft", root / "elas", "--protocol", "middlebury-v2", "--data", root / "root")
    assert "average of 2" in cli(*arguments, "--out", root / "out", "--json").stdout
    texts = {kind: cli("results", root / "out", "--format", kind).stdout for kind in ("csv", "markdown", "latex")}
    assert "| average of 2 | raft |" in texts["markdown"]
    assert "\\begin{tabular}" in texts["latex"]
    (root / "scores.csv").write_text(texts["csv"])
    standing = json.loads(cli("rank", root / "scores.csv", "--columns", "bad_pixels_all", "--json").stdout)
    # Averages are no scenes; raft is first on one scene and shares the first place on the other.
    assert {r["method"]: r["average_rank"] for r in standing} == {"raft": 1, "elas": 1.5}


def test_data_sets_and_patterns_stand_for_their_scenes(cli, root):
    def ran(*words):
        return [r["scene"] for r in json.loads(cli(*words, "--data", root / "root", "--json").stdout)]

    assert ran("run", "ssd", "--scene", "middlebury-v2") == ["middlebury-v2/cones", "middlebury-v2/teddy"]
    assert ran("run", "ssd", "--scene", "middlebury-v2/c*", "--scene", "middlebury-v2/cones") == ["middlebury-v2/cones"]
    assert ran("evaluate", root / "raft", "--scene", "middlebury2003/t*") == ["middlebury2003/teddy"]
    data = ("--data", root / "root")
    (root / "tuned.yaml").write_text("include: ssd\nscenes: 'middlebury2003/*'\nsweep: {grid: {aggregation.box.size: [3, 5]}}\n")
    best = json.loads(cli("tune", root / "tuned.yaml", "--trials", 1, *data, "--json").stdout)["best"]
    assert list(best["scenes"]) == ["middlebury2003/cones", "middlebury2003/teddy"]
    wrong = cli("run", "ssd", "--scene", "middlebury-v3/*", *data, status=2).stderr
    assert wrong.startswith("error: no scene fits 'middlebury-v3/*'; legal folders: middlebury-v2, middlebury2003, synthetic")


@pytest.fixture
def mine(root):
    """A folder of one's own, named as Middlebury names its files."""
    below = np.arange(24)[:, None] >= 12
    views = {f"im{i}.png": (root / f"root/middlebury2003/teddy/im{view}.png").read_bytes() for i, view in ((0, 2), (1, 6))}
    write(root / "mine", views | {"disp0.pfm": TRUTH, "mask0nocc.png": np.where(below, 0, np.full((24, 32), 255, np.uint8))})
    write(root, {"map.pfm": np.where(below, TRUTH + 5, TRUTH), "other.pfm": TRUTH})
    return root / "mine"


CALIB = "cam0=[100 0 16; 0 100 12; 0 0 1]\ncam1=[100 0 16; 0 100 12; 0 0 1]\ndoffs=0\nbaseline=10\nwidth=32\nheight=24\nndisp=9\n"


def test_a_truth_without_a_scene(cli, root, mine):
    alone = ("--truth", mine / "disp0.pfm", "--mask", mine / "mask0nocc.png")
    [found] = json.loads(cli("evaluate", root / "map.pfm", *alone, "--protocol", "middlebury-v3", "--json").stdout)
    assert found["statistics"]["bad_pixels_all"] == 0
    [whole] = json.loads(cli("evaluate", root / "map.pfm", *alone[:2], "--json").stdout)
    assert whole["statistics"]["bad_pixels_all"] == 50  # the lower half is wrong, outside the mask
    compared = json.loads(cli("compare", root / "map.pfm", root / "other.pfm", *alone, "--json").stdout)
    assert compared[1]["statistics"]["differing_pixels"] == 0


@pytest.mark.parametrize("calibrated", [True, False])
def test_a_new_scene_file(cli, mine, calibrated):
    if calibrated:
        (mine / "calib.txt").write_text(CALIB)
    told = cli("scenes", "--new", mine).stdout
    assert told.startswith(f"{mine}/scene.yaml: look through it")
    record = dict(line.split(maxsplit=1) for line in cli("scenes", "--describe", mine).stdout.splitlines())
    # ndisp 9 means 0 to 8; else what the images show, which lie 3 pixels apart.
    low, high = map(float, record["search"].split(" ")[0].split(".."))
    assert (low, high) == (0, 8) if calibrated else low <= 3 <= high < 32
    text = (mine / "scene.yaml").read_text()
    assert ("from calib.txt" in text) == calibrated
    # What stands in comments is legal as well.
    (mine / "truth.pfm").write_bytes((mine / "disp0.pfm").read_bytes())
    (mine / "nonocc.png").write_bytes((mine / "mask0nocc.png").read_bytes())
    (mine / "scene.yaml").write_text(
        re.sub("^# (?=(reference|match|truth|masks|calibration|border):)", "", text, flags=re.MULTILINE)
    )
    record = dict(line.split(maxsplit=1) for line in cli("scenes", "--describe", mine).stdout.splitlines())
    assert record["truth"].startswith("3..3 px")
    assert record["masks"] == "nonocc"
    assert "scene.yaml: exists already" in cli("scenes", "--new", mine, status=2).stderr


def test_a_new_scene_needs_a_pair(cli, mine):
    (mine / "im1.png").unlink()
    assert "holds 1 images that may be of a pair" in cli("scenes", "--new", mine, status=2).stderr
    write_image(mine / "right.png", np.zeros((3, 3, 3), np.uint8))
    assert "both images must be of one size" in cli("scenes", "--new", mine, status=2).stderr
    assert not (mine / "scene.yaml").exists()
