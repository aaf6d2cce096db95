"""Unite the records of the commands that wrote to several results folders."""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, one_line
from stereo_framework.io import read_bytes, write_bytes
from stereo_framework.sweep.origin import ORIGIN, add_record, last_record

_MAX_SIZE = limits.TEXT // 2
"""Maximum size of the united records, in bytes, which leaves room for later records."""


def unite_records(out: Path, folders: Sequence[Path], scripts: Iterable[str]) -> list[str]:
    """Write the records of several folders, and the record of their merge.

    Parameters
    ----------
    out : Path
        Folder of the merge, which must be open for writing.
    folders : sequence of Path
        The merged folders.
    scripts : iterable of str
        Names of the files of all resolved scripts in `out`.

    Returns
    -------
    list of str
        Messages about folders whose records were left out. If the file in `out` cannot
        be read, it is not changed.
    """
    try:
        lines = dict.fromkeys(_lines(out))
    except DataError as error:
        return [one_line(f"{error}; no record is added to this file; remove or rename it")]

    problems: list[str] = []
    # The record of an earlier merge into the folder also belongs to its scripts.
    records = [last_record(folder) for folder in (out, *folders)]
    for folder in folders:
        try:
            united_lines = lines | dict.fromkeys(_lines(folder))
        except DataError as error:
            problems.append(one_line(f"{error}; the records of the commands are left out"))
            continue
        if sum(map(len, united_lines)) > _MAX_SIZE:
            problems.append(
                f"{folder / ORIGIN}: the records of the commands are left out, because all records "
                f"together have more than {_MAX_SIZE} bytes"
            )
            continue
        lines = united_lines
    if lines:
        write_bytes(out / ORIGIN, b"\n".join(lines) + b"\n")

    merge_record = {
        "scripts": list(scripts),
        "is_search": any(record.get("is_search") is True for record in records),
        "left_out": _left_out_files(records),
    }
    add_record(out, merge_record, [])
    return problems


def _lines(folder: Path) -> list[bytes]:
    """Return the lines with the records of a folder, without damaged lines.

    Raises
    ------
    DataError
        The file exists, but it cannot be read or is too large.
    """
    path = folder / ORIGIN
    if not os.path.lexists(path):
        return []
    content = read_bytes(path, limits.TEXT, allow_empty=True)
    return [line for line in content.splitlines() if _is_record(line)]


def _is_record(line: bytes) -> bool:
    """Return whether a line is the JSON text of a record."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _left_out_files(records: Iterable[dict[str, Any]]) -> list[str]:
    """Return the files that the scripts need and that their results folders lack."""
    files: dict[str, None] = {}
    for record in records:
        left_out = record.get("left_out")
        if isinstance(left_out, list):
            files |= dict.fromkeys(text for text in left_out if isinstance(text, str))
    return list(files)
