"""The tables: printed groups formed again, public maps measured, and our own methods in place of the others."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from stereo_framework.page.page import Cell, Text
from stereo_framework.papers.comparison import Comparison, as_printed, compared, comparison_table, plain_table
from stereo_framework.papers.own_methods import REGIONS, SUBMISSIONS, groups, nearest, ranked, scores, submission_scores
from stereo_framework.papers.paper import Context, Outcome, results_details
from stereo_framework.papers.published import published_table, raw_table

LOCAL = ("DistinctSM", "PatchMatch", "window", "ssd")
"""Local methods: the two that section 5.1 names, and two of our own."""


def table1(context: Context) -> Outcome:
    """Two printed rows of tsukuba that the two measures order differently; of ours the two whose bad pixels are nearest to each other there."""
    printed = raw_table("groups2012", "table1")
    rows = [[measure, method, *values] for measure, own in printed["rows"].items() for method, values in own.items()]
    header = ["measure", "method", *printed["columns"]]
    table = plain_table("Tsukuba, as printed", header, rows, ".3f", "The maps are not to be had.")
    by_measure = {} if context.quick else {"BMP": scores(context, "bad_pixels"), "SZE": scores(context, "sigma_z_error")}
    pair = nearest(by_measure.get("BMP", {}), "tsukuba_nonocc", 2, operator.sub)
    ours = {m: {name: [own[name][f"tsukuba_{region}"] for region in REGIONS] for name in pair} for m, own in by_measure.items()}
    return Outcome([table], data={"errors": printed["rows"]}, ours={"errors": ours if pair else None})


def table2(context: Context) -> Outcome:
    """Sizes of the groups, from the methods that Tables 5 and 7 list."""
    table, listed = raw_table("groups2012", "table2"), list(printed_groups().values())
    rows = [
        [str(g), f"{size}", f"{percent}", 100 * listed.count(g) / len(listed)] for g, (size, percent) in table["groups"].items()
    ]
    header = ["group", "printed size", "printed percent", "percent of the methods that Tables 5 and 7 list"]
    return Outcome([plain_table("Sizes of the groups", header, rows)])


def table3(context: Context) -> Outcome:
    """A printed row of each group, and all printed rows sorted again."""
    published, printed, computed = published_table("groups2012", "table3"), printed_groups(), groups(_printed_rows())
    rows = [
        [name, printed[name], Cell.number(group, "d", mark="" if printed[name] == group else "not as printed")]
        for name, group in computed.items()
    ]
    again = plain_table("Groups of the rows of Tables 3 and 4", ["method", "printed group", "computed group"], rows, "d")
    data = {"groups": computed, "rows": published.rows}
    return Outcome([as_printed("As printed", published), again], data=data, ours={"groups": _own_groups(context)})


def table4(context: Context) -> Outcome:
    """Sigma-Z-Errors of the PatchMatch submission, and what the paper says of the first group."""
    published = published_table("groups2012", "table4")
    found, own = submission_scores(context, "patchmatch", "sigma_z_error"), _own_groups(context)
    comparisons = compared(published, {"PatchMatch": found}, rows=["PatchMatch"])
    absent = "The maps of PatchMatch are not in the data root."
    text = Text("Depth is 1 / disparity, a missing estimate has depth 0 (equation 17)." if found else absent)
    tables = [
        comparison_table("PatchMatch, published and ours", comparisons),
        as_printed("The first group, as printed", published),
    ]
    data = {"rows": published.rows, "first": list(published.rows), "local": LOCAL, "groups": printed_groups()}
    first = [name for name, group in own.items() if group == 1] if own else None
    measured = {**published.rows, "PatchMatch": found} if found else None
    return Outcome([text, *tables], comparisons, data, {"rows": measured, "first": first, "local": LOCAL, "groups": own})


def tables5_to_7(context: Context) -> Outcome:
    """The groups of the two public submissions, measured, among the printed rows; Middlebury's ranks beside the groups."""
    measured = {name: submission_scores(context, folder, "sigma_z_error") for folder, name in SUBMISSIONS.items()}
    printed, rows = printed_groups(), _printed_rows()
    there = {name: {c: row[c] for c in next(iter(rows.values()))} for name, row in measured.items() if row}
    among = groups({**rows, **there})
    reason = "a group is a whole number; of the 112 methods 14 other rows are printed, and with more a method could only move to a later group"
    comparisons = [Comparison(n, "group", printed[n], among[n] if n in there else None, 0, 0, reason) for n in measured]
    own = _own_groups(context)
    by_bad = ranked(scores(context, "bad_pixels"))[1] if own else None
    first = raw_table("groups2012", "table5")["rows"].values()
    data = {"ranks": _table6("middlebury_rank"), "groups": _table6("astar_group"), "first_ranks": first}
    our_first = [by_bad[name] for name, group in own.items() if group == 1] if own and by_bad else None
    ours = {"ranks": by_bad, "groups": own, "first_ranks": our_first}
    return Outcome([comparison_table("Groups, published and ours", comparisons, 0)], comparisons, data, ours)


def own_methods(context: Context) -> Outcome:
    """Groups of our own methods and the public submissions, among themselves and among the printed rows."""
    ours = scores(context, "sigma_z_error")
    if not ours:
        return Outcome([Text("None of the benchmark's scenes is there.")])
    columns = list(next(iter(ours.values())))
    printed = _printed_rows()
    alone, among = groups(ours), groups({**{name: {c: row[c] for c in columns} for name, row in printed.items()}, **ours})
    rows = [[name, alone[name], among[name]] for name in sorted(ours, key=lambda name: (among[name], alone[name]))]
    text = (
        "The paper groups 112 methods, whose maps are not to be had but for two. Here are our own methods and those two, by the Sigma-Z-Errors of "
        f"{len(columns)} columns: {', '.join(columns)}."
    )
    note = f"Among: together with the {len(set(printed) - set(ours))} other rows that the paper prints. More methods can only move one to a later group."
    header = ["method", "group among these", "group among the printed rows"]
    table = plain_table("A* groups by the Sigma-Z-Error", header, rows, "d", note)
    return Outcome([Text(text), table, results_details(context.run("own_methods"))])


def _own_groups(context: Context) -> dict[str, int] | None:
    """Groups of our own methods on all scenes; none in a quick reproduction, which has one scene."""
    return None if context.quick else groups(scores(context, "sigma_z_error")) or None


def _printed_rows() -> dict[str, Mapping[str, float]]:
    """The Sigma-Z-Errors that the paper prints, by method."""
    return {**published_table("groups2012", "table3").rows, **published_table("groups2012", "table4").rows}


def printed_groups() -> dict[str, int]:
    """The printed groups: 1 for the methods of Table 5, the others by Table 7."""
    return {**raw_table("groups2012", "table7")["rows"], **dict.fromkeys(raw_table("groups2012", "table5")["rows"], 1)}


def _table6(column: str) -> dict[str, Any]:
    return {name: row[column] for name, row in published_table("groups2012", "table6").rows.items()}
