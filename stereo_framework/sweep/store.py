"""The results store: one SQLite file in the output folder, written by the parent process alone, one transaction a result."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stereo_framework.errors import DataError, StereoFrameworkError
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
    warnings TEXT NOT NULL, error TEXT, script TEXT NOT NULL, map TEXT, environment TEXT NOT NULL, created REAL NOT NULL
);
CREATE TABLE plans (plan INTEGER PRIMARY KEY, script TEXT NOT NULL, created REAL NOT NULL);
CREATE TABLE items (
    plan INTEGER NOT NULL REFERENCES plans, position INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY (plan, position)
);
"""


class Store:
    """Results of one output folder.

    A plan lists the results that one script asks for, in order; results are shared between plans by content, so that a repeated or
    extended script computes only what is missing.

    Parameters
    ----------
    folder : Path
        Output folder.
    create : bool
        Open for writing, which one process at a time may do; make the folder and the store when missing.

    Raises
    ------
    DataError
        No results there, a store of another version or kind, or another process writes to it.
    """

    def __init__(self, folder: Path, *, create: bool = False):
        self.folder = folder
        path = folder / FILE
        nothing = DataError(f"{folder}: no results there ({FILE} is missing); 'run SCRIPT --out {folder}' writes them")
        if not create and not path.is_file():
            raise nothing
        self._lock: sqlite3.Connection | None = None
        self._file: sqlite3.Connection | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if create:
                self._lock = _locked(folder / LOCK)
            self._file = sqlite3.connect(path, isolation_level=None, timeout=30)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            if not self._prepare(path, create=create):
                raise nothing
        except (OSError, sqlite3.Error) as error:
            self.close()
            raise DataError(f"{path}: cannot be used as a results store: {error}") from error
        except DataError:
            self.close()
            raise

    def _prepare(self, path: Path, *, create: bool) -> bool:
        """Check the file, or fill a new one; False if it is still empty and not ours to fill."""
        tables = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables and not create:
            return False
        if not tables:
            with self._transaction():
                for statement in _SCHEMA.strip().split(";\n"):
                    self._db.execute(statement)
                self._db.execute("INSERT INTO meta VALUES ('schema_version', ?)", (str(SCHEMA_VERSION),))
            return True
        found = self._db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone() if "meta" in tables else None
        if found is None:
            raise DataError(f"{path}: an SQLite file, but no results store; choose another folder")
        if int(found[0]) != SCHEMA_VERSION:
            raise DataError(
                f"{path}: results of schema version {found[0]}, this program reads version {SCHEMA_VERSION}; choose another folder"
            )
        return True

    @property
    def _db(self) -> sqlite3.Connection:
        assert self._file is not None, "set before it is used"
        return self._file

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # A full disk has ended the transaction already.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        for connection in (self._file, self._lock):
            if connection is not None:
                connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def plan(self, keys: Sequence[str], script: Any, *, grow: bool = False) -> None:
        """Make `keys`, in this order, the results that the folder is about; the same plan twice is one, and can `grow`."""
        text = json.dumps(script, sort_keys=True, default=str)
        with self._transaction():
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
            self._db.executemany("INSERT INTO items VALUES (?, ?, ?)", [(number, i, key) for i, key in enumerate(keys)])

    def refuse_method(self, method: str) -> None:
        """Raise a DataError if a method of the latest script has that name."""
        query = f"SELECT 1 FROM items JOIN results USING (key) WHERE plan = {_LATEST} AND method = ? LIMIT 1"
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
            The file cannot be written, for example because the disk is full. Everything written before is kept.
        """
        row = {name: getattr(result, name) for name in _COLUMNS.split(", ")}
        row |= {name: _dump(row[name]) for name in _JSON}
        row |= {"map": result.map and result.map.relative_to(self.folder).as_posix(), "key": key, "created": time.time()}
        columns, places = ", ".join(row), ", ".join("?" * len(row))
        try:
            with self._transaction():
                self._db.execute(f"INSERT OR REPLACE INTO results ({columns}) VALUES ({places})", tuple(row.values()))
        except sqlite3.Error as error:
            raise StereoFrameworkError(
                f"{self.folder / FILE}: a result cannot be written: {error}; earlier ones are kept"
            ) from error

    def complete(self) -> dict[str, Path | None]:
        """Keys of all results without an error, and the files of their maps."""
        rows = self._db.execute("SELECT key, map FROM results WHERE error IS NULL")
        return {key: self.folder / name if name else None for key, name in rows}

    def get(self, key: str) -> Result | None:
        """The result under a key, None when there is none yet."""
        rows = self._db.execute(f"SELECT {_COLUMNS} FROM results WHERE key = ?", (key,)).fetchall()
        return self._result(rows[0]) if rows else None

    def results(self, *, every: bool = False) -> list[Result]:
        """Results of the latest plan in its order and those beside it, or of all plans in the order of writing."""
        query = f"SELECT {_COLUMNS} FROM results ORDER BY rowid"
        if not every:
            columns = ", ".join(f"results.{name}" for name in _COLUMNS.split(", "))
            query = f"""SELECT {columns} FROM items JOIN results USING (key) JOIN plans USING (plan)
                WHERE plan = {_LATEST} OR {_IS_BESIDE} ORDER BY {_IS_BESIDE}, position"""
        return [self._result(row) for row in self._db.execute(query)]

    def missing(self) -> int:
        """How many results of the latest plan are not there yet."""
        query = f"SELECT count(*) FROM items LEFT JOIN results USING (key) WHERE plan = {_LATEST} AND id IS NULL"
        return int(self._db.execute(query).fetchone()[0])

    def _result(self, row: Sequence[Any]) -> Result:
        values = dict(zip(_COLUMNS.split(", "), row, strict=True))
        values |= {name: json.loads(values[name]) for name in _JSON}
        values["warnings"] = tuple(values["warnings"])
        # JSON has no NaN; an undefined statistic is stored as null.
        values["statistics"] = {k: math.nan if v is None else v for k, v in values["statistics"].items()}
        values["map"] = self.folder / values["map"] if values["map"] else None
        return Result(**values)


_BESIDE = {"beside": "maps of others"}
"""Stands where plans have their script: the results of this plan stand beside those of every other."""

_IS_BESIDE = f"plans.script = '{json.dumps(_BESIDE)}'"
_LATEST = f"(SELECT plan FROM plans WHERE NOT {_IS_BESIDE} ORDER BY created DESC, plan DESC LIMIT 1)"

_COLUMNS = "id, scene, method, protocol, protocol_text, parameters, axes, statistics, energy, seconds, warnings, error, script, map, environment"
_JSON = ("parameters", "axes", "statistics", "seconds", "warnings", "script", "environment")


def _locked(path: Path) -> sqlite3.Connection:
    """Keep others from writing. The system itself ends the lock together with the process, however that ends."""
    lock = sqlite3.connect(path, isolation_level=None, timeout=0, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" not in str(error):
            raise
        raise DataError(f"{path.parent}: another sweep is writing there; wait for it or choose another folder") from None
    return lock


def _dump(value: Any) -> str:
    if isinstance(value, dict):
        value = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in value.items()}
    return json.dumps(value, default=str)
