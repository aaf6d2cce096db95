"""The table of scores by which methods are ranked, made from results folders and CSV files.

A CSV file has a row for each method and a column for each score, which may be named ``SCENE:MEASURE``; or the columns ``method``, ``scene`` and one for each
statistic, as ``results --format csv`` prints them. An empty cell, ``-``, ``nan`` or null is a hole.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ParameterError, few, nearest, short
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.metrics import metric_of, spelled_out
from stereo_framework.io import read_bytes
from stereo_framework.sweep import Result, Store
from stereo_framework.tables.means import is_average
from stereo_framework.tables.ranking import LEVELS, column_name
from stereo_framework.tables.tables import BAD_PIXELS, COVERAGE, density
from stereo_framework.tables.words import setting_name

if TYPE_CHECKING:
    import pandas

_NAMED = 6
"""Methods in one line, before the rest is only counted."""

_HOLES = ("", "-", "nan", "null", "n/a")


class _Row(NamedTuple):
    """Scores of a method on a scene, which is empty where a file names none, and the protocol's name and text, as far as it is known."""

    method: str
    scene: str
    scores: Mapping[str, float]
    protocol: str = ""
    text: str = ""


Scores = dict[str, dict[tuple[str, str], float]]
"""By method, then by scene and measure."""


def read_scores(
    tables: Sequence[Path | Sequence[Result]],
    *,
    measures: Sequence[str] = (),
    better: Mapping[str, Literal["lower", "higher"]] | None = None,
    protocol: str | None = None,
    split: str = ":",
) -> tuple[pandas.DataFrame, tuple[str, ...]]:
    """Read scores from results folders and CSV files. Several files together make one table.

    Parameters
    ----------
    tables : sequence of Path or of sequences of Result
    measures : sequence of str
        Which measures to use and in which order, given by name, by group (``hci``: the nine HCI metrics) or by pattern (``bad_pixels_*``); also whole
        columns, ``SCENE:MEASURE``. Default: the bad pixels in the benchmarks' regions; without these, the HCI metrics; otherwise all columns of numbers.
    better : mapping of str to str
        ``"lower"`` or ``"higher"``, by the name or pattern of a measure, of which the most specific one counts. It overrides `metrics.METRICS`.
    protocol : str, optional
        Use only results of the protocol of this name.
    split : str
        The text between scene and measure in the names of columns; empty if the names contain no scene.

    Returns
    -------
    scores : DataFrame
        As `rank_methods` takes it, NaN where a method has no score.
    notes : tuple of str
        What was left out, one line each.

    Raises
    ------
    DataError
        A file is missing or is not a table, the results are of several protocols, or a score is given twice.
    ParameterError
        No table has a measure, or it is not known whether lower or higher values of a measure are better.
    """
    notes: list[str] = []
    methods: Scores = {}
    protocols: dict[str, str] = {}
    for path in tables:
        for row in _rows(path, notes):
            # Of scores without a protocol it is not known that they are others.
            if is_average(row.scene) or (protocol is not None and row.protocol not in ("", protocol)):
                continue
            if row.protocol:
                protocols[row.text or row.protocol] = row.protocol
            own = methods.setdefault(row.method, {})
            for measure, score in row.scores.items():
                key = (row.scene, measure)
                if not row.scene and split and split in measure:
                    key = (measure.partition(split)[0], measure.partition(split)[2])
                if own.setdefault(key, score) != score and not (math.isnan(own[key]) and math.isnan(score)):
                    raise DataError(
                        f"{path if isinstance(path, Path) else row.scene}: method {row.method!r} has two scores in {column_name(*key)}, {own[key]:g} and {score:g}; "
                        "give every row a method name of its own"
                    )
    if not methods:
        raise DataError(
            f"{', '.join(map(str, tables))}: no method" + (f" with results of the protocol {protocol!r}" if protocol else "")
        )
    _check_protocols(protocols)
    chosen = _choose(methods, measures, notes)
    import pandas

    columns = pandas.MultiIndex.from_tuples([(*key, _direction(*key, better or {})) for key in chosen], names=LEVELS)
    values = [[row.get(key, math.nan) for key in chosen] for row in methods.values()]
    found = pandas.DataFrame(values, list(methods), columns, dtype=float)
    return found, (*notes, *_unlike(methods, [measure for _, measure in chosen]))


def _rows(path: Path | Sequence[Result], notes: list[str]) -> Iterable[_Row]:
    """What a results folder or a CSV file holds, or what results do."""
    if not isinstance(path, Path):
        # A failed run has a protocol but no scores.
        return [_Row(setting_name(r), r.scene, r.statistics, r.protocol, r.protocol_text) for r in path]
    if path.is_dir():
        with Store(path) as store:
            results, lacking = store.results(), store.lacking()
        if lacking:
            notes.append(f"{path}: {lacking}")
        return _rows(results, notes)
    if path.suffix.lower() != ".csv":
        raise DataError(f"{path}: expected a results folder or a .csv file")
    try:
        text = read_bytes(path, limits.TABLE, empty=True).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: cannot be read: not UTF-8 text") from error
    return _rows_of_csv(path, text)


def _rows_of_csv(path: Path, text: str) -> Iterator[_Row]:
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
    first = "method" if "method" in header else header[0]
    per_scene = "scene" in header
    others = [name for name in header if name not in (first, "scene", "protocol") and (not per_scene or metric_of(name))]
    for row, scores in zip(rows, _numbers(path, first, others, rows), strict=True):
        yield _Row(row[first], row.get("scene", ""), scores, row.get("protocol", ""))


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


def _unlike(methods: Scores, measures: Collection[str]) -> list[str]:
    """That maps of unlike coverage are compared, where the coverage does not stand in a column."""
    if {"density_all", COVERAGE} & set(measures):
        return []
    means: dict[str, float] = {}
    for method, row in methods.items():
        scenes = dict.fromkeys(scene for scene, _ in row)
        found = [density({m: score for (s, m), score in row.items() if s == scene}) for scene in scenes]
        percents = [percent for percent in found if percent is not None]
        if percents:
            means[method] = sum(percents) / len(percents)
    sparse = [f"{method} {mean:.3g} %" for method, mean in means.items() if mean < 100]
    unlike = len({f"{mean:.3g}" for mean in means.values()}) > 1
    # Where all leave out as much, nobody gains.
    return [f"maps of unlike coverage are compared; with an estimate are, in the mean: {few(sparse, _NAMED)}"] if unlike else []


def _check_protocols(protocols: Mapping[str, str]) -> None:
    """Refuse several protocols; by their texts, or by their names where a file gives these alone."""
    names = dict.fromkeys(protocols.values())
    if len(names) > 1:
        raise DataError(
            f"results of several protocols ({', '.join(names)}) cannot be ranked together; choose one with --protocol, or measure all with one"
        )
    if len([text for text, name in protocols.items() if text != name]) > 1:
        raise DataError(
            f"results of protocols that are all called {next(iter(names))} and differ cannot be ranked together; measure all with one"
        )


def _choose(methods: Scores, wanted: Sequence[str], notes: list[str]) -> list[tuple[str, str]]:
    keys = list(dict.fromkeys(key for row in methods.values() for key in row))
    scored = {key for row in methods.values() for key, score in row.items() if not math.isnan(score)}
    names = list(dict.fromkeys(measure for _, measure in keys))
    if wanted:
        picked: dict[tuple[str, str], None] = {}
        # A column that is named like a group takes precedence over the group.
        for pattern in (one for name in wanted for one in ([name] if name in names else spelled_out([name]))):
            fits = [key for key in keys if _fits(pattern, *key)]
            if not fits:
                raise ParameterError(f"column {pattern!r}: no table has it; {nearest(pattern, names)}")
            picked |= dict.fromkeys(fits)
        order = list(picked)
    else:
        main = [name for name in BAD_PIXELS if name in names]
        if "bad_pixels_discont" in main and "bad_pixels_all" in main:
            main.remove("bad_pixels_all")  # Table 5 of the 2002 paper has no such column
        main = main or [name for name in HCI_METRICS if name in names]
        order = [key for measure in main or names for key in keys if key[1] == measure]
    scenes = list(dict.fromkeys(scene for scene, _ in keys))
    order.sort(key=lambda key: scenes.index(key[0]))
    for key in order:
        if key not in scored:
            notes.append(f"column {column_name(*key)}: no method has a score; left out")
    left = [key for key in order if key in scored]
    if not left:
        raise DataError(
            f"no column of numbers in {'these columns' if wanted else 'the table'}; columns: {', '.join(names) or 'none'}"
        )
    return left


def _fits(pattern: str, scene: str, measure: str) -> bool:
    return fnmatchcase(measure, pattern) or fnmatchcase(column_name(scene, measure), pattern)


def _direction(scene: str, measure: str, better: Mapping[str, Literal["lower", "higher"]]) -> Literal["lower", "higher"]:
    given = [pattern for pattern in better if _fits(pattern, scene, measure)]
    if given:
        # A name takes precedence over patterns, and a longer pattern over shorter ones: ("*" lower, "density_*" higher) means what it says.
        return better[max(given, key=lambda pattern: (not set("*?[") & set(pattern), len(pattern)))]
    metric = metric_of(measure)
    known = metric.better if metric is not None else ""
    if not known:
        what = "nothing to be ranked by" if metric is not None else "not a known measure"
        raise ParameterError(
            f"column {column_name(scene, measure)!r}: {what}; say --lower or --higher {measure!r}, whichever scores are better (patterns such as '*' cover several)"
        )
    return known
