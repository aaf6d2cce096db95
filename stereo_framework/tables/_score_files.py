"""Reading what holds scores of methods: folders of stored results, and CSV files.

A CSV file has a row for each method and a column for each score, which may be named ``SCENE:MEASURE``; or the columns ``method``, ``scene`` and one for each
statistic, as ``results --format csv`` prints them. An empty cell, ``-``, ``nan`` or null is a hole.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, short
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.io import read_bytes
from stereo_framework.sweep import Store
from stereo_framework.tables.means import is_average
from stereo_framework.tables.ranking import column_name
from stereo_framework.tables.words import setting_name

_HOLES = ("", "-", "nan", "null", "n/a")


@dataclass
class Entries:
    """All scores that files hold, before any column is chosen.

    Parameters
    ----------
    methods : dict of str to dict of (str, str) to float
        Scores by method, then by (scene, measure); the scene is empty if the table does not name one.
    protocols : dict of str to str
        Names of the scores' protocols, by the text of all their choices or, where a file does not hold these, by the name again.
    notes : list of str
        What was left out, one line each.
    """

    methods: dict[str, dict[tuple[str, str], float]] = field(default_factory=dict)
    protocols: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, where: str, method: str, scene: str, scores: Mapping[str, float], split: str = "") -> None:
        """Add the scores of one method on a scene; averages are left out. Without a scene, a measure's name may begin with the scene's name and `split`."""
        if is_average(scene):
            return
        row = self.methods.setdefault(method, {})
        for measure, score in scores.items():
            key = (scene, measure)
            if not scene and split and split in measure:
                key = (measure.partition(split)[0], measure.partition(split)[2])
            if row.setdefault(key, score) != score and not (math.isnan(row[key]) and math.isnan(score)):
                raise DataError(
                    f"{where}: method {method!r} has two scores in {column_name(*key)}, {row[key]:g} and {score:g}; "
                    "give every row a method name of its own"
                )


def read_entries(path: Path, entries: Entries, protocol: str | None, split: str) -> None:
    """Add the scores of a results folder or a file; see `score_tables.read_scores`."""
    if path.is_dir():
        _read_results(path, entries, protocol)
        return
    if path.suffix.lower() != ".csv":
        raise DataError(f"{path}: expected a results folder or a .csv file")
    try:
        text = read_bytes(path, limits.TABLE, empty=True).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: cannot be read: not UTF-8 text") from error
    _read_csv(path, text, entries, protocol, split)


def _read_results(folder: Path, entries: Entries, protocol: str | None) -> None:
    with Store(folder) as store:
        results, lacking = store.results(), store.lacking()
    if lacking:
        entries.notes.append(f"{folder}: {lacking}")
    for result in results:
        if protocol in (None, result.protocol):
            # A failed run has a protocol but no scores.
            entries.add(str(folder), setting_name(result), result.scene, result.statistics)
            entries.protocols[result.protocol_text] = result.protocol


def _read_csv(path: Path, text: str, entries: Entries, protocol: str | None, split: str) -> None:
    try:
        lines = [line for line in csv.reader(text.splitlines()) if line]
    except csv.Error as error:
        raise DataError(f"{path}: is damaged or not a CSV file: {error}") from None
    header = [name.strip() for name in lines[0]] if lines else []
    if len(header) < 2 or len(lines) < 2:
        raise DataError(f"{path}: no table: expected a line of column names, then a line for each method")
    twice = next((name for name, count in Counter(header).items() if count > 1), None)
    if twice is not None:
        raise DataError(f"{path}: the column {short(twice, 80)!r} occurs twice")
    uneven = next((i for i, line in enumerate(lines) if len(line) != len(header)), None)
    if uneven is not None:
        raise DataError(f"{path}: row {uneven} has {len(lines[uneven])} cells, the header {len(header)}")
    rows = [dict(zip(header, (cell.strip() for cell in line), strict=True)) for line in lines[1:]]
    if protocol is not None and "protocol" in header:
        rows = [row for row in rows if row["protocol"] == protocol]
    entries.protocols |= {row["protocol"]: row["protocol"] for row in rows if row.get("protocol")}
    first = "method" if "method" in header else header[0]
    per_scene = "scene" in header
    others = [name for name in header if name not in (first, "scene", "protocol") and (not per_scene or metric_of(name))]
    for row, scores in zip(rows, _numbers(path, first, others, rows), strict=True):
        entries.add(str(path), row[first], row.get("scene", ""), scores, split)


def _numbers(path: Path, first: str, columns: Iterable[str], rows: Sequence[Mapping[str, str]]) -> list[dict[str, float]]:
    """The cells of columns as numbers. A column without any number holds text and is left out; in all others every cell must be a number or a hole."""
    found: list[dict[str, float]] = [{} for _ in rows]
    for column in columns:
        numbers = [_number(row[column]) for row in rows]
        if all(n is None or math.isnan(n) for n in numbers) and any(n is None for n in numbers):
            continue
        for row, number, scores in zip(rows, numbers, found, strict=True):
            if number is None:
                raise DataError(f"{path}: {row[first]}, column {column!r}: {row[column]!r} is not a number")
            scores[column] = number
    return found


def _number(cell: str) -> float | None:
    try:
        return math.nan if cell.lower() in _HOLES else float(cell)
    except ValueError:
        return None
