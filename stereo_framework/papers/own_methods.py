"""Our own methods and the public submissions to the Middlebury benchmark, version 2, in place of maps that are not available."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from stereo_framework.datasets import data_roots
from stereo_framework.papers.paper import Context, short
from stereo_framework.sweep.outside import find_maps, measure_map
from stereo_framework.tables.ranking import astar_groups, average_ranks, competition_ranks

REGIONS = ("nonocc", "all", "disc")

SUBMISSIONS = {"patchmatch": "PatchMatch", "adcensus": "ADCensus"}
"""Public maps: folders of ``middlebury-v2/submissions``, and the names that the papers give to the methods."""

Rows = Mapping[str, Mapping[str, float]]
"""Errors by method and column."""


def submission_scores(context: Context, folder: str, measure: str) -> dict[str, float]:
    """A measure of a submission's maps by ``SCENE_REGION``; empty if no data root holds them."""
    places = [root / "middlebury-v2/submissions" / folder for root in data_roots(context.data)]
    place: Path | None = next((p for p in places if p.is_dir()), None)
    found: dict[str, float] = {}
    for scene, path in find_maps(place, protocol="middlebury-v2", data=context.data).maps.items() if place else ():
        found |= _columns(scene, measure, measure_map(path, scene, changes={"measures": [measure]}, data=context.data).statistics)
    return found


def scores(context: Context, measure: str) -> dict[str, dict[str, float]]:
    """A measure by method and ``SCENE_REGION``: for the paper's script ``own_methods`` and for the submissions that are available.

    All methods have the same columns, which are those of the scenes that our methods ran on.
    """
    ours: dict[str, dict[str, float]] = {}
    for r in context.run("own_methods"):
        if r.error is None:
            ours.setdefault(r.method, {}).update(_columns(r.scene, measure, r.statistics))
    columns = list(dict.fromkeys(c for row in ours.values() for c in row))
    theirs = {name: submission_scores(context, folder, measure) for folder, name in SUBMISSIONS.items()} if ours else {}
    return {name: {c: row[c] for c in columns} for name, row in {**ours, **theirs}.items() if all(c in row for c in columns)}


def groups(rows: Rows) -> dict[str, int]:
    """The group of each method by non-dominated sorting of its errors, 1 = no other method dominates it."""
    return dict(zip(rows, astar_groups(_table(rows)).tolist(), strict=True)) if rows else {}


def ranked(rows: Rows) -> tuple[dict[str, float], dict[str, int]]:
    """By method, as the benchmark does it: the average rank over the columns, and the rank of that."""
    average = average_ranks(_table(rows))
    return dict(zip(rows, average.tolist(), strict=True)), dict(zip(rows, competition_ranks(average).tolist(), strict=True))


def nearest(rows: Rows, column: str, count: int, apart: Callable[[float, float], float] = operator.truediv) -> list[str]:
    """Those methods, so many, of which the highest error in a column is the least apart from the lowest; none without enough of them."""
    order = sorted(rows, key=lambda method: rows[method][column])
    runs = [order[i : i + count] for i in range(len(order) - count + 1)]
    return min(runs, key=lambda run: apart(rows[run[-1]][column], rows[run[0]][column]), default=[])


def _table(rows: Rows) -> np.ndarray:
    return np.array([list(row.values()) for row in rows.values()])


def _columns(scene: str, measure: str, statistics: Mapping[str, float]) -> dict[str, float]:
    return {f"{short(scene)}_{region}": statistics[f"{measure}_{region}"] for region in REGIONS}
