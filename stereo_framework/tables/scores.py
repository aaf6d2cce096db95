"""Scores of methods side by side: the one table behind ranks, groups and the summaries of pages.

Honauer et al. (2015) do not say how scores become comparable. The choices made here are
our own:

- Ranks are taken in each column, a metric on a scene, 1 = best, where equal scores share the better rank as on Middlebury's pages; then they are averaged.
- A column in which no method has a score is left out. Elsewhere a missing score counts as the worst: the method found nothing that could be measured, and
  leaving the score out would reward that.
- A method has a mean if it has a score wherever another has one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError, ParameterError, few
from stereo_framework.core.former_names import new_or_nearest
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.metrics import metric_of, spelled_out
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.tables.directions import better_direction
from stereo_framework.tables.ranking import astar_groups, competition_ranks
from stereo_framework.tables.tables import BAD_PIXELS, COVERAGE, density
from stereo_framework.tables.words import short_names

Directions = Mapping[str, str]
"""Whether lower or higher scores are better, by the name or pattern of a metric."""

_NONE_GIVEN: Directions = {}

_NAMED = 6
"""Methods in one line, before the rest is only counted."""


class Column(NamedTuple):
    """A metric on a scene, which is empty where a table names none; `better` is ``lower`` or ``higher``."""

    scene: str
    metric: str
    better: str

    @property
    def name(self) -> str:
        """``SCENE:METRIC``."""
        return _column(self.scene, self.metric)


def _column(scene: str, metric: str) -> str:
    return f"{scene}:{metric}" if scene else metric


@dataclass(frozen=True, eq=False)
class Scores:
    """A row of scores for each method.

    Parameters
    ----------
    methods : tuple of str
    columns : tuple of Column
    values : ndarray, float64, (methods, columns)
        NaN = no score.
    notes : tuple of str
        What is missing or was left out, one line each.
    protocol : str
        The protocol's name.
    """

    methods: tuple[str, ...]
    columns: tuple[Column, ...]
    values: NDArray[np.float64]
    notes: tuple[str, ...] = ()
    protocol: str = ""

    @property
    def scenes(self) -> list[str]:
        """The scenes in their order."""
        return list(dict.fromkeys(c.scene for c in self.columns))

    @property
    def metrics(self) -> list[str]:
        """The metrics in their order."""
        return list(dict.fromkeys(c.metric for c in self.columns))

    def of(self, metric: str) -> Scores:
        """The columns of one metric."""
        own = [i for i, c in enumerate(self.columns) if c.metric == metric]
        return replace(
            self, columns=tuple(self.columns[i] for i in own), values=self.values[:, own]
        )

    def rows(self, kept: Sequence[int]) -> Scores:
        """Some of the methods."""
        return replace(self, methods=tuple(self.methods[i] for i in kept), values=self.values[kept])

    def complete(self) -> tuple[Scores, dict[str, list[str]]]:
        """The methods that have a score in every column; and of the others the columns that each lacks."""
        lacking = {
            method: [c.name for c, hole in zip(self.columns, holes, strict=True) if hole]
            for method, holes in zip(self.methods, np.isnan(self.values), strict=True)
            if holes.any()
        }
        return self.rows(
            [i for i, method in enumerate(self.methods) if method not in lacking]
        ), lacking

    @property
    def _scored(self) -> NDArray[np.bool_]:
        """The columns in which some method has a score."""
        return np.asarray(~np.isnan(self.values).all(axis=0))

    @property
    def _lower_is_better(self) -> NDArray[np.float64]:
        values = self.values * np.array(
            [-1.0 if c.better == "higher" else 1.0 for c in self.columns]
        )
        return np.where(np.isnan(values), np.inf, values)

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of each row, float64 (methods,); of use where all columns are of one metric."""
        return self.values[:, self._scored].mean(axis=1)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """Ranks in each column, 1 = best."""
        return competition_ranks(self._lower_is_better)

    @property
    def average_ranks(self) -> NDArray[np.float64]:
        """The mean of each row's ranks, float64 (methods,)."""
        return self.ranks[:, self._scored].mean(axis=1)

    @property
    def places(self) -> NDArray[np.int64]:
        """Ranks of the average ranks, as benchmarks order methods: 1 = best."""
        return competition_ranks(self.average_ranks)

    @property
    def groups(self) -> NDArray[np.int64]:
        """The A* group of each method."""
        return astar_groups(self._lower_is_better)


def score_table(
    results: ResultSet,
    metrics: Sequence[str],
    methods_of: Sequence[str] | None = None,
    given: Directions = _NONE_GIVEN,
    columns: Collection[tuple[str, str]] | None = None,
) -> Scores:
    """Make a table of the scores of all methods, in every metric on every scene.

    Parameters
    ----------
    results : ResultSet
        Results of one protocol. A failed run has no scores.
    metrics : sequence of str
        Statistics, or names of groups: ``hci`` is the nine HCI metrics.
    methods_of : sequence of str, optional
        Name of the method of each result. Default: `ResultSet.setting_names`.
    given : mapping of str to str, optional
        ``lower`` or ``higher``, by the name or pattern of a metric. The most specific
        pattern counts. It overrides the direction of the metric itself.
    columns : collection of (str, str), optional
        Only these scenes and metrics. Default: all.

    Raises
    ------
    ParameterError
        The results have several protocols. Or two results have the same method and
        settings but different scores on a scene. Or no result has a metric, a metric
        has no score on any scene, or its direction is not known.
    """
    _ = results.protocol  # The property refuses results of several protocols.
    names = spelled_out(metrics)
    if not results or not names:
        missing = "results" if names else "metrics"
        raise ParameterError(f"nothing to compare: no {missing}")
    if methods_of is None:
        methods_of = results.setting_names()
    scenes_of = results.column("scene")
    row_of_method = _numbered(methods_of)
    scene_numbers = _numbered(scenes_of)
    rows = np.array([row_of_method[name] for name in methods_of])
    places = np.array([scene_numbers[name] for name in scenes_of])

    values = np.full((len(row_of_method), len(scene_numbers), len(names)), np.nan)
    for j, name in enumerate(names):
        scores = _scores_of_metric(results, name)
        has_score = ~np.isnan(scores)
        values[rows[has_score], places[has_score], j] = scores[has_score]
        is_other_score = has_score & (values[rows, places, j] != scores)
        for n in np.flatnonzero(is_other_score)[:1]:
            other_score = values[rows[n], places[n], j]
            message = (
                f"{methods_of[n]!r} has two scores in {_column(scenes_of[n], name)}, "
                f"{scores[n]:g} and {other_score:g}; keep one with where, or give each method "
                "a name of its own"
            )
            raise ParameterError(message)

    all_columns = [(scene, name) for scene in scene_numbers for name in names]
    kept = [n for n, place in enumerate(all_columns) if columns is None or place in columns]
    score_columns = [Column(*all_columns[n], _direction(*all_columns[n], given)) for n in kept]
    table = Scores(
        methods=tuple(row_of_method),
        columns=tuple(score_columns),
        values=values.reshape(len(row_of_method), -1)[:, kept],
        protocol=results[0].protocol,
    )
    return replace(table, notes=tuple(_missing(table)))


def _numbered(names: Sequence[str]) -> dict[str, int]:
    """Number the different names in their order."""
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def _scores_of_metric(results: ResultSet, name: str) -> NDArray[np.float64]:
    """Return the score of each result in a metric, NaN = no score.

    Raises
    ------
    ParameterError
        No result has the metric, or no result has a score.
    """
    results.check_name(name, role="metric ")
    numbers = [
        math.nan if value is None or value is MISSING else value for value in results.column(name)
    ]
    scores = np.array(numbers, np.float64)
    if np.isnan(scores).all():
        message = (
            f"no scene has a score in {name}: no method measured it, or the scenes lack what it "
            "is about; leave it out of the metrics"
        )
        raise ParameterError(message)
    return scores


def ranked(
    results: ResultSet, metrics: Sequence[str] = (), given: Directions = _NONE_GIVEN
) -> Scores:
    """Return the scores by which the command `rank` compares the settings of results.

    Parameters
    ----------
    results : ResultSet
        Results of one protocol.
    metrics : sequence of str
        Metrics to use, by name, by group (``hci``: the nine HCI metrics) or by pattern
        (``bad_pixels_*``); also whole columns, ``SCENE:METRIC``. Default: the bad
        pixels in the benchmarks' regions; without these, the HCI metrics; otherwise all
        columns of numbers.
    given : mapping of str to str, optional
        As in `score_table`.

    Raises
    ------
    DataError
        There is no score.
    ParameterError
        No result has a metric, or `score_table` refuses the results.

    Notes
    -----
    A column without any score is left out. The notes of the table name such columns,
    and they report if the methods have different coverages.
    """
    _ = results.protocol  # The property refuses results of several protocols.
    all_columns: dict[tuple[str, str], None] = {}
    scored_columns: set[tuple[str, str]] = set()
    for result in results:
        for name, score in result.statistics.items():
            all_columns[result.scene, name] = None
            if not math.isnan(score):
                scored_columns.add((result.scene, name))

    chosen_columns = _chosen(list(all_columns), metrics)
    columns: dict[tuple[str, str], None] = {}
    notes: list[str] = []
    for scene_and_metric in chosen_columns:
        if scene_and_metric in scored_columns:
            columns[scene_and_metric] = None
        else:
            notes.append(f"column {_column(*scene_and_metric)}: no method has a score; left out")
    if not columns:
        names = ", ".join(dict.fromkeys(metric for _, metric in all_columns)) or "none"
        searched = "these columns" if metrics else "the table"
        raise DataError(f"no column of numbers in {searched}; columns: {names}")

    methods_of = [result.setting_name for result in results]
    compared_metrics = list(dict.fromkeys(metric for _, metric in columns))
    if not {"density_all", COVERAGE} & set(compared_metrics):
        notes += _notes_on_coverage(methods_of, results)
    table = score_table(results, compared_metrics, methods_of, given, columns)
    return replace(table, notes=tuple(notes))


def _chosen(places: Sequence[tuple[str, str]], wanted: Sequence[str]) -> list[tuple[str, str]]:
    """The scenes and metrics that are asked for or, if none are, those by which methods are usually ranked; by scenes."""
    names = list(dict.fromkeys(metric for _, metric in places))
    if wanted:
        patterns = list(spelled_out(wanted))
    else:
        main = [name for name in BAD_PIXELS if name in names]
        if "bad_pixels_discont" in main and "bad_pixels_all" in main:
            main.remove("bad_pixels_all")  # Table 5 of the 2002 paper has no such column
        patterns = main or [name for name in HCI_METRICS if name in names] or names
    picked: dict[tuple[str, str], None] = {}
    for pattern in patterns:
        fits = [place for place in places if _fits(pattern, *place)]
        if not fits:
            remedy = new_or_nearest("statistics", "metrics", pattern, names)
            raise ParameterError(f"column {pattern!r}: no table has it; {remedy}")
        picked |= dict.fromkeys(fits)
    scenes = list(dict.fromkeys(scene for scene, _ in places))
    return sorted(picked, key=lambda place: scenes.index(place[0]))


def _fits(pattern: str, scene: str, metric: str) -> bool:
    return (
        pattern == metric
        or fnmatchcase(metric, pattern)
        or fnmatchcase(_column(scene, metric), pattern)
    )


def _direction(scene: str, metric: str, given: Directions) -> str:
    fits = [pattern for pattern in given if _fits(pattern, scene, metric)]
    if fits:
        # A name takes precedence over patterns, and a longer pattern over shorter ones: ("*" lower, "density_*" higher) means what it says.
        return given[max(fits, key=lambda pattern: (not set("*?[") & set(pattern), len(pattern)))]
    direction = better_direction(metric)
    if direction:
        return direction
    what = "nothing to be ranked by" if metric_of(metric) is not None else "not a known metric"
    raise ParameterError(
        f"column {_column(scene, metric)!r}: {what}; say --lower or --higher {metric!r}, whichever scores are better (patterns such as '*' cover several)"
    )


def _notes_on_coverage(methods_of: Sequence[str], results: ResultSet) -> list[str]:
    """Return a note if methods with different coverages are compared.

    Parameters
    ----------
    methods_of : sequence of str
        Name of the method of each result.
    results : ResultSet
        The compared results.
    """
    means = method_means(methods_of, [density(result.statistics) for result in results])
    different_texts = {f"{mean:.3g}" for mean in means.values()}
    # If all methods have the same coverage, no method gains from it.
    if len(different_texts) < 2:
        return []
    sparse = [f"{method} {mean:.3g} %" for method, mean in means.items() if mean < 100]
    listed = few(sparse, _NAMED)
    return [f"maps of unlike coverage are compared; with an estimate are, in the mean: {listed}"]


def method_means(methods_of: Sequence[str], numbers: Sequence[float | None]) -> dict[str, float]:
    """The mean of some number of each method's results, where they have it."""
    from pandas import Series

    found: dict[str, float] = (
        Series(numbers, methods_of, dtype=float)
        .dropna()
        .groupby(level=0, sort=False)
        .mean()
        .to_dict()
    )
    return found


def _missing(found: Scores) -> list[str]:
    """Notes on missing scores and how they count."""
    short, holes = short_names(found.scenes), np.isnan(found.values)
    nobody = np.asarray(holes.all(axis=0))
    # Metrics of one subset are missing together.
    together: dict[tuple[str, ...], list[str]] = {}
    for name in found.metrics:
        where = (
            short[c.scene]
            for c, none in zip(found.columns, nobody, strict=True)
            if none and c.metric == name
        )
        together.setdefault(tuple(where), []).append(name)
    notes = [
        f"{', '.join(names)}: without {', '.join(w)}, where no method has a score"
        for w, names in together.items()
        if w
    ]
    told = []
    for method, own in zip(found.methods, holes & ~nobody, strict=True):
        if own.any():
            lacking = {c.metric for c, hole in zip(found.columns, own, strict=True) if hole}
            told.append(
                f"{method} ({', '.join(name for name in found.metrics if name in lacking)})"
            )
    return [*notes, f"missing scores count as the worst: {few(told, 3)}"] if told else notes
