"""Convert results to rows of a results store, and rows of the store to results."""

import collections
import contextlib
import functools
import hashlib
import json
import math
import sqlite3
from collections.abc import ItemsView, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pydantic import ConfigDict, TypeAdapter, with_config
from pydantic_core import from_json

# In versions before Python 3.12, pydantic does not accept `typing.TypedDict`.
from typing_extensions import TypedDict

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError
from stereo_framework.sweep.database import Database
from stereo_framework.sweep.numbers import is_number
from stereo_framework.sweep.result import MESSAGES, SCENES_OF_METHOD, TRACE, Result
from stereo_framework.sweep.store_errors import Event, event_of, reading_error

_KEYS_OF_SINGLE_RESULTS = (MESSAGES, TRACE, SCENES_OF_METHOD)
"""Keys of `Result.environment` whose values differ between the results of a sweep."""

_INFINITY = "9e999"
"""JSON number that SQLite and Python read as infinity. JSON has no other infinity."""


class StoredRow(NamedTuple):
    """The columns of a computed result, as in `database.RESULTS_TABLE`.

    The columns `key` and `place` are left out, because a `Result` has no such fields.
    """

    scene: str
    method: str
    setting: str
    protocol: str
    protocol_text: int
    error: str | None
    time: str
    energy: float | None
    matching_seconds: float | None
    processor_seconds: float | None
    threads: int | None
    statistic_names: int
    statistics: str
    axis_names: int
    axes: str
    parameter_names: int
    parameters: str
    stage_names: int
    seconds: str
    environment: int
    row: str
    script: str


@with_config(ConfigDict(extra="forbid", strict=True))
class _RemainingFields(TypedDict):
    """The fields of a result in the column `row`, which is a JSON object.

    The value of `environment` contains only the keys `_KEYS_OF_SINGLE_RESULTS`. The
    value of `map` is the path of the disparity map, relative to the results folder.
    """

    id: str
    warnings: tuple[str, ...]
    map: str | None
    environment: dict[str, str]


_REMAINING_FIELDS: Any = TypeAdapter(_RemainingFields)

_STRICT = ConfigDict(strict=True)

# JSON has no NaN, so null represents NaN.
_NUMBERS: Any = TypeAdapter(list[float | None], config=_STRICT)

_NAMES: Any = TypeAdapter(list[str], config=_STRICT)

_ENVIRONMENT: Any = TypeAdapter(dict[str, str], config=_STRICT)


class Texts:
    """The texts of a results store that many results share.

    Parameters
    ----------
    database : Database
        Open results store.
    name : str
        Name of the SQLite file in messages.
    """

    def __init__(self, database: Database, name: str):
        self._database = database
        self._name = name
        self._number_of_text: dict[str, int] = {}
        self._text_of_number: dict[int, str] = {}
        self._names_of_number: dict[int, tuple[str, ...]] = {}
        self._environment_of_number: dict[int, dict[str, str]] = {}
        self._number_of_names: dict[tuple[str, ...], int] = {}

    def forget(self) -> None:
        """Discard the cached texts.

        After a failed transaction, the cache may contain texts that the store lacks.
        """
        self._number_of_text.clear()
        self._text_of_number.clear()
        self._names_of_number.clear()
        self._environment_of_number.clear()
        self._number_of_names.clear()

    def load(self) -> None:
        """Read all texts that the cache does not contain yet."""
        last = max(self._text_of_number, default=0)
        statement = "SELECT id, text FROM texts WHERE id > ?"
        with damaged_file_errors(self._name):
            for number, text in self._database.rows(statement, (last,)):
                self._add(number, text)

    def number_of(self, text: str) -> int:
        """Return the number of a text, and add the text to the store if necessary."""
        if not self._number_of_text:
            self.load()
        number = self._number_of_text.get(text)
        if number is None:
            number = max(self._text_of_number, default=0) + 1
            self._database.execute("INSERT INTO texts (id, text) VALUES (?, ?)", (number, text))
            self._add(number, text)
        return number

    def number_of_names(self, names: Iterable[str]) -> int:
        """Return the number of a list of names, and add the list if necessary."""
        key = tuple(names)
        number = self._number_of_names.get(key)
        if number is None:
            number = self._number_of_names[key] = self.number_of(json.dumps(key))
        return number

    def text(self, number: Any) -> str:
        """Return the text with a number.

        Raises
        ------
        DataError
            The store has no such text, because it is damaged.
        """
        if number not in self._text_of_number:
            self.load()
        text = self._text_of_number.get(number)
        if text is None:
            reason = f"there is no text with the number {str(number)[:40]}"
            raise _damage_error(self._name, ValueError(reason))
        return text

    def names(self, number: Any) -> tuple[str, ...]:
        """Return the list of names with a number."""
        names = self._names_of_number.get(number)
        if names is None:
            text = self.text(number)
            with damaged_file_errors(self._name):
                names = tuple(_NAMES.validate_json(text))
            self._names_of_number[number] = names
        return names

    def environment(self, number: Any) -> dict[str, str]:
        """Return the environment with a number."""
        environment = self._environment_of_number.get(number)
        if environment is None:
            text = self.text(number)
            with damaged_file_errors(self._name):
                environment = _ENVIRONMENT.validate_json(text)
            self._environment_of_number[number] = environment
        return environment

    def positions(self, name: str) -> dict[int, int]:
        """Return the position of a name in each list that contains the name.

        Returns
        -------
        dict of int to int
            The position of the name, by the number of the list.
        """
        self.load()
        positions: dict[int, int] = {}
        for number, text in self._text_of_number.items():
            if text.startswith("["):
                names = self.names(number)
                if name in names:
                    positions[number] = names.index(name)
        return positions

    def _add(self, number: Any, text: Any) -> None:
        if not isinstance(number, int) or not isinstance(text, str):
            raise ValueError("texts: a row is not a number with a text")
        self._text_of_number[number] = text
        self._number_of_text.setdefault(text, number)


class RowConverter:
    """Converts results to rows of a store, and rows to results.

    Parameters
    ----------
    texts : Texts
        Texts of the store.
    folder : Path
        Results folder, at which the paths of disparity maps start.
    name : str
        Name of the SQLite file in messages.
    """

    def __init__(self, texts: Texts, folder: Path, name: str):
        self._texts = texts
        self._folder = folder
        self._name = name

    def to_row(self, result: Result) -> StoredRow:
        """Convert a result to a row. The store must be in a transaction."""
        environment = result.environment
        environment_of_result = {
            key: environment[key] for key in _KEYS_OF_SINGLE_RESULTS if key in environment
        }
        shared_environment = {
            key: text for key, text in environment.items() if key not in environment_of_result
        }
        remaining_fields = {
            "id": result.id,
            "warnings": result.warnings,
            "map": result.map and result.map.relative_to(self._folder).as_posix(),
            "environment": environment_of_result,
        }
        texts = self._texts
        axis_names = texts.number_of_names(result.axes)
        axes = json_text(list(result.axes.values()))
        parameter_names = texts.number_of_names(result.parameters)
        parameters = json_text(list(result.parameters.values()))
        return StoredRow(
            scene=result.scene,
            method=result.method,
            setting=_digest_of(result.method, axis_names, axes, parameter_names, parameters),
            protocol=result.protocol,
            protocol_text=texts.number_of(result.protocol_text),
            error=result.error,
            time=result.time,
            energy=_plain_number(result.energy),
            matching_seconds=result.matching_seconds,
            processor_seconds=_plain_number(result.processor_seconds),
            threads=result.threads,
            statistic_names=texts.number_of_names(result.statistics),
            statistics=_numbers_text(result.statistics.values()),
            axis_names=axis_names,
            axes=axes,
            parameter_names=parameter_names,
            parameters=parameters,
            stage_names=texts.number_of_names(result.seconds),
            seconds=_numbers_text(result.seconds.values()),
            environment=texts.number_of(json.dumps(shared_environment)),
            row=json_text(remaining_fields),
            script=json_text(dict(result.script)),
        )

    def to_result(self, stored: StoredRow) -> Result:
        """Convert a row to a result.

        Raises
        ------
        DataError
            The row has a value that this program does not write.
        """
        with damaged_file_errors(self._name):
            remaining_fields = _REMAINING_FIELDS.validate_json(stored.row)
            environment = self._texts.environment(stored.environment)
            if remaining_fields["environment"]:
                environment = environment | remaining_fields["environment"]
            map_file = remaining_fields["map"]
            if map_file is not None:
                map_file = self._folder / _inside_folder(map_file)
            return Result(
                id=remaining_fields["id"],
                scene=checked_text(stored.scene),
                method=checked_text(stored.method),
                parameters=self.parameters(stored.parameter_names, stored.parameters),
                axes=self._axes(stored.axis_names, stored.axes),
                protocol=checked_text(stored.protocol),
                statistics=self._numbers(stored.statistic_names, stored.statistics),
                energy=checked_number(stored.energy),
                seconds=self._numbers(stored.stage_names, stored.seconds),
                warnings=remaining_fields["warnings"],
                error=None if stored.error is None else checked_text(stored.error),
                script=_StoredMapping(self._name, "script", stored.script),
                protocol_text=self._texts.text(stored.protocol_text),
                map=map_file,
                environment=environment,
                time=checked_text(stored.time),
                threads=_checked_count(stored.threads),
                processor_seconds=checked_number(stored.processor_seconds),
            )

    def _numbers(self, names_number: Any, text: Any) -> dict[str, float]:
        """Return numbers by their names."""
        return dict(zip(self._texts.names(names_number), numbers_with_nan(text), strict=True))

    def _axes(self, names_number: Any, text: Any) -> dict[str, Any]:
        """Return the values of axes by the names of the axes."""
        values = from_json(text)
        for value in values:
            check_axis_value(value)
        return dict(zip(self._texts.names(names_number), values, strict=True))

    def parameters(self, names_number: Any, text: Any) -> Mapping[str, Any]:
        """Return the values by address. They are parsed when one of them is read."""
        return _StoredMapping(self._name, "parameters", text, self._texts.names(names_number))


class _StoredMapping(collections.UserDict[str, Any]):
    """A mapping whose JSON text is parsed when an item is first read.

    Parameters
    ----------
    store : str
        Name of the SQLite file in messages.
    field : str
        Name of the field of a result that contains the mapping.
    text
        JSON text of the mapping, or of the list of its values. In a damaged store, the
        value may have any type.
    names : tuple of str, optional
        Keys of the mapping, if the text is a list.
    """

    def __init__(self, store: str, field: str, text: Any, names: tuple[str, ...] | None = None):
        self._store = store
        self._field = field
        self._text = text
        self._names = names

    @functools.cached_property
    def data(self) -> dict[str, Any]:  # type: ignore[override]
        """The stored mapping, which is parsed from its JSON text at the first call."""
        with damaged_file_errors(self._store):
            # The function `from_json` refuses deeply nested values. The JSON reader of
            # Python would accept values that other parts of the program cannot print.
            content = from_json(self._text)
            if self._names is not None:
                content = zip(self._names, content, strict=True)
            mapping = dict(content)
            if len(mapping) > limits.ENTRIES:
                message = (
                    f"{self._field}: has {len(mapping)} entries; at most {limits.ENTRIES} are read"
                )
                raise ValueError(message)
            return mapping

    def items(self) -> ItemsView[str, Any]:
        """Return the items of the mapping, faster than the method of UserDict."""
        return self.data.items()


def _digest_of(*columns: str | int) -> str:
    """Return a digest of 16 digits for the columns that identify a setting."""
    return hashlib.blake2b(repr(columns).encode(), digest_size=8).hexdigest()


# --- JSON -----------------------------------------------------------------------------


def json_text(value: Any) -> str:
    """Convert a value to JSON text that SQLite can read.

    JSON has no NaN, which becomes the text "nan". Plug-ins may return NumPy numbers,
    which become plain numbers. Values of all other types become texts.
    """
    try:
        return json.dumps(value, default=_json_value, allow_nan=False)
    except ValueError:
        return _json_text_of_parts(value)


def _json_text_of_parts(value: Any) -> str:
    """Convert a value that contains NaN or infinity to JSON text."""
    if isinstance(value, float) and not math.isfinite(value):
        return '"nan"' if math.isnan(value) else _infinity_text(value)
    if isinstance(value, Mapping):
        entries = [f"{json.dumps(str(key))}: {json_text(item)}" for key, item in value.items()]
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(json_text, value))}]"
    return json_text(_json_value(value))


def numbers_with_nan(text: Any) -> list[float]:
    """Return the numbers in a text of `_numbers_text`, in which null stands for NaN."""
    numbers: list[Any] = _NUMBERS.validate_json(text)
    if None in numbers:
        return [math.nan if number is None else number for number in numbers]
    return numbers


def _numbers_text(numbers: Iterable[Any]) -> str:
    """Convert numbers to the JSON text of a list. NaN becomes null."""
    plain_numbers = [_plain_number(number) for number in numbers]
    try:
        return json.dumps(plain_numbers, allow_nan=False)
    except ValueError:
        texts = []
        for number in plain_numbers:
            is_infinite = number is not None and math.isinf(number)
            texts.append(_infinity_text(number) if is_infinite else json.dumps(number))
        return f"[{', '.join(texts)}]"


def _infinity_text(number: Any) -> str:
    """Return the JSON text of an infinite number."""
    return _INFINITY if number > 0 else f"-{_INFINITY}"


def _plain_number(number: Any) -> float | None:
    """Return a number without the type of NumPy, and None for NaN and for None."""
    if number is None or number != number:
        return None
    return number if isinstance(number, int | float) else float(number)


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


# --- checks of values from a damaged store --------------------------------------------


def checked_text(value: Any) -> str:
    """Return a value, or raise a ValueError if it is not a text."""
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:40]!r} is not a text")
    return value


def checked_number(value: Any) -> float | None:
    """Return a value, or raise a ValueError if it is neither a number nor None."""
    if value is not None and not is_number(value):
        raise ValueError(f"{str(value)[:40]!r} is not a number")
    return value


def _checked_count(value: Any) -> int | None:
    """Return a value, or raise a ValueError if it is neither an integer nor None."""
    is_count = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not is_count:
        raise ValueError(f"{str(value)[:40]!r} is not an integer")
    return value


def check_axis_value(value: Any) -> None:
    """Raise an OverflowError if the value of an axis is a too large integer.

    An integer in a damaged store may have thousands of digits.
    """
    if value.__class__ is int:
        float(value)


def _inside_folder(path: str) -> PurePosixPath:
    """Return a path, or raise an error if the path leads out of the results folder.

    Raises
    ------
    ValueError
        The path is absolute or contains "..".
    """
    relative_path = PurePosixPath(path)
    if relative_path.is_absolute() or ".." in relative_path.parts:
        raise ValueError(
            f"map: {str(relative_path)[:40]!r} is not a path inside the results folder"
        )
    return relative_path


_DAMAGE = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
"""Exceptions that may be raised when this module reads values of a damaged store."""


@contextlib.contextmanager
def damaged_file_errors(name: str) -> Iterator[None]:
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
    remedy = "choose another folder, or delete this file and run again"
    message = f"{name}: may be damaged: {reason}; {remedy}"
    return DataError(message)
