"""Measured data with which each claim of hci2015 must fail, by its name."""

from dataclasses import replace

import made_results

from stereo_framework.papers.hci2015.runs import COLUMNS, FOLDER, GEOMETRIC
from stereo_framework.papers.published import published_table


def made(scene, method, **values):
    """A result with 0.5 in every column but those given by the paper's names."""
    statistics = {name: values.get(column.replace(".", ""), 0.5) for column, name in COLUMNS.items()}
    statistics["fraction_matched"] = values.get("matched", 1.0)
    return made_results.result(FOLDER + scene, {}, statistics, method=method)


def on_all(method, **values):
    return [made(scene, method, **values) for scene in ("Adirondack", "Pipes", "Jadeplant", "PlaytableP")]


def printed_r2():
    """The published r^2, and the same as ours."""
    table = published_table("hci2015", "figure11")
    printed = {(row, column): value for row, values in table.rows.items() for column, value in values.items()}
    return printed, printed | {(b, a): value for (a, b), value in printed.items()}


def _r2(*pairs):
    printed, ours = printed_r2()
    return printed, ours | dict.fromkeys(pairs, 0.99)


def ranks_as(*orders):
    """The same ranks of methods by every measure; those of RMS are the first order's, those of the metrics the last one's."""
    by = [{name: i + 1 for i, name in enumerate(order)} for order in orders]
    return {c: by[-1] if c in GEOMETRIC else by[0] for c in COLUMNS}


# One method is worse than the other in every measure: no pair is opposed.
_ALIKE = [
    r
    for i, method in enumerate(("window", "ssd", "bayesian", "dp", "so", "bp", "gc", "gco"))
    for r in on_all(method, **{c.replace(".", ""): 0.5 + 0.25 * i for c in COLUMNS})
]
_FIGURE5 = published_table("hci2015", "figure5")

FAILING = {
    "D_thin_against_D_fuz": (_ALIKE,),
    "P_bump_against_P_orient": (_ALIKE,),
    "F_por_against_F_fat": (_ALIKE,),
    "RMS_against_F_por": (_ALIKE,),
    # Windows come first there, and so are best.
    "windows_fatten": (_ALIKE,),
    "rows_are_fuzzy": (_ALIKE,),
    "large_windows_lose_structures": ([*on_all("ssd", F_por=0.4), *on_all("window", F_por=0.5)],),
    "flat_pieces": ([*on_all("window", P_bump=2.0, P_orient=20.0), *on_all("gc", P_bump=1.5, P_orient=10.0)],),
    "fractions": ([*on_all("window"), *on_all("window_subpixel", P_bump=0.4, P_off=0.4, P_orient=0.4, D_fat=0.52)],),
    "fuzziness_in_bands": (on_all("sgbm", D_fuz=7 * 0.72 + 0.4),),
    "rms_is_limited": (ranks_as("abc", "abc"),),
    "rankings_reveal": (ranks_as("abcdef", "bacdef"),),
    "rms_and_fuzziness": _r2(("RMS", "D_fat")),
    "rms_tells_little": _r2(("RMS", "D_fat")),
    "fattening_of_both_kinds": _r2(("D_fat", "D_thin")),
    "porosity_and_fragmentation": _r2(("F_por", "P_off")),
    "planes_go_together": _r2(("P_bump", "F_fat")),
    "bad_pixels_tell_little": _r2(("Bad4.0", "P_bump")),
    "lowest_rms_in_print": (replace(_FIGURE5, rows={**_FIGURE5.rows, "F_fat": {**_FIGURE5.rows["F_fat"], "BSM": 0.0}}),),
}
