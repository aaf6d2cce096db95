"""Create the error messages for results stores that cannot be opened, read or written.

Python and SQLite describe different problems with similar texts. For example, SQLite
reports "database is locked" if another program writes to the database, but also if the
file system does not support locks. The functions in this module find the cause from the
number of the error, and return one message for each cause.
"""

import enum
import errno
import os
import sqlite3
from pathlib import Path

from stereo_framework.core.errors import DataError, StereoFrameworkError, one_line
from stereo_framework.io import has_locks

StoreFault = OSError | sqlite3.Error
"""Type of exceptions that the operating system or SQLite raises."""


class Event(enum.Enum):
    """Cause of an error when a results store is opened, read or written."""

    NO_LOCKS = enum.auto()
    NO_PERMISSION = enum.auto()
    SECOND_PROGRAM = enum.auto()
    DISK_FULL = enum.auto()
    NO_DATABASE = enum.auto()
    NO_FOLDER = enum.auto()
    OTHER = enum.auto()


_EVENT_OF_ERRNO = {
    errno.ENOLCK: Event.NO_LOCKS,
    errno.ENOSYS: Event.NO_LOCKS,
    errno.ENOTSUP: Event.NO_LOCKS,
    errno.EOPNOTSUPP: Event.NO_LOCKS,
    errno.EROFS: Event.NO_PERMISSION,
    errno.EACCES: Event.NO_PERMISSION,
    errno.EPERM: Event.NO_PERMISSION,
    errno.EAGAIN: Event.SECOND_PROGRAM,
    errno.ENOSPC: Event.DISK_FULL,
    errno.EDQUOT: Event.DISK_FULL,
    errno.EEXIST: Event.NO_FOLDER,
    errno.ENOTDIR: Event.NO_FOLDER,
}

_EVENT_OF_SQLITE_CODE = {
    sqlite3.SQLITE_PROTOCOL: Event.NO_LOCKS,
    sqlite3.SQLITE_READONLY: Event.NO_PERMISSION,
    sqlite3.SQLITE_PERM: Event.NO_PERMISSION,
    sqlite3.SQLITE_BUSY: Event.SECOND_PROGRAM,
    sqlite3.SQLITE_LOCKED: Event.SECOND_PROGRAM,
    sqlite3.SQLITE_FULL: Event.DISK_FULL,
    sqlite3.SQLITE_NOTADB: Event.NO_DATABASE,
    sqlite3.SQLITE_CORRUPT: Event.NO_DATABASE,
}
"""Event for each primary error code of SQLite.

The primary error code is the last byte of an error code.
"""

_LOCK_CODES = (
    sqlite3.SQLITE_IOERR_BLOCKED,
    sqlite3.SQLITE_IOERR_CHECKRESERVEDLOCK,
    sqlite3.SQLITE_IOERR_LOCK,
    sqlite3.SQLITE_IOERR_RDLOCK,
    sqlite3.SQLITE_IOERR_SHMLOCK,
    sqlite3.SQLITE_IOERR_SHMMAP,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_UNLOCK,
)
"""Error codes that SQLite returns if a lock or shared memory does not work."""


def event_of(error: StoreFault) -> Event:
    """Return the event that has caused an exception."""
    if isinstance(error, OSError):
        return _EVENT_OF_ERRNO.get(error.errno or 0, Event.OTHER)
    # If the Python module sqlite3 itself has raised the exception, the exception has no
    # error code.
    code = getattr(error, "sqlite_errorcode", 0)
    if code in _LOCK_CODES:
        return Event.NO_LOCKS
    return _EVENT_OF_SQLITE_CODE.get(code & 0xFF, Event.OTHER)


def second_writer_error(folder: Path, lock: str) -> DataError:
    """Return the error that reports a folder to which another process writes.

    Parameters
    ----------
    folder : Path
        Path of the output folder that the user has given.
    lock : str
        Name of the lock file.
    """
    message = (
        f"{folder}: another process holds the lock {lock}; only one process may write to a "
        "results folder; this may be a command that is writing there, or a process that was "
        "stopped and not ended; wait for it or end it, or choose another folder"
    )
    return DataError(message)


def lost_lock_error(path: Path) -> DataError:
    """Return the error that reports a lock file that was removed during the run."""
    message = (
        f"{path}: the lock file was removed or replaced during the run, so this process no longer "
        "holds the lock of the folder, and a second process may write to it; the file must stay "
        "until the run ends; earlier results are kept; run the same command again to continue"
    )
    return DataError(message)


def writing_error(name: str, content: str, error: sqlite3.Error) -> StereoFrameworkError:
    """Return the error that reports a failed write to an open results store.

    Parameters
    ----------
    name : str
        Name of the SQLite file in messages.
    content : str
        Noun for the content that cannot be written, such as "a result".
    error : sqlite3.Error
        Exception that SQLite has raised.
    """
    remedies = {
        Event.NO_LOCKS: (
            "the file system must support file locks during the whole run; copy the folder to a "
            "local disk"
        ),
        Event.NO_PERMISSION: (
            "the file and its folder must be writable during the whole run; make them writable"
        ),
        Event.SECOND_PROGRAM: (
            "no other program may use the file during the run; close the program that has it open"
        ),
        Event.DISK_FULL: "free some disk space",
    }
    remedy = remedies.get(event_of(error), "check the disk or the network folder")
    message = (
        f"{name}: {content} cannot be written: {error}; earlier results are kept; {remedy}, and "
        "run the same command again to continue"
    )
    return StereoFrameworkError(message)


def opening_to_write_error(name: str, error: StoreFault) -> DataError:
    """Return the error that reports a results store that cannot be opened for writing.

    Parameters
    ----------
    name : str
        Name of the SQLite file in messages.
    error : OSError or sqlite3.Error
        Exception that was raised when the store was opened.
    """
    event = event_of(error)
    location = _location(name, error)
    reason = _reason(error)
    if event is Event.NO_PERMISSION or _has_no_access(name, error, os.W_OK):
        message = (
            f"{location}: cannot be written ({reason}); a results folder and its files must be "
            "writable; make them writable, or choose another folder"
        )
        return DataError(message)
    if event is Event.DISK_FULL:
        message = (
            f"{location}: cannot be written ({reason}); the disk needs free space; free some "
            "space, or choose a folder on another disk"
        )
        return DataError(message)
    if event is Event.NO_FOLDER:
        message = (
            f"{location}: is a file, but results need a folder ({reason}); remove the file, or "
            "choose another folder"
        )
        return DataError(message)
    return _opening_error(name, error, event)


def opening_to_read_error(name: str, error: StoreFault) -> DataError:
    """Return the error that reports a results store that cannot be opened for reading.

    Do not call this function while the SQLite file is open in this process. The
    function may open and close the file, and SQLite would lose its locks on the file.

    Parameters
    ----------
    name : str
        Name of the SQLite file in messages.
    error : OSError or sqlite3.Error
        Exception that was raised when the store was opened.
    """
    # SQLite may report "database is locked" although no other program uses the file,
    # because some file systems do not support locks.
    if event_of(error) is Event.SECOND_PROGRAM and not has_locks(name):
        return _opening_error(name, error, Event.NO_LOCKS)
    return reading_error(name, error)


def reading_error(name: str, error: StoreFault) -> DataError:
    """Return the error that reports a results store that cannot be read.

    Parameters
    ----------
    name : str
        Name of the SQLite file in messages.
    error : OSError or sqlite3.Error
        Exception that was raised when the store was read.
    """
    event = event_of(error)
    if event is Event.NO_PERMISSION or _has_no_access(name, error, os.R_OK):
        message = (
            f"{_location(name, error)}: cannot be read ({_reason(error)}); reading results needs "
            "permission to read the files of the folder; change the permissions, or read a copy of "
            "the folder"
        )
        return DataError(message)
    return _opening_error(name, error, event)


def _opening_error(name: str, error: StoreFault, event: Event) -> DataError:
    """Return the error for an event that occurred when a results store was opened."""
    reason = _reason(error)
    if event is Event.NO_LOCKS:
        message = (
            f"{name}: cannot be opened, because its file system does not support file locks "
            f"({reason}); some network folders do not support them; choose a folder on a local "
            "disk, or copy this folder to one"
        )
    elif event is Event.SECOND_PROGRAM:
        message = (
            f"{name}: another program has locked this file ({reason}); a results store may be used "
            "only by this program while a command runs; close the other program, or read a copy of "
            "the folder"
        )
    elif event is Event.NO_DATABASE:
        message = (
            f"{name}: is not a results store ({reason}); it may be damaged, or a file of another "
            "program; choose another folder, or move the file away and run again"
        )
    else:
        message = (
            f"{name}: cannot be opened as a results store ({reason}); check the path and the disk, "
            "or choose a folder on a local disk"
        )
    return DataError(message)


def _has_no_access(name: str, error: StoreFault, access: int) -> bool:
    """Return whether SQLite could not open a file because the user lacks permission.

    The exception of SQLite contains neither the name of the file nor the reason.
    Therefore this function tests the permissions of the files itself.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    if code & 0xFF != sqlite3.SQLITE_CANTOPEN:
        return False
    paths = [os.path.dirname(name) or ".", name, f"{name}-wal", f"{name}-shm"]
    existing_paths = [path for path in paths if os.path.exists(path)]
    # The permissions of the effective user are tested if the system supports this.
    # Otherwise, the permissions of the real user are tested.
    is_effective = os.access in os.supports_effective_ids
    return not all(os.access(path, access, effective_ids=is_effective) for path in existing_paths)


def _location(name: str, error: StoreFault) -> str:
    """Return the path in an exception, or the SQLite file if there is no path."""
    filename = getattr(error, "filename", None)
    return name if filename is None else str(filename)


def _reason(error: StoreFault) -> str:
    """Return the text of an exception without its error number and path."""
    return one_line(getattr(error, "strerror", None) or str(error))
