"""Locks on files, which keep other processes from writing to the same folder."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator

from stereo_framework.core.errors import DataError
from stereo_framework.io.files import PathLike
from stereo_framework.io.output_folders import check_not_linked

_LOCKED_BY_ANOTHER = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
"""Error numbers by which the system reports that another process holds the lock."""

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL)
"""Error numbers by which a file system reports that it has no locks."""

_open_locks: set[int] = set()
"""File descriptors of the locks that this process holds."""


@contextlib.contextmanager
def locked(path: PathLike) -> Iterator[None]:
    """Hold an exclusive lock on a file until the block ends.

    The system releases the lock when the process ends, also after a crash. The content
    of the file is neither read nor changed.

    Parameters
    ----------
    path : path-like
        The file to lock. It is created if it is missing.

    Raises
    ------
    BlockingIOError
        Another process, or another block of this process, holds the lock.
    DataError
        The path is a link, a pipe or a device, or its file system has no locks.
    """
    check_not_linked(path)
    # O_NOFOLLOW is needed because the path may have become a link since the check.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        try:
            _check_database_locks(descriptor)
            _lock(descriptor)
        except OSError as error:
            if error.errno in _LOCKED_BY_ANOTHER:
                raise BlockingIOError(error.errno, "the lock is held", os.fspath(path)) from None
            message = (
                f"{path}: the file cannot be locked ({error.strerror}); the file system may have "
                "no locks, like that of some network folders; choose a folder on a local disk"
            )
            raise DataError(message) from error
        _open_locks.add(descriptor)
        yield
    finally:
        _open_locks.discard(descriptor)
        os.close(descriptor)


def has_locks(path: PathLike) -> bool:
    """Return whether the file system of a file has the locks that SQLite uses.

    Do not pass a database that this process has open, because SQLite would lose its
    locks. The result is False only if the system reports that there are no locks. After
    any other error it is True.

    Parameters
    ----------
    path : path-like
        A readable file, which is not changed.
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
        """Do nothing: Windows has one kind of locks."""

    def _try_shared_lock(descriptor: int) -> None:
        """Do nothing: every file system of Windows has locks."""

    def _lock(descriptor: int) -> None:
        """Lock a file without waiting, or raise OSError."""
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _check_database_locks(descriptor: int) -> None:
        """Raise OSError if the file system has no locks on parts of files.

        SQLite uses such locks. Without them, SQLite would report that the database is
        locked.
        """
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(descriptor, fcntl.LOCK_UN)

    def _try_shared_lock(descriptor: int) -> None:
        """Lock and release a file that is open for reading, or raise OSError."""
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.lockf(descriptor, fcntl.LOCK_UN)

    def _lock(descriptor: int) -> None:
        """Lock a file without waiting, or raise OSError."""
        # Unlike lockf, flock also excludes a second lock of the same process.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _leave_locks_to_the_parent() -> None:
    """Close the lock files that a newly forked process has inherited.

    Otherwise a worker that survives its parent would keep the locks of the parent.
    """
    for descriptor in _open_locks:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _open_locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_locks_to_the_parent)
