"""What is written is whole, stays in its folder, and replaces nothing of others: killed and cut-off writes, links, names, forged stores."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from cli_parts import invoke

from stereo_framework.core.errors import DataError
from stereo_framework.io import output_folder, read_pfm, write_bytes, write_disparity, write_image
from stereo_framework.io._files import RECORD
from stereo_framework.own_pair.pairs import pairs
from stereo_framework.sweep import Store
from stereo_framework.tables.formats import to_text
from stereo_framework.tables.tables import Table

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, signals and limits of POSIX")

SCENE = "middlebury-v3/trainingQ/Small"
METHOD = {"matching_cost": "absolute_difference", "aggregation": ["box"], "optimization": "winner_take_all"}
SCRIPT = {
    **METHOD,
    "scenes": [SCENE],
    "methods": {"a": {}, "b": {"refinement": ["median"]}},
    "report": {"tables": {"t": {"rows": "scene", "columns": "method", "value": "bad_pixels_all"}}},
}
CALIB = "cam0=[100 0 16; 0 100 12; 0 0 1]\ncam1=[100 0 16; 0 100 12; 0 0 1]\ndoffs=0\nbaseline=10\nwidth=64\nheight=48\nndisp=9\n"
SECRET = b"what was there before\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A data root with a scene, a script, images, and a results folder of the script; nobody writes to it."""
    home = tmp_path_factory.mktemp("made")
    image = np.random.default_rng(0).integers(0, 256, (48, 67, 3), dtype=np.uint8)
    folder = home / "root" / SCENE
    folder.mkdir(parents=True)
    for view, first in ((0, 0), (1, 3)):
        write_image(folder / f"im{view}.png", image[:, first : first + 64])
        shutil.copy(folder / f"im{view}.png", home / ("left.png", "right.png")[view])
    write_disparity(folder / "disp0GT.pfm", np.full((48, 64), 3, np.float32))
    write_image(folder / "mask0nocc.png", np.full((48, 64), 255, np.uint8))
    (folder / "calib.txt").write_text(CALIB)
    (home / "sw.yaml").write_text(yaml.safe_dump(SCRIPT, sort_keys=False))
    parts = {**SCRIPT, "methods": {"a": {"scheme": {"use": "tiles", "size": 32, "overlap": 8}}}}
    (home / "tiled.yaml").write_text(yaml.safe_dump(parts, sort_keys=False))
    swept = {**METHOD, "scenes": [SCENE], "sweep": {"grid": {"aggregation.box.size": [3, 5]}}}
    (home / "swept.yaml").write_text(yaml.safe_dump(swept, sort_keys=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEREO_DATA", str(home / "root"))
        assert call("run", home / "sw.yaml", "--out", home / "o").exit_code == 0
    return home


@pytest.fixture
def home(made, tmp_path, monkeypatch):
    """A copy of it to work in, with a folder of somebody else beside the results."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("STEREO_DATA", str(tmp_path / "root"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/bashrc").write_bytes(SECRET)
    return tmp_path


def call(*arguments):
    """A verb; whatever goes wrong is a line and no fault of the program."""
    result = invoke(*arguments)
    assert result.exit_code in (0, 1, 2), result.output
    return result


def content(folder):
    """All files below a folder, and its folders; what SQLite and the kills leave beside them does not count."""
    left = (RECORD, "writer.lock", "results.sqlite", "results.sqlite-wal", "results.sqlite-shm")
    found = (path for path in sorted(folder.rglob("*")) if path.name not in left and not path.name.endswith("-part"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in found}


# --- folders that somebody else has made ------------------------------------------------------------------------------

RUN, REPORT = ("run", "sw.yaml", "--out", "o", "--report"), ("report", "o")
TUNE = ("tune", "swept.yaml", "--statistic", "bad_pixels_all", "--trials", 1, "--out", "o")
EXPORT = ("results", "o", "--export", "middlebury-v3")


def link(name, to="bashrc"):
    """A file or folder of the results replaced by a link to something of the victim's."""

    def make(home):
        path = home / "o" / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(home / "victim" / to)

    return make


def second_name(name):
    def make(home):
        (home / "o" / name).unlink(missing_ok=True)
        os.link(home / "victim/bashrc", home / "o" / name)

    return make


def store(linked):
    def make(home):
        shutil.copy(home / "o/results.sqlite", home / "victim/theirs.sqlite")
        (home / "o/results.sqlite").unlink()
        linked(home / "victim/theirs.sqlite", home / "o/results.sqlite")

    return make


def stored(**columns):
    """Other values in the store."""

    def make(home):
        db = sqlite3.connect(home / "o/results.sqlite")
        for name, value in columns.items():
            column = "details" if name == "parameters" else "row"
            new = value if value.startswith("{") else json.dumps(value)
            # As a text: SQLite itself refuses some of these values.
            for number, text in db.execute(f"SELECT rowid, {column} FROM results").fetchall():
                marked = json.dumps(json.loads(text) | {name: "@"}).replace('"@"', new)
                db.execute(f"UPDATE results SET {column} = ? WHERE rowid = ?", (marked, number))
        db.commit()
        db.close()

    return make


def a_map(home):
    [path] = (home / "o/maps").glob("*_a_*.pfm")
    link(path.relative_to(home / "o"))(home)


HOSTILE = {
    "page": (link("report.html"), REPORT, RUN),
    "page that is not there yet": (link("report.html", "new.html"), REPORT, RUN),
    "record": (link(RECORD), REPORT, RUN, EXPORT),
    "record that is not there yet": (link(RECORD, "new"), REPORT, RUN, EXPORT),
    "second name of the record": (second_name(RECORD), REPORT, RUN, EXPORT),
    "assets": (link("assets", "."), REPORT, RUN),
    "maps": (link("maps", "."), RUN),
    "one map": (a_map, RUN),
    "pictures": (link("pictures", "."), RUN),
    "tables": (link("tables", "."), RUN),
    "script": (link("sw.resolved.yaml"), RUN),
    "script that is being written": (link(".sw.resolved.yaml.part"), RUN),
    "best script": (link("best.yaml"), TUNE),
    "tiles": (link("parts", "."), ("run", "tiled.yaml", "--out", "o", "--maps")),
    "scenes": (
        link("scenes", "."),
        ("match", "left.png", "right.png", "--method", "window", "--disparities", "0:8", "-o", "o"),
    ),
    "submissions": (link("submissions", "."), EXPORT),
    "store": (store(lambda old, new: new.symlink_to(old)), RUN, REPORT, ("results", "o")),
    "second name of the store": (store(os.link), RUN, REPORT, ("results", "o")),
    "lock": (link("writer.lock"), RUN),
    "lock that is not there yet": (link("writer.lock", "new"), RUN),
    "journal": (link("results.sqlite-wal"), RUN, REPORT),
    "files of a match": (link("disparity.pfm"), ("match", "left.png", "right.png", "--method", "ssd", "-o", "o")),
    "scene above": (stored(scene="middlebury-v3/../../../victim"), EXPORT),
    "absolute scene": (
        lambda home: stored(scene=f"middlebury-v3/{home}/victim")(home),
        EXPORT,
    ),
    "scene above, KITTI": (stored(scene="kitti2015/../../../victim/x"), ("results", "o", "--export", "kitti2015")),
    "method above": (stored(method="../../victim"), EXPORT, REPORT, ("rank", "o", "--boundary", "--out", "s")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_outside_changes(name, home):
    make, *verbs = HOSTILE[name]
    make(home)
    before = content(home / "victim"), {path.name for path in home.iterdir()}
    for verb in verbs:
        call(*verb)
        assert (content(home / "victim"), {path.name for path in home.iterdir()} - {"s"}) == before, verb


def test_an_export_says_what_leads_out(home):
    stored(scene="middlebury-v3/../../../../victim")(home)
    result = call(*EXPORT)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 2)
    assert "leads out of the folder" in result.stderr


# --- what ends a write ------------------------------------------------------------------------------------------------

VERBS = {
    "run": RUN,
    "report": REPORT,
    "match": ("match", "left.png", "right.png", "--method", "ssd", "--disparities", "0:8", "-o", "o"),
    "export": EXPORT,
}

KILLED = """
import os, signal, sys
number = int(sys.argv.pop(1))
def watch(event, arguments):
    # Each time a file of the folder is opened to be written, and each time one gets its name. What is killed while it writes leaves some bytes.
    global number
    if event not in ("open", "os.rename") or not isinstance(arguments[0], str) or os.getcwd() not in os.path.abspath(arguments[0]):
        return
    if event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR):
        return
    number -= 1
    if number == 0:
        if event == "open":
            os.write(os.open(arguments[0], os.O_WRONLY | os.O_CREAT | os.O_APPEND), b"half")
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
from stereo_framework.cli.main import main
main()
"""
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)),) * 2)
from stereo_framework.cli.main import main
main()
"""


def child(program, *words):
    command = [sys.executable, "-c", program, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def finishes_after(home, verb, end):
    """A verb that `end` ends, and the same once more: the files are those of a verb that nothing ended."""
    for folder, first in (("undisturbed", call), ("o", end)):
        shutil.rmtree(home / "o", ignore_errors=True)
        if verb not in ("run", "match"):
            shutil.copytree(home / "untouched", home / "o")
        first(*VERBS[verb])
        if first is call:
            (home / "o").rename(home / folder)
    result = call(*VERBS[verb])
    assert (result.exit_code, "overwritten" in result.stderr) == (0, False), result.output
    undisturbed, own = (
        {name: data for name, data in content(home / folder).items() if verb != "run" or name != "report.html"}
        for folder in ("undisturbed", "o")
    )
    assert own == undisturbed
    if verb == "run":
        # Its page tells seconds.
        rows = []
        for folder in ("undisturbed", "o"):
            with Store(home / folder) as found:
                rows.append([(r.id, r.method, r.statistics, np.nansum(r.disparity)) for r in found.results()])
        assert rows[0] == rows[1]


@pytest.fixture
def untouched(home):
    shutil.copytree(home / "o", home / "untouched")
    return home


def killed(verb, number):
    done = child(KILLED, number, *VERBS[verb])
    assert done.returncode == -9, done.stderr


@pytest.mark.parametrize("verb", [verb if verb == "run" else pytest.param(verb, marks=pytest.mark.slow) for verb in VERBS])
def test_a_killed_write_is_made_up_for(verb, untouched):
    finishes_after(untouched, verb, lambda *_: killed(verb, 4))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "number"),
    [("run", n) for n in (1, 2, 3, 5, 6, 7, 8, 9, 12, 20)]
    + [(v, n) for v in ("report", "match", "export") for n in (1, 2, 3, 5)],
)
def test_kills_while_files_are_written(verb, number, untouched):
    finishes_after(untouched, verb, lambda *_: killed(verb, number))


@pytest.mark.parametrize(
    ("verb", "most"),
    [("run", 4096), ("report", 20_000)]
    + [pytest.param(*case, marks=pytest.mark.slow) for case in (("run", 70_000), ("match", 10_000), ("export", 10_000))],
)
def test_a_full_disk_is_made_up_for(verb, most, untouched):
    def fill(*_):
        done = child(LIMITED, most, *VERBS[verb])
        assert done.returncode == 2, done.stderr
        assert done.stderr.splitlines()[-1].startswith("error: "), done.stderr
        assert "Traceback" not in done.stderr

    finishes_after(untouched, verb, fill)


# --- whose a file is --------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_unless_something_is_lost(tmp_path):
    mine = tmp_path / "mine.svg"
    mine.write_bytes(b"mine")
    with output_folder(tmp_path):
        for name in ("plots/p.svg", "plots/cut.svg", "plots/empty.svg", "plots/edited.svg"):
            write_bytes(tmp_path / name, b"first")
    for name, data in (("cut", b"sec"), ("empty", b""), ("edited", b"first, edited")):
        (tmp_path / f"plots/{name}.svg").write_bytes(data)
    with output_folder(tmp_path):
        for name in ("p", "cut", "empty"):
            write_bytes(tmp_path / f"plots/{name}.svg", b"second")
        for path in (mine, tmp_path / "plots/edited.svg"):
            with pytest.raises(DataError, match=r"\.svg: was not written by this program, or was changed since, and is not"):
                write_bytes(path, b"second")
        # What was written under another name is the user's where it was copied to.
        shutil.copy(tmp_path / "plots/p.svg", tmp_path / "copy.svg")
        with pytest.raises(DataError, match=r"copy\.svg: was not written"):
            write_bytes(tmp_path / "copy.svg", b"third")
    assert [path.read_bytes() for path in sorted((tmp_path / "plots").iterdir())] == [
        b"second",
        b"first, edited",
        b"second",
        b"second",
    ]
    assert mine.read_bytes() == b"mine"
    # Elsewhere a file was named by the user; a link is followed, and what is protected stays.
    (tmp_path / "link.svg").symlink_to(mine)
    write_bytes(tmp_path / "link.svg", b"named")
    assert (mine.read_bytes(), (tmp_path / "link.svg").is_symlink()) == (b"named", True)
    assert not list(tmp_path.rglob("*-part"))


def test_what_another_process_left_amid_a_write_goes(home):
    old, new = (home / f"o/maps/.{age}.stereo-framework-part" for age in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert call(*RUN).exit_code == 0
    # A young one may be that of a command that is still writing.
    assert (old.exists(), new.exists()) == (False, True)


def test_a_copy_without_the_record_goes_on(home):
    (home / "o" / RECORD).unlink()
    assert call("run", "sw.yaml", "--out", "o").exit_code == 0


# --- maps, folders and names ------------------------------------------------------------------------------------------


def cut_off(path):
    os.truncate(path, 5000)


@pytest.mark.parametrize("damage", [cut_off, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_map_that_was_cut_off_is_made_again(damage, home):
    [path] = (home / "o/maps").glob("*_a_*.pfm")
    whole = read_pfm(path)
    damage(path)
    result = call("run", "sw.yaml", "--out", "o")
    assert (result.exit_code, result.stderr) == (0, "")
    np.testing.assert_array_equal(read_pfm(path), whole)


@pytest.mark.parametrize("maps", ["--maps", "--no-maps"])
def test_a_folder_that_goes_away_is_told(maps, home, monkeypatch):
    from stereo_framework.sweep import runs

    computed = runs.computed

    def going(*arguments):
        for found in computed(*arguments):
            if (home / "o").exists():
                shutil.rmtree(home / "o")
            yield found

    shutil.rmtree(home / "o")
    monkeypatch.setattr(runs, "computed", going)
    monkeypatch.setattr("stereo_framework.cli.run._pictures", lambda *_: None)
    result = call("run", "sw.yaml", "--out", "o", maps)
    assert result.exit_code == 2
    assert "o: was removed or moved during the run; the results in it went with it" in result.stderr.splitlines()[-1]
    assert not (home / "o").exists()


@pytest.mark.slow  # five processes
def test_names_that_are_not_utf_8(home):
    odd = os.fsdecode(b"caf\xe9")
    main = "from stereo_framework.cli.main import main; main()"
    shutil.copy("left.png", f"{odd}.png")
    verbs = (
        ("run", "sw.yaml", "--out", odd, "--report"),
        ("results", odd),
        ("match", f"{odd}.png", "right.png", "--method", "ssd", "--disparities", "0:8"),
        ("match", f"{odd}.png", "right.png", "--method", "ssd", "--disparities", "0:8", "-o", "own"),
    )
    for verb in verbs:
        done = child(main, *verb)
        assert done.returncode == 0, (verb, done.stderr)
    assert {"report.html", "results.sqlite"} <= {path.name for path in Path(odd).iterdir()}
    assert (Path(f"{odd}_match") / "disparity.pfm").is_file()


@pytest.mark.parametrize(
    "words", [("run", "sw.yaml", "--out", ""), ("run", "sw.yaml", "--out="), ("match", "left.png", "right.png", "-o", "")]
)
def test_an_empty_folder_is_refused(words, home):
    before = content(home)
    result = call(*words)
    assert result.exit_code == 2
    [line] = result.stderr.splitlines()
    assert line.endswith(": an empty text says nothing; leave it out or write something")
    assert line.startswith(f"error: {words[-2] if words[-1] == '' else '--out'}: ")
    assert content(home) == before


@pytest.mark.parametrize(("count", "fits"), [(33, True), (34, False), (100, False)])
def test_check_refuses_names_that_run_cannot_write(count, fits, home):
    Path("k.yaml").write_text(yaml.safe_dump({**SCRIPT, "methods": {"漢" * count: {}}}, allow_unicode=True), encoding="utf-8")
    assert call("check", "k.yaml").exit_code == (0 if fits else 2)
    assert call("run", "k.yaml", "--out", "k").exit_code == (0 if fits else 2)
    long = Path(f"{'x' * 245}.yaml")
    shutil.copy("sw.yaml", long)
    assert "too long for that of the resolved script" in call("check", long).stderr


def test_many_pairs_of_the_same_names_are_all_kept(home):
    for name in "ab":
        Path("b2", name).mkdir(parents=True)
        for side in ("left.png", "right.png"):
            shutil.copy(side, Path("b2", name, side))
    assert call("match", "b2/*/left.png", "b2/*/right.png", "--method", "ssd", "--disparities", "0:8", "-o", "m").exit_code == 0
    assert [path.name for path in sorted(Path("m").iterdir())] == ["a", "b"]
    assert all((folder / "disparity.pfm").is_file() for folder in Path("m").iterdir())
    assert list(pairs("b2/*/left.png", "b2/*/right.png")) == ["a", "b"]


# --- tables -----------------------------------------------------------------------------------------------------------

LIVE = "bad\n\\input{evil}\r=1+1\u2028| x |"


def test_names_end_no_line_of_a_table():
    table = Table(("method", LIVE), (("a", LIVE),), 1, LIVE, (LIVE,))
    for line in to_text(table, "latex").splitlines():
        assert line.startswith("%") or "\\input" not in line
    markdown = to_text(table, "markdown").splitlines()
    assert [line.count("|") - line.count("\\|") for line in markdown if line.startswith("|")] == [3, 3, 3]
    assert len(markdown) == 7
    # Spreadsheets take a carriage return that is not quoted for the end of a row.
    assert to_text(table, "csv").count('"') == 4
    assert "\r" not in to_text(table, "csv")


# --- stores that somebody else has made -------------------------------------------------------------------------------

DEEP = "[" * 500 + "]" * 500
FORGED = {
    "seconds that are none": {"seconds": '{"a": null}'},
    "seconds that are a text": {"seconds": '{"a": "x"}'},
    "deep axes": {"axes": f'{{"aggregation.box.size": {DEEP}}}'},
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_store_is_a_line(name, home):
    stored(**FORGED[name])(home)
    verbs = [("results", "o"), ("results", "o", "--json"), ("results", "o", "--format", "latex"), REPORT, ("rank", "o")]
    found = [call(*verb) for verb in verbs]
    assert 2 in {one.exit_code for one in found}
    for one in found:
        assert one.exit_code == 0 or (len(one.stderr.splitlines()), "results.sqlite" in one.stderr) == (1, True), one.output


def test_deep_texts_are_no_deep_values(home):
    """Brackets within a text, such as a command's, are not counted."""
    stored(parameters=json.dumps({"matcher.command.run": "[{" * 300 + '"' + "\\"}))(home)
    assert call("results", "o", "--json").exit_code == 0
