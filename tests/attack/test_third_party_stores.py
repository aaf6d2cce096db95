"""A results folder that a third party made deletes no file and changes no result."""

import contextlib
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time

import pytest
import yaml
from attack.written import call
from cli_parts import invoke
from made_results import result

from stereo_framework.core.errors import DataError
from stereo_framework.io import locked, write_disparity
from stereo_framework.sweep import Store
from stereo_framework.sweep.database import RESULTS_TABLE, TEXTS_TABLE, VERSION

SCRIPT = {
    "name": "window",
    "scenes": ["synthetic/planes"],
    "include": "window",
    "search": {"maximum": 3},
}
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
READS = (("results",), ("results", "--json"), ("report",), ("rank",), ("differences",))
TIME = 120
"""Seconds after which a command counts as endless."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A results folder with one result, beside a script that writes to such a folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "window.yaml").write_text(yaml.safe_dump(SCRIPT))
    with Store(tmp_path / "theirs", create=True) as store:
        store.set_listed_keys(["a"])
        store.add("a", result("synthetic/planes", {}, {"bad_pixels_nonocc": 0.5}))
    return tmp_path / "theirs"


@pytest.fixture
def writes(folder, tmp_path):
    """Commands that write to the folder."""
    import stereo_framework

    write_disparity(tmp_path / "map.pfm", stereo_framework.load_scene("synthetic/planes").truth)
    return (
        ("run", "window.yaml", "--out", "theirs"),
        ("evaluate", "map.pfm", "--scene", "synthetic/planes", "--out", "theirs"),
    )


def assert_refused(folder, words, message):
    """A command ends with one line about the store of a folder."""
    answer = call(*words)
    assert (answer.exit_code, len(answer.stderr.splitlines())) == (2, 1), answer.output
    assert message in answer.stderr, answer.stderr


# --- files beside the database ---------------------------------------------------------------------------------------


def journal_with_super_journal(database, named_file):
    """Write the journal of a database that makes SQLite delete a file when it opens the database."""
    pages = database.stat().st_size // 4096
    header = JOURNAL_MAGIC + struct.pack(">5I", 0, 1, pages, 512, 4096)
    name = os.fsencode(named_file)
    record = struct.pack(">I", 1) + name + struct.pack(">II", len(name), sum(name)) + JOURNAL_MAGIC
    database.with_name(f"{database.name}-journal").write_bytes(header.ljust(512, b"\0") + record)


def test_sqlite_deletes_the_file_that_a_journal_names(folder, tmp_path):
    """The attack works on an unguarded connection, so the test below shows that it is guarded."""
    thesis = tmp_path / "thesis.tex"
    thesis.write_text("my thesis")
    journal_with_super_journal(folder / "results.sqlite", thesis)
    with contextlib.closing(sqlite3.connect(folder / "results.sqlite")) as connection:
        connection.execute("SELECT type FROM sqlite_master").fetchall()
    assert not thesis.exists()


def test_a_journal_that_names_another_file_is_refused(folder, writes, tmp_path):
    thesis = tmp_path / "thesis.tex"
    thesis.write_text("my thesis")
    journal_with_super_journal(folder / "results.sqlite", thesis)
    for words in [*writes, *((command, "theirs", *more) for command, *more in READS)]:
        assert_refused(
            folder, words, "results.sqlite-journal: names another file, which SQLite would delete"
        )
        assert thesis.read_text() == "my thesis"


def test_the_lock_is_no_database(folder, writes, tmp_path):
    """Neither a journal beside the lock nor the lock's own content has an effect."""
    thesis = tmp_path / "thesis.tex"
    thesis.write_text("my thesis")
    shutil.copy(folder / "results.sqlite", folder / "writer.lock")
    journal_with_super_journal(folder / "writer.lock", thesis)
    lock_content = (folder / "writer.lock").read_bytes()
    for words in writes:
        result = call(*words)
        assert result.exit_code == 0, result.output
    assert thesis.read_text() == "my thesis"
    assert (folder / "writer.lock").read_bytes() == lock_content


COMPANIONS = ("results.sqlite-journal", "results.sqlite-wal", "results.sqlite-shm")


def make_pipe(path):
    os.mkfifo(path)


def make_folder(path):
    path.mkdir()


def make_link(path):
    path.with_name("linked").write_bytes(b"")
    path.symlink_to("linked")


def make_second_name(path):
    path.with_name("linked").write_bytes(b"")
    os.link(path.with_name("linked"), path)


OPENING = """
import sys
from pathlib import Path
from stereo_framework.core.errors import DataError
from stereo_framework.sweep import Store

for folder in sys.argv[1:]:
    for create in (False, True):
        try:
            Store(Path(folder), create=create)
        except DataError as error:
            print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="pipes and links of POSIX")
def test_companions_that_are_no_plain_files_are_refused(folder, tmp_path):
    paths = []
    for make in (make_pipe, make_folder, make_link, make_second_name):
        for name in COMPANIONS:
            copy = shutil.copytree(folder, tmp_path / f"{make.__name__}{name}")
            make(copy / name)
            paths.append(copy / name)
    # In another process, because SQLite itself waits for a pipe without end.
    program = [sys.executable, "-c", OPENING, *(str(path.parent) for path in paths)]
    answer = subprocess.run(program, capture_output=True, text=True, timeout=TIME, check=True)
    messages = answer.stdout.splitlines()
    assert [message.partition(": the ")[0] for message in messages] == [
        str(path) for path in paths for _ in (False, True)
    ]


@pytest.mark.skipif(os.name != "posix", reason="pipes and links of POSIX")
@pytest.mark.parametrize("make", [make_pipe, make_folder, make_link, make_second_name])
def test_a_lock_that_is_no_plain_file_is_refused(make, folder):
    (folder / "writer.lock").unlink()
    make(folder / "writer.lock")
    with pytest.raises(DataError, match="writer.lock: the (file|path) is "):
        Store(folder, create=True)


# --- the schema ------------------------------------------------------------------------------------------------------


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
SCHEMAS = {
    "a trigger that changes results": (
        "CREATE TRIGGER t AFTER INSERT ON results BEGIN UPDATE results SET row = substr(row, 1, 5) WHERE key = new.key; END"
    ),
    "a trigger that deletes results": "CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM results WHERE key = new.key; END",
    "a trigger on updates": "CREATE TRIGGER t AFTER UPDATE ON results BEGIN DELETE FROM results; END",
    "a trigger on deletions": "CREATE TRIGGER t BEFORE DELETE ON results BEGIN SELECT raise(IGNORE); END",
    "a trigger without end": (
        f"CREATE TRIGGER t AFTER INSERT ON results BEGIN INSERT INTO results (key) SELECT i FROM ({ENDLESS} SELECT i FROM n); END"
    ),
    "another table": "CREATE TABLE birds (name)",
    "another view": "CREATE VIEW birds AS SELECT * FROM results",
    "another index": "CREATE INDEX birds ON results (place)",
    "an index of an expression": "CREATE INDEX birds ON results (upper(row))",
    "a unique index": "CREATE UNIQUE INDEX birds ON results (place)",
    "statistics of the planner": "ANALYZE",
}
"""Statements after which a store is no longer one that this program made."""


def other(part, replacement):
    """Return the definition of the table of results with a part replaced."""
    assert part in RESULTS_TABLE
    return RESULTS_TABLE.replace(part, replacement, 1)


COLUMN_NAMES = [part.split()[0] for part in RESULTS_TABLE.partition("(")[2].split(", ")]
EMPTY_COLUMNS = ", ".join(f"'' AS {name}" for name in COLUMN_NAMES if name not in ("key", "row"))
TABLES = {
    "a view in place of the table": f"CREATE VIEW results AS {ENDLESS} SELECT i AS key, '' AS row, {EMPTY_COLUMNS} FROM n",
    "a view with much text": (
        f"CREATE VIEW results AS {ENDLESS} SELECT i AS key, hex(zeroblob(1000000)) AS row, {EMPTY_COLUMNS} FROM n"
    ),
    "a generated column": other("script TEXT", "script AS (hex(zeroblob(90000000)))"),
    "a check": other("row TEXT", "row TEXT CHECK (length(row) < 9)"),
    "a default": other("place INTEGER", "place INTEGER DEFAULT 1"),
    "a collation": other("key TEXT", "key TEXT COLLATE NOCASE"),
    "a conflict clause": other("PRIMARY KEY", "PRIMARY KEY ON CONFLICT IGNORE"),
    "a table without row numbers": f"{RESULTS_TABLE} WITHOUT ROWID",
    "another column": other("script TEXT", "script TEXT, more TEXT"),
    "a table without key": other(" PRIMARY KEY", ""),
    "a virtual table": f"CREATE VIRTUAL TABLE results USING fts5 ({', '.join(COLUMN_NAMES)})",
    "the table of an earlier version": "CREATE TABLE results (key TEXT PRIMARY KEY, place INTEGER, row TEXT, details TEXT)",
}
"""Definitions of something that is called like the table."""


def assert_refused_by_all(folder, writes):
    before = (folder / "results.sqlite").read_bytes()
    for words in [*writes, *((command, "theirs", *more) for command, *more in READS)]:
        assert_refused(folder, words, "results.sqlite: is not a results store of this program")
    assert (folder / "results.sqlite").read_bytes() == before


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_store_that_defines_more_than_its_table_is_refused(name, folder, writes):
    with contextlib.closing(sqlite3.connect(folder / "results.sqlite")) as connection, connection:
        connection.execute(SCHEMAS[name])
    assert_refused_by_all(folder, writes)


@pytest.mark.parametrize("name", TABLES)
def test_a_store_whose_table_is_another_one_is_refused(name, folder, writes):
    (folder / "results.sqlite").unlink()
    with contextlib.closing(sqlite3.connect(folder / "results.sqlite")) as connection, connection:
        try:
            connection.execute(TEXTS_TABLE)
            connection.execute(TABLES[name])
        except sqlite3.OperationalError as error:
            pytest.skip(f"this SQLite cannot make it: {error}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    assert_refused_by_all(folder, writes)


def test_a_trigger_in_the_log_of_a_store_is_refused(folder, tmp_path):
    """The log of a killed run belongs to the store, and may define something too."""
    copy = tmp_path / "copy"
    connection = sqlite3.connect(folder / "results.sqlite", isolation_level=None)
    with contextlib.closing(connection):
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(SCHEMAS["a trigger that deletes results"])
        shutil.copytree(folder, copy)
    assert (copy / "results.sqlite-wal").stat().st_size > 0
    for create in (False, True):
        with pytest.raises(DataError, match="is not a results store of this program"):
            Store(copy, create=create)


def test_a_store_of_an_earlier_version_is_refused_with_the_way_to_compute_it_again(folder):
    with contextlib.closing(sqlite3.connect(folder / "results.sqlite")) as connection, connection:
        connection.execute("PRAGMA user_version = 2")
    for words in (("results", "theirs"), ("run", "window.yaml", "--out", "theirs")):
        assert_refused(folder, words, "holds results of version 2 of this format")


# --- pages that refer to each other ----------------------------------------------------------------------------------


def with_endless_table(path, row):
    """Replace the table's root page by a tree of pages in which all children of a page are one and the same page."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE results SET row = ?", (row,))
        [[root]] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'results'")
        [[size]] = connection.execute("PRAGMA page_size")
    data = bytearray(path.read_bytes())
    count = len(data) // size
    leaf = bytes(data[(root - 1) * size : root * size])
    levels = 5
    # Page `count + levels` is a copy of the leaf; each page before it leads to the next one, many times.
    for level in range(levels):
        number = root if level == 0 else count + level
        page = interior_page(size, child=count + level + 1)
        start = (number - 1) * size
        data[start : start + size] = page
    data += leaf
    data[28:32] = struct.pack(">I", count + levels)
    path.write_bytes(data)


def interior_page(size, child, cells=120):
    """A page of a table's tree whose children are one page."""
    start_of_cells = size - 5 * cells
    header = struct.pack(">BHHHBI", 5, 0, cells, start_of_cells, 0, child)
    pointers = b"".join(struct.pack(">H", start_of_cells + 5 * i) for i in range(cells))
    body = b"".join(struct.pack(">IB", child, min(i + 1, 127)) for i in range(cells))
    return (header + pointers).ljust(start_of_cells, b"\0") + body


@pytest.mark.parametrize("row", [None, "{}", "x" * 3000])
def test_pages_that_are_read_many_times_over_are_damaged(row, folder):
    with_endless_table(folder / "results.sqlite", row)
    program = (
        "from pathlib import Path; from stereo_framework.sweep import Store\n"
        "with Store(Path('theirs')) as store: print(store.lacking()); store.results(every=True)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=TIME, check=False
    )
    assert "DataError" in answer.stderr.splitlines()[-1]
    assert "damaged" in answer.stderr.splitlines()[-1]


# --- the lock --------------------------------------------------------------------------------------------------------


def test_the_lock_ends_with_its_process(tmp_path):
    path = tmp_path / "writer.lock"
    program = f"import time; from stereo_framework.io import locked\nwith locked({str(path)!r}): print('locked', flush=True); time.sleep({TIME})"
    holder = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(BlockingIOError), locked(path):
            pass
        holder.send_signal(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        holder.wait()
        with locked(path):
            pass
    finally:
        holder.kill()
        holder.communicate()


def test_a_block_excludes_a_second_one_of_the_same_process(tmp_path):
    with locked(tmp_path / "lock"), pytest.raises(BlockingIOError), locked(tmp_path / "lock"):
        pass
    with locked(tmp_path / "lock"):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_does_not_keep_the_lock(tmp_path):
    reads, writes = os.pipe()
    with locked(tmp_path / "lock"):
        child = os.fork()
        if child == 0:
            # The child waits until it is killed.
            os.read(reads, 1)
            os._exit(0)
    try:
        deadline = time.monotonic() + TIME
        while True:
            with contextlib.suppress(BlockingIOError), locked(tmp_path / "lock"):
                break
            assert time.monotonic() < deadline, "the child keeps the lock"
            time.sleep(0.01)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reads)
        os.close(writes)


def test_a_file_system_without_locks_is_named_as_the_cause(tmp_path, monkeypatch):
    def no_locks(*arguments):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("stereo_framework.io.file_lock._lock", no_locks)
    with pytest.raises(
        DataError,
        match=r"cannot be locked \(No locks available\), .*some network folders do not",
    ):
        Store(tmp_path, create=True)


# --- another file in the store's place -------------------------------------------------------------------------------


def replace_by_copy(folder):
    shutil.copy(folder / "results.sqlite", folder / "copy")
    os.replace(folder / "copy", folder / "results.sqlite")


def replace_by_nothing(folder):
    (folder / "results.sqlite").unlink()


def replace_folder(folder):
    folder.rename(folder.with_name("moved"))
    shutil.copytree(folder.with_name("moved"), folder)


def remove_folder(folder):
    shutil.rmtree(folder)


CHANGES = {
    replace_by_copy: "another file took its place during the run",
    replace_by_nothing: "was removed or moved during the run",
    replace_folder: "another file took its place during the run",
    remove_folder: "was removed or moved during the run",
}


MOMENTS = {
    "set_listed_keys": lambda store: store.set_listed_keys(["a", "b"]),
    "result": lambda store: store.add("b", result("synthetic/planes", {}, {})),
    "end": lambda store: store.close(),
}


@pytest.mark.skipif(os.name != "posix", reason="an open file cannot be replaced on Windows")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_store_that_is_replaced_during_a_run_ends_the_run(change, moment, folder):
    store = Store(folder, create=True)
    store.set_listed_keys(["a"])
    change(folder)
    with pytest.raises(DataError, match=CHANGES[change]):
        MOMENTS[moment](store)
    with contextlib.suppress(DataError):
        store.close()


STAGE = """
from pathlib import Path
import os
import shutil
from stereo_framework.stages import stage

@stage("refinement", source="a test")
def replaces_the_store(disparity):
    \"\"\"Do what a program does that restores earlier files.\"\"\"
    shutil.copy("o/results.sqlite", "copy")
    os.replace("copy", "o/results.sqlite")
    return disparity
"""


@pytest.mark.skipif(os.name != "posix", reason="an open file cannot be replaced on Windows")
def test_a_command_reports_a_store_that_was_replaced(folder, tmp_path):
    (tmp_path / "replacing.py").write_text(STAGE)
    script = SCRIPT | {"plugins": ["replacing.py"], "refinement": ["replaces_the_store"]}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(script))
    answer = invoke("run", "s.yaml", "--out", "o")
    assert answer.exit_code == 2
    assert "error: o/results.sqlite: another file took its place during the run" in answer.stderr
