"""Results stores that are damaged, foreign, on disks that are full or cannot be written to, or being written."""

import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys

import pytest
import yaml
from attack.written import call
from made_results import result

from stereo_framework.core.errors import DataError, StereoFrameworkError
from stereo_framework.sweep import Store

RUNNING = "40 of 41 results are done (97 %), and the run is going on"
MISSING = (
    "1 result is still missing, because the run was stopped early; run the same command again to "
    "compute the rest"
)
SCRIPT = {
    "name": "window",
    "scenes": ["synthetic/planes"],
    "include": "window",
    "search": {"maximum": 3},
}
COUNT = 40


def filled(folder, count=COUNT):
    """A store with results of a plan that is one longer."""
    with Store(folder, create=True) as store:
        store.set_listed_keys([f"{i} window p" for i in range(count + 1)])
        for i in range(count):
            store.add(f"{i} window p", one(i))
    return folder / "results.sqlite"


def one(i):
    script = {"name": "window", "aggregation": ["box"]}
    axes, statistics = {"aggregation.box.size": i}, {"bad_pixels_nonocc": i / 8}
    return result(
        "synthetic/planes",
        axes,
        statistics,
        id=f"{i:016x}",
        method="window",
        energy=None,
        seconds={},
        script=script,
    )


@contextlib.contextmanager
def opened(path):
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        yield db


COMMANDS = (
    ("results",),
    ("results", "--json"),
    ("results", "--group-by", "scene"),
    ("results", "--format", "latex"),
    ("report",),
    ("rank",),
    ("differences",),
)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "window.yaml"
    path.write_text(yaml.safe_dump(SCRIPT))
    return path


def page(number):
    def damage(path):
        size = 4096
        data = bytearray(path.read_bytes())
        data[size * number : size * (number + 1)] = random.Random(number).randbytes(size)
        path.write_bytes(data)

    return damage


def bits(path):
    data, chance = bytearray(path.read_bytes()), random.Random(1)
    for _ in range(60):
        data[chance.randrange(100, len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def cut(path):
    os.truncate(path, path.stat().st_size - 5000)


def sql(statement):
    def damage(path):
        with opened(path) as db:
            db.execute(statement)

    return damage


def changed(**values):
    """Damage that replaces values in the column ``row`` of a result."""
    new = ", ".join(f"'$.{name}', json('{value}')" for name, value in values.items())
    return sql(f"UPDATE results SET row = json_set(row, {new}) WHERE key LIKE '7 %'")


def column(name, expression):
    """Damage that replaces a column of a result by an SQL expression."""
    return sql(f"UPDATE results SET {name} = {expression} WHERE key LIKE '7 %'")


def text(expression):
    """Damage that replaces the names of the statistics by an SQL expression."""
    names = "(SELECT statistic_names FROM results WHERE key LIKE '7 %')"
    return sql(f"UPDATE texts SET text = {expression} WHERE id = {names}")


DAMAGES = {
    **{f"page {number}": page(number) for number in (0, 1, 2, 5)},
    "bits": bits,
    "cut": cut,
    "no table results": sql("ALTER TABLE results RENAME TO birds"),
    "bad JSON": column("row", "'{'"),
    "bad JSON in statistics": column("statistics", "'{'"),
    "JSON of another kind": column("statistics", "'{\"a\": 1}'"),
    "too many statistics": column("statistics", "'[1, 2]'"),
    "texts among statistics": column("statistics", "'[\"x\"]'"),
    "no number of seconds": column("seconds", "'[[]]'"),
    "endless JSON": column("row", f"'{'[' * 100_000}'"),
    "endless axes": column("axes", f"'[1{'0' * 400}]'"),
    "deep axes": column("axes", f"'[{'[' * 500}{']' * 500}]'"),
    "deep parameters": column("parameters", f"'[{'[' * 500}{']' * 500}]'"),
    "a blob": column("row", "x'ff'"),
    "blobs": column("statistics", "x'ff'"),
    "a number that no text has": column("statistic_names", "99"),
    "a text in place of a number": column("statistic_names", "'x'"),
    "null in place of a number": column("axis_names", "NULL"),
    "names of another kind": text("'[1]'"),
    "names that are no JSON": text("'['"),
    "names that are null": text("NULL"),
    "an energy that is a text": column("energy", "'x'"),
    "no text": column("scene", "x'ff'"),
    "no name": column("method", "NULL"),
    "no warnings": changed(warnings="5"),
    "a map elsewhere": changed(map='"../../etc/passwd"'),
    "a value too many": changed(birds="1"),
    "a value too few": sql(
        "UPDATE results SET row = json_remove(row, '$.map') WHERE key LIKE '7 %'"
    ),
    "another version": sql("PRAGMA user_version = 1"),
    "a foreign table": sql("ALTER TABLE results RENAME COLUMN place TO birds"),
}


UNREAD_BY_GROUPS = {
    *("bad JSON", "no number of seconds", "endless JSON", "a blob", "an energy that is a text"),
    *("no warnings", "a map elsewhere", "a value too many", "a value too few"),
}
"""Damages of values that a table of means does not read."""

# SQLite reports these two as it reports a file system without locks.
REMEDIES = {"another version": "run SCRIPT --out FOLDER"}


def error_line(path, *words):
    """A command answers with one line that names the store."""
    answer = call(*words)
    assert (answer.exit_code, str(path) in answer.stderr, len(answer.stderr.splitlines())) == (
        2,
        True,
        1,
    ), answer.output
    return answer.stderr


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_store_is_told_in_a_line(damage, tmp_path):
    path = filled(tmp_path / "out")
    before = path.read_bytes()
    DAMAGES[damage](path)
    assert path.read_bytes() != before
    commands = COMMANDS
    if damage in UNREAD_BY_GROUPS:
        commands = [command for command in COMMANDS if "--group-by" not in command]
    if damage == "deep parameters":
        commands = [("results", "--json"), ("report",)]
    for command, *more in commands:
        assert REMEDIES.get(damage, "choose another folder") in error_line(
            path, command, path.parent, *more
        )


def test_a_foreign_store_does_nothing_to_the_terminal(tmp_path):
    path = filled(tmp_path / "out", 1)
    with opened(path) as db:
        warning = "json_set(row, '$.warnings[0]', char(27) || '[2Jgone')"
        db.execute(
            "UPDATE results SET method = char(27) || '[31mred', "
            f"error = char(27) || ']0;title' || char(7), row = {warning} WHERE row IS NOT NULL"
        )
    answer = call("results", path.parent)
    assert answer.stdout.splitlines()[1].split("\t")[1] == "\\x1b[31mred"
    assert [line.rpartition(" ")[2] for line in answer.stderr.splitlines()[:2]] == [
        "\\x1b]0;title\\x07",
        "\\x1b[2Jgone",
    ]
    assert not {"\x1b", "\x07"} & {*answer.output}


@pytest.mark.parametrize(
    "damage", ["page 0", "no table results", "a foreign table", "another version"]
)
def test_a_run_does_not_touch_a_damaged_store(damage, tmp_path, script):
    path = filled(tmp_path / "out")
    DAMAGES[damage](path)
    before = path.read_bytes()
    error_line(path, "run", script, "--out", path.parent)
    assert path.read_bytes() == before


# --- disks ------------------------------------------------------------------------------------------------------------


READS = """
import sys
from stereo_framework.cli.main import main
for folder in sys.argv[1:]:
    print("#", folder)
    sys.argv[1:] = ["results", folder, "--format", "csv"]
    try:
        main()
    except SystemExit as end:
        assert not end.code
"""


def on_a_read_only_disk(folder, *command):
    """What a command says where the folder cannot be written to; needs a system that lets us mount it so."""
    quoted = " ".join(f"'{part}'" for part in command)
    line = f"mount --bind '{folder}' '{folder}' && mount -o remount,ro,bind '{folder}' && {quoted}"
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", line],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def can_mount(tmp_path):
    return shutil.which("unshare") and on_a_read_only_disk(tmp_path, "true").returncode == 0


def test_reading_needs_no_writing(tmp_path):
    closed, killed = filled(tmp_path / "out").parent, tmp_path / "killed"
    if not can_mount(tmp_path):
        pytest.skip("the system does not let us mount a folder read-only")
    # A run that was killed leaves part of its results in a second file.
    shutil.copytree(closed, tmp_path / "going on")
    store = Store(tmp_path / "going on", create=True)
    store.add(f"{COUNT} window p", one(COUNT))
    shutil.copytree(tmp_path / "going on", killed)
    store.close()
    assert (killed / "results.sqlite-wal").stat().st_size > 0
    found = on_a_read_only_disk(tmp_path, sys.executable, "-c", READS, closed, killed)
    assert found.returncode == 0, found.stderr
    assert [len(text.splitlines()) - 1 for text in found.stdout.split("# ")[1:]] == [
        COUNT + 1,
        COUNT + 2,
    ]


def test_reading_leaves_nothing_behind(tmp_path):
    path = filled(tmp_path / "out")
    before = sorted(tmp_path.rglob("*"))
    call("results", path.parent)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("command", ["results", "rank", "report"])
def test_results_that_are_missing_are_told_during_a_run_and_after_it(command, tmp_path):
    folder, page = filled(tmp_path / "out").parent, tmp_path / "page.html"
    during = Store(folder, create=True)
    with pytest.raises(DataError, match="another process holds the lock writer.lock"):
        Store(folder, create=True)
    for message in (RUNNING, MISSING):
        answer = call(command, folder, *(["--out", page] if command == "report" else []))
        assert answer.exit_code == 0, answer.output
        assert message in (page.read_text() if command == "report" else answer.stderr)
        during.close()


def test_a_plan_that_does_not_fit_is_told(tmp_path):
    with Store(tmp_path, create=True) as store:
        store._db.execute(f"PRAGMA max_page_count = {store._db.execute('PRAGMA page_count')[0][0]}")
        said = "the plan cannot be written: database or disk is full; earlier results are kept"
        with pytest.raises(StereoFrameworkError, match=said):
            store.set_listed_keys([f"{i} window p" for i in range(1000)])


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["q?a", "50%20 #{x} ü '&\"", "file:x"])
def test_folders_of_any_name(name, tmp_path):
    folder = tmp_path / name
    filled(folder, 3)
    for command, *more in (("results", "--group-by", "scene"), ("rank",), ("rank", "--boundary")):
        answer = call(command, folder, *more)
        assert answer.exit_code == 0 or "no result has error_rate" in answer.stderr, answer.output
    assert MISSING in call("results", folder).stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["q?a", "q?b #{x}"])
def test_searches_write_to_folders_of_any_name(name, tmp_path):
    pytest.importorskip("optuna", reason="optuna is not installed")
    swept = SCRIPT | {"sweep": {"grid": {"aggregation.box.size": [3, 5]}}}
    (tmp_path / "window.yaml").write_text(yaml.safe_dump(swept))
    found = call("tune", tmp_path / "window.yaml", "--trials", "1", "--out", tmp_path / name)
    assert found.exit_code == 0, found.output
    assert (tmp_path / name / "best.yaml").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"window.yaml", name}
