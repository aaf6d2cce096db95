"""The tables: printed groups formed again, public maps measured, and our own methods in place of the others."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from stereo_framework.page.page import Cell, PageTable, Text
from stereo_framework.papers.comparison import Comparison, as_printed, comparison_table
from stereo_framework.papers.groups2012.claims import CLAIMS, Rows
from stereo_framework.papers.own_methods import SUBMISSIONS, ranked, scores, submission_scores
from stereo_framework.papers.paper import Context, Outcome, results_details
from stereo_framework.papers.published import published_table, raw_table
from stereo_framework.tables.ranking import astar_groups

_LOCAL = ("DistinctSM", "PatchMatch", "window", "ssd")
"""Local methods: the two that section 5.1 names, and two of our own."""


def table1(context: Context) -> Outcome:
    """Two printed rows of tsukuba that the two measures order differently."""
    printed = raw_table("groups2012", "table1")
    rows = [
        [Cell(measure), Cell(method), *(Cell.number(v, ".3f") for v in values)]
        for measure, methods in printed["rows"].items()
        for method, values in methods.items()
    ]
    table = PageTable("Tsukuba, as printed", ["measure", "method", *printed["columns"]], rows, "The maps are not to be had.")
    return Outcome([table], statements=[CLAIMS["contradict"].asked(printed["rows"], ours=_nearest(context))])


def _nearest(context: Context) -> tuple[dict[str, dict[str, list[float]]], ...]:
    """Both errors on tsukuba of the two of our methods whose bad pixels are nearest to each other."""
    if context.quick or len(bad := scores(context, "bad_pixels")) < 2:
        return ()
    order = sorted(bad, key=lambda name: bad[name]["tsukuba_nonocc"])
    pair = min(itertools.pairwise(order), key=lambda p: bad[p[1]]["tsukuba_nonocc"] - bad[p[0]]["tsukuba_nonocc"])
    by_measure = {"BMP": bad, "SZE": scores(context, "sigma_z_error")}
    columns = [f"tsukuba_{region}" for region in ("nonocc", "all", "disc")]
    return ({m: {name: [rows[name][c] for c in columns] for name in pair} for m, rows in by_measure.items()},)


def table2(context: Context) -> Outcome:
    """Sizes of the groups, from the methods that Tables 5 and 7 list, and whether the printed tables agree with each other."""
    printed, groups = raw_table("groups2012", "table2"), list(_printed_groups().values())
    rows = [
        [Cell(str(g)), Cell.number(size, "d"), Cell(str(percent)), Cell.number(100 * groups.count(g) / len(groups))]
        for g, (size, percent) in printed["groups"].items()
    ]
    header = ["group", "printed size", "printed percent", "percent of the methods that Tables 5 and 7 list"]
    table6 = {name: group for name, (_, group) in raw_table("groups2012", "table6")["rows"].items()}
    statement = CLAIMS["tables_agree"].asked(printed, _printed_groups(), table6, _groups(_printed_rows()))
    return Outcome([PageTable("Sizes of the groups", header, rows)], statements=[statement])


def table3(context: Context) -> Outcome:
    """A printed row of each group, and all printed rows sorted again."""
    published, printed, computed = published_table("groups2012", "table3"), _printed_groups(), _groups(_printed_rows())
    rows = [
        [Cell(n), Cell.number(printed[n], "d"), Cell.number(group, "d", mark="" if printed[n] == group else "not as printed")]
        for n, group in computed.items()
    ]
    sorted_again = PageTable("Groups of the rows of Tables 3 and 4", ["method", "printed group", "computed group"], rows)
    ours = _own_groups(context)
    statements = [
        CLAIMS["seven_groups"].asked(computed, ours=(ours,) if ours else ()),
        CLAIMS["segm_border"].asked(published.rows),
    ]
    return Outcome([as_printed("As printed", published), sorted_again], statements=statements)


def table4(context: Context) -> Outcome:
    """Sigma-Z-Errors of the PatchMatch submission, and what the paper says of the first group."""
    published = published_table("groups2012", "table4")
    found = submission_scores(context, "patchmatch", "sigma_z_error")
    comparisons = [patch_match(column, value, found.get(column)) for column, value in published.rows["PatchMatch"].items()]
    ours = ({**published.rows, "PatchMatch": found},) if found else ()
    groups = _own_groups(context)
    first = [name for name, group in groups.items() if group == 1]
    statements = [
        CLAIMS["local_beside_global"].asked(published.rows, _LOCAL, ours=(first, _LOCAL) if first else ()),
        *(CLAIMS[name].asked(published.rows, ours=ours) for name in ("patch_match_teddy", "patch_match_venus")),
        CLAIMS["no_single_winner"].asked(_printed_groups(), ours=(groups,) if groups else ()),
    ]
    absent = "The maps of PatchMatch are not in the data root."
    text = "Depth is 1 / disparity, a missing estimate has depth 0 (equation 17)." if found else absent
    tables = [
        comparison_table("PatchMatch, published and ours", comparisons),
        as_printed("The first group, as printed", published),
    ]
    return Outcome([Text(text), *tables], comparisons, statements)


def patch_match(column: str, published: float, ours: float | None) -> Comparison:
    """An error of PatchMatch and our measurement."""
    reason = "the paper cuts digits off after the first decimal, and rounds some"
    if column == "teddy_disc":
        reason += "; 66.0 is taken for a misprint: the same pixels are among those of nonocc, which agrees"
    return Comparison("PatchMatch", column, published, ours, 0.05, 0.1, reason)


def tables5_to_7(context: Context) -> Outcome:
    """The groups of the two public submissions, measured, among the printed rows; Middlebury's ranks beside the groups."""
    measured = {name: submission_scores(context, folder, "sigma_z_error") for folder, name in SUBMISSIONS.items()}
    printed, rows = _printed_groups(), _printed_rows()
    there = {name: {c: row[c] for c in next(iter(rows.values()))} for name, row in measured.items() if row}
    found = _groups({**rows, **there})
    reason = "a group is a whole number; of the 112 methods 14 other rows are printed, and with more a method could only move to a later group"
    comparisons = [
        Comparison(name, "group", printed[name], found[name] if name in there else None, 0, 0, reason) for name in measured
    ]
    table6 = raw_table("groups2012", "table6")["rows"]
    ranks, groups = ({name: pair[i] for name, pair in table6.items()} for i in (0, 1))
    own = _own_groups(context)
    by_bad = ranked(scores(context, "bad_pixels"))[1] if own else {}
    table5 = raw_table("groups2012", "table5")["rows"].values()
    first = [by_bad[name] for name, group in own.items() if group == 1]
    statements = [
        CLAIMS["top_ranked"].asked(ranks, groups, ours=(by_bad, own) if own else ()),
        CLAIMS["ranks_are_distant"].asked(table5, ours=(first,) if own else ()),
        CLAIMS["most_in_group_two"].asked(list(groups.values())),
    ]
    return Outcome([comparison_table("Groups, published and ours", comparisons, 0)], comparisons, statements)


def own_methods(context: Context) -> Outcome:
    """Groups of our own methods and the public submissions, among themselves and among the printed rows."""
    ours = scores(context, "sigma_z_error")
    if not ours:
        return Outcome([Text("None of the benchmark's scenes is there.")])
    columns = list(next(iter(ours.values())))
    printed = _printed_rows()
    alone, among = _groups(ours), _groups({**{name: {c: row[c] for c in columns} for name, row in printed.items()}, **ours})
    rows = [
        [Cell(name), Cell.number(alone[name], "d"), Cell.number(among[name], "d")]
        for name in sorted(ours, key=lambda name: (among[name], alone[name]))
    ]
    text = (
        "The paper groups 112 methods, whose maps are not to be had but for two. Here are our own methods and those two, by the Sigma-Z-Errors of "
        f"{len(columns)} columns: {', '.join(columns)}."
    )
    note = f"Among: together with the {len(set(printed) - set(ours))} other rows that the paper prints. More methods can only move one to a later group."
    header = ["method", "group among these", "group among the printed rows"]
    return Outcome(
        [Text(text), PageTable("A* groups by the Sigma-Z-Error", header, rows, note), results_details(context.run("own_methods"))]
    )


def _own_groups(context: Context) -> dict[str, int]:
    """Groups of our own methods on all scenes; empty in a quick reproduction, which has one scene."""
    return {} if context.quick else _groups(scores(context, "sigma_z_error"))


def _printed_rows() -> dict[str, Mapping[str, float]]:
    """The Sigma-Z-Errors that the paper prints, by method."""
    return {**published_table("groups2012", "table3").rows, **published_table("groups2012", "table4").rows}


def _printed_groups() -> dict[str, int]:
    """The printed groups: 1 for the methods of Table 5, the others by Table 7."""
    return {**raw_table("groups2012", "table7")["rows"], **dict.fromkeys(raw_table("groups2012", "table5")["rows"], 1)}


def _groups(rows: Rows) -> dict[str, int]:
    return (
        dict(zip(rows, astar_groups(np.array([list(row.values()) for row in rows.values()])).tolist(), strict=True))
        if rows
        else {}
    )
