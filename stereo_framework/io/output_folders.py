"""Write whole files, and protect the user's own files in output folders.

A file is first written completely under a random name in the same folder, and then
renamed. A file with the final name is therefore always complete. If the program is
stopped while it writes, the user can repeat the command.

An output folder may contain files that the user has edited, or links that another
person has created. Two rules therefore hold:

- The program writes only inside the output folder. If a path leads out of the folder,
  through ``..`` or through a link, an error is raised.
- An existing file is replaced in two cases only. In the first case, this program wrote
  the file, and the file has not been changed since. To recognize such files, the
  program stores a digest (hash) of each file that it writes. In the second case, the
  new content begins with the content of the existing file, so that nothing is lost.
"""

import contextlib
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
"""Name of a file in each output folder, with a digest of every file that was written.

Each line is a digest of the path and the content of one file.
"""

MAPS = "maps"
"""Name of the subfolder of a results folder that has disparity and confidence maps."""

_PARTIAL_FILE_SUFFIX = ".stereo-framework-part"
"""Suffix of the temporary name that a file has until it is completely written."""

_PARTIAL_FILE_LIFETIME = 3600
"""Age in seconds above which an unfinished file is left over from a killed process."""

_DIGEST_LENGTH = 32
"""Number of hexadecimal digits to which each SHA-256 digest is shortened."""

_output_folders: list[Path] = []
"""Output folders of this process whose `output_folder` block has not ended yet."""


@contextlib.contextmanager
def output_folder(folder: PathLike) -> Iterator[None]:
    """Protect the user's own files in a folder during a ``with`` block.

    Inside the ``with`` block, `write_bytes` treats paths in this folder with care. It
    refuses a path that leads out of the folder through ``..`` or a link, and it
    replaces an existing file only if `is_replaceable` returns True.

    Raises
    ------
    DataError
        `folder` is a subfolder of an output folder that is already protected, and a
        link in the path of the subfolder leads out of that output folder.
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

    Missing parent folders are created. An existing file is replaced. If the path is in
    a protected `output_folder`, the file is only replaced if `is_replaceable` returns
    True.

    Raises
    ------
    DataError
        The file cannot be written, or a file at this path must not be replaced, or the
        path leads out of the output folder.
    """
    root = _output_folder_of(path)
    partial_file = None
    try:
        if root is None and _is_special_file(path):
            Path(path).write_bytes(data)
            return
        check_replaceable(path, data)
        target = Path(os.path.realpath(path)) if root is None else resolve_inside(root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial_file = target.with_name(f".{secrets.token_hex(8)}{_PARTIAL_FILE_SUFFIX}")
        with partial_file.open("xb") as file:
            file.write(data)
        if target.exists():
            # If the existing file is write-protected, opening it raises an error.
            # Without this test, renaming would replace a write-protected file.
            target.open("r+b").close()
            shutil.copymode(target, partial_file)
        if root is not None:
            _record_digest(root, _digest(root, path, data), is_new_file=not target.exists())
        os.replace(partial_file, target)
    except FileExistsError:
        message = f"{path}: the file cannot be written: {Path(path).parent} is not a folder"
        raise DataError(message) from None
    except OSError as error:
        message = f"{path}: the file cannot be written: {error.strerror or error}"
        raise DataError(message) from error
    finally:
        if partial_file is not None:
            partial_file.unlink(missing_ok=True)


def _is_special_file(path: PathLike) -> bool:
    """Return whether a path is a pipe, a device or a folder, and not a regular file."""
    return os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)


def check_replaceable(path: PathLike, data: bytes = b"") -> None:
    """Raise an error if writing `data` to a path could destroy the user's own file.

    Only paths in a protected `output_folder` are tested.

    Raises
    ------
    DataError
        The path leads out of the output folder, or there is a file at this path for
        which `is_replaceable` returns False.
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

    The result is True if this program wrote the file and the file has not changed
    since. It is also True if `data` begins with the content of the file. The result is
    False for a file outside a protected `output_folder`.
    """
    root = _output_folder_of(path)
    if root is None or not stat.S_ISREG(os.lstat(resolve_inside(root, path)).st_mode):
        return False
    present_data = Path(path).read_bytes()
    if data.startswith(present_data):
        return True
    return _digest(root, path, present_data) in _recorded_digests(root)


def resolve_inside(root: PathLike, path: PathLike) -> Path:
    """Replace the links in a path's parent folders by the real folders.

    The last part of the path is returned unchanged, even if it is a link.

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
    """Raise an error if a file is a link, or is not a regular file.

    Call this function before a file is changed in place, such as a database or a lock
    file. If the file were a link, the change would affect a file in another folder.

    Raises
    ------
    DataError
        The path is a symbolic link, a folder, a pipe or a device, or a file with a
        second name (a hard link).
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


def remove_partial_files(folder: PathLike) -> None:
    """Remove unfinished files that killed processes have left in a folder.

    An unfinished file that was changed during the last hour is not removed, because
    another process may still be writing to it.
    """
    for subfolder, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(_PARTIAL_FILE_SUFFIX):
                continue
            partial_file = Path(subfolder, name)
            # Another process may remove the same file in the meantime.
            with contextlib.suppress(OSError):
                if time.time() - partial_file.lstat().st_mtime > _PARTIAL_FILE_LIFETIME:
                    partial_file.unlink()


def changed_since_written(path: PathLike) -> bool:
    """Return whether a disparity or confidence map was changed after it was written.

    The content of the map file is compared with the digests in the file `RECORD` of the
    results folder. The result is False if the file is not in a folder with the name
    ``maps``, if there is no file `RECORD`, or if the map file cannot be read.
    """
    location = Path(path).absolute()
    root = location.parent.parent
    if location.parent.name != MAPS or not location.is_file():
        return False
    try:
        digests = _recorded_digests(root)
        return bool(digests) and _digest(root, location, read_bytes(location)) not in digests
    except (OSError, DataError):
        # If the map file cannot be read, the function that reads the disparities from
        # it reports the error.
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

    The result is an empty set if this file is missing, is not a regular file, or is
    larger than ``limits.TABLE`` bytes.
    """
    record = root / RECORD
    if not record.is_file() or record.stat().st_size > limits.TABLE:
        return set()
    return set(record.read_text("ascii", errors="replace").split())


def _record_digest(root: Path, digest: str, *, is_new_file: bool) -> None:
    """Append the digest of a written file to the file `RECORD` of an output folder.

    For a new file, the digest is appended without reading `RECORD`, because reading it
    for each of thousands of files would be slow. For a replaced file, `RECORD` is read,
    and the digest is only appended if `RECORD` does not contain it yet.
    """
    check_not_linked(root / RECORD)
    if is_new_file or digest not in _recorded_digests(root):
        with (root / RECORD).open("a", encoding="utf-8") as file:
            # If an earlier line is incomplete because the disk was full, the line break
            # before the digest keeps the two lines apart.
            file.write(f"\n{digest}\n")


def _digest(root: Path, path: PathLike, data: bytes) -> str:
    """Compute a digest of a file's content and its path in the output folder."""
    name = Path(path).absolute().relative_to(root).as_posix()
    return hashlib.sha256(os.fsencode(name) + b"\0" + data).hexdigest()[:_DIGEST_LENGTH]
