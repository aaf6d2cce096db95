"""SQLite files as stores use them: opened for writing by one process at a time, and for reading wherever they lie."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from stereo_framework.core.errors import DataError
from stereo_framework.io import check_plain


def connected(path: Path) -> sqlite3.Connection:
    """Open a file for transactions that are begun by hand; its own views and triggers may do no harm.

    Raises
    ------
    DataError
        It, or one of the files that SQLite keeps beside it, is a link.
    """
    for ending in ("", "-wal", "-shm", "-journal"):
        check_plain(f"{path}{ending}")
    db = sqlite3.connect(path, isolation_level=None, timeout=30)
    db.execute("PRAGMA trusted_schema=OFF")
    return db


@contextlib.contextmanager
def opened_to_read(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store without changing anything in it, on a disk that cannot be written to as well.

    SQLite needs to write beside a file that it reads. Where it cannot, or the file is a link to one that lies elsewhere, a copy is read.
    """
    with contextlib.ExitStack() as stack:
        if not path.is_symlink() and path.stat().st_nlink == 1:
            db = stack.enter_context(contextlib.closing(connected(path)))
            try:
                db.execute("PRAGMA query_only=ON")
                db.execute("SELECT name FROM sqlite_master").fetchone()
            except sqlite3.OperationalError:
                pass
            else:
                yield db
                return
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for file in (path, path.with_name(f"{path.name}-wal")):
            if file.is_file():
                shutil.copyfile(file, folder / file.name)
        yield stack.enter_context(contextlib.closing(connected(folder / path.name)))


def locked(path: Path) -> sqlite3.Connection:
    """Keep others from writing. The system itself ends the lock together with the process, however that ends."""
    # Somebody who asks whether a sweep is running holds it for a moment.
    check_plain(path)
    lock = sqlite3.connect(path, isolation_level=None, timeout=0.5, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" not in str(error):
            raise
        raise DataError(f"{path.parent}: another sweep is writing there; wait for it or choose another folder") from None
    return lock
