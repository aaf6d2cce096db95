"""Scores of methods side by side: the one table behind ranks, groups and the summaries of pages.

Honauer et al. (2015) do not say how scores become comparable. The choices made here are our own:

- Ranks are taken in each column, a measure on a scene, 1 = best, where equal scores share the better rank as on Middlebury's pages; then they are averaged.
- A column in which no method has a score is left out. Elsewhere a missing score counts as the worst: the method found nothing that could be measured, and
  leaving the score out would reward that.
- A method has a mean if it has a score wherever another has one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError, few
from stereo_framework.evaluation.metrics import spelled_out
from stereo_framework.tables.ranking import astar_groups, competition_ranks
from stereo_framework.tables.values import better, check_name, column, one_protocol
from stereo_framework.tables.words import setting_names, short_names

if TYPE_CHECKING:
    from stereo_framework.sweep import Result


class Column(NamedTuple):
    """A measure on a scene, which is empty where a table names none; `better` is ``lower`` or ``higher``."""

    scene: str
    measure: str
    better: str

    @property
    def name(self) -> str:
        """``SCENE:MEASURE``."""
        return f"{self.scene}:{self.measure}" if self.scene else self.measure


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
    def measures(self) -> list[str]:
        """The measures in their order."""
        return list(dict.fromkeys(c.measure for c in self.columns))

    def of(self, measure: str) -> Scores:
        """The columns of one measure."""
        own = [i for i, c in enumerate(self.columns) if c.measure == measure]
        return replace(self, columns=tuple(self.columns[i] for i in own), values=self.values[:, own])

    def rows(self, kept: Sequence[int]) -> Scores:
        """Some of the methods."""
        return replace(self, methods=tuple(self.methods[i] for i in kept), values=self.values[kept])

    @property
    def _scored(self) -> NDArray[np.bool_]:
        """The columns in which some method has a score."""
        return np.asarray(~np.isnan(self.values).all(axis=0))

    @property
    def _lower_is_better(self) -> NDArray[np.float64]:
        values = self.values * np.array([-1.0 if c.better == "higher" else 1.0 for c in self.columns])
        return np.where(np.isnan(values), np.inf, values)

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of each row, float64 (methods,); of use where all columns are of one measure."""
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


def standings(results: Sequence[Result], measures: Sequence[str], methods_of: Sequence[str] | None = None) -> Scores:
    """The scores that results hold, in every measure on every scene.

    Parameters
    ----------
    results : sequence of Result
        Results of one protocol. A failed run has no scores.
    measures : sequence of str
        Statistics, or names of groups: ``hci`` is the nine HCI metrics.
    methods_of : sequence of str, optional
        The `setting_names` of the results, if the caller knows them already.

    Raises
    ------
    ParameterError
        The results are of several protocols, or two of them have the same method and settings on a scene; or no result has a measure, a measure has no
        score on any scene, or neither lower nor higher values of it are better.
    """
    one_protocol(results)
    names = spelled_out(measures)
    if not results or not names:
        raise ParameterError("nothing to compare: no results" if names else "nothing to compare: no measures")
    places = [*zip(setting_names(results) if methods_of is None else methods_of, (r.scene for r in results), strict=True)]
    if len(set(places)) < len(places):
        method, scene = next(place for place, count in Counter(places).items() if count > 1)
        raise ParameterError(f"{scene}: two results of {method!r}; keep one with where, or give each method a name of its own")
    methods, scenes = (tuple(dict.fromkeys(part)) for part in zip(*places, strict=True))
    for name in names:
        check_name(name, results, "measure ")
        if not better(name):
            raise ParameterError(f"measure {name!r}: neither lower nor higher is better; methods cannot be compared by it")
    row, at = ({name: i for i, name in enumerate(of)} for of in (methods, scenes))
    i, k = np.array([(row[method], at[scene]) for method, scene in places]).T
    values = np.full((len(methods), len(scenes), len(names)), np.nan)
    for j, name in enumerate(names):
        values[i, k, j] = np.array(column(results, name), np.float64)
    empty = [name for name, there in zip(names, ~np.isnan(values).all(axis=(0, 1)), strict=True) if not there]
    if empty:
        raise ParameterError(
            f"no scene has a score in {', '.join(empty)}: no method measured it, or the scenes lack what it is about; leave it out of the measures"
        )
    columns = tuple(Column(scene, name, better(name)) for scene in scenes for name in names)
    found = Scores(methods, columns, values.reshape(len(methods), -1), protocol=results[0].protocol)
    return replace(found, notes=tuple(_missing(found)))


def _missing(found: Scores) -> list[str]:
    """Notes on missing scores and how they count."""
    short, holes = short_names(found.scenes), np.isnan(found.values)
    nobody = np.asarray(holes.all(axis=0))
    # Measures of one subset are missing together.
    together: dict[tuple[str, ...], list[str]] = {}
    for name in found.measures:
        where = (short[c.scene] for c, none in zip(found.columns, nobody, strict=True) if none and c.measure == name)
        together.setdefault(tuple(where), []).append(name)
    notes = [f"{', '.join(names)}: without {', '.join(w)}, where no method has a score" for w, names in together.items() if w]
    told = []
    for method, own in zip(found.methods, holes & ~nobody, strict=True):
        if own.any():
            lacking = {c.measure for c, hole in zip(found.columns, own, strict=True) if hole}
            told.append(f"{method} ({', '.join(name for name in found.measures if name in lacking)})")
    return [*notes, f"missing scores count as the worst: {few(told, 3)}"] if told else notes
