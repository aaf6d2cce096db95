"""A table of scores, ranked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereo_framework.tables.ranking.average_ranks import average_ranks, competition_ranks
from stereo_framework.tables.ranking.pareto import astar_groups
from stereo_framework.tables.ranking.scores import Scores


@dataclass(frozen=True, eq=False)
class Ranking:
    """Ranks and groups of the methods of a table. Arrays are ``(methods,)`` unless noted otherwise.

    Parameters
    ----------
    scores : Scores
    column_ranks : ndarray, int64, (methods, columns)
        Rank in every column, 1 = best.
    average_ranks : ndarray, float64
        Mean of the column ranks; lower is better.
    ranks : ndarray, int64
        Ranks of the average ranks, 1 = best.
    groups : ndarray, int64
        A* groups, 1 = dominated by no method.
    """

    scores: Scores
    column_ranks: NDArray[np.int64]
    average_ranks: NDArray[np.float64]
    ranks: NDArray[np.int64]
    groups: NDArray[np.int64]


def rank_methods(scores: Scores) -> Ranking:
    """Rank methods as the Middlebury benchmark does, and group them as Cabezas et al. (2012) do.

    Parameters
    ----------
    scores : Scores
        A table without holes.

    Raises
    ------
    DataError
        A score is NaN, or there is no column.

    Examples
    --------
    >>> import numpy as np
    >>> from stereo_framework.tables.ranking import Column
    >>> table = Scores(("a", "b"), (Column("bad_pixels_all"), Column("density_all", better="higher")), np.array([[5.0, 90], [4, 80]]))
    >>> rank_methods(table).average_ranks.tolist()
    [1.5, 1.5]
    """
    values = scores.lower_is_better()
    averages = average_ranks(values)
    return Ranking(scores, competition_ranks(values), averages, competition_ranks(averages), astar_groups(values))
