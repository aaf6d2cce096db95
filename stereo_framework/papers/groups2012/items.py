"""The tables: printed groups formed again, public maps measured, and our own methods in place of the others."""

import operator
from collections.abc import Collection, Mapping

import numpy as np
from pandas import DataFrame, Series

from stereo_framework.papers.claim import Cases, more_than_half, tally
from stereo_framework.papers.comparison import (
    Comparison,
    as_printed,
    compared,
    plain_table,
    published_table,
    raw_table,
)
from stereo_framework.papers.own_methods import (
    REGIONS,
    SUBMISSIONS,
    groups,
    nearest,
    ranks,
    scores,
    submission_scores,
)
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.tables.tables import Cell

METRIC_NAMES = {"BMP": "bad_pixels", "SZE": "sigma_z_error"}
"""The paper's names of the metrics, with ours."""

LOCAL = ("DistinctSM", "PatchMatch", "window", "ssd")
"""Local methods: the two that section 5.1 names, and two of our own."""


def table1(context: Context) -> Outcome:
    """Two printed rows of tsukuba that the two metrics order differently; of ours the two whose bad pixels are nearest to each other there."""
    printed = raw_table("groups2012", "table1")
    rows = [
        [metric, method, *values]
        for metric, own in printed["rows"].items()
        for method, values in own.items()
    ]
    header = ["metric", "method", *printed["columns"]]
    table = plain_table("Tsukuba, as printed", header, rows, ".3f", "The maps are not to be had.")
    errors, found = (
        {m: DataFrame(own, REGIONS).T for m, own in printed["rows"].items()},
        scores(context, METRIC_NAMES),
    )
    pair = nearest(found["BMP"]["tsukuba_nonocc"], 2, operator.sub) if found else []
    ours = {
        m: own.loc[pair, [f"tsukuba_{region}" for region in REGIONS]] for m, own in found.items()
    }
    return Outcome([table], data={"errors": errors}, ours={"errors": ours if pair else None})


def table2(context: Context) -> Outcome:
    """Sizes of the groups, from the methods that Tables 5 and 7 list."""
    sizes, shares = (
        raw_table("groups2012", "table2")["groups"],
        100 * printed_groups().value_counts(normalize=True),
    )
    rows = [[str(g), f"{size}", f"{percent}", shares[g]] for g, (size, percent) in sizes.items()]
    header = [
        "group",
        "printed size",
        "printed percent",
        "percent of the methods that Tables 5 and 7 list",
    ]
    return Outcome([plain_table("Sizes of the groups", header, rows)])


def table3(context: Context) -> Outcome:
    """A printed row of each group, and all printed rows sorted again."""
    published, printed, computed = (
        published_table("groups2012", "table3"),
        printed_groups(),
        groups(_printed_rows()),
    )
    rows = [
        [
            name,
            printed[name],
            Cell.number(group, "d", mark="" if printed[name] == group else "not as printed"),
        ]
        for name, group in computed.items()
    ]
    again = plain_table(
        "Groups of the rows of Tables 3 and 4",
        ["method", "printed group", "computed group"],
        rows,
        "d",
    )
    data, found = {"groups": computed, "rows": published.frame}, scores(context, METRIC_NAMES)
    ours = {"groups": groups(found["SZE"])} if found else {}
    return Outcome([as_printed("As printed", published), again], data=data, ours=ours)


def table4(context: Context) -> Outcome:
    """Sigma-Z-Errors of the PatchMatch submission, and what the paper says of the first group."""
    published = published_table("groups2012", "table4")
    found, own = (
        submission_scores(context, "patchmatch", "sigma_z_error"),
        scores(context, METRIC_NAMES),
    )
    comparisons = compared(published, {"PatchMatch": found}, rows=["PatchMatch"])
    data = {
        "rows": published.frame,
        "first": list(published.rows),
        "local": LOCAL,
        "groups": printed_groups(),
    }
    ours = {
        "rows": DataFrame.from_dict({**published.rows, "PatchMatch": found}, orient="index")
        if found
        else None
    }
    if own:
        among = groups(own["SZE"])
        ours |= {"first": list(among.index[among == 1]), "local": LOCAL, "groups": among}
    return Outcome([as_printed("The first group, as printed", published)], comparisons, data, ours)


def tables5_to_7(context: Context) -> Outcome:
    """The groups of the two public submissions, measured, among the printed rows; Middlebury's ranks beside the groups."""
    measured = {
        name: submission_scores(context, folder, "sigma_z_error")
        for folder, name in SUBMISSIONS.items()
    }
    printed, rows = printed_groups(), _printed_rows()
    there = DataFrame({name: row for name, row in measured.items() if row}, rows.columns).T
    among = groups(_among(rows, there))
    reason = "a group is a whole number; of the 112 methods 14 other rows are printed, and with more a method could only move to a later group"
    comparisons = [
        Comparison(
            n, "group", int(printed[n]), int(among[n]) if n in there.index else None, 0, 0, reason
        )
        for n in measured
    ]
    table6, own, ours = (
        published_table("groups2012", "table6").frame,
        scores(context, METRIC_NAMES),
        {},
    )
    first = list(raw_table("groups2012", "table5")["rows"].values())
    data = {
        "ranks": table6["middlebury_rank"],
        "groups": table6["astar_group"],
        "first_ranks": first,
    }
    if own:
        ours = {"ranks": ranks(own["BMP"]), "groups": groups(own["SZE"])}
        ours["first_ranks"] = list(ours["ranks"][ours["groups"] == 1])
    return Outcome([], comparisons, data, ours)


def _among(printed: DataFrame, ours: DataFrame) -> DataFrame:
    """The printed rows and ours, ours where both have one."""
    return DataFrame({**printed.T, **ours.T}).T


def _printed_rows() -> DataFrame:
    """The Sigma-Z-Errors that the paper prints, by method."""
    three, four = (published_table("groups2012", name).frame for name in ("table3", "table4"))
    return _among(three, four)


def printed_groups() -> Series:
    """The printed groups: 1 for the methods of Table 5, the others by Table 7."""
    return Series(
        {
            **raw_table("groups2012", "table7")["rows"],
            **dict.fromkeys(raw_table("groups2012", "table5")["rows"], 1),
        }
    )


# --- The judges of sentences, by their names in ``paper.yaml`` --------------------------------------------------------


def seven_groups(groups: Series) -> Cases:
    yield f"{groups.nunique()} groups of {len(groups)} methods", groups.nunique() == 7


def top_ranked(ranks: Series, groups: Series) -> Cases:
    first = groups[ranks.sort_values(kind="stable").index[: len(ranks) // 3]]
    yield ", ".join(f"{name} group {group}" for name, group in first.items()), (first > 1).any()


def contradict(errors: Mapping[str, DataFrame]) -> Cases:
    """Takes the errors of two methods by metric."""
    for region, *both in zip(
        REGIONS, *(errors[metric].to_numpy().T for metric in ("BMP", "SZE")), strict=True
    ):
        lead = [values.max() / values.min() - 1 for values in both]
        best = [errors["BMP"].index[np.argmin(values)] for values in both]
        told = ", ".join(
            f"{m} prefers {name} by {100 * by:.1f} %"
            for m, name, by in zip(errors, best, lead, strict=True)
        )
        yield f"{region}: {told}", best[0] != best[1] and lead[1] > lead[0]


def segm_border(rows: DataFrame) -> Cases:
    best = rows.loc["GC+SegmBorder"] < rows.drop("GC+SegmBorder").min()
    yield f"GC+SegmBorder: lowest in {best.sum()} of {len(best)} columns", best.all()


def local_beside_global(first: Collection[str], local: Collection[str]) -> Cases:
    kinds = {
        "local": [n for n in first if n in local],
        "global": [n for n in first if n not in local],
    }
    yield (
        "; ".join(f"{kind}: {', '.join(names) or 'none'}" for kind, names in kinds.items()),
        all(kinds.values()),
    )


def patch_match_teddy(rows: DataFrame) -> Cases:
    place = int(rows["teddy_nonocc"].rank(method="min")["PatchMatch"])
    yield f"PatchMatch: place {place} of {len(rows)}", place > len(rows) / 3


def patch_match_venus(rows: DataFrame) -> Cases:
    for region in REGIONS:
        own, others = (
            rows[f"venus_{region}"]["PatchMatch"],
            rows[f"venus_{region}"].drop("PatchMatch"),
        )
        worse = (others >= 1.1 * own).sum()
        yield (
            f"{region}: {worse} of {len(others)} others are worse by a tenth",
            2 * worse > len(others),
        )


def ranks_are_distant(first_ranks: Collection[int]) -> Cases:
    found = sorted(first_ranks)
    apart = float(np.mean(np.diff(found))) if len(found) > 1 else 0.0
    yield f"ranks {', '.join(map(str, found))}: {apart:.1f} apart", apart >= 2


def most_in_group_two(groups: Series) -> Cases:
    return tally(groups == 2, "methods in group 2", more_than_half)


def no_single_winner(groups: Series) -> Cases:
    first = groups.index[groups == 1]
    yield f"group 1 has {len(first)} of {len(groups)} methods: {', '.join(first)}", len(first) > 1
