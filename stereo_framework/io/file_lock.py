"""File locks, so that two processes cannot write to a folder at the same time."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator

from stereo_framework.core.errors import DataError
from stereo_framework.io.files import PathLike
from stereo_framework.io.output_folders import check_not_linked

_LOCKED_BY_ANOTHER = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
"""Error numbers for a file that another process has locked."""

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL)
"""Error numbers for a file system without locks."""

_open_locks: set[int] = set()
"""File descriptors of all files locked by this process."""


@contextlib.contextmanager
def locked(path: PathLike) -> Iterator[None]:
    """Hold an exclusive lock on a file while a ``with`` block runs.

    If the process crashes inside the block, the operating system releases the lock.

    Parameters
    ----------
    path : path-like
        Path of the file to lock. A missing file is created. The content of an existing
        file is not changed.

    Raises
    ------
    BlockingIOError
        The file is already locked.
    DataError
        The path is a link, a pipe or a device. The file system does not support locks.
    """
    check_not_linked(path)
    # With O_NOFOLLOW, os.open raises an error if the file has become a link since the
    # check above.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        try:
            _check_database_locks(descriptor)
            _lock(descriptor)
        except OSError as error:
            if error.errno in _LOCKED_BY_ANOTHER:
                raise BlockingIOError(error.errno, "the lock is held", os.fspath(path)) from None
            raise DataError(_lock_message(path, error)) from error
        _open_locks.add(descriptor)
        yield
    finally:
        _open_locks.discard(descriptor)
        os.close(descriptor)


def _lock_message(path: PathLike, error: OSError) -> str:
    """Return the error message about a file that cannot be locked."""
    if error.errno in _NO_LOCKS:
        return (
            f"{path}: the file cannot be locked ({error.strerror}), because its file system has no "
            "file locks; a folder needs locks, so that only one process writes to it; some network "
            "folders do not support file locks; choose a folder on a local disk"
        )
    return (
        f"{path}: the file cannot be locked ({error.strerror}); the disk or the network may have "
        "failed; check the folder, or choose a folder on a local disk"
    )


def is_locked(path: PathLike) -> bool | None:
    """Return whether a process holds the lock of `locked` on a file.

    Parameters
    ----------
    path : path-like
        Path of the file. A missing file is not locked.

    Returns
    -------
    bool or None
        None means that it is not known, because the file cannot be opened or because
        its file system has no locks.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        _try_lock_of_others(descriptor)
    except OSError as error:
        return True if error.errno in _LOCKED_BY_ANOTHER else None
    finally:
        os.close(descriptor)
    return False


def has_locks(path: PathLike) -> bool:
    """Return whether the file system supports the file locks of SQLite.

    If the file cannot be opened, or if another process has locked the file, the result
    is True, too.

    Parameters
    ----------
    path : path-like
        Path of a readable file. The file must not be an open SQLite database, because
        SQLite would lose its locks.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return True
    try:
        _try_shared_lock(descriptor)
    except OSError as error:
        return error.errno not in _NO_LOCKS
    finally:
        os.close(descriptor)
    return True


if sys.platform == "win32":
    import msvcrt

    def _check_database_locks(descriptor: int) -> None:
        """Do nothing, because Windows has only one kind of file lock."""

    def _try_shared_lock(descriptor: int) -> None:
        """Do nothing, because all Windows file systems support locks."""

    def _try_lock_of_others(descriptor: int) -> None:
        """Lock and unlock a file, or raise OSError if another process has locked it."""
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

    def _lock(descriptor: int) -> None:
        """Lock an open file, or raise OSError if the file is already locked."""
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _check_database_locks(descriptor: int) -> None:
        """Raise OSError if the file system does not support the locks of SQLite.

        Without this check, SQLite would report "database is locked".
        """
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(descriptor, fcntl.LOCK_UN)

    def _try_shared_lock(descriptor: int) -> None:
        """Lock and unlock a file that is open for reading, or raise OSError."""
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.lockf(descriptor, fcntl.LOCK_UN)

    def _try_lock_of_others(descriptor: int) -> None:
        """Lock and unlock a file, or raise OSError if another process has locked it."""
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _lock(descriptor: int) -> None:
        """Lock an open file, or raise OSError if the file is already locked."""
        # Unlike lockf, flock fails if this process has already locked the file.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _leave_locks_to_the_parent() -> None:
    """Close the lock files inherited by a forked process.

    Otherwise, the files could stay locked after the parent process ends.
    """
    for descriptor in _open_locks:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _open_locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_locks_to_the_parent)
