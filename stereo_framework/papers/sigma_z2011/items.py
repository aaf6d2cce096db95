"""Tables 1 to 5 and Figure 1."""

from collections.abc import Mapping, Sequence

import numpy as np
from pandas import DataFrame, Series

from stereo_framework.core.scene import Disparity, Scene
from stereo_framework.evaluation import evaluate
from stereo_framework.figures.grid import NO_VALUE, colour_table
from stereo_framework.page.stored_pictures import Scenes, scene_row, stored_map, stored_picture
from stereo_framework.papers.claim import Cases
from stereo_framework.papers.comparison import as_printed, compared, published_table
from stereo_framework.papers.own_methods import REGIONS, groups, nearest, ranks, scores
from stereo_framework.papers.paper import Context, Outcome, short

_LOST = "the map is not to be had"
_VIEWS = "how the views were rendered is not told, and no rendering tried gives these numbers"
_METRIC_NAMES = {
    "SZE": "sigma_z_error",
    "BMP": "bad_pixels",
    "MAE": "avg_error",
    "MSE": "mse",
    "MAPE": "mape",
}
"""The paper's names of the metrics, with ours."""


def _measured(
    scene: Scene, disparity: Disparity, regions: Sequence[str] = REGIONS
) -> dict[str, float]:
    """All errors of a map by the paper's names, ``SZE_all``."""
    protocol = {
        "base": "middlebury-v2",
        "metrics": list(_METRIC_NAMES.values()),
        "regions": list(regions),
    }
    values = evaluate(disparity, scene, protocol)
    return {
        f"{name}_{region}": values[f"{metric}_{region}"]
        for name, metric in _METRIC_NAMES.items()
        for region in regions
    }


def figure1_and_table1(context: Context) -> Outcome:
    """Maps one pixel off: their pictures, the errors in depth that they mean, and their errors."""
    published = published_table("sigma_z2011", "table1")
    found, pictures = {}, []
    for scene, truth in context.truths([f"middlebury-v2/{name}" for name in published.rows]):
        found[short(scene.name)] = _measured(scene, truth - 1, ["all"])
        depth_error = np.abs(1 / truth - 1 / (truth - 1))
        part = np.nan_to_num(depth_error / np.nanmax(depth_error))
        colours = colour_table("viridis")[np.clip(256 * part, 0, 255).astype(int)]
        colours[~np.isfinite(depth_error)] = NO_VALUE
        pictures.append(
            scene_row(
                scene,
                {"one pixel off": stored_map(truth - 1), "error in depth": stored_picture(colours)},
            )
        )
    comparisons = [
        *compared(published, found, columns=["MAPE_all"], rows=list(found)),
        *compared(published, {}, _VIEWS, columns=["MSSIM", "MSE_rendered", "PSNR_rendered"]),
    ]
    return Outcome([Scenes(pictures)], comparisons, {"rows": DataFrame(found).T})


def table2(context: Context) -> Outcome:
    """Sigma-Z-Errors of the truth minus one pixel on cones, with depth 1 / disparity; those of the truth itself are obvious."""
    published = published_table("sigma_z2011", "table2")
    errors_of = (
        _measured(scene, truth - 1) for scene, truth in context.truths(["middlebury-v2/cones"])
    )
    found = dict(zip(["inaccurate"], errors_of, strict=False))
    errors, views = [c for c in published.columns if c.startswith("SZE")], ["PSNR", "MSSIM"]
    comparisons = [
        *compared(published, found, columns=errors, rows=list(found)),
        *compared(
            published,
            {},
            _LOST,
            columns=[c for c in published.columns if c not in views],
            rows=["artefacts"],
        ),
        *compared(published, {}, _VIEWS, columns=views),
    ]
    return Outcome([], comparisons, {"rows": published.frame})


def tables3_and_4(context: Context) -> Outcome:
    """Printed errors of seven maps, how the metrics order them, and the same of those of our methods whose bad pixels are nearest to each other."""
    table3, table4 = (published_table("sigma_z2011", name) for name in ("table3", "table4"))
    blocks = [
        as_printed("Table 3: venus, all pixels, as printed; the maps are not to be had", table3),
        as_printed(
            "Table 4: tsukuba, non-occluded pixels, as printed; the maps are not to be had", table4
        ),
    ]
    ours = {
        "venus": _nearest(context, "venus_all", 3),
        "tsukuba": _nearest(context, "tsukuba_nonocc", 4),
    }
    return Outcome(blocks, data={"venus": table3.frame, "tsukuba": table4.frame}, ours=ours)


def _nearest(context: Context, column: str, count: int) -> DataFrame | None:
    """All errors in a column of those of our methods whose bad pixels there are nearest to each other."""
    found = scores(context, _METRIC_NAMES)
    methods = nearest(found["BMP"][column], count) if found else []
    return (
        DataFrame({name: own.loc[methods, column] for name, own in found.items()})
        if methods
        else None
    )


def table5(context: Context) -> Outcome:
    """The printed ranks of fifteen methods, and of our own methods and the public submissions the same."""
    published = published_table("sigma_z2011", "table5")
    printed = {
        "ranks": {m: published.frame[f"{m}_rank"] for m in ("SZE", "BMP")},
        "best": {m: published.frame[f"in_Astar_{m}"] == 1 for m in ("SZE", "BMP")},
    }
    found = scores(context, {m: _METRIC_NAMES[m] for m in ("SZE", "BMP")})
    ours = {
        "ranks": {m: ranks(own) for m, own in found.items()},
        "best": {m: groups(own) == 1 for m, own in found.items()},
    }
    table = as_printed("As printed; the maps are not to be had. In A*: 1 = yes", published)
    return Outcome([table], data=printed, ours=ours if found else {})


# --- The judges of sentences, by their names in ``paper.yaml`` --------------------------------------------------------


def perfect_but_wrong(rows: DataFrame) -> Cases:
    for name, row in rows.iterrows():
        bad, mse, mape = row[["BMP_all", "MSE_all", "MAPE_all"]]
        yield (
            f"{name}: BMP {bad:g}, MSE {mse:.3f}, MAPE {mape:.3f}",
            bad == 0 and min(mse, mape) > 0,
        )


def bmp_against_views(rows: DataFrame) -> Cases:
    bad = rows[[f"BMP_{region}" for region in REGIONS]].max(axis=1)
    for name, row in rows.iloc[1:].iterrows():
        worse = all(row[view] < rows[view].iloc[0] for view in ("PSNR", "MSSIM"))
        yield (
            f"{name}: BMP {bad[name]:g}, PSNR {row['PSNR']:g}, MSSIM {row['MSSIM']:g}",
            bad[name] == 0 and worse,
        )


def _spread(rows: DataFrame, column: str) -> float:
    """By which share the largest number of a column exceeds the smallest."""
    return float(rows[column].max() / rows[column].min() - 1)


def bmp_alike(venus: DataFrame) -> Cases:
    bad = _spread(venus, "BMP")
    for metric in ("SZE", "MAPE"):
        other = _spread(venus, metric)
        yield (
            f"largest above smallest: BMP {100 * bad:.0f} %, {metric} {100 * other:.0f} %",
            bad < other,
        )


def consistent(tsukuba: DataFrame) -> Cases:
    order = {
        c: list(tsukuba[c].sort_values(kind="stable").index)
        for c in ("SZE", "MAE", "MSE", "MAPE", "BMP")
    }
    for column, names in order.items():
        yield f"{column}: {' < '.join(names)}", (names == order["SZE"]) == (column != "BMP")


def views_alike(tsukuba: DataFrame) -> Cases:
    views = _spread(tsukuba, "MSSIM")
    for column in ("SZE", "MAE", "MSE", "MAPE"):
        yield (
            f"largest above smallest: MSSIM {100 * views:.1f} %, {column} {100 * _spread(tsukuba, column):.0f} %",
            views < _spread(tsukuba, column),
        )


def ranks_differ(ranks: Mapping[str, Series], best: Mapping[str, Series]) -> Cases:
    """Yield the rank correlation of two measures, and whether their sets A* differ.

    A correlation that is not significant decides nothing, because it shows neither that
    the ranks agree nor that they differ.
    """
    from scipy.stats import spearmanr

    positive = spearmanr(ranks["SZE"], ranks["BMP"], alternative="greater")
    negative = spearmanr(ranks["SZE"], ranks["BMP"], alternative="less")
    holds = None
    if positive.pvalue <= 0.05:
        holds = False
    elif negative.pvalue <= 0.05:
        holds = True
    count = len(ranks["SZE"])
    correlation = f"rank correlation {positive.statistic:.2f}, p = {positive.pvalue:.3f}"
    yield f"{correlation}, {count} methods", holds
    yield f"A* {sum(best['SZE'])} and {sum(best['BMP'])}", list(best["SZE"]) != list(best["BMP"])


def smaller_astar(best: Mapping[str, Series]) -> Cases:
    yield (
        f"{sum(best['SZE'])} methods by SZE, {sum(best['BMP'])} by BMP",
        sum(best["SZE"]) < sum(best["BMP"]),
    )
