"""The comparison of a project with its table of ceilings, in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .ceilings import Exceeded, Table, exceeded, is_out_of_date, table_of
from .changes import Changes, changes_since
from .columns import COLUMNS_WITH_GOAL
from .figures import figure_of, place_line, places_of
from .files import Groups, files_of_groups, is_divided, measure_groups
from .measurement import Measurement

PROJECT_PATHS = (
    "stereo_framework",
    "tests",
    "scripts",
    "benchmarks",
    "examples",
    "configs",
    "docs",
    "paper",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)
"""The paths of this project that are measured, from the folder of the project."""

CEILINGS = Path("tests", "legibility_ceilings.txt")
"""The file of the table of ceilings, from the folder of the project."""

WRITE_COMMAND = "python scripts/legibility.py --write-ceilings"

ADVICE_ON_MOVES = (
    "if the code only moves between groups, name all of these groups: "
    f"{WRITE_COMMAND} --raise GROUP GROUP"
)

MAX_PLACES = 10


def groups_with_ceilings() -> Groups:
    """Measure the project, without the groups that other groups are parts of."""
    paths = [Path(name) for name in PROJECT_PATHS]
    groups = measure_groups(paths)
    return {name: groups[name] for name in names_of_groups()}


def names_of_groups() -> list[str]:
    """Return the names of the groups that need a row in the table of ceilings."""
    paths = [Path(name) for name in PROJECT_PATHS]
    wholes = {path.name for path in paths if is_divided(path)}
    return [name for name in files_of_groups(paths) if name not in wholes]


def complaints_about_rows(table: Table) -> list[str]:
    """Return a sentence for each group without a row, and each row without a group."""
    names = set(names_of_groups())
    complaints = []
    for name in sorted(names - table.keys()):
        complaints.append(
            f"{name}: the group has no row in {CEILINGS}; add it with: {WRITE_COMMAND}"
        )
    for name in sorted(table.keys() - names):
        complaints.append(
            f"{name}: the row in {CEILINGS} has no group; remove it with: {WRITE_COMMAND}"
        )
    return complaints


def complaints_about_ceilings(table: Table, groups: Groups) -> list[str]:
    """Return a sentence for each exceeded ceiling, with the places to change.

    The last sentence is advice for commits that move code.
    """
    broken = exceeded(table, table_of(groups))
    if not broken:
        return []
    changes = changes_since(Path.cwd(), CEILINGS)
    complaints = [_complaint(ceiling, groups[ceiling.group], changes) for ceiling in broken]
    return [*complaints, ADVICE_ON_MOVES]


def _complaint(broken: Exceeded, group: Sequence[Measurement], changes: Changes) -> str:
    """Describe an exceeded ceiling: the numbers, the remedy and the places."""
    column = broken.column
    figure = figure_of(column, group)
    event = f"{broken.today.cases} cases in the column '{column.name}' (figure {figure:.1f})"
    limit = f"the ceiling is {broken.ceiling}, which allows {broken.allowed} cases today"
    lines = [f"{broken.group}: {event}; {limit}; {column.remedy}"]

    places = places_of(column, group)
    new_places = []
    for path, case in places:
        if changes.contain(path, case.line, case.last_line):
            new_places.append((path, case))
    kind = "changed line" if new_places else "worst place"
    for path, case in (new_places or places)[:MAX_PLACES]:
        lines.append(f"  {kind}: {place_line(path, case)}")
    return "\n".join(lines)


def complaints_about_old_ceilings(table: Table, groups: Groups) -> list[str]:
    """Return a sentence for each ceiling that is clearly higher than today's number."""
    today = table_of(groups)
    complaints = []
    for name in sorted(table.keys() & today.keys()):
        for column in COLUMNS_WITH_GOAL:
            ceiling = table[name][column.name]
            share = today[name][column.name]
            if is_out_of_date(ceiling, share):
                event = f"{share.cases} cases in the column '{column.name}'"
                limit = f"this is clearly below the ceiling of {ceiling.cases}"
                complaints.append(f"{name}: {event}; {limit}; lower it with: {WRITE_COMMAND}")
    return complaints
