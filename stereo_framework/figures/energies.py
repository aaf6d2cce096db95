"""Charts of optimizers: how their energies fall, and what errors the maps of these energies have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stereo_framework.figures._looks import FONT, handle, legend_beside, new_chart, styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def energies_figure(traces: Mapping[str, Sequence[Sequence[float]]], errors: Mapping[str, float], title: str = "") -> Figure:
    """Draw the energy over time, both axes logarithmic, and beside it the errors over the last energy.

    Parameters
    ----------
    traces : mapping of str to sequence
        By optimizer, for each iteration the seconds since its start, its energy and, where there is one, the lower bound, which is drawn dashed.
    errors : mapping of str to float
        By optimizer the percentage of bad pixels of its map.
    title : str
    """
    figure = new_chart(7.0, 1.8, 3.0, title)
    over_time, over_energy = figure.subplots(1, 2)
    looks = styles([(name,) for name in traces], joined=True)
    for (name,), look in looks.items():
        trace = traces[name]
        seconds, energies = [max(point[0], 1e-3) for point in trace], [point[1] for point in trace]
        over_time.plot(seconds, energies, **{**look, "markevery": [len(trace) - 1]})
        if bounds := [(max(point[0], 1e-3), point[2]) for point in trace if len(point) > 2 and point[2] > 0]:
            over_time.plot(*zip(*bounds, strict=True), "--", color=look["color"], linewidth=1)
        if name in errors:
            over_energy.plot(min(energies), errors[name], **{**look, "linestyle": "none"})
    for axes, x, y in ((over_time, "seconds", "energy; dashed: lower bound"), (over_energy, "energy", "bad pixels (%)")):
        axes.set_xscale("log")
        axes.set_xlabel(x, fontsize=FONT)
        axes.set_ylabel(y, fontsize=FONT)
        axes.tick_params(labelsize=FONT - 1, which="both")
        axes.spines[["top", "right"]].set_visible(False)
    over_time.set_yscale("log")
    legend_beside(figure, [handle(look, name) for (name,), look in looks.items()])
    return figure
