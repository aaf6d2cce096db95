"""Reading and writing whole files, with one-line errors that help to find the right one, and the readers of formats of one's own: ``@reader``.

A file is written beside its place, under a name that nobody can foresee, and then renamed. So half a file never stands under its name, and whatever ends the
program, the same command does its work again.

An output folder may hold files of the user, and somebody else may have made it. Two rules follow:

- What is written to it stays in it: a path that leads out, by a link or by ``..``, is refused, and a link is never written through.
- A file is replaced only if nothing is lost with it: it holds what this program wrote there, of which `RECORD` keeps the digests, or no more than the
  beginning of what takes its place, as a file does that was cut off. A list of names would not do: who edits a plot or a script keeps its name.
"""

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import (
    DataError,
    ParameterError,
    StereoFrameworkError,
    close_names,
    describe_exception,
    short,
)
from stereo_framework.core.registry import Registry
from stereo_framework.io.file_kinds import check_present

PathLike = str | os.PathLike[str]

FILE_NAME = r"^[\w(][^/\\\\:*?\"<>|\x00-\x1f\x7f]{0,99}$"
"""Names that can be used for files on every system; `name_fault` knows the exceptions."""

_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def name_fault(name: str) -> str | None:
    r"""What is wrong with a name of a script, method or plot, which becomes part of file names; None if nothing is.

    Examples
    --------
    >>> name_fault("window (9x9)") is None
    True
    >>> name_fault("../evil").partition(";")[0]
    "'../evil' cannot be the name of a file"
    """
    whole = re.match(FILE_NAME, name) and len(name.encode(errors="replace")) <= 100
    if whole and not name.endswith((".", " ", "\n")) and not _DEVICES.fullmatch(name):
        return None
    said = f"{name[:40]!r}{'...' * (len(name) > 40)} cannot be the name of a file"
    return f'{said}; allowed: a letter or digit, then up to 99 characters other than / \\ : * ? " < > |, 100 bytes in UTF-8'


def encoding_fault(name: str) -> str | None:
    r"""Describe why a name cannot be written to files of results; None if it can be.

    The name of a file contains surrogates if its bytes are not text in the encoding of
    the locale.

    Examples
    --------
    >>> encoding_fault("\udcfc")
    "the name '\\udcfc' cannot be written as text in the encoding of this locale (utf-8)"
    """
    try:
        name.encode()
        os.fsencode(name)
    except UnicodeEncodeError:
        encoding = sys.getfilesystemencoding()
        return f"the name {name[:40]!a} cannot be written as text in the encoding of this locale ({encoding})"
    return None


def file_stem(text: str) -> str:
    """A text as part of a file name: its last 80 bytes in UTF-8, with everything replaced but letters, digits, ``_``, ``.`` and ``-``.

    Examples
    --------
    >>> file_stem("middlebury2001/tsukuba"), file_stem("../a b?")
    ('middlebury2001-tsukuba', 'a-b')
    """
    return (
        re.sub(r"[^\w.-]+", "-", text).encode()[-80:].decode(errors="ignore").strip("-.") or "scene"
    )


def read_bytes(path: PathLike, most: int | None = None, *, empty: bool = False) -> bytes:
    """The content of a file.

    Parameters
    ----------
    path : path-like
        A regular file. Pipes and devices are refused, because their size cannot be known beforehand.
    most : int, optional
        Largest size in bytes that is read; default: that of the largest images.
    empty : bool
        Whether a file of 0 bytes is allowed.

    Raises
    ------
    DataError
        The file is missing (the message names the most similar file of the folder, or the part of the path that exists), is a folder,
        cannot be read, is too large, or is empty although that is not allowed.
    """
    check_file(path)
    raised = "" if most else f" ({limits.PIXEL_LIMIT_REMEDY})"
    most = most or limits.max_image_bytes()
    try:
        size = os.stat(path).st_size
        if size > most:
            raise DataError(f"{path}: is {size} bytes long; at most {most} are read{raised}")
        with open(path, "rb") as file:
            data = file.read(size)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    if not data and not empty:
        raise DataError(f"{path}: is empty (0 bytes)")
    check_present(data, path)
    return data


def check_file(path: PathLike) -> None:
    """Raise DataError unless `path` is a regular file."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        folder = path.parent
        if not folder.is_dir():
            existing = next((p for p in folder.parents if p.is_dir()), Path())
            raise DataError(
                f"{_printable_path(path)}: no such file; there is no folder {_printable_path(folder)}{_near(folder.name, existing)}"
            ) from None
        raise DataError(
            f"{_printable_path(path)}: no such file in the folder {_printable_path(folder.resolve())}{_near(path.name, folder)}"
        ) from None
    except (OSError, ValueError) as error:  # a name that no file can have
        raise DataError(
            f"{short(repr(str(path)), 300)}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    if stat.S_ISDIR(mode):
        raise DataError(f"{path}: is a folder; expected a file")
    if not stat.S_ISREG(mode):
        raise DataError(
            f"{path}: is not a regular file but a pipe or device, whose size cannot be known; copy it into a file first"
        )


def _printable_path(path: Path) -> str:
    """A path for a message of one line, whatever characters it contains."""
    return str(path) if str(path).isprintable() else repr(str(path))


def _near(name: str, folder: Path) -> str:
    """``; did you mean 'im2.png'?`` if the folder holds a similar name. It may hold thousands of files, so they are not listed."""
    close = close_names(name, os.listdir(folder)) if os.access(folder, os.R_OK) else []
    return f"; did you mean {str(folder / close[0])!r}?" if close else ""


RECORD = ".written-by-stereo-framework"
"""The file of an output folder that holds a digest of each file that this program wrote there, of its name and its content, one on each line."""

_PART = ".stereo-framework-part"
"""How the names of files end that are being written."""

_outputs: list[Path] = []
"""The folders that are being written to."""


@contextlib.contextmanager
def output_folder(folder: PathLike) -> Iterator[None]:
    """A context in which `write_bytes` leaves a folder in no way, and replaces only files in it that hold nothing of others.

    Raises
    ------
    DataError
        The folder lies in another one that is being written to, and a link leads out of that.
    """
    root = Path(folder).absolute()
    if (outer := _root_of(root)) is not None:
        inside(outer, root / RECORD)
    _outputs.append(root)
    try:
        yield
    finally:
        _outputs.remove(root)


def write_bytes(path: PathLike, data: bytes) -> None:
    """Write a file as a whole or not at all. Its folder is made. A file that is there is replaced, in an `output_folder` only if it `is_own`.

    Raises
    ------
    DataError
        The file cannot be written or is not to be replaced, or its path leads out of the output folder.
    """
    root, part = _root_of(path), None
    try:
        if root is None and os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            Path(path).write_bytes(data)  # a pipe
            return
        check_own(path, data)
        target = Path(os.path.realpath(path)) if root is None else inside(root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{secrets.token_hex(8)}{_PART}")
        with part.open("xb") as file:
            file.write(data)
        if target.exists():
            # What must not be written to is not replaced either.
            target.open("r+b").close()
            shutil.copymode(target, part)
        if root is not None:
            _note(root, _digest(root, path, data), new=not target.exists())
        os.replace(part, target)
    except FileExistsError:
        raise DataError(f"{path}: cannot be written: {Path(path).parent} is no folder") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def check_own(path: PathLike, data: bytes = b"") -> None:
    """Raise DataError if a path of an `output_folder` leads out of it, or names something that `data` must not replace."""
    if (
        (root := _root_of(path)) is not None
        and os.path.lexists(inside(root, path))
        and not is_own(path, data)
    ):
        raise DataError(
            f"{path}: was not written by this program, or was changed since, and is not overwritten; move it or choose another folder"
        )


def is_own(path: PathLike, data: bytes = b"") -> bool:
    """Whether nothing is lost if `data` replaces a file of an `output_folder`: this program wrote its content there, or `data` begin with it."""
    root = _root_of(path)
    if root is None or not stat.S_ISREG(os.lstat(inside(root, path)).st_mode):
        return False
    old = Path(path).read_bytes()
    return data.startswith(old) or _digest(root, path, old) in _recorded(root)


def inside(root: PathLike, path: PathLike) -> Path:
    """A path that begins with a folder, the links on its way followed; a DataError if it leads out."""
    folder, name = os.path.split(Path(path).absolute())
    found = Path(os.path.realpath(folder))
    if name == ".." or Path(os.path.realpath(root)) not in (found, *found.parents):
        raise DataError(f"{path}: leads out of the folder {root}, and is not written")
    return found / name


def check_plain(path: PathLike) -> None:
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
    if stat.S_ISLNK(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink > 1):
        message = f"{path}: is a link or has a second name, so this program does not use it; copy it, or choose another folder"
        raise DataError(message)
    if not stat.S_ISREG(status.st_mode):
        message = f"{path}: is not a regular file but a folder, pipe or device; remove it, or choose another folder"
        raise DataError(message)


def remove_parts(folder: PathLike) -> None:
    """Remove what was left in a folder by processes that were killed while they wrote; what is younger than an hour may be somebody's."""
    for below, _, names in os.walk(folder):
        for part in (Path(below, name) for name in names if name.endswith(_PART)):
            with contextlib.suppress(OSError):
                if time.time() - part.lstat().st_mtime > 3600:
                    part.unlink()


def _root_of(path: PathLike) -> Path | None:
    """The innermost output folder that a path begins with."""
    around = set(Path(path).absolute().parents)
    return max(
        (root for root in _outputs if root in around),
        key=lambda root: len(root.parts),
        default=None,
    )


def changed_since_written(path: PathLike) -> bool:
    """Return whether a stored map differs from what this program wrote in its place.

    The record of the results folder decides, for the files in the folder ``maps``. Without
    a record, and for files elsewhere, nothing is known, and the map counts as unchanged.
    """
    location = Path(path).absolute()
    root = location.parent.parent
    if location.parent.name != MAPS or not location.is_file():
        return False
    try:
        digests = _recorded(root)
        return bool(digests) and _digest(root, location, read_bytes(location)) not in digests
    except (OSError, DataError):
        # Readers of the map report that it cannot be read.
        return False


MAPS = "maps"
"""The folder of a results folder that holds disparity maps and their confidence."""


def _recorded(root: Path) -> set[str]:
    """Return the digests in the record of a folder; none if it is no file of sensible size."""
    record = root / RECORD
    if not record.is_file() or record.stat().st_size > limits.TABLE:
        return set()
    return set(record.read_text("ascii", errors="replace").split())


def _note(root: Path, digest: str, *, new: bool) -> None:
    """Add a digest to the record, on a line of its own even if a full disk cut the last one off. For each of thousands of `new` files the record is not read."""
    check_plain(root / RECORD)
    if new or digest not in _recorded(root):
        with (root / RECORD).open("a", encoding="utf-8") as file:
            file.write(f"\n{digest}\n")


def _digest(root: Path, path: PathLike, data: bytes) -> str:
    """Of a file's name in an output folder and its content."""
    name = Path(path).absolute().relative_to(root).as_posix()
    return hashlib.sha256(os.fsencode(name) + b"\0" + data).hexdigest()[:32]


# --- The door for file formats of one's own -----------------------------------------------------------------------------

Read = Callable[[Path], NDArray]
F = TypeVar("F", bound=Read)

_READERS: dict[str, Registry[Read]] = {
    kind: Registry(f"reader of {kind}s", {}) for kind in ("disparity", "image")
}


@checked()
def reader(suffix: str, *, kind: Literal["disparity", "image"]) -> Callable[[F], F]:
    """Register a function that reads files of a suffix.

    Parameters
    ----------
    suffix : str
        As ``".dsp5"``; upper and lower case are alike.
    kind : {"disparity", "image"}
        A disparity map: the function returns floats, (rows, columns), pixels, NaN = unknown. An image: uint8 or float32 0..255, (rows, columns) or
        (rows, columns, 3).

    Returns
    -------
    callable
        A decorator for a function of a `Path`, which it returns as it is.

    Raises
    ------
    ParameterError
        There is no such kind, or another module reads this suffix.
    """
    if not suffix.startswith("."):
        raise ParameterError(f"reader {suffix!r}: a suffix begins with a dot, as '.dsp5'")
    return _READERS[kind].decorator(suffix.lower())


def own_suffixes(kind: str) -> tuple[str, ...]:
    """The suffixes of files that somebody's readers read."""
    return tuple(_READERS[kind])


def own_read(path: PathLike, kind: str) -> NDArray | None:
    """What somebody's reader makes of a file; None where there is none for its suffix.

    Raises
    ------
    DataError
        The file is missing, or the reader raises or returns something else.
    """
    read = _READERS[kind].get(Path(path).suffix.lower())
    if read is None:
        return None
    if not Path(path).is_file():
        raise DataError(f"{path}: no such file")
    try:
        found = read(Path(path))
    except StereoFrameworkError:
        raise
    except (Exception, SystemExit) as error:
        raise DataError(
            f"{path}: {describe_exception(error, read, f'its reader {read.__name__} failed')}"
        ) from error
    dimensions = (2,) if kind == "disparity" else (2, 3)
    if (
        not isinstance(found, np.ndarray)
        or found.ndim not in dimensions
        or found.dtype.kind not in "fui"
    ):
        said = (
            f"an array of {found.dtype} {found.shape}"
            if isinstance(found, np.ndarray)
            else f"a {type(found).__name__}"
        )
        raise DataError(f"{path}: its reader {read.__module__}.{read.__name__} returned {said}")
    return found
