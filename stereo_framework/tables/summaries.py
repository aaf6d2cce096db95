"""Tables that summarize results: by groups, and as a pivot table."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from stereo_framework.core.errors import ParameterError
from stereo_framework.script.report import STATISTIC
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.tables.directions import better_direction
from stereo_framework.tables.means import Mean, Means, means
from stereo_framework.tables.tables import (
    DENSITY_STATISTICS,
    Table,
    best_cells,
    best_places,
    densities,
    equal_items,
)
from stereo_framework.tables.words import caption, short_names, statistic_title

_RESULTS = "results"
"""Name of the column with the number of results that were averaged."""

NOT_RUN = "not run"
"""Text of a cell without a result, if the method runs on other scenes only."""


def group(results: ResultSet, keys: Sequence[str], statistics: Sequence[str]) -> Table:
    """Make a table of means with a row for each combination of the values of some keys.

    The column ``results`` has the number of averaged results. The best mean of each
    statistic is marked. If ``scene`` is one of the keys, the best mean on each scene is
    marked.

    Parameters
    ----------
    results : ResultSet
        Results of one protocol.
    keys : sequence of str
        Keys whose values are not averaged.
    statistics : sequence of str
        Names of the averaged columns. Names that are among the keys are left out.

    Raises
    ------
    ParameterError
        `means` refuses the results or the keys, or all statistics are among the keys.
    """
    names = _averaged_statistics(keys, statistics)
    # Without this call, the function `means` and the notes would read a large store once
    # each.
    results.read_columns([*keys, *names, *DENSITY_STATISTICS, *results.varying()])
    table_means = means(results, [*keys, STATISTIC], names)
    rows: list[tuple[Any, ...]] = []
    for key in dict.fromkeys(key[:-1] for key in table_means.cells):
        cells = [table_means.cells.get((*key, statistic)) for statistic in names]
        count = max(len(cell.values) for cell in cells if cell)
        rows.append((*key, count, *(cell.value if cell else None for cell in cells)))

    scenes = [row[keys.index("scene")] if "scene" in keys else "" for row in rows]
    first_mean = len(keys) + 1
    columns = [list(column) for column in zip(*rows, strict=True)]
    directions = map(better_direction, names)
    best = best_cells(columns[first_mean:], directions, equal_items(scenes), first_mean)
    return Table(
        header=(*keys, _RESULTS, *names),
        rows=tuple(rows),
        keys=len(keys),
        title=table_means.averaged,
        notes=_notes(table_means, results),
        best=best,
    )


def _averaged_statistics(keys: Sequence[str], statistics: Sequence[str]) -> list[str]:
    """Return the statistics of a table that `group` makes, and refuse useless keys."""
    if STATISTIC in keys:
        message = (
            f"{STATISTIC}: statistics are the columns of a group; tables of a script's 'report' "
            "put them elsewhere"
        )
        raise ParameterError(message)
    names = [name for name in statistics if name not in keys]
    if statistics and not names:
        message = (
            f"--columns: the table has the columns {', '.join(keys)} already, since its rows are "
            "grouped by them; name a statistic too, such as bad_pixels_nonocc"
        )
        raise ParameterError(message)
    return names


def pivot(
    results: ResultSet,
    rows: Sequence[str],
    columns: Sequence[str],
    statistics: Sequence[str],
) -> Table:
    """Make a table of means with some keys in the rows and other keys in the columns.

    The best value of each statistic is marked. If ``scene`` is one of the keys, the
    best value on each scene is marked.

    Parameters
    ----------
    results : ResultSet
        Results of one protocol.
    rows, columns : sequence of str
        Keys. The key ``statistic`` stands for the names in `statistics`. It becomes the
        last key of the columns if there are several statistics and no key
        ``statistic``.
    statistics : sequence of str
        Names of the averaged statistics.

    Raises
    ------
    ParameterError
        `means` refuses the results or the keys, or a key occurs twice.
    """
    if len(statistics) > 1 and STATISTIC not in (*rows, *columns):
        columns = [*columns, STATISTIC]
    keys = [*rows, *columns]
    repeated_keys = [key for key in keys if keys.count(key) > 1]
    if repeated_keys:
        raise ParameterError(f"{repeated_keys[0]} occurs twice among rows and columns")

    keys_of_means = keys if STATISTIC in keys else [*keys, STATISTIC]
    table_means = means(results, keys_of_means, statistics)
    cells = _PivotCells(keys, len(rows), table_means, results)
    row_keys = in_order(key[: len(rows)] for key in table_means.cells)
    column_keys = in_order(key[len(rows) : len(keys)] for key in table_means.cells)
    values = [[cells.value(row, column) for column in column_keys] for row in row_keys]

    title = f"{', '.join(map(statistic_title, statistics))} by {', '.join(columns)}"
    title += f"; {table_means.averaged}" if table_means.averaged else ""
    notes = _notes(table_means, results)
    if any(NOT_RUN in row_values for row_values in values):
        notes = (*notes, f"{NOT_RUN}: the script restricts the method to other scenes")
    return Table(
        header=(*rows, *_captions(columns, column_keys, results)),
        rows=tuple((*row, *row_values) for row, row_values in zip(row_keys, values, strict=True)),
        keys=len(rows),
        title=title,
        notes=notes,
        best=_best_of_pivot(keys, row_keys, column_keys, values, statistics[0]),
    )


class _PivotCells:
    """The values of the cells of a pivot table.

    Parameters
    ----------
    keys : sequence of str
        Keys of the rows and of the columns.
    row_key_count : int
        Number of the keys of the rows.
    table_means : Means
        The means, by the values of the keys.
    results : ResultSet
        The averaged results.
    """

    def __init__(
        self, keys: Sequence[str], row_key_count: int, table_means: Means, results: ResultSet
    ) -> None:
        self._keys = keys
        self._means: dict[tuple[Any, Any], Mean] = {}
        for key, mean in table_means.cells.items():
            column = key[row_key_count : len(keys)]
            self._means[key[:row_key_count], column] = mean
        self._result_of_method = {result.method: result for result in results}

    def value(self, row: tuple[Any, ...], column: tuple[Any, ...]) -> float | str | None:
        """Return the mean of a cell, or `NOT_RUN` if the script leaves out the cell."""
        if (row, column) in self._means:
            return self._means[row, column].value
        values = dict(zip(self._keys, (*row, *column), strict=True))
        if "method" not in values or "scene" not in values:
            return None
        is_meant = self._result_of_method[values["method"]].is_meant_for(values["scene"])
        return None if is_meant else NOT_RUN


def _best_of_pivot(
    keys: Sequence[str],
    row_keys: Sequence[tuple[Any, ...]],
    column_keys: Sequence[tuple[Any, ...]],
    values: Sequence[Sequence[Any]],
    statistic: str,
) -> frozenset[tuple[int, int]]:
    """Return row and column of the best cells of a pivot table.

    Parameters
    ----------
    keys : sequence of str
        Keys of the rows and of the columns.
    row_keys, column_keys : sequence of tuple
        Values of the keys of each row and of each column.
    values : sequence of sequence
        The cells, by row and column.
    statistic : str
        Statistic of all cells if no key is ``statistic``.
    """
    places = list(itertools.product(range(len(row_keys)), range(len(column_keys))))
    # The cells of one statistic and, if scene is among the keys, of one scene are
    # compared.
    contest_of_place: list[tuple[str, Any]] = []
    for i, j in places:
        value_of_key = dict(zip(keys, (*row_keys[i], *column_keys[j]), strict=True))
        contest_of_place.append((value_of_key.get(STATISTIC, statistic), value_of_key.get("scene")))

    numbers = [None if values[i][j] == NOT_RUN else values[i][j] for i, j in places]
    first_column = len(row_keys[0]) if row_keys else 0
    best: set[tuple[int, int]] = set()
    for contest in equal_items(contest_of_place):
        direction = better_direction(contest_of_place[contest[0]][0])
        for place in best_places(numbers, direction, [contest]):
            i, j = places[place]
            best.add((i, first_column + j))
    return frozenset(best)


def _captions(
    keys: Sequence[str], column_keys: Sequence[tuple[Any, ...]], results: ResultSet
) -> list[str]:
    """Return the headings of a pivot table's columns, with short names of scenes."""
    short_scenes = short_names({result.scene for result in results})
    captions: list[str] = []
    for values in column_keys:
        shown_values = [
            short_scenes[value] if key == "scene" else value
            for key, value in zip(keys, values, strict=True)
        ]
        captions.append(caption(keys, shown_values))
    return captions


def _notes(table_means: Means, results: ResultSet) -> tuple[str, ...]:
    """Return the notes of a table: missing means, the coverage and the protocol."""
    percentages = densities(results)
    if not percentages:
        return (*table_means.notes, results.protocol)
    ends = dict.fromkeys(f"{end:.3g}" for end in (min(percentages), max(percentages)))
    coverage = f"{' to '.join(ends)} % of the pixels have an estimate"
    return (*table_means.notes, coverage, results.protocol)


def in_order(keys: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the different keys in the order in which their values first appear.

    The first values of the keys decide first, then the second values and so on.
    """
    different = list(dict.fromkeys(keys))
    ranks = [
        {item: i for i, item in enumerate(dict.fromkeys(items))}
        for items in zip(*different, strict=True)
    ]
    return sorted(
        different, key=lambda key: [rank[item] for rank, item in zip(ranks, key, strict=True)]
    )
