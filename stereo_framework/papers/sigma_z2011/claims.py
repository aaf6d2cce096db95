"""The judges of the paper's sentences, by their names in ``paper.yaml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stereo_framework.papers.claim import Cases
from stereo_framework.papers.own_methods import REGIONS, Rows


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
