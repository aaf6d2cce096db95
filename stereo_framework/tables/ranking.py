"""Comparing many methods by their scores: Middlebury's ranks, and groups by dominance.

The groups are those of Cabezas, Trujillo & Florian 2012, with the usual Pareto dominance: p dominates q if p is nowhere worse than q and somewhere better.
Their equation 11 says "better everywhere and different", where the second condition would follow from the first. The groups are those of non-dominated
sorting, which gives the groups that the paper prints. The algorithm that the paper lists does not give them, and depends on the order of the methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereo_framework.core.arguments import checked
from stereo_framework.core.errors import DataError, ParameterError, nearest
from stereo_framework.tables.directions import better_direction

if TYPE_CHECKING:
    import pandas


def competition_ranks(values: ArrayLike) -> NDArray[np.int64]:
    """Rank of every score in its column, 1 = best; equal scores share the better rank (1, 1, 3).

    Parameters
    ----------
    values : array_like, (methods,) or (methods, columns)
        Lower is better.

    Returns
    -------
    ndarray, int64, shape of `values`

    Raises
    ------
    DataError
        A value is NaN.

    Notes
    -----
    Scharstein & Szeliski 2002, Table 5. Scores are compared as they are. To rank scores that were printed ties those which differ only beyond the printed digits.

    Examples
    --------
    >>> competition_ranks([0.2, 0.1, 0.1, 0.3]).tolist()
    [3, 1, 1, 4]
    """
    scores = np.asarray(values, np.float64)
    if np.isnan(scores).any():
        place = tuple(map(int, np.argwhere(np.isnan(scores))[0]))
        where = f"row {place[0]}" + "".join(f", column {c}" for c in place[1:])
        raise DataError(
            f"scores: {where} is NaN (rows and columns from 0); methods are ranked by complete tables"
        )
    # SciPy's rankdata says the same, and takes a second to load.
    ranks = np.vectorize(
        lambda column: np.searchsorted(np.sort(column), column) + 1,
        [np.int64],
        signature="(n)->(n)",
    )
    return np.asarray(ranks(scores.T).T)


def average_ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Mean of every method's ranks over the columns; lower is better.

    Parameters
    ----------
    values : array_like, (methods, columns)
        Lower is better.

    Returns
    -------
    ndarray, float64, (methods,)
        `competition_ranks` of these gives the order of the benchmark.

    Raises
    ------
    DataError
        A value is NaN, or there is no column.

    Examples
    --------
    >>> average_ranks([[1, 5], [2, 4], [3, 4]]).tolist()
    [2.0, 1.5, 2.0]
    """
    return _ranks_of_table(values).mean(axis=1)


def _ranks_of_table(values: ArrayLike) -> NDArray[np.int64]:
    """The `competition_ranks` of what must be ``(methods, columns)`` with at least one column."""
    ranks = competition_ranks(values)
    if ranks.ndim != 2 or not ranks.shape[1]:
        raise DataError(
            f"scores have shape {ranks.shape}; expected (methods, columns) with at least one column"
        )
    return ranks


def astar_groups(values: ArrayLike) -> NDArray[np.int64]:
    """The A* group of every method. Group 1 is the A* set, whose members no method dominates; a member of group n is dominated only by members of lower groups.

    Parameters
    ----------
    values : array_like, (methods, columns)
        Lower is better.

    Returns
    -------
    ndarray, int64, (methods,)
        Every member of a group n > 1 is dominated by a member of group n - 1, and members of one group do not dominate each other. Methods with
        the same scores are in the same group.

    Raises
    ------
    DataError
        A value is NaN.

    Examples
    --------
    >>> astar_groups([[1, 5], [2, 4], [2, 5], [3, 6]]).tolist()
    [1, 1, 2, 3]
    """
    # Dominance asks for the order in each column alone.
    ranks = _ranks_of_table(values)
    # In lexicographic order no method is dominated by one that comes later. A method belongs to the group after the last that holds one that dominates it.
    order = np.lexsort(ranks.T[::-1])
    groups = np.ones(len(ranks), np.int64)
    for i, own in enumerate(order):
        before = order[:i]
        dominating = (ranks[before] <= ranks[own]).all(axis=1) & (ranks[before] < ranks[own]).any(
            axis=1
        )
        groups[own] = 1 + groups[before[dominating]].max(initial=0)
    return groups


def astar_verdict(groups: NDArray[np.int64]) -> str:
    """What the size of the A* set says (Cabezas et al. 2012, equation 8).

    Examples
    --------
    >>> astar_verdict(np.array([1, 2, 2]))
    'A* has one member: it is the best method'
    """
    count = int(np.count_nonzero(groups == 1))
    if count == 1:
        return "A* has one member: it is the best method"
    return f"A* has {count} members: their accuracy is comparable, none is better than another in every column"


@checked(
    frame="a DataFrame, such as results(DIR) or the frame of what run returned",
    statistics="the name of a column; several names stand one after the other",
)
def rank(
    frame: pandas.DataFrame, *statistics: str, by: str | Sequence[str] = "method"
) -> pandas.DataFrame:
    """Average ranks of methods, and their means.

    Parameters
    ----------
    frame : DataFrame
        Of `results`, or the ``frame`` of a run.
    *statistics : str
        Columns of it, such as ``bad_pixels_nonocc``.
    by : str or sequence of str
        What makes a method: ``"method"``, or several columns for the settings of a sweep, ``["method", "aggregation.box.size"]``.

    Returns
    -------
    DataFrame
        By method, the best first: ``average_rank`` over all scenes and statistics, where 1 is best and equal scores share the better rank; a missing
        score is last. Beside it the mean of each statistic over the scenes, missing where a scene lacks it.

    Raises
    ------
    ParameterError
        There is no such column, or no value in it, it is not known whether lower or higher is better, or two results of a method are of one scene.

    Notes
    -----
    The ranks of Middlebury's tables, averaged over columns; `rank` on the command line also gives A* groups.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"scene": list("aabb"), "method": ["x", "y"] * 2, "bad_pixels_all": [1.0, 2.0, 3.0, 3.0]})
    >>> rank(frame, "bad_pixels_all")["average_rank"].to_dict()
    {'x': 1.0, 'y': 1.5}
    """
    keys = [by] if isinstance(by, str) else list(by)
    for name in (*statistics, *keys):
        if name not in frame:
            raise ParameterError(f"{name!r}: no result has it; {nearest(name, map(str, frame))}")
    for name in statistics:
        if not better_direction(name):
            raise ParameterError(
                f"{name!r}: neither lower nor higher is better; methods cannot be ranked by it"
            )
        if frame[name].isna().all():
            raise ParameterError(
                f"{name!r}: no result has a value of it; methods cannot be ranked by it"
            )
    if not statistics:
        raise ParameterError("rank: by what? Name a statistic, such as bad_pixels_nonocc")
    if (twice := frame.duplicated(["scene", *keys])).any():
        first = frame[twice].iloc[0]
        told = ", ".join(f"{key}={first[key]}" for key in keys)
        raise ParameterError(
            f"{first['scene']}: two results of {told}; name what tells them apart in by"
        )
    table = (
        frame.set_index([*keys, "scene"])[list(statistics)]
        .unstack("scene")
        .dropna(axis="columns", how="all")
    )
    values = table.to_numpy(np.float64) * [
        -1.0 if better_direction(name) == "higher" else 1.0 for name, _ in table.columns
    ]
    found = (
        table.T.groupby(level=0, sort=False)
        .mean()
        .T.where(table.T.notna().groupby(level=0, sort=False).all().T)
    )
    found.insert(0, "average_rank", average_ranks(np.where(np.isnan(values), np.inf, values)))
    return found.sort_values("average_rank", kind="stable")
