"""Tables 1, 2 and 5."""

from __future__ import annotations

import numpy as np

from stereo_framework.evaluation import evaluate
from stereo_framework.page.page import Block, Cell, PageTable, Statement, Text
from stereo_framework.papers.comparison import Comparison, comparison_table
from stereo_framework.papers.own_methods import scores
from stereo_framework.papers.paper import Context, Outcome, results_details
from stereo_framework.papers.published import published_table
from stereo_framework.tables.ranking import astar_groups, average_ranks, competition_ranks

_PRINTED = "half a unit of the last printed digit"


def table1(context: Context) -> Outcome:
    """Bad pixels, MSE and MAPE of the true disparities minus one pixel."""
    published = published_table("sigma_z2011", "table1")
    comparisons = []
    for name, printed in published.rows.items():
        found: dict[str, float] = {}
        for scene in context.scenes([f"middlebury-v2/{name}"]):
            assert scene.truth is not None
            measures = {"base": "middlebury-v2", "measures": ["bad_pixels", "mse", "mape"], "regions": ["all"]}
            found = evaluate(scene.truth - 1, scene, measures)
        for column, statistic in (("BMP_all", "bad_pixels_all"), ("MSE_all", "mse_all"), ("MAPE_all", "mape_all")):
            comparisons.append(Comparison(name, column, printed[column], found.get(statistic), 0.0005, 0.0005, _PRINTED))
    text = "The views of this table (MSSIM, MSE, PSNR) are left out: how they were rendered is not told, and no rendering tried gives their numbers."
    return Outcome([Text(text), comparison_table("Published and ours", comparisons, 3)], comparisons)


def table2(context: Context) -> Outcome:
    """Sigma-Z-Errors of the truth and of the truth minus one pixel on cones, with depth 1 / disparity."""
    published = published_table("sigma_z2011", "table2")
    comparisons = []
    found: dict[str, dict[str, float]] = {"ground-truth": {}, "inaccurate": {}}
    measures = {"base": "middlebury-v2", "measures": ["sigma_z_error", "bad_pixels"]}
    for scene in context.scenes(["middlebury-v2/cones"]):
        assert scene.truth is not None
        found = {"ground-truth": evaluate(scene.truth, scene, measures), "inaccurate": evaluate(scene.truth - 1, scene, measures)}
    for row, statistics in found.items():
        for region in ("nonocc", "all", "disc"):
            for column, statistic in ((f"SZE_{region}", f"sigma_z_error_{region}"), (f"BMP_{region}", f"bad_pixels_{region}")):
                value = statistics.get(statistic)
                comparisons.append(Comparison(row, column, published.rows[row][column], value, 0.0005, 0.0005, _PRINTED))
    text = "The map with artefacts is not to be had."
    return Outcome([Text(text), comparison_table("Published and ours", comparisons, 3)], comparisons)


def table5(context: Context) -> Outcome:
    """The printed ranks follow from the printed average ranks."""
    published = published_table("sigma_z2011", "table5")
    statements = []
    for measure in ("SZE", "BMP"):
        averages = [row[f"{measure}_avg_rank"] for row in published.rows.values()]
        ranks = [row[f"{measure}_rank"] for row in published.rows.values()]
        same = competition_ranks(averages).tolist() == ranks
        text = f"The printed ranks by {measure} are those of the printed averages"
        statements.append(Statement(text, same, f"15 methods, averages sum to {sum(averages):.2f}"))
    return Outcome([], statements=statements)


def own_methods(context: Context) -> Outcome:
    """Our own methods and the public submissions, ranked by the Sigma-Z-Error and by the bad pixels, as Table 5 ranks fifteen others."""
    by_measure = {"SZE": scores(context, "sigma_z_error"), "BMP": scores(context, "bad_pixels")}
    names = list(by_measure["SZE"])
    if not names:
        return Outcome([Text("None of the benchmark's scenes is there.")])
    columns = list(by_measure["SZE"][names[0]])
    values = {m: np.array([[rows[n][c] for c in columns] for n in names]) for m, rows in by_measure.items()}
    average = {m: average_ranks(table) for m, table in values.items()}
    rank = {m: competition_ranks(mean).tolist() for m, mean in average.items()}
    best = {m: (astar_groups(table) == 1).tolist() for m, table in values.items()}
    cells = [[Cell(name)] for name in names]
    for m in by_measure:
        for row, mean, place, top in zip(cells, average[m].tolist(), rank[m], best[m], strict=True):
            row += [Cell.number(mean), Cell.number(place, "d"), Cell("yes" if top else "no")]
    text = (
        "The fifteen methods' maps of the paper's Table 5 are not to be had. Here are our own methods and the public submissions, ranked in the same way over "
        f"{len(columns)} columns: {', '.join(columns)}."
    )
    header = ["method", *(f"{m} {what}" for m in by_measure for what in ("average rank", "rank", "in A*"))]
    moved = [f"{n}: {a} by SZE, {b} by BMP" for n, a, b in zip(names, rank["SZE"], rank["BMP"], strict=True) if a != b]
    holds, figures = None if context.quick else bool(moved), "; ".join(moved) or "the same ranks"
    statement = Statement("The two measures rank methods differently", holds, figures)
    blocks: list[Block] = [
        Text(text),
        PageTable("Ranks by either measure", header, cells),
        results_details(context.run("own_methods")),
    ]
    return Outcome(blocks, statements=[statement])
