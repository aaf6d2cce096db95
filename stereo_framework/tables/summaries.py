"""Tables that summarize results: by groups, and as a pivot table."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from stereo_framework.core.errors import ParameterError
from stereo_framework.script.report import STATISTIC
from stereo_framework.sweep import Result
from stereo_framework.tables.means import Mean, Means, means
from stereo_framework.tables.tables import Table, best_cells, best_places, density, equal_items
from stereo_framework.tables.values import better, one_protocol
from stereo_framework.tables.words import caption, short_names, unit

_RESULTS = "results"
"""Name of the column with the number of results that were averaged."""


NOT_RUN = "not run"
"""Text of a cell without a result, if the method runs on other scenes only."""


def group(results: Sequence[Result], keys: Sequence[str], statistics: Sequence[str]) -> Table:
    """A table with a row for each combination of the keys' values, and the means of statistics over everything else.

    Parameters
    ----------
    results : sequence of Result
        Of one protocol.
    keys : sequence of str
    statistics : sequence of str
        Names of the averaged columns. Names that are among the keys are left out.

    Raises
    ------
    ParameterError
        As `means`, or all statistics are among the keys.

    Notes
    -----
    The column ``results`` holds the number of results that were averaged. The best mean of each statistic is marked; if scene is among the
    keys, the best one on each scene.
    """
    if STATISTIC in keys:
        raise ParameterError(
            f"{STATISTIC}: statistics are the columns of a group; tables of a script's 'report' put them elsewhere"
        )
    names = [name for name in statistics if name not in keys]
    if statistics and not names:
        message = (
            f"--columns: the table has the columns {', '.join(keys)} already, since its rows are "
            "grouped by them; name a statistic too, such as bad_pixels_nonocc"
        )
        raise ParameterError(message)
    found = means(results, [*keys, STATISTIC], names)
    rows = []
    for key in dict.fromkeys(key[:-1] for key in found.cells):
        cells = [found.cells.get((*key, statistic)) for statistic in names]
        rows.append(
            (
                *key,
                max(len(cell.values) for cell in cells if cell),
                *(cell.value if cell else None for cell in cells),
            )
        )
    contests = equal_items(row[keys.index("scene")] if "scene" in keys else "" for row in rows)
    columns = [list(column) for column in zip(*rows, strict=True)][len(keys) + 1 :]
    best = best_cells(columns, map(better, names), contests, len(keys) + 1)
    return Table(
        (*keys, _RESULTS, *names),
        tuple(rows),
        len(keys),
        found.averaged,
        _notes(found, results),
        best,
    )


def pivot(
    results: Sequence[Result],
    rows: Sequence[str],
    columns: Sequence[str],
    statistics: Sequence[str],
) -> Table:
    """A table of means, with the values of some keys down the side and those of other keys across.

    Parameters
    ----------
    results : sequence of Result
        Of one protocol.
    rows, columns : sequence of str
        Keys. ``statistic`` stands for the names in `statistics`; if it is in neither, and there are several, it becomes a column.
    statistics : sequence of str

    Raises
    ------
    ParameterError
        As in `means`, or a key is in both.

    Notes
    -----
    The best value of each statistic is marked; if scene is among the keys, the best one on each scene.
    """
    columns = [
        *columns,
        *([STATISTIC] if len(statistics) > 1 and STATISTIC not in (*rows, *columns) else []),
    ]
    keys = [*rows, *columns]
    if both := [key for key in keys if keys.count(key) > 1]:
        raise ParameterError(f"{both[0]} occurs twice among rows and columns")
    found = means(results, [*keys, STATISTIC] if STATISTIC not in keys else keys, statistics)
    down = in_order(key[: len(rows)] for key in found.cells)
    across = in_order(key[len(rows) : len(keys)] for key in found.cells)
    cells: dict[tuple[Any, Any], Mean] = {
        (key[: len(rows)], key[len(rows) : len(keys)]): mean for key, mean in found.cells.items()
    }
    result_of_method = {result.method: result for result in results}

    def value_of_cell(row: tuple[Any, ...], column: tuple[Any, ...]) -> float | str | None:
        """Return the mean of a cell, or `NOT_RUN` if the script leaves out the cell."""
        if (row, column) in cells:
            return cells[row, column].value
        values = dict(zip(keys, (*row, *column), strict=True))
        if "method" not in values or "scene" not in values:
            return None
        is_meant = result_of_method[values["method"]].is_meant_for(values["scene"])
        return None if is_meant else NOT_RUN

    table = [(*row, *(value_of_cell(row, column) for column in across)) for row in down]

    # The cells of one statistic and, if scene is among the keys, of one scene.
    places = list(itertools.product(range(len(down)), range(len(across))))
    named = [dict(zip(keys, (*down[i], *across[j]), strict=True)) for i, j in places]
    contests = equal_items(
        (name.get(STATISTIC, statistics[0]), name.get("scene")) for name in named
    )
    cell_values = [table[i][len(rows) + j] for i, j in places]
    values = [None if value == NOT_RUN else value for value in cell_values]
    best = frozenset(
        (places[k][0], len(rows) + places[k][1])
        for contest in contests
        for k in best_places(
            values, better(named[contest[0]].get(STATISTIC, statistics[0])), [contest]
        )
    )
    short = short_names({r.scene for r in results})
    names = (
        [short[v] if k == "scene" else v for k, v in zip(columns, c, strict=True)] for c in across
    )
    header = (*rows, *(caption(columns, one) for one in names))
    title = f"{', '.join(map(_about, statistics))} by {', '.join(columns)}"
    title += f"; {found.averaged}" if found.averaged else ""
    notes = _notes(found, results)
    if NOT_RUN in cell_values:
        notes = (*notes, f"{NOT_RUN}: the script restricts the method to other scenes")
    return Table(header, tuple(table), len(rows), title, notes, best)


def _about(statistic: str) -> str:
    way = better(statistic)
    return f"{statistic} ({', '.join(filter(None, (unit(statistic), way and f'{way} is better')))})".removesuffix(
        " ()"
    )


def _notes(found: Means, results: Sequence[Result]) -> tuple[str, ...]:
    known = [percent for r in results if (percent := density(r.statistics)) is not None]
    ends = dict.fromkeys(f"{end:.3g}" for end in (min(known), max(known))) if known else {}
    coverage = [f"{' to '.join(ends)} % of the pixels have an estimate"] if known else []
    return (*found.notes, *coverage, one_protocol(results))


def in_order(keys: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The different keys, ordered by their first values, then by their second ones and so on, where values are in the order in which they first appear."""
    different = list(dict.fromkeys(keys))
    ranks = [
        {item: i for i, item in enumerate(dict.fromkeys(items))}
        for items in zip(*different, strict=True)
    ]
    return sorted(
        different, key=lambda key: [rank[item] for rank, item in zip(ranks, key, strict=True)]
    )
