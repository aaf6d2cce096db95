"""Charts of optimizers: how near to the lower bound their energies come, and what errors the maps of these energies have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stereo_framework.figures._chart_style import (
    handle,
    legend_beside,
    new_chart,
    plain_axes,
    styles,
)
from stereo_framework.sweep import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LEAST = 1e-3
"""Percent or seconds; the bound itself has no place on logarithmic axes."""

_LARGEST = 1e12
"""Percent or seconds; axes cannot be drawn for numbers near the end of float64."""


def energies_figure(results: Mapping[str, Result], title: str = "") -> Figure:
    """Draw how far energies lie above the highest lower bound, and the errors of the last maps.

    The left axes show energies over time, the right axes errors over the last energies.
    All axes but that of the errors are logarithmic. A lower bound is drawn dashed, by how
    much it lies below the highest one; points without a known bound are left out.

    Parameters
    ----------
    results : mapping of str to Result
        Results of one scene and one energy, by name. If no lower bound is known, the
        lowest energy takes its place.
    title : str
        Title of the figure.
    """
    traces = {name: result.trace or (_last_point(result),) for name, result in results.items()}
    lowest = _lowest_known_energy([point for trace in traces.values() for point in trace])
    figure = new_chart(7.0, 1.8, 3.0, title)
    over_time, over_energy = figure.subplots(1, 2)
    looks = {
        name: {**look, "linestyle": "-"}
        for (name,), look in styles([(name,) for name in traces], joined=True).items()
    }

    for name, look in looks.items():
        trace, result = traces[name], results[name]
        seconds = [_drawn_seconds(point[0]) for point in trace]
        above = [_percent(point[1] - lowest, lowest) for point in trace]
        over_time.plot(seconds, above, **look, markevery=[len(trace) - 1])
        bounds = [
            (point[0], point[2]) for point in trace if len(point) > 2 and math.isfinite(point[2])
        ]
        if bounds:
            below = [_percent(lowest - bound, lowest) for _, bound in bounds]
            over_time.plot(
                [_drawn_seconds(time) for time, _ in bounds],
                below,
                "--",
                color=look["color"],
                linewidth=1,
            )
        last_energy = _percent((result.energy or 0.0) - lowest, lowest)
        over_energy.plot(last_energy, visible_errors(result), **look | {"linestyle": "none"})

    apart = "energy above the bound (%)"
    over_time.set_yscale("log")
    for axes, x, y in (
        (over_time, "seconds", "above the bound, dashed below it (%)"),
        (over_energy, apart, "bad pixels (%)"),
    ):
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter("")
        plain_axes(axes, "", x, y)
    legend_beside(figure, [handle(look, name) for name, look in looks.items()])
    return figure


def _last_point(result: Result) -> tuple[float, float]:
    """Return seconds and energy of a result without a trace."""
    return result.matching_seconds or 0.0, result.energy or 0.0


def _lowest_known_energy(points: Sequence[Sequence[float]]) -> float:
    """Return the highest lower bound; the lowest energy if there is none, or if it is 0."""
    bounds = [point[2] for point in points if len(point) > 2 and math.isfinite(point[2])]
    return max(bounds, default=0.0) or min(point[1] for point in points)


def _percent(difference: float, lowest: float) -> float:
    """Return a difference in percent of the lowest known energy, NaN if that is not finite."""
    if not lowest:
        return math.nan if difference else _LEAST
    percent = 100 * difference / lowest
    return max(percent, _LEAST) if abs(percent) < _LARGEST else math.nan


def _drawn_seconds(seconds: float) -> float:
    """Return seconds within the ends of a logarithmic axis."""
    return min(max(seconds, _LEAST), _LARGEST)


def visible_errors(result: Result) -> float:
    """Return the percentage of bad non-occluded pixels, NaN if it was not measured."""
    bad = (
        value
        for name, value in result.statistics.items()
        if name.startswith("bad") and name.endswith("nonocc")
    )
    percentage = next(bad, math.nan)
    return percentage if abs(percentage) < _LARGEST else math.nan
