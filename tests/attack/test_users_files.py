"""What belongs to the user stays as it is: scripts beside the results, plug-ins that nobody asked for, inputs."""

import shutil
import subprocess
import sys

import numpy as np
import pytest
from cli_parts import invoke

import stereo_framework
from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ScriptError
from stereo_framework.core.plugins import installed_plugins
from stereo_framework.engine import pipeline  # noqa: F401  registers the stages before a test forgets what it registered
from stereo_framework.io import file_stem, name_fault, read_image, write_disparity, write_image
from stereo_framework.script import load
from stereo_framework.tables.formats import csv_text

METHOD = "matching_cost: absolute_difference\noptimization: winner_take_all\nscenes: [synthetic/planes]\nsearch: {minimum: 0, maximum: 4}\n"
MARK = "open({path!r}, 'w').close()\n"
STAGE = """
from stereo_framework.stages import stage

@stage("refinement", source="a test")
def nothing_at_all(disparity):
    return disparity
"""


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


MINE = b"<svg>mine</svg>"
DRAWN = (
    METHOD
    + "aggregation: [box]\nsweep: {grid: {aggregation.box.size: [3, 5]}}\n"
    + "report: {plots: {p: {x: aggregation.box.size, y: bad_pixels_all}}, tables: {t: {rows: scene, columns: aggregation.box.size, value: bad_pixels_all}}}\n"
)
WRITTEN = {
    "run mine.yaml --out o --no-maps": ["mine.resolved.yaml"],
    "run drawn.yaml --report --out o": ["plots/p.svg", "tables/t.md", "report.html"],
    "tune drawn.yaml --statistic bad_pixels_all --trials 1 --out o": ["best.yaml"],
    "match left.png right.png --disparities 0:6 --method window -o o": ["picture.png"],
    "evaluate map.pfm --scene synthetic/planes --name map --out o": [
        "pictures/synthetic-planes_map_*_overview.png"
    ],
    "compare map.pfm other.pfm --scene synthetic/planes --out o": ["comparison.png"],
}
"""Commands, and names of files that they write; a star stands for the identity of a run."""
DRAWS = ("evaluate", "compare")


@pytest.fixture
def inputs(tmp_path):
    """What the commands read."""
    (tmp_path / "mine.yaml").write_text(METHOD)
    (tmp_path / "drawn.yaml").write_text(DRAWN)
    image = np.random.default_rng(3).integers(0, 255, (24, 40), dtype=np.uint8)
    write_image("left.png", image[:, :-3])
    write_image("right.png", image[:, 3:])
    truth = stereo_framework.load_scene("synthetic/planes").truth
    write_disparity("map.pfm", truth)
    write_disparity("other.pfm", truth + 1)


@pytest.mark.parametrize(
    "command",
    [pytest.param(c, marks=pytest.mark.slow if c.startswith(DRAWS) else ()) for c in WRITTEN],
)
def test_files_of_others_stay_where_something_is_written(tmp_path, inputs, command):
    if command.startswith("tune"):
        pytest.importorskip("optuna")
    paths = [tmp_path / "o" / name for name in WRITTEN[command] if "*" not in name]
    for pattern in [name for name in WRITTEN[command] if "*" in name]:
        # A first run shows the whole name.
        assert invoke(*command.split()).exit_code == 0
        paths += (tmp_path / "o").glob(pattern)
        shutil.rmtree(tmp_path / "o")
    assert len(paths) == len(WRITTEN[command])
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(MINE)
    result = invoke(*command.split())
    said = "was not written by this program, or was changed since, and is not overwritten"
    told = [line for line in result.stderr.splitlines() if said in line]
    assert result.exit_code == 2
    assert [path.name in line for path, line in zip(paths, told, strict=True)] == [True] * len(
        paths
    )
    for path in paths:
        assert path.read_bytes() == MINE
        path.unlink()
    # What it wrote itself it writes again.
    assert [invoke(*command.split()).exit_code for _ in range(2)] == [0, 0]


def test_a_script_beside_its_results_stays_as_it_is(tmp_path):
    mine, resolved = "# my comment\n" + METHOD, tmp_path / "mine.resolved.yaml"
    (tmp_path / "mine.yaml").write_text(mine)
    again = ("run", "mine.yaml", "--out", ".", "--no-maps")
    for words in (again, again, ("run", "mine.resolved.yaml", *again[2:])):
        assert invoke(*words).exit_code == 0
    # A changed one is the user's.
    changed = resolved.read_text() + "# changed\n"
    resolved.write_text(changed)
    assert (
        "mine.resolved.yaml: the file was not written by this program, or was changed since"
        in invoke(*again).stderr
    )
    assert (resolved.read_text(), (tmp_path / "mine.yaml").read_text()) == (changed, mine)


def test_match_does_not_replace_its_images(tmp_path, inputs):
    shutil.move("left.png", "disparity.png")
    before = (tmp_path / "disparity.png").read_bytes()
    result = invoke(
        "match",
        "disparity.png",
        "right.png",
        "--disparities",
        "0:6",
        "--method",
        "window",
        "-o",
        ".",
    )
    assert (
        result.exit_code,
        "disparity.png: the file was not written by this program" in result.stderr,
    ) == (2, True)
    assert (tmp_path / "disparity.png").read_bytes() == before
    assert not (tmp_path / "disparity.pfm").exists()


def test_a_report_passes_over_files_of_others(tmp_path, inputs):
    assert invoke("run", "mine.yaml", "--out", "o", "--no-maps").exit_code == 0
    (tmp_path / "o/broken.yaml").write_text("a: [")
    assert invoke("report", "o").exit_code == 0
    (tmp_path / "o/mine.resolved.yaml").write_text("a: [")
    result = invoke("report", "o")
    # The results do not depend on the resolved script, so that the report shows them.
    assert (result.exit_code, len(result.stderr.splitlines())) == (0, 1)
    assert "mine.resolved.yaml: is damaged" in result.stderr


def test_names_that_files_can_and_cannot_have():
    for name in ("a", "window (9x9)", "größe", "a.b-c_d", "9"):
        assert name_fault(name) is None
    for name in (
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "a\0",
        "a\n",
        "con",
        "NUL.txt",
        "a.",
        "a ",
        "-a",
        "~a",
        "C:x",
        "a" * 101,
    ):
        assert "cannot be the name of a file" in name_fault(name), name


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
    (tmp_path / "folder/s.yaml").write_text(
        f"plugins: [../plug.py]\n{METHOD}refinement: [nothing_at_all]\n"
    )
    return trace


def test_a_plug_in_outside_the_folder_is_not_run(tmp_path, stranger):
    result = invoke("check", "folder/s.yaml")
    assert result.exit_code == 2
    said = "'../plug.py' is outside the script's folder and was not imported, because an import executes the file; to allow it, add --plugin folder/../plug.py"
    assert said in result.stderr
    # Neither an include brings it nor a link.
    (tmp_path / "base.yaml").write_text(f"plugins: [plug.py]\n{METHOD}")
    (tmp_path / "folder/t.yaml").write_text("include: ../base.yaml\n")
    (tmp_path / "folder/near.py").symlink_to(tmp_path / "plug.py")
    (tmp_path / "folder/u.yaml").write_text(f"plugins: [near.py]\n{METHOD}")
    assert [invoke("check", f"folder/{name}.yaml").exit_code for name in "tu"] == [2, 2]
    assert not stranger.exists()
    assert invoke("check", "folder/s.yaml", "--plugin", "plug.py").exit_code == 0
    assert stranger.exists()
    assert len(load("folder/s.yaml", plugins=["plug.py"]).settings) == 1
    # Python scripts may name them anywhere.
    assert load({"include": "window", "plugins": [str(tmp_path / "plug.py")]}).plugins == (
        str(tmp_path / "plug.py"),
    )


def test_the_copy_of_a_plug_in_in_a_results_folder_is_not_run_unless_named(stranger):
    words = ("run", "folder/s.yaml", "--plugin", "plug.py", "--out", "o", "--no-maps")
    assert invoke(*words).exit_code == 0
    for words in (
        ["run", "o/s.resolved.yaml"],
        ["match", "--example", "--method", "o/s.resolved.yaml", "-o", "m"],
    ):
        stranger.unlink()
        assert invoke(*words).exit_code == 2
        assert not stranger.exists()
        program = [sys.executable, "-m", "stereo_framework"]
        command = [*program, *words, "--plugin", "o/plugins/plug.py"]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        assert stranger.exists()


def test_check_without_plug_ins(tmp_path, stranger):
    result = invoke("check", "--no-plugins", "folder/s.yaml")
    verdict = "no fault as far as it shows without its plug-ins (../plug.py); not checked: refinement nothing_at_all"
    plugin = f"a run executes the plug-in {tmp_path / 'plug.py'}"
    assert (result.exit_code, result.stdout) == (
        0,
        f"folder/s.yaml: {verdict}\nfolder/s.yaml: {plugin}\n",
    )
    assert not stranger.exists()
    # The rest is checked as ever, and so are scripts without plug-ins.
    with (tmp_path / "folder/s.yaml").open("a") as file:
        file.write("seed: x\n")
    (tmp_path / "plain.yaml").write_text(METHOD + "refinement: [nothing_at_all]\n")
    for name, fault in (
        ("folder/s.yaml", "seed: 'x' is not a whole number"),
        ("plain.yaml", "there is no stage 'nothing_at_all'"),
    ):
        result = invoke("check", "--no-plugins", name)
        assert (result.exit_code, fault in result.stderr) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "folder/own.yaml"),
        ("tune", "folder/own.yaml"),
        ("match", "--example", "--method", "folder/own.yaml"),
        ("choose", "--scene", "synthetic/planes", "--methods", "folder/own.yaml"),
        ("stages", "metrics", "--plugin", "plug.py"),
    ],
)
def test_no_command_executes_a_file_without_plug_ins(tmp_path, stranger, words):
    shutil.copy(tmp_path / "plug.py", tmp_path / "folder/plug.py")
    (tmp_path / "folder/own.yaml").write_text(f"plugins: [plug.py]\n{METHOD}")
    result = invoke(*words, "--no-plugins")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1), result.output
    assert "--no-plugins" in result.stderr
    assert not stranger.exists()


def test_installed_plug_ins_are_passed_over(tmp_path, monkeypatch):
    """A package with an entry point."""
    (tmp_path / "theirs.py").write_text("print('theirs was run')\n")
    (tmp_path / "theirs-1.dist-info").mkdir()
    (tmp_path / "theirs-1.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: theirs\nVersion: 1\n"
    )
    (tmp_path / "theirs-1.dist-info/entry_points.txt").write_text(
        "[stereo_framework.plugins]\ntheirs = theirs\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for more, run in ((["--no-plugins"], False), ([], True)):
        installed_plugins.cache_clear()  # as in a new process
        assert ("theirs was run" in invoke("stages", "box", *more).stdout) is run
    installed_plugins.cache_clear()
    monkeypatch.delitem(sys.modules, "theirs")


# --- limits -----------------------------------------------------------------------------------------------------------


def test_the_limit_of_pixels_can_be_moved(monkeypatch):
    write_image("a.png", np.zeros((20, 30), np.uint8))
    for limit, option, said in (
        (
            "599",
            (),
            "a.png: the file has 30x20 pixels; at most 599 are read "
            "(--max-pixels N, or STEREO_MAX_PIXELS=N",
        ),
        ("599", ("--max-pixels", "500"), "a.png: the file has 30x20 pixels; at most 500 are read"),
        ("many", (), "STEREO_MAX_PIXELS: 'many' is not a whole number above 0"),
    ):
        monkeypatch.setenv("STEREO_MAX_PIXELS", limit)
        result = invoke("match", "a.png", "a.png", *option)
        assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
        assert said in result.stderr
    # The option was for the one command.
    monkeypatch.setenv("STEREO_MAX_PIXELS", "600")
    assert read_image("a.png").shape == (20, 30)


def test_all_axes_together_have_a_limit(monkeypatch):
    monkeypatch.setattr(limits, "SETTINGS", 100)
    axes = {
        f"search.{key}": {"range": [first, first + 59, 1]}
        for key, first in (("minimum", 0), ("maximum", 100))
    }
    with pytest.raises(ScriptError, match="the axes of the script have more than 100 values"):
        load({"include": "window", "sweep": {"zip": axes}})


def test_so_many_faults_are_told(monkeypatch):
    monkeypatch.setattr(limits, "FAULTS", 3)
    with pytest.raises(ScriptError) as caught:
        load({"include": "window", "methods": {f"m{i}": {"aggregation": "x"} for i in range(9)}})
    assert len(caught.value.faults) == 4
    assert caught.value.faults[-1] == "script: there are further faults"


def test_a_name_of_several_lines_is_told_in_one():
    with pytest.raises(DataError) as caught:
        read_image("a\n\nb.png")
    assert len(str(caught.value).splitlines()) == 1


# --- the last catch ---------------------------------------------------------------------------------------------------


def failing(monkeypatch, error, *words):
    """What `scenes` ends with where the error is raised in it."""

    def fails(*arguments, **options):
        raise error

    monkeypatch.setattr("stereo_framework.datasets.scene_names", fails)
    return invoke("scenes", *words)


def test_what_nobody_thought_of_is_one_line(monkeypatch):
    result = failing(monkeypatch, ZeroDivisionError("division by\nzero"))
    assert result.exit_code == 70
    [line] = result.stderr.splitlines()
    assert line.startswith("error: ZeroDivisionError: division by zero (test_users_files.py:")
    assert "please report it" in line
    shown = failing(monkeypatch, ZeroDivisionError("division by\nzero"), "--traceback").stderr
    assert line in shown
    assert "Traceback (most recent call last)" in shown


def test_what_the_system_refuses_is_one_line(monkeypatch):
    result = failing(monkeypatch, PermissionError(13, "Permission denied", "/root/x"))
    assert (result.exit_code, result.stderr) == (2, "error: /root/x: Permission denied\n")


def test_cells_that_a_spreadsheet_would_compute():
    rows = [["=1+1", "+x", "-y", "@z", "-1.5", "+2", "-", -3.5, None, "a=b", "=HYPERLINK('x')"]]
    assert csv_text(["=m"], rows) == "'=m\n'=1+1,'+x,'-y,'@z,-1.5,+2,-,-3.5,,a=b,'=HYPERLINK('x')\n"
