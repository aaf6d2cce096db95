"""Store figures that only pages have, because the runs behind them kept no counts.

    python scripts/record_pages.py

Nothing is measured. Times of tables are read from the pages as they were at the oldest
commit that has them, and sentences with times from the oldest commit with that sentence.
The files are marked as recorded, not measured again. ``benchmarks/quality.py --times
--counts`` and ``scripts/method_tables.py`` replace the recorded entries.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import page_tables
from counts import FOLDER, add_counts, read_counts, write_counts

ROOT = Path(__file__).parents[1]
COMMAND = "python scripts/record_pages.py"

PAGES_BEFORE = "adbce53c"
"""The last commit whose pages have figures that were written by hand."""
NOTE = "recorded from the page at this commit, not measured again; the load of the machine was not stored"

SENTENCES = (
    ("README.md", "for up to half a minute"),
    ("docs/start.md", "for up to half a minute"),
    (
        "docs/photographs.md",
        "of runs that went two at a time beside other work; section 6 had the machine, of two cores, to itself",
    ),
    ("docs/photographs.md", "It takes up to two hours on two cores"),
    ("docs/photographs.md", "`--quick` takes five minutes and one scene"),
    ("docs/photographs.md", "were measured later, with less beside them"),
)
"""Pages and the words of sentences about times that no script has stored."""

CHOICES = {
    "pairs": r"all real pairs of the data folder, (\d+) of them",
    "pairs_with_the_default_best": r"it is the best map of (\d+) of \d+ pairs",
    "maps_called_worse": r"Of the (\d+) maps that were called worse all are",
    "maps_rightly_called_worse": r"Of the (\d+) maps that were called worse all are",
}
"""Counts of docs/notes/method_choice.md with the sentences that give them."""


def oldest_commit(page: str, value: Callable[[str], Any]) -> str:
    """Return the oldest commit since which a value that is read from a page is unchanged."""
    commits = _git("log", "--format=%H", PAGES_BEFORE, "--", page).split()
    latest = value(_git("show", f"{PAGES_BEFORE}:{page}"))
    oldest = commits[0]
    for commit in commits[1:]:
        try:
            earlier = value(_git("show", f"{commit}:{page}"))
        except ValueError:
            # The table had no markers at that commit.
            break
        if earlier != latest:
            break
        oldest = commit
    return oldest


def rows(text: str, first_cells: str) -> list[list[str]]:
    """Return the cells of all table rows whose first cell matches an expression."""
    lines = re.findall(r"^\| (.*) \|$", text, re.MULTILINE)
    cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    return [row for row in cells if re.fullmatch(first_cells, row[0])]


def peer_times(text: str) -> dict[str, Any]:
    """Return the times and the memory of docs/why.md's table, by method."""
    methods = {}
    for method, name in page_tables.PEERS.items():
        for row in rows(text, re.escape(name)):
            if len(row) == 5:
                methods[method] = {"piano": {"seconds": float(row[3]), "memory_mib": float(row[4])}}
    return methods


def peer_errors(text: str) -> dict[str, Any]:
    """Return the errors of docs/why.md's table, by method."""
    methods = {}
    for method, name in page_tables.PEERS.items():
        for row in rows(text, re.escape(name)):
            photographs, roads = (_float(cell.removesuffix(" %")) for cell in row[1:3])
            methods[method] = {"means": {"C": {"1": photographs}, "roads": {"3": roads}}}
    return methods


def result_times(text: str) -> dict[str, Any]:
    """Return the seconds of docs/results.md's tables by table and method."""
    seconds: dict[str, Any] = {}
    for name in page_tables.RESULT_TABLES:
        if name not in page_tables.WITHOUT_SECONDS:
            table = rows(page_tables.block(text, name), "`.*`")
            seconds[name] = {"seconds": {row[0].strip("`"): float(row[-1]) for row in table}}
    return seconds


def result_errors(text: str) -> dict[str, Any]:
    """Return the errors of docs/results.md's tables, and of its sentence on KITTI 2012."""
    tables: dict[str, Any] = {}
    for name, columns in page_tables.RESULT_TABLES.items():
        table = rows(page_tables.block(text, name), "`.*`")
        tables[name] = {
            "means": {
                row[0].strip("`"): [_float(cell) for cell in row[1 : 1 + len(columns)]]
                for row in table
            }
        }
    sentence = re.search(r"KITTI 2012 kit.*", text)
    figures = re.findall(r"`(\w+)` (?:has )?(\d+\.\d+)", sentence[0] if sentence else "")
    tables["kept_road"] = {"means": {method: [float(error)] for method, error in figures}}
    return tables


def seed_means(text: str) -> list[float]:
    """Return the means over three seeds of docs/results.md, of photographs and roads."""
    sentence = re.search(r"the mean of three seeds is (.*)", text)
    return [float(number) for number in re.findall(r"\d+\.\d+", sentence[1] if sentence else "")]


def _float(cell: str) -> float | None:
    """Return the number of a cell; None if an earlier page has words there."""
    return float(cell) if re.fullmatch(r"[\d.]+", cell) else None


def choices(text: str) -> dict[str, int | None]:
    """Return the counts of docs/notes/method_choice.md; None if an earlier page lacks one."""
    counts = {name: _number(sentence, text) for name, sentence in CHOICES.items()}
    counts["pairs_with_the_default_chosen"] = (
        counts["pairs"] if "`fine` is always chosen" in text else None
    )
    counts["maps_called_better"] = 0 if "none was called better" in text else None
    return counts


def _number(sentence: str, text: str) -> int | None:
    match = re.search(sentence, text)
    return int(match[1]) if match else None


def sentences() -> list[dict[str, str]]:
    """Return the sentences about times, each with the oldest commit that has its words."""
    return [
        {
            "page": page,
            "words": words,
            "commit": oldest_commit(page, lambda text, words=words: words in text),
        }
        for page, words in SENTENCES
    ]


def digest_of_table(text: str, name: str) -> str:
    """Return a digest of the rows of a generated table of docs/photographs.md."""
    table = [line for line in page_tables.block(text, name).splitlines() if line.startswith("|")]
    return hashlib.sha256("\n".join(table).encode()).hexdigest()


def tables_of_study() -> dict[str, dict[str, str]]:
    """Return the digests of the tables of docs/photographs.md, with their oldest commits."""
    page = "docs/photographs.md"
    text = _git("show", f"{PAGES_BEFORE}:{page}")
    names = re.findall(r"<!-- (\w+) -->\n\|", text)
    return {
        name: {
            "commit": oldest_commit(page, lambda text, name=name: digest_of_table(text, name)),
            "sha256": digest_of_table(text, name),
        }
        for name in names
    }


def record_tables_of_study() -> None:
    """Store the digests of the study's tables, unless a run has written the table."""
    stored = read_counts("photographs_tables")
    if "recorded" not in stored:
        return
    written = {name: table for name, table in stored["tables"].items() if "command" in table}
    content = {"recorded": NOTE, "tables": {**tables_of_study(), **written}}
    write_counts("photographs_tables", COMMAND, content)


def record(name: str, page: str, value: Callable[[str], dict[str, Any]]) -> None:
    """Store entries that a page shows, with the oldest commit that has all of them.

    Entries that a run has written stay as they are.
    """
    path = FOLDER / f"{name}.json"
    stored = read_counts(name)["entries"] if path.is_file() else {}
    commit = oldest_commit(page, value)
    for entry_name, entry in value(_git("show", f"{commit}:{page}")).items():
        if "recorded" in stored.get(entry_name, {"recorded": ""}):
            add_counts(
                name,
                COMMAND,
                entry_name,
                {"commit": commit, "recorded": NOTE, "page": page, **entry},
            )


def record_seeds() -> None:
    """Add the means over seeds to the entry of `fine`, unless a run has written it."""
    entry = page_tables.entry("quality", "fine")
    if "recorded" in entry:
        numbers = seed_means(_git("show", f"{PAGES_BEFORE}:docs/results.md"))
        means = {"seeds": 3, "seed_means": {"C": numbers[:3], "roads": numbers[3:]}}
        add_counts("quality", COMMAND, "fine", {**entry, **means})


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def main() -> None:
    """Store figures of tables and sentences that no run has stored."""
    record("quality", "docs/why.md", peer_errors)
    record("quality_times", "docs/why.md", peer_times)
    record("results", "docs/results.md", result_errors)
    record("results_times", "docs/results.md", result_times)
    record("method_choice", "docs/notes/method_choice.md", lambda text: {"choices": choices(text)})
    record_seeds()
    record_tables_of_study()
    write_counts("sentences", COMMAND, {"recorded": NOTE, "sentences": sentences()})


if __name__ == "__main__":
    main()
