"""Our own methods and the public submissions to the Middlebury benchmark, version 2, in place of maps that are not available.

Scores have a row for each method and a column for each region of a scene, ``SCENE_REGION``.
"""

import operator
from collections.abc import Callable, Mapping

from pandas import DataFrame, Series

from stereo_framework.datasets import data_roots
from stereo_framework.papers.paper import Context, short
from stereo_framework.script import load
from stereo_framework.sweep import Result
from stereo_framework.sweep.external_maps import measure_map
from stereo_framework.sweep.map_folders import find_maps
from stereo_framework.tables.ranking import astar_groups, average_ranks, competition_ranks

REGIONS = ("nonocc", "all", "disc")

SUBMISSIONS = {"patchmatch": "PatchMatch", "adcensus": "ADCensus"}
"""Public maps: folders of ``middlebury-v2/submissions``, and the names that the papers give to the methods."""


def submission_scores(context: Context, folder: str, metric: str) -> dict[str, float]:
    """A metric of a submission's maps by column; empty if no data root holds them."""
    folders = [root / "middlebury-v2/submissions" / folder for root in data_roots(context.data)]
    columns: dict[str, float] = {}
    for place in [path for path in folders if path.is_dir()][:1]:
        maps = find_maps(place, protocol="middlebury-v2", data=context.data).maps
        context.cover(list(maps))
        for scene, path in maps.items():
            measurement = measure_map(path, scene, changes={"metrics": [metric]}, data=context.data)
            columns |= _columns(scene, metric, measurement.statistics)
    return columns


def scores(context: Context, metrics: Mapping[str, str]) -> dict[str, DataFrame]:
    """Metrics, by the paper's names, for its script ``own_methods`` and for the submissions that are available; none without results, or with one scene only.

    All methods have the same columns, which are those of the scenes that our methods ran on.
    """
    results: list[Result] = []
    if context.quick:
        context.request(load(f"{context.paper}/own_methods").scenes)
        context.omit("our own methods")
    else:
        results = [r for r in context.run("own_methods") if r.error is None]
    found: dict[str, DataFrame] = {}
    for name, metric in metrics.items() if results else ():
        rows: dict[str, dict[str, float]] = {}
        for r in results:
            rows.setdefault(r.method, {}).update(_columns(r.scene, metric, r.statistics))
        columns = list(dict.fromkeys(c for row in rows.values() for c in row))
        rows |= {
            method: submission_scores(context, folder, metric)
            for folder, method in SUBMISSIONS.items()
        }
        found[name] = DataFrame.from_dict(rows, orient="index").reindex(columns=columns).dropna()
    return found


def groups(rows: DataFrame) -> Series:
    """The group of each method by non-dominated sorting of its errors, 1 = no other method dominates it."""
    return Series(astar_groups(rows.to_numpy()), rows.index)


def ranks(rows: DataFrame) -> Series:
    """The rank of each method's average rank over the columns, as the benchmark does it."""
    return Series(competition_ranks(average_ranks(rows.to_numpy())), rows.index)


def nearest(
    column: Series, count: int, apart: Callable[[float, float], float] = operator.truediv
) -> list[str]:
    """Those methods, so many, of which the highest error is the least apart from the lowest; none without enough of them."""
    order = column.sort_values(kind="stable")
    runs = [order[i : i + count] for i in range(len(order) - count + 1)]
    return list(min(runs, key=lambda run: apart(run.iloc[-1], run.iloc[0])).index) if runs else []


def _columns(scene: str, metric: str, statistics: Mapping[str, float]) -> dict[str, float]:
    return {f"{short(scene)}_{region}": statistics[f"{metric}_{region}"] for region in REGIONS}
