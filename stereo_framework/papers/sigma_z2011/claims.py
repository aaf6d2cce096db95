"""The judges of the paper's sentences, by their names in ``paper.yaml``."""

from __future__ import annotations

from collections.abc import Mapping

from pandas import DataFrame, Series

from stereo_framework.papers.claim import Cases
from stereo_framework.papers.own_methods import REGIONS


def perfect_but_wrong(rows: DataFrame) -> Cases:
    for name, row in rows.iterrows():
        bad, mse, mape = row[["BMP_all", "MSE_all", "MAPE_all"]]
        yield f"{name}: BMP {bad:g}, MSE {mse:.3f}, MAPE {mape:.3f}", bad == 0 and min(mse, mape) > 0


def bmp_against_views(rows: DataFrame) -> Cases:
    bad = rows[[f"BMP_{region}" for region in REGIONS]].max(axis=1)
    for name, row in rows.iloc[1:].iterrows():
        worse = all(row[view] < rows[view].iloc[0] for view in ("PSNR", "MSSIM"))
        yield f"{name}: BMP {bad[name]:g}, PSNR {row['PSNR']:g}, MSSIM {row['MSSIM']:g}", bad[name] == 0 and worse


def _spread(rows: DataFrame, column: str) -> float:
    """By which share the largest number of a column exceeds the smallest."""
    return float(rows[column].max() / rows[column].min() - 1)


def bmp_alike(venus: DataFrame) -> Cases:
    bad = _spread(venus, "BMP")
    for measure in ("SZE", "MAPE"):
        other = _spread(venus, measure)
        yield f"BMP {100 * bad:.0f} %, {measure} {100 * other:.0f} %", bad < other


def consistent(tsukuba: DataFrame) -> Cases:
    order = {c: list(tsukuba[c].sort_values(kind="stable").index) for c in ("SZE", "MAE", "MSE", "MAPE", "BMP")}
    for column, names in order.items():
        yield f"{column}: {' < '.join(names)}", (names == order["SZE"]) == (column != "BMP")


def views_alike(tsukuba: DataFrame) -> Cases:
    views = _spread(tsukuba, "MSSIM")
    for column in ("SZE", "MAE", "MSE", "MAPE"):
        yield f"MSSIM {100 * views:.1f} %, {column} {100 * _spread(tsukuba, column):.0f} %", views < _spread(tsukuba, column)


def ranks_differ(ranks: Mapping[str, Series], best: Mapping[str, Series]) -> Cases:
    from scipy.stats import spearmanr

    found = spearmanr(ranks["SZE"], ranks["BMP"], alternative="greater")
    yield f"rank correlation {found.statistic:.2f}, p = {found.pvalue:.3f}, {len(ranks['SZE'])} methods", found.pvalue > 0.05
    yield f"A* {sum(best['SZE'])} and {sum(best['BMP'])}", list(best["SZE"]) != list(best["BMP"])


def smaller_astar(best: Mapping[str, Series]) -> Cases:
    yield f"{sum(best['SZE'])} methods by SZE, {sum(best['BMP'])} by BMP", sum(best["SZE"]) < sum(best["BMP"])
