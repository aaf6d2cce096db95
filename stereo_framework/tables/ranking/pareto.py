"""Which methods are at least as good as others in every column: dominance, the A* set and the A* groups.

Cabezas, Trujillo & Florian 2012, with the usual Pareto dominance: p dominates q if p is nowhere worse than q and somewhere better. Their equation 11
says "better everywhere and different", where the second condition would follow from the first. The groups are those of non-dominated sorting, which
gives the groups that the paper prints. The algorithm that the paper lists does not give them, and depends on the order of the methods.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.tables.ranking.average_ranks import checked_table


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
    scores = checked_table(values)
    # In lexicographic order no method is dominated by one that comes later.
    order = np.lexsort(scores.T[::-1])
    groups = np.empty(len(scores), np.int64)
    groups[order] = _groups_kernel(np.ascontiguousarray(scores[order]))
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


@kernel
def _dominates(p, q):  # type: ignore[no-untyped-def]
    better = False
    for k in range(p.shape[0]):
        if p[k] > q[k]:
            return False
        better |= p[k] < q[k]
    return better


@kernel
def _groups_kernel(scores):  # type: ignore[no-untyped-def]
    """The groups of rows that are in lexicographic order, where a row can be dominated only by earlier ones. A row belongs to the group after the last
    group that holds a row which dominates it.
    """
    groups = np.ones(scores.shape[0], np.int64)
    for i in range(scores.shape[0]):
        for j in range(i):
            if groups[j] >= groups[i] and _dominates(scores[j], scores[i]):
                groups[i] = groups[j] + 1
    return groups
