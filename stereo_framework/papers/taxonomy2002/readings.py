"""Functions by which the claims about experiments read their results."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from stereo_framework.papers.paper import Context, Outcome, results_details, short
from stereo_framework.sweep import Result

REGIONS = ("nonocc", "textureless", "discont")
"""Regions of Figures 8 to 14."""

COST, INTERVAL, TRUNCATION = "matching_cost.use", "matching_cost.interval", "matching_cost.truncation"
WEIGHT, PENALTY, OCCLUSION = "smoothness.weight", "smoothness.gradient_penalty", "optimization.occlusion_cost"

Errors = dict[str, dict[tuple, float]]


def errors(results: Iterable[Result], region: str, *keys: str) -> Errors:
    """Percent of bad pixels by scene and by the values of `keys`, the median where several results share them.

    Failed results are left out, and so is what the paper does not measure: its map scene has hardly any textureless region (Table 5).
    """
    found: dict[str, dict[tuple, list[float]]] = {}
    for r in results:
        value = r.statistics.get(f"bad_pixels_{region}", math.nan)
        scene = short(r.scene)
        if not math.isnan(value) and (scene, region) != ("map", "textureless"):
            key = tuple(r.method if k == "method" else r.parameters.get(k) for k in keys)
            found.setdefault(scene, {}).setdefault(key, []).append(value)
    return {scene: {key: statistics.median(values) for key, values in own.items()} for scene, own in found.items()}


def told(values: Iterable[tuple[str, float]], unit: str = " %") -> str:
    """Names and numbers as text."""
    return ", ".join(f"{name} {value:.2f}{unit}" for name, value in values)


def plotted(context: Context, *names: str) -> tuple[list[list[Result]], Outcome]:
    """The results of scripts, with an outcome that holds their plots."""
    results = [context.run(name) for name in names]
    plots = [plot for name, own in zip(names, results, strict=True) for plot in context.plots(name, own)]
    return results, Outcome([*plots, results_details([r for own in results for r in own])])
