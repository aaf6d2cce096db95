"""The command line as a user meets it."""

import json
import subprocess
import sys

import cv2
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from stereo_framework.cli import _output
from stereo_framework.cli._options import size
from stereo_framework.cli.main import app
from stereo_framework.io.disparity import read_disparity, write_disparity
from stereo_framework.io.images import write_image
from stereo_framework.sweep import Result

SCRIPT = {
    "scenes": ["synthetic/planes"],
    "matching_cost": {"use": "absolute_difference"},
    "aggregation": [{"use": "box", "size": 9}],
    "optimization": {"use": "winner_take_all"},
}


@pytest.fixture
def cli(monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)

    def call(*arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments])

    return call


@pytest.fixture
def script(tmp_path):
    def write(text, name="script.yaml"):
        path = tmp_path / name
        path.write_text(text if isinstance(text, str) else yaml.safe_dump(text, sort_keys=False))
        return path

    return write


def _one_line(result, *parts):
    """A mistake: exit status 2, nothing printed, one line on the error stream that holds all parts."""
    assert result.exit_code == 2, result.output
    [line] = result.stderr.splitlines()
    for part in parts:
        assert part in line, line
    assert "Traceback" not in result.output


def test_run_prints_the_statistics(cli):
    result = cli("run", "window", "--scene", "synthetic/planes")
    assert result.exit_code == 0, result.output
    assert "bad_pixels_nonocc" in result.stdout
    assert "taxonomy2002: bad (percent) = error > 1 px" in result.stdout


def test_run_json(cli):
    result = cli("run", "window", "--scene", "synthetic/planes", "--set", "aggregation.box.size=5", "--json")
    [record] = json.loads(result.stdout)
    assert list(record) == [
        "id",
        "scene",
        "method",
        "parameters",
        "axes",
        "protocol",
        "statistics",
        "energy",
        "matching_seconds",
        "seconds",
        "warnings",
        "error",
    ]
    assert record["method"] == "window"
    assert "evaluation" in record["seconds"]
    stages = [seconds for name, seconds in record["seconds"].items() if name != "evaluation"]
    assert record["matching_seconds"] == pytest.approx(sum(stages))
    assert record["parameters"]["aggregation.box.size"] == 5
    assert 0 < record["statistics"]["bad_pixels_all"] < 30


def test_run_out_and_results(cli, script, tmp_path):
    sweep = SCRIPT | {"sweep": {"grid": {"aggregation.box.size": [9, 1, 5]}}}
    out = tmp_path / "out"
    assert cli("run", script(sweep), "--out", out, "--workers", 2, "--maps").exit_code == 0
    assert len(list((out / "maps").glob("*.pfm"))) == 3
    names = {p.name.split("_", 3)[-1] for p in (out / "pictures").iterdir() if "predicted" not in p.name}
    assert {n.split("_", 1)[-1] for n in names} == {"disparity.png", "error.png", "bad.png", "overview.png", "prediction.png"}
    assert (out / "script.resolved.yaml").is_file()

    listed = json.loads(cli("results", out, "--json").stdout)
    assert [r["axes"]["aggregation.box.size"] for r in listed] == [9, 1, 5]
    by_size = json.loads(cli("results", out, "--json", "--sort", "aggregation.box.size").stdout)
    assert [r["axes"]["aggregation.box.size"] for r in by_size] == [1, 5, 9]
    [kept] = json.loads(cli("results", out, "--json", "--where", "aggregation.box.size=5").stdout)
    assert kept["id"] == listed[2]["id"]
    lines = cli("results", out, "--csv").stdout.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("id,scene,method,protocol,")
    _one_line(cli("results", out, "--sort", "bad_pixel_all"), "did you mean 'bad_pixels_all'?")
    _one_line(cli("results", out, "--where", "size"), "expected key=value")


@pytest.mark.filterwarnings("default::stereo_framework.errors.DataWarning")
def test_own_pair(cli, tmp_path):
    random = np.random.default_rng(0)
    left = random.integers(0, 256, (40, 60, 3), dtype=np.uint8)
    write_image(tmp_path / "l.png", left)
    write_image(tmp_path / "r.png", np.roll(left, -4, axis=1))
    truth = np.full((40, 60), 4, np.float32)
    write_disparity(tmp_path / "truth.pfm", truth)
    pair = ("--left", tmp_path / "l.png", "--right", tmp_path / "r.png", "--disparities", "0:8")
    [record] = json.loads(cli("run", "window", *pair, "--truth", tmp_path / "truth.pfm", "--json").stdout)
    assert record["statistics"]["bad_pixels_nonocc"] < 5
    _one_line(cli("run", "window", *pair[:4]), "--disparities missing")
    _one_line(cli("run", "window", *pair[:4], "--disparities", "8"), "expected MINIMUM:MAXIMUM")
    _one_line(cli("run", "window", *pair[:4], "--disparities", "8:8"), "search.maximum: 8 is not above search.minimum, 8")
    _one_line(cli("run", "window", *pair, "--scene", "tsukuba"), "leave out --scene")
    write_image(tmp_path / "small.png", left[:-1])
    _one_line(cli("run", "window", "--left", tmp_path / "l.png", "--right", tmp_path / "small.png", *pair[4:]), "60x40", "60x39")
    _one_line(cli("run", "window", "--left", tmp_path / "x.png", *pair[2:]), "x.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "l.png").read_bytes()[:900])
    _one_line(cli("run", "window", "--left", tmp_path / "cut.png", *pair[2:]), "cut.png")
    write_disparity(tmp_path / "wrong.pfm", truth[:, :-1])
    _one_line(cli("run", "window", *pair, "--truth", tmp_path / "wrong.pfm"), "59x40", "60x40")
    # The pair exchanged: the search looks the wrong way, and the winners pile up at its end.
    exchanged = cli("run", "window", "--left", tmp_path / "r.png", "--right", tmp_path / "l.png", "--disparities", "0:30")
    assert exchanged.exit_code == 0


def test_own_pair_with_masks_and_ranges(cli, tmp_path):
    left = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    alpha = np.full((40, 60), 255, np.uint8)
    alpha[5:9, 20:30] = 0
    cv2.imwrite(str(tmp_path / "l.png"), np.dstack([left[..., ::-1], alpha]))
    write_image(tmp_path / "r.png", np.roll(left, -4, axis=1))
    mask = np.ones((40, 60), bool)
    mask[:, :3] = False
    write_image(tmp_path / "m.png", mask)
    high = np.full((40, 60), np.nan, np.float32)
    high[20:] = 2
    write_disparity(tmp_path / "high.pfm", high)
    pair = ("--left", tmp_path / "l.png", "--right", tmp_path / "r.png", "--disparities", "0:8")
    beside = ("--left-mask", tmp_path / "m.png", "--high", tmp_path / "high.pfm")
    assert cli("run", "window", *pair, *beside, "--out", tmp_path / "out").exit_code == 0
    found = read_disparity(next((tmp_path / "out" / "maps").glob("*.pfm")))
    np.testing.assert_array_equal(np.isnan(found), ~mask | (alpha == 0))
    assert np.nanmedian(found[:20]) == 4
    assert np.nanmax(found[20:]) <= 2.5  # the parabola moves by half a level at most
    # Another mask is another result, though nothing else differs.
    write_image(tmp_path / "m.png", ~mask)
    cli("run", "window", *pair, *beside, "--out", tmp_path / "out")
    assert len(list((tmp_path / "out" / "maps").glob("*.pfm"))) == 2
    _one_line(cli("run", "window", "--scene", "synthetic/planes", *beside), "--left-mask belongs to your own pair")


def test_run_measures_something_else(cli, script, tmp_path):
    shown = cli("run", "window", "--scene", "synthetic/occlusions", "--measure", "hci")
    assert shown.exit_code == 0, shown.output
    assert "hci_offset" in shown.stdout
    assert "bad_pixels_nonocc" not in shown.stdout
    [plain] = json.loads(cli("run", "window", "--scene", "synthetic/occlusions", "--measure", "rms_error", "--json").stdout)
    assert plain["protocol"] == "taxonomy2002[measures=rms_error]"
    # A script's own protocols keep all else; their names would no longer tell what they measure.
    own = {"base": "taxonomy2002", "name": "mine", "border": 20, "measure": "bad_pixels"}
    path = script(SCRIPT | {"evaluation": {"protocol": [own, "middlebury-v3"]}})
    found = json.loads(cli("run", path, "--measure", "rms_error", "--measure", "mse", "--out", tmp_path / "out", "--json").stdout)
    assert [r["protocol"] for r in found] == [
        "taxonomy2002[measures=rms_error,mse; border=20]",
        "middlebury-v3[measures=rms_error,mse]",
    ]
    again = json.loads(cli("run", tmp_path / "out" / "script.resolved.yaml", "--json").stdout)
    assert [r["statistics"] for r in again] == [r["statistics"] for r in found]
    _one_line(
        cli("run", "window", "--scene", "synthetic/planes", "--measure", "hcj"), "no such measure: 'hcj'", "did you mean 'hci'"
    )


def test_run_measures_scenes_of_one_protocol(data, cli):
    both = ("--scene", "synthetic/planes", "--scene", "middlebury-v3/trainingQ/Pipes", "--data", data)
    _one_line(
        cli("run", "window", *both, "--measure", "hci"), "different protocols (taxonomy2002, middlebury-v3)", "measures: [hci]}'"
    )


def test_evaluate(cli, tmp_path):
    from stereo_framework import load_scene

    scene = load_scene("synthetic/planes")
    write_disparity(tmp_path / "good.pfm", scene.truth + np.float32(0.75))
    write_disparity(tmp_path / "bad.pfm", scene.truth * 4)
    arguments = ("evaluate", tmp_path / "good.pfm", tmp_path / "bad.pfm", "--scene", "synthetic/planes")
    result = cli(*arguments, "--threshold", 0.5, "--threshold", 1, "--json")
    good, bad = json.loads(result.stdout)
    assert (good["statistics"]["bad0.5_all"], good["statistics"]["bad1_all"]) == (100, 0)
    assert good["statistics"]["rms_error_all"] == pytest.approx(0.75)
    assert any("scale" in w for w in bad["warnings"])
    _one_line(cli(*arguments, "--protocol", "taxonomi2002"), "did you mean 'taxonomy2002'?")
    _one_line(cli("evaluate", tmp_path / "none.pfm", "--scene", "synthetic/planes"), "none.pfm")
    write_disparity(tmp_path / "grey.png", scene.truth, scale=8)
    _one_line(cli("evaluate", tmp_path / "grey.png", "--scene", "synthetic/planes"), "scale")
    assert (
        cli("evaluate", tmp_path / "grey.png", "--scene", "synthetic/planes", "--scale", 8, "--out", tmp_path / "p").exit_code
        == 0
    )
    assert (tmp_path / "p").is_dir()
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_disparity(tmp_path / folder / "planes.pfm", scene.truth)
    pictures = ("--out", tmp_path / "q", "--threshold", 3)
    assert cli("evaluate", tmp_path / "a/planes.pfm", tmp_path / "b/planes.pfm", *arguments[3:], *pictures).exit_code == 0
    assert {p.name.split("_")[0] for p in (tmp_path / "q" / "pictures").iterdir()} == {"a-planes", "b-planes"}


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"matching_cost": {"use": "absolut_difference"}}, ["script.yaml:", "did you mean 'absolute_difference'?"]),
        ({"matching_cost": {"use": "absolute_difference", "truncatoin": 3}}, ["did you mean 'truncation'?"]),
        ({"matching_cost": {"use": "absolute_difference", "truncation": True}}, ["true is not a number > 0 or null"]),
        ({"aggregation": [{"use": "box", "size": "20"}]}, ["'20' is not a whole number >= 1"]),
        ({"aggregation": [{"use": "box", "size": 0}]}, ["0 is not a whole number >= 1"]),
        ({"search": {"minimum": 5, "maximum": 5}}, ["not above"]),
        ({"sweep": {"grid": {"aggregation.box.size": []}}}, ["empty"]),
        ({"include": "script.yaml"}, ["include", "script.yaml"]),
    ],
)
def test_bad_scripts(cli, script, change, parts):
    _one_line(cli("run", script(SCRIPT | change)), *parts)


@pytest.mark.parametrize("verb", [["evaluate", "--protocol", "middlebury-v2"], ["rank", "--without-truth"]])
def test_a_path_is_looked_for_before_anything_else(cli, tmp_path, verb):
    _one_line(cli(verb[0], tmp_path / "submission", *verb[1:]), f"{tmp_path / 'submission'}: no such file or folder")


def test_a_protocol_where_no_value_is_taken_is_told(cli):
    result = cli("run", "ssd", "--scene", "synthetic/planes", "--protocol", "middlebury-v2")
    _one_line(result, "'middlebury-v2': is a protocol; to measure with it: --set evaluation.protocol=middlebury-v2")


@pytest.mark.parametrize(
    ("method", "theirs", "ours"),
    [("sgbm", "numDisparities", "search.maximum"), ("sgbm", "P1", "small_change"), ("bm", "blockSize", "window")],
)
def test_opencv_s_names_are_known(cli, method, theirs, ours):
    result = cli("run", method, "--scene", "synthetic/planes", "--set", f"matcher.{theirs}=16")
    _one_line(result, f"here OpenCV's {theirs} is called '{ours}'")


def test_unknown_names(cli, tmp_path):
    _one_line(cli("run", "sdd", "--scene", "synthetic/planes"), "did you mean", "ssd")
    _one_line(cli("run", tmp_path / "none.yaml"), "none.yaml")
    _one_line(cli("run", "ssd", "--scene", "synthetic/plane"), "synthetic/planes")
    _one_line(cli("run", "ssd", "--scene", "tsukuba", "--data", tmp_path), "tsukuba", str(tmp_path))
    _one_line(cli("run", "ssd"), "no scene to run on")
    _one_line(cli("stages", "bax"), "did you mean 'box'?")


def test_failed_runs_give_status_1(cli, script, tmp_path):
    plugin = tmp_path / "always_fails_plugin.py"
    plugin.write_text(
        "from stereo_framework.stage import stage\n"
        "@stage('refinement', source='a test')\n"
        "def always_fails(disparity):\n    raise RuntimeError('no luck')\n"
    )
    result = cli("run", script(SCRIPT | {"plugins": [plugin.name], "refinement": ["always_fails"]}))
    assert result.exit_code == 1
    told = f"error: synthetic/planes script: {plugin}:4: refinement stage always_fails: RuntimeError: no luck\n"
    assert result.stderr == told
    result = cli("run", tmp_path / "script.yaml", "--traceback")
    assert result.stderr.startswith(told)
    assert f'  File "{plugin}", line 4, in always_fails\n' in result.stderr


def test_a_hopeless_sweep_says_so_once(cli, script, tmp_path):
    plugin = tmp_path / "hopeless_plugin.py"
    plugin.write_text(
        "from stereo_framework.stage import stage\n"
        "@stage('refinement', source='a test')\n"
        "def hopeless(disparity, *, at: int = 0):\n    raise RuntimeError('no luck')\n"
    )
    sweep = SCRIPT | {
        "plugins": [plugin.name],
        "refinement": ["hopeless"],
        "sweep": {"grid": {"refinement.hopeless.at": [1, 2, 3, 4, 5]}},
    }
    result = cli("run", script(sweep), "--out", tmp_path / "out")
    assert result.exit_code == 1
    told = (
        f"error: 2 of 5 runs are left out: the first 3 failed alike: {plugin}:4: refinement stage hopeless: RuntimeError: no luck"
    )
    assert [line for line in result.stderr.splitlines() if "error" in line.lower()] == [told]
    assert len(json.loads(cli("results", tmp_path / "out", "--json").stdout)) == 3


def test_a_sweep_tells_what_failed(cli, script, tmp_path, registry):
    plugin = tmp_path / "sometimes_plugin.py"
    plugin.write_text(
        "from stereo_framework.stage import stage\n"
        "@stage('refinement', source='a test')\n"
        "def fails_sometimes(disparity, *, at: int = 0):\n"
        "    if at == 2:\n        raise RuntimeError('two')\n    return disparity\n"
    )
    sweep = SCRIPT | {
        "plugins": [plugin.name],
        "smoothness": {"use": "potts", "weight": 5},
        "refinement": ["fails_sometimes"],
        "sweep": {
            "grid": {"optimization": ["winner_take_all", "graph_cut"], "refinement.fails_sometimes.at": [1, 2, 3]},
        },
    }
    # Less than the three volumes of a graph cut.
    result = cli("run", script(sweep), "--memory", "20M", "--out", tmp_path / "out", "--workers", 2)
    assert result.exit_code == 1
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 4
    assert f"at=2): {plugin}:5: refinement stage fails_sometimes: RuntimeError: two" in errors[0]
    for line, at in zip(errors[1:], (1, 2, 3), strict=True):
        assert (
            f"optimization=graph_cut, refinement.fails_sometimes.at={at}): graph_cut needs about 28.1 MiB for 320x240 pixels"
            in line
        )
        assert "20 MiB are allowed (--memory)" in line
    table = [line for line in result.stdout.splitlines() if "synthetic/planes" in line]
    assert ["failed" in line for line in table] == [False, True, False, True, True, True]
    # With enough memory only what was missing is computed.
    again = json.loads(cli("run", script(sweep), "--out", tmp_path / "out", "--json").stdout)
    assert [r["error"] and r["error"].rpartition(": ")[2] for r in again] == [None, "two", None] * 2


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--memory", "much"), "--memory 'much': expected an amount of memory above 0, such as 8G or 500M"),
        (("--memory", "0G"), "--memory '0G': expected an amount of memory above 0"),
        (("--executor", "proces"), "executor: no such executor 'proces'; legal: process, thread; did you mean 'process'?"),
        (("--workers", "0"), "workers: 0 is below 1"),
        (("--dask", "nonsense"), "--dask nonsense: "),
    ],
)
def test_wrong_options_of_a_sweep(cli, options, part):
    if options[0] == "--dask":
        pytest.importorskip("distributed", reason="dask.distributed is not installed")
    _one_line(cli("run", "window", "--scene", "synthetic/planes", *options), part)


@pytest.mark.parametrize(("text", "count"), [("8G", 8 * 2**30), ("1.5 GiB", 3 * 2**29), ("500m", 500 * 2**20), ("1024", 1024)])
def test_amounts_of_memory(text, count):
    assert size(text) == count


def test_check_schema_scenes_stages(cli, script):
    assert "no fault; 1 run on synthetic/planes" in cli("check", script(SCRIPT)).stdout
    assert json.loads(cli("schema").stdout)["type"] == "object"
    assert "synthetic/planes" in cli("scenes").stdout.split()
    assert "320x240 colour" in cli("scenes", "synthetic/planes").stdout
    assert {"box", "min_filter", "winner_take_all"} <= {s["name"] for s in json.loads(cli("stages", "--json").stdout)}
    assert "size = 9   (a whole number >= 1; pixels)" in cli("stages", "box").stdout
    assert "  beta = 0.5   (a number >= 0)\n" in cli("stages", "membrane_diffusion").stdout
    [found] = json.loads(cli("stages", "absolute_difference", "--json").stdout)
    assert {name: about["unit"] for name, about in found["parameters"].items()} == {
        "truncation": "grey levels",
        "interval": "",
        "interpolation": "",
    }


def test_stages_tell_what_those_of_each_slot_get_and_return(cli, tiny):
    listed = cli("stages").stdout
    rows = {
        line.split()[0]: line for line in listed.splitlines() if "reference, match, search\t" in line or "solve, pair" in line
    }
    assert {"matcher", "matching_cost", "scheme"} <= rows.keys()
    assert "domain, scene" in rows["matcher"]
    assert rows["matcher"].rstrip().endswith("Views of two such results")
    assert "one, or a list that is added" in rows["matching_cost"]
    one = cli("stages", "matcher").stdout
    assert "flat" in one
    assert "domain, scene" in one
    assert "box" not in one
    assert "gets: disparity, alternatives, confidence" in cli("stages", "blend").stdout
    [record] = json.loads(cli("stages", "sure", "--json").stdout)
    assert (record["gets"], record["returns"]) == (["disparity"], "a float32 map, higher = surer")
    _one_line(cli("stages", "matchr"), "no stage 'matchr'", "did you mean 'matcher'?")


def test_a_script_of_every_kind_from_the_command_line(cli, script, tiny, tmp_path):
    every = {
        **SCRIPT,
        "search": {"maximum": 8},
        "matching_cost": ["absolute_difference", "tenfold"],
        "refinement": ["blend"],
        "alternatives": {"a": {"matcher": "flat"}},
        "methods": {"sum": {}, "whole": {"matcher": "flat"}},
        "sweep": {"grid": {"matching_cost.tenfold.weight": [1, 2], "alternatives.a.matcher.radius": [1, 3]}},
    }
    path, out = script(every), tmp_path / "out"
    assert "no fault; 6 runs on synthetic" in cli("check", path).stdout
    setting = ["--set", "alternatives.a.matcher.radius=1", "--set", "search.maximum=4"]
    assert cli("run", path, *setting, "--out", out).exit_code == 0
    records = json.loads(cli("results", out, "--where", "matching_cost.tenfold.weight=2", "--json").stdout)
    assert [(r["method"], r["axes"]) for r in records] == [("sum", {"matching_cost.tenfold.weight": 2.0})]
    records = json.loads(cli("results", out, "--where", "matching_cost=absolute_difference + tenfold", "--json").stdout)
    assert len(records) == 2
    table = cli("results", out, "--rows", "alternatives.a.matcher.use", "--columns", "method", "--value", "bad_pixels_all").stdout
    assert "flat" in table
    assert cli("run", out / "script.resolved.yaml").exit_code == 0
    _one_line(
        cli("check", path, "--set", "alternatives.a.matcher.radius=0"), "--set alternatives.a.matcher.radius: 0 is not a whole"
    )


def test_import(cli, script):
    old = script("match_fn 2 aggr_window_size 21 aggr_minfilter 21\nmatch_interpolated 1\ndepth_map ssd.pgm\n", "old.txt")
    result = cli("import", old)
    assert result.exit_code == 0
    assert ":3: match_interpolated=1" in result.stderr
    converted = yaml.safe_load(result.stdout)
    assert converted["methods"]["ssd"]["matching_cost"]["use"] == "squared_difference"
    assert cli("check", script(result.stdout, "new.yaml")).exit_code == 0


def test_help_imports_nothing_heavy():
    program = (
        "import sys; sys.argv = ['stereo-framework', 'run', '--help']\n"
        "from stereo_framework.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'numpy', 'numba', 'scipy', 'cv2', 'matplotlib', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Example: stereo-framework run ssd" in done.stdout


@pytest.fixture
def benchmark(tmp_path):
    """A data root with one scene of Middlebury 2003 and its masks, and a method's folder of maps."""
    truth = np.full((20, 30), 3, np.float32)
    for folder, files in {
        "middlebury2003/cones": ("disp2", "disp6"),
        "middlebury-v2/masks/cones": ("nonocc", "all", "disc"),
    }.items():
        (tmp_path / "root" / folder).mkdir(parents=True)
        for name in files:
            write_image(tmp_path / "root" / folder / f"{name}.png", np.full((20, 30), 255 if len(files) == 3 else 12, np.uint8))
    image = np.random.default_rng(0).integers(0, 255, (20, 30, 3), np.uint8)
    write_image(tmp_path / "root/middlebury2003/cones/im2.png", image)
    write_image(tmp_path / "root/middlebury2003/cones/im6.png", np.roll(image, -3, axis=1))
    for method, error in (("mine", 0.0), ("theirs", 2.0)):
        (tmp_path / method).mkdir()
        write_disparity(tmp_path / method / "cones.png", truth + np.float32(error), scale=4)
    return tmp_path


def test_evaluate_a_submission(cli, benchmark):
    data = ("--data", benchmark / "root")
    arguments = ("evaluate", benchmark / "mine", benchmark / "theirs", "--protocol", "middlebury-v2", *data)
    mine, theirs = json.loads(cli(*arguments, "--json").stdout)
    assert (mine["scene"], mine["method"], theirs["method"]) == ("middlebury-v2/cones", "mine", "theirs")
    assert (mine["statistics"]["bad_pixels_all"], theirs["statistics"]["bad_pixels_all"]) == (0, 100)
    table = cli(*arguments, "--out", benchmark / "p", "--measure", "mape", "--measure", "rms_error")
    assert "mape_nonocc" in table.stdout
    assert "middlebury-v2[measures=mape,rms_error]: " in table.stdout
    assert (benchmark / "p" / "pictures" / "theirs_middlebury-v2-cones_overview.png").is_file()
    _one_line(cli("evaluate", benchmark / "mine", *data), "belongs to middlebury2003/cones or middlebury-v2/cones")
    _one_line(cli("evaluate", benchmark / "mine/cones.png", *data), "name the scene it belongs to with one --scene")
    _one_line(cli(*arguments, "--measure", "mapee"), "no such measure: 'mapee'", "did you mean 'mape'?")
    _one_line(cli("evaluate", benchmark / "mine", "--protocol", "{base: kitti, }", *data), "no protocol 'kitti'")
    write_image(benchmark / "mine/stone.png", np.zeros((2, 2), np.uint8))
    assert "stone.png: belongs to no scene; left out" in cli(*arguments).stderr


def test_compare(cli, benchmark):
    maps = (benchmark / "mine/cones.png", benchmark / "theirs/cones.png")
    arguments = ("compare", *maps, "--scene", "cones", "--data", benchmark / "root")
    first, second = json.loads(cli(*arguments, "--json").stdout)
    assert (first["method"], second["method"]) == ("mine-cones", "theirs-cones")
    assert (second["statistics"]["differing_pixels"], second["statistics"]["mean_difference"]) == (100, 2)
    assert "differing_pixels" not in first["statistics"]
    views = ("--other-view", maps[0], "--other-view", maps[0])
    result = cli(*arguments, *views, "--out", benchmark / "p", "--json")
    first, second = json.loads(result.stdout)
    # The first three of thirty columns point out of the match frame; the other map's disparity is two pixels off everywhere.
    assert first["statistics"]["inconsistent_pixels"] == pytest.approx(10)
    assert second["statistics"]["inconsistent_pixels"] == 100
    assert {p.name for p in (benchmark / "p").iterdir()} >= {
        "comparison.png",
        "mine-cones_error.png",
        "theirs-cones_prediction.png",
    }
    _one_line(cli("compare", maps[0], "--scene", "cones", "--data", benchmark / "root"), "two maps or more")
    _one_line(cli(*arguments, *views[:2]), "--other-view: 1 given for 2 maps")


def test_compare_without_truth(cli, benchmark):
    (benchmark / "scene.yaml").write_text("frames: [root/middlebury2003/cones/im2.png, root/middlebury2003/cones/im6.png]")
    for name, offset in (("good", 0), ("bad", 2)):
        write_disparity(benchmark / f"{name}.pfm", np.full((20, 30), 3 + offset, np.float32))
    arguments = ("compare", benchmark / "good.pfm", benchmark / "bad.pfm", "--scene", benchmark / "scene.yaml")
    good, bad = json.loads(cli(*arguments, "--out", benchmark / "p", "--json").stdout)
    assert good["statistics"]["predict_err_match"] < 1 < bad["statistics"]["predict_err_match"]
    assert "predict_err_match" in cli(*arguments).stdout
    assert (benchmark / "p" / "comparison.png").is_file()


def test_metrics(cli):
    result = cli("metrics")
    assert result.exit_code == 0, result.output
    assert "rms_error" in result.stdout
    assert "eth3d: " in result.stdout
    [kitti] = json.loads(cli("metrics", "kitti2015", "--json").stdout)
    assert kitti["relative_threshold"] == 0.05
    assert "thresholds               0.5" in cli("metrics", "{base: eth3d, threshold: 0.5}").stdout
    _one_line(cli("metrics", "eth"), "no protocol 'eth'")


def test_reproduce(cli, tmp_path):
    result = cli("reproduce", "taxonomy2002/table4", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "own check holds: The scripts ssd, dp, so, gc and bayesian hold the printed parameters" in result.stdout
    assert (tmp_path / "taxonomy2002.html").is_file()
    _one_line(cli("reproduce", "taxonomy2003"), "no paper 'taxonomy2003'", "did you mean 'taxonomy2002'?")
    _one_line(cli("reproduce", "taxonomy2002/tabel4", "--out", tmp_path), "did you mean 'table4'?")


def test_report(cli, script, tmp_path):
    assert cli("run", script(SCRIPT), "--out", tmp_path / "out").exit_code == 0
    assert cli("report", tmp_path / "out").exit_code == 0
    page = (tmp_path / "out" / "report.html").read_text()
    for part in ("planes", "bad_pixels_nonocc", "matching_cost", "Script script.resolved.yaml"):
        assert part in page
    # Image, truth and map.
    assert sorted(path.name for path in (tmp_path / "out" / "assets").iterdir()) == [f"report-{i}.js" for i in range(3)]
    assert cli("report", tmp_path / "out", "--single-file", "--out", tmp_path / "alone.html").exit_code == 0
    assert (tmp_path / "alone.html").read_text().count("data:image/webp") == 3
    _one_line(cli("report", tmp_path / "none"), "none: no results there")


def test_the_report_of_a_script_is_written(cli, script, tmp_path):
    plots = {"sizes": {"x": "aggregation.box.size", "y": "bad_pixels_nonocc"}}
    sweep = SCRIPT | {"sweep": {"grid": {"aggregation.box.size": [5, 9]}}, "report": {"plots": plots}}
    result = cli("run", script(sweep), "--out", tmp_path / "out")
    assert "plots" in result.stdout.splitlines()[-1]
    assert (tmp_path / "out" / "plots" / "sizes.svg").is_file()
    assert cli("report", tmp_path / "out").exit_code == 0
    assert "assets/report-0.svg" in (tmp_path / "out" / "report.html").read_text()


def test_boundary(cli, script, tmp_path):
    sweep = SCRIPT | {
        "evaluation": {"protocol": "kostliva2007"},
        "scenes": ["synthetic/planes", "synthetic/occlusions"],
        "sweep": {"grid": {"aggregation.box.size": [5, 9]}},
    }
    assert cli("run", script(sweep), "--out", tmp_path / "out").exit_code == 0
    result = cli("boundary", tmp_path / "out", "--density", 0.9, "--out", tmp_path / "b", "--weight", "planes=2")
    assert result.exit_code == 0, result.output
    for part in ("Expected", "feasibility boundary of synthetic/planes", "aggregation.box.size=", "answer.yaml"):
        assert part in result.stdout
    assert {p.suffix for p in (tmp_path / "b").iterdir()} - {""} == {".png", ".svg", ".yaml"}
    # The answer runs, to the rates that it promised.
    again = json.loads(cli("run", tmp_path / "b" / "answer.yaml", "--json").stdout)
    rates = {r["scene"]: r["statistics"]["error_rate"] for r in again}
    [record] = json.loads(cli("boundary", tmp_path / "out", "--density", 0.9, "--json", "--weight", "planes=2").stdout)
    mean = (2 * rates["synthetic/planes"] + rates["synthetic/occlusions"]) / 3
    assert record["answer"]["error_rate"] == pytest.approx(mean)
    assert cli("boundary", tmp_path / "out", "--error-rate", 0).exit_code == 1
    _one_line(cli("boundary", tmp_path / "out", "--weight", "plane=2"), "no such scene", "did you mean 'planes'?")
    _one_line(cli("boundary", tmp_path / "out", "--density", 1, "--error-rate", 0), "two wishes")


def test_a_terminal_shows_the_protocol_in_one_line_unless_asked(cli, script, monkeypatch):
    monkeypatch.setattr(_output, "on_a_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    short = cli("run", script(SCRIPT)).stdout.splitlines()
    assert short[0] == "scene synthetic/planes; method script"
    assert [line.split()[0] for line in short[1:3]] == ["bad_pixels_nonocc", "bad_pixels_textureless"]
    assert short[-1] == "taxonomy2002: bad (percent) = error > 1 px (all choices: --protocol)"
    whole = cli("run", script(SCRIPT), "--protocol").stdout
    assert "discont: 9x9 window" in " ".join(whole.split())
    assert max(map(len, whole.splitlines())) <= 80


def test_a_warning_names_its_scene_once(capsys):
    text = "the map seems to have the wrong sign"
    results = [
        Result("", "a/b", "m", {}, {"size": size}, "p", {"bad_pixels": 1.0}, protocol_text="p: q", warnings=(f"a/b: {text}",))
        for size in (3, 5, 7)
    ]
    _output.print_results(results)
    assert capsys.readouterr().err == f"warning: a/b m (size=3) and 2 more: {text}\n"


def test_stages_of_a_slot(cli):
    names = [line.split("\t")[:2] for line in cli("stages", "--slot", "smoothness").stdout.splitlines()]
    assert [name for slot, name in names if slot == "smoothness"] == ["linear", "potts", "truncated_linear"]
    _one_line(cli("stages", "--slot", "smoothnes"), "did you mean 'smoothness'?")
    _one_line(cli("stages", "box", "--slot", "smoothness"), "no stage 'box'", "legal stages and slots: linear, potts")
