"""Tables 1 to 5 and Figure 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from stereo_framework.evaluation import evaluate
from stereo_framework.figures.colours import disparity_colours
from stereo_framework.page.page import Block, Cell, PageTable, Text
from stereo_framework.page.stored_pictures import Scenes, scene_row, stored_map, stored_picture
from stereo_framework.papers.claim import Cases, Verdict, by_cases, claims
from stereo_framework.papers.comparison import Comparison, comparison_table
from stereo_framework.papers.own_methods import scores
from stereo_framework.papers.paper import Context, Outcome, results_details, short
from stereo_framework.papers.published import PublishedTable, published_table
from stereo_framework.scene import Scene
from stereo_framework.tables.ranking import astar_groups, average_ranks, competition_ranks

Found = Mapping[tuple[str, str], float]
"""Measured numbers by row and column of a published table."""

_PRINTED = "half a unit of the last printed digit"
_LOST = "the map is not to be had"
_VIEWS = "how the views were rendered is not told, and no rendering tried gives these numbers"
_REGIONS = ("nonocc", "all", "disc")


def table1(context: Context) -> Outcome:
    """MAPE of the true disparities minus one pixel; their bad pixels and MSE are obvious."""
    published = published_table("sigma_z2011", "table1")
    found: dict[tuple[str, str], float] = {}
    statistics = {"BMP_all": "bad_pixels_all", "MSE_all": "mse_all", "MAPE_all": "mape_all"}
    for scene in _scenes(context, list(published.rows)):
        assert scene.truth is not None
        measures = {"base": "middlebury-v2", "measures": ["bad_pixels", "mse", "mape"], "regions": ["all"]}
        values = evaluate(scene.truth - 1, scene, measures)
        found |= {(short(scene.name), column): values[name] for column, name in statistics.items()}
    comparisons = [
        *_judged(published, ["MAPE_all"], found),
        *_shown(published, ["MSSIM", "MSE_rendered", "PSNR_rendered"], _VIEWS),
    ]
    text = "Maps that are one pixel off everywhere have no bad pixels and a mean squared error of 1, whatever the truth: that is checked and not counted."
    identities = {place: value for place, value in found.items() if place[1] != "MAPE_all"}
    checks = [SHIFTED.asked(published, identities), PSNR.asked(published)]
    return Outcome([Text(text), comparison_table("Published and ours", comparisons, 3)], comparisons, checks)


def table2(context: Context) -> Outcome:
    """Sigma-Z-Errors of the truth minus one pixel on cones, with depth 1 / disparity; those of the truth itself are obvious."""
    published = published_table("sigma_z2011", "table2")
    found: dict[tuple[str, str], float] = {}
    for scene in _scenes(context, ["cones"]):
        assert scene.truth is not None
        for row, disparity in (("ground-truth", scene.truth), ("inaccurate", scene.truth - 1)):
            values = evaluate(disparity, scene, {"base": "middlebury-v2", "measures": ["sigma_z_error", "bad_pixels"]})
            for region in _REGIONS:
                found[row, f"SZE_{region}"] = values[f"sigma_z_error_{region}"]
                found[row, f"BMP_{region}"] = values[f"bad_pixels_{region}"]
    errors = [f"SZE_{region}" for region in _REGIONS]
    measures = [c for c in published.columns if c not in ("PSNR", "MSSIM")]
    comparisons = [
        *_judged(published, errors, found, ["inaccurate"]),
        *_shown(published, measures, _LOST, ["artefacts"]),
        *_shown(published, ["PSNR", "MSSIM"], _VIEWS),
    ]
    text = "The map with artefacts is not to be had. That the truth has no error against itself is checked and not counted."
    identities = {(row, column): value for (row, column), value in found.items() if row == "ground-truth" or column not in errors}
    blocks: list[Block] = [Text(text), comparison_table("Published and ours", comparisons, 3)]
    return Outcome(blocks, comparisons, [TRUTH.asked(published, identities)])


def figure1(context: Context) -> Outcome:
    """The true disparities, those one pixel off, and the error in depth that each pixel then has."""
    rows = []
    for scene in _scenes(context, ["cones"]):
        truth = scene.truth
        assert truth is not None
        depth_error = np.abs(1 / truth - 1 / (truth - 1))
        shown = {
            "one pixel off": stored_map(truth - 1),
            "error in depth": stored_picture(disparity_colours(depth_error, (0, float(np.nanmax(depth_error))))),
        }
        note = "No pixel is bad by the usual threshold, and the far ones are off by most: depth is 1 / disparity here."
        rows.append(scene_row(scene, shown, note=note))
    return Outcome([Scenes(rows) if rows else Text("cones is not there.")])


def tables3_and_4(context: Context) -> Outcome:
    """Printed errors of seven maps, and how the measures order them."""
    text = (
        "The maps of these algorithms are not to be had: the numbers are the paper's, and what is asked of them is their order."
    )
    blocks: list[Block] = [Text(text)]
    comparisons = []
    for name, caption in (("table3", "Table 3: venus, all pixels"), ("table4", "Table 4: tsukuba, non-occluded pixels")):
        published, table = published_table("sigma_z2011", name), caption.partition(":")[0]
        # Both tables have a row CoopRegion.
        comparisons += [replace(c, row=f"{c.row} ({table})") for c in _shown(published, published.columns, _LOST)]
        ranks = {c: _order(published, c) for c in published.columns}
        rows = [
            [Cell(method), *(Cell.number(values[c], ".3f", hint=f"rank {of[method]}") for c, of in ranks.items())]
            for method, values in published.rows.items()
        ]
        orders = "; ".join(f"{c} {' < '.join(_ordered(published, c))}" for c in published.columns if c != "MSSIM")
        blocks.append(PageTable(caption, ["method", *published.columns], rows, f"From best to worst: {orders}."))
    return Outcome(blocks, comparisons, [AGREES.asked(published_table("sigma_z2011", "table4"))])


def table5(context: Context) -> Outcome:
    """The printed ranks of fifteen methods, and that they follow from the printed average ranks."""
    published = published_table("sigma_z2011", "table5")
    rows = [[Cell(method), *(_printed_cell(value) for value in row.values())] for method, row in published.rows.items()]
    table = PageTable("As printed; the maps are not to be had", ["method", *published.columns], rows)
    return Outcome([table], statements=[RANKS.asked(published)])


def _printed_cell(value: float) -> Cell:
    return Cell("yes" if value else "no") if isinstance(value, bool) else Cell.number(value, "g")


def own_methods(context: Context) -> Outcome:
    """Our own methods and the public submissions, ranked by the Sigma-Z-Error and by the bad pixels, as Table 5 ranks fifteen others."""
    by_measure = {"SZE": scores(context, "sigma_z_error"), "BMP": scores(context, "bad_pixels")}
    names = list(by_measure["SZE"])
    if not names:
        untold = DIFFERENT_RANKS.unasked("no scene is there")
        return Outcome([Text("None of the benchmark's scenes is there.")], statements=[untold])
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
    ranks = {m: dict(zip(names, places, strict=True)) for m, places in rank.items()}
    told = DIFFERENT_RANKS.unasked("one scene only") if context.quick else DIFFERENT_RANKS.asked(ranks)
    table = PageTable("Ranks by either measure", header, cells)
    return Outcome([Text(text), table, results_details(context.run("own_methods"))], statements=[told])


def _scenes(context: Context, names: Sequence[str]) -> list[Scene]:
    return context.scenes([f"middlebury-v2/{name}" for name in names])


def _judged(
    published: PublishedTable, columns: Sequence[str], found: Found, rows: Sequence[str] | None = None
) -> list[Comparison]:
    """Published numbers and ours, which must agree in all printed digits."""
    return [
        Comparison(row, column, published.rows[row][column], found.get((row, column)), 0.0005, 0.0005, _PRINTED)
        for row in rows or published.rows
        for column in columns
    ]


def _shown(published: PublishedTable, columns: Sequence[str], reason: str, rows: Sequence[str] | None = None) -> list[Comparison]:
    """Published numbers without ours, and the reason for that."""
    return [
        Comparison(row, column, published.rows[row][column], None, None, None, reason)
        for row in rows or published.rows
        for column in columns
    ]


@by_cases
def _identical(published: PublishedTable, found: Found) -> Cases:
    """Numbers that follow from what was measured, exactly as printed."""
    for (row, column), value in found.items():
        printed = published.rows[row][column]
        yield f"{row} {column} {value:.4f}, printed {printed:g}", abs(value - printed) < 0.0005


@by_cases
def _psnr(published: PublishedTable) -> Cases:
    """10 log10(255^2 / MSE), from the printed MSE."""
    for name, row in published.rows.items():
        value = 10 * math.log10(255**2 / row["MSE_rendered"])
        yield f"{name} {value:.3f}, printed {row['PSNR_rendered']:g}", abs(value - row["PSNR_rendered"]) < 0.0006


@by_cases
def _printed_ranks(published: PublishedTable) -> Cases:
    for measure in ("SZE", "BMP"):
        averages = [row[f"{measure}_avg_rank"] for row in published.rows.values()]
        same = competition_ranks(averages).tolist() == [row[f"{measure}_rank"] for row in published.rows.values()]
        yield f"{measure}: averages sum to {sum(averages):.2f}", same


def _ordered(published: PublishedTable, column: str) -> list[str]:
    """Methods from best to worst."""
    return sorted(published.rows, key=lambda method: published.rows[method][column])


def _order(published: PublishedTable, column: str) -> dict[str, int]:
    sign = -1 if column == "MSSIM" else 1
    ranks = competition_ranks([sign * row[column] for row in published.rows.values()]).tolist()
    return dict(zip(published.rows, ranks, strict=True))


@by_cases
def _agrees(published: PublishedTable) -> Cases:
    """SZE orders methods as MAE, MSE and MAPE do, and not as BMP does."""
    of = {column: _order(published, column) for column in ("SZE", "MAE", "MSE", "MAPE", "BMP")}
    for column, ranks in of.items():
        yield f"{column}: {' < '.join(_ordered(published, column))}", (ranks == of["SZE"]) == (column != "BMP")


def _different_ranks(ranks: Mapping[str, Mapping[str, int]]) -> Verdict:
    moved = [f"{n}: {a} by SZE, {b} by BMP" for n in ranks["SZE"] if (a := ranks["SZE"][n]) != (b := ranks["BMP"][n])]
    return Verdict(bool(moved), "; ".join(moved) or "the same ranks")


CLAIMS = SHIFTED, PSNR, TRUTH, RANKS, AGREES, DIFFERENT_RANKS = claims(
    "sigma_z2011",
    {
        "one_pixel_off": _identical,
        "psnr": _psnr,
        "truth_against_itself": _identical,
        "printed_ranks": _printed_ranks,
        "agrees_with_averages": _agrees,
        "different_ranks": _different_ranks,
    },
)
