"""Run the study of photographs, and write its results to docs/photographs.md.

    python scripts/photographs_page.py [ITEM ...] [--data DATA] [--out OUT]
    python scripts/photographs_page.py --sentences

An ITEM is a section of the page, such as ``costs`` or ``optimizers``; without ITEM, all
are run. Each section is written as soon as its runs are done, since the study takes
hours. Results that are in OUT already are not computed again. Errors, settings and seconds of
all methods by scene go to ``docs/counts/photographs.json``, and the digests of the
tables to ``docs/counts/photographs_tables.json``.

With ``--sentences`` nothing is run: only the sentence about the ends of the grids is written
again, from the tables of the page and the scripts in configs/photographs.
"""

import argparse
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counts import add_counts, read_counts, start_of_run, write_counts
from page_tables import block, with_block
from pandas import DataFrame
from record_pages import digest_of_table

from stereo_framework.core.plugins import load_plugin
from stereo_framework.page.page import Statement
from stereo_framework.papers import find_paper
from stereo_framework.papers.claim import AGAINST, OPEN
from stereo_framework.papers.reproduce import reproduce
from stereo_framework.script import load
from stereo_framework.tables.formats import to_text
from stereo_framework.tables.tables import Table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "photographs.md"
COMMAND = "python scripts/photographs_page.py"
MOST_SUPPORTING_CASES = 2
"""Number of cases that support a sentence and that an answer shows at most.

``stereo-framework reproduce`` writes all cases.
"""

SECTIONS_WITH_GRIDS = ("costs", "aggregation", "optimizers")
"""Sections whose chosen settings are compared with the ends of their grids."""

END_GROUPS = ("photographs", "roads")
"""Groups of scenes whose settings at an end of a grid are named: those that decide."""


@dataclass(frozen=True)
class GridEnd:
    """The most frequent setting of a method in a group, at an end of its grid."""

    method: str
    parameters: str
    """Names and values of the parameters at this end, as text."""
    group: str
    is_largest: bool


def answer(statement: Statement) -> str:
    """Return a sentence, its verdict and its cases as a nested list in Markdown.

    A case is one comparison. Each case that speaks against the sentence, or that is not
    decided, has a line. Of the cases that support it, one line shows the first.
    """
    sentence = _with_source(statement)
    # The figures of a statement are its cases, joined with this separator.
    cases = statement.figures.split("; ")
    marked = [_marked_case(case) for case in cases if case.startswith((AGAINST, OPEN))]
    supporting = [case for case in cases if not case.startswith((AGAINST, OPEN))]
    shown = "; ".join(supporting[:MOST_SUPPORTING_CASES])
    hidden = len(supporting) - MOST_SUPPORTING_CASES
    remainder = f"; {hidden} more of the kind" if hidden > 0 else ""
    count = "1 comparison" if len(cases) == 1 else f"{len(cases)} comparisons"
    lines = [f"- {sentence}: **{statement.verdict}** ({count})."]
    if supporting:
        lines.append(f"  - For it: {shown}{remainder}.")
    lines += [f"  - {case}." for case in marked]
    lines += [f"  - {note}" for note in statement.notes if note.startswith("Earlier rule")]
    return "\n".join(lines)


def _with_source(statement: Statement) -> str:
    """Return a sentence with its source, and with its tested parts in bold.

    A sentence without source loses its period, because a verdict follows.
    """
    text = statement.text
    for part in statement.tested_parts:
        text = text.replace(part, f"**{part}**", 1)
    if statement.source:
        return f"{text} (2002, {statement.source})"
    return text.rstrip(".")


def _marked_case(case: str) -> str:
    """Mark a case that is against the sentence or that is not decided."""
    if case.startswith(AGAINST):
        return f"**Against it:** {case.removeprefix(AGAINST)}"
    return f"**Not decided:** {case.removeprefix(OPEN)}"


def chosen_settings(text: str) -> dict[str, dict[tuple[str, str], str]]:
    """Return each table's most frequent settings by method and group."""
    settings: dict[str, dict[tuple[str, str], str]] = {}
    for name in SECTIONS_WITH_GRIDS:
        settings[name] = {}
        lines = block(text, f"{name}_settings").splitlines()
        rows = [_cells_of_line(line) for line in lines if line.startswith("| ")]
        header = rows[0]
        for row in rows[2:]:
            method = row[0].removesuffix("\\*")
            for group, cell in zip(header[1:], row[1:], strict=True):
                # A cell has settings with numbers of scenes: "size 9 (7); size 15 (3)".
                most_frequent = cell.partition(";")[0]
                settings[name][method, group] = re.sub(r" \(\d+\)$", "", most_frequent)
    return settings


def _cells_of_line(line: str) -> list[str]:
    """Return the cells of a row of a table in Markdown."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def grids(name: str) -> dict[str, dict[str, list[float]]]:
    """Return the swept numbers of a script by method and parameter.

    Parameters whose values are no numbers have no ends, and are left out.
    """
    values: dict[str, dict[str, list[float]]] = {}
    for setting in load(f"photographs/{name}").settings:
        parameters = values.setdefault(setting.method, {})
        for address, value in setting.axes.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                parameters.setdefault(address, []).append(float(value))
    return values


def grid_ends(text: str) -> list[GridEnd]:
    """Return the methods whose most frequent setting is at an end of their grid."""
    ends = []
    for name, settings in chosen_settings(text).items():
        grid_of_method = grids(name)
        for (method, group), setting in settings.items():
            if group in END_GROUPS and setting != "-":
                ends += _ends_of_method(method, group, setting, grid_of_method[method])
    return ends


def _ends_of_method(
    method: str, group: str, setting: str, grid: dict[str, list[float]]
) -> list[GridEnd]:
    """Return the ends of the grid that a setting of a method lies at, if any."""
    largest = []
    smallest = []
    for assignment in setting.split(", "):
        parameter, _, number = assignment.rpartition(" ")
        # Of two parameters of one name, the setting also has the name of the stage.
        of_parameter = [
            values for address, values in grid.items() if f".{address}".endswith(f".{parameter}")
        ]
        if len(of_parameter) != 1:
            # No grid of numbers fits, or several do. Then the values are not numbers,
            # or the page is older than the script, which swept other parameters.
            continue
        [values] = of_parameter
        if min(values) == max(values):
            continue
        if float(number) == max(values):
            largest.append(assignment)
        if float(number) == min(values):
            smallest.append(assignment)
    ends = []
    if largest:
        ends.append(GridEnd(method, ", ".join(largest), group, is_largest=True))
    if smallest:
        ends.append(GridEnd(method, ", ".join(smallest), group, is_largest=False))
    return ends


def sentence_of_ends(text: str) -> str:
    """Return the sentence of the page about the ends of the grids."""
    ends = grid_ends(text)
    if not ends:
        return "- No method has its most frequent setting on photographs or roads at an end of its grid."
    sentences = [
        "- These methods have their most frequent setting on photographs or roads at an end of their grid, and values beyond it are not part of the grid."
    ]
    for is_largest, place in ((True, "At the largest value"), (False, "At the smallest value")):
        listed = _listed_ends([end for end in ends if end.is_largest == is_largest])
        if listed:
            sentences.append(f"{place}: {listed}.")
    return " ".join(sentences)


def _listed_ends(ends: list[GridEnd]) -> str:
    """Return methods with their parameters at an end and the groups, as text."""
    groups: dict[tuple[str, str], list[str]] = {}
    for end in ends:
        groups.setdefault((end.method, end.parameters), []).append(end.group)
    return ", ".join(
        f"`{method}` ({parameters}; {' and '.join(names)})"
        for (method, parameters), names in groups.items()
    )


def study_counts(outcomes: dict[str, Any]) -> dict[str, Any]:
    """Return errors, settings and seconds of the study's tables by method and scene."""
    tables: dict[str, Any] = {}
    for name, outcome in outcomes.items():
        conditions = outcome.data.get("lights")
        if conditions is None:
            conditions = {"": outcome.data.get("errors", outcome.data.get("textured_rms"))}
        for condition, frame in conditions.items():
            if isinstance(frame, DataFrame):
                tables[" ".join([name, condition]).strip()] = frame.to_dict(orient="records")
    return tables


def with_outcomes(text: str, outcomes: dict[str, Any]) -> str:
    """Return the page with the tables, settings and answers of a run.

    An outcome has two tables: its errors, and then its settings.
    """
    for name, outcome in outcomes.items():
        table, settings = [shown for shown in outcome.blocks if isinstance(shown, Table)]
        answers = "\n".join(answer(statement) for statement in outcome.statements)
        text = with_block(text, name, f"{_markdown(table)}\n\n{answers}")
        text = with_block(text, f"{name}_settings", settings_text(settings))
    return text


EARLIER_RULES = (
    "were measured with earlier rules and settings: roads count errors above 1 pixel, RMS errors "
    'are those of other pixels for each map, "does not hold" also stands for sentences that are '
    "not decided, grey values are means of the channels, optimizers stop after one cycle or ten "
    "iterations, and some grids are smaller, so that more of the chosen settings lie at an end."
)
"""The end of a sentence: how tables differ that this script has not written yet."""


def sentence_of_runs(tables: dict[str, dict[str, str]]) -> str:
    """Return the sentence of the page about the commits of its tables.

    Parameters
    ----------
    tables : dict
        The tables of ``docs/counts/photographs_tables.json``. A table has a command if
        a run has written it.
    """
    written = {name: table["commit"] for name, table in tables.items() if "command" in table}
    sentences = [
        f"The table `{name}`, with its settings and verdicts, was written at commit `{commit[:8]}`."
        for name, commit in written.items()
    ]
    earlier = [f"`{name}`" for name in tables if name not in written]
    if earlier:
        sentences.append(f"The tables and verdicts of {', '.join(earlier)} {EARLIER_RULES}")
    return "- " + " ".join(sentences)


def settings_text(table: Table) -> str:
    """Return the settings of a table: how they were chosen, and which were chosen."""
    explanation = f"Settings: {' '.join(table.notes)}"
    return f"{explanation}\n\n{_markdown(table)}" if table.rows else explanation


def _markdown(table: Table) -> str:
    """Return the rows of a table, without title and notes."""
    return to_text(Table(table.header, table.texts()), "markdown").strip()


def tables_after_run(
    text: str, outcomes: dict[str, Any], stored: dict[str, Any], commit: str
) -> dict[str, Any]:
    """Return the digests of all tables, with new digests of the tables of a run.

    Parameters
    ----------
    text : str
        The page after the run.
    outcomes : dict
        The sections that the run has computed, by name.
    stored : dict
        The content of ``docs/counts/photographs_tables.json`` before the run.
    commit : str
        The commit of the run.
    """
    tables = dict(stored["tables"])
    for name in outcomes:
        digest = digest_of_table(text, name)
        tables[name] = {"command": f"{COMMAND} {name}", "commit": commit, "sha256": digest}
    content: dict[str, Any] = {"tables": tables}
    if any("command" not in table for table in tables.values()):
        content["recorded"] = stored["recorded"]
    return content


def main() -> None:
    """Run the items, write their sections, and write the sentence on ends of grids."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("items", nargs="*", metavar="ITEM", help="section; default: all")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("reproduction/photographs"))
    parser.add_argument(
        "--sentences", action="store_true", help="run nothing; write the sentence about grids again"
    )
    arguments = parser.parse_args()

    if not arguments.sentences:
        load_plugin(str(ROOT / "benchmarks" / "photographs.py"))
        paper = find_paper("photographs")
        for name in arguments.items or [item.name for item in paper.items]:
            start = start_of_run()
            study = reproduce(paper, arguments.out, item=name, data=arguments.data)
            _write_section(name, study.outcomes, start)
            _copy_pictures(arguments.out / "figures")
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_block(text, "grid_ends", sentence_of_ends(text)), encoding="utf-8")


def _write_section(name: str, outcomes: dict[str, Any], start: dict[str, Any]) -> None:
    """Write the section of an item, its errors, and the digest of its table."""
    text = with_outcomes(PAGE.read_text(encoding="utf-8"), outcomes)
    add_counts("photographs", f"{COMMAND} {name}", name, {**start, **study_counts(outcomes)})
    content = tables_after_run(text, outcomes, read_counts("photographs_tables"), start["commit"])
    write_counts("photographs_tables", COMMAND, content)
    text = with_block(text, "measured", sentence_of_runs(content["tables"]))
    PAGE.write_text(text, encoding="utf-8")


def _copy_pictures(figures: Path) -> None:
    pictures = DOCS / "images" / "photographs"
    pictures.mkdir(exist_ok=True)
    for path in sorted(figures.glob("*.svg")):
        shutil.copy(path, pictures)


if __name__ == "__main__":
    main()
