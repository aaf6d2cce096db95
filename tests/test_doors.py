"""What users add by the doors of the package: a metric, a data set, a reader, a protocol; one plug-in file with one of each, through every command."""

import json
import subprocess
import sys

import numpy as np
import pytest
from cli_parts import call

import stereo_framework as sf
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.io import read_disparity, read_image, write_image

PLUGIN = """
import numpy as np
import stereo_framework as sf


@sf.metric(unit="px", better="lower", source="Nobody 2026, equation 1", pooled="mean")
def off_by(disparity, truth, mask, *, threshold):
    return np.mean(np.abs(disparity - truth)[mask & np.isfinite(disparity)] > threshold)


@sf.metric(unit="grey levels", better="higher", source="Nobody 2026, equation 2")
def darkest(prediction, image, predicted):
    return image[predicted].min()


@sf.reader(".raw16", kind="disparity")
def read_raw16(path):
    rows, columns = np.fromfile(path, np.int32, 2)
    return np.fromfile(path, np.float32, offset=8).reshape(rows, columns)


@sf.reader(".grey", kind="image")
def read_grey(path):
    return np.load(path, allow_pickle=False)


@sf.dataset("mine", names=lambda folder: sorted(p.parent.name for p in folder.glob("*/left.png")), protocol="ours")
def mine(folder, name):
    place = folder / name
    return sf.pair_scene(place / "left.png", place / "right.png", (0, 8), truth=place / "truth.raw16")


sf.protocol("ours", base="taxonomy2002", thresholds=[0.5], regions=["all"], metrics=["bad_pixels", "off_by"])


@sf.chart("Off by over time")
def off_by_over_time(axes, frame):
    axes.scatter(frame["seconds"], frame["off_by_all"])
    axes.set(xlabel="seconds", ylabel="off by")


@sf.chart("Broken")
def broken(axes, frame):
    frame["no such column"]


@sf.stage("matching_cost", source="Nobody 2026")
def my_cost(reference, match, search):
    costs = np.full((*reference.shape[:2], search.levels), np.nan, np.float32)
    for level, (here, there) in enumerate(search.columns(reference.shape[1])):
        costs[:, here, level] = np.abs(reference[:, here].astype(float) - match[:, there]).reshape(*reference[:, here].shape[:2], -1).sum(2)
    return costs
"""
SCRIPT = """
name: ours_alone
plugins: plugin.py
scenes: mine/one
matching_cost: my_cost
optimization: winner_take_all
report: {tables: {t: {rows: method, columns: scene, value: off_by_all}}}
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEREO_DATA", str(tmp_path / "data"))
    (tmp_path / "plugin.py").write_text(PLUGIN)
    (tmp_path / "s.yaml").write_text(SCRIPT)
    folder = tmp_path / "data/mine/one"
    folder.mkdir(parents=True)
    left = np.random.default_rng(0).integers(0, 256, (24, 40, 3), dtype=np.uint8)
    write_image(folder / "left.png", left)
    write_image(folder / "right.png", np.roll(left, -3, axis=1))
    (folder / "truth.raw16").write_bytes(
        np.array([24, 40], np.int32).tobytes() + np.full((24, 40), 3, np.float32).tobytes()
    )
    return tmp_path


def test_one_of_each_through_the_commands(place):
    assert "no fault" in call("check", "s.yaml", "--try", "--plugin", "plugin.py").stdout
    assert "mine/one" in call("scenes", "--plugin", "plugin.py").stdout
    [record] = json.loads(
        call("run", "s.yaml", "--out", "o", "--json", "--plugin", "plugin.py").stdout
    )
    assert (record["scene"], record["protocol"]) == ("mine/one", "ours")
    # The first three columns have no match: nobody sees them on the right.
    assert record["statistics"]["off_by_all"] == pytest.approx(
        record["statistics"]["bad_pixels_all"] / 100
    )
    assert 0 < record["statistics"]["off_by_all"] < 0.2
    assert (place / "o/tables/t.csv").read_text().count("ours_alone") == 1
    assert "off_by" in call("stages", "metrics", "--plugin", "plugin.py").stdout
    call("report", "o", "--plugin", "plugin.py")
    page = (place / "o/report.html").read_text()
    for said in (
        "Off by over time, protocol ours",
        "chart &#39;Broken&#39;: KeyError",
        "plugin.py:",
    ):
        assert said in page
    assert "ours: " in call("stages", "ours", "--plugin", "plugin.py").stdout


def test_a_folder_is_shown_whole_without_the_plug_in_and_a_changed_metric_never_returns_an_old_number(
    place,
):
    run = ["run", "s.yaml", "--set", "name=a", "--out", "o", "--json", "--plugin", "plugin.py"]
    [first] = json.loads(call(*run).stdout)
    call(
        "run",
        "s.yaml",
        "--set",
        "name=b",
        "--out",
        "o",
        "--plugin",
        "plugin.py",
        "--set",
        "search.maximum=2",
    )
    (place / "plugin.py").write_text("raise SystemExit('nobody runs this')")
    program = f"""
import sys
from pathlib import Path
from typer.testing import CliRunner
from stereo_framework.cli.main import app
for words in (["results", "o", "--all"], ["rank", "o", "--columns", "off_by_all", "--json"], ["report", "o"]):
    result = CliRunner().invoke(app, words)
    print(result.output)
    assert result.exit_code == 0, words
from stereo_framework.evaluation.metrics import metric_of
metric = metric_of("off_by_all")
print(metric.unit, metric.better, metric.source)
Path("plugin.py").write_text(sys.argv[1])
print(CliRunner().invoke(app, {run}).stdout)
"""
    # In a process that knows the plug-in by its option alone.
    again = [sys.executable, "-c", program, PLUGIN.replace("> threshold)", "> threshold) + 7")]
    done = subprocess.run(again, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    _, told, found = done.stdout.partition("\npx lower Nobody 2026, equation 1\n")
    assert told, done.stdout
    [second] = json.loads(found)
    assert second["statistics"]["off_by_all"] == pytest.approx(
        first["statistics"]["off_by_all"] + 7
    )
    assert "error &gt; 0.5 px" in (place / "o/report.html").read_text()
    assert "off_by_all" in call("results", "o").stdout


def test_the_metric_and_the_reader_themselves(place):
    from stereo_framework.core.plugins import load_plugin

    load_plugin("plugin.py")
    scene = sf.load_scene("mine/one")
    for threshold, share in ((0.2, 1), (0.3, 0)):
        assert (
            sf.evaluate(scene.truth + 0.25, scene, {"base": "ours", "threshold": threshold})[
                "off_by_all"
            ]
            == share
        )
    views = sf.evaluate(scene.truth, scene, {"base": "taxonomy2002", "metrics": ["darkest"]})
    assert views["darkest_match"] == scene.image(1).min()
    assert metric_of("off_by_nonocc").pooled == "mean"
    np.save(place / "x.npy", np.zeros((3, 4), np.uint8))
    (place / "x.npy").rename(place / "x.grey")
    assert read_image(place / "x.grey").shape == (3, 4)
    (place / "bad.raw16").write_bytes(b"ab")
    with pytest.raises(
        DataError, match=r"bad.raw16: .*plugin.py:\d+: its reader read_raw16 failed: ValueError"
    ):
        read_disparity(place / "bad.raw16")
    with pytest.raises(DataError, match="none.raw16: no such file"):
        read_disparity("none.raw16")


METRIC = "@sf.metric(unit='px', better='lower', source='s')\ndef "


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            METRIC + "m(disparity, trut): return 0",
            "metric m: no such data 'trut'; .*did you mean 'truth'",
        ),
        (METRIC + "m(disparity): return 0", "metric m: names neither truth nor prediction"),
        (
            METRIC + "rms_error(disparity, truth): return 0",
            "metric 'rms_error': already registered by stereo_framework",
        ),
        (
            METRIC.replace("lower", "up") + "m(disparity, truth): return 0",
            "metric: better is 'up'; expected 'lower', 'higher' or ''",
        ),
        (
            "@sf.reader('x', kind='image')\ndef r(path): return 0",
            "reader 'x': the suffix must begin with a dot",
        ),
        (
            "@sf.reader('.x', kind='map')\ndef r(path): return 0",
            "reader: kind is 'map'; expected 'disparity' or 'image'",
        ),
        (
            "sf.protocol('eth3d', base='kitti2015')",
            "'eth3d' is|protocol 'eth3d': already registered",
        ),
        ("sf.protocol('p', base='kitti2016')", "there is no protocol 'kitti2016'"),
        ("sf.protocol('p', base='kitti2015', tresholds=[1])", "tresholds"),
    ],
)
def test_mistakes(code, message):
    with pytest.raises((ParameterError, TypeError), match=message):
        exec(code, {"sf": sf, "__name__": "somebody"})


def test_a_metric_that_raises_is_told(place):
    (place / "plugin.py").write_text(
        PLUGIN.replace("    return np.mean(np.abs", "    1 / 0\n    return np.mean(np.abs")
    )
    result = call("run", "s.yaml", "--plugin", "plugin.py", status=1)
    assert "ZeroDivisionError" in result.output
    assert "plugin.py" in result.output


@pytest.mark.parametrize("code", ["import sys; sys.exit(3)", "disparity[:] = 0; return 1"])
def test_a_metric_ends_no_program_and_changes_no_map(registry, code):
    own = {"sf": sf, "__name__": "somebody"}
    exec(METRIC + f"careless(disparity, truth): {code}", own)
    truth, found = np.ones((4, 5), np.float32), np.full((4, 5), 2, np.float32)
    with pytest.raises(
        DataError,
        match="metric careless: (SystemExit: 3|ValueError: assignment destination is read-only)",
    ):
        sf.evaluate(found, truth, {"base": "taxonomy2002", "metrics": "careless"})
    assert (found == 2).all()
