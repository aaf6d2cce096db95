"""Table 4 and the groups, measured where maps are public, and conclusions from the printed numbers of Tables 1 to 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stereo_framework.page.page import Cell, PageTable, Text
from stereo_framework.papers.claim import Cases, Verdict, by_cases, claims
from stereo_framework.papers.comparison import Comparison, comparison_table
from stereo_framework.papers.own_methods import SUBMISSIONS, scores, submission_scores
from stereo_framework.papers.paper import Context, Outcome, results_details
from stereo_framework.papers.published import published_table, raw_table
from stereo_framework.tables.ranking import astar_groups

_LOST = "the map is not to be had"


def table1(context: Context) -> Outcome:
    """Two printed rows of tsukuba that the two measures order differently."""
    printed = raw_table("groups2012", "table1")
    rows, comparisons = [], []
    for measure, methods in printed["rows"].items():
        for method, values in methods.items():
            rows.append([Cell(measure), Cell(method), *(Cell.number(v, ".3f") for v in values)])
            comparisons += [
                Comparison(method, f"{measure} {region}", value, None, None, None, _LOST)
                for region, value in zip(printed["columns"], values, strict=True)
            ]
    table = PageTable(
        "Tsukuba, as printed", ["measure", "method", *printed["columns"]], rows, "The maps of both are not to be had."
    )
    return Outcome([table], comparisons, [CONTRADICT.asked(printed["rows"])])


def table2(context: Context) -> Outcome:
    """Sizes of the groups, from the methods that Tables 5 and 7 list, and their percentages."""
    printed, groups = raw_table("groups2012", "table2"), list(_printed_groups().values())
    counted = {group: groups.count(group) for group in printed["groups"]}
    rows = [
        [Cell(str(group)), Cell.number(size, "d"), Cell(str(percent)), Cell.number(100 * counted[group] / len(groups), ".2f")]
        for group, (size, percent) in printed["groups"].items()
    ]
    header = ["group", "printed size", "printed percent", "percent of the methods that Tables 5 and 7 list"]
    statements = [SIZES.asked(printed, counted), PERCENTAGES.asked(printed)]
    return Outcome([PageTable("Sizes of the groups", header, rows)], statements=statements)


def table4(context: Context) -> Outcome:
    """Sigma-Z-Errors of the PatchMatch submission."""
    printed = published_table("groups2012", "table4").rows["PatchMatch"]
    found = submission_scores(context, "patchmatch", "sigma_z_error")
    comparisons = [_patch_match(column, value, found.get(column)) for column, value in printed.items()]
    absent = "The maps of PatchMatch are not in the data root."
    text = "Depth is 1 / disparity, a missing estimate has depth 0." if found else absent
    return Outcome([Text(text), comparison_table("Published and ours", comparisons)], comparisons)


def _patch_match(column: str, published: float, ours: float | None) -> Comparison:
    reason = "the paper cuts digits off after the first decimal, and rounds some"
    if column == "teddy_disc":
        reason += "; 66.0 is taken for a misprint: the same pixels are among those of nonocc, which agrees"
    return Comparison("PatchMatch", column, published, ours, 0.05, 0.1, reason)


def groups(context: Context) -> Outcome:
    """Non-dominated sorting of the printed rows, and whether the printed tables agree with each other."""
    printed, computed = _printed_groups(), _groups(_printed_rows())
    rows = [
        [Cell(n), Cell.number(printed[n], "d"), Cell.number(group, "d", mark="" if printed[n] == group else "not as printed")]
        for n, group in computed.items()
    ]
    table6 = raw_table("groups2012", "table6")["rows"]
    statements = [SEVEN_GROUPS.asked(computed), TOP_RANKED.asked(table6)]
    statements += [PRINTED_GROUPS.asked(computed, printed), TABLE_6.asked(table6, printed)]
    table = PageTable("Groups of the printed rows", ["method", "printed group", "computed group"], rows)
    return Outcome([table], statements=statements)


def submissions(context: Context) -> Outcome:
    """Measured groups of the public submissions among the rows that the paper prints."""
    measured = {name: submission_scores(context, folder, "sigma_z_error") for folder, name in SUBMISSIONS.items()}
    printed, rows = _printed_groups(), _printed_rows()
    there = {name: {c: row[c] for c in next(iter(rows.values()))} for name, row in measured.items() if row}
    found = _groups({**rows, **there})
    reason = "a group is a whole number; of the 112 methods 14 other rows are printed, and with more a method could only move to a later group"
    comparisons = [
        Comparison(name, "group", printed[name], found[name] if name in there else None, 0, 0, reason) for name in measured
    ]
    return Outcome([comparison_table("Groups, published and ours", comparisons, 0)], comparisons)


def own_methods(context: Context) -> Outcome:
    """Groups of our own methods and the public submissions, among themselves and among the printed rows."""
    ours = scores(context, "sigma_z_error")
    if not ours:
        return Outcome([Text("None of the benchmark's scenes is there.")], statements=[GLOBAL_FIRST.unasked("no scene is there")])
    columns = list(next(iter(ours.values())))
    printed = _printed_rows()
    together = {**{name: {c: row[c] for c in columns} for name, row in printed.items()}, **ours}
    alone, among = _groups(ours), _groups(together)
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
    table = PageTable("A* groups by the Sigma-Z-Error", header, rows, note)
    told = GLOBAL_FIRST.unasked("one scene only") if context.quick else GLOBAL_FIRST.asked(alone)
    return Outcome([Text(text), table, results_details(context.run("own_methods"))], statements=[told])


@by_cases
def _contradict(rows: Mapping[str, Mapping[str, Sequence[float]]]) -> Cases:
    """The measures prefer different methods in every region."""
    for i, region in enumerate(("nonocc", "all", "disc")):
        best = {measure: min(methods, key=lambda m: methods[m][i]) for measure, methods in rows.items()}
        yield f"{region}: BMP prefers {best['BMP']}, SZE {best['SZE']}", best["BMP"] != best["SZE"]


def _sizes(printed: Mapping[str, Any], counted: Mapping[int, int]) -> Verdict:
    sizes = {group: size for group, (size, _) in printed["groups"].items()}
    return Verdict(sizes == counted and sum(sizes.values()) == printed["total"], f"{counted}, {sum(counted.values())} in all")


@by_cases
def _percentages(printed: Mapping[str, Any]) -> Cases:
    for group, (size, percent) in printed["groups"].items():
        exact, digit = 100 * size / printed["total"], 0.1 if percent % 1 else 1
        yield f"{group}: {exact:.2f}, printed {percent:g}", abs(exact - percent) < digit


def _seven(computed: Mapping[str, int]) -> Verdict:
    count = len(set(computed.values()))
    return Verdict(count == 7, f"{count} groups of {len(computed)} printed rows by non-dominated sorting")


def _top_ranked(table6: Mapping[str, tuple[int, int]]) -> Verdict:
    """Some of the first five methods in Middlebury's ranking are not in the most accurate group."""
    later = [f"{name}, rank {rank}: group {group}" for name, (rank, group) in table6.items() if rank <= 5 and group > 1]
    return Verdict(bool(later), f"in the printed Table 6: {'; '.join(later) or 'the first five are all in group 1'}")


def _as_printed(found: Mapping[str, int], printed: Mapping[str, int]) -> Verdict:
    right = [name for name, group in found.items() if printed[name] == group]
    wrong = "; ".join(f"{name} {group}, printed {printed[name]}" for name, group in found.items() if printed[name] != group)
    return Verdict(len(right) == len(found), f"{len(right)} of {len(found)}{wrong and ': ' + wrong}")


def _table_6(table6: Mapping[str, tuple[int, int]], printed: Mapping[str, int]) -> Verdict:
    return _as_printed({name: group for name, (_, group) in table6.items()}, printed)


def _global_first(alone: Mapping[str, int]) -> Verdict:
    """No local method is in an earlier group than all global ones."""
    best = {kind: min((alone[name] for name in names if name in alone), default=0) for kind, names in _KINDS.items()}
    told = "; ".join(f"{kind}: {', '.join(f'{n} {alone[n]}' for n in names if n in alone)}" for kind, names in _KINDS.items())
    return Verdict(best["global"] <= best["local"] if all(best.values()) else None, told)


_KINDS = {"global": ("gc", "bp", "gco"), "local": ("window", "ssd")}

CLAIMS = SEVEN_GROUPS, TOP_RANKED, CONTRADICT, PRINTED_GROUPS, SIZES, PERCENTAGES, TABLE_6, GLOBAL_FIRST = claims(
    "groups2012",
    {
        "seven_groups": _seven,
        "top_ranked": _top_ranked,
        "contradict": _contradict,
        "printed_groups": _as_printed,
        "sizes": _sizes,
        "percentages": _percentages,
        "table_6": _table_6,
        "global_first": _global_first,
    },
)


def _printed_rows() -> dict[str, Mapping[str, float]]:
    """The Sigma-Z-Errors that the paper prints, by method."""
    return {**published_table("groups2012", "table3").rows, **published_table("groups2012", "table4").rows}


def _printed_groups() -> dict[str, int]:
    """The printed groups: 1 for the methods of Table 5, the others by Table 7."""
    return {**raw_table("groups2012", "table7")["rows"], **dict.fromkeys(raw_table("groups2012", "table5")["rows"], 1)}


def _groups(rows: Mapping[str, Mapping[str, float]]) -> dict[str, int]:
    return dict(zip(rows, astar_groups(np.array([list(row.values()) for row in rows.values()])).tolist(), strict=True))
