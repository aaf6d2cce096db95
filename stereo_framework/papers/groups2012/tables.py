"""Table 4, measured where maps are public, and the groups of Tables 3 to 7, from the printed numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stereo_framework.page.page import Cell, Statement, Table, Text
from stereo_framework.papers.comparison import Comparison, comparison_table
from stereo_framework.papers.own_methods import SUBMISSIONS, scores, submission_scores
from stereo_framework.papers.paper import Context, Outcome, results_details
from stereo_framework.papers.published import published_table, raw_table
from stereo_framework.tables.ranking import astar_groups


def table4(context: Context) -> Outcome:
    """Sigma-Z-Errors of the PatchMatch submission."""
    printed = published_table("groups2012", "table4").rows["PatchMatch"]
    found = submission_scores(context, "patchmatch", "sigma_z_error")
    comparisons = []
    for column, value in printed.items():
        # The paper cuts digits off; one value it rounds.
        below, above, reason = 0.05, 0.1, "printed digits are cut off or rounded"
        if column == "teddy_disc":
            below, above, reason = 0.05, 0.21, "taken for a misprint: the same pixels are among those of nonocc, which agrees"
        comparisons.append(Comparison("PatchMatch", column, value, found.get(column), below, above, reason))
    text = (
        "Depth is 1 / disparity, a missing estimate has depth 0." if found else "The maps of PatchMatch are not in the data root."
    )
    return Outcome([Text(text), comparison_table("Published and ours", comparisons)], comparisons)


def groups(context: Context) -> Outcome:
    """Non-dominated sorting of the printed rows, and whether the printed tables agree with each other."""
    printed_rows = {**published_table("groups2012", "table3").rows, **published_table("groups2012", "table4").rows}
    first, others = raw_table("groups2012", "table5")["rows"], raw_table("groups2012", "table7")["rows"]
    printed = {name: 1 if name in first else others[name] for name in printed_rows}
    computed = _groups(printed_rows)
    rows = [
        [
            Cell(n),
            Cell(str(printed[n]), printed[n]),
            Cell(str(computed[n]), computed[n], "" if printed[n] == computed[n] else "bad"),
        ]
        for n in printed_rows
    ]
    right = sum(printed[n] == computed[n] for n in printed_rows)
    counts = raw_table("groups2012", "table2")
    sizes = [len(first), *(list(others.values()).count(g) for g in range(2, 8))]
    expected = [count for count, _ in counts["groups"].values()]
    table6 = raw_table("groups2012", "table6")["rows"]
    agree = [name for name, (_, group) in table6.items() if group == (1 if name in first else others.get(name))]
    statements = [
        Statement(
            "All printed rows fall into their printed groups by non-dominated sorting",
            right == len(printed_rows),
            f"{right} of {len(printed_rows)}",
        ),
        Statement(
            "The groups of Tables 5 and 7 have the sizes of Table 2",
            sizes == expected and sum(sizes) == counts["total"],
            f"{sizes}, {sum(sizes)} in all",
        ),
        Statement(
            "Table 6 gives its methods the groups of Tables 5 and 7", len(agree) == len(table6), f"{len(agree)} of {len(table6)}"
        ),
    ]
    return Outcome(
        [Table("Groups of the printed rows", ["method", "printed group", "computed group"], rows)], statements=statements
    )


def own_methods(context: Context) -> Outcome:
    """Groups of our own methods and the public submissions, among themselves and among the printed rows."""
    ours = scores(context, "sigma_z_error")
    if not ours:
        return Outcome([Text("None of the benchmark's scenes is there.")])
    columns = list(next(iter(ours.values())))
    printed = {**published_table("groups2012", "table3").rows, **published_table("groups2012", "table4").rows}
    together = {**{name: {c: row[c] for c in columns} for name, row in printed.items()}, **ours}
    alone, among = _groups(ours), _groups(together)
    rows = [
        [Cell(name), Cell(str(alone[name]), alone[name]), Cell(str(among[name]), among[name])]
        for name in sorted(ours, key=lambda name: (among[name], alone[name]))
    ]
    text = (
        "The paper groups 112 methods, whose maps are not to be had but for two. Here are our own methods and those two, by the Sigma-Z-Errors of "
        f"{len(columns)} columns: {', '.join(columns)}."
    )
    note = f"Among: together with the {len(set(printed) - set(ours))} other rows that the paper prints. More methods can only move one to a later group."
    others = raw_table("groups2012", "table7")["rows"]
    theirs = {name: 1 if name in raw_table("groups2012", "table5")["rows"] else others[name] for name in SUBMISSIONS.values()}
    here = [name for name in theirs if name in ours]
    figures = "; ".join(f"{name}: {theirs[name]} printed, {among[name]} here" for name in here)
    statement = Statement(
        "The public submissions, measured, fall into their printed groups among the printed rows",
        all(among[name] == theirs[name] for name in here) if here and not context.quick else None,
        figures or "the submissions are not in the data root",
    )
    header = ["method", "group among these", "group among the printed rows"]
    table = Table("A* groups by the Sigma-Z-Error", header, rows, note)
    return Outcome([Text(text), table, results_details(context.run("own_methods"))], statements=[statement])


def _groups(rows: Mapping[str, Mapping[str, float]]) -> dict[str, int]:
    return dict(zip(rows, astar_groups(np.array([list(row.values()) for row in rows.values()])).tolist(), strict=True))
