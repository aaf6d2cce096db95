"""What is written is whole, stays in its folder, and replaces nothing of others: killed and cut-off writes, links, names."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from attack.written import EXPORT, REPORT, RUN, SCRIPT, call, content

from stereo_framework.core.errors import DataError
from stereo_framework.io import output_folder, read_pfm, write_bytes
from stereo_framework.io.output_folders import RECORD
from stereo_framework.sweep import Store
from stereo_framework.sweep.computation import Computation
from stereo_framework.tables.formats import to_text
from stereo_framework.tables.tables import Table
from stereo_framework.user_pair.pairs import pairs

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, signals and limits of POSIX")

# --- what ends a write ------------------------------------------------------------------------------------------------

COMMANDS = {
    "run": RUN,
    "report": REPORT,
    "match": (
        "match",
        "left.png",
        "right.png",
        "--method",
        "ssd",
        "--disparities",
        "0:8",
        "-o",
        "o",
    ),
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


def killed(number):
    def end(*words):
        done = child(KILLED, number, *words)
        assert done.returncode == -9, done.stderr

    return end


def limited(most):
    def end(*words):
        done = child(LIMITED, most, *words)
        assert done.returncode == 2, done.stderr
        assert done.stderr.splitlines()[-1].startswith("error: "), done.stderr
        assert "Traceback" not in done.stderr

    return end


@pytest.mark.parametrize(
    ("command", "ends"),
    [
        ("run", [killed(4), limited(4096)]),
        ("report", [limited(20_000)]),
        *(
            pytest.param(
                command, [*map(killed, kills), *map(limited, limits)], marks=pytest.mark.slow
            )
            for command, kills, limits in (
                (
                    "run",
                    (1, 2, 3, 5, 6, 7, 8, 9, 12, 20),
                    (0, 500, 8192, 30_000, 40_000, 50_000, 60_000, 70_000),
                ),
                ("report", (1, 2, 3, 4, 5), ()),
                ("match", (1, 2, 3, 4, 5), (10_000,)),
                ("export", (1, 2, 3, 4, 5), (10_000,)),
            )
        ),
    ],
)
def test_a_write_that_a_kill_or_a_full_disk_ends_is_made_up_for(command, ends, home, pictures):
    """The command once more: the files are those of a command that nothing ended."""
    earlier = home / "earlier"
    (home / "o").rename(earlier)
    found = []
    for end in (lambda *_: None, *ends):
        if command in ("report", "export"):
            shutil.copytree(earlier, home / "o")
        end(*COMMANDS[command])
        result = call(*COMMANDS[command])
        assert (result.exit_code, "overwritten" in result.stderr) == (0, False), result.output
        # The page of a run tells seconds.
        files = {
            name: data
            for name, data in content(home / "o").items()
            if command != "run" or name != "report.html"
        }
        with Store(home / "o") if command == "run" else contextlib.nullcontext() as store:
            rows = (
                [(r.id, r.method, r.statistics, np.nansum(r.disparity)) for r in store.results()]
                if store
                else []
            )
        found.append((files, rows))
        assert found[-1] == found[0]
        shutil.rmtree(home / "o")


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
            with pytest.raises(
                DataError,
                match=r"\.svg: the file was not written by this program, or was changed since, and is not",
            ):
                write_bytes(path, b"second")
        # What was written under another name is the user's where it was copied to.
        shutil.copy(tmp_path / "plots/p.svg", tmp_path / "copy.svg")
        with pytest.raises(DataError, match=r"copy\.svg: the file was not written"):
            write_bytes(tmp_path / "copy.svg", b"third")
    found = {path.stem: path.read_bytes() for path in (tmp_path / "plots").iterdir()}
    assert found == {
        "p": b"second",
        "cut": b"second",
        "empty": b"second",
        "edited": b"first, edited",
    }
    assert mine.read_bytes() == b"mine"
    # Elsewhere a file was named by the user; a link is followed, and what is protected stays.
    (tmp_path / "link.svg").symlink_to(mine)
    write_bytes(tmp_path / "link.svg", b"named")
    assert (mine.read_bytes(), (tmp_path / "link.svg").is_symlink()) == (b"named", True)
    assert not list(tmp_path.rglob("*-part"))


def test_temporary_files_of_killed_processes_are_removed(home):
    names = ("old", "young", "maps/old", "maps/young")
    for name in names:
        folder, _, age = name.rpartition("/")
        path = home / "o" / folder / f".{age}.stereo-framework-part"
        path.write_bytes(b"half")
        if age == "old":
            os.utime(path, (0, 0))
    assert call(*RUN).exit_code == 0
    left_files = [path.relative_to(home / "o") for path in (home / "o").rglob("*-part")]
    # A command that writes a report takes no lock, so it may still write this file.
    assert [path.as_posix() for path in left_files] == [".young.stereo-framework-part"]


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
    results_of = Computation.results_of

    def going(computation, tasks):
        for found in results_of(computation, tasks):
            if (home / "o").exists():
                shutil.rmtree(home / "o")
            yield found

    shutil.rmtree(home / "o")
    monkeypatch.setattr(Computation, "results_of", going)
    result = call("run", "sw.yaml", "--out", "o", maps)
    assert result.exit_code == 2
    assert (
        "o: was removed or moved during the run, together with its results"
        in result.stderr.splitlines()[-1]
    )
    assert not (home / "o").exists()


@pytest.mark.slow  # five processes
def test_names_that_are_not_utf_8(home):
    odd = os.fsdecode(b"caf\xe9")
    shutil.copy("left.png", f"{odd}.png")
    matched = ("match", f"{odd}.png", "right.png", "--method", "ssd", "--disparities", "0:8")
    for command in (
        ("run", "sw.yaml", "--out", odd, "--report"),
        ("results", odd),
        matched,
        (*matched, "-o", "own"),
    ):
        done = child("from stereo_framework.cli.main import main; main()", *command)
        assert done.returncode == 0, (command, done.stderr)
    assert {"report.html", "results.sqlite"} <= {path.name for path in Path(odd).iterdir()}
    assert (Path(f"{odd}_match") / "disparity.pfm").is_file()


@pytest.mark.parametrize(
    "words",
    [
        ("run", "sw.yaml", "--out", ""),
        ("run", "sw.yaml", "--out="),
        ("match", "left.png", "right.png", "-o", ""),
    ],
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
    Path("k.yaml").write_text(
        yaml.safe_dump({**SCRIPT, "methods": {"漢" * count: {}}}, allow_unicode=True),
        encoding="utf-8",
    )
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
    assert (
        call(
            "match",
            "b2/*/left.png",
            "b2/*/right.png",
            "--method",
            "ssd",
            "--disparities",
            "0:8",
            "-o",
            "m",
        ).exit_code
        == 0
    )
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
    assert [line.count("|") - line.count("\\|") for line in markdown if line.startswith("|")] == [
        3,
        3,
        3,
    ]
    assert len(markdown) == 7
    # Spreadsheets take a carriage return that is not quoted for the end of a row.
    assert to_text(table, "csv").count('"') == 4
    assert "\r" not in to_text(table, "csv")
