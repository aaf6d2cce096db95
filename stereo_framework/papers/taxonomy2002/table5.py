"""Table 5: the five methods of the test bed with fixed parameters, among the twenty methods of the paper."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from stereo_framework.page.page import Cell, PageTable, mark_best
from stereo_framework.papers.comparison import Comparison, comparison_table
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.papers.published import PublishedTable, published_table
from stereo_framework.sweep import Result
from stereo_framework.tables.ranking import competition_ranks

SCENES = ("tsukuba", "sawtooth", "venus", "map")
METHODS = {"ssd": "SSD + MF", "dp": "Dyn. prog.", "so": "Scanl. opt.", "gc": "Graph cuts (4)", "bayesian": "Bay. diff."}
"""Our methods and the rows of the paper."""

_SPREAD = {
    "tsukuba_nonocc": (1.94, 2.09),
    "tsukuba_textureless": (1.03, 1.15),
    "tsukuba_discont": (9.45, 10.17),
    "venus_nonocc": (1.88, 2.82),
}
"""Percent that the original program's graph cuts gave with nine random orders."""


def table5(context: Context) -> Outcome:
    """Percentages of bad pixels of the five methods beside the published ones, and their ranks among all twenty."""
    published = published_table("taxonomy2002", "table5")
    overrides = ["methods.gc.seed=0"] if context.quick else []
    results = context.run("table5", overrides=overrides, maps=True)
    ours = {row: _row(results, method, published.columns) for method, row in METHODS.items()}
    comparisons = [
        _comparison(method, row, column, published.rows[row].get(column), ours[row].get(column))
        for method, row in METHODS.items()
        for column in published.columns
        if column in published.rows[row] and (column in ours[row] or not context.quick)
    ]
    return Outcome([comparison_table("Published and ours (percent)", comparisons), _ranking(published, ours)], comparisons)


def _row(results: Sequence[Result], method: str, columns: Sequence[str]) -> dict[str, float]:
    """Our row of the table: the median over seeds where there are several."""
    found = {}
    for column in columns:
        scene, _, region = column.partition("_")
        values = [
            r.statistics[f"bad_pixels_{region}"]
            for r in results
            if r.method == method and r.scene.endswith(f"/{scene}") and r.error is None
        ]
        if values:
            found[column] = statistics.median(values)
    return found


def _comparison(method: str, row: str, column: str, published: float | None, ours: float | None) -> Comparison:
    below: float | None = 0.01
    above: float | None = 0.01
    reason = "one unit of the last printed digit"
    if method == "gc":
        reason = "the order of the moves is random and its spread in the original program was not measured here"
        below = above = None
        if column in _SPREAD and published is not None:
            low, high = _SPREAD[column]
            below, above = None, max(high - published, 0.005)
            reason = f"the order of the moves is random: {low:.2f} to {high:.2f} in nine runs of the original program"
        elif column in ("sawtooth_nonocc", "map_nonocc"):
            below = above = 0.1
            reason = "the order of the moves is random"
    elif (method, column.partition("_")[0]) == ("ssd", "tsukuba"):
        below = above = 0.1
        reason = "ties between equal costs: builds of the original program give 5.23 to 5.33 percent (nonocc); our sums are exact"
    elif column.endswith("textureless"):
        below = above = 0.03
        reason = "a few pixels lie exactly at the texture threshold, where the original program's running sums decide by rounding"
    elif method == "ssd":
        below = above = 0.015
        reason = "ties between equal costs, decided by rounding in the original program; our sums are exact"
    return Comparison(row, column, published, ours, below, above, reason)


def _ranking(published: PublishedTable, ours: Mapping[str, Mapping[str, float]]) -> PageTable:
    """All twenty methods with our numbers in our rows, by their average rank over the columns."""
    rows = {label: dict(ours.get(label, values)) for label, values in published.rows.items()}
    columns = [c for c in published.columns if all(c in values for values in rows.values())]
    by_column = [competition_ranks([values[c] for values in rows.values()]).tolist() for c in columns]
    ranks = {label: [column[i] for column in by_column] for i, label in enumerate(rows)}
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
