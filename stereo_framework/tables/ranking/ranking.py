"""A table of scores, ranked; and how far ranks and groups depend on the choice of columns, scenes and measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.tables.ranking.average_ranks import average_ranks, competition_ranks
from stereo_framework.tables.ranking.pareto import astar_groups

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Ranking:
    """Ranks and groups of the methods of a table. Arrays are ``(methods,)`` unless noted otherwise.

    Parameters
    ----------
    scores : DataFrame
        As `rank_methods` takes it.
    column_ranks : ndarray, int64, (methods, columns)
        Rank in every column, 1 = best.
    average_ranks : ndarray, float64
        Mean of the column ranks; lower is better.
    ranks : ndarray, int64
        Ranks of the average ranks, 1 = best.
    groups : ndarray, int64
        A* groups, 1 = dominated by no method.
    """

    scores: pandas.DataFrame
    column_ranks: NDArray[np.int64]
    average_ranks: NDArray[np.float64]
    ranks: NDArray[np.int64]
    groups: NDArray[np.int64]


def column_name(scene: str, measure: str, better: str = "") -> str:
    """``SCENE:MEASURE``, or the measure alone where the table names no scene."""
    return f"{scene}:{measure}" if scene else measure


def rank_methods(scores: pandas.DataFrame) -> Ranking:
    """Rank methods as the Middlebury benchmark does, and group them as Cabezas et al. (2012) do.

    Parameters
    ----------
    scores : DataFrame
        A row for each method. The columns have three levels: ``scene``, which is empty where the table does not say; ``measure``; and ``better``, whether
        ``lower`` or ``higher`` scores are.

    Raises
    ------
    DataError
        A score is missing, or there is no column.

    Examples
    --------
    >>> import pandas
    >>> columns = pandas.MultiIndex.from_tuples([("", "bad_pixels_all", "lower"), ("", "density_all", "higher")], names=LEVELS)
    >>> rank_methods(pandas.DataFrame([[5.0, 90], [4, 80]], ["a", "b"], columns)).average_ranks.tolist()
    [1.5, 1.5]
    """
    holes = np.argwhere(scores.isna().to_numpy())
    if len(holes):
        row, column = holes[0]
        more = f" (and {len(holes) - 1} more holes)" if len(holes) > 1 else ""
        raise DataError(
            f"method {scores.index[row]!r} has no score in column {column_name(*scores.columns[column])!r}{more}; methods are ranked by complete tables"
        )
    values = scores.to_numpy() * [1.0 if better == "lower" else -1.0 for _, _, better in scores.columns]
    averages = average_ranks(values)
    return Ranking(scores, competition_ranks(values), averages, competition_ranks(averages), astar_groups(values))


LEVELS = ("scene", "measure", "better")
"""What a column of scores is named by."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The ranking of the same methods without a part of the table: `kind` is ``"column"``, ``"scene"`` or ``"measure"``, `name` that of the part."""

    kind: str
    name: str
    ranking: Ranking


def leave_one_out(scores: pandas.DataFrame) -> list[LeftOut]:
    """Rank again without each scene, each measure and each column.

    Parameters
    ----------
    scores : DataFrame
        As for `rank_methods`.

    Returns
    -------
    list of LeftOut
        First the scenes, then the measures, then the columns. Scenes and measures are included only if the table has several of them and they are not
        the columns themselves.

    Raises
    ------
    DataError
        A score is missing.
    ParameterError
        The table has only one column.

    Notes
    -----
    Without a column a method can leave the A* set, and it can also enter it: two methods that differed only in this column then share a group.
    """
    if len(scores.columns) < 2:
        raise ParameterError("leave-one-out: the table has one column; at least two are needed")
    found: list[LeftOut] = []
    parts: dict[str, Sequence[str]] = {level: scores.columns.get_level_values(level) for level in LEVELS[:2]}
    for kind, own in (parts | {"column": [column_name(*column) for column in scores.columns]}).items():
        names = list(dict.fromkeys(filter(None, own)))
        if kind == "column" or 1 < len(names) < len(own):
            found += [LeftOut(kind, one, rank_methods(scores.loc[:, [name != one for name in own]])) for one in names]
    return found
