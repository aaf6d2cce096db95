"""Tables 1 to 5 and Figure 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.evaluation import evaluate
from stereo_framework.figures.colours import disparity_colours
from stereo_framework.page.page import Block, Cell, PageTable, Text
from stereo_framework.page.stored_pictures import Scenes, scene_row, stored_map, stored_picture
from stereo_framework.papers.comparison import Comparison, as_printed, comparison_table, unjudged
from stereo_framework.papers.own_methods import ranked, scores
from stereo_framework.papers.paper import Context, Outcome, results_details, short
from stereo_framework.papers.published import PublishedTable, published_table
from stereo_framework.papers.sigma_z2011.claims import CLAIMS, Rows

_LOST = "the map is not to be had"
_VIEWS = "how the views were rendered is not told, and no rendering tried gives these numbers"
_MEASURES = {"SZE": "sigma_z_error", "BMP": "bad_pixels", "MAE": "avg_error", "MSE": "mse", "MAPE": "mape"}
"""The paper's names of the measures, with ours."""


def _measured(scene: Scene, disparity: Disparity, regions: Sequence[str] = ("nonocc", "all", "disc")) -> dict[str, float]:
    """All errors of a map by the paper's names, ``SZE_all``."""
    protocol = {"base": "middlebury-v2", "measures": list(_MEASURES.values()), "regions": list(regions)}
    values = evaluate(disparity, scene, protocol)
    return {f"{name}_{region}": values[f"{measure}_{region}"] for name, measure in _MEASURES.items() for region in regions}


def _truth(scene: Scene) -> Disparity:
    assert scene.truth is not None, "the benchmark's scenes have truth"
    return scene.truth


def judged(published: PublishedTable, columns: Sequence[str], found: Rows) -> list[Comparison]:
    """Published numbers and ours, which must agree in all printed digits."""
    reason = "half a unit of the last printed digit"
    return [replace(c, below=0.0005, above=0.0005) for c in unjudged(published, reason, columns, list(found), found)]


def figure1_and_table1(context: Context) -> Outcome:
    """Maps one pixel off: their pictures, the errors in depth that they mean, and their errors."""
    published = published_table("sigma_z2011", "table1")
    scenes = {short(scene.name): scene for scene in _scenes(context, list(published.rows))}
    found = {name: _measured(scene, _truth(scene) - 1, ["all"]) for name, scene in scenes.items()}
    pictures = []
    for scene in scenes.values():
        truth = _truth(scene)
        depth_error = np.abs(1 / truth - 1 / (truth - 1))
        colours = disparity_colours(depth_error, (0, float(np.nanmax(depth_error))))
        pictures.append(scene_row(scene, {"one pixel off": stored_map(truth - 1), "error in depth": stored_picture(colours)}))
    comparisons = [
        *judged(published, ["MAPE_all"], found),
        *unjudged(published, _VIEWS, ["MSSIM", "MSE_rendered", "PSNR_rendered"]),
    ]
    text = "Maps that are one pixel off everywhere have no bad pixel by the usual threshold (equation 1); the far pixels are off by most, depth being 1 / disparity here."
    same = {(name, c): row[c] for name, row in found.items() for c in ("BMP_all", "MSE_all")}
    table5 = published_table("sigma_z2011", "table5")
    statements = [
        CLAIMS["perfect_but_wrong"].asked(found),
        CLAIMS["identities"].asked(published.rows, same),
        CLAIMS["printed_agree"].asked(published.rows, table5.rows),
    ]
    blocks: list[Block] = [
        Text(text),
        *([Scenes(pictures)] if pictures else []),
        comparison_table("Published and ours", comparisons, 3),
    ]
    return Outcome(blocks, comparisons, statements)


def table2(context: Context) -> Outcome:
    """Sigma-Z-Errors of the truth minus one pixel on cones, with depth 1 / disparity; those of the truth itself are obvious."""
    published = published_table("sigma_z2011", "table2")
    scenes = _scenes(context, ["cones"])
    found: dict[str, dict[str, float]] = {}
    truth: dict[str, dict[str, float]] = {}
    for scene in scenes:
        found["inaccurate"] = _measured(scene, _truth(scene) - 1)
        truth["ground-truth"] = _measured(scene, _truth(scene))
    errors = [c for c in published.columns if c.startswith("SZE")]
    comparisons = [
        *judged(published, errors, found),
        *unjudged(published, _LOST, [c for c in published.columns if c not in ("PSNR", "MSSIM")], ["artefacts"]),
        *unjudged(published, _VIEWS, ["PSNR", "MSSIM"]),
    ]
    own = {(name, c): row[c] for name, row in (found | truth).items() for c in published.columns if c in row}
    same = {(name, c): value for (name, c), value in own.items() if name == "ground-truth" or c not in errors}
    statements = [CLAIMS["bmp_against_views"].asked(published.rows), CLAIMS["identities"].asked(published.rows, same)]
    return Outcome([comparison_table("Published and ours", comparisons, 3)], comparisons, statements)


def tables3_and_4(context: Context) -> Outcome:
    """Printed errors of seven maps, how the measures order them, and the same of those of our methods whose bad pixels are nearest to each other."""
    table3, table4 = (published_table("sigma_z2011", name) for name in ("table3", "table4"))
    blocks = [
        as_printed(f"{name}, as printed; the maps are not to be had", t)
        for name, t in (("Table 3: venus, all pixels", table3), ("Table 4: tsukuba, non-occluded pixels", table4))
    ]
    venus, tsukuba = (() if context.quick else _nearest(context, *where) for where in (("venus_all", 3), ("tsukuba_nonocc", 4)))
    statements = [
        CLAIMS["bmp_alike"].asked(table3.rows, ours=venus),
        CLAIMS["consistent"].asked(table4.rows, ours=tsukuba),
        CLAIMS["views_alike"].asked(table4.rows),
    ]
    return Outcome(blocks, statements=statements)


def _nearest(context: Context, column: str, count: int) -> tuple[Rows, ...]:
    """All errors in a column of those of our methods whose bad pixels there are nearest to each other."""
    by_measure = {name: scores(context, measure) for name, measure in _MEASURES.items()}
    order = sorted(by_measure["BMP"], key=lambda method: by_measure["BMP"][method][column])
    runs = [order[i : i + count] for i in range(len(order) - count + 1)]
    if not runs:
        return ()
    nearest = min(runs, key=lambda run: by_measure["BMP"][run[-1]][column] / by_measure["BMP"][run[0]][column])
    return ({method: {name: rows[method][column] for name, rows in by_measure.items()} for method in nearest},)


def table5(context: Context) -> Outcome:
    """The printed ranks of fifteen methods, and our own methods and the public submissions ranked in the same way."""
    published = published_table("sigma_z2011", "table5")
    ranks = {m: [row[f"{m}_rank"] for row in published.rows.values()] for m in ("SZE", "BMP")}
    best = {m: [bool(row[f"in_Astar_{m}"]) for row in published.rows.values()] for m in ("SZE", "BMP")}
    table = as_printed("As printed; the maps are not to be had. In A*: 1 = yes", published)
    by_measure = {m: {} if context.quick else scores(context, _MEASURES[m]) for m in ("SZE", "BMP")}
    if not by_measure["SZE"]:
        return Outcome([table], statements=[CLAIMS["ranks_differ"].asked(ranks, best), CLAIMS["smaller_astar"].asked(best)])
    found = {m: ranked(rows) for m, rows in by_measure.items()}
    rows = [
        [Cell(name)]
        + [
            cell
            for average, places, top in found.values()
            for cell in (Cell.number(average[name]), Cell.number(places[name], "d"), Cell("yes" if top[name] else "no"))
        ]
        for name in by_measure["SZE"]
    ]
    header = ["method", *(f"{m} {what}" for m in found for what in ("average rank", "rank", "in A*"))]
    own_ranks = {m: [of[1][name] for name in by_measure["SZE"]] for m, of in found.items()}
    own_best = {m: [of[2][name] for name in by_measure["SZE"]] for m, of in found.items()}
    statements = [
        CLAIMS["ranks_differ"].asked(ranks, best, ours=(own_ranks, own_best)),
        CLAIMS["smaller_astar"].asked(best, ours=(own_best,)),
    ]
    own = PageTable("Our own methods and the public submissions by either measure", header, rows)
    return Outcome([table, own, results_details(context.run("own_methods"))], statements=statements)


def _scenes(context: Context, names: Sequence[str]) -> list[Scene]:
    return context.scenes([f"middlebury-v2/{name}" for name in names])
