"""The results store: one SQLite file in the output folder, written by the parent process alone, one transaction a result."""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import json
import math
import os
import re
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from stereo_framework.core.errors import DataError, StereoFrameworkError
from stereo_framework.io import output_folder, remove_parts
from stereo_framework.sweep.database import connected, locked, opened_to_read
from stereo_framework.sweep.result import Result

FILE = "results.sqlite"
LOCK = "writer.lock"
SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE results (
    key TEXT PRIMARY KEY,
    id TEXT NOT NULL, scene TEXT NOT NULL, method TEXT NOT NULL, protocol TEXT NOT NULL, protocol_text TEXT NOT NULL,
    parameters TEXT NOT NULL, axes TEXT NOT NULL, statistics TEXT NOT NULL, energy REAL, seconds TEXT NOT NULL,
    warnings TEXT NOT NULL, error TEXT, script TEXT NOT NULL, map TEXT, environment TEXT NOT NULL, created REAL NOT NULL, sum INTEGER
);
CREATE TABLE plans (plan INTEGER PRIMARY KEY, script TEXT NOT NULL, created REAL NOT NULL);
CREATE TABLE items (
    plan INTEGER NOT NULL REFERENCES plans, position INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY (plan, position)
);
"""


_BESIDE = {"beside": "maps of others"}
"""Stands where plans have their script: the results of this plan stand beside those of every other."""

_IS_BESIDE = f"plans.script = '{json.dumps(_BESIDE)}'"
LATEST = f"(SELECT plan FROM plans WHERE NOT {_IS_BESIDE} ORDER BY created DESC, plan DESC LIMIT 1)"


class Store(contextlib.ExitStack):
    """Results of one output folder.

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
        self._columns = f"{_SHOWN}, sum"
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
                hint = "; the folder cannot be written to" if create and not os.access(folder, os.W_OK) else _save_it(folder)
                hint = "; choose another folder" if not folder.is_dir() else hint
                raise DataError(f"{self._path}: cannot be used as a results store: {error}{hint}") from error
            if not usable:
                raise nothing
            undo.pop_all()

    def _prepare(self, *, create: bool) -> bool:
        """Check the file, or fill a new one; False if it is still empty and not ours to fill."""
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables and not create:
            return False
        if not tables:
            with self._transaction("the store"):
                for statement in _SCHEMA.strip().split(";\n"):
                    self._db.execute(statement)
                self._db.execute("INSERT INTO meta VALUES ('schema_version', ?)", (str(SCHEMA_VERSION),))
            return True
        if lacking := {"meta", "results", "plans", "items"} - tables:
            if len(lacking) == 4:
                raise DataError(f"{self._path}: an SQLite file, but no results store; choose another folder")
            raise DataError(f"{self._path}: damaged: the table {min(lacking)} is missing{_save_it(self.folder)}")
        found = self._db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        if found is None or found[0] != str(SCHEMA_VERSION):
            version = "none" if found is None else str(found[0])[:20]
            raise DataError(
                f"{self._path}: results of schema version {version}, this program reads version {SCHEMA_VERSION}; choose another folder"
            )
        there = {name for _, name, *_ in self._db.execute("PRAGMA table_info(results)")}
        if "sum" not in there and create:
            # Stores of earlier versions; their own results stay without.
            self._db.execute("ALTER TABLE results ADD COLUMN sum INTEGER")
        elif "sum" not in there:
            self._columns = f"{_SHOWN}, NULL"
        self._db.execute(f"SELECT results.created, {self._columns} FROM results LIMIT 0")
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

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Read something.

        Raises
        ------
        DataError
            It is damaged.
        """
        try:
            yield
        except (sqlite3.Error, ValueError, RecursionError) as error:
            raise DataError(f"{self._path}: cannot be read: {error}{_save_it(self.folder)}") from error

    def check_there(self) -> None:
        """Raise a DataError if the store is no longer in its folder: SQLite would go on writing to a file that nobody finds."""
        if not self._path.exists():
            raise DataError(
                f"{self.folder}: was removed or moved during the run; the results in it went with it, and those computed since are lost; the same command begins again"
            )

    def plan(self, keys: Sequence[str], script: Any, *, grow: bool = False) -> None:
        """Make `keys`, in this order, the results that the folder is about; the same plan twice is one, and can `grow`."""
        text = json.dumps(script, sort_keys=True, default=str)
        with self._transaction("the plan"):
            known = self._db.execute("SELECT plan FROM plans WHERE script = ?", (text,)).fetchone()
            if known:
                if grow:
                    before = self._db.execute("SELECT key FROM items WHERE plan = ? ORDER BY position", known)
                    keys = list(dict.fromkeys([*(key for (key,) in before), *keys]))
                self._db.execute("DELETE FROM items WHERE plan = ?", known)
                self._db.execute("UPDATE plans SET created = ? WHERE plan = ?", (time.time(), *known))
                number = known[0]
            else:
                number = self._db.execute("INSERT INTO plans (script, created) VALUES (?, ?)", (text, time.time())).lastrowid
            self._db.executemany("INSERT INTO items VALUES (?, ?, ?)", ((number, i, key) for i, key in enumerate(keys)))

    def refuse_method(self, method: str) -> None:
        """Raise a DataError if a method of the latest script has that name."""
        query = f"SELECT 1 FROM items JOIN results USING (key) WHERE plan = {LATEST} AND method = ? LIMIT 1"
        if self._db.execute(query, (method,)).fetchone():
            raise DataError(f"{self.folder}: a method of the script that was run there is called {method!r}; choose another name")

    def add_beside(self, results: Mapping[str, Result]) -> None:
        """Write results, by key, that no script asks for: they stand beside those of every script. Of one method, scene and protocol the last counts."""
        for key, result in results.items():
            self.add(key, result)
        new = {(r.scene, r.method, r.protocol_text) for r in results.values()}
        query = f"SELECT key, scene, method, protocol_text FROM items JOIN results USING (key) JOIN plans USING (plan) WHERE {_IS_BESIDE}"
        before = [key for key, *what in self._db.execute(f"{query} ORDER BY position") if tuple(what) not in new]
        self.plan([*before, *results], _BESIDE)

    def add(self, key: str, result: Result) -> None:
        """Write one result; an earlier one under the same key is replaced.

        Raises
        ------
        StereoFrameworkError
            As of a transaction.
        """
        row = {name: getattr(result, name) for name in COLUMNS}
        row |= {name: _dump(row[name]) for name in _JSON}
        # SQLite has no NaN, and keeps every number as a float.
        row["energy"] = None if result.energy is None or math.isnan(result.energy) else float(result.energy)
        row |= {"map": result.map and result.map.relative_to(self.folder).as_posix(), "key": key}
        row |= {"sum": _sum(row[name] for name in _WITH_KEY), "created": time.time()}
        with self._transaction("a result"):
            self._insert(row)

    def _insert(self, row: Mapping[str, Any]) -> None:
        columns, places = ", ".join(row), ", ".join("?" * len(row))
        self._db.execute(f"INSERT OR REPLACE INTO results ({columns}) VALUES ({places})", tuple(row.values()))

    def restore(self, rows: Iterable[Mapping[str, Any]]) -> list[str]:
        """Write results as another store has them, and return the keys of those that make sense."""
        kept = []
        with self._transaction("what was saved"):
            for row in rows:
                with contextlib.suppress(ValueError, RecursionError):
                    self._result([*(row[name] for name in _WITH_KEY), row.get("sum")])
                    _mappings(row[name] for name in _UNREAD)
                    _numbers(row["seconds"])
                    self._insert(row)
                    kept.append(row["key"])
        return kept

    def complete(self) -> dict[str, Path | None]:
        """Keys of all results without an error, and the files of their maps."""
        with self._reading():
            rows = self._db.execute("SELECT key, map FROM results WHERE error IS NULL").fetchall()
            return {key: _map(self.folder, name) for key, name in rows}

    def get(self, key: str) -> Result | None:
        """The result under a key, None when there is none yet."""
        with self._reading():
            row = self._db.execute(f"SELECT {self._columns} FROM results WHERE key = ?", (key,)).fetchone()
            return self._result(row) if row else None

    def results(self, *, every: bool = False) -> list[Result]:
        """Results of the latest plan in its order and those beside it, or of all plans in the order of writing."""
        query = f"SELECT {self._columns} FROM results ORDER BY rowid"
        if not every:
            query = f"""SELECT {self._columns} FROM items JOIN results USING (key) JOIN plans USING (plan)
                WHERE plan = {LATEST} OR {_IS_BESIDE} ORDER BY {_IS_BESIDE}, position"""
        with uncollected(), self._reading():
            return [self._result(row) for row in self._db.execute(query)]

    def missing(self) -> int:
        """How many results of the latest plan are not there yet."""
        query = f"SELECT count(*) FROM items LEFT JOIN results USING (key) WHERE plan = {LATEST} AND results.key IS NULL"
        with self._reading():
            return int(self._db.execute(query).fetchone()[0])

    def lacking(self) -> str:
        """What is to be said of the results of the latest plan that are not there yet; empty where none is missing."""
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

    def _result(self, row: Sequence[Any]) -> Result:
        *fields, key, stored = row
        if stored is not None and stored != _sum((*fields, key)):
            raise ValueError(f"the result {str(key)[:40]!r} is not what was written")
        values: dict[str, Any] = dict(zip(COLUMNS, fields, strict=True))
        for name, text in zip(_TEXTS, fields, strict=False):
            if not isinstance(text, str):
                raise ValueError(f"{name}: {text!r} is no text")
        values |= zip(_MAPPINGS, _mappings(values[name] for name in _MAPPINGS), strict=True)
        # Many results have the same ones.
        values["warnings"], values["environment"] = _texts(values["warnings"]), _shared_mapping(values["environment"])
        values |= {name: _Unread(values[name], self._path, _numbers if name == "seconds" else _mapping) for name in _UNREAD}
        kinds = set(map(type, values["statistics"].values()))
        if type(None) in kinds:
            # JSON has no NaN; an undefined statistic is stored as null.
            values["statistics"] = {k: math.nan if v is None else v for k, v in values["statistics"].items()}
        if not kinds <= {int, float, bool, type(None)}:
            raise ValueError(f"statistics: {str(values['statistics'])[:40]!r}... are no numbers")
        values["map"] = _map(self.folder, values["map"])
        return Result(**values)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Look for no cycles of objects meanwhile: among thousands of results there are none, and to look again and again takes a third of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


_TEXTS = ("id", "scene", "method", "protocol", "protocol_text")
COLUMNS = (
    *_TEXTS,
    *("parameters", "axes", "statistics", "energy", "seconds", "warnings"),
    *("error", "script", "map", "environment"),
)
_WITH_KEY = (*COLUMNS, "key")
_SHOWN = ", ".join(f"results.{name}" for name in _WITH_KEY)
_MAPPINGS = ("axes", "statistics")
_UNREAD = ("parameters", "seconds", "script")
_JSON = ("parameters", "axes", "statistics", "seconds", "warnings", "script", "environment")


class _Unread(Mapping[str, Any]):
    """A stored mapping that is read when it is first asked for: of thousands of results hardly one is asked for its script."""

    __slots__ = ("_path", "_reader", "_text")

    def __init__(self, text: Any, path: Path, reader: Callable[[Any], dict[str, Any]]):
        self._text, self._path, self._reader = text, path, reader

    def _read(self) -> dict[str, Any]:
        if not isinstance(self._text, dict):
            try:
                self._text = self._reader(self._text)
            except (ValueError, RecursionError) as error:
                raise DataError(f"{self._path}: a result cannot be read: {error}{_save_it(self._path.parent)}") from error
        return self._text

    def __getitem__(self, key: str) -> Any:
        return self._read()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return repr(self._read())


def _loaded(text: str) -> Any:
    """What a stored text of JSON holds; a ValueError for what no result holds and other code could not bear: endless digits, values deep in others."""
    strings_out = _STRING.sub("", text) if text.count("[") + text.count("{") > _DEEP else ""
    depths = itertools.accumulate(1 if sign in "[{" else -1 for sign in strings_out if sign in "[]{}")
    if _ENDLESS.search(text) or max(depths, default=0) > _DEEP:
        raise ValueError(f"{text[:40]!r}... is no result's")
    return json.loads(text)


_DEEP, _ENDLESS, _STRING = 50, re.compile(r"\d{300}"), re.compile(r'"(?:[^"\\]|\\.)*"')


def _mapping(text: Any) -> dict[str, Any]:
    """A stored mapping; a ValueError for anything else."""
    found = _loaded(text) if isinstance(text, str) else text
    if not isinstance(found, dict):
        raise ValueError(f"{str(found)[:40]!r} is no mapping")
    return found


def _numbers(text: Any) -> dict[str, float]:
    """A stored mapping of numbers."""
    found = _mapping(text)
    if not all(isinstance(value, int | float) for value in found.values()):
        raise ValueError(f"{str(found)[:40]!r} are no numbers")
    return found


def _mappings(texts: Iterable[Any]) -> list[dict[str, Any]]:
    """Several at once, which takes half the time."""
    texts = list(texts)
    found = _loaded(f"[{','.join(map(str, texts))}]")
    if len(found) != len(texts) or not all(isinstance(one, dict) for one in found):
        raise ValueError(f"{str(found)[:40]!r} are not {len(texts)} mappings")
    return found


def _sum(values: Iterable[Any]) -> int:
    """A check sum of what is stored of a result."""
    return zlib.crc32("\0".join(map(str, values)).encode(errors="surrogatepass"))


_shared_mapping = functools.lru_cache(64)(_mapping)


@functools.lru_cache(256)
def _texts(text: Any) -> tuple[str, ...]:
    found = _loaded(text) if isinstance(text, str) else text
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ValueError(f"{str(found)[:40]!r} is no list of texts")
    return tuple(found)


def _map(folder: Path, name: Any) -> Path | None:
    """The file of a map; a ValueError for one outside of the folder."""
    if name is None:
        return None
    if not isinstance(name, str) or PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise ValueError(f"map: {str(name)[:40]!r} is no file of the folder")
    return folder / name


def _save_it(folder: Path) -> str:
    return f"; 'results {folder} --salvage NEW' saves what can be read to another folder"


def _dump(value: Any) -> str:
    if isinstance(value, Mapping):
        value = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in value.items()}
    return json.dumps(value, default=str)
