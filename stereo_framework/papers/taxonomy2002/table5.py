"""Table 5: the five methods of the test bed with fixed parameters, among the twenty methods of the paper."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from stereo_framework.page.page import Cell, PageTable, mark_best
from stereo_framework.papers.claim import Cases, Verdict, by_cases, cases, claims
from stereo_framework.papers.comparison import Comparison, comparison_table
from stereo_framework.papers.paper import Context, Outcome, short
from stereo_framework.papers.published import PublishedTable, published_table
from stereo_framework.papers.taxonomy2002.readings import REGIONS
from stereo_framework.sweep import Result
from stereo_framework.tables.ranking import competition_ranks

SCENES = ("tsukuba", "sawtooth", "venus", "map")
METHODS = {"ssd": "SSD + MF", "dp": "Dyn. prog.", "so": "Scanl. opt.", "gc": "Graph cuts (4)", "bayesian": "Bay. diff."}
"""Our methods, with their rows in the paper."""

Values = Mapping[str, Sequence[float]]
"""Percent of bad pixels by column, with one number for each random order."""


def table5(context: Context) -> Outcome:
    """Percentages of bad pixels of the five methods beside the published ones, and their ranks among all twenty."""
    published = published_table("taxonomy2002", "table5")
    found = {method: measured(context, method) for method in METHODS}
    comparisons = [
        compared(method, column, published.rows[row].get(column), found[method].get(column, ()))
        for method, row in METHODS.items()
        for column in published.columns
        if column in published.rows[row] and (column in found[method] or not context.quick)
    ]
    ranks = own_ranks(published, comparisons)
    ours = {METHODS[m]: {column: statistics.median(values) for column, values in own.items()} for m, own in found.items()}
    blocks = [
        comparison_table("Published and ours (percent)", comparisons),
        comparison_table("Ranks among the twenty methods, published and of our numbers", ranks, digits=0),
        _ranking(published, ours),
    ]
    several = len({column.partition("_")[0] for own in ours.values() for column in own}) > 1
    said = [c.asked(published, ours) if several else c.unasked("needs several scenes") for c in _SAID]
    return Outcome(blocks, comparisons, [*said, _RANKS.asked(ranks), _ORDERS.asked(published, found["gc"])])


def measured(context: Context, method: str) -> dict[str, list[float]]:
    """A method's percentages by column of the table, one for each random order."""
    results: list[Result] = context.run("table5", overrides=["methods.gc.seed=0"] if context.quick else [], maps=True)
    found: dict[str, list[float]] = {}
    for r in results:
        if r.method == method and r.error is None:
            for region in REGIONS:
                found.setdefault(f"{short(r.scene)}_{region}", []).append(r.statistics[f"bad_pixels_{region}"])
    return found


def compared(method: str, column: str, published: float | None, values: Sequence[float]) -> Comparison:
    """A cell of the table and ours, the median where there are several orders."""
    scene, _, region = column.partition("_")
    tolerance: float | None = 0.01
    reason = "one unit of the last printed digit"
    if method == "gc":
        # The published row is one order too.
        tolerance = max(0.01, round(max(values) - min(values), 3)) if len(values) > 1 else None
        reason = f"the order of the moves is random: our {len(values)} orders lie this far apart"
        if tolerance is None:
            reason = "the order of the moves is random, and a single one does not tell how far two lie apart"
    elif (method, scene) == ("ssd", "tsukuba"):
        tolerance = 0.1
        reason = "ties between equal costs: builds of the original program give 5.23 to 5.33 percent (nonocc); our sums are exact"
    elif region == "textureless":
        tolerance = 0.03
        reason = "a few pixels lie exactly at the texture threshold, where the original program's running sums decide by rounding"
    elif method == "ssd":
        tolerance = 0.015
        reason = "half a unit of the last printed digit, and 0.01 for ties between equal costs: the original's sums are rounded, ours exact"
    ours = statistics.median(values) if values else None
    return Comparison(METHODS[method], column, published, ours, tolerance, tolerance, reason)


def own_ranks(published: PublishedTable, cells: Sequence[Comparison]) -> list[Comparison]:
    """The printed ranks, and the ranks of our numbers among the printed ones of the other methods. They add nothing to the percentages."""
    found = []
    for cell in cells:
        others = [values[cell.column] for row, values in published.rows.items() if row != cell.row and cell.column in values]
        ours = None if cell.ours is None else float(1 + sum(v < cell.ours for v in others))
        printed = published.ranks[cell.row][cell.column]
        found.append(Comparison(cell.row, cell.column, printed, ours, None, None, "follows from the percentage"))
    return found


@by_cases
def _same_ranks(ranks: Sequence[Comparison]) -> Cases:
    for row in dict.fromkeys(c.row for c in ranks):
        own = [c for c in ranks if c.row == row and c.difference is not None]
        other = [f"{c.column} {c.ours:g}, printed {c.published:g}" for c in own if c.difference]
        if own:
            yield f"{row}: {len(own) - len(other)} of {len(own)}{': ' if other else ''}{'; '.join(other)}", not other


@by_cases
def _between_the_orders(published: PublishedTable, graph_cuts: Values) -> Cases:
    """A stricter reading of the tolerance of graph cuts, which is as wide as our orders lie apart, on both sides of the printed number."""
    for column, printed in published.rows[METHODS["gc"]].items():
        ours = graph_cuts.get(column, ())
        if len(ours) > 1:
            low, high = min(ours), max(ours)
            half = 0.005  # the printed number is rounded to two digits
            yield f"{column}: printed {printed:g}, ours {low:.2f} to {high:.2f}", low - half <= printed <= high + half


def _ranking(published: PublishedTable, ours: Mapping[str, Mapping[str, float]]) -> PageTable:
    """All twenty methods with our numbers in our rows, by their average rank over the columns."""
    rows, columns, ranks = _ranked(published, ours)
    mean = {label: statistics.mean(r) if r else math.nan for label, r in ranks.items()}
    cells = [
        [
            Cell(f"{label} (ours)" if label in ours else label),
            Cell.number(mean[label], ".1f"),
            *(Cell.number(rows[label][c], hint=f"rank {rank}") for c, rank in zip(columns, ranks[label], strict=True)),
        ]
        for label in sorted(rows, key=mean.__getitem__)
    ]
    marked = mark_best(cells, ["", "lower", *["lower"] * len(columns)])
    note = "Ranks: 1 plus the number of better methods, over the columns shown; the other fifteen rows are the paper's."
    return PageTable(
        "All twenty methods, ours in place of the paper's own five", ["method", "average rank", *columns], marked, note
    )


def _ranked(
    published: PublishedTable, ours: Mapping[str, Mapping[str, float]]
) -> tuple[dict[str, dict[str, float]], list[str], dict[str, list[int]]]:
    """Rows with ours in place of the paper's, the columns that all of them have, and the ranks in these columns by row."""
    rows = {label: dict(ours.get(label, values)) for label, values in published.rows.items()}
    columns = [c for c in published.columns if all(c in values for values in rows.values())]
    by_column = [competition_ranks([values[c] for values in rows.values()]).tolist() for c in columns]
    return rows, columns, {label: [column[i] for column in by_column] for i, label in enumerate(rows)}


def _order(published: PublishedTable, ours: Mapping[str, Mapping[str, float]]) -> Verdict:
    ranks = {label: statistics.mean(r) for label, r in _ranked(published, ours)[2].items() if label in ours and r}
    if not ranks:
        return cases([])
    printed = [label for label in published.rows if label in ranks]
    found = sorted(ranks, key=ranks.__getitem__)
    return Verdict(found == printed, ", ".join(f"{label} {ranks[label]:.1f}" for label in found))


@by_cases
def _first_everywhere(published: PublishedTable, ours: Mapping[str, Mapping[str, float]]) -> Cases:
    """Among our five, over the published columns of each region."""
    gc = METHODS["gc"]
    for region in REGIONS:
        columns = [c for c in published.columns if c.endswith(f"_{region}") and all(c in row for row in ours.values())]
        by_column = [competition_ranks([row[c] for row in ours.values()]).tolist() for c in columns]
        ranks = {label: statistics.mean(column[i] for column in by_column) for i, label in enumerate(ours)} if columns else {}
        if ranks:
            figures = f"{region}: {', '.join(f'{label} {rank:.2f}' for label, rank in ranks.items())}"
            yield figures, all(ranks[gc] < rank for label, rank in ranks.items() if label != gc)


_SAID = claims("taxonomy2002", {"listed_by_performance": _order, "two_dimensions_best": _first_everywhere})
_RANKS, _ORDERS = claims("taxonomy2002", {"printed_ranks": _same_ranks, "between_the_orders": _between_the_orders})
CLAIMS = (*_SAID, _RANKS, _ORDERS)
