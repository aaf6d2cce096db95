"""Data on each side of every rule of groups2012, by the name of the sentence: with which it must hold, and with which it must not."""

from pandas import DataFrame, Series

from stereo_framework.papers.comparison import published_table, raw_table
from stereo_framework.papers.own_methods import REGIONS

_SIX = published_table("groups2012", "table6").frame
_RANKS, _SIXTH = _SIX["middlebury_rank"], _SIX["astar_group"]
_THREE, _FOUR = (published_table("groups2012", name).frame for name in ("table3", "table4"))


def _groups(*groups):
    return Series(groups, list("abcdefghij")[: len(groups)])


def _wrong(rows, name, column, value):
    rows = rows.copy()
    rows.loc[name, column] = value
    return rows


def _contradicting(a, b):
    """Two methods with the same BMP, and the same SZE, in all regions."""
    return {
        metric: DataFrame([[first] * 3, [second] * 3], ["a", "b"])
        for metric, (first, second) in {"BMP": a, "SZE": b}.items()
    }


def _teddy(*methods):
    """In the order of their errors."""
    return DataFrame({"teddy_nonocc": range(len(methods))}, list(methods))


def _venus(factor):
    """Five methods, of which PatchMatch has 100 in each region of venus, three have more by this factor and one less."""
    errors = Series(
        {"PatchMatch": 100, "a": 100 * factor, "b": 100 * factor, "c": 100 * factor, "d": 50}
    )
    return DataFrame({f"venus_{region}": errors for region in REGIONS})


SIDES = {
    "seven_groups": ([_groups(*range(1, 8))], [_groups(1, 2, 6), _groups(*range(1, 9))]),
    "top_ranked": (
        [(_RANKS, _SIXTH), (_groups(1, 2, 3), _groups(2, 1, 1))],
        # Only the first third counts: the fifth of fifteen does, the sixth does not.
        [(_RANKS, (_RANKS > 5) * 6 + 1)],
    ),
    "contradict": (
        [
            {
                m: DataFrame(own, REGIONS).T
                for m, own in raw_table("groups2012", "table1")["rows"].items()
            },
            _contradicting((1, 1.02), (10.3, 10)),
        ],
        [_contradicting((1, 1.03), (10.2, 10)), _contradicting((1, 0.98), (10.3, 10))],
    ),
    "segm_border": ([_THREE], [_wrong(_THREE, "MI-nonpara", "cones_disc", 24.2)]),
    "local_beside_global": (
        [(list(_FOUR.index), ("DistinctSM", "PatchMatch"))],
        [(["a", "b"], ("a", "b")), (["a", "b"], ("c",))],
    ),
    "patch_match_teddy": (
        [_FOUR, _teddy("a", "PatchMatch", "c", "d", "e")],
        [_teddy("a", "PatchMatch", "c", "d", "e", "f")],
    ),
    "patch_match_venus": ([_FOUR, _venus(1.1001)], [_venus(1.0999)]),
    "ranks_are_distant": ([[4, 11, 13], [1, 3]], [[1, 3, 4], [5]]),
    "most_in_group_two": ([_SIXTH, _groups(2, 2, 1)], [_groups(2, 2, 1, 3)]),
    "no_single_winner": ([_groups(1, 1, 2)], [_groups(1, 2, 2)]),
}
