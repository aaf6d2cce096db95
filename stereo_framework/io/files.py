"""Reading of whole files, with helpful errors for missing or unreadable files."""

import os
import stat
from pathlib import Path

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, close_names, short
from stereo_framework.io.file_kinds import check_present

PathLike = str | os.PathLike[str]

_SHOWN_PATH_LENGTH = 300
"""Maximum length, in characters, of an invalid path in an error message."""


def read_bytes(path: PathLike, max_bytes: int | None = None, *, allow_empty: bool = False) -> bytes:
    """Return the content of a whole file.

    Parameters
    ----------
    path : path-like
        Path of a regular file. Pipes and devices are not allowed, because their size is
        unknown.
    max_bytes : int, optional
        Maximum size of the file, in bytes. The default is the size of the largest
        allowed image.
    allow_empty : bool
        Whether an empty file is allowed.

    Raises
    ------
    DataError
        The file does not exist, cannot be read, or is too large. The path is a folder.
        The file is empty.
    """
    check_file(path)
    hint = ""
    if not max_bytes:
        max_bytes = limits.max_image_bytes()
        hint = f" ({limits.PIXEL_LIMIT_REMEDY})"
    try:
        size = os.stat(path).st_size
        if size > max_bytes:
            message = f"{path}: the file has {size} bytes; at most {max_bytes} are read{hint}"
            raise DataError(message)
        with open(path, "rb") as file:
            data = file.read(size)
    except OSError as error:
        message = f"{path}: the file cannot be read: {error.strerror}"
        raise DataError(message) from None
    if not data and not allow_empty:
        message = f"{path}: the file is empty (0 bytes)"
        raise DataError(message)
    check_present(data, path)
    return data


def has_content(path: Path, content: bytes) -> bool:
    """Return whether a path is a regular file with a given content."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size != len(content):
        return False
    return path.read_bytes() == content


def check_file(path: PathLike) -> None:
    """Raise DataError if a file does not exist, or is a folder, pipe or device."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(_message_for_missing_file(path)) from None
    except (OSError, ValueError) as error:
        # For example, the path is too long.
        reason = getattr(error, "strerror", None) or error
        shown_path = short(repr(str(path)), _SHOWN_PATH_LENGTH)
        message = f"{shown_path}: the file cannot be read: {reason}"
        raise DataError(message) from None
    if stat.S_ISDIR(mode):
        message = f"{path}: the path is a folder; expected a file"
        raise DataError(message)
    if not stat.S_ISREG(mode):
        message = (
            f"{path}: the path is not a regular file but a pipe or device, whose size cannot "
            "be known; copy its content into a file"
        )
        raise DataError(message)


def _message_for_missing_file(path: Path) -> str:
    """Return an error message for a missing file, if possible with a similar name."""
    folder = path.parent
    if folder.is_dir():
        hint = _similar_name_hint(path.name, folder)
        shown_folder = _printable_path(folder.resolve())
        return f"{_printable_path(path)}: no such file in the folder {shown_folder}{hint}"
    existing_folder = next((parent for parent in folder.parents if parent.is_dir()), Path())
    hint = _similar_name_hint(folder.name, existing_folder)
    shown_folder = _printable_path(folder)
    return f"{_printable_path(path)}: no such file; there is no folder {shown_folder}{hint}"


def _printable_path(path: Path) -> str:
    """Return a path as text, with line breaks and control characters escaped."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def _similar_name_hint(name: str, folder: Path) -> str:
    """Return a hint such as ``; did you mean 'im2.png'?`` for a mistyped file name.

    If the folder contains no similar name, the hint is empty.
    """
    if not os.access(folder, os.R_OK):
        return ""
    similar_names = close_names(name, os.listdir(folder))
    if not similar_names:
        return ""
    return f"; did you mean {str(folder / similar_names[0])!r}?"
