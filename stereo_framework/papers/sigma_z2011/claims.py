"""The judges of the paper's sentences, by their names in ``paper.yaml``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from stereo_framework.papers.claim import Cases
from stereo_framework.papers.own_methods import REGIONS, Rows
from stereo_framework.tables.ranking import competition_ranks


def perfect_but_wrong(rows: Rows) -> Cases:
    for name, row in rows.items():
        bad, *errors = (row[f"{measure}_all"] for measure in ("BMP", "MSE", "MAPE"))
        yield f"{name}: BMP {bad:g}, MSE {errors[0]:.3f}, MAPE {errors[1]:.3f}", bad == 0 and min(errors) > 0


def bmp_against_views(rows: Rows) -> Cases:
    truth, *others = rows
    for name in others:
        bad = max(rows[name][f"BMP_{region}"] for region in REGIONS)
        worse = all(rows[name][view] < rows[truth][view] for view in ("PSNR", "MSSIM"))
        yield f"{name}: BMP {bad:g}, PSNR {rows[name]['PSNR']:g}, MSSIM {rows[name]['MSSIM']:g}", bad == 0 and worse


def _spread(rows: Rows, column: str) -> float:
    """By which share the largest number of a column exceeds the smallest."""
    values = [row[column] for row in rows.values()]
    return max(values) / min(values) - 1


def bmp_alike(venus: Rows) -> Cases:
    for measure in ("SZE", "MAPE"):
        found = {name: _spread(venus, name) for name in ("BMP", measure)}
        yield f"{', '.join(f'{name} {100 * share:.0f} %' for name, share in found.items())}", found["BMP"] < found[measure]


def consistent(tsukuba: Rows) -> Cases:
    order = {c: sorted(tsukuba, key=lambda name: tsukuba[name][c]) for c in ("SZE", "MAE", "MSE", "MAPE", "BMP")}
    for column, names in order.items():
        yield f"{column}: {' < '.join(names)}", (names == order["SZE"]) == (column != "BMP")


def views_alike(tsukuba: Rows) -> Cases:
    for column in ("SZE", "MAE", "MSE", "MAPE"):
        views, errors = _spread(tsukuba, "MSSIM"), _spread(tsukuba, column)
        yield f"MSSIM {100 * views:.1f} %, {column} {100 * errors:.0f} %", views < errors


def ranks_differ(ranks: Mapping[str, Sequence[float]], best: Mapping[str, Sequence[bool]]) -> Cases:
    from scipy.stats import spearmanr

    found = spearmanr(ranks["SZE"], ranks["BMP"], alternative="greater")
    yield f"rank correlation {found.statistic:.2f}, p = {found.pvalue:.3f}, {len(ranks['SZE'])} methods", found.pvalue > 0.05
    yield "A* {} and {}".format(*(sum(best[m]) for m in ("SZE", "BMP"))), list(best["SZE"]) != list(best["BMP"])


def smaller_astar(best: Mapping[str, Sequence[bool]]) -> Cases:
    sizes = [sum(best[measure]) for measure in ("SZE", "BMP")]
    yield "{} methods by SZE, {} by BMP".format(*sizes), sizes[0] < sizes[1]


def identities(published: Rows, found: Mapping[tuple[str, str], float]) -> Cases:
    for (row, column), value in found.items():
        yield f"{row} {column} {value:.4f}, printed {published[row][column]:g}", abs(value - published[row][column]) < 0.0005


def printed_agree(table1: Rows, table5: Rows) -> Cases:
    for name, row in table1.items():
        value = 10 * math.log10(255**2 / row["MSE_rendered"])
        yield f"{name} {value:.3f}, printed {row['PSNR_rendered']:g}", abs(value - row["PSNR_rendered"]) < 0.0006
    for measure in ("SZE", "BMP"):
        averages = [row[f"{measure}_avg_rank"] for row in table5.values()]
        same = competition_ranks(averages).tolist() == [row[f"{measure}_rank"] for row in table5.values()]
        yield f"{measure}: averages sum to {sum(averages):.2f}", same
