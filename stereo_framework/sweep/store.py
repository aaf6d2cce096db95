"""The results store: one SQLite file in the output folder with one table, written by the parent process alone, one transaction a result."""

import collections
import contextlib
import functools
import json
import os
import sqlite3
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path, PurePosixPath
from typing import Any, get_type_hints

import yaml
from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic_core import from_json
from typing_extensions import TypedDict  # pydantic asks for it, and brings it

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, StereoFrameworkError, one_line, short, warn
from stereo_framework.evaluation.measure import described, remember_measures
from stereo_framework.io import (
    check_plain,
    file_stem,
    output_folder,
    read_bytes,
    remove_parts,
    write_bytes,
    write_disparity,
    write_pfm,
)
from stereo_framework.script import Script
from stereo_framework.script.include import RESOLVED
from stereo_framework.sweep.result import Result, confidence_file

FILE = "results.sqlite"
_LOCK = "writer.lock"
_FILES_OF_SQLITE = ("", "-wal", "-shm", "-journal")
"""Ends of the names of the files that one database has."""

_MEASURES = "measures.json"
"""Units, directions and sources of the measures that plug-ins brought."""

_VERSION = 2
"""Of the table, as SQLite's user_version."""

_TABLE = "CREATE TABLE results (key TEXT PRIMARY KEY, place INTEGER, row TEXT, details TEXT)"
"""`place`: in the order of what was asked for last; null = asked for earlier, -1 = measured of a map made elsewhere. `row` is null as long as a result
is to come. `details` are what hardly one of thousands of results is asked for."""

_ADD = (
    "INSERT INTO results (key, place, row, details) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE"
    " SET row = excluded.row, details = excluded.details, place = ifnull(excluded.place, place)"
)
_DETAILS = ("parameters", "script")
_SHOWN = tuple(f.name for f in fields(Result) if f.name not in (*_DETAILS, "traceback") and not f.name.startswith("_"))
_TYPES = {name: kind for name, kind in get_type_hints(Result).items() if name in _SHOWN}
_ROW: Any = TypeAdapter(with_config(ConfigDict(extra="forbid", strict=True))(TypedDict("_Row", _TYPES)))  # type: ignore
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
                self._db = self._to_write() if create else self._to_read()
            except (OSError, sqlite3.Error) as error:
                raise DataError(f"{self._path}: cannot be used as a results store: {error}; choose another folder") from error
            undo.pop_all()
        if problem := remember_measures(folder / _MEASURES):
            warn([problem])

    def _to_write(self) -> sqlite3.Connection:
        self.enter_context(output_folder(self.folder))
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock()
        remove_parts(self.folder)
        db = self.enter_context(contextlib.closing(_connected(self._path, timeout=30)))
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            db.executescript(f"BEGIN; {_TABLE}; PRAGMA user_version = {_VERSION}; COMMIT")
        self._check(db)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        self.callback(_leave, db)
        return db

    def _to_read(self) -> sqlite3.Connection:
        nothing = DataError(f"{self.folder}: no results there ({FILE} is missing); 'run SCRIPT --out {self.folder}' writes them")
        if not self._path.is_file():
            raise nothing
        # Beside a file that a link leads to, SQLite must not make others.
        linked = any(os.path.islink(f"{self._path}{end}") for end in _FILES_OF_SQLITE)
        source = f"{self._path.absolute().as_uri()}?{'immutable=1' if linked else 'mode=ro'}"
        db = self.enter_context(contextlib.closing(sqlite3.connect(source, uri=True, timeout=30)))
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise nothing
        self._check(db)
        return db

    def _check(self, db: sqlite3.Connection) -> None:
        """Refuse what is no store of this version."""
        db.execute("PRAGMA trusted_schema=OFF")  # a foreign file's own views and triggers may do no harm
        db.execute("SELECT key, place, row, details FROM results LIMIT 0")
        [version] = db.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            raise DataError(
                f"{self._path}: results of version {version}, this program reads version {_VERSION}; choose another folder"
            )

    def _lock(self) -> None:
        """Keep others from writing. The system itself ends the lock together with the process, however that ends."""
        lock = self.enter_context(contextlib.closing(_connected(self.folder / _LOCK, timeout=0, check_same_thread=False)))
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise DataError(f"{self.folder}: another sweep is writing there; wait for it or choose another folder") from None

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
            write_bytes(self.folder / _MEASURES, text.encode())

    def check_there(self) -> None:
        """Raise a DataError if the store is no longer in its folder: SQLite would go on writing to a file that nobody finds."""
        if not self._path.exists():
            raise DataError(
                f"{self.folder}: was removed or moved during the run; the results in it went with it, and those computed since are lost; the same command begins again"
            )

    def plan(self, keys: Iterable[str]) -> None:
        """Make `keys`, in this order, the results that the folder is about."""
        with self._transaction("the plan"):
            self._db.execute("DELETE FROM results WHERE row IS NULL")
            self._db.execute("UPDATE results SET place = NULL WHERE place >= 0")
            self._db.executemany(
                "INSERT INTO results (key, place) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET place = excluded.place",
                ((key, place) for place, key in enumerate(keys)),
            )

    def add(self, key: str, result: Result, *, outside: bool = False) -> None:
        """Write one result; an earlier one under the same key is replaced. One of a map made elsewhere, `outside`, stands beside those of every script.

        Raises
        ------
        StereoFrameworkError
            It cannot be written. Everything written before is kept.
        """
        row = {name: getattr(result, name) for name in _SHOWN}
        row["map"] = result.map and result.map.relative_to(self.folder).as_posix()
        details = {name: getattr(result, name) for name in _DETAILS}
        with self._transaction("a result"):
            texts = [json.dumps(one, default=_plain) for one in (row, details)]
            self._db.execute(_ADD, (key, -1 if outside else None, *texts))

    def with_map(self, results: Sequence[Result]) -> list[Result]:
        """Results of one match, whose map, where they hold one, is written to the folder with its confidence, and let go of."""
        first = results[0]
        if first.map is not None or first.disparity is None:
            return list(results)
        path = self.folder / "maps" / f"{file_stem(first.scene)}_{file_stem(first.method)}_{first.id[:8]}.pfm"
        write_disparity(path, first.disparity)
        for name, confidence in first.confidence.items():
            write_pfm(confidence_file(path, name), confidence)
        return [replace(result, map=path, _disparity=None, _confidence={}) for result in results]

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

    def lacking(self) -> str:
        """What is to be said of the results that were asked for and are not there yet; empty where none is missing."""
        [[missing]] = self._read("count(*)", "row IS NULL")
        said = "results are still missing; if the run is not going on, it was stopped early: run the same command again"
        return f"{missing} {said}" if missing else ""

    def _read(self, columns: str, where: str, *values: Any) -> list[Any]:
        with _told(self._path):
            return self._db.execute(f"SELECT {columns} FROM results WHERE {where}", values).fetchall()

    def _results(self, where: str, *values: Any) -> list[Result]:
        return [self._result(*row) for row in self._read("row, details", where, *values)]

    def _result(self, row: Any, details: Any) -> Result:
        with _told(self._path):
            values = _ROW.validate_json(row)
            for value in values["axes"].values():
                if type(value) is int:
                    float(value)  # which refuses endless digits
            if values["map"] is not None:
                values["map"] = self.folder / _below(values["map"])
            return Result(**(values | {name: _Detail(details, name, self._path) for name in _DETAILS}))


def read_scripts(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the resolved scripts in an output folder, by the names of their files.

    Warns
    -----
    ResultWarning
        A script is damaged. It is left out, because results are shown without it.
    """
    scripts: dict[str, dict[str, Any]] = {}
    problems: list[str] = []
    for path in sorted(folder.glob(f"*{RESOLVED}")):
        try:
            scripts[path.name] = dict(yaml.safe_load(read_bytes(path, limits.WRITTEN)))
        except DataError as error:
            problems.append(str(error))
        except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
            reason = short(" ".join(str(error).split()), 200)
            problems.append(f"{path}: is damaged: {reason}; delete it, and the next run writes it again")
    if problems:
        others = f" ({len(problems) - 1} more scripts cannot be read)" if len(problems) > 1 else ""
        warn([one_line(f"{problems[0]}{others}")])
    return scripts


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
    """Open a file to write to it.

    Raises
    ------
    DataError
        It, or one of the files that SQLite keeps beside it, is a link.
    """
    for end in _FILES_OF_SQLITE:
        check_plain(f"{path}{end}")
    return sqlite3.connect(path, **options)


def _leave(db: sqlite3.Connection) -> None:
    """Put all into one file, which can be read where nothing can be written; a reader may keep it from that."""
    with contextlib.suppress(sqlite3.Error):
        db.execute("PRAGMA journal_mode=DELETE")
