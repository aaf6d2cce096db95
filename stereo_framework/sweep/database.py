"""The SQLite file of a results folder, guarded against files that third parties made.

SQLite trusts the files that it opens. A journal next to the database can name any file,
which SQLite then deletes. A trigger in the database changes the written values. A view,
or pages that refer to each other in circles, can make a query that never ends.
Therefore three checks are made. The files next to a database must be plain files, and
its journal must not name another file. The database must hold exactly the one table of
a results store. A query is stopped if it takes far more steps than the size of its file
can explain.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError
from stereo_framework.io import check_not_linked, has_locks
from stereo_framework.sweep.store_errors import writing_error

LOCK = "writer.lock"
"""The file in the folder of a store that the writing process locks."""

VERSION = 4
"""Version of the table, stored as SQLite's user_version."""

TABLE = "CREATE TABLE results (key TEXT PRIMARY KEY, place INTEGER, row TEXT, details TEXT)"
"""The one table of a results store.

`key` identifies a result, see `identity.result_key`. `place` is the position of the
result in the list of results that the last command planned. It is null if only an
earlier command planned the result, and -1 if the result evaluates a disparity map of
another program. `row` is null until the result is computed. `details` holds values that
are rarely read.
"""

_SCHEMA = [
    ("table", "results", "results", TABLE),
    ("index", "sqlite_autoindex_results_1", "results", None),
]
"""All that a results store may define: the table, and the index of its primary key."""

_COMPANIONS = ("-journal", "-wal", "-shm")
"""Endings of the names of the files that SQLite keeps next to a database."""

_END_OF_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""Last bytes of a journal that names a second file, the super-journal.

SQLite deletes that file.
"""

_LOCK_TIMEOUT = 30
"""Maximum time that SQLite waits for a lock of another program, in seconds."""

_FREE_STEPS = 20_000_000
"""Steps of SQLite's virtual machine that every query may take."""

_FREE_BYTES = 2**20
"""Number by which a query may return more characters than the file has bytes."""

_STEPS_PER_BYTE = 4
"""Steps that a query may take in addition for each byte of its file.

A query on a sound file needs about one.
"""

_STEPS_PER_CHECK = 1_000_000
"""Steps of SQLite's virtual machine between two checks of a query's length."""


class Database:
    """An open results store.

    Parameters
    ----------
    path : Path
        The SQLite file, absolute.
    name : str
        The file's name in messages.
    connection : sqlite3.Connection
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
        """Run a statement and return its rows.

        Raises
        ------
        DataError
            The statement takes more steps than the size of the file explains, or it
            returns more text than the file can hold.
        sqlite3.Error
            SQLite cannot run the statement.
        """
        self._steps = 0
        characters = 0
        rows = []
        try:
            for row in self._connection.execute(sql, values):
                characters += sum(len(value) for value in row if isinstance(value, str))
                # A sound file stores at least one byte for each character.
                if characters > _FREE_BYTES and characters > self._size_of_files():
                    raise self._endless_error()
                rows.append(row)
        except sqlite3.OperationalError as error:
            if self._steps > _FREE_STEPS:
                raise self._endless_error() from error
            raise
        return rows

    def execute_many(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each sequence of values.

        Raises
        ------
        sqlite3.Error
            SQLite cannot run the statement, or it was stopped because it does not end.
        """
        self._steps = 0
        self._connection.executemany(sql, values)

    @contextlib.contextmanager
    def transaction(self, content: str) -> Iterator[None]:
        """Commit all statements of the block, or none of them.

        Parameters
        ----------
        content : str
            A noun for messages, such as "a result".

        Raises
        ------
        StereoFrameworkError
            The file cannot be written, for example because the disk is full. Everything
            that was written before is kept.
        DataError
            The path no longer leads to the opened file, so the content is lost.
        """
        try:
            with self._connection:
                yield
        except sqlite3.Error as error:
            raise writing_error(self._name, content, error) from error
        self.check_in_place()

    def check_in_place(self) -> None:
        """Refuse a path that no longer leads to the file that was opened.

        SQLite goes on writing to a file that was removed, moved or replaced, and its
        content is lost when the program ends.

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
        """Return whether the file holds a results store; an empty file does not.

        Raises
        ------
        DataError
            The file defines anything but the one table of a results store, or it has
            another version.
        """
        schema = self.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY rowid LIMIT 3"
        )
        if not schema:
            return False

        [[version]] = self.execute("PRAGMA user_version")
        if 0 < version < VERSION:
            raise self._former_version_error(version)
        if schema != _SCHEMA or version != VERSION:
            message = (
                f"{self._name}: is not a results store of this program, because it does not define "
                f"exactly the one table of version {VERSION}; choose another folder"
            )
            raise DataError(message)
        return True

    def create_table(self) -> None:
        """Create the table in an empty file."""
        with self._connection:
            self.execute("BEGIN")
            self.execute(TABLE)
            self.execute(f"PRAGMA user_version = {VERSION}")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _is_endless(self) -> bool:
        """Count steps, and return whether SQLite must stop the running query.

        SQLite calls this method after every `_STEPS_PER_CHECK` steps.
        """
        self._steps += _STEPS_PER_CHECK
        return self._steps > _FREE_STEPS and self._steps > _STEPS_PER_BYTE * self._size_of_files()

    def _size_of_files(self) -> int:
        """Return the size of the database and its log, plus `_FREE_BYTES`, in bytes."""
        size = _FREE_BYTES
        for ending in ("", "-wal"):
            with contextlib.suppress(OSError):
                size += os.stat(f"{self._path}{ending}").st_size
        return size

    def _former_version_error(self, version: int) -> DataError:
        """Return the error about a store of an earlier version, with the remedy."""
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
        """Return the error about a query that takes too many steps."""
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
        The SQLite file, absolute.
    name : str
        The file's name in messages.

    Raises
    ------
    DataError
        The file is not a results store, or a file next to it is unsafe. At the
        end of the block: another file took the place of the store.
    sqlite3.Error
        SQLite cannot open the file.
    """
    check_not_linked(path)
    _check_companions(path)
    with contextlib.closing(sqlite3.connect(path, timeout=_LOCK_TIMEOUT)) as connection:
        database = Database(path, name, connection)
        if not database.check_schema():
            database.create_table()
            database.check_schema()
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        try:
            yield database
            database.check_in_place()
        finally:
            # Without a write-ahead log, the store is one file. It can be read even in a
            # read-only folder. The change fails while another process reads the store.
            with contextlib.suppress(sqlite3.Error):
                connection.execute("PRAGMA journal_mode=DELETE")


@contextlib.contextmanager
def opened_to_read(path: Path, name: str) -> Iterator[Database | None]:
    """Open a results store for reading; None if there is no store.

    Nothing is written, and the folder may be one that cannot be written.

    Parameters
    ----------
    path : Path
        The SQLite file, absolute.
    name : str
        The file's name in messages.

    Raises
    ------
    DataError
        The file is not a results store, or a file next to it is unsafe.
    sqlite3.Error
        SQLite cannot open the file.
    """
    if not path.is_file():
        yield None
        return
    # SQLite follows a link, and looks for the companions where the link leads.
    target = Path(os.path.realpath(path))
    _check_companions(target)
    is_without_locks = not has_locks(target.parent / LOCK)
    if is_without_locks:
        _refuse_log_without_locks(target)
    # With immutable=1, SQLite takes no locks. It also creates no files next to the
    # database, which may be in another folder if the path is a link.
    mode = "immutable=1" if path.is_symlink() or is_without_locks else "mode=ro"
    with contextlib.closing(
        sqlite3.connect(f"{target.as_uri()}?{mode}", uri=True, timeout=_LOCK_TIMEOUT)
    ) as connection:
        database = Database(path, name, connection)
        yield database if database.check_schema() else None


def _refuse_log_without_locks(path: Path) -> None:
    """Refuse a store whose latest results are in a write-ahead log.

    SQLite reads the log only with locks. Without locks, these results would be missing.

    Raises
    ------
    DataError
        The log holds results.
    """
    log = Path(f"{path}-wal")
    if log.exists() and log.stat().st_size > 0:
        message = (
            f"{log}: holds results that cannot be read here, because this file system has no "
            "locks; copy the whole folder to a local disk and read it there, or let the run end "
            "that writes it"
        )
        raise DataError(message)


def _check_companions(path: Path) -> None:
    """Refuse the files next to a database that a third party may have made to do harm.

    Raises
    ------
    DataError
        A companion is a link, a pipe or a device, or a journal names a super-journal.
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
    """Return the last bytes of a file; fewer if the file is shorter."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - count))
        return file.read(count)


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return the device number and inode number of a file; None if it is missing."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
