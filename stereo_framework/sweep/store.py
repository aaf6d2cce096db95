"""Store the results of a sweep in an output folder.

The SQLite file `results.sqlite` contains the results. Only the process that runs the
sweep writes to the file, and uses one transaction for each result. The subfolder `maps`
contains the disparity maps.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import yaml

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, one_line, short, warn
from stereo_framework.evaluation.user_metrics import describe_metrics, remember_metrics
from stereo_framework.io import (
    file_stem,
    is_locked,
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
from stereo_framework.sweep.environment import utc_text
from stereo_framework.sweep.folder_sources import write_scripts
from stereo_framework.sweep.identity import result_key
from stereo_framework.sweep.origin import add_record
from stereo_framework.sweep.result import Result, confidence_file
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.sweep.rows import RowConverter, StoredRow, Texts
from stereo_framework.sweep.run_progress import RunProgress
from stereo_framework.sweep.store_errors import (
    lost_lock_error,
    opening_to_read_error,
    opening_to_write_error,
    second_writer_error,
)
from stereo_framework.sweep.stored_results import COLUMNS, Query, ResultTable, StoredResults

FILE = "results.sqlite"
"""Name of the SQLite file in an output folder."""

EXTERNAL_MAP = -1
"""Place of a result whose disparity map another program has computed."""

METRICS_FILE = "metrics.json"
"""Name of the file that describes the metrics of plug-ins, such as their units."""

_RESULT_COLUMNS = StoredRow._fields
"""Columns of the table `results` that contain a result."""

_ADD = (
    f"INSERT INTO results (key, place, {COLUMNS})"
    f" VALUES (?, ?{', ?' * len(_RESULT_COLUMNS)}) ON CONFLICT (key) DO UPDATE SET "
    + ", ".join(f"{column} = excluded.{column}" for column in _RESULT_COLUMNS)
    + ", place = ifnull(excluded.place, place)"
)
"""SQL statement that writes a result.

The statement keeps the place of the result in the plan, unless it is given a place.
"""

_SET_PLACE = (
    "INSERT INTO results (key, place) VALUES (?, ?)"
    " ON CONFLICT (key) DO UPDATE SET place = excluded.place"
)
"""SQL statement that stores the place of a key in the plan."""

_LOCK_TEST_SECONDS = 0.1
"""Waiting time before the second attempt to lock a folder, in seconds."""


class StoredEntry(NamedTuple):
    """A result with its key and its place in the plan.

    The place is None if only an earlier command has planned the result, and -1 if
    another program has computed its disparity map.
    """

    key: str
    place: int | None
    result: Result


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
        self._texts = Texts(self._db, self._name)
        self._converter = RowConverter(self._texts, self.folder, self._name)
        self._table = ResultTable(self._db, self._texts, self._converter, self._name)
        if problem := remember_metrics(self.folder / METRICS_FILE):
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
        self._lock(folder)
        self._lock_identity = file_identity(self.folder / LOCK)
        remove_partial_files(self.folder)
        # Only the process that holds the lock writes maps. An incomplete map was
        # therefore written by a process that was killed, and can be removed at once.
        # Other commands write reports without the lock, so incomplete reports are
        # removed only after some time.
        remove_partial_files(self.folder / MAPS, min_age=0)
        return self._stack.enter_context(opened_to_write(self.folder / FILE, self._name))

    def _lock(self, folder: Path) -> None:
        """Lock the folder, and set the time of its lock to the present time."""
        path = self.folder / LOCK
        try:
            self._stack.enter_context(locked(path))
        except BlockingIOError:
            # Another command may test the lock at this moment, to report whether a run
            # is going on. Such a test takes less than a millisecond.
            time.sleep(_LOCK_TEST_SECONDS)
            try:
                self._stack.enter_context(locked(path))
            except BlockingIOError:
                raise second_writer_error(folder, LOCK) from None
        os.utime(path)

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
        """Write the resolved scripts, their sources and descriptions of the metrics.

        Because of these files, commands can show the results even if the scripts and
        the plug-ins with the metrics are missing. The scripts can be run again if the
        folder is moved.

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
        written = write_scripts(self.folder, scripts)
        record = {
            "scripts": list(written.names),
            "is_search": not all(script.settings for script in scripts),
            "left_out": list(written.left_out),
        }
        add_record(self.folder, record, written.files)
        if description := describe_metrics(dict.fromkeys(metrics)):
            write_bytes(self.folder / METRICS_FILE, description.encode())

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
        place = EXTERNAL_MAP if is_external else None
        try:
            with self._db.transaction("a result"):
                self._db.execute(_ADD, (key, place, *self._converter.to_row(result)))
        except BaseException:
            # The transaction may have contained new texts, which are not in the store.
            self._texts.forget()
            raise

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
        return ResultSet(self.query(every=every))

    def query(self, *, every: bool = False) -> StoredResults:
        """Return the same results as `results`, which are read when they are used.

        The store must stay open while the result set is used. While another program
        writes to the store, the result set shows the results at the time of this call.
        A store with 100,000 results is filtered and sorted in a second.

        Parameters
        ----------
        every : bool
            The parameter of `results`.
        """
        if self._lock_identity is None:
            self._db.keep_snapshot()
        if every:
            query = Query("row IS NOT NULL", order="rowid")
        else:
            condition = "row IS NOT NULL AND place IS NOT NULL"
            query = Query(condition, order="place < 0, place, rowid")
        return StoredResults(self._table, query)

    def planned_keys(self) -> list[str]:
        """Return the keys of the plan in order, also those without a result."""
        rows = self._table.rows("SELECT key FROM results WHERE place >= 0 ORDER BY place")
        return [key for [key] in rows]

    def entries(self) -> Iterator[StoredEntry]:
        """Yield all results with their keys and their places in the plan.

        The results of the plan come first, in order. The results of external maps
        follow, and then the results of earlier plans.
        """
        order = "place IS NULL, place < 0, place, rowid"
        statement = f"SELECT key, place, {COLUMNS} FROM results WHERE row IS NOT NULL"
        for key, place, *columns in self._table.rows(f"{statement} ORDER BY {order}"):
            yield StoredEntry(key, place, self._converter.to_result(StoredRow(*columns)))

    def lacking(self) -> str:
        """Return a message about missing results of the plan, or an empty text.

        While a command computes the results, the message gives the number of results
        that are done, and the time that the rest takes.
        """
        return self.progress().text()

    def progress(self) -> RunProgress:
        """Return how many results are done, and whether a command computes others."""
        [[planned, done]] = self._read("count(*), count(row)", "place >= 0")
        lock = self.folder / LOCK
        if planned == done:
            return RunProgress(planned, done)
        try:
            # A command that writes to the folder sets the time of its lock file when it
            # begins.
            start = lock.stat().st_mtime
        except OSError:
            return RunProgress(planned, done)
        [[new]] = self._read("count(*)", "place >= 0 AND time >= ?", utc_text(start))
        return RunProgress(
            planned=planned,
            done=done,
            is_running=is_locked(lock),
            new=new,
            seconds=max(0.0, time.time() - start),
        )

    def _read(self, columns: str, condition: str, *values: Any) -> list[Any]:
        """Return some columns of all rows that fulfil an SQL condition."""
        return list(self._table.rows(f"SELECT {columns} FROM results WHERE {condition}", values))

    def _results(self, condition: str, *values: Any) -> list[Result]:
        """Return the results in all rows that fulfil an SQL condition."""
        return list(StoredResults(self._table, Query(condition, values)))


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
