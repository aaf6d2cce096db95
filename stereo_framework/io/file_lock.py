"""File locks, which prevent two processes from writing to the same folder at once."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator

from stereo_framework.core.errors import DataError
from stereo_framework.io.files import PathLike
from stereo_framework.io.output_folders import check_not_linked

_LOCKED_BY_ANOTHER = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
"""Error numbers which mean that another process has locked the file."""

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL)
"""Error numbers which mean that the file system does not support locks."""

_open_locks: set[int] = set()
"""File descriptors of the files that this process has locked."""


@contextlib.contextmanager
def locked(path: PathLike) -> Iterator[None]:
    """Hold an exclusive lock on a file while a ``with`` block runs.

    The operating system also releases the lock if the process ends or crashes inside
    the block. Locking neither reads nor changes the content of the file.

    Parameters
    ----------
    path : path-like
        Path of the file to lock. If the file does not exist, it is created.

    Raises
    ------
    BlockingIOError
        Another process has locked the file, or this process has already locked it.
    DataError
        The path is a link, a pipe or a device, or the file system does not support
        locks.
    """
    check_not_linked(path)
    # Another process may have replaced the file by a link after the check above. With
    # O_NOFOLLOW, os.open then raises an error.
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
                f"{path}: the file cannot be locked ({error.strerror}); some network folders do "
                "not support file locks; choose a folder on a local disk"
            )
            raise DataError(message) from error
        _open_locks.add(descriptor)
        yield
    finally:
        _open_locks.discard(descriptor)
        os.close(descriptor)


def has_locks(path: PathLike) -> bool:
    """Return whether the file system of a file supports the locks that SQLite needs.

    The result is False only if the operating system reports that the file system does
    not support locks. If any other error occurs, the result is True.

    Do not pass the path of an SQLite database that is open in this process, because
    SQLite would lose its locks on the database.

    Parameters
    ----------
    path : path-like
        Path of a readable file. The file is not changed.
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
        """Do nothing, because `_lock` tests the only kind of file lock of Windows."""

    def _try_shared_lock(descriptor: int) -> None:
        """Do nothing, because every file system of Windows supports file locks."""

    def _lock(descriptor: int) -> None:
        """Lock an open file; raise OSError at once if it is already locked."""
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _check_database_locks(descriptor: int) -> None:
        """Raise OSError if the file system does not support locks on parts of a file.

        SQLite needs such locks. If they are not supported, SQLite reports that its
        database is locked, which is misleading.
        """
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(descriptor, fcntl.LOCK_UN)

    def _try_shared_lock(descriptor: int) -> None:
        """Lock and unlock a file that is open for reading; raise OSError on failure."""
        fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.lockf(descriptor, fcntl.LOCK_UN)

    def _lock(descriptor: int) -> None:
        """Lock an open file; raise OSError at once if it is already locked."""
        # With lockf, this process could lock a file twice. With flock, the second lock
        # fails.
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _leave_locks_to_the_parent() -> None:
    """Close the lock files that a forked process has inherited from its parent.

    Otherwise, a worker process that outlives its parent would keep the files locked.
    """
    for descriptor in _open_locks:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    _open_locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_locks_to_the_parent)
