"""Reading whole files, with one-line errors that help to find the right one."""

from __future__ import annotations

import os
from pathlib import Path

from stereo_framework.errors import DataError, close_names

PathLike = str | os.PathLike[str]


def read_bytes(path: PathLike) -> bytes:
    """Content of a file.

    Raises
    ------
    DataError
        Missing (the line names the nearest file of the folder, or the part of the path that exists), a folder, unreadable
        or empty.
    """
    check_file(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    if not data:
        raise DataError(f"{path}: is empty (0 bytes)")
    return data


def check_file(path: PathLike) -> None:
    """Raise DataError unless `path` is a file."""
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path}: is a folder; expected a file")
    if path.exists():
        return
    folder = path.parent
    if not folder.is_dir():
        existing = next((p for p in folder.parents if p.is_dir()), Path())
        raise DataError(f"{path}: no such file; there is no folder {folder}{_near(folder.name, existing)}")
    raise DataError(f"{path}: no such file in the folder {folder.resolve()}{_near(path.name, folder)}")


def _near(name: str, folder: Path) -> str:
    """``; did you mean 'im2.png'?`` where the folder holds a similar name. The folder may hold thousands, so no list."""
    close = close_names(name, os.listdir(folder)) if os.access(folder, os.R_OK) else []
    return f"; did you mean {str(folder / close[0])!r}?" if close else ""


def write_bytes(path: PathLike, data: bytes) -> None:
    """Write a file whole.

    Raises
    ------
    DataError
        The folder is missing or cannot be written to.
    """
    try:
        Path(path).write_bytes(data)
    except FileNotFoundError:
        raise DataError(f"{path}: cannot be written: there is no folder {Path(path).parent}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from None
