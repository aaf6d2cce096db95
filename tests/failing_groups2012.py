"""Data on each side of every rule of groups2012, by the name of the sentence: with which it must hold, and with which it must not."""

from stereo_framework.papers.groups2012 import items
from stereo_framework.papers.published import published_table, raw_table

_TABLE1, _TABLE2 = (raw_table("groups2012", name) for name in ("table1", "table2"))
_RANKS, _SIXTH = ({name: pair[i] for name, pair in raw_table("groups2012", "table6")["rows"].items()} for i in (0, 1))
_THREE, _FOUR = (published_table("groups2012", name).rows for name in ("table3", "table4"))
_PRINTED = items.printed_groups()
_COMPUTED = {"GC+SegmBorder": 1, "DP": 6}


def _wrong(rows, name, column, value):
    return {**rows, name: {**rows[name], column: value}}


def _contradicting(bmp, sze):
    """Two methods a and b with BMP of 1 and SZE of 10 for the better one."""
    return {"BMP": {"a": [1.0] * 3, "b": [1 + bmp] * 3}, "SZE": {"a": [10 * (1 + sze)] * 3, "b": [10.0] * 3}}


def _venus(factor):
    """Five methods, of which PatchMatch has 100 in each region of venus, three have more by this factor and one less."""
    values = {"PatchMatch": 100, "a": 100 * factor, "b": 100 * factor, "c": 100 * factor, "d": 50}
    return {name: {f"venus_{region}": v for region in ("nonocc", "all", "disc")} for name, v in values.items()}


SIDES = {
    "seven_groups": ([({str(i): i for i in range(1, 8)},)], [({"a": 1, "b": 2, "c": 6},), ({str(i): i for i in range(1, 9)},)]),
    "top_ranked": (
        [(_RANKS, _SIXTH), ({"a": 1, "b": 2, "c": 3}, {"a": 2, "b": 1, "c": 1})],
        # Only the first third counts: the fifth of fifteen does, the sixth does not.
        [(_RANKS, {name: 1 if rank <= 5 else 7 for name, rank in _RANKS.items()})],
    ),
    "contradict": (
        [(_TABLE1["rows"],), (_contradicting(0.02, 0.03),)],
        [(_contradicting(0.03, 0.02),), (_contradicting(-0.02, 0.03),)],
    ),
    "segm_border": ([(_THREE,)], [(_wrong(_THREE, "MI-nonpara", "cones_disc", 24.2),)]),
    "local_beside_global": (
        [(_FOUR, ("DistinctSM", "PatchMatch"))],
        [(["a", "b"], ("a", "b")), (["a", "b"], ("c",))],
    ),
    "patch_match_teddy": (
        [(_FOUR,), ({name: {"teddy_nonocc": i} for i, name in enumerate(("a", "PatchMatch", "c", "d", "e"))},)],
        [({name: {"teddy_nonocc": i} for i, name in enumerate(("a", "PatchMatch", "c", "d", "e", "f"))},)],
    ),
    "patch_match_venus": ([(_FOUR,), (_venus(1.1001),)], [(_venus(1.0999),)]),
    "ranks_are_distant": ([([4, 11, 13],), ([1, 3],)], [([1, 3, 4],), ([5],)]),
    "most_in_group_two": ([(_SIXTH,), ({"a": 2, "b": 2, "c": 1},)], [({"a": 2, "b": 2, "c": 1, "d": 3},)]),
    "no_single_winner": ([({"a": 1, "b": 1, "c": 2},)], [({"a": 1, "b": 2, "c": 2},)]),
}
