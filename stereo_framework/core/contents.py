"""Digests of the content of files."""

import hashlib
import os
import time
from pathlib import Path

_LARGE = 1 << 20
"""Smallest size in bytes of a file whose digest is remembered."""

_CLOCK_STEP = 2 * 10**9
"""Resolution of the time of change of a file, in nanoseconds."""

_REMEMBERED: dict[tuple[int, int], tuple[tuple[int, ...], bytes]] = {}
"""The state and the digest of large files, by device and inode."""


def file_digest(path: Path) -> bytes:
    """Return the SHA-256 digest of a file's content.

    The digest of a large file is remembered as long as the file's size, time of
    modification and time of change stay the same. Programs can set the time of
    modification but not the time of change. Therefore a changed file gets a new digest
    even if a program restored its time of modification.
    """
    with path.open("rb") as file:
        now = time.time_ns()
        status = os.fstat(file.fileno())
        inode = (status.st_dev, status.st_ino)
        state = (status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        remembered_state, remembered_digest = _REMEMBERED.get(inode, ((), b""))
        if state == remembered_state:
            return remembered_digest
        digest = hashlib.file_digest(file, "sha256").digest()

    # Windows has no time of change. A file that was changed just now may change again
    # without another time of change.
    is_settled = now - max(status.st_mtime_ns, status.st_ctime_ns) > _CLOCK_STEP
    if os.name == "posix" and is_settled and status.st_size >= _LARGE:
        _REMEMBERED[inode] = (state, digest)
    return digest


def content_digest_of(path: Path) -> bytes:
    """Return the digest of a file or of a folder with all files below it.

    Parameters
    ----------
    path : Path
        A file or folder. If neither exists, the digest is a fixed value.

    Returns
    -------
    bytes
        Digests of a file, of a folder and of a missing path always differ. The digest
        of a folder includes the relative names of its files. The digest of a file does
        not include its name.
    """
    digest = hashlib.sha256()
    if path.is_file():
        digest.update(b"file")
        digest.update(file_digest(path))
    elif path.is_dir():
        digest.update(b"folder")
        files = sorted(file for file in path.rglob("*") if file.is_file())
        for file in files:
            name = os.fsencode(file.relative_to(path).as_posix())
            digest.update(hashlib.sha256(name).digest())
            digest.update(file_digest(file))
    else:
        digest.update(b"missing")
    return digest.digest()
