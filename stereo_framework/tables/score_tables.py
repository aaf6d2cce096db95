"""The table of scores by which methods are ranked, made from results folders and CSV files."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stereo_framework.core.errors import DataError, ParameterError, few, nearest
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.metrics import metric_of, spelled_out
from stereo_framework.tables._score_files import Entries, read_entries
from stereo_framework.tables.ranking import LEVELS, column_name
from stereo_framework.tables.tables import BAD_PIXELS, COVERAGE, density

if TYPE_CHECKING:
    import pandas

_NAMED = 6
"""Methods in one line, before the rest is only counted."""


def read_scores(
    tables: Sequence[Path],
    *,
    measures: Sequence[str] = (),
    better: Mapping[str, Literal["lower", "higher"]] | None = None,
    protocol: str | None = None,
    split: str = ":",
) -> tuple[pandas.DataFrame, tuple[str, ...]]:
    """Read scores from results folders and CSV files. Several files together make one table.

    Parameters
    ----------
    tables : sequence of Path
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
    entries = Entries()
    for path in tables:
        read_entries(path, entries, protocol, split)
    if not entries.methods:
        raise DataError(
            f"{', '.join(map(str, tables))}: no method" + (f" with results of the protocol {protocol!r}" if protocol else "")
        )
    _check_protocols(entries)
    chosen = _choose(entries, measures)
    import pandas

    columns = pandas.MultiIndex.from_tuples([(*key, _direction(*key, better or {})) for key in chosen], names=LEVELS)
    values = [[row.get(key, math.nan) for key in chosen] for row in entries.methods.values()]
    scores = pandas.DataFrame(values, list(entries.methods), columns, dtype=float)
    return scores, (*entries.notes, *_unlike(entries, [measure for _, measure in chosen]))


def _unlike(entries: Entries, measures: Collection[str]) -> list[str]:
    """That maps of unlike coverage are compared, where the coverage does not stand in a column."""
    if {"density_all", COVERAGE} & set(measures):
        return []
    means: dict[str, float] = {}
    for method, row in entries.methods.items():
        scenes = dict.fromkeys(scene for scene, _ in row)
        found = [density({m: score for (s, m), score in row.items() if s == scene}) for scene in scenes]
        percents = [percent for percent in found if percent is not None]
        if percents:
            means[method] = sum(percents) / len(percents)
    sparse = [f"{method} {mean:.3g} %" for method, mean in means.items() if mean < 100]
    unlike = len({f"{mean:.3g}" for mean in means.values()}) > 1
    # Where all leave out as much, nobody gains.
    return [f"maps of unlike coverage are compared; with an estimate are, in the mean: {few(sparse, _NAMED)}"] if unlike else []


def _check_protocols(entries: Entries) -> None:
    names = dict.fromkeys(entries.protocols.values())
    # A CSV file gives only the name of a protocol.
    texts = [text for text, name in entries.protocols.items() if text != name]
    if len(names) > 1:
        raise DataError(
            f"results of several protocols ({', '.join(names)}) cannot be ranked together; choose one with --protocol, or measure all with one"
        )
    if len(texts) > 1:
        raise DataError(
            f"results of protocols that are all called {next(iter(names))} and differ cannot be ranked together; measure all with one"
        )


def _choose(entries: Entries, wanted: Sequence[str]) -> list[tuple[str, str]]:
    keys = list(dict.fromkeys(key for row in entries.methods.values() for key in row))
    scored = {key for row in entries.methods.values() for key, score in row.items() if not math.isnan(score)}
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
            entries.notes.append(f"column {column_name(*key)}: no method has a score; left out")
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
