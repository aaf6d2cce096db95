#!/usr/bin/env python3
"""Measure how legible the code and the prose of a Python project are.

    legibility.py                            measure this project
    legibility.py PATH ...                   measure files and folders
    legibility.py --limits PATH ...          also list the goals that are missed
    legibility.py --detail vague PATH ...    list the worst places of a column
    legibility.py --sample 10 PATH ...       draw functions
    legibility.py --sample-sentences 30      draw sentences
    legibility.py --ceilings                 compare with the table of ceilings
    legibility.py --write-ceilings           lower the ceilings to the numbers of today
    legibility.py --write-ceilings --raise GROUP GROUP    after a move of code

The table has a row for each group of files. A package has a row for each folder in it
and one for all of it, and so has a folder named `tests`. Every other PATH has one row.
A dash means that there is nothing to count.

The table of ceilings is tests/legibility_ceilings.txt. It contains the number of cases
that each group of this project may have in each column. A ceiling rises only if code
moves between the groups after --raise, and if the sum of these groups does not rise.

The exit status is 0 on success, 1 if --limits finds a missed goal or if a ceiling is
exceeded or out of date, and 2 if the command is wrong. A formatter changes only the
figures of the columns about width, which are '>100' and 'doc>88'.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from meter.ceilings import lowered, read_table, table_of, with_moved_code, write_table
from meter.columns import COLUMNS, Column
from meter.figures import figure_of, misses_goal, place_line, places_of, share_of
from meter.files import Groups, UsageError, measure_groups
from meter.measurement import Measurement
from meter.review import (
    CEILINGS,
    PROJECT_PATHS,
    complaints_about_ceilings,
    complaints_about_old_ceilings,
    complaints_about_rows,
    groups_with_ceilings,
)
from meter.samples import draw, functions_with_places, sentences_with_places

MAX_PLACES = 50
WIDTH = 9

INTERRUPTED = 130
"""Exit status of a program that Ctrl-C stops."""


def parsed_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line, and refuse options that exclude each other."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"columns:\n{descriptions_of_columns()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files and folders")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--limits", action="store_true", help="list the goals that are missed")
    modes.add_argument("--detail", metavar="COLUMN", help="list the worst places of a column")
    modes.add_argument("--sample", type=int, metavar="N", help="draw N functions")
    modes.add_argument("--sample-sentences", type=int, metavar="N", help="draw N sentences")
    modes.add_argument("--ceilings", action="store_true", help="compare with the ceilings")
    modes.add_argument("--write-ceilings", action="store_true", help="lower the ceilings")
    parser.add_argument("--seed", type=int, default=0, help="number of the draw (default: 0)")
    parser.add_argument("--raise", nargs="+", metavar="GROUP", dest="moved", help="moved code")
    options = parser.parse_args(arguments)

    if options.moved and not options.write_ceilings:
        parser.error("--raise changes the table of ceilings; add --write-ceilings")
    if options.paths and (options.ceilings or options.write_ceilings):
        parser.error("each ceiling is about a group of this project; leave out PATH")
    return options


def descriptions_of_columns() -> str:
    """Return a line about each column, with its goal."""
    lines = []
    for column in COLUMNS:
        line = f"  {column.name:17}{column.meaning}"
        if column.quantile is None:
            line += f", per {column.per} {column.population}"
        if column.goal is not None:
            sign = "at least" if column.is_reversed else "at most"
            line += f"; {sign} {column.goal:g}"
        lines.append(line)
    return "\n".join(lines)


def print_table(groups: Groups) -> None:
    """Print the figures of all groups, below the names and the goals of the columns."""
    width = max(len(name) for name in [*groups, "goal"])
    first_words = [column.name.split()[0] for column in COLUMNS]
    other_words = [" ".join(column.name.split()[1:]) for column in COLUMNS]
    for words in (first_words, other_words):
        print(" " * width + "".join(word.rjust(WIDTH) for word in words))
    goals = [cell(column.goal) for column in COLUMNS]
    print("goal".ljust(width) + "".join(goals))
    for name, measurements in groups.items():
        cells = [cell(figure_of(column, measurements)) for column in COLUMNS]
        print(name.ljust(width) + "".join(cells))


def cell(figure: float | None) -> str:
    """Write a figure in a column of the table."""
    text = "-" if figure is None else f"{figure:.1f}"
    return text.rjust(WIDTH)


def print_missed_goals(groups: Groups) -> int:
    """Print a line for each group, and return the exit status."""
    status = 0
    for name, measurements in groups.items():
        missed = []
        for column in COLUMNS:
            if misses_goal(column, measurements):
                figure = figure_of(column, measurements)
                missed.append(f"{column.name} {figure:.1f} (goal {column.goal:g})")
        if missed:
            status = 1
            print(f"{name}: missed {', '.join(missed)}")
        else:
            print(f"{name}: all goals met")
    return status


def column_with_name(name: str) -> Column:
    """Return a column, or refuse a name that has no cases."""
    columns = {column.name: column for column in COLUMNS if column.goal is not None}
    if name not in columns:
        message = f"--detail {name}: this column has no cases; choose among: {', '.join(columns)}"
        raise UsageError(message)
    return columns[name]


def print_detail(name: str, measurements: Sequence[Measurement]) -> None:
    """Print the number of cases in a column, and the worst places."""
    column = column_with_name(name)
    share = share_of(column, measurements)
    places = places_of(column, measurements)
    print(f"{share.cases} cases among {share.total} {column.population}; {column.remedy}")
    for path, case in places[:MAX_PLACES]:
        print(place_line(path, case))
    if len(places) > MAX_PLACES:
        number = len(places) - MAX_PLACES
        print(f"{number} more places; name a file or a smaller folder to list them")


def compare_with_ceilings() -> int:
    """Print the ceilings that are wrong, and return the exit status."""
    table = read_table(CEILINGS)
    complaints = complaints_about_rows(table)
    groups = groups_with_ceilings()
    complaints += complaints_about_ceilings(table, groups)
    complaints += complaints_about_old_ceilings(table, groups)
    for complaint in complaints:
        print(complaint)
    if complaints:
        return 1
    print("no group exceeds its ceilings")
    return 0


def write_ceilings(moved: Sequence[str] | None) -> int:
    """Write the table of ceilings, and print the ceilings that are still exceeded."""
    groups = groups_with_ceilings()
    today = table_of(groups)
    if not CEILINGS.exists():
        write_table(CEILINGS, today)
        print(f"{CEILINGS}: the table of {len(today)} groups is new")
        return 0
    old_table = read_table(CEILINGS)
    if moved:
        table = with_moved_code(old_table, today, moved)
    else:
        table = lowered(old_table, today)
    write_table(CEILINGS, table)
    number = sum(table[name] != old_table.get(name) for name in table)
    print(f"{CEILINGS}: {number} of {len(table)} rows changed")
    complaints = complaints_about_ceilings(table, groups)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


def run(options: argparse.Namespace) -> int:
    """Carry out the command, and return the exit status."""
    if options.ceilings:
        return compare_with_ceilings()
    if options.write_ceilings:
        return write_ceilings(options.moved)

    groups = measure_groups(options.paths or map(Path, PROJECT_PATHS))
    if options.sample is not None:
        lines = functions_with_places(each_file_once(groups))
        print("\n".join(draw(lines, options.sample, options.seed)))
        return 0
    if options.sample_sentences is not None:
        lines = sentences_with_places(each_file_once(groups))
        print("\n".join(draw(lines, options.sample_sentences, options.seed)))
        return 0
    if options.detail is not None:
        print_detail(options.detail, each_file_once(groups))
        return 0
    print_table(groups)
    if options.limits:
        return print_missed_goals(groups)
    return 0


def each_file_once(groups: Groups) -> list[Measurement]:
    """Return the measurements of all files. A file may belong to several groups."""
    by_path = {}
    for measurement in chain.from_iterable(groups.values()):
        by_path[measurement.path] = measurement
    return [by_path[path] for path in sorted(by_path)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program, and report a wrong command in one line."""
    options = parsed_options(arguments)
    try:
        return run(options)
    except BrokenPipeError:
        # The reader of the output, such as `head`, has closed it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except (UsageError, OSError) as error:
        print(f"legibility.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
