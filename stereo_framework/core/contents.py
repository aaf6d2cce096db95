"""SHA-256 digests of files and folders, which show whether a content has changed."""

import hashlib
import os
import time
from pathlib import Path

_LARGE = 1 << 20
"""Minimum size in bytes of a file whose digest is kept in memory.

Reading a smaller file again takes little time.
"""

_CLOCK_STEP = 2 * 10**9
"""Upper limit of the resolution of file times, in nanoseconds.

Some file systems store times in steps of two seconds.
"""

_REMEMBERED: dict[tuple[int, int], tuple[tuple[int, ...], bytes]] = {}
"""Digests of large files that were read earlier, by the file's device and inode.

Each digest is stored with the file's size and times at that moment.
"""


def file_digest(path: Path) -> bytes:
    """Return the SHA-256 digest of a file's content.

    A large file is read only once. Its digest is kept in memory as long as the file's
    size, modification time (mtime) and change time (ctime) stay the same. Programs can
    set the mtime of a file to an earlier value, but not the ctime. Therefore a file is
    read again even if a program changed its content and then restored its mtime.
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

    # Windows has no change time (ctime). On other systems, a file that was written less
    # than two seconds ago may be written again without a new ctime. In both cases the
    # digest is not kept.
    is_settled = now - max(status.st_mtime_ns, status.st_ctime_ns) > _CLOCK_STEP
    if os.name == "posix" and is_settled and status.st_size >= _LARGE:
        _REMEMBERED[inode] = (state, digest)
    return digest


def content_digest_of(path: Path) -> bytes:
    """Return the SHA-256 digest of a file, or of a folder with all files in it.

    Parameters
    ----------
    path : Path
        A file or a folder. All paths that do not exist have the same digest.

    Returns
    -------
    bytes
        Digest. A file, a folder and a missing path always have different digests. If a
        file is renamed, its own digest stays the same, but the digest of the folder
        that contains the file changes.
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
