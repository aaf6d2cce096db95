"""Charts of optimizers: how near to the lower bound their energies come, and what errors the maps of these energies have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from stereo_framework.figures._looks import handle, legend_beside, new_chart, plain_axes, styles
from stereo_framework.sweep import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LEAST = 1e-3
"""Percent; the bound itself has no place on logarithmic axes."""


def energies_figure(results: Mapping[str, Result], title: str = "") -> Figure:
    """Draw by how much energies lie above the highest lower bound over time, both axes logarithmic, and beside it the errors of the last maps.

    Parameters
    ----------
    results : mapping of str to Result
        Of one scene and energy, by name. A lower bound is drawn dashed by how much it lies below the highest one; without any, the lowest energy stands
        in its place.
    title : str
    """
    traces = {name: r.trace or ((r.matching_seconds or 0.0, r.energy or 0.0),) for name, r in results.items()}
    points = [point for trace in traces.values() for point in trace]
    bound = max((point[2] for point in points if len(point) > 2), default=0.0) or min(point[1] for point in points)
    figure = new_chart(7.0, 1.8, 3.0, title)
    over_time, over_energy = figure.subplots(1, 2)
    looks = {name: {**look, "linestyle": "-"} for (name,), look in styles([(name,) for name in traces], joined=True).items()}
    for name, look in looks.items():
        trace, last = traces[name], results[name]
        seconds, above = [point[0] for point in trace], [_percent(point[1] - bound, bound) for point in trace]
        over_time.plot(seconds, above, **look, markevery=[len(trace) - 1])
        if all(len(point) > 2 for point in trace):
            below = [_percent(bound - point[2], bound) for point in trace]
            over_time.plot(seconds, below, "--", color=look["color"], linewidth=1)
        over_energy.plot(_percent((last.energy or 0.0) - bound, bound), visible_errors(last), **look | {"linestyle": "none"})
    apart = "energy above the bound (%)"
    over_time.set_yscale("log")
    for axes, x, y in ((over_time, "seconds", "above the bound, dashed below it (%)"), (over_energy, apart, "bad pixels (%)")):
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter("")
        plain_axes(axes, "", x, y)
    legend_beside(figure, [handle(look, name) for name, look in looks.items()])
    return figure


def _percent(difference: float, bound: float) -> float:
    return max(100 * difference / bound, _LEAST) if bound else math.nan if difference else _LEAST


def visible_errors(result: Result) -> float:
    """Percent of bad pixels, not occluded ones; NaN where that was not measured."""
    bad = (value for name, value in result.statistics.items() if name.startswith("bad") and name.endswith("nonocc"))
    return next(bad, math.nan)
