"""What belongs to the user stays as it is: scripts beside the results, plug-ins that nobody asked for, inputs."""

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from cli_parts import invoke

import stereo_framework
from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ScriptError
from stereo_framework.engine import pipeline  # noqa: F401  registers the stages before a test forgets what it registered
from stereo_framework.io import file_stem, name_fault, read_image, write_disparity, write_image
from stereo_framework.page.page import Page, Picture, Section
from stereo_framework.script import load
from stereo_framework.tables.tables import csv_text

METHOD = "matching_cost: absolute_difference\noptimization: winner_take_all\nscenes: [synthetic/planes]\nsearch: {minimum: 0, maximum: 4}\n"
MARK = "open({path!r}, 'w').close()\n"
STAGE = """
from stereo_framework.core.stage import stage

@stage("refinement", source="a test")
def nothing_at_all(disparity):
    return disparity
"""


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


def test_a_script_beside_its_results_stays_as_it_is(tmp_path):
    mine, other = "# my comment\n" + METHOD, "# another of mine\n" + METHOD
    (tmp_path / "mine.yaml").write_text(mine)
    (tmp_path / "best.yaml").write_text(other)
    assert invoke("run", "mine.yaml", "--out", ".", "--no-maps").exit_code == 0
    assert (tmp_path / "mine.yaml").read_text() == mine
    assert (tmp_path / "best.yaml").read_text() == other
    # The same command, and the resolved script itself, run again.
    assert invoke("run", "mine.yaml", "--out", ".", "--no-maps").exit_code == 0
    assert invoke("run", "mine.resolved.yaml", "--out", ".", "--no-maps").exit_code == 0
    # A changed one is the user's.
    with (tmp_path / "mine.resolved.yaml").open("a") as file:
        file.write("# changed\n")
    result = invoke("run", "mine.yaml", "--out", ".", "--no-maps")
    assert result.exit_code == 2
    assert "mine.resolved.yaml: was not written by this program, or was changed since" in result.stderr
    assert (tmp_path / "mine.resolved.yaml").read_text().endswith("# changed\n")


def test_tune_keeps_a_script_that_is_called_best(tmp_path):
    pytest.importorskip("optuna")
    mine = METHOD + "aggregation: [box]\nsweep: {grid: {aggregation.box.size: [3, 5]}}\n"
    (tmp_path / "best.yaml").write_text(mine)
    result = invoke("tune", "best.yaml", "--statistic", "bad_pixels_all", "--trials", 1, "--out", ".")
    assert result.exit_code == 2, result.output
    assert "best.yaml: was not written by this program" in result.stderr
    assert (tmp_path / "best.yaml").read_text() == mine


def test_a_report_passes_over_files_of_others(tmp_path):
    (tmp_path / "mine.yaml").write_text(METHOD)
    assert invoke("run", "mine.yaml", "--out", "o", "--no-maps").exit_code == 0
    (tmp_path / "o/broken.yaml").write_text("a: [")
    assert invoke("report", "o").exit_code == 0
    (tmp_path / "o/plots").mkdir()
    (tmp_path / "o/plots/p.svg").write_bytes(b"\xff\xfe no picture")
    result = invoke("report", "o")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "p.svg: is damaged or no SVG file" in result.stderr
    (tmp_path / "o/plots/p.svg").unlink()
    (tmp_path / "o/mine.resolved.yaml").write_text("a: [")
    result = invoke("report", "o")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "mine.resolved.yaml: is damaged" in result.stderr


@pytest.mark.parametrize("name", ["a", "window (9x9)", "größe", "a.b-c_d", "9"])
def test_names_that_files_can_have(name):
    assert name_fault(name) is None


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a\\b", "a\0", "a\n", "con", "NUL.txt", "a.", "a ", "-a", "~a", "C:x", "a" * 101]
)
def test_names_that_files_cannot_have(name):
    assert "cannot be the name of a file" in name_fault(name)


def test_stems_of_files():
    assert file_stem("a/../b:c") == "a-..-b-c"
    assert len(file_stem("x" * 500)) == 80
    assert file_stem("???") == "scene"


# --- plug-ins ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def stranger(tmp_path):
    """A script in a folder of its own that names a plug-in above it, which leaves a trace when it is run."""
    trace = tmp_path / "trace"
    (tmp_path / "plug.py").write_text(MARK.format(path=str(trace)) + STAGE)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/s.yaml").write_text(f"plugins: [../plug.py]\n{METHOD}refinement: [nothing_at_all]\n")
    return trace


def test_a_plug_in_outside_the_folder_is_not_run(tmp_path, stranger):
    result = invoke("check", "folder/s.yaml")
    assert result.exit_code == 2
    assert (
        "'../plug.py' lies outside the script's folder, and importing it runs it; --plugin folder/../plug.py allows that"
        in result.stderr
    )
    assert not stranger.exists()
    assert invoke("check", "folder/s.yaml", "--plugin", "plug.py").exit_code == 0
    assert stranger.exists()
    assert len(load("folder/s.yaml", plugins=["plug.py"]).settings) == 1
    # What was resolved names it by its whole path, and is as foreign.
    assert invoke("run", "folder/s.yaml", "--plugin", "plug.py", "--out", "o", "--no-maps").exit_code == 0
    assert invoke("run", "o/s.resolved.yaml").exit_code == 2
    assert invoke("run", "o/s.resolved.yaml", "--plugin", "plug.py").exit_code == 0
    assert invoke("match", "--example", "--method", "o/s.resolved.yaml", "-o", "m").exit_code == 2
    assert invoke("match", "--example", "--method", "o/s.resolved.yaml", "-o", "m", "--plugin", "plug.py").exit_code == 0


def test_an_include_brings_no_plug_in_from_elsewhere(tmp_path, stranger):
    (tmp_path / "base.yaml").write_text(f"plugins: [plug.py]\n{METHOD}")
    (tmp_path / "folder/t.yaml").write_text("include: ../base.yaml\n")
    assert invoke("check", "folder/t.yaml").exit_code == 2
    assert not stranger.exists()


def test_a_link_does_not_bring_a_plug_in_nearer(tmp_path, stranger):
    (tmp_path / "folder/near.py").symlink_to(tmp_path / "plug.py")
    (tmp_path / "folder/s.yaml").write_text(f"plugins: [near.py]\n{METHOD}")
    assert invoke("check", "folder/s.yaml").exit_code == 2
    assert not stranger.exists()


def test_check_without_plug_ins(tmp_path, stranger):
    result = invoke("check", "--no-plugins", "folder/s.yaml")
    assert result.exit_code == 0, result.output
    assert (
        result.stdout
        == "folder/s.yaml: no fault as far as it shows without its plug-ins (../plug.py); not checked: refinement nothing_at_all\n"
    )
    assert not stranger.exists()
    # The rest is checked as ever, and so are scripts without plug-ins.
    with (tmp_path / "folder/s.yaml").open("a") as file:
        file.write("seed: x\n")
    result = invoke("check", "--no-plugins", "folder/s.yaml")
    assert result.exit_code == 2
    assert "seed: 'x' is not a whole number" in result.stderr
    (tmp_path / "plain.yaml").write_text(METHOD + "refinement: [nothing_at_all]\n")
    assert "no stage 'nothing_at_all'" in invoke("check", "--no-plugins", "plain.yaml").stderr


@pytest.mark.parametrize(
    "words",
    [
        ("run", "folder/own.yaml"),
        ("tune", "folder/own.yaml"),
        ("match", "--example", "--method", "folder/own.yaml"),
        ("choose", "--scene", "synthetic/planes", "--methods", "folder/own.yaml"),
        ("stages", "measures", "--plugin", "plug.py"),
    ],
)
def test_no_verb_executes_a_file_without_plug_ins(tmp_path, stranger, words):
    shutil.copy(tmp_path / "plug.py", tmp_path / "folder/plug.py")
    (tmp_path / "folder/own.yaml").write_text(f"plugins: [plug.py]\n{METHOD}")
    result = invoke(*words, "--no-plugins")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1), result.output
    assert "--no-plugins" in result.stderr
    assert not stranger.exists()


def test_installed_plug_ins_are_passed_over(tmp_path):
    """A package with an entry point, in a process of its own."""
    (tmp_path / "theirs.py").write_text("print('theirs was run')\n")
    (tmp_path / "theirs-1.dist-info").mkdir()
    (tmp_path / "theirs-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1\n")
    (tmp_path / "theirs-1.dist-info/entry_points.txt").write_text("[stereo_framework.plugins]\ntheirs = theirs\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    for more, run in (([], True), (["--no-plugins"], False)):
        command = [sys.executable, "-m", "stereo_framework", "stages", "box", *more]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": path})
        assert ("theirs was run" in done.stdout) is run


# --- limits -----------------------------------------------------------------------------------------------------------


def test_the_limit_of_pixels_can_be_moved(tmp_path, monkeypatch):
    write_image("a.png", np.zeros((20, 30), np.uint8))
    monkeypatch.setenv("STEREO_MAX_PIXELS", "599")
    with pytest.raises(
        DataError, match=r"a\.png: says 30x20 pixels; at most 599 are read \(--max-pixels N, or STEREO_MAX_PIXELS=N"
    ):
        read_image("a.png")
    result = invoke("match", "a.png", "a.png", "--max-pixels", "500")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "a.png: says 30x20 pixels; at most 500 are read" in result.stderr
    # The option is for the one command.
    with pytest.raises(DataError, match="at most 599 are read"):
        read_image("a.png")
    monkeypatch.setenv("STEREO_MAX_PIXELS", "600")
    assert read_image("a.png").shape == (20, 30)
    monkeypatch.setenv("STEREO_MAX_PIXELS", "many")
    result = invoke("match", "a.png", "a.png")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "STEREO_MAX_PIXELS: 'many' is not a whole number above 0" in result.stderr


def test_all_axes_together_have_a_limit(monkeypatch):
    monkeypatch.setattr(limits, "SETTINGS", 100)
    axes = {f"search.{key}": {"range": [first, first + 59, 1]} for key, first in (("minimum", 0), ("maximum", 100))}
    with pytest.raises(ScriptError, match="the axes of the script have more than 100 values"):
        load({"include": "window", "sweep": {"zip": axes}})


def test_so_many_faults_are_told(monkeypatch):
    monkeypatch.setattr(limits, "FAULTS", 3)
    with pytest.raises(ScriptError) as caught:
        load({"include": "window", "methods": {f"m{i}": {"aggregation": "x"} for i in range(9)}})
    assert len(caught.value.faults) == 4
    assert caught.value.faults[-1] == "script: there are further faults"


@pytest.mark.parametrize("words", [["x" * 50_000], ["--" + "x" * 50_000], ["match", "--" + "x" * 50_000]])
def test_wrong_words_are_shown_shortened(words):
    result = invoke(*words)
    assert result.exit_code == 2
    assert re.search(r"\(500\d\d characters\)", result.stderr)
    assert len(result.stderr) < 1000


def test_a_name_of_several_lines_is_told_in_one():
    with pytest.raises(DataError) as caught:
        read_image("a\n\nb.png")
    assert len(str(caught.value).splitlines()) == 1


# --- the last catch ---------------------------------------------------------------------------------------------------


def test_what_nobody_thought_of_is_one_line(monkeypatch):
    def fails(*arguments, **options):
        raise ZeroDivisionError("division by\nzero")

    monkeypatch.setattr("stereo_framework.datasets.scene_names", fails)
    result = invoke("scenes")
    assert result.exit_code == 70
    [line] = result.stderr.splitlines()
    assert line.startswith("error: ZeroDivisionError: division by zero (test_users_files.py:")
    assert "please report it" in line
    shown = invoke("scenes", "--traceback").stderr
    assert line in shown
    assert "Traceback (most recent call last)" in shown


def test_a_stage_that_exits_is_a_run_that_failed(tmp_path):
    (tmp_path / "p.py").write_text(STAGE.replace("return disparity", "raise SystemExit(3)"))
    (tmp_path / "s.yaml").write_text(f"plugins: [p.py]\n{METHOD}refinement: [nothing_at_all]\n")
    result = invoke("run", "s.yaml")
    assert result.exit_code == 1
    assert "refinement stage nothing_at_all: RuntimeError: calls sys.exit(3)" in result.stderr


def test_what_the_system_refuses_is_one_line(monkeypatch):
    def fails(*arguments, **options):
        raise PermissionError(13, "Permission denied", "/root/x")

    monkeypatch.setattr("stereo_framework.datasets.scene_names", fails)
    result = invoke("scenes")
    assert (result.exit_code, result.stderr) == (2, "error: /root/x: Permission denied\n")


def test_cells_that_a_spreadsheet_would_compute():
    rows = [["=1+1", "+x", "-y", "@z", "-1.5", "+2", "-", -3.5, None, "a=b", "=HYPERLINK('x')"]]
    assert csv_text(["=m"], rows) == "'=m\n'=1+1,'+x,'-y,'@z,-1.5,+2,-,-3.5,,a=b,'=HYPERLINK('x')\n"


def test_python_scripts_may_name_plug_ins_anywhere(tmp_path, stranger):
    loaded = load({"include": "window", "plugins": [str(tmp_path / "plug.py")]})
    assert loaded.plugins == (str(tmp_path / "plug.py"),)
    assert stranger.exists()


# --- what match writes ------------------------------------------------------------------------------------------------


@pytest.fixture
def images():
    """Two images, the left one called as the map will be."""
    image = np.random.default_rng(3).integers(0, 255, (24, 40), dtype=np.uint8)
    write_image("disparity.png", image[:, :-3])
    write_image("right.png", image[:, 3:])
    return "disparity.png", "right.png", "--disparities", "0:6", "--method", "window"


def test_match_replaces_what_it_wrote_and_nothing_else(tmp_path, images):
    for _ in range(2):
        assert invoke("match", *images, "-o", "o").exit_code == 0
    before = (tmp_path / "disparity.png").read_bytes()
    result = invoke("match", *images, "-o", ".")
    assert result.exit_code == 2
    assert "disparity.png: was not written by this program" in result.stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/picture.png").write_bytes(b"mine")
    result = invoke("match", *images, "-o", "mine")
    assert result.exit_code == 2
    assert "mine/picture.png: was not written by this program, or was changed since, and is not overwritten" in result.stderr
    assert (tmp_path / "disparity.png").read_bytes() == before
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["picture.png"]


# --- what else stands in output folders -------------------------------------------------------------------------------

_MINE = b"<svg>mine</svg>"
_DRAWN = (
    METHOD
    + "aggregation: [box]\nsweep: {grid: {aggregation.box.size: [3, 5]}}\n"
    + "report: {plots: {p: {x: aggregation.box.size, y: bad_pixels_all}}, tables: {t: {rows: scene, columns: aggregation.box.size, value: bad_pixels_all}}}\n"
)


def test_files_of_others_beside_results(tmp_path):
    (tmp_path / "drawn.yaml").write_text(_DRAWN)
    paths = [tmp_path / "o" / name for name in ("plots/p.svg", "tables/t.md", "report.html")]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_MINE)
    again = "run", "drawn.yaml", "--report", "--out", "o"
    result = invoke(*again)
    told = [
        line
        for line in result.stderr.splitlines()
        if "was not written by this program, or was changed since, and is not overwritten" in line
    ]
    assert [path.name in line for path, line in zip(paths, told, strict=True)] == [True] * 3
    assert [path.read_bytes() for path in paths] == [_MINE] * 3
    for path in paths:
        path.unlink()
    assert invoke(*again).exit_code == 0
    assert invoke(*again).exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("pictures/map_overview.png", ["evaluate", "map.pfm", "--scene", "synthetic/planes", "--name", "map"]),
        ("comparison.png", ["compare", "map.pfm", "other.pfm", "--scene", "synthetic/planes"]),
    ],
)
def test_files_of_others_beside_pictures(tmp_path, name, arguments):
    truth = stereo_framework.load_scene("synthetic/planes").truth
    write_disparity("map.pfm", truth)
    write_disparity("other.pfm", truth + 1)
    path = tmp_path / "o" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(_MINE)
    result = invoke(*arguments, "--out", "o")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert f"{name}: was not written by this program, or was changed since, and is not overwritten" in result.stderr
    assert path.read_bytes() == _MINE
    path.unlink()
    assert invoke(*arguments, "--out", "o").exit_code == 0
    assert invoke(*arguments, "--out", "o").exit_code == 0


def test_pictures_of_a_page_that_are_somebody_elses_stay(tmp_path):
    page = Page("p", sections=[Section("s", [Picture("<svg/>", "a drawing")])])
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/p-7.svg").write_bytes(_MINE)
    for _ in range(2):
        page.write(tmp_path / "p.html")
    assert sorted(path.name for path in (tmp_path / "assets").iterdir()) == ["p-0.svg", "p-7.svg"]
