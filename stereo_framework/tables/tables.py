"""Tables with cells and marks of the best values, and the table that lists results."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.package_files import PACKAGE
from stereo_framework.evaluation.metrics import METRICS, metric_of, spelled_out
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.null_value import NULL
from stereo_framework.sweep.numbers import distance_of_equal_texts, is_number
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.sweep.sorting import sort_rows
from stereo_framework.sweep.value_text import cell_text, setting_text
from stereo_framework.tables.directions import better_direction
from stereo_framework.tables.grouping import group_items

BAD_PIXELS = tuple(
    f"bad_pixels_{region}"
    for region in ("nonocc", "textureless", "discont", "all", "disc", "background", "foreground")
)
"""The first three are the columns of Scharstein & Szeliski 2002, Table 5; the others are those of later benchmarks."""

_USUAL = (
    *BAD_PIXELS,
    "bad_pixels",
    "invalid_pixels_nonocc",
    "avg_error_nonocc",
    "avg_error_all",
    "rms_error_nonocc",
    "rms_error_all",
    "A90_nonocc",
    "density_nonocc",
    "density_all",
    "fraction_matched",
    "differing_pixels",
    "mean_difference",
)
"""The statistics that are shown by default, as far as results have them."""

COVERAGE = "fraction_matched"
"""What stands beside every error: a map that leaves out what is hard has small ones."""


class Cell(NamedTuple):
    """A table's cell.

    Parameters
    ----------
    text : str
        What is shown.
    value : float, optional
        What a column is sorted by, where it is a number.
    mark : str
        ``"best"``; nothing; or what is wrong with it, in words that are told with the
        cell.
    hint : str
        Told when the pointer rests on the cell, and to screen readers.
    """

    text: str
    value: float | None = None
    mark: str = ""
    hint: str = ""

    @classmethod
    def number(
        cls, value: float | None, form: str = ".2f", *, mark: str = "", hint: str = ""
    ) -> Cell:
        """A number as `format` writes it; a dash for None and NaN."""
        known = value is not None and not math.isnan(value)
        return cls(format(value, form), value, mark, hint) if known else cls("-", hint=hint)


@dataclass(frozen=True)
class Table:
    """A table of values with named columns, for a terminal, a file or an HTML report.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    rows : sequence of sequence
        Each row contains texts, numbers, booleans, None, `MISSING` or objects of the
        class `Cell`. In the columns of settings None is null. In other columns None is
        no value.
    keys : int
        Number of columns with settings. They come before the columns with statistics.
    title : str
        Description of the cells and of the scenes and parameters that were averaged.
    notes : sequence of str
        Information that a reader needs, such as the protocol and missing values.
    best : frozenset of (int, int)
        Row and column of each best value.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    keys: int = 1
    title: str = ""
    notes: Sequence[str] = ()
    best: frozenset[tuple[int, int]] = frozenset()

    def cells(self) -> list[list[Cell]]:
        """The rows as they are shown."""
        return [
            [self._cell(item, i, j) for j, item in enumerate(row)]
            for i, row in enumerate(self.rows)
        ]

    def _cell(self, item: Any, i: int, j: int) -> Cell:
        """Return the cell of an item in a row and a column."""
        if isinstance(item, Cell):
            return item
        text = setting_text(item) if j < self.keys else cell_text(item)
        number = float(item) if is_number(item) else None
        return Cell(text, number, mark="best" if (i, j) in self.best else "")

    def texts(self) -> list[list[str]]:
        """The rows as they are printed."""
        return [[cell.text for cell in row] for row in self.cells()]

    def rows_of(self, kept: Sequence[int]) -> Table:
        """The table with some of its rows, given by their numbers, in that order. Marks of the best values stay as they were in the whole table."""
        best = frozenset(
            (n, j)
            for n, i in enumerate(kept)
            for j in range(len(self.header))
            if (i, j) in self.best
        )
        return replace(self, rows=tuple(self.rows[i] for i in kept), best=best)


NO_RESULTS = ResultSet()
"""Averages of a listing without averages."""


def listing(
    results: ResultSet, columns: Sequence[str] = (), averages: ResultSet = NO_RESULTS
) -> Table:
    """Make a table with a row for each result, and mark the best value on each scene.

    The first columns distinguish the results. Columns with statistics follow, and the
    last column is the run time.

    Parameters
    ----------
    results : ResultSet
        Results of one protocol.
    columns : sequence of str
        Statistics or dotted parameters to show instead of the usual ones. Scene, method
        and axes have a column in any case.
    averages : ResultSet
        Averages of settings of the results. They are the last rows.

    Raises
    ------
    ParameterError
        No result has one of the columns, or the results are of different protocols.
    """
    protocol = results.protocol
    axes = results.axis_names()
    # Each row begins with these columns already, also if they are requested.
    first_columns = ("scene", "method", *axes)
    shown = [name for name in shown_statistics(results, columns) if name not in first_columns]
    results.read_columns(["scene", "method", *shown, "seconds"])
    scenes = results.column("scene") + averages.column("scene")
    settings = [
        scenes,
        results.column("method") + averages.column("method"),
        *(results.axis_column(name) + averages.axis_column(name) for name in axes),
    ]
    cells_of_column: dict[str, list[Any]] = {}
    for name in shown:
        cells_of_column[name] = _cells_of_column(results, name) + _cells_of_column(averages, name)
    if results.has_value("seconds") and "seconds" not in shown:
        cells_of_column["seconds"] = results.column("seconds") + averages.column("seconds")
    for cells, i in itertools.product(cells_of_column.values(), results.failed_indices()):
        if cells[i] is MISSING:
            cells[i] = "failed"

    directions = map(better_direction, shown)
    contests = equal_items(scenes)
    statistics = [cells_of_column[name] for name in shown]
    best = best_cells(statistics, directions, contests, len(first_columns))
    return Table(
        header=(*first_columns, *cells_of_column),
        rows=tuple(zip(*settings, *cells_of_column.values(), strict=True)),
        keys=len(first_columns),
        notes=(protocol,),
        best=best,
    )


def _cells_of_column(results: ResultSet, name: str) -> list[Any]:
    """Return the cells of a column. A parameter that is null has the text "none"."""
    return [NULL if value is None else value for value in results.column(name)]


def shown_statistics(results: ResultSet, columns: Sequence[str] = ()) -> list[str]:
    """Return the requested columns, or the usual statistics if none is requested.

    The coverage follows errors in any case, because maps that leave out difficult
    pixels have small errors.

    Raises
    ------
    ParameterError
        No result has one of the columns.
    """
    requested = spelled_out(columns)
    for name in requested:
        results.check_name(name, role="column ")
    # A dict answers `in` for thousands of statistics as fast as for one.
    statistics = dict.fromkeys(results.statistic_names())
    shown = dict.fromkeys(requested or _usual_statistics(statistics))
    if not requested:
        shown |= dict.fromkeys(name for name in statistics if _is_of_plugin(name))

    has_error = any(name in statistics and better_direction(name) == "lower" for name in shown)
    if COVERAGE in statistics and has_error:
        shown[COVERAGE] = None
    if not requested and _compares_energies(results):
        shown["energy"] = None
    if not requested and "lower_bound" in statistics:
        shown |= {"energy": None, "lower_bound": None}
        # Above a bound of 0 there is no gap in percent.
        if "gap" in statistics:
            shown["gap"] = None
    return list(shown)


def _compares_energies(results: ResultSet) -> bool:
    """Return whether several optimizers of one energy are among the results."""
    if not results.has_value("energy"):
        return False
    columns = zip(results.column("optimization.use"), results.column("energy"), strict=True)
    optimizers = {optimizer for optimizer, energy in columns if energy is not MISSING}
    return len(optimizers) > 1


def _usual_statistics(statistics: Mapping[str, Any]) -> list[str]:
    """Return the usual statistics that have a value, or all without ground truth."""
    usual = [name for name in _USUAL if name in statistics]
    if any(name.startswith(("bad_pixels", "rms_error")) for name in usual):
        return usual
    return list(statistics)


def _is_of_plugin(statistic: str) -> bool:
    """Return whether the metric of a plug-in computes a statistic."""
    metric = metric_of(statistic)
    return metric is not None and METRICS.origin(metric.name) != PACKAGE


def density(statistics: Mapping[str, float]) -> float | None:
    """Return the percentage of pixels with an estimate, or None if it is not known."""
    fraction = statistics.get("fraction_matched")
    percentage = None if fraction is None else 100 * fraction
    return statistics.get("density_all", percentage)


DENSITY_STATISTICS = ("density_all", "fraction_matched")
"""Statistics that `density` reads."""


def densities(results: ResultSet) -> list[float]:
    """Return the percentage of pixels with an estimate of each result that has one."""
    percentages: list[float] = []
    for values in zip(*map(results.column, DENSITY_STATISTICS), strict=True):
        named_values = zip(DENSITY_STATISTICS, values, strict=True)
        percentage = density({name: value for name, value in named_values if value is not MISSING})
        if percentage is not None:
            percentages.append(percentage)
    return percentages


def best_places(
    values: Sequence[Any], direction: str, contests: Iterable[Sequence[int]]
) -> list[int]:
    """Return the indices of the best numbers.

    Numbers with the same text are equal, so that several numbers may be the best. If
    all numbers of a contest are equal, the contest has no best number.

    Parameters
    ----------
    values : sequence
        Numbers and other values. Other values take part in no contest.
    direction : str
        ``lower`` or ``higher``. If the text is empty, there is no best number.
    contests : iterable of sequence of int
        Each contest contains the indices of values that are compared with each other.
    """
    if not direction:
        return []
    best: list[int] = []
    for contest in contests:
        places = [i for i in contest if is_number(values[i])]
        if not places:
            continue
        numbers = [values[i] for i in places]
        best_number = min(numbers) if direction == "lower" else max(numbers)
        equal_places = _places_with_text_of(best_number, values, places)
        if len(equal_places) < len(places):
            best += equal_places
    return best


def _places_with_text_of(number: float, values: Sequence[Any], places: Sequence[int]) -> list[int]:
    """Return the places of the values that have the same text as a number."""
    text = cell_text(number)
    distance = distance_of_equal_texts(number)
    equal_places: list[int] = []
    for i in places:
        is_near = abs(values[i] - number) <= distance
        if values[i] == number or (is_near and cell_text(values[i]) == text):
            equal_places.append(i)
    return equal_places


def best_cells(
    columns: Iterable[Sequence[Any]],
    directions: Iterable[str],
    contests: Sequence[Sequence[int]],
    first: int,
) -> frozenset[tuple[int, int]]:
    """Return row and column of the best values of several columns.

    Parameters
    ----------
    columns : iterable of sequence
        The values of each column.
    directions : iterable of str
        The direction of each column, as in `best_places`.
    contests : sequence of sequence of int
        The rows that are compared with each other.
    first : int
        Number of the first of these columns in the table.
    """
    cells: set[tuple[int, int]] = set()
    for j, (values, direction) in enumerate(zip(columns, directions, strict=False), first):
        cells.update((i, j) for i in best_places(values, direction, contests))
    return frozenset(cells)


def equal_items(items: Iterable[Hashable]) -> list[list[int]]:
    """Return the indices of the equal items, in a list for each different item."""
    all_items = list(items)
    return list(group_items(range(len(all_items)), all_items.__getitem__).values())


def sort_table(table: Table, keys: Sequence[str]) -> Table:
    """The table with its rows sorted by some of the columns, smallest first; ``-COLUMN`` sorts largest first.

    Raises
    ------
    ParameterError
        The table has no such column.
    """
    for name in (key.removeprefix("-") for key in keys):
        if name not in table.header:
            raise ParameterError(
                f"the table has no column {name!r} to sort by; {nearest(name, table.header)}"
            )
    order = sort_rows(
        range(len(table.rows)), keys, lambda i, name: table.rows[i][table.header.index(name)]
    )
    return table.rows_of(order)
