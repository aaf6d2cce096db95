"""Every sentence of docs/safety.md is held by a test, which safety_page.yaml beside this file names."""

import ast
import os
import re
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import onnx
import pytest
import yaml
import yaml_cases
from attack.made_files import bmp, tiff
from attack.written import RUN
from attack.written import call as call_command
from cli_parts import invoke
from deadline import deadline
from onnx import helper

from stereo_framework.core import limits
from stereo_framework.core.errors import (
    DataError,
    ParameterError,
    ScriptError,
    StereoFrameworkError,
)
from stereo_framework.core.pair import Pair
from stereo_framework.datasets import load_scene
from stereo_framework.io import read_any_calibration, read_image, write_image
from stereo_framework.io.output_folders import RECORD
from stereo_framework.script import load
from stereo_framework.user_pair.tile_cache import _digest, match_or_read

ROOT = Path(__file__).parents[2]
ENTRIES = yaml_cases.cases_in("safety_page.yaml", __file__)
INPUTS = set(
    re.findall(
        r"^- of: '?(.*?)'?$",
        Path(__file__).with_name("inputs.yaml").read_text("utf-8"),
        re.MULTILINE,
    )
)


def sentences(page):
    """Return the sentences, list items and headings' texts of a page, without its code blocks."""
    text = re.sub(r"^```.*?^```$|^<!--.*?-->$", "", page, flags=re.MULTILINE | re.DOTALL)
    lines = [
        line.removeprefix("- ").strip()
        for line in text.splitlines()
        if line.strip() and not line.startswith("#")
    ]
    found = []
    for line in lines:
        found += re.split(r"(?<=[.!?]) (?=[A-Z`\[])", line)
    return found


def test_every_sentence_of_the_page_has_an_entry():
    page = (ROOT / "docs/safety.md").read_text(encoding="utf-8")
    assert [entry["sentence"] for entry in ENTRIES] == sentences(page)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["sentence"][:60])
def test_every_entry_names_tests_that_exist(entry):
    """An entry without tests is advice or a description, and gives the reason."""
    assert bool(entry.get("tests")) != bool(entry.get("advice")), entry
    for name in entry.get("tests", ()):
        file, _, function = name.partition("::")
        function, _, case = function.partition("[")
        path = ROOT / file
        assert path.is_file(), name
        functions = {
            node.name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef)
        }
        assert not function or function in functions, name
        assert not case or case.removesuffix("]") in INPUTS, name


def test_the_output_that_the_page_shows_is_that_of_the_command(tmp_path, monkeypatch):
    page = (ROOT / "docs/safety.md").read_text(encoding="utf-8")
    [script] = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    command = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    output = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    monkeypatch.chdir(tmp_path)
    Path("theirs.yaml").write_text(script)
    result = invoke(*command.split()[1:])
    assert (result.exit_code, result.stdout) == (0, output)


# --- code -------------------------------------------------------------------------------------------------------------

BASE = {"scenes": ["synthetic/planes"], "search": {"minimum": 0, "maximum": 4}}
EXECUTING = (
    ("run", "s.yaml"),
    ("tune", "tuned.yaml", "--statistic", "bad_pixels_all", "--trials", 1),
    ("match", "--example", "--method", "s.yaml", "-o", "m"),
    ("choose", "--scene", "synthetic/planes", "--methods", "s.yaml,window"),
    ("check", "s.yaml", "--try"),
)


@pytest.fixture
def mark(tmp_path, monkeypatch):
    """A file that the function of a script writes."""
    monkeypatch.chdir(tmp_path)
    function = "import numpy as np\ndef match(a, b, low, high):\n    open('mark', 'w').close()\n"
    (tmp_path / "mine.py").write_text(function + "    return np.zeros(a.shape[:2], np.float32)\n")
    return tmp_path / "mark"


@pytest.mark.parametrize("command", EXECUTING, ids=lambda command: command[0])
def test_these_commands_execute_the_code_of_a_script(command, mark):
    if command[0] == "tune":
        pytest.importorskip("optuna")
    matcher = {"matcher": {"use": "python", "function": "mine.py:match"}}
    Path("s.yaml").write_text(yaml.safe_dump(BASE | matcher))
    axis = {"sweep": {"grid": {"search.maximum": [4, 5]}}}
    Path("tuned.yaml").write_text(yaml.safe_dump(BASE | matcher | axis))
    result = invoke(*command)
    assert result.exit_code in (0, 1), result.output
    assert mark.exists()


def test_check_imports_plug_ins_and_calls_no_function(mark):
    Path("plug.py").write_text("open('imported', 'w').close()\n")
    matcher = {"plugins": ["plug.py"], "matcher": {"use": "python", "function": "mine.py:match"}}
    Path("s.yaml").write_text(yaml.safe_dump(BASE | matcher))
    assert invoke("check", "s.yaml").exit_code == 0
    assert (Path("imported").exists(), mark.exists()) == (True, False)


def test_a_python_function_may_lie_in_any_folder(mark):
    Path("folder").mkdir()
    script = BASE | {"matcher": {"use": "python", "function": "../mine.py:match"}}
    Path("folder/s.yaml").write_text(yaml.safe_dump(script))
    assert invoke("run", "folder/s.yaml").exit_code == 0
    assert mark.exists()


def test_a_plug_in_is_an_installed_module_or_a_file_of_the_folder(mark):
    Path("plug.py").write_text("open('imported', 'w').close()\n")
    for plugin in ("plug.py", "json.tool"):
        Path("s.yaml").write_text(yaml.safe_dump(BASE | {"include": "window", "plugins": [plugin]}))
        assert invoke("check", "s.yaml").exit_code == 0
    assert Path("imported").exists()


def test_custom_operators_of_an_onnx_model_are_not_loaded(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEREO_NO_PLUGINS", "1")
    shape = [1, 3, "rows", "columns"]
    inputs = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name in ("left", "right")
    ]
    outputs = [helper.make_tensor_value_info("out", onnx.TensorProto.FLOAT, shape)]
    for name, domain in (("plain", ""), ("custom", "hostile.operators")):
        node = helper.make_node("Sub", ["left", "right"], ["out"], domain=domain)
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("hostile.operators", 1)]
        model = helper.make_model(
            helper.make_graph([node], name, inputs, outputs), opset_imports=imports, ir_version=8
        )
        onnx.save(model, f"{name}.onnx")
    scene = load_scene("synthetic/planes")
    plain, custom = (
        load(BASE | {"matcher": {"use": "onnx", "model": f"{name}.onnx"}})
        for name in ("plain", "custom")
    )
    # A model is neither refused nor listed.
    assert (plain.executions, plain.pipeline(scene).disparity.ndim) == ((), 2)
    with pytest.raises(StereoFrameworkError, match="is not an ONNX model that onnxruntime can run"):
        custom.pipeline(scene)


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
def test_in_a_copy_without_the_record_files_that_would_change_are_not_replaced(home):
    (home / "o" / RECORD).unlink()
    page = home / "o/report.html"
    page.write_bytes(b"a page of the user")
    result = call_command(*RUN)
    assert (
        result.exit_code,
        "report.html: the file was not written by this program" in result.stderr,
    ) == (
        2,
        True,
    )
    assert page.read_bytes() == b"a page of the user"


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_pipe_in_the_place_of_a_stored_confidence_map_is_not_opened(home):
    [path] = (home / "o/maps").glob("*_a_*.pfm")
    pipe = path.with_name(f"{path.stem}_confidence_entropy.pfm")
    os.mkfifo(pipe)
    with deadline():
        call_command("run", "sw.yaml", "--out", "o")
    assert pipe.is_fifo()


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_pipe_in_the_place_of_a_stored_tile_is_replaced(tmp_path):
    scene = load_scene("synthetic/large-60x60x16")
    pair, method = Pair(scene.reference, scene.match, scene.search), load("window").pipeline
    path = tmp_path / "parts/code" / f"{_digest(method, pair)}.npz"
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with deadline():
        match = match_or_read(method, pair, path.parent)
    assert match.disparity.shape == (60, 60)
    assert path.is_file()


# --- limits -----------------------------------------------------------------------------------------------------------

HUGE = {
    "a.bmp": lambda: bmp(32000, 32000),
    "a.tif": lambda: tiff(32000, 32000),
    "a.pfm": lambda: b"Pf\n32000 32000\n-1.0\n" + bytes(100),
    "a.pgm": lambda: b"P5 32000 32000 255\n" + bytes(100),
    "a.png": lambda: _with_png_size(32000, 32000),
}


def _with_png_size(columns, rows):
    header = b"IHDR" + struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + header
        + struct.pack(">I", zlib.crc32(header))
        + bytes(100)
    )


@pytest.mark.parametrize("name", HUGE)
def test_sizes_are_checked_before_memory_is_allocated(name, tmp_path):
    (tmp_path / name).write_bytes(HUGE[name]())
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="the file has 32000x32000 pixels|is truncated"):
            read_image(tmp_path / name)
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()


def test_the_limits_of_the_page_are_those_of_the_program(monkeypatch):
    monkeypatch.delenv("STEREO_MAX_PIXELS", raising=False)
    assert limits.max_pixels() == 100_000_000
    assert limits.max_image_bytes() == 24 * 100_000_000 + 2**20
    assert (limits.TEXT, limits.NODES, limits.NESTING) == (2**20, 20_000, 100)
    assert (limits.SETTINGS, limits.WINDOW) == (200_000, 65_536)
    assert (limits.ARCHIVE_CONTENT, limits.ARCHIVE_RATIO, limits.ARCHIVE_MEMBERS) == (
        100 * 2**30,
        200,
        1_000_000,
    )


def test_an_image_file_has_24_bytes_for_each_pixel(tmp_path, monkeypatch):
    monkeypatch.setenv("STEREO_MAX_PIXELS", "100")
    path = tmp_path / "a.bmp"
    path.write_bytes(bytes(24 * 100 + 2**20 + 1))
    with pytest.raises(
        DataError,
        match=f"has {24 * 100 + 2**20 + 1} bytes; at most {24 * 100 + 2**20} are read",
    ):
        read_image(path)
    path.write_bytes(bytes(24 * 100 + 2**20))
    with pytest.raises(DataError, match="may be damaged, truncated or not an image"):
        read_image(path)


@pytest.mark.parametrize("name", ["s.yaml", "scene.yaml", "calib.txt"])
def test_scripts_scenes_and_calibrations_have_a_megabyte(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    read = {
        "s.yaml": load,
        "scene.yaml": lambda path: load_scene(f"./{path}"),
        "calib.txt": read_any_calibration,
    }[name]
    Path(name).write_text("#" * (2**20 + 1))
    with pytest.raises(
        (DataError, ScriptError), match=f"has {2**20 + 1} bytes; at most {2**20} are read"
    ):
        read(name)
    Path(name).write_text("#" * 2**20)
    with pytest.raises((DataError, ScriptError)) as caught:
        read(name)
    assert "bytes; at most" not in str(caught.value)


def test_aliases_repeat_20000_values_and_values_are_nested_100_deep(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = ", ".join(["x"] * 200)
    for count, fault in ((98, ""), (101, "more than 20000 values")):
        Path("s.yaml").write_text(
            f"report: {{a: &a [{values}], b: [{', '.join(['*a'] * count)}]}}\ninclude: window\n"
        )
        with pytest.raises(ScriptError) as caught:
            load("s.yaml")
        assert ("more than 20000 values" in str(caught.value)) is bool(fault)
    for depth, fault in ((99, False), (101, True)):
        Path("s.yaml").write_text(f"include: window\nreport: {'[' * depth}{']' * depth}\n")
        with pytest.raises(ScriptError) as caught:
            load("s.yaml")
        assert ("nested too deeply" in str(caught.value)) is fault


@pytest.mark.parametrize(
    ("axes", "fault"),
    [
        ({"search.maximum": {"range": [1, 200_001, 1]}}, "200001"),
        pytest.param(
            {
                "search.minimum": {"range": [1, 150_000, 1]},
                "search.maximum": {"range": [1, 150_000, 1]},
            },
            "more than 200000 values",
            marks=pytest.mark.slow,
        ),
        ({"search.step": [1, 2], "search.maximum": {"range": [9, 100_009, 1]}}, "200002 runs"),
    ],
)
def test_a_script_has_200000_values_and_runs(axes, fault):
    with pytest.raises(ScriptError, match=fault):
        load({"include": "window", "sweep": {"grid": axes}})


def test_a_window_is_65536_pixels_wide_at_most():
    load({"include": "window"}, overrides=["aggregation.box.size=65535"])
    with pytest.raises(ScriptError, match="65537 pixels are more than any image has"):
        load({"include": "window"}, overrides=["aggregation.box.size=65537"])


def test_a_range_wider_than_the_image_is_refused_for_a_pair_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for side in ("left", "right"):
        write_image(f"{side}.png", np.zeros((24, 32), np.uint8))
    result = invoke("match", "left.png", "right.png", "--method", "window", "--disparities", "0:99")
    assert (result.exit_code, "100" in result.stderr and "32" in result.stderr) == (2, True), (
        result.stderr
    )


# --- errors -----------------------------------------------------------------------------------------------------------


def test_all_faults_of_a_script_are_reported_together():
    with pytest.raises(ScriptError) as caught:
        load(
            {
                "matching_cost": "nonsense",
                "optimization": "nonsense",
                "seed": "x",
                "sweep": {"grid": {"nonsense": [1]}},
            }
        )
    assert len(caught.value.faults) == 4


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ParameterError("wrong use"), 2),
        (OSError(28, "No space left on device", "file"), 2),
        (MemoryError(), 2),
        (ZeroDivisionError("a fault"), 70),
        (KeyboardInterrupt(), 130),
        (None, 0),
    ],
)
def test_exit_statuses(monkeypatch, error, status):
    def listed(*arguments, **options):
        if error is not None:
            raise error
        return []

    monkeypatch.setattr("stereo_framework.datasets.scene_names", listed)
    result = invoke("scenes")
    assert result.exit_code == status
    assert status in (0, 130) or result.stderr.startswith("error: ")
