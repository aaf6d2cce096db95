"""Our own methods and the public submissions to the Middlebury benchmark, version 2, in place of maps that are not available."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from stereo_framework.datasets import data_roots
from stereo_framework.papers.paper import Context, short
from stereo_framework.sweep.outside import find_maps, measure_map
from stereo_framework.tables.ranking import astar_groups, average_ranks, competition_ranks

REGIONS = ("nonocc", "all", "disc")

SUBMISSIONS = {"patchmatch": "PatchMatch", "adcensus": "ADCensus"}
"""Public maps: folders of ``middlebury-v2/submissions``, and the names that the papers give to the methods."""


def submission_maps(context: Context, folder: str) -> Mapping[str, Path]:
    """A submission's maps by scene; empty if no data root holds them."""
    places = [root / "middlebury-v2/submissions" / folder for root in data_roots(context.data)]
    place: Path | None = next((p for p in places if p.is_dir()), None)
    return {} if place is None else find_maps(place, protocol="middlebury-v2", data=context.data).maps


def submission_scores(context: Context, folder: str, measure: str) -> dict[str, float]:
    """A measure of a submission's maps by ``SCENE_REGION``."""
    found: dict[str, float] = {}
    for scene, path in submission_maps(context, folder).items():
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


def ranked(rows: Mapping[str, Mapping[str, float]]) -> tuple[dict[str, float], dict[str, int], dict[str, bool]]:
    """By method, as the benchmark and A* do it: the average rank over the columns, the rank of that, and whether no method dominates it."""
    values = np.array([list(row.values()) for row in rows.values()])
    average = average_ranks(values)
    found = (average.tolist(), competition_ranks(average).tolist(), (astar_groups(values) == 1).tolist())
    means, places, best = (dict(zip(rows, column, strict=True)) for column in found)
    return means, places, best


def _columns(scene: str, measure: str, statistics: Mapping[str, float]) -> dict[str, float]:
    return {f"{short(scene)}_{region}": statistics[f"{measure}_{region}"] for region in REGIONS}
