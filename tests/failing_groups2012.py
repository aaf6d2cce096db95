"""Measured data with which each claim of groups2012 must fail, by its name."""

from stereo_framework.papers.published import raw_table

_TABLE1, _TABLE2 = (raw_table("groups2012", name) for name in ("table1", "table2"))
_TABLE6 = raw_table("groups2012", "table6")["rows"]

FAILING = {
    "seven_groups": ({"a": 1, "b": 2, "c": 6},),
    "top_ranked": ({name: (rank, 1 if rank <= 5 else group) for name, (rank, group) in _TABLE6.items()},),
    # SymBP+occ would be better by both measures near discontinuities.
    "contradict": (
        {"SZE": _TABLE1["rows"]["SZE"], "BMP": {"SymBP+occ": [0.966, 1.755, 5.047], "EnhancedBP": [0.945, 1.736, 5.048]}},
    ),
    "printed_groups": ({"DP": 5, "DoubleBP": 1}, {"DP": 6, "DoubleBP": 1}),
    "sizes": (_TABLE2, {1: 9, 2: 47, 3: 19, 4: 19, 5: 6, 6: 8, 7: 4}),
    "percentages": ({"groups": {**_TABLE2["groups"], 5: (6, 5.5)}, "total": 112},),
    "table_6": (_TABLE6, dict.fromkeys(_TABLE6, 2)),
    "global_first": ({"gc": 2, "bp": 3, "gco": 2, "window": 1, "ssd": 4},),
}
