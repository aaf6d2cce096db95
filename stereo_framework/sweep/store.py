"""Store the results of a sweep in an output folder.

The SQLite file `results.sqlite` contains the results in one table. Only the process
that runs the sweep writes to the file, and uses one transaction for each result. The
subfolder `maps` contains the disparity maps.
"""

import collections
import contextlib
import functools
import json
import sqlite3
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, Self, get_type_hints

import yaml
from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic_core import from_json

# In versions before Python 3.12, pydantic does not accept `typing.TypedDict`.
from typing_extensions import TypedDict

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
from stereo_framework.io.output_folders import MAPS
from stereo_framework.script import Script
from stereo_framework.script.include import RESOLVED
from stereo_framework.sweep.database import (
    LOCK,
    Database,
    file_identity,
    opened_to_read,
    opened_to_write,
)
from stereo_framework.sweep.identity import result_key
from stereo_framework.sweep.result import Result, confidence_file
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.sweep.store_errors import (
    Event,
    event_of,
    lost_lock_error,
    opening_to_read_error,
    opening_to_write_error,
    reading_error,
    second_writer_error,
)

FILE = "results.sqlite"
"""Name of the SQLite file in an output folder."""

_METRICS_FILE = "metrics.json"
"""Name of the file that describes the metrics of plug-ins, such as their units."""

_ADD = (
    "INSERT INTO results (key, place, row, details) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE"
    " SET row = excluded.row, details = excluded.details, place = ifnull(excluded.place, place)"
)
"""SQL statement that writes a result without a change of its place in the plan."""

_SET_PLACE = (
    "INSERT INTO results (key, place) VALUES (?, ?)"
    " ON CONFLICT (key) DO UPDATE SET place = excluded.place"
)
"""SQL statement that stores the place of a key in the plan."""

_DETAILS = ("parameters", "script")
"""Fields of a result that the column `details` contains.

The text of the column is parsed when one of the fields is first read.
"""

_ROW_FIELDS = tuple(
    field.name
    for field in fields(Result)
    if field.name not in (*_DETAILS, "traceback") and not field.name.startswith("_")
)
"""Fields of a result that the column `row` contains."""

_TYPES_OF_RESULT = get_type_hints(Result)
_ROW_TYPES = {name: _TYPES_OF_RESULT[name] for name in _ROW_FIELDS}
_ROW_CLASS: Any = TypedDict("_Row", _ROW_TYPES)  # type: ignore
_ROW: Any = TypeAdapter(with_config(ConfigDict(extra="forbid", strict=True))(_ROW_CLASS))
"""Reader of the column `row`, which contains most fields of a result as JSON text."""

_MISSING = (
    "results are still missing; if the run is not going on, it was stopped early: "
    "run the same command again"
)
"""End of the message that begins with the number of missing results."""


class Store:
    """Results of runs in an output folder.

    Each result has a key, which depends on the run and on the protocol. Therefore a
    script that is run again finds its earlier results, and computes only the missing
    results. The plan of a folder is the ordered list of keys that the last command
    needs.

    Use the store in a ``with`` block, or call `close`.

    Parameters
    ----------
    folder : Path
        Output folder of a sweep.
    create : bool
        Whether to open the store for writing, and to create a missing folder or store.
        Only one process at a time may open the store for writing. With False, the store
        is opened for reading, and the folder may be read-only.

    Raises
    ------
    DataError
        The folder has no results, its store is damaged or has another version, another
        process writes to the folder, the file system does not support locks, or the
        user lacks permission.
    """

    def __init__(self, folder: Path, *, create: bool = False):
        # The path is made absolute, because a stage may change the current folder.
        self.folder = folder.absolute()
        self._name = f"{folder / FILE}"
        self._stack = contextlib.ExitStack()
        # This value identifies the lock file of a store that is open for writing. If
        # the lock file is removed or replaced, the value no longer fits.
        self._lock_identity: tuple[int, int] | None = None
        opening_error = opening_to_write_error if create else opening_to_read_error
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            try:
                self._db = self._open_to_write(folder) if create else self._open_to_read(folder)
            except (OSError, sqlite3.Error) as error:
                raise opening_error(self._name, error) from error
            undo.pop_all()
        if problem := remember_metrics(self.folder / _METRICS_FILE):
            warn([problem])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def close(self) -> None:
        """Close the store, and release the lock on the folder."""
        self._stack.close()

    def _open_to_write(self, folder: Path) -> Database:
        """Lock the folder, and open its store for writing."""
        self._stack.enter_context(output_folder(self.folder))
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._stack.enter_context(locked(self.folder / LOCK))
        except BlockingIOError:
            raise second_writer_error(folder, LOCK) from None
        self._lock_identity = file_identity(self.folder / LOCK)
        remove_partial_files(self.folder)
        # Only the process that holds the lock writes maps. An incomplete map was
        # therefore written by a process that was killed, and can be removed at once.
        # Other commands write reports without the lock, so incomplete reports are
        # removed only after some time.
        remove_partial_files(self.folder / MAPS, min_age=0)
        return self._stack.enter_context(opened_to_write(self.folder / FILE, self._name))

    def _open_to_read(self, folder: Path) -> Database:
        """Open the store for reading, and refuse a folder without results."""
        database = self._stack.enter_context(opened_to_read(self.folder / FILE, self._name))
        if database is None:
            message = (
                f"{folder}: no results there ({FILE} is missing); 'run SCRIPT --out {folder}' "
                "writes them"
            )
            raise DataError(message)
        return database

    # --- writing ----------------------------------------------------------------------

    def describe(self, scripts: Sequence[Script], metrics: Iterable[str]) -> None:
        """Write the resolved scripts and descriptions of the metrics to the folder.

        Because of these files, commands can show the results even if the scripts and
        the plug-ins with the metrics are missing.

        Parameters
        ----------
        scripts : sequence of Script
            Scripts that are run.
        metrics : iterable of str
            Names of the metrics of all protocols.

        Raises
        ------
        DataError
            A file cannot be written, or the folder contains a file of the user with the
            same name.
        """
        for script in scripts:
            text = yaml.safe_dump(script.resolved, sort_keys=False)
            write_bytes(self.folder / f"{script.name}{RESOLVED}", text.encode())
        if description := describe_metrics(dict.fromkeys(metrics)):
            write_bytes(self.folder / _METRICS_FILE, description.encode())

    def check_in_place(self) -> None:
        """Raise an error if the store or its lock file was removed or replaced.

        Raises
        ------
        DataError
            The store or its lock file was removed, moved or replaced.
        """
        self._db.check_in_place()
        lock = self.folder / LOCK
        if self._lock_identity is not None and file_identity(lock) != self._lock_identity:
            raise lost_lock_error(lock)

    def set_listed_keys(self, keys: Iterable[str]) -> None:
        """Replace the plan of the folder by a list of keys.

        Parameters
        ----------
        keys : iterable of str
            Keys of results in their order. The results need not exist yet.

        Raises
        ------
        StereoFrameworkError
            The plan cannot be written. Earlier results are kept.
        DataError
            The store was removed, moved or replaced after this program opened it.
        """
        with self._db.transaction("the plan"):
            self._db.execute("DELETE FROM results WHERE row IS NULL")
            self._db.execute("UPDATE results SET place = NULL WHERE place >= 0")
            self._db.execute_many(_SET_PLACE, ((key, place) for place, key in enumerate(keys)))

    def add(self, key: str, result: Result, *, is_external: bool = False) -> None:
        """Write a result, which replaces an earlier result with the same key.

        Parameters
        ----------
        key : str
            Key of the result, which `result_key` has returned.
        result : Result
            Result to write. If the result has a disparity map, its file must be in the
            folder.
        is_external : bool
            Whether another program has computed the disparity map. The method `results`
            always returns such results, even if no plan contains them.

        Raises
        ------
        StereoFrameworkError
            The result cannot be written. Earlier results are kept.
        DataError
            The store was removed, moved or replaced after this program opened it.
        """
        row = {name: getattr(result, name) for name in _ROW_FIELDS}
        row["map"] = result.map and result.map.relative_to(self.folder).as_posix()
        details = {name: getattr(result, name) for name in _DETAILS}
        place = -1 if is_external else None
        with self._db.transaction("a result"):
            row_text = json.dumps(row, default=_json_value)
            details_text = json.dumps(details, default=_json_value)
            self._db.execute(_ADD, (key, place, row_text, details_text))

    def with_map(self, results: Sequence[Result]) -> list[Result]:
        """Write the disparity map of a run, and return its results without the arrays.

        Parameters
        ----------
        results : sequence of Result
            All results of one run, which share a disparity map. There is one result for
            each protocol.

        Returns
        -------
        list of Result
            The results with the path of the disparity map.

        Raises
        ------
        DataError
            A file cannot be written, or the folder contains a file of the user with the
            same name.
        """
        first = results[0]
        if first.map is not None or first.disparity is None:
            return list(results)
        path = self.folder / MAPS / f"{map_stem(first)}.pfm"
        write_disparity(path, first.disparity)
        for name, confidence in first.confidence.items():
            write_pfm(confidence_file(path, name), confidence)
        return [replace(result, map=path, _disparity=None, _confidence={}) for result in results]

    # --- reading ----------------------------------------------------------------------

    def get(self, key: str) -> Result | None:
        """Return the result with a key, or None if the store does not contain it."""
        results = self._results("key = ? AND row IS NOT NULL", key)
        return results[0] if results else None

    def runs(self) -> set[str]:
        """Return the identities of all runs that have results in the store."""
        keys = self._read("key", "row IS NOT NULL")
        return {_run_of_key(key) for [key] in keys}

    def of_run(self, run: str) -> list[Result]:
        """Return the results of a run for all protocols.

        Parameters
        ----------
        run : str
            Identity of the run.
        """
        prefix = result_key(run).removesuffix("]") + ","
        # Keys are ASCII texts. Therefore the keys that begin with the prefix are
        # exactly the keys between the prefix and the prefix with the character "\x7f".
        return self._results("key > ? AND key < ? AND row IS NOT NULL", prefix, f"{prefix}\x7f")

    def results(self, *, every: bool = False) -> ResultSet:
        """Return the results of the plan, followed by the results of external maps.

        Parameters
        ----------
        every : bool
            Whether to return all results in the store, including the results of earlier
            plans, in the order in which the results were first planned.
        """
        condition = "row IS NOT NULL AND place IS NOT NULL ORDER BY place < 0, place, rowid"
        if every:
            condition = "row IS NOT NULL ORDER BY rowid"
        return ResultSet(self._results(condition))

    def lacking(self) -> str:
        """Return a message about missing results of the plan, or an empty text."""
        [[count]] = self._read("count(*)", "row IS NULL")
        return f"{count} {_MISSING}" if count else ""

    def _read(self, columns: str, condition: str, *values: Any) -> list[Any]:
        """Return some columns of all rows that fulfil an SQL condition."""
        with _damaged_file_errors(self._name):
            return self._db.execute(f"SELECT {columns} FROM results WHERE {condition}", values)

    def _results(self, condition: str, *values: Any) -> list[Result]:
        """Return the results in all rows that fulfil an SQL condition."""
        rows = self._read("row, details", condition, *values)
        return [self._result(row, details) for row, details in rows]

    def _result(self, row: Any, details: Any) -> Result:
        """Convert a row of the table to a result.

        Parameters
        ----------
        row, details
            Values of the columns `row` and `details`. In a damaged store, the values
            may have any type.
        """
        with _damaged_file_errors(self._name):
            values = _ROW.validate_json(row)
            for value in values["axes"].values():
                if type(value) is int:
                    # The conversion raises an OverflowError if an integer in a damaged
                    # store has thousands of digits.
                    float(value)
            map_file = values["map"]
            if map_file is not None:
                map_file = self.folder / _inside_folder(map_file)
            return Result(
                id=values["id"],
                scene=values["scene"],
                method=values["method"],
                parameters=_StoredMapping(details, "parameters", self._name),
                axes=values["axes"],
                protocol=values["protocol"],
                statistics=values["statistics"],
                energy=values["energy"],
                seconds=values["seconds"],
                warnings=values["warnings"],
                error=values["error"],
                script=_StoredMapping(details, "script", self._name),
                protocol_text=values["protocol_text"],
                map=map_file,
                environment=values["environment"],
            )


def _run_of_key(key: Any) -> str:
    """Return the identity of the run, which is the first item of a result's key."""
    first_item, _, _ = str(key).partition(",")
    return first_item.strip('["')


def map_stem(result: Result) -> str:
    """Return the name without extension of the files with the map and its pictures.

    The name ends with the identity of the run, so that two runs never write to the same
    file.
    """
    return f"{file_stem(result.scene)}_{file_stem(result.method)}_{result.id}"


def read_scripts(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the resolved scripts in an output folder, by the names of their files.

    Warns
    -----
    ResultWarning
        The file of a script is damaged. The returned dictionary lacks this script.
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
            message = f"{path}: is damaged: {reason}; delete it, and the next run writes it again"
            problems.append(message)
    if problems:
        others = f" ({len(problems) - 1} more scripts cannot be read)" if len(problems) > 1 else ""
        warn([one_line(f"{problems[0]}{others}")])
    return scripts


class _StoredMapping(collections.UserDict[str, Any]):
    """Mapping in the column `details`, which is parsed when an item is first read.

    Parameters
    ----------
    text
        Value of the column `details`. In a damaged store, the value may have any type.
    field : str
        Name of the field of a result that contains the mapping.
    store : str
        Name of the SQLite file in messages.
    """

    def __init__(self, text: Any, field: str, store: str):
        self._text = text
        self._field = field
        self._store = store

    @functools.cached_property
    def data(self) -> dict[str, Any]:  # type: ignore[override]
        """The stored mapping, which is parsed from its JSON text at the first call."""
        with _damaged_file_errors(self._store):
            # The function `from_json` refuses deeply nested values. The JSON reader of
            # Python would accept values that other parts of the program cannot print.
            mapping = dict(from_json(self._text)[self._field])
            if len(mapping) > limits.ENTRIES:
                message = (
                    f"{self._field}: has {len(mapping)} entries; at most {limits.ENTRIES} are read"
                )
                raise ValueError(message)
            return mapping

    def items(self) -> ItemsView[str, Any]:
        """Return the items of the mapping, faster than the method of UserDict."""
        return self.data.items()


def _inside_folder(path: Path) -> PurePosixPath:
    """Return a path, or raise an error if the path leads out of the results folder.

    Raises
    ------
    ValueError
        The path is absolute or contains "..".
    """
    relative_path = PurePosixPath(path.as_posix())
    if relative_path.is_absolute() or ".." in relative_path.parts:
        raise ValueError(f"map: {str(relative_path)[:40]!r} is no file of the folder")
    return relative_path


_DAMAGE = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""Exceptions that may be raised when this module reads values of a damaged store."""


@contextlib.contextmanager
def _damaged_file_errors(name: str) -> Iterator[None]:
    """Convert exceptions in a ``with`` block to errors that name the results store.

    Parameters
    ----------
    name : str
        Name of the SQLite file in messages.

    Raises
    ------
    DataError
        The SQLite file is damaged or cannot be read.
    """
    try:
        yield
    except sqlite3.Error as error:
        if event_of(error) in (Event.NO_DATABASE, Event.OTHER):
            raise _damage_error(name, error) from error
        raise reading_error(name, error) from error
    except _DAMAGE as error:
        raise _damage_error(name, error) from error


def _damage_error(name: str, error: Exception) -> DataError:
    """Return the error that reports a results store with damaged values."""
    reason = " ".join(str(error).split())[:200]
    message = f"{name}: may be damaged: {reason}; choose another folder, or delete it and run again"
    return DataError(message)


def _json_value(value: Any) -> Any:
    """Convert a value to a type that JSON can represent.

    Such conversions are needed because plug-ins may return NumPy numbers, and because
    the value of a parameter may have any type.
    """
    if isinstance(value, Mapping):
        return dict(value)
    try:
        return value.item()
    except (AttributeError, ValueError):
        return str(value)
