"""Read whole files, and report a missing or unreadable file in one line."""

import os
import stat
from pathlib import Path

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, close_names, short
from stereo_framework.io.file_kinds import check_present

PathLike = str | os.PathLike[str]

_SHOWN_PATH_LENGTH = 300
"""Number of characters that a message shows of a path that no file can have."""


def read_bytes(path: PathLike, max_bytes: int | None = None, *, allow_empty: bool = False) -> bytes:
    """Return the content of a file.

    Parameters
    ----------
    path : path-like
        A regular file. Pipes and devices are refused, because their size cannot be
        known before they are read.
    max_bytes : int, optional
        Largest size of a file that is read, in bytes. Default: the size of the largest
        images.
    allow_empty : bool
        Whether a file of 0 bytes is allowed.

    Raises
    ------
    DataError
        The file is missing, is a folder, cannot be read, is too large, or is empty
        although that is not allowed. If the file is missing, the message names the most
        similar file of the folder, or the part of the path that exists.
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


def check_file(path: PathLike) -> None:
    """Raise DataError unless a path names a regular file."""
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(_message_for_missing_file(path)) from None
    except (OSError, ValueError) as error:
        # No file can have such a name, for example because the name is too long.
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
    """Describe a missing file, with a similar name from its folder if there is one."""
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
    """Return a path for a message of one line, also if it has control characters."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def _similar_name_hint(name: str, folder: Path) -> str:
    """Return ``; did you mean 'im2.png'?`` with a similar name in a folder.

    The result is empty if there is no similar name. The names are not listed, because
    the folder may contain thousands of files.
    """
    if not os.access(folder, os.R_OK):
        return ""
    similar_names = close_names(name, os.listdir(folder))
    if not similar_names:
        return ""
    return f"; did you mean {str(folder / similar_names[0])!r}?"
