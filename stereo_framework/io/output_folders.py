"""Write whole files, and protect files of the user in output folders.

A file is written next to its final path, under a name that cannot be predicted, and
then renamed. Its final name therefore never refers to half a file. If the program stops
at any moment, the same command can be repeated.

An output folder may contain files of the user, and another person may have made it.
Two rules follow:

- All files stay in the folder. A path that leaves it, by a link or by ``..``, is
  refused, and no file is written through a link.
- A file is replaced only if nothing is lost. This is so if this program wrote its
  content, which the digests in the file `RECORD` show. It is also so if its content is
  the beginning of the new content, because writing was interrupted. A list of names
  would not be enough, because a user who edits a plot or a script keeps its name.
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
"""Name of the file in an output folder that lists the files of this program.

Each line has a digest of the name and the content of a file.
"""

MAPS = "maps"
"""Name of the folder in a results folder that has the disparity and confidence maps."""

_PARTIAL_FILE_SUFFIX = ".stereo-framework-part"
"""Ending of the names of files that are being written."""

_PARTIAL_FILE_LIFETIME = 3600
"""Age in seconds above which no process can still be writing a partial file."""

_DIGEST_LENGTH = 32
"""Number of hexadecimal digits of a digest that are recorded."""

_output_folders: list[Path] = []
"""The folders that this process is writing to."""


@contextlib.contextmanager
def output_folder(folder: PathLike) -> Iterator[None]:
    """Protect the files of the user in a folder until the block ends.

    Inside the block, `write_bytes` does not leave the folder, and it replaces a file
    only if `is_replaceable` returns True.

    Raises
    ------
    DataError
        The folder is inside another output folder, and a link leads out of that one.
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
    """Write a file as a whole or not at all.

    Missing folders are created. An existing file is replaced, but in an `output_folder`
    only if `is_replaceable` returns True.

    Raises
    ------
    DataError
        The file cannot be written or must not be replaced, or its path leaves the
        output folder.
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
            # Opening fails if the user has no right to write to the target. Renaming
            # would replace it all the same.
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
    """Return whether a path names a pipe, a device or a folder."""
    return os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)


def check_replaceable(path: PathLike, data: bytes = b"") -> None:
    """Refuse a path of an `output_folder` at which `data` must not be written.

    Raises
    ------
    DataError
        The path leaves the output folder, or it names an existing file for which
        `is_replaceable` returns False.
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
    """Return whether nothing is lost if `data` replaces a file of an `output_folder`.

    That is so if this program wrote the present content, or if `data` begins with it.
    """
    root = _output_folder_of(path)
    if root is None or not stat.S_ISREG(os.lstat(resolve_inside(root, path)).st_mode):
        return False
    present_data = Path(path).read_bytes()
    if data.startswith(present_data):
        return True
    return _digest(root, path, present_data) in _recorded_digests(root)


def resolve_inside(root: PathLike, path: PathLike) -> Path:
    """Return a path in a folder, after following the links to its parent folder.

    Raises
    ------
    DataError
        The path leaves the folder `root`.
    """
    folder, name = os.path.split(Path(path).absolute())
    real_folder = Path(os.path.realpath(folder))
    real_root = Path(os.path.realpath(root))
    if name == ".." or real_root not in (real_folder, *real_folder.parents):
        message = f"{path}: the path leads out of the folder {root}, so it is not written"
        raise DataError(message)
    return real_folder / name


def check_not_linked(path: PathLike) -> None:
    """Refuse a file whose content may belong to another folder.

    Use it for files that are opened by name and written to in place.

    Raises
    ------
    DataError
        The path is a link, a folder, a pipe or a device, or the file has a second name.
    """
    if not os.path.lexists(path):
        return
    status = os.lstat(path)
    is_regular = stat.S_ISREG(status.st_mode)
    has_second_name = is_regular and status.st_nlink > 1
    if stat.S_ISLNK(status.st_mode) or has_second_name:
        message = (
            f"{path}: the file is a link or has a second name, so this program does not use it; "
            "copy it, or choose another folder"
        )
        raise DataError(message)
    if not is_regular:
        message = (
            f"{path}: the path is not a regular file but a folder, pipe or device; remove it, or "
            "choose another folder"
        )
        raise DataError(message)


def remove_partial_files(folder: PathLike) -> None:
    """Remove the partial files of processes that were killed while they were writing.

    A partial file that is younger than an hour stays, because another process may
    still be writing it.
    """
    for subfolder, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(_PARTIAL_FILE_SUFFIX):
                continue
            partial_file = Path(subfolder, name)
            # Another process may remove the file at the same time.
            with contextlib.suppress(OSError):
                if time.time() - partial_file.lstat().st_mtime > _PARTIAL_FILE_LIFETIME:
                    partial_file.unlink()


def changed_since_written(path: PathLike) -> bool:
    """Return whether a stored map differs from the content that this program wrote.

    The record of the results folder shows whether a file in the folder ``maps`` was
    changed. If there is no record, or if the file is in another folder, the map counts
    as unchanged.
    """
    location = Path(path).absolute()
    root = location.parent.parent
    if location.parent.name != MAPS or not location.is_file():
        return False
    try:
        digests = _recorded_digests(root)
        return bool(digests) and _digest(root, location, read_bytes(location)) not in digests
    except (OSError, DataError):
        # Readers of the map report that it cannot be read.
        return False


def _output_folder_of(path: PathLike) -> Path | None:
    """Return the innermost output folder that contains a path, or None."""
    parents = set(Path(path).absolute().parents)
    roots = [root for root in _output_folders if root in parents]
    return max(roots, key=lambda root: len(root.parts), default=None)


def _recorded_digests(root: Path) -> set[str]:
    """Return the digests in the record of a folder.

    The result is empty if the record is missing, is not a regular file, or is too
    large.
    """
    record = root / RECORD
    if not record.is_file() or record.stat().st_size > limits.TABLE:
        return set()
    return set(record.read_text("ascii", errors="replace").split())


def _record_digest(root: Path, digest: str, *, is_new_file: bool) -> None:
    """Add a digest to the record of a folder.

    Thousands of files may be written to a folder. For a new file the record is
    therefore extended without being read.
    """
    check_not_linked(root / RECORD)
    if is_new_file or digest not in _recorded_digests(root):
        with (root / RECORD).open("a", encoding="utf-8") as file:
            # The line break in front ends a line that a full disk may have cut off.
            file.write(f"\n{digest}\n")


def _digest(root: Path, path: PathLike, data: bytes) -> str:
    """Return the digest of a file's content and of its path in an output folder."""
    name = Path(path).absolute().relative_to(root).as_posix()
    return hashlib.sha256(os.fsencode(name) + b"\0" + data).hexdigest()[:_DIGEST_LENGTH]
