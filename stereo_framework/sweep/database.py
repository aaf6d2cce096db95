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


def connected(path: Path, *, immutable: bool = False) -> sqlite3.Connection:
    """Open a file for transactions that are begun by hand; its own views and triggers may do no harm.

    Raises
    ------
    DataError
        It, or one of the files that SQLite keeps beside it, is a link.
    """
    for ending in ("", "-wal", "-shm", "-journal"):
        check_plain(f"{path}{ending}")
    address = f"{path.absolute().as_uri()}?immutable=1" if immutable else path
    db = sqlite3.connect(address, uri=immutable, isolation_level=None, timeout=30)
    db.execute("PRAGMA trusted_schema=OFF")
    return db


@contextlib.contextmanager
def opened_to_read(path: Path, *, copy: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a store without changing anything in it, on a disk that cannot be written to as well; with `copy` a copy of it.

    SQLite needs to write beside a file that was left in the middle of being written, as a killed run does: of such a file on a disk
    that cannot be written to a copy is read.
    """
    log = path.with_name(f"{path.name}-wal")
    # SQLite may write to a file that it reads: not to one that lies elsewhere.
    copy = copy or path.is_symlink() or path.stat().st_nlink > 1
    with contextlib.ExitStack() as stack:
        if copy:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            for file in (path, log):
                if file.is_file():
                    shutil.copyfile(file, folder / file.name)
            _extend(folder / path.name)
            yield stack.enter_context(contextlib.closing(connected(folder / path.name)))
            return
        db = stack.enter_context(contextlib.closing(connected(path)))
        try:
            db.execute("PRAGMA query_only=ON")
            db.execute("SELECT name FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            pass
        else:
            yield db
            return
        left = log.is_file() and log.stat().st_size > 0
        beside = opened_to_read(path, copy=True) if left else contextlib.closing(connected(path, immutable=True))
        yield stack.enter_context(beside)


def _extend(path: Path) -> None:
    """Give a file that was cut off its length again: of one that is shorter than its head says SQLite reads nothing at all."""
    with path.open("r+b") as file:
        head = file.read(32)
        size, pages = int.from_bytes(head[16:18], "big"), int.from_bytes(head[28:32], "big")
        # What is no SQLite file may say anything there; a file of zeros takes no room, and SQLite's own limit is above this one.
        if head.startswith(b"SQLite") and pages * size < 2**40:
            file.truncate(max(path.stat().st_size, pages * size))


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
