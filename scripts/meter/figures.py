"""Figures of groups of files, and their comparison with the goals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from .columns import Column
from .measurement import Case, Measurement


@dataclass(frozen=True)
class Share:
    """A number of cases, and the size of the population that they belong to."""

    cases: int = 0
    total: int = 0

    def __add__(self, other: Share) -> Share:
        """Add the share of another group."""
        return Share(self.cases + other.cases, self.total + other.total)

    def __str__(self) -> str:
        """Write the share as in the table of ceilings."""
        return f"{self.cases}/{self.total}"


def share_of(column: Column, measurements: Iterable[Measurement]) -> Share:
    """Count the cases and the population of a column."""
    share = Share()
    for measurement in measurements:
        cases = len(measurement.cases.get(column.name, ()))
        share += Share(cases, measurement.totals[column.population])
    return share


def figure_of(column: Column, measurements: Sequence[Measurement]) -> float | None:
    """Return the figure that the table shows, or None if there is nothing to count."""
    share = share_of(column, measurements)
    if share.total == 0:
        return None
    if column.quantile is not None:
        sizes = chain.from_iterable(measurement.sizes for measurement in measurements)
        return _quantile(list(sizes), column.quantile)
    rate = column.per * share.cases / share.total
    return column.per - rate if column.is_reversed else rate


def _quantile(sizes: Sequence[int], percent: int) -> float:
    """Return the size that a percentage of the sizes do not exceed."""
    if len(sizes) == 1:
        return sizes[0]
    return statistics.quantiles(sizes, n=100, method="inclusive")[percent - 1]


def allowed_by_goal(column: Column, total: int) -> int:
    """Return the number of cases that the goal allows in a population of some size.

    The number is rounded up, because one case is more than the goal of a small group.
    """
    return math.ceil(round(column.goal_rate * total, 6))


def misses_goal(column: Column, measurements: Iterable[Measurement]) -> bool:
    """Return whether a group has more cases than the goal of a column allows."""
    share = share_of(column, measurements)
    return share.cases > allowed_by_goal(column, share.total)


def places_of(column: Column, measurements: Iterable[Measurement]) -> list[tuple[str, Case]]:
    """Return the path and the case of each place of a column, the worst ones first.

    Cases of equal weight are ordered by the number of cases in their file.
    """
    places = []
    for measurement in measurements:
        cases = measurement.cases.get(column.name, ())
        for case in cases:
            order = (-case.weight, -len(cases), str(measurement.path), case.line)
            places.append((order, str(measurement.path), case))
    places.sort(key=lambda place: place[0])
    return [(path, case) for _, path, case in places]


def place_line(path: str, case: Case) -> str:
    """Write a place as editors understand it, with its reason."""
    return f"{path}:{case.line}: {case.note}"
