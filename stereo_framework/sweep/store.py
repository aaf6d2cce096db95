"""The results store: one SQLite file in the output folder with one table, written by the parent process alone, one transaction a result."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path, PurePosixPath
from typing import Any

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, StereoFrameworkError
from stereo_framework.evaluation.measure import described, remember
from stereo_framework.io import output_folder, read_bytes, remove_parts, write_bytes
from stereo_framework.sweep.database import connected, locked, opened_to_read
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
        self.folder, self._path = folder, folder / FILE
        nothing = DataError(f"{folder}: no results there ({FILE} is missing); 'run SCRIPT --out {folder}' writes them")
        if not create and not self._path.is_file():
            raise nothing
        super().__init__()
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            try:
                if create:
                    self.enter_context(output_folder(folder))
                    folder.mkdir(parents=True, exist_ok=True)
                    self.enter_context(contextlib.closing(locked(folder / LOCK)))
                    remove_parts(folder)
                    self._db = self.enter_context(contextlib.closing(connected(self._path)))
                    self._db.execute("PRAGMA journal_mode=WAL")
                    self._db.execute("PRAGMA synchronous=NORMAL")
                else:
                    self._db = self.enter_context(opened_to_read(self._path))
                usable = self._prepare(create=create)
            except (OSError, sqlite3.Error) as error:
                full = create and not os.access(folder, os.W_OK)
                hint = "; the folder cannot be written to" if full else "; choose another folder"
                raise DataError(f"{self._path}: cannot be used as a results store: {error}{hint}") from error
            if not usable:
                raise nothing
            undo.pop_all()
        self._remember_measures()

    def _remember_measures(self) -> None:
        """Know the measures that plug-ins brought when these results were made; a damaged description is passed over."""
        with contextlib.suppress(DataError, ValueError, TypeError):
            remember(read_bytes(self.folder / MEASURES, limits.TEXT).decode())

    def describe_measures(self, names: Iterable[str]) -> None:
        """Keep units, directions and sources of measures that plug-ins brought, so that the results are shown whole without them."""
        if text := described(names):
            write_bytes(self.folder / MEASURES, text.encode())

    def _prepare(self, *, create: bool) -> bool:
        """Check the file, or fill a new one; False if it is still empty and not ours to fill."""
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables and create:
            with self._transaction("the store"):
                self._db.execute(_TABLE)
                self._db.execute(f"PRAGMA user_version = {_VERSION}")
        if not tables:
            return create
        [version] = self._db.execute("PRAGMA user_version").fetchone()
        if "results" not in tables:
            raise DataError(f"{self._path}: an SQLite file, but no results store; choose another folder")
        if version != _VERSION:
            raise DataError(
                f"{self._path}: results of version {version}, this program reads version {_VERSION}; choose another folder"
            )
        self._db.execute("SELECT key, place, row, details FROM results LIMIT 0")
        return True

    @contextlib.contextmanager
    def _transaction(self, what: str) -> Iterator[None]:
        """Write all or nothing.

        Raises
        ------
        StereoFrameworkError
            The file cannot be written, for example because the disk is full. Everything written before is kept.
        """
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                # A full disk has ended the transaction already.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise StereoFrameworkError(
                f"{self._path}: {what} cannot be written: {error}; earlier results are kept, and the same command continues"
            ) from error

    def _read(self, query: str, *values: Any) -> list[Any]:
        """All rows that a query gives.

        Raises
        ------
        DataError
            The file is damaged.
        """
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise _damaged(self._path, error) from error

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

    def _put(self, key: str, result: Result) -> None:
        row = {name: getattr(result, name) for name in _SHOWN}
        row["map"] = result.map and result.map.relative_to(self.folder).as_posix()
        texts = _dump(row), _dump({name: getattr(result, name) for name in _DETAILS})
        self._db.execute(
            "INSERT INTO results (key, row, details) VALUES (?, ?, ?)"
            " ON CONFLICT (key) DO UPDATE SET row = excluded.row, details = excluded.details",
            (key, *texts),
        )

    def refuse_method(self, method: str) -> None:
        """Raise a DataError if a method of the script that was run last has that name."""
        if self._read("SELECT 1 FROM results WHERE place >= 0 AND json_extract(row, '$.method') = ? LIMIT 1", method):
            raise DataError(f"{self.folder}: a method of the script that was run there is called {method!r}; choose another name")

    def add_outside(self, results: Mapping[str, Result]) -> None:
        """Write results of maps made elsewhere, by key: they stand beside those of every script. Of one method, scene and protocol the last counts."""
        same = " AND ".join(f"json_extract(row, '$.{name}') = ?" for name in ("method", "scene", "protocol_text"))
        with self._transaction("results"):
            for one in results.values():
                self._db.execute(
                    f"UPDATE results SET place = NULL WHERE place = {_OUTSIDE} AND {same}",
                    (one.method, one.scene, one.protocol_text),
                )
            for key, one in results.items():
                self._put(key, one)
                self._db.execute(f"UPDATE results SET place = {_OUTSIDE} WHERE key = ?", (key,))

    def complete(self) -> dict[str, Path | None]:
        """Keys of all results without an error, and the files of their maps."""
        query = (
            "SELECT key, json_extract(row, '$.map') FROM results WHERE row IS NOT NULL AND json_extract(row, '$.error') IS NULL"
        )
        with _read_from(self._path):
            return {key: _map(self.folder, name) for key, name in self._read(query)}

    def get(self, key: str) -> Result | None:
        """The result under a key, None when there is none yet."""
        found = self._read(f"SELECT {_COLUMNS} FROM results WHERE key = ? AND row IS NOT NULL", key)
        return self._result(*found[0]) if found else None

    def results(self, *, every: bool = False) -> list[Result]:
        """Results that were asked for last, in their order, and those of maps made elsewhere; or all in the order in which they were first asked for."""
        wanted = "row IS NOT NULL ORDER BY rowid" if every else f"{_ASKED} ORDER BY place < 0, place, rowid"
        return [self._result(*row) for row in self._read(f"SELECT {_COLUMNS} FROM results WHERE {wanted}")]

    def missing(self) -> int:
        """How many results that were asked for are not there yet."""
        return int(self._read("SELECT count(*) FROM results WHERE row IS NULL")[0][0])

    def lacking(self) -> str:
        """What is to be said of the results that are not there yet; empty where none is missing."""
        missing = self.missing()
        if not missing:
            return ""
        if self.running():
            return f"{missing} results are still to come; the run is going on"
        return f"{missing} results are still missing; the run was stopped early: run the same command again"

    def running(self) -> bool:
        """Whether a process is writing to the folder."""
        lock = self.folder / LOCK
        if not lock.is_file():
            return False
        with contextlib.closing(sqlite3.connect(f"{lock.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as db:
            try:
                db.execute("SELECT name FROM sqlite_master")
            except sqlite3.Error as error:
                return "locked" in str(error)
        return False

    def _result(self, row: Any, details: Any) -> Result:
        with _read_from(self._path):
            values = _mapping(row)
            values |= {"map": _map(self.folder, values["map"]), "warnings": tuple(values["warnings"])}
            statistics, seconds = values["statistics"], values["seconds"]
            if None in statistics.values():
                values["statistics"] = statistics = {name: math.nan if v is None else v for name, v in statistics.items()}
            texts = {*map(type, map(values.__getitem__, _TEXTS)), *map(type, values["warnings"])}
            texts |= {*map(type, values["environment"].values())}
            # Of thousands of results each statistic is looked at: by its class alone.
            if not (texts <= {str} and {*map(type, statistics.values()), *map(type, seconds.values())} <= {int, float, bool}):
                raise ValueError(f"{str(row)[:40]!r}... is no result")
            return Result(**(values | {name: _Detail(details, name, self._path) for name in _DETAILS}))


_TEXTS = ("id", "scene", "method", "protocol", "protocol_text")
_DETAILS = ("parameters", "script")
_SHOWN = tuple(f.name for f in fields(Result) if f.name not in _DETAILS and f.name != "traceback" and not f.name.startswith("_"))
_COLUMNS = "row, details"
_ASKED = "place IS NOT NULL AND row IS NOT NULL"


class _Detail(Mapping[str, Any]):
    """A stored mapping that is read when it is first asked for."""

    __slots__ = ("_name", "_path", "_read")

    def __init__(self, text: Any, name: str, path: Path):
        self._read, self._name, self._path = text, name, path

    def _mapping(self) -> Mapping[str, Any]:
        if not isinstance(self._read, dict):
            with _read_from(self._path):
                self._read = dict(_mapping(self._read)[self._name])
        return self._read

    def __getitem__(self, key: str) -> Any:
        return self._mapping()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping())

    def __len__(self) -> int:
        return len(self._mapping())

    def items(self) -> ItemsView[str, Any]:
        """At the speed of a dict."""
        return self._mapping().items()

    def __repr__(self) -> str:
        return repr(self._mapping())


_DEEP = 50


def _whole(digits: str) -> int:
    """A whole number; a ValueError for one that no float holds."""
    if len(digits) >= 300:
        raise ValueError("endless digits")
    return int(digits)


_read_json = json.JSONDecoder(parse_int=_whole).decode


def _mapping(text: Any) -> dict[str, Any]:
    """What a stored text of JSON holds; a ValueError for what no result holds and other code could not bear: endless digits, values deep in others."""
    found = _read_json(text) if isinstance(text, str) else None
    if not isinstance(found, dict) or (text.count("[") + text.count("{") > _DEEP and _is_deep(found, _DEEP)):
        raise ValueError(f"{str(text)[:40]!r} is no result's")
    return found


def _is_deep(value: Any, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not left or any(_is_deep(one, left - 1) for one in inner)


def _map(folder: Path, name: Any) -> Path | None:
    """The file of a map; a ValueError for one outside of the folder."""
    if name is None:
        return None
    if not isinstance(name, str) or PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise ValueError(f"map: {str(name)[:40]!r} is no file of the folder")
    return folder / name


@contextlib.contextmanager
def _read_from(path: Path) -> Iterator[None]:
    """Tell in a line that what stands in a file is no result, whatever it is."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> DataError:
    return DataError(f"{path}: damaged: {' '.join(str(error).split())[:200]}; choose another folder, or delete it and run again")


def _dump(value: Any) -> str:
    """JSON, which has no NaN: null."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(one) for name, one in value.items()}
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(plain(value), default=_scalar)


def _scalar(value: Any) -> Any:
    # Numbers of plug-ins may be numpy's, parameters may be anything.
    try:
        return value.item()
    except (AttributeError, ValueError):
        return str(value)
