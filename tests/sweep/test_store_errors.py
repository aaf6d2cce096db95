"""Tests of the messages about results stores that cannot be opened, read or written.

Each test produces its event: a file system without locks, missing permissions, a second
writer, or a lock that is lost during the run. The message describes this event and no
other one.
"""

import contextlib
import errno
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from sweep_parts import SIZES, WINDOW, dots

import stereo_framework
from stereo_framework.core.errors import StereoFrameworkError
from stereo_framework.sweep import Store, database
from stereo_framework.sweep.database import LOCK
from stereo_framework.sweep.store import FILE

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
pytestmark = pytest.mark.usefixtures("small_scenes_only")

NO_LOCKS = "file locks"
NO_PERMISSION = r"cannot be (written|read) \((Permission denied|Read-only file system)\)"
SECOND_WRITER = "another process holds the lock"
SECOND_PROGRAM = "another program has locked this file"
LOST_LOCK = "no longer holds the lock"
EVENTS = (NO_LOCKS, NO_PERMISSION, SECOND_WRITER, SECOND_PROGRAM, LOST_LOCK)
"""Patterns of the events. A message matches only the pattern of its event."""


def message_of(call, *arguments, **options):
    """Return the message of the error that a call raises."""
    with pytest.raises(StereoFrameworkError) as error:
        call(*arguments, **options)
    return str(error.value)


def assert_describes(message, event, *words):
    """Check that a message describes one event, and contains some words.

    The words are the location, the expected state and the remedy.
    """
    assert [pattern for pattern in EVENTS if re.search(pattern, message)] == [event]
    for word in words:
        assert word in message
    assert "\n" not in message


@pytest.fixture
def out(tmp_path):
    """Return a folder with the results of a run."""
    folder = tmp_path / "out"
    stereo_framework.run(SIZES, scenes=dots(), out=folder)
    return folder


# --- file systems without locks -------------------------------------------------------


@pytest.fixture(params=["ENOLCK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL"])
def without_locks(request, monkeypatch):
    """Let the system calls that lock a file fail, as on a file system without locks."""
    pytest.importorskip("fcntl")
    number = getattr(errno, request.param)

    def refuse(*arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.lockf", refuse)
    monkeypatch.setattr("fcntl.flock", refuse)


def test_writing_without_locks_is_refused(without_locks, tmp_path):
    """A second writer could not be detected there."""
    message = message_of(Store, tmp_path, create=True)
    location = f"{tmp_path / LOCK}: the file cannot be locked ("
    expected = "a folder needs locks, so that only one process writes to it"
    assert_describes(message, NO_LOCKS, location, expected, "choose a folder on a local disk")


def test_results_are_read_without_locks(out, without_locks):
    """Read a store on every file system if no run changes the store."""
    with Store(out) as store:
        assert len(store.results()) == 6


@contextlib.contextmanager
def locked_by_another_connection(out):
    """Let another connection lock the database, so that SQLite reports SQLITE_BUSY."""
    with contextlib.closing(sqlite3.connect(out / FILE, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


def test_locked_database_without_a_lock_file_is_no_second_program(out, monkeypatch):
    """Distinguish the two reasons for which SQLite reports a locked database."""
    pytest.importorskip("fcntl")
    monkeypatch.setattr(database, "_LOCK_TIMEOUT", 0.1)
    # Without the lock file, missing locks are not detected before the file is opened.
    (out / LOCK).unlink()

    def refuse(*arguments):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with locked_by_another_connection(out):
        monkeypatch.setattr("fcntl.lockf", refuse)
        message = message_of(Store, out)
    expected = "does not support file locks"
    assert_describes(message, NO_LOCKS, f"{out / FILE}: ", expected, "copy this folder")


def test_failed_lock_for_another_reason_is_no_missing_support(tmp_path, monkeypatch):
    """Distinguish a failure of the disk or the network."""
    pytest.importorskip("fcntl")

    def fail(*arguments):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("fcntl.lockf", fail)
    message = message_of(Store, tmp_path, create=True)
    assert "the file cannot be locked (Input/output error); the disk or the network" in message


# --- a second writer ------------------------------------------------------------------

HOLDER = """
import sys
from pathlib import Path
from stereo_framework.sweep import Store

with Store(Path(sys.argv[1]), create=True):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_second_process_that_writes_is_refused(tmp_path):
    """The first process is named as a running command or a stopped process."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    holder = subprocess.Popen(command, text=True, **pipes)
    try:
        assert holder.stdout.readline() == "open\n"
        message = message_of(stereo_framework.run, SIZES, scenes=dots(), out=tmp_path)
    finally:
        holder.communicate()
    location = f"{tmp_path}: another process holds the lock {LOCK}"
    expected = "only one process may write to a results folder"
    assert_describes(message, SECOND_WRITER, location, expected, "wait for it or end it")


@pytest.mark.parametrize("create", [True, False])
def test_another_program_that_locks_the_database_is_reported(create, out, monkeypatch):
    """Report a program that does not use the lock file of this package."""
    monkeypatch.setattr(database, "_LOCK_TIMEOUT", 0.1)
    with locked_by_another_connection(out):
        message = message_of(Store, out, create=create)
    location = f"{out / FILE}: another program has locked this file (database is locked)"
    assert_describes(message, SECOND_PROGRAM, location, "close the other program")


def test_another_program_that_locks_the_database_during_the_run_is_reported(out, monkeypatch):
    """Keep the results that were written before."""
    monkeypatch.setattr(database, "_LOCK_TIMEOUT", 0.1)
    with Store(out, create=True) as store:
        [result, *_] = store.results()
        with locked_by_another_connection(out):
            message = message_of(store.add, "a", result)
    location = f"{out / FILE}: a result cannot be written: database is locked"
    assert message.startswith(location)
    assert "earlier results are kept; no other program may use the file during the run" in message
    assert message.endswith("and run the same command again to continue")


# --- permissions ----------------------------------------------------------------------


@contextlib.contextmanager
def rights_of_a_user():
    """Give up the rights of the superuser, who may read and write everything."""
    if os.geteuid() != 0:
        yield
        return
    nobody = 65534
    os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_out(out):
    """Return a folder of results that every user may read and write.

    Only the superuser may enter the folders of pytest, so the folder is a copy.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "out"
        shutil.copytree(out, copy)
        (copy / "maps").mkdir(exist_ok=True)
        Path(folder).chmod(0o777)
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        yield copy


@posix
@pytest.mark.parametrize(
    ("name", "mode", "location"),
    [
        (".", 0o555, FILE),
        (LOCK, 0o444, LOCK),
        (FILE, 0o444, FILE),
        (FILE, 0o000, FILE),
    ],
)
def test_writing_without_permission_is_reported(name, mode, location, open_out):
    """Name the file that cannot be opened."""
    (open_out / name).chmod(mode)
    with rights_of_a_user():
        message = message_of(Store, open_out, create=True)
    (open_out / name).chmod(0o777)
    assert message.startswith(f"{open_out / location}: cannot be written (")
    assert "a results folder and its files must be writable; make them writable" in message
    assert not re.search(f"{NO_LOCKS}|{SECOND_WRITER}|{SECOND_PROGRAM}|{LOST_LOCK}", message)


@posix
def test_new_folder_in_a_folder_without_permission_is_reported(open_out):
    """The location is the new folder."""
    open_out.chmod(0o555)
    with rights_of_a_user():
        message = message_of(Store, open_out / "new", create=True)
    location = f"{open_out / 'new'}: "
    assert_describes(message, NO_PERMISSION, location, "must be writable", "choose another folder")


@posix
def test_maps_folder_without_permission_is_reported(open_out):
    """The message gives the path of the map."""
    (open_out / "maps").chmod(0o555)
    with rights_of_a_user():
        message = message_of(stereo_framework.run, WINDOW, scenes=dots(), out=open_out, maps=True)
    assert message.startswith(f"{open_out / 'maps'}{os.sep}tiny_")
    assert "the file cannot be written: Permission denied; the file and its folder must" in message
    assert message.endswith("make them writable, or choose another folder")


@posix
@pytest.mark.parametrize("name", [".", FILE])
def test_reading_without_permission_is_reported(name, open_out):
    """Name the permission that readers need."""
    (open_out / name).chmod(0o000)
    with rights_of_a_user():
        message = message_of(Store, open_out)
    (open_out / name).chmod(0o777)
    assert message.startswith(f"{open_out / FILE}: cannot be read (")
    assert "reading results needs permission to read the files of the folder" in message


@posix
def test_results_are_read_without_permission_to_write(open_out):
    """Read results without writing anything."""
    for name in (".", FILE, LOCK):
        (open_out / name).chmod(0o555)
    with rights_of_a_user(), Store(open_out) as store:
        assert len(store.results()) == 6
    open_out.chmod(0o777)


READS_AND_OPENS_TO_WRITE = """
import sys
from pathlib import Path
from stereo_framework.core.errors import DataError
from stereo_framework.sweep import Store

folder = Path(sys.argv[1])
with Store(folder) as store:
    print(len(store.results()))
for target in (folder, folder / "new"):
    try:
        Store(target, create=True)
    except DataError as error:
        print(error)
"""


def on_a_read_only_disk(folder, *command):
    """Run a command while a folder is mounted read-only."""
    quoted = " ".join(f"'{word}'" for word in command)
    line = f"mount --bind '{folder}' '{folder}' && mount -o remount,ro,bind '{folder}' && {quoted}"
    options = {"capture_output": True, "text": True, "timeout": 120, "check": False}
    return subprocess.run(["unshare", "-rm", "sh", "-c", line], **options)


@posix
def test_read_only_disk_is_reported(out, tmp_path):
    """Read results there, and refuse to write."""
    can_mount = shutil.which("unshare") and on_a_read_only_disk(tmp_path, "true").returncode == 0
    if not can_mount:
        pytest.skip("the system does not let the test mount a folder read-only")
    program = tmp_path / "program.py"
    program.write_text(READS_AND_OPENS_TO_WRITE)
    done = on_a_read_only_disk(tmp_path, sys.executable, str(program), str(out))
    count, *messages = done.stdout.splitlines()
    assert count == "6", done.stderr
    locations = (out / LOCK, out / "new")
    for message, location in zip(messages, locations, strict=True):
        start = f"{location}: cannot be written (Read-only file system)"
        assert_describes(message, NO_PERMISSION, start, "must be writable", "another folder")


def test_store_that_becomes_read_only_during_the_run_is_reported(out):
    """Keep the results that were written before."""
    with Store(out, create=True) as store:
        [result, *_] = store.results()
        store._db.execute("PRAGMA query_only = ON")
        message = message_of(store.add, "a", result)
        store._db.execute("PRAGMA query_only = OFF")
    assert message.startswith(f"{out / FILE}: a result cannot be written: attempt to write a read")
    assert "earlier results are kept; the file and its folder must be writable during" in message


# --- other events ---------------------------------------------------------------------


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_lock_file_that_is_lost_during_the_run_ends_the_run(change, tmp_path):
    """End the run, because a second process could lock a new file."""

    class Saboteur(Store):
        """A store whose lock file another program removes or replaces."""

        def check_in_place(self):
            """Change the lock file, and then examine it."""
            (self.folder / LOCK).unlink()
            if change == "replaced":
                (self.folder / LOCK).touch()
            super().check_in_place()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stereo_framework.sweep.script_run.Store", Saboteur)
        message = message_of(stereo_framework.run, WINDOW, scenes=dots(), out=tmp_path)
    location = f"{tmp_path / LOCK}: the lock file was removed or replaced during the run"
    expected = "the file must stay until the run ends"
    assert_describes(message, LOST_LOCK, location, expected, "run the same command again")


def test_file_in_place_of_the_folder_is_reported(tmp_path):
    """Refuse a file, because results need a folder."""
    path = tmp_path / "out"
    path.write_text("a file")
    message = message_of(Store, path, create=True)
    assert message.startswith(f"{path}: is a file, but results need a folder")
    assert message.endswith("remove the file, or choose another folder")


def test_file_of_another_program_is_reported(tmp_path):
    """The file may also be damaged."""
    (tmp_path / FILE).write_text("no database" * 1000)
    message = message_of(Store, tmp_path)
    assert message.startswith(f"{tmp_path / FILE}: is not a results store (file is not a database)")
    assert "it may be damaged, or a file of another program; choose another folder" in message


def test_full_disk_is_reported_when_the_folder_is_made(tmp_path, monkeypatch):
    """The remedy is free space."""

    def refuse(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(tmp_path / "out"))

    monkeypatch.setattr(Path, "mkdir", refuse)
    message = message_of(Store, tmp_path / "out", create=True)
    assert message.startswith(f"{tmp_path / 'out'}: cannot be written (No space left on device)")
    assert "free some space, or choose a folder on another disk" in message
