"""Reading of whole files, with one-line errors if a file is missing or unreadable."""

import os
import stat
from pathlib import Path

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, close_names, short
from stereo_framework.io.file_kinds import check_present

PathLike = str | os.PathLike[str]

_SHOWN_PATH_LENGTH = 300
"""Number of characters of an invalid path that an error message shows."""


def read_bytes(path: PathLike, max_bytes: int | None = None, *, allow_empty: bool = False) -> bytes:
    """Read a whole file, unless it is too large, and return its bytes.

    Parameters
    ----------
    path : path-like
        Path of a regular file. Pipes and devices are refused, because their size is
        unknown until they have been read.
    max_bytes : int, optional
        Maximum size of the file, in bytes. A larger file is refused. The default is the
        size of the largest image that is allowed.
    allow_empty : bool
        Whether an empty file (0 bytes) is allowed.

    Raises
    ------
    DataError
        The file is missing, cannot be read, is too large, or is a folder. An empty file
        also raises this error unless `allow_empty` is True. If the file is missing, the
        message suggests the most similar file name in the folder, or names the folder
        that does not exist.
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
    """Raise DataError unless a path is the path of an existing regular file.

    A regular file is not a folder, pipe or device.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(_message_for_missing_file(path)) from None
    except (OSError, ValueError) as error:
        # For example, the path is too long to be the path of a file.
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
    """Return an error message for a missing file, with a similar file name if any."""
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
    """Return a path as one line of text; control characters are shown as escapes."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def _similar_name_hint(name: str, folder: Path) -> str:
    """Return a hint such as ``; did you mean 'im2.png'?`` for a mistyped file name.

    The hint contains the most similar name in the folder. If no name is similar, the
    hint is empty. The hint does not list all names, because the folder may contain
    thousands of files.
    """
    if not os.access(folder, os.R_OK):
        return ""
    similar_names = close_names(name, os.listdir(folder))
    if not similar_names:
        return ""
    return f"; did you mean {str(folder / similar_names[0])!r}?"
