"""Effects of options that no other test shows, and options without an effect."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
import tifffile
from cli_parts import call, invoke, one_line

from stereo_framework import load_scene
from stereo_framework.io import write_disparity, write_image, write_pfm

ROWS, COLUMNS = np.mgrid[:60, :100]
TRUTH = (20 + 0.1 * COLUMNS).astype(np.float32)
UNKNOWN = ROWS < 15
TENTH = COLUMNS % 10 == 5


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """Write a truth, a quarter of it unknown, and maps that are half a pixel off."""
    monkeypatch.chdir(tmp_path)
    write_pfm("truth.pfm", np.where(UNKNOWN, np.inf, TRUTH))
    write_pfm("map.pfm", TRUTH + 0.5)
    write_image("deep.png", np.where(UNKNOWN, 0, np.rint(256 * TRUTH)).astype(np.uint16))
    write_image("grey.png", np.where(UNKNOWN, 0, np.rint(8 * TRUTH)).astype(np.uint8))
    write_image("grey_map.png", np.rint(8 * (TRUTH + 0.5)).astype(np.uint8))
    write_image("map64.png", np.rint(64 * (TRUTH + 0.5)).astype(np.uint16))
    opencv = np.where(TENTH, -16, np.rint(16 * (TRUTH + 0.5))).astype(np.int16)
    np.save("opencv.npy", opencv)
    tifffile.imwrite("opencv.tif", opencv)
    write_pfm("negative.pfm", -(TRUTH + 0.5))
    return tmp_path


def statistics(*words):
    """Return bad pixels, the rounded RMS error, the matched fraction and the warnings."""
    result = call(*words, "--json")
    record = json.loads(result.stdout)[0]
    values = record["statistics"]
    return (
        values["bad_pixels_all"],
        round(values["rms_error_all"], 1),
        values["fraction_matched"],
        record["warnings"],
    )


RIGHT = (0, 0.5, 1, [])


# --- scales and markers of the maps and of the truth ------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "map.pfm --truth truth.pfm",
        # A truth of 8 bits needs a scale, and a map in pixels does not.
        "grey_map.png --truth grey.png --disparity-scale 8",
        "map.pfm --truth grey.png --disparity-scale 8",
        "map.pfm --truth grey.png --truth-scale 8",
        "map64.png --truth truth.pfm --disparity-scale 64",
        "map64.png --truth deep.png --disparity-scale 64 --truth-scale 256",
        "map64.png --truth grey.png --disparity-scale 64 --truth-scale 8",
        "negative.pfm --truth truth.pfm --disparity-scale -1",
        "negative.pfm --truth deep.png --disparity-scale -1",
        "negative.pfm --truth grey.png --disparity-scale -1 --truth-scale 8",
    ],
)
def test_map_and_truth_each_have_their_scale(words):
    assert statistics("evaluate", *words.split()) == RIGHT


@pytest.mark.parametrize("map_file", ["opencv.npy", "opencv.tif"])
@pytest.mark.parametrize("truth", ["truth.pfm", "deep.png"])
def test_integers_of_opencv_have_a_scale_and_a_marker(map_file, truth):
    words = ("evaluate", map_file, "--truth", truth, "--disparity-scale", 16)
    assert statistics(*words, "--unknown", -16) == (pytest.approx(10), 0.5, 0.9, [])
    *_, matched, [warning] = statistics(*words)
    assert matched == 1
    assert (
        "600 of 6000 pixels of the disparity map hold exactly -1 px (stored as -16), apart from all other"
        in warning
    )
    assert warning.endswith("if this value means no estimate, write --unknown -16")


def test_a_scale_that_is_missing_or_wrong_is_reported_with_the_option():
    one_line(
        invoke("evaluate", "opencv.tif", "--truth", "truth.pfm"),
        "opencv.tif: the file has int16 samples",
        "16",
    )
    *_, [scale, marker] = statistics("evaluate", "opencv.npy", "--truth", "truth.pfm")
    assert "write --unknown -16" in marker
    assert "if it is the map's, write --disparity-scale 16; if it is the truth's" in scale
    *_, [sign] = statistics("evaluate", "negative.pfm", "--truth", "truth.pfm")
    assert "if it is the map's, write --disparity-scale -1; if it is the truth's" in sign


def test_a_scale_that_may_be_that_of_a_16_bit_truth_or_not_is_refused():
    for map_file in ("map64.png", "map.pfm"):
        refused = invoke("evaluate", map_file, "--truth", "deep.png", "--disparity-scale", 64)
        one_line(refused, "deep.png is a 16-bit picture", "--truth-scale 64 or --truth-scale 256")


@pytest.mark.parametrize("marker", [0, -1, -9999.5, 1e9, float(np.finfo(np.float32).max)])
def test_the_truth_has_a_marker_of_its_own(marker):
    write_pfm("marked.pfm", np.where(UNKNOWN, marker, TRUTH))
    assert (
        statistics("evaluate", "map.pfm", "--truth", "marked.pfm", "--truth-unknown", marker)
        == RIGHT
    )
    *_, [warning] = statistics("evaluate", "map.pfm", "--truth", "marked.pfm", "--unknown", marker)
    assert "1500 of 6000 pixels of the ground truth hold exactly" in warning
    # The option that the warning names is right as it is written.
    option = warning.partition("; if this value means unknown, write ")[2].split()
    assert statistics("evaluate", "map.pfm", "--truth", "marked.pfm", *option) == RIGHT


@pytest.mark.parametrize("protocol", ["kitti2015", "middlebury-v3", "eth3d"])
@pytest.mark.parametrize("marker", [3.4028234663852886e38, 1e9, -9999, -10, 0])
def test_the_warning_about_a_marker_names_the_option_that_cures_it(protocol, marker):
    write_pfm("marked.pfm", np.where(TENTH, marker, TRUTH + 0.25))
    words = ("evaluate", "marked.pfm", "--truth", "truth.pfm", "--protocol", protocol)
    [record] = json.loads(call(*words, "--json").stdout)
    [warning] = record["warnings"]
    option = warning.partition("; if this value means no estimate, write ")[2].split()
    [cured] = json.loads(call(*words, *option, "--json").stdout)
    assert (cured["statistics"]["fraction_matched"], cured["warnings"]) == (0.9, [])
    assert cured["statistics"]["bad_pixels_all"] <= record["statistics"]["bad_pixels_all"]


def test_compare_has_the_options_of_evaluate():
    write_image("white.png", ~UNKNOWN)
    write_pfm("marked.pfm", np.where(UNKNOWN, 0, TRUTH))
    maps = (
        "compare",
        "opencv.npy",
        "map64.png",
        "--truth",
        "marked.pfm",
        "--disparity-scale",
        16,
        "--unknown",
        -16,
    )
    assert statistics(*maps, "--truth-unknown", 0)[:3] == (pytest.approx(10), 0.5, 0.9)
    assert statistics(*maps)[0] > 30
    assert statistics(*maps, "--truth-mask", "white.png")[:3] == (pytest.approx(10), 0.5, 0.9)
    same_sign = ("compare", "map.pfm", "negative.pfm", "--truth", "grey.png", "--truth-scale", 8)
    assert statistics(*same_sign)[:2] == (0, 0.5)
    v3 = json.loads(call(*same_sign, "--protocol", "middlebury-v3", "--json").stdout)
    assert v3[0]["protocol"].startswith("middlebury-v3")
    write_pfm("second.pfm", TRUTH + 2)
    shares = []
    for threshold in (1, 2):
        records = json.loads(
            call(
                "compare",
                "map.pfm",
                "second.pfm",
                "--truth",
                "truth.pfm",
                "--threshold",
                threshold,
                "--json",
            ).stdout
        )
        shares.append(records[1]["statistics"]["differing_pixels"])
    assert shares == [100, 0]


def test_match_reads_a_truth_with_a_scale_and_a_marker():
    planes = load_scene("synthetic/planes")
    corner = np.s_[:60, :80]
    for name, image in (("left", planes.reference), ("right", planes.match)):
        write_image(f"{name}.png", image[corner])
    truth = planes.truth[corner]
    holes = np.arange(60)[:, None] < 20
    write_disparity("exact.pfm", np.where(holes, np.nan, truth))
    write_pfm("doubled.pfm", np.where(holes, -9999, 2 * truth))
    words = (
        "match",
        "left.png",
        "right.png",
        "--method",
        "ssd",
        "--disparities",
        "0:31",
        "--json",
        "--truth",
    )
    [exact] = json.loads(call(*words, "exact.pfm").stdout)
    encoding = ("--truth-scale", 2, "--truth-unknown", -9999)
    [scaled] = json.loads(call(*words, "doubled.pfm", *encoding).stdout)
    assert scaled["statistics"] == pytest.approx(exact["statistics"])
    unread = call(*words, "doubled.pfm", "--truth-scale", 2)
    assert (
        "1600 of 4800 pixels of the ground truth hold exactly -4999.5 px (stored as -9999)"
        in unread.stderr
    )
    assert "write --truth-unknown -9999" in unread.stderr
    for name in ("--scale", "--disparity-scale"):
        refused = invoke(*words, "exact.pfm", name, 2)
        assert refused.exit_code == 2
        assert name in refused.stderr


def test_an_option_of_the_truth_needs_a_truth():
    for option in (("--truth-scale", 8), ("--truth-unknown", 0), ("--truth-mask", "grey.png")):
        one_line(
            invoke("evaluate", "map.pfm", "--scene", "synthetic/planes", *option),
            f"{option[0]} goes with --truth",
        )


# --- options that are handed on to functions whose tests show the effect ----------------------------------------------


class Handed(Exception):
    """Ends a command at the function that its options are handed to."""


@pytest.fixture
def handed(monkeypatch):
    """Replace a function by one that records its arguments and ends the command."""

    def record(path):
        arguments = {}

        def end(*positional, **named):
            arguments.update(named, positional=positional)
            raise Handed

        monkeypatch.setattr(path, end)
        return arguments

    return record


@pytest.mark.parametrize(
    ("words", "function"),
    [
        ("run window --scene synthetic/planes", "stereo_framework.sweep.script_run.execute"),
        (
            "tune window --scene synthetic/planes --set sweep.grid.aggregation.box.size=[3,5]",
            "stereo_framework.sweep.tune.tune",
        ),
    ],
)
def test_workers_memory_and_executors_reach_the_sweep(words, function, handed, monkeypatch):
    arguments = handed(function)
    invoke(*words.split(), "--workers", 3, "--memory", "2K")
    assert (arguments["workers"], arguments["memory"], arguments["executor"]) == (3, 2048, None)
    invoke(*words.split(), "--workers", 3, "--executor", "process")
    assert type(arguments["executor"]).__name__ == "Processes"
    addresses = []

    def cluster(address):
        addresses.append(address)
        return contextlib.nullcontext("the cluster")

    monkeypatch.setattr("stereo_framework.sweep.dask_cluster.dask_executor", cluster)
    invoke(*words.split(), "--dask", "tcp://host:1")
    assert (arguments["executor"], addresses) == ("the cluster", ["tcp://host:1"])


def test_images_range_and_time_reach_the_choice(handed):
    arguments = handed("stereo_framework.user_pair.method_choice.choose")
    planes = load_scene("synthetic/planes")
    write_image("left.png", planes.reference)
    write_image("right.png", planes.match)
    invoke(
        "choose",
        "left.png",
        "right.png",
        "--disparities",
        "2:30",
        "--time",
        7,
        "--methods",
        "ssd,window",
    )
    scene, methods = arguments["positional"]
    assert (scene.search.minimum, scene.search.maximum, arguments["seconds"], methods) == (
        2,
        30,
        7,
        ["ssd", "window"],
    )
    np.testing.assert_array_equal(scene.match, planes.match)


CAMERAS = "cam0=[400 0 160; 0 400 120; 0 0 1]\ncam1=[400 0 160; 0 400 120; 0 0 1]\n"


def test_choose_searches_the_range_of_a_calibration(handed, tmp_path):
    arguments = handed("stereo_framework.user_pair.method_choice.choose")
    planes = load_scene("synthetic/planes")
    write_image("left.png", planes.reference)
    write_image("right.png", planes.match)
    Path("cameras.txt").write_text(f"{CAMERAS}doffs=0\nbaseline=100\nndisp=29\n")
    images = ("choose", "left.png", "right.png")
    invoke(*images, "--calibration", "cameras.txt")
    [scene, _] = arguments["positional"]
    assert (scene.search.minimum, scene.search.maximum) == (0, 28)

    Path("cameras.txt").rename("calib.txt")
    invoke(*images, "--disparities", "auto")
    assert arguments["positional"][0].search is None
    invoke(*images)
    assert arguments["positional"][0].search.maximum == 28


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--disparities", "0:9"), "--calibration has no effect with --disparities"),
        ((), "--calibration cameras.txt: the file has no search range"),
    ],
)
def test_choose_refuses_a_calibration_without_effect(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    planes = load_scene("synthetic/planes")
    write_image("left.png", planes.reference)
    write_image("right.png", planes.match)
    matrix = "[400., 0., 160., 0., 0., 400., 120., 0., 0., 0., 1., 0.]"
    shifted = "[400., 0., 160., -40., 0., 400., 120., 0., 0., 0., 1., 0.]"
    lines = ["%YAML:1.0", "---"]
    for name, data in (("P1", matrix), ("P2", shifted)):
        lines += [f"{name}: !!opencv-matrix", "   rows: 3", "   cols: 4", "   dt: d"]
        lines.append(f"   data: {data}")
    Path("cameras.txt").write_text("\n".join(lines))
    result = invoke("choose", "left.png", "right.png", "--calibration", "cameras.txt", *options)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


def test_workers_and_quickness_reach_the_paper(handed):
    arguments = handed("stereo_framework.papers.reproduce.reproduce")
    invoke("reproduce", "taxonomy2002/table4", "--workers", 5, "--quick")
    assert (arguments["workers"], arguments["quick"], arguments["item"]) == (5, True, "table4")
    invoke("reproduce", "taxonomy2002")
    assert (arguments["workers"], arguments["quick"], arguments["item"]) == (None, False, None)


def test_reproduce_prints_json():
    numbers = json.loads(
        call("reproduce", "taxonomy2002/table4", "--out", "paper", "--json").stdout
    )
    assert {entry["kind"] for entry in numbers} == {"sentence"}


def test_the_limit_of_a_report_reaches_the_page(handed):
    arguments = handed("stereo_framework.page.run_page.run_page")
    invoke("report", "out", "--limit", 4)
    assert arguments["limit"] == 4


def test_set_of_match_and_of_check_changes_the_method():
    words = ("match", "--example", "--method", "window")
    refused = invoke(*words, "--set", "aggregation.box.size=0")
    one_line(refused, "--set aggregation.box.size", "0 is not")
    one_line(
        invoke("check", "window", "--set", "aggregation.box.size=0"),
        "--set aggregation.box.size",
        "0 is not",
    )


def test_stages_of_a_slot_and_the_file_of_an_example(desk):
    listed = call("stages", "--slot", "smoothness").stdout
    assert "potts" in listed
    assert "census" not in listed
    call("stages", "--new", "mine", "--slot", "matching_cost", "--out", "elsewhere.py")
    assert "def mine(" in (desk / "elsewhere.py").read_text()


def test_a_scale_that_is_assumed_is_printed():
    write_image("map256.png", np.rint(256 * (TRUTH + 0.5)).astype(np.uint16))
    words = ("evaluate", "map256.png", "--truth", "truth.pfm")
    note = "note: map256.png: 16-bit image, read as 256 stored units per pixel of disparity; "
    assumed = call(*words)
    assert note + "--disparity-scale sets another scale\n" in assumed.stderr
    given = call(*words, "--disparity-scale", 256)
    assert "note" not in given.stderr
    assert given.stdout == assumed.stdout
    assert "note" not in call("evaluate", "map.pfm", "--truth", "truth.pfm").stderr


# --- options without an effect ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("stages box --out a.py", "--out has no effect without --new"),
        ("stages box --new mine --slot matching_cost", "the name box has no effect with --new"),
        ("stages metrics --slot aggregation", "--slot has no effect with metrics"),
        ("scenes --new . --describe synthetic/planes", "--describe has no effect with --new"),
        ("scenes --describe synthetic/planes --fetch", "--fetch has no effect with --describe"),
        ("check window --schema", "a script has no effect with --schema"),
        ("run window --scene synthetic/planes --maps", "--maps: needs --out DIR"),
        (
            "run window --scene synthetic/planes --executor process --dask tcp://h:1",
            "--executor process has no effect with --dask",
        ),
        ("rank scores.csv --boundary --columns x", "--columns has no effect with --boundary"),
        ("results out --export eth3d --sort scene", "--sort has no effect with --export"),
        (
            "results out --columns energy --json",
            "--columns has no effect with --json or --format csv",
        ),
        ("results out --plots --format csv", "--format has no effect with --plots"),
        (
            "compare map.pfm negative.pfm --truth truth.pfm --without-truth",
            "--without-truth has no effect with --truth",
        ),
        ("match --example --truth-scale 2", "--truth-scale goes with --truth"),
    ],
)
def test_an_option_that_would_not_be_used_is_refused(words, message, desk):
    (desk / "scores.csv").write_text("method,s:bad\na,1\nb,2\n")
    one_line(invoke(*words.split()), message)


def test_import_writes_the_scripts_to_a_folder(desk):
    (desk / "old.txt").write_text(
        "match_fn 2 aggr_window_size 21 aggr_minfilter 21\ndepth_map ssd.pgm\n"
    )
    call("import", "old.txt", "--out", "converted")
    [script] = (desk / "converted").glob("*.yaml")
    assert "squared_difference" in script.read_text()


def test_cameras_choose_among_those_of_a_calibration_of_kitti():
    texture = np.random.default_rng(1).integers(0, 256, (40, 130), dtype=np.uint8)
    write_image("left.png", texture[:, :120])
    write_image("right.png", texture[:, 10:])
    offsets = {0: 0, 1: -387.5744, 2: 45.3, 3: -339.1}
    rows = [f"P{i}: 720 0 60 {offset} 0 720 20 0 0 0 1 0\n" for i, offset in offsets.items()]
    with open("calib.txt", "w", encoding="utf-8") as file:
        file.writelines(rows)
    words = (
        "match",
        "left.png",
        "right.png",
        "--disparities",
        "0:16",
        "--method",
        "ssd",
        "--calibration",
        "calib.txt",
    )
    for cameras, product in (("0,1", 387.5744), ("2,3", 384.4)):
        call(*words, "--cameras", cameras, "--out", f"o{cameras[0]}")
        depth = tifffile.imread(f"o{cameras[0]}/depth.tiff")
        # The depth is the focal length times the baseline, divided by the disparity of 10 pixels.
        assert np.nanmedian(depth) == pytest.approx(product / 10, rel=1e-3)
