"""The results store: one SQLite file in the output folder with one table, written by the parent process alone, one transaction a result."""

import collections
import contextlib
import functools
import json
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
from stereo_framework.core.errors import DataError, one_line, short, warn
from stereo_framework.evaluation.user_metrics import describe_metrics, remember_metrics
from stereo_framework.io import (
    file_stem,
    locked,
    output_folder,
    read_bytes,
    remove_partial_files,
    write_bytes,
    write_disparity,
    write_pfm,
)
from stereo_framework.script import Script
from stereo_framework.script.include import RESOLVED
from stereo_framework.sweep.database import LOCK, Database, opened_to_read, opened_to_write
from stereo_framework.sweep.identity import result_key
from stereo_framework.sweep.result import Result, confidence_file
from stereo_framework.sweep.result_set import ResultSet

FILE = "results.sqlite"

_METRICS_FILE = "metrics.json"
"""Units, directions and sources of the metrics that plug-ins brought."""

_ADD = (
    "INSERT INTO results (key, place, row, details) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE"
    " SET row = excluded.row, details = excluded.details, place = ifnull(excluded.place, place)"
)
_DETAILS = ("parameters", "script")
_SHOWN = tuple(
    f.name
    for f in fields(Result)
    if f.name not in (*_DETAILS, "traceback") and not f.name.startswith("_")
)
_TYPES = {name: kind for name, kind in get_type_hints(Result).items() if name in _SHOWN}
_ROW_CLASS: Any = TypedDict("_Row", _TYPES)  # type: ignore
_ROW: Any = TypeAdapter(with_config(ConfigDict(extra="forbid", strict=True))(_ROW_CLASS))
"""Reader and writer of the column `row`, which holds a result in JSON."""


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
        # The results of a method that changes the current folder must not be written there.
        self.folder = folder.absolute()
        self._name = f"{folder / FILE}"
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            try:
                self._db = self._opened_to_write(folder) if create else self._opened_to_read(folder)
            except (OSError, sqlite3.Error) as error:
                message = (
                    f"{self._name}: cannot be used as a results store: {error}; another program may have the file open, or the file "
                    "system may not be fit for it; close that program, or choose a folder on a local disk"
                )
                raise DataError(message) from error
            undo.pop_all()
        if problem := remember_metrics(self.folder / _METRICS_FILE):
            warn([problem])

    def _opened_to_write(self, folder: Path) -> Database:
        self.enter_context(output_folder(self.folder))
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self.enter_context(locked(self.folder / LOCK))
        except BlockingIOError:
            message = (
                f"{folder}: another process holds the lock {LOCK}; this may be a command that is writing there, or a process that was "
                "stopped and not ended; wait for it or end it, or choose another folder"
            )
            raise DataError(message) from None
        remove_partial_files(self.folder)
        return self.enter_context(opened_to_write(self.folder / FILE, self._name))

    def _opened_to_read(self, folder: Path) -> Database:
        database = self.enter_context(opened_to_read(self.folder / FILE, self._name))
        if database is None:
            message = f"{folder}: no results there ({FILE} is missing); 'run SCRIPT --out {folder}' writes them"
            raise DataError(message)
        return database

    # --- writing ----------------------------------------------------------------------------------------------------------

    def describe(self, scripts: Sequence[Script], metrics: Iterable[str]) -> None:
        """Keep the resolved scripts, and units, directions and sources of metrics that plug-ins brought, so that the results are shown without either.

        Raises
        ------
        DataError
            A file of that name is the user's, or was changed; or the disk is full.
        """
        for script in scripts:
            write_bytes(
                self.folder / f"{script.name}{RESOLVED}",
                yaml.safe_dump(script.resolved, sort_keys=False).encode(),
            )
        if text := describe_metrics(dict.fromkeys(metrics)):
            write_bytes(self.folder / _METRICS_FILE, text.encode())

    def check_in_place(self) -> None:
        """Raise a DataError if the store was removed, moved or replaced since it was opened."""
        self._db.check_in_place()

    def set_listed_keys(self, keys: Iterable[str]) -> None:
        """Make `keys`, in this order, the results that the folder is about.

        Raises
        ------
        StereoFrameworkError
            The plan cannot be written. Everything written before is kept.
        DataError
            The store was removed, moved or replaced since it was opened.
        """
        with self._db.transaction("the plan"):
            self._db.execute("DELETE FROM results WHERE row IS NULL")
            self._db.execute("UPDATE results SET place = NULL WHERE place >= 0")
            self._db.execute_many(
                "INSERT INTO results (key, place) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET place = excluded.place",
                ((key, place) for place, key in enumerate(keys)),
            )

    def add(self, key: str, result: Result, *, is_external: bool = False) -> None:
        """Write one result; an earlier one under the same key is replaced.

        Parameters
        ----------
        key : str
            A `result_key`.
        result : Result
            Its map, if it has one, lies in the folder.
        is_external : bool
            Whether another program made the map. Such results are listed together with
            those of every script.

        Raises
        ------
        StereoFrameworkError
            The result cannot be written. Everything written before is kept.
        DataError
            The store was removed, moved or replaced since it was opened.
        """
        row = {name: getattr(result, name) for name in _SHOWN}
        row["map"] = result.map and result.map.relative_to(self.folder).as_posix()
        details = {name: getattr(result, name) for name in _DETAILS}
        place = -1 if is_external else None
        with self._db.transaction("a result"):
            row_text = json.dumps(row, default=_plain)
            details_text = json.dumps(details, default=_plain)
            self._db.execute(_ADD, (key, place, row_text, details_text))

    def with_map(self, results: Sequence[Result]) -> list[Result]:
        """Write the map of some results to the folder, and return the results without the array.

        Parameters
        ----------
        results : sequence of Result
            All results of one match, one for each protocol. They share a map.

        Raises
        ------
        DataError
            A file cannot be written, or a file of the user has its name.
        """
        first = results[0]
        if first.map is not None or first.disparity is None:
            return list(results)
        path = self.folder / "maps" / f"{map_stem(first)}.pfm"
        write_disparity(path, first.disparity)
        for name, confidence in first.confidence.items():
            write_pfm(confidence_file(path, name), confidence)
        return [replace(result, map=path, _disparity=None, _confidence={}) for result in results]

    # --- reading ----------------------------------------------------------------------------------------------------------

    def get(self, key: str) -> Result | None:
        """The result under a key, None when there is none yet."""
        return next(iter(self._results("key = ? AND row IS NOT NULL", key)), None)

    def of_run(self, run: str) -> list[Result]:
        """Return the results of one run under all protocols.

        Parameters
        ----------
        run : str
            The run's id.
        """
        prefix = result_key(run).removesuffix("]") + ","
        # Keys are ASCII texts, so this range holds the keys that begin with the prefix.
        return self._results("key > ? AND key < ? AND row IS NOT NULL", prefix, f"{prefix}\x7f")

    def results(self, *, every: bool = False) -> ResultSet:
        """Results that were asked for last, in their order, and those of maps made elsewhere; or all in the order in which they were first asked for."""
        asked = "row IS NOT NULL AND place IS NOT NULL ORDER BY place < 0, place, rowid"
        return ResultSet(self._results("row IS NOT NULL ORDER BY rowid" if every else asked))

    def lacking(self) -> str:
        """What is to be said of the results that were asked for and are not there yet; empty where none is missing."""
        [[missing]] = self._read("count(*)", "row IS NULL")
        said = "results are still missing; if the run is not going on, it was stopped early: run the same command again"
        return f"{missing} {said}" if missing else ""

    def _read(self, columns: str, where: str, *values: Any) -> list[Any]:
        with _damaged_file_errors(self._name):
            return self._db.execute(f"SELECT {columns} FROM results WHERE {where}", values)

    def _results(self, where: str, *values: Any) -> list[Result]:
        return [self._result(*row) for row in self._read("row, details", where, *values)]

    def _result(self, row: Any, details: Any) -> Result:
        with _damaged_file_errors(self._name):
            values = _ROW.validate_json(row)
            for value in values["axes"].values():
                if type(value) is int:
                    float(value)  # which refuses endless digits
            if values["map"] is not None:
                values["map"] = self.folder / _below(values["map"])
            return Result(
                **(values | {name: _Detail(details, name, self._name) for name in _DETAILS})
            )


def map_stem(result: Result) -> str:
    """Return the name, without its ending, of the files of a result's map and pictures.

    It ends with the whole identity, because the maps of two runs must never share a file.
    """
    return f"{file_stem(result.scene)}_{file_stem(result.method)}_{result.id}"


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
            scripts[path.name] = dict(yaml.safe_load(read_bytes(path, limits.RESOLVED_SCRIPT)))
        except DataError as error:
            problems.append(str(error))
        except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
            reason = short(" ".join(str(error).split()), 200)
            problems.append(
                f"{path}: is damaged: {reason}; delete it, and the next run writes it again"
            )
    if problems:
        others = f" ({len(problems) - 1} more scripts cannot be read)" if len(problems) > 1 else ""
        warn([one_line(f"{problems[0]}{others}")])
    return scripts


class _Detail(collections.UserDict[str, Any]):
    """A stored mapping that is read when it is first asked for."""

    def __init__(self, text: Any, name: str, store: str):
        self._text, self._name, self._store = text, name, store

    @functools.cached_property
    def data(self) -> dict[str, Any]:  # type: ignore[override]
        """The stored mapping, read from its JSON text."""
        with _damaged_file_errors(self._store):
            # Unlike Python's own reader, this one refuses deeply nested values, which nothing else could print.
            mapping = dict(from_json(self._text)[self._name])
            if len(mapping) > limits.ENTRIES:
                raise ValueError(
                    f"{self._name}: has {len(mapping)} entries; at most {limits.ENTRIES} are read"
                )
            return mapping

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
def _damaged_file_errors(path: str) -> Iterator[None]:
    """Tell in a line that what stands in a file is no result, whatever it is."""
    try:
        yield
    except (sqlite3.Error, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            f"{path}: may be damaged: {reason}; choose another folder, or delete it and run again"
        ) from error


def _plain(value: Any) -> Any:
    """What JSON holds of other values: numbers of plug-ins may be numpy's, parameters may be anything."""
    if isinstance(value, Mapping):
        return dict(value)
    try:
        return value.item()
    except (AttributeError, ValueError):
        return str(value)
