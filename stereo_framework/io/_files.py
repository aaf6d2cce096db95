"""Reading and writing whole files, with one-line errors that help to find the right one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from stereo_framework import limits
from stereo_framework.errors import DataError, close_names

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
    if re.match(FILE_NAME, name) and not name.endswith((".", " ", "\n")) and not _DEVICES.fullmatch(name):
        return None
    said = f"{name[:40]!r}{'...' * (len(name) > 40)} cannot be the name of a file"
    return f'{said}; legal: a letter or digit, then up to 99 characters other than / \\ : * ? " < > |'


def file_stem(text: str) -> str:
    """A text as part of a file name: its last 80 characters, with everything replaced but letters, digits, ``_``, ``.`` and ``-``.

    Examples
    --------
    >>> file_stem("middlebury2001/tsukuba"), file_stem("../a b?")
    ('middlebury2001-tsukuba', 'a-b')
    """
    return re.sub(r"[^\w.-]+", "-", text)[-80:].strip("-.") or "scene"


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
    raised = "" if most else f" ({limits.RAISED})"
    most = most or limits.most_bytes()
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
    return data


def read_pipe(path: PathLike) -> bytes:
    """What a pipe or device delivers.

    Raises
    ------
    DataError
        It cannot be read, or delivers more than a megabyte.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(limits.TEXT + 1)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > limits.TEXT:
        raise DataError(f"{path}: is longer than {limits.TEXT} bytes")
    return data


def is_pipe(path: PathLike) -> bool:
    """Whether a path exists and is neither a regular file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


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
                f"{_said(path)}: no such file; there is no folder {_said(folder)}{_near(folder.name, existing)}"
            ) from None
        raise DataError(
            f"{_said(path)}: no such file in the folder {_said(folder.resolve())}{_near(path.name, folder)}"
        ) from None
    except (OSError, ValueError) as error:  # a name that no file can have
        raise DataError(f"{str(path)[:80]!r}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISDIR(mode):
        raise DataError(f"{path}: is a folder; expected a file")
    if not stat.S_ISREG(mode):
        raise DataError(
            f"{path}: is not a regular file but a pipe or device, whose size cannot be known; copy it into a file first"
        )


def _said(path: Path) -> str:
    """A path for a message of one line, whatever characters it contains."""
    return str(path) if str(path).isprintable() else repr(str(path))


def _near(name: str, folder: Path) -> str:
    """``; did you mean 'im2.png'?`` if the folder holds a similar name. It may hold thousands of files, so they are not listed."""
    close = close_names(name, os.listdir(folder)) if os.access(folder, os.R_OK) else []
    return f"; did you mean {str(folder / close[0])!r}?" if close else ""


def write_bytes(path: PathLike, data: bytes) -> None:
    """Write a file. Within an `output_folder`, a file that this program did not write is not replaced; elsewhere every file is.

    Raises
    ------
    DataError
        The folder is missing or cannot be written to, or the file is not to be replaced.
    """
    try:
        _check_claim(path)
        Path(path).write_bytes(data)
        _claim(path)
    except FileNotFoundError:
        raise DataError(f"{path}: cannot be written: there is no folder {Path(path).parent}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error


def make_folder(folder: PathLike) -> None:
    """Make a folder and its parents, as far as they are missing.

    Raises
    ------
    DataError
        The folder cannot be made.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror or error}") from error


RECORD = ".written-by-stereo-framework"
"""The file of an output folder that lists, one on each line, the names of the files that this program wrote there."""

_outputs: list[tuple[Path, set[str]]] = []
"""The folders that are being written to, with the names in their records."""


@contextlib.contextmanager
def output_folder(folder: PathLike) -> Iterator[None]:
    """A context in which `write_bytes` replaces only those files below a folder that this program wrote, and notes in the folder's `RECORD` what it writes.

    A folder of results that has no record yet, because an earlier version wrote it, gets one that lists the files that such versions write.

    Raises
    ------
    DataError
        The folder cannot be written to.
    """
    folder = Path(os.path.abspath(folder))
    if (folder / RECORD).is_file():
        one = folder, _recorded(folder)
    else:
        one = folder, _of_earlier_versions(folder)
        # From now on a file that is not in the record belongs to somebody else.
        try:
            if folder.is_dir():
                _note(folder, sorted(one[1]))
        except OSError as error:
            raise DataError(f"{folder}: cannot be written: {error.strerror}") from error
    _outputs.append(one)
    try:
        yield
    finally:
        _outputs[:] = [other for other in _outputs if other is not one]


def is_own(path: PathLike) -> bool:
    """Whether a file lies below an `output_folder` and was written by this program."""
    found = _output_entry(path)
    return found is not None and found[2] in found[1]


def _check_claim(path: PathLike) -> None:
    """Raise DataError if a file that is about to be written exists and belongs to somebody else."""
    found = _output_entry(path)
    if found is None or found[2] in found[1] or not os.path.lexists(path):
        return
    folder, names, name = found
    # Another process of this program may have written it.
    names |= _recorded(folder)
    if name not in names:
        raise DataError(f"{path}: was not written by this program, and is not overwritten; move it or choose another folder")


def _claim(path: PathLike) -> None:
    """Note in the record that a file was written."""
    found = _output_entry(path)
    if found is not None and found[2] not in found[1]:
        folder, names, name = found
        names.add(name)
        _note(folder, [name])


def _note(folder: Path, names: Sequence[str]) -> None:
    with (folder / RECORD).open("a", encoding="utf-8") as file:
        file.writelines(f"{name}\n" for name in names)


def _output_entry(path: PathLike) -> tuple[Path, set[str], str] | None:
    """The innermost output folder around a file, the names in its record, and the name of the file within it."""
    path = Path(os.path.abspath(path))
    around = [one for one in _outputs if one[0] in path.parents]
    if not around:
        return None
    folder, names = max(around, key=lambda one: len(one[0].parts))
    return folder, names, path.relative_to(folder).as_posix()


def _recorded(folder: Path) -> set[str]:
    record = folder / RECORD
    return set(record.read_text(encoding="utf-8", errors="replace").splitlines()) if record.is_file() else set()


def _of_earlier_versions(folder: Path) -> set[str]:
    """The files in a folder of results, or of a reproduction, that have names under which versions without records wrote."""
    if not any(True for sign in ("results.sqlite", "runs/*/results.sqlite") for _ in folder.glob(sign)):
        return set()
    usual = ("maps", "pictures", "plots", "tables", "charts", "scenes", "figures", "assets", "submissions")
    files = [*folder.glob("*.html"), *(path for name in usual for path in (folder / name).rglob("*") if path.is_file())]
    return {path.relative_to(folder).as_posix() for path in files}


_OWN = re.compile(rb"# Written by stereo-framework \((\w{16})\)[^\n]*\n")


def write_own(path: PathLike, text: str) -> None:
    """Write a YAML file of this program's own. Its first line holds a digest of the rest, by which the file is recognised later.

    Raises
    ------
    DataError
        There is a file that this program did not write or that was changed since, or the folder cannot be written to.
    """
    path, body = Path(path), text.encode()
    check_own(path)
    head = f"# Written by stereo-framework ({_digest(body)}), which replaces it unless it was changed: copy it to change it.\n"
    # Written under another name first, so that a reader never finds half a file.
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(head.encode() + body)
        os.replace(part, path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}; the same command continues") from error


def check_own(path: PathLike) -> None:
    """Raise DataError if there is a file that `write_own` would not replace."""
    path = Path(path)
    if not path.exists() and not path.is_symlink():
        return
    old = read_bytes(path, limits.WRITTEN) if path.is_file() and path.stat().st_size else b""
    mark = _OWN.match(old)
    if mark is None or _digest(old[mark.end() :]) != mark[1].decode():
        raise DataError(
            f"{path}: was not written by this program, or was changed since, and is not overwritten; move it or choose another folder"
        )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
