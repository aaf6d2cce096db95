"""The results store: one SQLite file in the output folder with one table, written by the parent process alone, one transaction a result."""

from __future__ import annotations

import collections
import contextlib
import functools
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path, PurePosixPath
from typing import Any, get_type_hints

import yaml
from pydantic import ConfigDict, create_model
from pydantic_core import from_json

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, StereoFrameworkError, short
from stereo_framework.evaluation.measure import described, remember
from stereo_framework.io import check_plain, output_folder, read_bytes, remove_parts, write_bytes
from stereo_framework.script import Script
from stereo_framework.script.library import RESOLVED
from stereo_framework.sweep.result import Result

FILE = "results.sqlite"
LOCK = "writer.lock"
MEASURES = "measures.json"
"""Units, directions and sources of the measures that plug-ins brought."""

_VERSION = 2
"""Of the table, as SQLite's user_version."""

_TABLE = "CREATE TABLE results (key TEXT PRIMARY KEY, place INTEGER, row TEXT, details TEXT)"
"""`place`: in the order of what was asked for last; null = asked for earlier, -1 = measured of a map made elsewhere. `row` is null as long as a result
is to come. `details` are what hardly one of thousands of results is asked for."""

_OUTSIDE = -1
_DETAILS = ("parameters", "script")
_SHOWN = tuple(f.name for f in fields(Result) if f.name not in _DETAILS and f.name != "traceback" and not f.name.startswith("_"))
_TYPES = get_type_hints(Result)
_Row: Any = create_model(
    "Row",
    __config__=ConfigDict(extra="forbid", strict=True),
    **{name: (_TYPES[name], ...) for name in _SHOWN},  # type: ignore[call-overload]
)
"""What stands in the column `row`."""


class Store(contextlib.ExitStack):
    """Results of one output folder, by key.

    A plan lists the results that one script asks for, in order; results are shared between plans by content, so that a repeated or
    extended script computes only what is missing.

    Parameters
    ----------
    folder : Path
        Output folder.
    create : bool
        Open for writing, which one process at a time may do; make the folder and the store when missing. Otherwise nothing is written,
        and the folder may be one that cannot be written to.

    Raises
    ------
    DataError
        No results there, a store of another version or kind, a damaged one, or another process writes to it.
    """

    def __init__(self, folder: Path, *, create: bool = False):
        super().__init__()
        self.folder, self._path = folder, folder / FILE
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            try:
                self._db = self._opened(create=create)
            except (OSError, sqlite3.Error) as error:
                full = create and not os.access(folder, os.W_OK)
                hint = "; the folder cannot be written to" if full else "; choose another folder"
                raise DataError(f"{self._path}: cannot be used as a results store: {error}{hint}") from error
            undo.pop_all()
        # A damaged description is passed over.
        with contextlib.suppress(DataError, ValueError, TypeError):
            remember(read_bytes(folder / MEASURES, limits.TEXT).decode())

    def _opened(self, *, create: bool) -> sqlite3.Connection:
        """The store, checked; a new one is filled."""
        nothing = DataError(f"{self.folder}: no results there ({FILE} is missing); 'run SCRIPT --out {self.folder}' writes them")
        if create:
            self.enter_context(output_folder(self.folder))
            self.folder.mkdir(parents=True, exist_ok=True)
            self.enter_context(contextlib.closing(_locked(self.folder / LOCK)))
            remove_parts(self.folder)
            db = self.enter_context(contextlib.closing(_connected(self._path)))
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
        elif self._path.is_file():
            db = self._opened_to_read()
        else:
            raise nothing
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables and not create:
            raise nothing
        if not tables:
            db.executescript(f"BEGIN; {_TABLE}; PRAGMA user_version = {_VERSION}; COMMIT")
        elif "results" not in tables:
            raise DataError(f"{self._path}: an SQLite file, but no results store; choose another folder")
        [version] = db.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            raise DataError(
                f"{self._path}: results of version {version}, this program reads version {_VERSION}; choose another folder"
            )
        db.execute("SELECT key, place, row, details FROM results LIMIT 0")
        return db

    def _opened_to_read(self) -> sqlite3.Connection:
        """The store, in which nothing is changed, on a disk that cannot be written to as well.

        SQLite needs to write beside a file that it reads. Where it cannot, or the file is a link to one that lies elsewhere, a copy is read.
        """
        with contextlib.suppress(DataError, sqlite3.OperationalError), contextlib.ExitStack() as undo:
            db = undo.enter_context(contextlib.closing(_connected(self._path)))
            db.execute("PRAGMA query_only=ON")
            db.execute("SELECT name FROM sqlite_master").fetchone()
            self.enter_context(undo.pop_all())
            return db
        folder = Path(self.enter_context(tempfile.TemporaryDirectory()))
        for file in (self._path, self._path.with_name(f"{FILE}-wal")):
            if file.is_file():
                shutil.copyfile(file, folder / file.name)
        return self.enter_context(contextlib.closing(_connected(folder / FILE)))

    # --- writing ----------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _transaction(self, what: str) -> Iterator[None]:
        """Write all or nothing.

        Raises
        ------
        StereoFrameworkError
            The file cannot be written, for example because the disk is full. Everything written before is kept.
        """
        try:
            with self._db:
                yield
        except sqlite3.Error as error:
            raise StereoFrameworkError(
                f"{self._path}: {what} cannot be written: {error}; earlier results are kept, and the same command continues"
            ) from error

    def describe(self, scripts: Sequence[Script], measures: Iterable[str]) -> None:
        """Keep the resolved scripts, and units, directions and sources of measures that plug-ins brought, so that the results are shown without either.

        Raises
        ------
        DataError
            A file of that name is the user's, or was changed; or the disk is full.
        """
        for script in scripts:
            write_bytes(self.folder / f"{script.name}{RESOLVED}", yaml.safe_dump(script.resolved, sort_keys=False).encode())
        if text := described(dict.fromkeys(measures)):
            write_bytes(self.folder / MEASURES, text.encode())

    def check_there(self) -> None:
        """Raise a DataError if the store is no longer in its folder: SQLite would go on writing to a file that nobody finds."""
        if not self._path.exists():
            raise DataError(
                f"{self.folder}: was removed or moved during the run; the results in it went with it, and those computed since are lost; the same command begins again"
            )

    def plan(self, keys: Sequence[str], *, after: bool = False) -> None:
        """Make `keys`, in this order, the results that the folder is about, or, with `after`, let them follow those that it is about already."""
        with self._transaction("the plan"):
            first = 0
            if after:
                [first] = self._db.execute("SELECT ifnull(max(place), -1) + 1 FROM results").fetchone()
            else:
                self._db.execute("DELETE FROM results WHERE row IS NULL")
                self._db.execute("UPDATE results SET place = NULL WHERE place >= 0")
            there = "WHERE place IS NULL" if after else ""
            self._db.executemany(
                f"INSERT INTO results (key, place) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET place = excluded.place {there}",
                ((key, place) for place, key in enumerate(keys, first)),
            )

    def add(self, key: str, result: Result) -> None:
        """Write one result; an earlier one under the same key is replaced.

        Raises
        ------
        StereoFrameworkError
            It cannot be written. Everything written before is kept.
        """
        with self._transaction("a result"):
            self._put(key, result)

    def refuse_methods(self, names: Iterable[str]) -> None:
        """Raise a DataError if a method of the script that was run last has one of these names."""
        for name in {result.method for result in self._results("place >= 0 AND row IS NOT NULL")}.intersection(names):
            raise DataError(f"{self.folder}: a method of the script that was run there is called {name!r}; choose another name")

    def add_outside(self, results: Sequence[Result]) -> None:
        """Write results of maps made elsewhere: they stand beside those of every script. Of one method, scene and protocol the last counts."""
        with self._transaction("results"):
            for one in results:
                key = f"{one.method} {one.scene} {one.protocol_text}"
                self._put(key, one)
                self._db.execute(f"UPDATE results SET place = {_OUTSIDE} WHERE key = ?", (key,))

    def _put(self, key: str, result: Result) -> None:
        row = {name: getattr(result, name) for name in _SHOWN}
        row["map"] = result.map and result.map.relative_to(self.folder).as_posix()
        texts = [json.dumps(one, default=_plain) for one in (row, {name: getattr(result, name) for name in _DETAILS})]
        self._db.execute(
            "INSERT INTO results (key, row, details) VALUES (?, ?, ?)"
            " ON CONFLICT (key) DO UPDATE SET row = excluded.row, details = excluded.details",
            (key, *texts),
        )

    # --- reading ----------------------------------------------------------------------------------------------------------

    def get(self, key: str) -> Result | None:
        """The result under a key, None when there is none yet."""
        return next(iter(self._results("key = ? AND row IS NOT NULL", key)), None)

    def of_run(self, run: str) -> list[Result]:
        """The results of one run, by its id, under all protocols."""
        return self._results("key GLOB ? AND row IS NOT NULL", f"{run} *")

    def results(self, *, every: bool = False) -> list[Result]:
        """Results that were asked for last, in their order, and those of maps made elsewhere; or all in the order in which they were first asked for."""
        asked = "row IS NOT NULL AND place IS NOT NULL ORDER BY place < 0, place, rowid"
        return self._results("row IS NOT NULL ORDER BY rowid" if every else asked)

    def missing(self) -> int:
        """How many results that were asked for are not there yet."""
        return int(self._read("count(*)", "row IS NULL")[0][0])

    def lacking(self) -> str:
        """What is to be said of the results that are not there yet; empty where none is missing."""
        missing = self.missing()
        if not missing:
            return ""
        if _is_locked(self.folder / LOCK):
            return f"{missing} results are still to come; the run is going on"
        return f"{missing} results are still missing; the run was stopped early: run the same command again"

    def _read(self, columns: str, where: str, *values: Any) -> list[Any]:
        with _told(self._path):
            return self._db.execute(f"SELECT {columns} FROM results WHERE {where}", values).fetchall()

    def _results(self, where: str, *values: Any) -> list[Result]:
        return [self._result(*row) for row in self._read("row, details", where, *values)]

    def _result(self, row: Any, details: Any) -> Result:
        with _told(self._path):
            values = dict(_Row.model_validate_json(row))
            for number in filter(_is_whole, values["axes"].values()):
                float(number)  # which refuses endless digits
            if values["map"] is not None:
                values["map"] = self.folder / _below(values["map"])
            return Result(**(values | {name: _Detail(details, name, self._path) for name in _DETAILS}))


def read_scripts(folder: Path) -> dict[str, dict[str, Any]]:
    """The resolved scripts in an output folder, by the names of their files.

    Raises
    ------
    DataError
        One of them is damaged.
    """
    found = {}
    for path in sorted(folder.glob(f"*{RESOLVED}")):
        try:
            found[path.name] = dict(yaml.safe_load(read_bytes(path, limits.WRITTEN)))
        except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
            reason = short(" ".join(str(error).split()), 200)
            raise DataError(f"{path}: is damaged: {reason}; delete it, and the next run writes it again") from None
    return found


class _Detail(collections.UserDict[str, Any]):
    """A stored mapping that is read when it is first asked for."""

    def __init__(self, text: Any, name: str, path: Path):
        self._text, self._name, self._path = text, name, path

    @functools.cached_property
    def data(self) -> dict[str, Any]:  # type: ignore[override]
        """What stands there."""
        with _told(self._path):
            # Unlike json's own reader it refuses values that are deep in others, which nothing else could bear.
            return dict(from_json(self._text)[self._name])

    def items(self) -> ItemsView[str, Any]:
        """At the speed of a dict."""
        return self.data.items()


def _is_whole(value: Any) -> bool:
    return type(value) is int


def _below(path: Path) -> PurePosixPath:
    """The path of a file in the folder; a ValueError for one outside."""
    found = PurePosixPath(path.as_posix())
    if found.is_absolute() or ".." in found.parts:
        raise ValueError(f"map: {str(found)[:40]!r} is no file of the folder")
    return found


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Tell in a line that what stands in a file is no result, whatever it is."""
    try:
        yield
    except (sqlite3.Error, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: damaged: {reason}; choose another folder, or delete it and run again") from error


def _plain(value: Any) -> Any:
    """What JSON holds of other values: numbers of plug-ins may be numpy's, parameters may be anything."""
    if isinstance(value, Mapping):
        return dict(value)
    try:
        return value.item()
    except (AttributeError, ValueError):
        return str(value)


# --- files of SQLite ----------------------------------------------------------------------------------------------------


def _connected(path: Path, **options: Any) -> sqlite3.Connection:
    """Open a file; its own views and triggers may do no harm.

    Raises
    ------
    DataError
        It, or one of the files that SQLite keeps beside it, is a link.
    """
    for ending in ("", "-wal", "-shm", "-journal"):
        check_plain(f"{path}{ending}")
    db = sqlite3.connect(path, **{"timeout": 30, **options})
    db.execute("PRAGMA trusted_schema=OFF")
    return db


def _locked(path: Path) -> sqlite3.Connection:
    """Keep others from writing. The system itself ends the lock together with the process, however that ends."""
    # Somebody who asks whether a sweep is running holds it for a moment.
    lock = _connected(path, timeout=0.5, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" not in str(error):
            raise
        raise DataError(f"{path.parent}: another sweep is writing there; wait for it or choose another folder") from None
    return lock


def _is_locked(path: Path) -> bool:
    """Whether a process is writing to the folder."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as db:
            db.execute("SELECT name FROM sqlite_master")
    except sqlite3.Error as error:
        return "locked" in str(error)
    return False
