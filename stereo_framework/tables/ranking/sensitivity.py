"""How far ranks and groups depend on the choice of columns, scenes and measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core import limits
from stereo_framework.core.errors import ParameterError
from stereo_framework.tables.ranking.average_ranks import competition_ranks
from stereo_framework.tables.ranking.pareto import astar_groups
from stereo_framework.tables.ranking.ranking import Ranking, rank_methods
from stereo_framework.tables.ranking.scores import Column, Scores

_TAILS = (0.025, 0.975)
"""A 95 % interval."""

_Kind = Literal["column", "scene", "measure"]
_PARTS: Mapping[_Kind, Callable[[Column], str]] = {
    "scene": lambda column: column.scene,
    "measure": lambda column: column.measure,
    "column": lambda column: column.name,
}
"""The kinds of parts that can be left out of a table, each with the function that names the part to which a column belongs."""


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The ranking without a part of the table.

    Parameters
    ----------
    kind : str
        ``"column"``, ``"scene"`` or ``"measure"``.
    name : str
        The name of the part that was left out.
    ranking : Ranking
        The ranking of the same methods without it.
    """

    kind: _Kind
    name: str
    ranking: Ranking


def leave_one_out(scores: Scores) -> list[LeftOut]:
    """Rank again without each scene, each measure and each column.

    Parameters
    ----------
    scores : Scores

    Returns
    -------
    list of LeftOut
        First the scenes, then the measures, then the columns. Scenes and measures are included only if the table has several of them and they are not
        the columns themselves.

    Raises
    ------
    DataError
        A score is NaN.
    ParameterError
        The table has only one column.

    Notes
    -----
    Without a column a method can leave the A* set, and it can also enter it: two methods that differed only in this column then share a group.
    """
    if len(scores.columns) < 2:
        raise ParameterError("leave-one-out: the table has one column; at least two are needed")
    found: list[LeftOut] = []
    for kind, name_of in _PARTS.items():
        names = list(dict.fromkeys(filter(None, map(name_of, scores.columns))))
        if kind == "column" or 1 < len(names) < len(scores.columns):
            rests = ([i for i, column in enumerate(scores.columns) if name_of(column) != name] for name in names)
            found += [LeftOut(kind, name, rank_methods(scores.select(rest))) for name, rest in zip(names, rests, strict=True)]
    return found


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """How the ranking changes when the scenes are resampled. All arrays are ``(methods,)``.

    Parameters
    ----------
    count, seed : int
        Number of resamples, and the seed of the random generator.
    rank_low, rank_high : ndarray, int64
        Ends of the 95 % interval of the rank, 1 = best.
    average_rank_low, average_rank_high : ndarray, float64
        Ends of the 95 % interval of the average rank.
    first : ndarray, float64
        Share of the resamples, 0..1, in which the method has rank 1, alone or not.
    in_astar : ndarray, float64
        Share of the resamples in which the method belongs to the A* set.
    """

    count: int
    seed: int
    rank_low: NDArray[np.int64]
    rank_high: NDArray[np.int64]
    average_rank_low: NDArray[np.float64]
    average_rank_high: NDArray[np.float64]
    first: NDArray[np.float64]
    in_astar: NDArray[np.float64]


def bootstrap(scores: Scores, count: int = 1000, *, seed: int = 0) -> Bootstrap:
    """Draw as many scenes as there are, with replacement, and rank the methods by their columns; repeat this `count` times.

    Parameters
    ----------
    scores : Scores
        A table in which every column belongs to a scene.
    count : int
        Number of resamples.
    seed : int
        Seed of the random generator; the same seed gives the same numbers.

    Raises
    ------
    DataError
        A score is NaN.
    ParameterError
        There are fewer than two scenes, a column belongs to no scene, or `count` is below 1.

    Notes
    -----
    A scene that is drawn twice counts twice in the average ranks; whether a method is in the A* set depends only on which scenes are drawn. With few
    scenes the intervals are coarse: they show how much depends on single scenes, not how well the methods would do on any other images.
    """
    if count < 1:
        raise ParameterError(f"bootstrap: {count} resamples; at least 1 is needed")
    if count > limits.DRAWINGS:
        raise ParameterError(f"bootstrap: {count} resamples; at most {limits.DRAWINGS} are possible")
    bare = [c.name for c in scores.columns if not c.scene]
    if bare or len(scores.scenes) < 2:
        why = f"column {bare[0]!r} belongs to no scene" if bare else f"all columns belong to the scene {scores.scenes[0]!r}"
        raise ParameterError(f"bootstrap: {why}; it draws among scenes and needs two or more")
    values = scores.lower_is_better()
    scene_of = np.array([scores.scenes.index(c.scene) for c in scores.columns])
    draws = np.random.default_rng(seed).integers(0, len(scores.scenes), (count, len(scores.scenes)))
    times = np.stack([np.bincount(draw, minlength=len(scores.scenes)) for draw in draws])
    weights = times[:, scene_of].astype(np.float64)
    # Whole numbers divided by a common number are exact enough that ties remain ties.
    averages = weights @ competition_ranks(values).T / weights.sum(axis=1, keepdims=True)
    ranks = np.stack([competition_ranks(row) for row in averages])
    drawn, which = np.unique(times > 0, axis=0, return_inverse=True)
    astar = np.stack([astar_groups(values[:, kept[scene_of]]) == 1 for kept in drawn])
    low, high = np.quantile(ranks, _TAILS, axis=0, method="inverted_cdf")
    average_low, average_high = np.quantile(averages, _TAILS, axis=0, method="inverted_cdf")
    return Bootstrap(
        count,
        seed,
        low.astype(np.int64),
        high.astype(np.int64),
        average_low,
        average_high,
        (ranks == 1).mean(axis=0),
        np.bincount(which.ravel(), minlength=len(drawn)) @ astar / count,
    )
