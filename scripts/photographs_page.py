"""Run the study of photographs and write docs/photographs.md's tables, answers and pictures.

    python scripts/photographs_page.py [--data DIR] [--out DIR]
    python scripts/photographs_page.py --sentences

The study takes up to two hours. Results that are in DIR already are not computed again.
Errors, settings and seconds of all methods by scene go to ``docs/counts/photographs.json``.

With ``--sentences`` nothing is run: only the sentence about the ends of the grids is written
again, from the tables of the page and the scripts in configs/photographs.
"""

import argparse
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counts import start_of_run, write_counts
from page_tables import block, with_block
from pandas import DataFrame

from stereo_framework.core.plugins import load_plugin
from stereo_framework.page.page import Statement
from stereo_framework.papers import find_paper
from stereo_framework.papers.reproduce import reproduce
from stereo_framework.script import load
from stereo_framework.tables.formats import to_text
from stereo_framework.tables.tables import Table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "photographs.md"
MOST = 2
"""Number of cases that an answer shows; the command writes all into a table of statements."""

SIGNIFICANT = 0.05
"""Largest p value with which a sign test decides a case."""

SWEPT = ("costs", "aggregation", "optimizers")
"""Tables with a column of the settings that were chosen for most scenes."""


@dataclass(frozen=True)
class GridEnd:
    """A method whose most frequent setting on photographs is at an end of its grid."""

    method: str
    parameters: str
    """Names and values of the parameters at this end, as text."""
    is_largest: bool


def answer(statement: Statement) -> str:
    """Return a sentence, its verdict, and the figures that decide, failed cases first."""
    sentence = statement.text
    if statement.source:
        sentence = f"{statement.text} (2002, {statement.source})"
    cases = [_marked_case(case) for case in statement.figures.split("; ")]
    shown = "; ".join(cases[:MOST])
    hidden = len(cases) - MOST
    remainder = f"; {hidden} more of the kind" if hidden > 0 else ""
    return f"- {sentence.rstrip('.')}: **{statement.verdict}**. {shown}{remainder}."


def _marked_case(case: str) -> str:
    """Mark a failed case: against the sentence, or not decided by its sign test."""
    if not case.startswith("not met: "):
        return case
    chance = re.search(r"p = ([\d.e-]+)$", case)
    undecided = chance is not None and float(chance[1]) >= SIGNIFICANT
    mark = "**not significant:**" if undecided else "**against it:**"
    return f"{mark} {case.removeprefix('NOT ')}"


def chosen_settings(text: str) -> dict[str, dict[str, str]]:
    """Return each table's settings that were chosen for most photographs, by method."""
    settings: dict[str, dict[str, str]] = {}
    for name in SWEPT:
        settings[name] = {}
        for line in block(text, name).splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("| ") and cells[0] not in ("method", "---"):
                settings[name][cells[0].removesuffix("\\*")] = cells[-1]
    return settings


def grids(name: str) -> dict[str, dict[str, list[float]]]:
    """Return the swept values of a script in configs/photographs by method and parameter."""
    values: dict[str, dict[str, list[float]]] = {}
    for setting in load(f"photographs/{name}").settings:
        parameters = values.setdefault(setting.method, {})
        for address, value in setting.axes.items():
            parameters.setdefault(address, []).append(float(value))
    return values


def grid_ends(text: str) -> list[GridEnd]:
    """Return the methods whose most frequent setting is at an end of their grid."""
    ends = []
    for name, settings in chosen_settings(text).items():
        grid_of_method = grids(name)
        for method, setting in settings.items():
            if setting != "-":
                ends += _ends_of_method(method, setting, grid_of_method[method])
    return ends


def _ends_of_method(method: str, setting: str, grid: dict[str, list[float]]) -> list[GridEnd]:
    largest = []
    smallest = []
    for assignment in setting.split(", "):
        parameter, _, number = assignment.rpartition(" ")
        swept_values = [
            values for address, values in grid.items() if address.endswith(f".{parameter}")
        ]
        if not swept_values:
            # The page shows a run with an earlier script, which swept this parameter.
            continue
        [values] = swept_values
        if float(number) == max(values):
            largest.append(assignment)
        if float(number) == min(values):
            smallest.append(assignment)
    ends = [GridEnd(method, ", ".join(largest), is_largest=True)] if largest else []
    if smallest:
        ends.append(GridEnd(method, ", ".join(smallest), is_largest=False))
    return ends


def sentence_of_ends(text: str) -> str:
    """Return the sentence of the page about the ends of the grids."""
    ends = grid_ends(text)
    largest = ", ".join(f"`{end.method}` ({end.parameters})" for end in ends if end.is_largest)
    smallest = ", ".join(f"`{end.method}` ({end.parameters})" for end in ends if not end.is_largest)
    if not ends:
        return (
            "- No method has the setting that is chosen for most photographs at an end of its grid."
        )
    sentence = (
        "- These methods have the setting that is chosen for most photographs at an end of their grid, "
        "and values beyond it were not tried."
    )
    if largest:
        sentence += f" At the largest value: {largest}."
    if smallest:
        sentence += f" At the smallest value: {smallest}."
    return sentence


def study_counts(outcomes: dict[str, Any]) -> dict[str, Any]:
    """Return errors, settings and seconds of the study's tables by method and scene."""
    tables: dict[str, Any] = {}
    for name, outcome in outcomes.items():
        conditions = outcome.data.get("lights") or {"": outcome.data.get("found")}
        for condition, frame in conditions.items():
            if isinstance(frame, DataFrame):
                tables[" ".join([name, condition]).strip()] = frame.to_dict(orient="records")
    return tables


def with_outcomes(text: str, outcomes: dict[str, Any]) -> str:
    """Return the page with the tables and answers of a run."""
    for name, outcome in outcomes.items():
        table = next(shown for shown in outcome.blocks if isinstance(shown, Table))
        rows = to_text(Table(table.header, table.texts()), "markdown").strip()
        answers = "\n".join(answer(statement) for statement in outcome.statements)
        text = with_block(text, name, f"{rows}\n\n{answers}")
    return text


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("reproduction/photographs"))
    parser.add_argument(
        "--sentences", action="store_true", help="run nothing; write the sentence about grids again"
    )
    arguments = parser.parse_args()

    text = PAGE.read_text(encoding="utf-8")
    if not arguments.sentences:
        start = start_of_run()
        load_plugin(str(ROOT / "benchmarks" / "photographs.py"))
        study = reproduce(find_paper("photographs"), arguments.out, data=arguments.data)
        write_counts(
            "photographs",
            "python scripts/photographs_page.py",
            {**start, "tables": study_counts(study.outcomes)},
        )
        text = with_outcomes(text, study.outcomes)
        _copy_pictures(arguments.out / "figures")
    PAGE.write_text(with_block(text, "grid_ends", sentence_of_ends(text)), encoding="utf-8")


def _copy_pictures(figures: Path) -> None:
    pictures = DOCS / "images" / "photographs"
    pictures.mkdir(exist_ok=True)
    for path in sorted(figures.glob("*.svg")):
        shutil.copy(path, pictures)


if __name__ == "__main__":
    main()
