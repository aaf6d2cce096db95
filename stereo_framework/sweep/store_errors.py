"""Errors about results stores that cannot be opened, read or written.

Python and SQLite report many events with similar texts. For example, SQLite reports
"database is locked" if another program writes, and also on some file systems without
locks. The functions here find the event by the number of the error, and write one
message for each event.
"""

import enum
import errno
import os
import sqlite3
from pathlib import Path

from stereo_framework.core.errors import DataError, StereoFrameworkError, one_line
from stereo_framework.io import has_locks

StoreFault = OSError | sqlite3.Error
"""Exceptions of the operating system and of SQLite."""


class Event(enum.Enum):
    """The reason why a store cannot be opened, read or written."""

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
"""Events by the primary error code of SQLite, which is the last byte of a code."""

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
"""Error codes of SQLite for a lock, or for the shared memory of the processes."""


def event_of(error: StoreFault) -> Event:
    """Return the event that an exception reports."""
    if isinstance(error, OSError):
        return _EVENT_OF_ERRNO.get(error.errno or 0, Event.OTHER)
    # An exception that does not come from SQLite itself has no code.
    code = getattr(error, "sqlite_errorcode", 0)
    if code in _LOCK_CODES:
        return Event.NO_LOCKS
    return _EVENT_OF_SQLITE_CODE.get(code & 0xFF, Event.OTHER)


def second_writer_error(folder: Path, lock: str) -> DataError:
    """Return the error about a folder to which another process writes.

    Parameters
    ----------
    folder : Path
        Output folder, as the user named it.
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
    """Return the error about a lock file that was removed during the run."""
    message = (
        f"{path}: the lock file was removed or replaced during the run, so this process no longer "
        "holds the lock of the folder, and a second process may write to it; the file must stay "
        "until the run ends; earlier results are kept; run the same command again to continue"
    )
    return DataError(message)


def writing_error(name: str, content: str, error: sqlite3.Error) -> StereoFrameworkError:
    """Return the error about content that cannot be written to an open store.

    Parameters
    ----------
    name : str
        The SQLite file, as messages name it.
    content : str
        A noun for the content, such as "a result".
    error : sqlite3.Error
        The exception.
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
    """Return the error about a store that cannot be opened for writing.

    Parameters
    ----------
    name : str
        The SQLite file, as messages name it.
    error : OSError or sqlite3.Error
        The exception.
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
    """Return the error about a store that cannot be opened for reading.

    The file must not be open in this process, because the function may open and close
    it, and SQLite would then lose its locks.

    Parameters
    ----------
    name : str
        The SQLite file, as messages name it.
    error : OSError or sqlite3.Error
        The exception.
    """
    # On some file systems without locks, SQLite reports "database is locked", too.
    if event_of(error) is Event.SECOND_PROGRAM and not has_locks(name):
        return _opening_error(name, error, Event.NO_LOCKS)
    return reading_error(name, error)


def reading_error(name: str, error: StoreFault) -> DataError:
    """Return the error about a store that cannot be read.

    Parameters
    ----------
    name : str
        The SQLite file, as messages name it.
    error : OSError or sqlite3.Error
        The exception.
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
    """Return the error about an event that may occur while a store is opened."""
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
    """Return whether SQLite could not open a file because permission is missing.

    SQLite reports only that it was unable to open a file, but not which file, and not
    the reason.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    if code & 0xFF != sqlite3.SQLITE_CANTOPEN:
        return False
    paths = [os.path.dirname(name) or ".", name, f"{name}-wal", f"{name}-shm"]
    existing_paths = [path for path in paths if os.path.exists(path)]
    # Some systems can test the permissions of the real user only.
    is_effective = os.access in os.supports_effective_ids
    return not all(os.access(path, access, effective_ids=is_effective) for path in existing_paths)


def _location(name: str, error: StoreFault) -> str:
    """Return the path that an exception names, or the path of the SQLite file."""
    filename = getattr(error, "filename", None)
    return name if filename is None else str(filename)


def _reason(error: StoreFault) -> str:
    """Return the text of an exception without the number and the path."""
    return one_line(getattr(error, "strerror", None) or str(error))
