"""Open the SQLite file of a results folder, and refuse files that could do harm.

SQLite trusts the files that it opens, but a third party may have made the files. If a
journal next to the database names any file of the user, SQLite deletes that file. A
trigger in the database can change the values that this program writes. If the database
contains a view, or pages that refer to each other in a circle, a query may never end.

Therefore this module makes three checks. First, the files next to a database must be
plain files, and its journal must not name another file. Second, the database must
contain exactly the two tables of a results store. Third, SQLite stops a query that
takes far more steps than a file of this size needs.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError
from stereo_framework.io import check_not_linked, has_locks
from stereo_framework.sweep.store_errors import writing_error

LOCK = "writer.lock"
"""Name of the file that a process locks while it writes to a results folder."""

VERSION = 5
"""Version of the format of a results store, stored in the file as ``user_version``."""

TEXTS_TABLE = "CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT)"
"""SQL statement that creates the table of texts that many results share.

The texts are JSON lists of names, JSON objects with environments, and descriptions of
protocols. The table `results` contains the numbers of the texts.
"""

RESULTS_TABLE = (
    "CREATE TABLE results (key TEXT PRIMARY KEY, place INTEGER, "
    "scene TEXT, method TEXT, setting TEXT, protocol TEXT, protocol_text INTEGER, "
    "error TEXT, time TEXT, energy REAL, matching_seconds REAL, "
    "processor_seconds REAL, threads INTEGER, "
    "statistic_names INTEGER, statistics TEXT, axis_names INTEGER, axes TEXT, "
    "parameter_names INTEGER, parameters TEXT, stage_names INTEGER, seconds TEXT, "
    "environment INTEGER, row TEXT, script TEXT)"
)
"""SQL statement that creates the table of results.

The column `key` contains a value of `identity.result_key`, which identifies a result.
The column `place` is the position of the result in the list of results that the last
command planned. The place is null if only an earlier command planned the result. The
place is -1 if another program computed the disparity map of the result.

All other columns are null until the result is computed. The column `setting` is a
digest of the method, its axes and its parameters. The columns `statistics`, `axes`,
`parameters` and `seconds` contain JSON lists of values. The column before each of them
is the number of the text with the names of these values. The columns `protocol_text`
and `environment` are numbers of texts, too. The column `row` is a JSON object with the
other fields of a result, and `script` is the resolved script of the run.
"""

_SCHEMA = [
    ("table", "texts", "texts", TEXTS_TABLE),
    ("table", "results", "results", RESULTS_TABLE),
    ("index", "sqlite_autoindex_results_1", "results", None),
]
"""All objects in a results store: its two tables, and the index of the second table."""

_COMPANIONS = ("-journal", "-wal", "-shm")
"""Endings of the names of the files that SQLite keeps next to a database."""

_END_OF_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""Last bytes of a journal that names a super-journal.

When SQLite opens a database with such a journal, SQLite deletes the super-journal.
"""

_LOCK_TIMEOUT = 30
"""Maximum time that SQLite waits for a lock of another program, in seconds."""

_FREE_STEPS = 20_000_000
"""Number of steps of SQLite's virtual machine that every query may take."""

_FREE_BYTES = 2**20
"""Number of characters that a query may return beyond the size of the file."""

_STEPS_PER_BYTE = 4
"""Number of steps that a query may take for each byte of its file.

A query on an undamaged file needs about one step for each byte.
"""

_STEPS_PER_CHECK = 1_000_000
"""Number of steps of a query between two calls of `_is_endless`."""


class Database:
    """An open results store.

    Parameters
    ----------
    path : Path
        Absolute path of the SQLite file.
    name : str
        Name of the SQLite file in messages.
    connection : sqlite3.Connection
        Open connection to the SQLite file.
    """

    def __init__(self, path: Path, name: str, connection: sqlite3.Connection):
        self._path = path
        self._name = name
        self._connection = connection
        self._opened_file = file_identity(path)
        self._steps = 0
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.STORED_VALUE)
        connection.set_progress_handler(self._is_endless, _STEPS_PER_CHECK)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA cell_size_check=ON")

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run an SQL statement and return its rows.

        Raises
        ------
        DataError
            The statement takes far more steps than a file of this size needs, or the
            rows contain more text than the file can contain.
        sqlite3.Error
            SQLite cannot run the statement.
        """
        return list(self.rows(sql, values))

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Run an SQL statement and yield its rows, without holding all rows in memory.

        Raises
        ------
        DataError, sqlite3.Error
            The errors of `execute`.
        """
        self._steps = 0
        characters = 0
        allowed_characters = _FREE_BYTES
        try:
            for row in self._connection.execute(sql, values):
                for value in row:
                    if value.__class__ is str:
                        characters += len(value)
                if characters > allowed_characters:
                    # An undamaged file has at least one byte for each character.
                    allowed_characters = self._size_of_files()
                    if characters > allowed_characters:
                        raise self._endless_error()
                yield row
        except sqlite3.OperationalError as error:
            if self._steps > _FREE_STEPS:
                raise self._endless_error() from error
            raise

    def keep_snapshot(self) -> None:
        """Let all later statements read the present content of the file.

        While a sweep writes to the file, each statement would otherwise see the latest
        results, so that two columns of a table could have different lengths. The
        snapshot ends when the connection is closed.
        """
        [[journal_mode]] = self.execute("PRAGMA journal_mode")
        if journal_mode == "wal" and not self._connection.in_transaction:
            self.execute("BEGIN")

    def define_function(self, name: str, function: Callable[..., Any], arguments: int) -> None:
        """Define a Python function that SQL statements can call.

        Parameters
        ----------
        name : str
            Name of the function in SQL.
        function : callable
            Function that always returns the same value for the same arguments.
        arguments : int
            Number of the arguments.
        """
        self._connection.create_function(name, arguments, function, deterministic=True)

    def execute_many(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        """Run an SQL statement once for each sequence of values.

        Raises
        ------
        sqlite3.Error
            SQLite cannot run the statement, or `_is_endless` has stopped the statement.
        """
        self._steps = 0
        self._connection.executemany(sql, values)

    @contextlib.contextmanager
    def transaction(self, content: str) -> Iterator[None]:
        """Commit all statements of a ``with`` block, or none of the statements.

        Parameters
        ----------
        content : str
            Noun that messages use for the written content, such as "a result".

        Raises
        ------
        StereoFrameworkError
            SQLite cannot write to the file, for example because the disk is full. The
            content of earlier transactions is kept.
        DataError
            The opened file was removed, moved or replaced, so the content is lost.
        """
        try:
            with self._connection:
                yield
        except sqlite3.Error as error:
            raise writing_error(self._name, content, error) from error
        self.check_in_place()

    def check_in_place(self) -> None:
        """Raise an error if the opened file was removed, moved or replaced.

        SQLite continues to write to a removed or replaced file without an error, and
        the written results are lost when the program ends.

        Raises
        ------
        DataError
            The file was removed, moved or replaced.
        """
        folder = os.path.dirname(self._name) or "."
        present_file = file_identity(self._path)
        if present_file is None:
            message = (
                f"{folder}: was removed or moved during the run, together with its results; "
                "later results are lost; run the same command again to start over"
            )
            raise DataError(message)
        if present_file != self._opened_file:
            message = (
                f"{self._name}: another file took its place during the run; a program that "
                "synchronizes or restores files may have written it; the results computed since "
                "are lost; stop that program for this folder, or choose another folder, and run "
                "the same command again"
            )
            raise DataError(message)

    def check_schema(self) -> bool:
        """Return True if the file contains a results store, and False if it is empty.

        Raises
        ------
        DataError
            The database does not define exactly the tables of a results store, or the
            results store has another version.
        """
        schema = self.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY rowid LIMIT 4"
        )
        if not schema:
            return False

        [[version]] = self.execute("PRAGMA user_version")
        if 0 < version < VERSION:
            raise self._former_version_error(version)
        if schema != _SCHEMA or version != VERSION:
            message = (
                f"{self._name}: is not a results store of this program, because it does not define "
                f"exactly the tables of version {VERSION}; choose another folder"
            )
            raise DataError(message)
        return True

    def create_tables(self) -> None:
        """Create the tables of a results store in an empty file."""
        with self._connection:
            self.execute("BEGIN")
            self.execute(TEXTS_TABLE)
            self.execute(RESULTS_TABLE)
            self.execute(f"PRAGMA user_version = {VERSION}")

    def close(self) -> None:
        """Close the connection to the SQLite file."""
        self._connection.close()

    def _is_endless(self) -> bool:
        """Count the steps of a query, and return whether SQLite must stop the query.

        SQLite calls this method each time that the query has taken `_STEPS_PER_CHECK`
        steps.
        """
        self._steps += _STEPS_PER_CHECK
        return self._steps > _FREE_STEPS and self._steps > _STEPS_PER_BYTE * self._size_of_files()

    def _size_of_files(self) -> int:
        """Return the size of the database and its log plus `_FREE_BYTES`, in bytes."""
        size = _FREE_BYTES
        for ending in ("", "-wal"):
            with contextlib.suppress(OSError):
                size += os.stat(f"{self._path}{ending}").st_size
        return size

    def _former_version_error(self, version: int) -> DataError:
        """Return the error that reports a results store of an earlier version."""
        scripts = os.path.join(os.path.dirname(self._name), "*.resolved.yaml")
        remedy = (
            f"compute them again in another folder: the scripts are {scripts}; run each with "
            "'stereo-framework run SCRIPT --out FOLDER'; if a script uses a former name of a key "
            "or a parameter, the error gives the new name"
        )
        message = (
            f"{self._name}: holds results of version {version} of this format, and this program "
            f"reads version {VERSION}; {remedy}"
        )
        return DataError(message)

    def _endless_error(self) -> DataError:
        """Return the error that reports a query that would never end."""
        message = (
            f"{self._name}: is damaged: reading the file does not end; choose another folder, or "
            "delete this file and run again"
        )
        return DataError(message)


@contextlib.contextmanager
def opened_to_write(path: Path, name: str) -> Iterator[Database]:
    """Open a results store for writing, and create it if the file is missing or empty.

    Parameters
    ----------
    path : Path
        Absolute path of the SQLite file.
    name : str
        Name of the SQLite file in messages.

    Raises
    ------
    DataError
        The file is not a results store, or a file next to the SQLite file is unsafe.
        The error also reports that the SQLite file was removed, moved or replaced
        before the end of the ``with`` block.
    sqlite3.Error
        SQLite cannot open the file.
    """
    check_not_linked(path)
    _check_companions(path)
    with contextlib.closing(sqlite3.connect(path, timeout=_LOCK_TIMEOUT)) as connection:
        database = Database(path, name, connection)
        if not database.check_schema():
            database.create_tables()
            database.check_schema()
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        try:
            yield database
            database.check_in_place()
        finally:
            # A store without a write-ahead log is a single file, which can be read even
            # in a read-only folder. SQLite cannot remove the log while another process
            # reads the store. This error is ignored, because the log does no harm.
            with contextlib.suppress(sqlite3.Error):
                connection.execute("PRAGMA journal_mode=DELETE")


@contextlib.contextmanager
def opened_to_read(path: Path, name: str) -> Iterator[Database | None]:
    """Open a results store for reading, and yield None if the store does not exist.

    The function writes no file, so the folder may be read-only.

    Parameters
    ----------
    path : Path
        Absolute path of the SQLite file.
    name : str
        Name of the SQLite file in messages.

    Raises
    ------
    DataError
        The file is not a results store, or a file next to the SQLite file is unsafe.
    sqlite3.Error
        SQLite cannot open the file.
    """
    if not path.is_file():
        yield None
        return
    # If the path is a link, SQLite opens the target of the link, and reads the journal
    # next to the target.
    target = Path(os.path.realpath(path))
    _check_companions(target)
    is_without_locks = not has_locks(target.parent / LOCK)
    if is_without_locks:
        _refuse_log_without_locks(target)
    # With immutable=1, SQLite takes no locks, and creates no files next to the
    # database. If the path is a link, such files would be in another folder of the
    # user.
    mode = "immutable=1" if path.is_symlink() or is_without_locks else "mode=ro"
    with contextlib.closing(
        sqlite3.connect(f"{target.as_uri()}?{mode}", uri=True, timeout=_LOCK_TIMEOUT)
    ) as connection:
        database = Database(path, name, connection)
        yield database if database.check_schema() else None


def _refuse_log_without_locks(path: Path) -> None:
    """Refuse a results store whose latest results are in a write-ahead log.

    SQLite cannot read the write-ahead log on a file system without locks. The results
    in the log would be missing.

    Raises
    ------
    DataError
        The write-ahead log contains results.
    """
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size > 0:
        message = (
            f"{log}: holds results that cannot be read here, because this file system has no "
            "locks; copy the whole folder to a local disk and read the copy, or wait until the run "
            "that writes this file ends"
        )
        raise DataError(message)


def _check_companions(path: Path) -> None:
    """Refuse a database if a file next to the database is unsafe to open.

    Raises
    ------
    DataError
        A file next to the database is a link, a pipe or a device, or the journal of the
        database names a super-journal.
    """
    for ending in _COMPANIONS:
        check_not_linked(f"{path}{ending}")
    journal = Path(f"{path}-journal")
    if (
        journal.exists()
        and _last_bytes(journal, len(_END_OF_SUPER_JOURNAL)) == _END_OF_SUPER_JOURNAL
    ):
        message = (
            f"{journal}: names another file, which SQLite would delete; this program never writes "
            "such a journal; choose another folder, or delete the journal"
        )
        raise DataError(message)


def _last_bytes(path: Path, count: int) -> bytes:
    """Return the last `count` bytes of a file, or the whole content of a short file."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - count))
        return file.read(count)


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode numbers of a file, or None if the file is missing."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
