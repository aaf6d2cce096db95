"""The table of ceilings: the cases that each group of files may have in each column.

A cell such as 58/2547 means that the group had 58 cases in a population of 2547 when
the row was written. A ceiling is a number of cases and not a ratio, for three reasons.
A new case exceeds the ceiling wherever it is. If clean code is deleted, a ratio rises,
but the number of cases does not. The numbers of several groups can be added up.

The rules are these:

- A group may have as many cases as its ceiling. If its population has grown, it may
  also have the cases that the goal allows in the additional population. Thus a package
  can grow, but each new case needs as much new code as the goal requires.
- A ceiling falls if a group has fewer cases. It rises only if code moves between groups
  that are named together. The rules must then hold for the sum of these groups.
- A group without a row must meet the goals, unless code moves to it.
- A ceiling is out of date if a group has at least five cases and a tenth fewer. The
  change of a line never makes it so, but the rewrite of a file does.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .columns import COLUMNS_WITH_GOAL, Column
from .figures import Share, allowed_by_goal, share_of
from .files import Groups, UsageError

Row = Mapping[str, Share]
"""The ceiling of each column, by the name of the column."""

Table = Mapping[str, Row]
"""The row of each group, by the name of the group."""

HEADING = """\
# Ceilings of legibility: cases/population of each group of files in each column.
# Written by: python scripts/legibility.py --write-ceilings
"""

EMPTY_CELL = "-"
"""The cell of a group that has nothing to count."""

MIN_FALL = 5
MIN_FALL_RATE = 0.1


@dataclass(frozen=True)
class Exceeded:
    """A ceiling that a group exceeds today."""

    group: str
    column: Column
    ceiling: Share
    today: Share
    allowed: int


def row_of(group: Sequence) -> dict[str, Share]:
    """Count the cases and the population of a group in each column."""
    return {column.name: share_of(column, group) for column in COLUMNS_WITH_GOAL}


def table_of(groups: Groups) -> dict[str, Row]:
    """Count the cases and the populations of all groups."""
    return {name: row_of(group) for name, group in groups.items()}


def allowed_cases(column: Column, ceiling: Share, total: int) -> int:
    """Return the cases that a ceiling allows in a population of some size."""
    growth = max(total - ceiling.total, 0)
    return ceiling.cases + math.floor(round(column.goal_rate * growth, 6))


def is_out_of_date(ceiling: Share, today: Share) -> bool:
    """Return whether a group has clearly fewer cases than its ceiling."""
    fall = ceiling.cases - today.cases
    return fall >= max(MIN_FALL, MIN_FALL_RATE * ceiling.cases)


def exceeded(table: Table, today: Table) -> list[Exceeded]:
    """Return the ceilings that groups with a row exceed today."""
    results = []
    for group in sorted(table.keys() & today.keys()):
        for column in COLUMNS_WITH_GOAL:
            ceiling = table[group][column.name]
            share = today[group][column.name]
            allowed = allowed_cases(column, ceiling, share.total)
            if share.cases > allowed:
                results.append(Exceeded(group, column, ceiling, share, allowed))
    return results


def lowered(table: Table, today: Table) -> dict[str, Row]:
    """Return the table with the ceilings that have fallen.

    Rows of groups that no longer exist are dropped. Groups without a row get one if
    they meet the goals.
    """
    rows = {}
    for group, row in today.items():
        if group in table:
            rows[group] = _lowered_row(table[group], row)
        else:
            _check_goals(group, row)
            rows[group] = row
    return rows


def _lowered_row(ceilings: Row, today: Row) -> Row:
    row = {}
    for name, ceiling in ceilings.items():
        has_fallen = today[name].cases < ceiling.cases
        row[name] = today[name] if has_fallen else ceiling
    return row


def _check_goals(group: str, row: Row) -> None:
    """Refuse a new group that misses a goal."""
    for column in COLUMNS_WITH_GOAL:
        share = row[column.name]
        allowed = allowed_by_goal(column, share.total)
        if share.cases > allowed:
            message = (
                f"{group}: the new group has {share.cases} cases in the column "
                f"'{column.name}'; the goal allows {allowed}; improve the code, or name "
                f"the group after --raise, with the group that its code came from"
            )
            raise UsageError(message)


def with_moved_code(table: Table, today: Table, moved: Iterable[str]) -> dict[str, Row]:
    """Return the table after a move of code between some groups.

    Their rows become the rows of today. The move is refused if the groups together
    exceed the sum of their ceilings in a column.
    """
    names = list(dict.fromkeys(moved))
    for name in names:
        if name not in table and name not in today:
            names_today = ", ".join(sorted(today))
            message = f"--raise {name}: there is no such group; choose among: {names_today}"
            raise UsageError(message)
    for column in COLUMNS_WITH_GOAL:
        _check_sum(column, _sum(table, names, column), _sum(today, names, column), names)

    rest = {name: row for name, row in today.items() if name not in names}
    moved_rows = {name: today[name] for name in names if name in today}
    return lowered(table, rest) | moved_rows


def _sum(table: Table, names: Iterable[str], column: Column) -> Share:
    shares = [table[name][column.name] for name in names if name in table]
    return sum(shares, start=Share())


def _check_sum(column: Column, ceiling: Share, today: Share, names: Sequence[str]) -> None:
    """Refuse a move of code that adds cases to a column."""
    allowed = allowed_cases(column, ceiling, today.total)
    if today.cases > allowed:
        message = (
            f"--raise {' '.join(names)}: these groups together have {today.cases} cases in "
            f"the column '{column.name}'; their ceilings allow {allowed}; name all groups "
            f"that code moved between, and remove the cases that are new"
        )
        raise UsageError(message)


def read_table(path: Path) -> dict[str, Row]:
    """Read a table of ceilings, or refuse a file that is missing or cannot be read."""
    if not path.exists():
        message = (
            f"{path}: there is no table of ceilings; run the program in the folder of the "
            f"project, or write the table with --write-ceilings"
        )
        raise UsageError(message)
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [_cells(line) for line in lines if line.strip() and not line.startswith("#")]
    header = ["group", *(column.name for column in COLUMNS_WITH_GOAL)]
    if not rows or rows[0] != header:
        message = (
            f"{path}: the columns of the table differ from the columns of the meter; "
            f"delete the file, and write it again with --write-ceilings"
        )
        raise UsageError(message)
    return {group: _read_row(path, group, cells) for group, *cells in rows[1:]}


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def _read_row(path: Path, group: str, cells: Sequence[str]) -> Row:
    """Read the ceilings of a group."""
    try:
        shares = [_read_share(cell) for cell in cells]
        names = [column.name for column in COLUMNS_WITH_GOAL]
        return dict(zip(names, shares, strict=True))
    except ValueError as error:
        message = (
            f"{path}: the row of {group} cannot be read: {error}; "
            f"restore the row from the last commit"
        )
        raise UsageError(message) from error


def _cell(share: Share) -> str:
    return str(share) if share.total else EMPTY_CELL


def _read_share(cell: str) -> Share:
    if cell == EMPTY_CELL:
        return Share()
    cases, total = cell.split("/")
    return Share(int(cases), int(total))


def write_table(path: Path, table: Table) -> None:
    """Write a table of ceilings, with columns of equal width."""
    names = [column.name for column in COLUMNS_WITH_GOAL]
    rows = [["group", *names]]
    for group in sorted(table):
        shares = [table[group][name] for name in names]
        rows.append([group, *map(_cell, shares)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(" | ".join(cells).rstrip())

    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(HEADING + "\n".join(lines) + "\n", encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
