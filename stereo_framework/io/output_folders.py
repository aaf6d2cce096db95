"""Write whole files, and protect the user's own files in output folders.

A new file first has a random name and is renamed when it is complete. A stopped program
therefore never leaves an incomplete file with the final name.

An output folder may contain edited files and links to other folders. Two rules protect
these files:

- The program writes only inside the output folder. A path that leads out of the folder,
  through ``..`` or a link, raises an error.
- The program replaces only files that it wrote itself and that are unchanged. A digest
  (hash) of each written file shows whether the file was changed. An existing file may
  also be replaced if the new content begins with the old content.
"""

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError
from stereo_framework.io.files import PathLike, read_bytes

RECORD = ".written-by-stereo-framework"
"""Name of a text file in each output folder with the digests of the written files.

Each line is a digest of the path and the content of one file.
"""

MAPS = "maps"
"""Name of the subfolder for disparity and confidence maps in a results folder."""

_PARTIAL_FILE_SUFFIX = ".stereo-framework-part"
"""Suffix of the temporary name of an incomplete file."""

_PARTIAL_FILE_LIFETIME = 3600
"""Minimum age of a temporary file before it is removed, in seconds."""

_DIGEST_LENGTH = 32
"""Number of hexadecimal digits of a shortened SHA-256 digest."""

_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
"""Error numbers for a file or folder that this program may not change."""

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers for a full disk, and for a user who has used up the quota."""

_output_folders: list[Path] = []
"""Output folders that are protected at the moment."""


@contextlib.contextmanager
def output_folder(folder: PathLike) -> Iterator[None]:
    """Protect the user's own files in a folder during a ``with`` block.

    Inside the ``with`` block, `write_bytes` refuses paths that lead out of the folder.
    An existing file is replaced only if `is_replaceable` returns True.

    Raises
    ------
    DataError
        A link in the path of `folder` leads out of an outer protected folder.
    """
    root = Path(folder).absolute()
    outer_root = _output_folder_of(root)
    if outer_root is not None:
        resolve_inside(outer_root, root / RECORD)
    _output_folders.append(root)
    try:
        yield
    finally:
        _output_folders.remove(root)


def write_bytes(path: PathLike, data: bytes) -> None:
    """Write a file completely, or leave the previous file unchanged if writing fails.

    Missing parent folders are created. In a protected `output_folder`, an existing file
    is replaced only if `is_replaceable` returns True.

    Raises
    ------
    DataError
        The file cannot be written. The existing file must not be replaced. The path
        leads out of the output folder.
    """
    root = _output_folder_of(path)
    partial_file = None
    try:
        if root is None and _is_special_file(path):
            # Renaming a temporary file would replace the pipe or device.
            Path(path).write_bytes(data)
            return
        check_replaceable(path, data)
        target = Path(os.path.realpath(path)) if root is None else resolve_inside(root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial_file = target.with_name(f".{secrets.token_hex(8)}{_PARTIAL_FILE_SUFFIX}")
        with partial_file.open("xb") as file:
            file.write(data)
        if target.exists():
            # Opening a write-protected file raises an error. Renaming alone would
            # replace a write-protected file.
            target.open("r+b").close()
            shutil.copymode(target, partial_file)
        if root is not None:
            _record_digest(root, _digest(root, path, data), is_new_file=not target.exists())
        os.replace(partial_file, target)
    except FileExistsError:
        message = f"{path}: the file cannot be written: {Path(path).parent} is not a folder"
        raise DataError(message) from None
    except OSError as error:
        raise DataError(_writing_message(path, error)) from error
    finally:
        if partial_file is not None:
            partial_file.unlink(missing_ok=True)


def _writing_message(path: PathLike, error: OSError) -> str:
    """Return the error message about a file that cannot be written, with the remedy."""
    message = f"{path}: the file cannot be written: {error.strerror or error}"
    if error.errno in _READ_ONLY:
        return (
            f"{message}; the file and its folder must be writable; make them writable, or choose "
            "another folder"
        )
    if error.errno in _DISK_FULL:
        return f"{message}; the disk needs free space; free some space, or choose another disk"
    return message


def _is_special_file(path: PathLike) -> bool:
    """Return whether a path is a pipe, a device or a folder."""
    return os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)


def check_replaceable(path: PathLike, data: bytes = b"") -> None:
    """Raise an error if writing `data` to a path could destroy a file of the user.

    Paths outside protected folders are not tested.

    Raises
    ------
    DataError
        The path leads out of the output folder, or the file must not be replaced.
    """
    root = _output_folder_of(path)
    if root is None or not os.path.lexists(resolve_inside(root, path)):
        return
    if not is_replaceable(path, data):
        message = (
            f"{path}: the file was not written by this program, or was changed since, and is not "
            "overwritten; move it or choose another folder"
        )
        raise DataError(message)


def is_replaceable(path: PathLike, data: bytes = b"") -> bool:
    """Return whether `data` can replace an existing file without loss of user data.

    The result is True if the file still has the content that this program wrote. The
    result is also True if `data` begins with the content of the file. For a file
    outside a protected `output_folder`, the result is False.
    """
    root = _output_folder_of(path)
    if root is None or not stat.S_ISREG(os.lstat(resolve_inside(root, path)).st_mode):
        return False
    present_data = Path(path).read_bytes()
    if data.startswith(present_data):
        return True
    return _digest(root, path, present_data) in _recorded_digests(root)


def resolve_inside(root: PathLike, path: PathLike) -> Path:
    """Resolve the links in the parent folders of a path.

    The last part of the path may be a link and is not resolved.

    Raises
    ------
    DataError
        The path leads out of the folder `root`.
    """
    folder, name = os.path.split(Path(path).absolute())
    real_folder = Path(os.path.realpath(folder))
    real_root = Path(os.path.realpath(root))
    if name == ".." or real_root not in (real_folder, *real_folder.parents):
        message = f"{path}: the path leads out of the folder {root}, so no file is written there"
        raise DataError(message)
    return real_folder / name


def check_not_linked(path: PathLike) -> None:
    """Raise an error if a path is a link, a folder, a pipe or a device.

    Call this function before you change a database or a lock file in place. A change
    through a link would affect a file in another folder.

    Raises
    ------
    DataError
        The path is a symbolic link, a hard link, a folder, a pipe or a device.
    """
    if not os.path.lexists(path):
        return
    status = os.lstat(path)
    is_regular = stat.S_ISREG(status.st_mode)
    has_second_name = is_regular and status.st_nlink > 1
    if stat.S_ISLNK(status.st_mode) or has_second_name:
        message = (
            f"{path}: the file is a symbolic link or has a second name (a hard link), so this "
            "program does not use it; replace it by a copy, or choose another folder"
        )
        raise DataError(message)
    if not is_regular:
        message = (
            f"{path}: the path is not a regular file but a folder, pipe or device; remove it, or "
            "choose another folder"
        )
        raise DataError(message)


def remove_partial_files(folder: PathLike, *, min_age: float = _PARTIAL_FILE_LIFETIME) -> None:
    """Remove the temporary files of killed processes from a folder and its subfolders.

    Parameters
    ----------
    folder : path-like
        Folder to search.
    min_age : float
        Minimum age of the files that are removed, in seconds. By default, files from
        the last hour stay, because another process may still write them. Use 0 if a
        lock keeps all other processes from writing to the folder.
    """
    for subfolder, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(_PARTIAL_FILE_SUFFIX):
                continue
            partial_file = Path(subfolder, name)
            # Another process may remove the same file in the meantime.
            with contextlib.suppress(OSError):
                # The clock of a file server may be ahead of the clock of this machine.
                age = max(0, time.time() - partial_file.lstat().st_mtime)
                if age >= min_age:
                    partial_file.unlink()


def changed_since_written(path: PathLike) -> bool:
    """Return whether a disparity or confidence map was changed after it was written.

    The digest of a changed map is not in the file `RECORD` of the results folder. Only
    maps in a folder ``maps`` are tested. The result is False if `RECORD` is missing or
    the map cannot be read.
    """
    location = Path(path).absolute()
    root = location.parent.parent
    if location.parent.name != MAPS or not location.is_file():
        return False
    try:
        digests = _recorded_digests(root)
        return bool(digests) and _digest(root, location, read_bytes(location)) not in digests
    except (OSError, DataError):
        # The function that reads the map reports the error later.
        return False


def _output_folder_of(path: PathLike) -> Path | None:
    """Return the protected output folder that contains a path, or None.

    If output folders are nested, the innermost folder is returned.
    """
    parents = set(Path(path).absolute().parents)
    roots = [root for root in _output_folders if root in parents]
    return max(roots, key=lambda root: len(root.parts), default=None)


def _recorded_digests(root: Path) -> set[str]:
    """Return the digests in the file `RECORD` of an output folder.

    The result is empty if the file is missing or is larger than ``limits.TABLE`` bytes.
    """
    record = root / RECORD
    if not record.is_file() or record.stat().st_size > limits.TABLE:
        return set()
    return set(record.read_text("utf-8", errors="replace").split())


def _record_digest(root: Path, digest: str, *, is_new_file: bool) -> None:
    """Append the digest of a written file to the file `RECORD` of an output folder.

    For a replaced file, the digest is only appended if the digest is missing. For a new
    file, this test is omitted, because many tests would be slow.
    """
    check_not_linked(root / RECORD)
    if is_new_file or digest not in _recorded_digests(root):
        with (root / RECORD).open("a", encoding="utf-8") as file:
            # The previous line may be incomplete if the disk was full. The first line
            # break separates it from the new line.
            file.write(f"\n{digest}\n")


def _digest(root: Path, path: PathLike, data: bytes) -> str:
    """Compute a digest of the content and the relative path of a file."""
    name = Path(path).absolute().relative_to(root).as_posix()
    return hashlib.sha256(os.fsencode(name) + b"\0" + data).hexdigest()[:_DIGEST_LENGTH]
