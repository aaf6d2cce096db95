"""What a table of results is, and the plain listing of results."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.evaluation.metrics import METRICS, metric_of, spelled_out
from stereo_framework.sweep import Result
from stereo_framework.sweep.null_value import NULL
from stereo_framework.tables.values import (
    NOT_APPLICABLE,
    all_names,
    better,
    check_name,
    column,
    grouped,
    is_number,
    one_protocol,
    settings,
    show,
    shown_alike,
    sort_rows,
    word,
)

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
        ``"best"``; nothing; or what is wrong with it, in words that are told with the cell.
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
    """A table of values with named columns: in a terminal, a file or a page.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequence
        Texts, numbers, booleans, None (null or no value), `NOT_APPLICABLE`; or cells.
    keys : int
        How many of the first columns say what was set; the columns after them say what was measured.
    title : str
        What the cells hold, and what they were averaged over.
    notes : sequence of str
        What else one must know to read it: the protocol, and what is missing.
    best : frozenset of (int, int)
        Row and column of the best values.
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
        if isinstance(item, Cell):
            return item
        mark = "best" if (i, j) in self.best else ""
        return Cell(
            word(item) if j < self.keys else show(item),
            float(item) if is_number(item) else None,
            mark,
        )

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


def listing(results: Sequence[Result], columns: Sequence[str] = ()) -> Table:
    """A table with a row for each result: first what distinguishes it, then statistics, then the time. The best value on each scene is marked.

    Parameters
    ----------
    results : sequence of Result
    columns : sequence of str
        Statistics or dotted parameters to show instead of the usual ones. Scene, method
        and axes have a column in any case.

    Raises
    ------
    ParameterError
        No result has one of the columns, or the results are of different protocols.
    """
    protocol = one_protocol(results)
    axes = all_names(r.axes for r in results)
    # Each row begins with these columns already, also if they are requested.
    first_columns = ("scene", "method", *axes)
    shown = [name for name in shown_statistics(results, columns) if name not in first_columns]
    timed = "seconds" not in shown and any(r.matching_seconds is not None for r in results)
    contests = equal_items(r.scene for r in results)
    told = [
        [r.scene for r in results],
        [r.method for r in results],
        *([r.axes.get(name, NOT_APPLICABLE) for r in results] for name in axes),
    ]
    measured = {name: _values(results, name) for name in [*shown, *["seconds"] * timed]}
    failed = [i for i, r in enumerate(results) if r.error]
    for values, i in itertools.product(measured.values(), failed):
        values[i] = "failed" if values[i] is None else values[i]
    best = best_cells([measured[name] for name in shown], map(better, shown), contests, len(told))
    rows = zip(*told, *measured.values(), strict=True)
    return Table((*first_columns, *measured), tuple(rows), len(told), notes=(protocol,), best=best)


def _values(results: Sequence[Result], name: str) -> list[Any]:
    """Return the values of a column; a parameter that is null has a text."""
    is_parameter = any(name in r.parameters for r in results)
    if not is_parameter or any(name in r.statistics for r in results):
        return column(results, name)
    return [
        NULL if item is None else None if item == NOT_APPLICABLE else item
        for item in settings(results, name)
    ]


def shown_statistics(results: Sequence[Result], columns: Sequence[str] = ()) -> list[str]:
    """Return the requested columns or, without any, the usual statistics of the results.

    The coverage follows errors in any case, because maps that leave out difficult pixels
    have small errors.

    Raises
    ------
    ParameterError
        No result has one of the columns.
    """
    requested = spelled_out(columns)
    for name in requested:
        check_name(name, results, "column ")
    # A dict answers `in` for thousands of statistics as fast as for one.
    statistics = dict.fromkeys(all_names(r.statistics for r in results))
    shown = dict.fromkeys(requested or _usual_statistics(results, statistics))
    if not requested:
        shown |= dict.fromkeys(name for name in statistics if _is_of_plugin(name))

    has_error = any(name in statistics and better(name) == "lower" for name in shown)
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


def _compares_energies(results: Sequence[Result]) -> bool:
    """Whether several optimizers of one energy are among the results."""
    optimizers = {r.parameters.get("optimization.use") for r in results if r.energy is not None}
    return len(optimizers) > 1


def _usual_statistics(results: Sequence[Result], statistics: Mapping[str, Any]) -> list[str]:
    """Return the usual statistics that have a value, or all statistics without ground truth."""
    usual = [
        name
        for name in _USUAL
        if name in statistics and any(r.statistics.get(name) is not None for r in results)
    ]
    if any(name.startswith(("bad_pixels", "rms_error")) for name in usual):
        return usual
    return list(statistics)


def _is_of_plugin(statistic: str) -> bool:
    """Return whether a plug-in's metric computes a statistic; the script asked for such a one."""
    metric = metric_of(statistic)
    return metric is not None and METRICS.origin(metric.name) != METRICS.PACKAGE


def density(statistics: Mapping[str, float]) -> float | None:
    """Percentage of the pixels that have an estimate, as far as that was measured."""
    matched = statistics.get("fraction_matched")
    return statistics.get("density_all", None if matched is None else 100 * matched)


def best_places(values: Sequence[Any], better: str, contests: Iterable[Sequence[int]]) -> list[int]:
    """The places of the best numbers. Those that are printed alike are equal, and are all best; if all of a contest are, none is.

    Parameters
    ----------
    values : sequence
        Numbers, and what is passed over.
    better : str
        ``lower``, ``higher`` or, where there is no best, ``""``.
    contests : iterable of sequence of int
        The places of values that are compared with each other.
    """
    best: list[int] = []
    for contest in contests if better else ():
        places = [i for i in contest if is_number(values[i])]
        if not places:
            continue
        first = (min if better == "lower" else max)(values[i] for i in places)
        text, width = show(first), shown_alike(first)
        alike = [
            i
            for i in places
            if values[i] == first or (abs(values[i] - first) <= width and show(values[i]) == text)
        ]
        best += alike if len(alike) < len(places) else []
    return best


def best_cells(
    columns: Iterable[Sequence[Any]],
    ways: Iterable[str],
    contests: Sequence[Sequence[int]],
    first: int,
) -> frozenset[tuple[int, int]]:
    """Row and column of the `best_places` of several columns, of which the first has this number."""
    numbered = enumerate(zip(columns, ways, strict=False), first)
    return frozenset(
        (i, j) for j, (values, way) in numbered for i in best_places(values, way, contests)
    )


def equal_items(items: Iterable[Hashable]) -> list[list[int]]:
    """The places of equal items."""
    there = list(items)
    return list(grouped(range(len(there)), there.__getitem__).values())


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
