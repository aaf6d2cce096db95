"""SHA-256 digests of files and folders."""

import hashlib
import os
import time
from pathlib import Path

_LARGE = 1 << 20
"""Minimum file size for cached digests, in bytes.

Smaller files are fast to read again.
"""

_CLOCK_STEP = 2 * 10**9
"""Coarsest resolution of file times, in nanoseconds.

Some file systems store times in steps of two seconds.
"""

_REMEMBERED: dict[tuple[int, int], tuple[tuple[int, ...], bytes]] = {}
"""Cached digests of large files, by device and inode.

Each entry also contains the size and the times of the file.
"""


def file_digest(path: Path) -> bytes:
    """Return the SHA-256 digest of a file's content.

    The digest of a large file is cached until its size, mtime or ctime changes. A
    program can restore the mtime of a changed file, but not the ctime.
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

    # Windows has no change time (ctime). A file written in the last two seconds may
    # change again without a new ctime. Such digests are not cached.
    is_settled = now - max(status.st_mtime_ns, status.st_ctime_ns) > _CLOCK_STEP
    if os.name == "posix" and is_settled and status.st_size >= _LARGE:
        _REMEMBERED[inode] = (state, digest)
    return digest


def content_digest_of(path: Path) -> bytes:
    """Return the SHA-256 digest of a file, or of a folder with all files in it.

    Parameters
    ----------
    path : Path
        A file or a folder. All missing paths have the same digest.

    Returns
    -------
    bytes
        Digest. Renaming a file changes only the digest of its folder.
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
