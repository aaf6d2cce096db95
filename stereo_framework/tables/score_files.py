"""Scores read from results folders and CSV files, chosen by name.

A CSV file has a row for each method and a column for each score, which may be named ``SCENE:MEASURE``; or the columns ``method``, ``scene`` and one for each
statistic, as ``results --format csv`` prints them. An empty cell, ``-``, ``nan`` or null is a hole.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ParameterError, few, nearest, short
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.metrics import metric_of, spelled_out
from stereo_framework.io import read_bytes
from stereo_framework.sweep import Result, Store
from stereo_framework.tables.scores import Column, Scores
from stereo_framework.tables.tables import BAD_PIXELS, COVERAGE, density
from stereo_framework.tables.words import setting_name

_NAMED = 6
"""Methods in one line, before the rest is only counted."""

_HOLES = ("", "-", "nan", "null", "n/a")

Better = Mapping[str, Literal["lower", "higher"]]
"""Which scores are better, by the name or pattern of a measure."""


class _Row(NamedTuple):
    """Scores of a method, by scene, which is empty where a file names none, and measure; `text` is the protocol's, as far as it is known."""

    method: str
    scores: Mapping[tuple[str, str], float]
    protocol: str = ""
    text: str = ""


def read_scores(
    tables: Sequence[Path | Sequence[Result]],
    *,
    measures: Sequence[str] = (),
    better: Better | None = None,
    protocol: str | None = None,
) -> Scores:
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

    Raises
    ------
    DataError
        A file is missing or is not a table, the results are of several protocols, or a score is given twice.
    ParameterError
        No table has a measure, or it is not known whether lower or higher values of a measure are better.
    """
    notes: list[str] = []
    methods: dict[str, dict[tuple[str, str], float]] = {}
    protocols: dict[str, str] = {}
    for table in tables:
        for row in _rows(table, notes):
            # Of scores without a protocol it is not known that they are others.
            if row.protocol and protocol not in (None, row.protocol):
                continue
            if row.protocol:
                protocols[row.text or row.protocol] = row.protocol
            own = methods.setdefault(row.method, {})
            for key, score in row.scores.items():
                if own.setdefault(key, score) != score and not (math.isnan(own[key]) and math.isnan(score)):
                    raise DataError(
                        f"{table if isinstance(table, Path) else key[0]}: method {row.method!r} has two scores in {Column(*key, '').name}, "
                        f"{own[key]:g} and {score:g}; give every row a method name of its own"
                    )
    if not methods:
        raise DataError(
            f"{', '.join(map(str, tables))}: no method" + (f" with results of the protocol {protocol!r}" if protocol else "")
        )
    _check_protocols(protocols)
    every = list(dict.fromkeys(key for row in methods.values() for key in row))
    columns = []
    for key in _chosen(every, measures):
        if all(math.isnan(row.get(key, math.nan)) for row in methods.values()):
            notes.append(f"column {Column(*key, '').name}: no method has a score; left out")
        else:
            columns.append(key)
    if not columns:
        names = ", ".join(dict.fromkeys(measure for _, measure in every)) or "none"
        raise DataError(f"no column of numbers in {'these columns' if measures else 'the table'}; columns: {names}")
    if not {"density_all", COVERAGE} & {measure for _, measure in columns}:
        notes += _unlike(methods)
    values = np.array([[row.get(key, math.nan) for key in columns] for row in methods.values()])
    return Scores(tuple(methods), tuple(Column(*key, _direction(*key, better or {})) for key in columns), values, tuple(notes))


def _rows(table: Path | Sequence[Result], notes: list[str]) -> Iterator[_Row]:
    """What a results folder or a CSV file holds, or what results do."""
    if not isinstance(table, Path):
        for r in table:
            # A failed run has a protocol but no scores.
            yield _Row(setting_name(r), {(r.scene, name): v for name, v in r.statistics.items()}, r.protocol, r.protocol_text)
    elif table.is_dir():
        with Store(table) as store:
            results, lacking = store.results(), store.lacking()
        if lacking:
            notes.append(f"{table}: {lacking}")
        yield from _rows(results, notes)
    elif table.suffix.lower() != ".csv":
        raise DataError(f"{table}: expected a results folder or a .csv file")
    else:
        yield from _rows_of_csv(table)


def _rows_of_csv(path: Path) -> Iterator[_Row]:
    try:
        text = read_bytes(path, limits.TABLE, empty=True).decode("utf-8-sig")
        lines = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines()) if line]
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: cannot be read: not UTF-8 text") from error
    except csv.Error as error:
        raise DataError(f"{path}: is damaged or not a CSV file: {error}") from None
    header = lines[0] if lines else []
    if len(header) < 2 or len(lines) < 2:
        raise DataError(f"{path}: no table: expected a line of column names, then a line for each method")
    for name, count in Counter(header).items():
        if count > 1:
            raise DataError(f"{path}: the column {short(name, 80)!r} occurs twice")
    for i, line in enumerate(lines):
        if len(line) != len(header):
            raise DataError(f"{path}: row {i} has {len(line)} cells, the header {len(header)}")
    columns = dict(zip(header, zip(*lines[1:], strict=True), strict=True))
    methods = columns["method"] if "method" in columns else columns[header[0]]
    scenes = columns.get("scene")
    scores: list[dict[tuple[str, str], float]] = [{} for _ in methods]
    for name in header:
        if name in ("scene", "protocol") or columns[name] is methods or (scenes and not metric_of(name)):
            continue
        scene, colon, measure = name.partition(":")
        for i, number in enumerate(_numbers(path, name, columns[name], methods)):
            scores[i][(scenes[i], name) if scenes else (scene, measure) if colon else ("", name)] = number
    for i, method in enumerate(methods):
        yield _Row(method, scores[i], columns["protocol"][i] if "protocol" in columns else "")


def _numbers(path: Path, name: str, cells: Sequence[str], methods: Sequence[str]) -> list[float]:
    """The cells of a column as numbers; none of a column that holds text alone. In all others every cell must be a number or a hole."""
    numbers: list[float] = []
    faults = []
    for cell, method in zip(cells, methods, strict=True):
        try:
            numbers.append(math.nan if cell.lower() in _HOLES else float(cell))
        except ValueError:
            faults.append(f"{path}: {method}, column {name!r}: {cell!r} is not a number")
    if faults and not all(map(math.isnan, numbers)):
        raise DataError(faults[0])
    return [] if faults else numbers


def _check_protocols(protocols: Mapping[str, str]) -> None:
    """Refuse several protocols; by their texts, or by their names where a file gives these alone."""
    names = dict.fromkeys(protocols.values())
    several = f"several protocols ({', '.join(names)}) cannot be ranked together; choose one with --protocol, or"
    if len(names) == 1:
        several = f"protocols that are all called {next(iter(names))} and differ cannot be ranked together;"
    if len(names) > 1 or len([text for text, name in protocols.items() if text != name]) > 1:
        raise DataError(f"results of {several} measure all with one")


def _unlike(methods: Mapping[str, Mapping[tuple[str, str], float]]) -> list[str]:
    """That maps of unlike coverage are compared, where the coverage does not stand in a column."""
    means: dict[str, float] = {}
    for method, row in methods.items():
        by_scene: dict[str, dict[str, float]] = {}
        for (scene, measure), score in row.items():
            by_scene.setdefault(scene, {})[measure] = score
        percents = [percent for own in by_scene.values() if (percent := density(own)) is not None]
        if percents:
            means[method] = sum(percents) / len(percents)
    sparse = [f"{method} {mean:.3g} %" for method, mean in means.items() if mean < 100]
    unlike = len({f"{mean:.3g}" for mean in means.values()}) > 1
    # Where all leave out as much, nobody gains.
    return [f"maps of unlike coverage are compared; with an estimate are, in the mean: {few(sparse, _NAMED)}"] if unlike else []


def _chosen(keys: Sequence[tuple[str, str]], wanted: Sequence[str]) -> list[tuple[str, str]]:
    """The columns that are asked for or, if none are, those by which methods are usually ranked; by scenes."""
    names = list(dict.fromkeys(measure for _, measure in keys))
    if wanted:
        # A column that is named like a group takes precedence over the group.
        patterns = [one for name in wanted for one in ([name] if name in names else spelled_out([name]))]
    else:
        main = [name for name in BAD_PIXELS if name in names]
        if "bad_pixels_discont" in main and "bad_pixels_all" in main:
            main.remove("bad_pixels_all")  # Table 5 of the 2002 paper has no such column
        patterns = main or [name for name in HCI_METRICS if name in names] or names
    picked: dict[tuple[str, str], None] = {}
    for pattern in patterns:
        fits = [key for key in keys if (_fits(pattern, *key) if wanted else pattern == key[1])]
        if not fits:
            raise ParameterError(f"column {pattern!r}: no table has it; {nearest(pattern, names)}")
        picked |= dict.fromkeys(fits)
    scenes = {scene: i for i, scene in enumerate(dict.fromkeys(scene for scene, _ in keys))}
    return sorted(picked, key=lambda key: scenes[key[0]])


def _fits(pattern: str, scene: str, measure: str) -> bool:
    return fnmatchcase(measure, pattern) or fnmatchcase(Column(scene, measure, "").name, pattern)


def _direction(scene: str, measure: str, better: Better) -> str:
    given = [pattern for pattern in better if _fits(pattern, scene, measure)]
    if given:
        # A name takes precedence over patterns, and a longer pattern over shorter ones: ("*" lower, "density_*" higher) means what it says.
        return better[max(given, key=lambda pattern: (not set("*?[") & set(pattern), len(pattern)))]
    metric = metric_of(measure)
    if metric is None or not metric.better:
        what = "nothing to be ranked by" if metric is not None else "not a known measure"
        raise ParameterError(
            f"column {Column(scene, measure, '').name!r}: {what}; say --lower or --higher {measure!r}, whichever scores are better (patterns such as '*' cover several)"
        )
    return metric.better
