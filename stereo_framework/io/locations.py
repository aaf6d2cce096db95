"""Locations in a parameter script, and the faults of the script.

A *fault* is a mistake in a parameter script, such as an unknown key. The error message
names the file, the line and the column.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stereo_framework.core import limits
from stereo_framework.core.errors import ScriptError


@dataclass(frozen=True)
class Location:
    """The file, line and column of a key or a value in a parameter script.

    Parameters
    ----------
    file : str
        Name of the script file, such as ``my.yaml``. The name is ``--set`` for a value
        from the command line. For a value from a Python dict, the name is empty.
    line, column : int
        Line and column in the file, counted from 1. Both are 0 for a value from the
        command line or from a dict.
    path : str
        Dotted path of the value, such as ``aggregation.box.size``.
    key : Location, optional
        Location of the key of a value in a mapping. Its `path` is the path of the
        mapping. Two locations that differ only in `key` or in `unquoted_text` are
        equal.
    unquoted_text : str, optional
        Original text of a scalar without quotes. For example, YAML converts a scene
        name ``007`` to the number 7, but this text is ``007``.
    """

    file: str = ""
    line: int = 0
    column: int = 0
    path: str = ""
    key: Location | None = field(default=None, compare=False)
    unquoted_text: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        if not self.file:
            return self.path or "script"
        if not self.line:
            return f"{self.file} {self.path}".strip()
        position = f"{self.file}:{self.line}:{self.column}"
        return f"{position}: {self.path}" if self.path else position

    @property
    def folder(self) -> Path:
        """Absolute path of the folder that contains the script.

        Relative file names in the script refer to this folder. For a value from the
        command line or a dict, the folder is the working directory.
        """
        return Path(self.file).parent.absolute() if self.line else Path.cwd()

    def in_brackets(self) -> str:
        """Return the location in brackets, such as ``" (my.yaml:3:5)"``.

        The text is empty for a value from a Python dict.
        """
        if not self.file:
            return ""
        # The line and column suffice, so the dotted path is left out.
        shown_location = replace(self, path="") if self.line else self
        return f" ({shown_location})"


class Faults:
    """Collects the mistakes in a parameter script and reports them together.

    The error message sorts the faults by file, line and column. After ``limits.FAULTS``
    faults, reading of the script stops.

    Parameters
    ----------
    without_plugins : bool
        Whether the script names plug-ins that are not loaded. Unknown stage names are
        then allowed, because a plug-in may define the stages.

    Attributes
    ----------
    unknown : list of str
        Names of unknown stages that plug-ins may define.
    files : list of str
        Names of the script files in reading order.
    """

    def __init__(self, *, without_plugins: bool = False) -> None:
        self.without_plugins = without_plugins
        self.unknown: list[str] = []
        self.files = [""]
        self._value_counts: dict[Location, float] = {}
        self._location_of_fault: dict[str, Location] = {}
        self._locations: set[Location] = set()

    def __bool__(self) -> bool:
        return bool(self._location_of_fault)

    def add(self, location: Location, message: str) -> None:
        """Store a fault, unless the same line and column already has a fault.

        A second fault at the same position is usually a consequence of the first fault.

        Raises
        ------
        ScriptError
            The script has more than ``limits.FAULTS`` faults.
        """
        # A Python dict has no line numbers, so different values can have equal
        # locations. All faults of a dict are therefore stored.
        if location.file and location in self._locations:
            return
        if len(self._location_of_fault) == limits.FAULTS:
            last_line = f"{location.file or 'script'}: there are further faults"
            self._location_of_fault[last_line] = Location(location.file, sys.maxsize)
            self.raise_if_any()
        self._location_of_fault.setdefault(f"{location}: {message}", location)
        self._locations.add(location)

    def count_values(self, location: Location, count: float) -> None:
        """Raise an error if the axes of the script have too many values in total.

        Call this method before you create the values of an axis. For example, the axis
        ``{range: [0, 60, 1]}`` has 61 values. A typing error could otherwise fill the
        memory. An axis that is read again counts once.

        Parameters
        ----------
        location : Location
            File, line and column of the axis.
        count : float
            Number of values of the axis.

        Raises
        ------
        ScriptError
            All axes together have more than ``limits.SETTINGS`` values.
        """
        self._value_counts[location] = count
        if sum(self._value_counts.values()) > limits.SETTINGS:
            message = (
                f"the axes of the script have more than {limits.SETTINGS} values, which is the "
                "limit; remove axes or values"
            )
            self.add(location, message)
            self.raise_if_any()

    def raise_if_any(self) -> None:
        """Raise an error that lists all stored faults.

        Raises
        ------
        ScriptError
            At least one fault is stored.
        """
        if not self._location_of_fault:
            return
        files_with_faults = [location.file for location in self._location_of_fault.values()]
        files = list(dict.fromkeys([*self.files, *files_with_faults]))

        def position(fault: str) -> tuple[int, int, int]:
            location = self._location_of_fault[fault]
            return files.index(location.file), location.line, location.column

        raise ScriptError(sorted(self._location_of_fault, key=position))


def join(path: str, name: str) -> str:
    """Append a key to a dotted path.

    Examples
    --------
    >>> join("aggregation.box", "size"), join("", "seed")
    ('aggregation.box.size', 'seed')
    """
    return f"{path}.{name}" if path else name


def item_paths(path: str, uses: Sequence[object]) -> list[str]:
    """Return a dotted path for each item of a list in a script, for error messages.

    The path of the item ``{use: box, size: 9}`` contains the name of its stage:
    ``aggregation.box``. Without a stage name, the path contains the index:
    ``scenes[1]``. If a stage occurs twice, the paths also contain the indices.

    Parameters
    ----------
    path : str
        Dotted path of the list.
    uses : sequence
        Value of the key ``use`` in each item, or None for an item without this key.

    Examples
    --------
    >>> item_paths("aggregation", ["box", "median", "median"])
    ['aggregation.box', 'aggregation[1]', 'aggregation[2]']
    """
    paths = []
    for i, use in enumerate(uses):
        is_name = isinstance(use, str) and use != ""
        if is_name and list(uses).count(use) == 1:
            paths.append(join(path, str(use)))
        else:
            paths.append(f"{path}[{i}]")
    return paths
