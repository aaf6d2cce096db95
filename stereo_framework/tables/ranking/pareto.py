"""Which methods are at least as good in everything: dominance, the A* set and the A* groups.

Cabezas, Trujillo & Florian 2012, with the usual Pareto dominance: p dominates q when p is nowhere worse than q and somewhere better. Their
equation 11 prints "better everywhere and different", where the second part would be idle. The groups are those of non-dominated sorting, which
gives the groups that they print; their listing of an algorithm does not, and depends on the order of the methods.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.threads import over_rows
from stereo_framework.tables.ranking.average_ranks import checked_table


def astar_groups(values: ArrayLike) -> NDArray[np.int64]:
    """The A* group of every method: 1 = the A* set, which nobody dominates; n = dominated by members of groups below n only.

    Parameters
    ----------
    values : array_like, (methods, columns)
        Lower is better (`Scores.lower_is_better`).

    Returns
    -------
    ndarray, int64, (methods,)
        Every member of a group n > 1 is dominated by one of group n - 1; members of one group do not dominate each other. Methods with
        the same scores share a group.

    Raises
    ------
    DataError
        A value is NaN.

    Examples
    --------
    >>> astar_groups([[1, 5], [2, 4], [2, 5], [3, 6]]).tolist()
    [1, 1, 2, 3]
    """
    scores = checked_table(values)
    # In lexicographic order nobody is dominated by one who comes later.
    order = np.lexsort(scores.T[::-1])
    groups = np.empty(len(scores), np.int64)
    groups[order] = _groups_kernel(np.ascontiguousarray(scores[order]))
    return groups


def dominance(values: ArrayLike) -> NDArray[np.bool_]:
    """Who dominates whom.

    Parameters
    ----------
    values : array_like, (methods, columns)
        Lower is better.

    Returns
    -------
    ndarray, bool, (methods, methods)
        Whether the method of the row is nowhere worse than the method of the column, and somewhere better.

    Raises
    ------
    DataError
        A value is NaN.

    Examples
    --------
    >>> dominance([[1, 5], [2, 5]]).tolist()
    [[False, True], [False, False]]
    """
    scores = np.ascontiguousarray(checked_table(values))
    found = np.empty((len(scores), len(scores)), np.bool_)
    over_rows(lambda a, b: _dominance_kernel(scores, a, found[a:b]), len(scores), found.size)
    return found


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


@kernel
def _dominates(p, q):  # type: ignore[no-untyped-def]
    better = False
    for k in range(p.shape[0]):
        if p[k] > q[k]:
            return False
        better |= p[k] < q[k]
    return better


@kernel
def _dominance_kernel(scores, start, found):  # type: ignore[no-untyped-def]
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            found[i, j] = _dominates(scores[start + i], scores[j])


@kernel
def _groups_kernel(scores):  # type: ignore[no-untyped-def]
    """The groups of rows in lexicographic order, where only rows that come before can dominate one: a row belongs to the group after the
    last one that holds somebody who dominates it.
    """
    groups = np.ones(scores.shape[0], np.int64)
    for i in range(scores.shape[0]):
        for j in range(i):
            if groups[j] >= groups[i] and _dominates(scores[j], scores[i]):
                groups[i] = groups[j] + 1
    return groups
