"""What can still be read of a damaged results store, saved to another folder."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stereo_framework.core.errors import DataError
from stereo_framework.io import write_bytes
from stereo_framework.sweep.database import opened_to_read
from stereo_framework.sweep.store import COLUMNS, FILE, LATEST, Store

_SMALLEST_ROW = 100
"""Bytes that a stored result takes at least, for a guess of how many there may be."""


def salvage(folder: Path, new: Path) -> tuple[int, int]:
    """Save the results of a damaged store that can be read, with their maps and scripts; the damaged one stays as it is.

    Parameters
    ----------
    folder : Path
        With the damaged store.
    new : Path
        A folder without results.

    Returns
    -------
    saved, spoiled : int
        Results that were saved, and those whose contents make no sense. How many others there were cannot be known.

    Raises
    ------
    DataError
        Nothing can be read, or there are results in the new folder.
    """
    path = folder / FILE
    if not path.is_file():
        raise DataError(f"{folder}: no results there ({FILE} is missing)")
    if (new / FILE).exists():
        raise DataError(f"{new}: there are results already; choose another folder")
    try:
        with opened_to_read(path, copy=True) as db:
            rows, (keys, script) = list(_rows(db, 1, _last(db, path))), _latest_plan(db)
    except (OSError, sqlite3.Error) as error:
        raise DataError(f"{path}: nothing can be read: {error}") from error
    if not rows:
        raise DataError(f"{path}: no result can be read")
    with Store(new, create=True) as store:
        saved = store.restore(rows)
        store.plan(keys or saved, script)
        maps = [result.map for key in saved if (result := store.get(key)) is not None and result.map is not None]
    for file in (*(one.relative_to(new) for one in maps), *(one.relative_to(folder) for one in folder.glob("*.yaml"))):
        if (folder / file).is_file():
            (new / file).parent.mkdir(parents=True, exist_ok=True)
            write_bytes(new / file, (folder / file).read_bytes())
    return len(saved), len(rows) - len(saved)


def _last(db: sqlite3.Connection, path: Path) -> int:
    """No result has a higher number."""
    try:
        return int(db.execute("SELECT max(rowid) FROM results").fetchone()[0] or 0)
    except sqlite3.DatabaseError:
        return path.stat().st_size // _SMALLEST_ROW


def _rows(db: sqlite3.Connection, first: int, last: int) -> Iterator[dict[str, Any]]:
    """The results of these numbers that can be read: where some cannot, one half after the other."""
    try:
        # Those of earlier versions have no sum.
        there = {name for _, name, *_ in db.execute("PRAGMA table_info(results)")}
        names = ("key", "created", *COLUMNS, *({"sum"} & there))
        found = db.execute(f"SELECT {', '.join(names)} FROM results WHERE rowid BETWEEN ? AND ?", (first, last)).fetchall()
    except sqlite3.DatabaseError:
        if first < last:
            middle = (first + last) // 2
            yield from _rows(db, first, middle)
            yield from _rows(db, middle + 1, last)
    else:
        yield from (dict(zip(names, row, strict=True)) for row in found)


def _latest_plan(db: sqlite3.Connection) -> tuple[list[str], Any]:
    """Keys and script of the latest plan, as far as they can be read."""
    keys: list[str] = []
    script: Any = "saved from a damaged store"
    with contextlib.suppress(sqlite3.DatabaseError, ValueError, TypeError, RecursionError):
        keys = [str(key) for (key,) in db.execute(f"SELECT key FROM items WHERE plan = {LATEST} ORDER BY position")]
        script = json.loads(db.execute(f"SELECT script FROM plans WHERE plan = {LATEST}").fetchone()[0])
    return keys, script
