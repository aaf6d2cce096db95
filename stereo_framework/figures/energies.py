"""Charts of optimizers: how near to the lower bound their energies come, and what errors the maps of these energies have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stereo_framework.figures._looks import FONT, handle, legend_beside, new_chart, styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LEAST = 1e-3
"""Percent; the bound itself has no place on logarithmic axes."""


def energies_figure(
    traces: Mapping[str, Sequence[Sequence[float]]], maps: Mapping[str, tuple[float, float]], title: str = ""
) -> Figure:
    """Draw by how much energies lie above the highest lower bound over time, both axes logarithmic, and beside it the errors of the last maps.

    Parameters
    ----------
    traces : mapping of str to sequence
        By optimizer, for each iteration the seconds since its start, its energy and, where there is one, the lower bound, which is drawn dashed
        by how much it lies below the highest one. Without any, the lowest energy stands in its place.
    maps : mapping of str to (float, float)
        By optimizer the energy of its map and its percentage of bad pixels.
    title : str
    """
    points = [point for trace in traces.values() for point in trace]
    bound = max((point[2] for point in points if len(point) > 2), default=0.0) or min(point[1] for point in points)
    figure = new_chart(7.0, 1.8, 3.0, title)
    over_time, over_energy = figure.subplots(1, 2)
    looks = {name: {**look, "linestyle": "-"} for (name,), look in styles([(name,) for name in traces], joined=True).items()}
    for name, look in looks.items():
        trace = traces[name]
        seconds, above = [point[0] for point in trace], [_percent(point[1] - bound, bound) for point in trace]
        over_time.plot(seconds, above, **look, markevery=[len(trace) - 1])
        if all(len(point) > 2 for point in trace):
            over_time.plot(
                seconds, [_percent(bound - point[2], bound) for point in trace], "--", color=look["color"], linewidth=1
            )
        if name in maps:
            over_energy.plot(_percent(maps[name][0] - bound, bound), maps[name][1], **{**look, "linestyle": "none"})
    apart = "energy above the bound (%)"
    over_time.set_yscale("log")
    for axes, x, y in ((over_time, "seconds", "above the bound, dashed below it (%)"), (over_energy, apart, "bad pixels (%)")):
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter("")
        axes.set_xlabel(x, fontsize=FONT)
        axes.set_ylabel(y, fontsize=FONT)
        axes.tick_params(labelsize=FONT - 1)
        axes.spines[["top", "right"]].set_visible(False)
    legend_beside(figure, [handle(look, name) for name, look in looks.items()])
    return figure


def _percent(difference: float, bound: float) -> float:
    return max(100 * difference / bound, _LEAST)
