"""Plots: of results, as the ``report`` of a script describes them; and histograms of maps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import ParameterError, one_line
from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.figures._curves import Line, Mark, Panel, curves_figure
from stereo_framework.script.report import STATISTIC, Plot
from stereo_framework.sweep.result import Result
from stereo_framework.tables.means import means
from stereo_framework.tables.summaries import in_order
from stereo_framework.tables.values import NOT_APPLICABLE, grouped, setting
from stereo_framework.tables.words import caption, part, short_names, unit, with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_MOST_ACROSS = 3
"""Largest number of panels side by side if one key makes the panels."""


def plot_figure(plot: Plot, results: Sequence[Result]) -> Figure:
    """Draw a plot. Results are averaged over everything that is neither axis, series nor panel of the plot, and the footnote says so.

    Parameters
    ----------
    plot : Plot
    results : sequence of Result
        Results of one protocol. Those that have nothing to show are left out.

    Returns
    -------
    Figure

    Raises
    ------
    ParameterError
        No result has what the plot shows; or as in `means`.
    """
    by_key = grouped(results, lambda r: _x_key(plot, r))
    by_key.pop(None, None)
    if not by_key:
        raise ParameterError(f"no result has {' or '.join(map(one_line, plot.x))}")
    curves: dict[tuple[Any, ...], dict[tuple[Any, ...], list[Mark]]] = {}
    x_keys: dict[tuple[Any, ...], dict[str, None]] = {}
    remarks = []
    short = short_names({r.scene for own in by_key.values() for r in own})
    keys = (*plot.panels, *plot.series)
    for x in filter(by_key.__contains__, plot.x):
        own = by_key[x]
        names = list(dict.fromkeys((x, *keys, STATISTIC)))
        found = means(own, names, plot.y)
        remarks += [found.averaged, *found.notes]
        for key, mean in found.cells.items():
            named = {k: short[v] if k == "scene" else v for k, v in zip(names, key, strict=True)}
            panel, series = (
                tuple(named[k] for k in plot.panels),
                tuple(named[k] for k in plot.series),
            )
            points = curves.setdefault(panel, {}).setdefault(series, [])
            x_keys.setdefault(panel, {})[x] = None
            y = mean.value
            if y is not None and y <= 0 and plot.y_scale == "log":
                remarks.append(
                    "without values that are not above 0, which a logarithmic axis has not"
                )
            elif y is not None and math.isfinite(y):
                points.append(Mark(named[x], y, mean.spread(plot.spread)))
    curves = {
        panel: kept
        for panel, own in curves.items()
        if (kept := {key: points for key, points in own.items() if points})
    }
    if not curves:
        raise ParameterError("; ".join(dict.fromkeys(["no value to draw", *filter(None, remarks)])))
    bars = {"deviation": "bars: standard deviation", "range": "bars: smallest to largest"}.get(
        plot.spread, ""
    )
    remarks += [bars, f"protocol {results[0].protocol}"]
    order = in_order(series for panel in curves.values() for series in panel)
    alone = (
        plot.series[0]
        if len(plot.series) == 1 and not all(isinstance(value, str) for (value,) in order)
        else ""
    )
    return curves_figure(
        [
            Panel(
                *_place(plot, panel, list(curves)),
                ", ".join(
                    filter(
                        None,
                        (part(k, v, plot.labels) for k, v in zip(plot.panels, panel, strict=True)),
                    )
                ),
                " or ".join(with_unit(x, plot.labels) for x in x_keys[panel]),
                _y_label(plot, panel),
                tuple(Line(series, tuple(points)) for series, points in own.items()),
            )
            for panel, own in curves.items()
        ],
        {series: caption(plot.series, series, plot.labels) for series in order},
        legend_title=with_unit(alone, plot.labels) if alone else "",
        x_scale=plot.x_scale,
        y_scale=plot.y_scale,
        title=plot.title,
        footnote="; ".join(dict.fromkeys(filter(None, remarks))),
        labels=plot.labels,
    )


def _x_key(plot: Plot, result: Result) -> str | None:
    """Return the key that the horizontal axis shows for a result, or None.

    It is the first key that was swept or, if none was, the first one that the result has.
    """
    # An axis without effect on a setting has no value in its result.
    swept = [key for key in plot.x if result.axes.get(key, NOT_APPLICABLE) != NOT_APPLICABLE]
    there = [key for key in plot.x if key == STATISTIC or setting(result, key) != NOT_APPLICABLE]
    return next(iter((*swept, *there)), None)


def _place(
    plot: Plot, panel: tuple[Any, ...], panels: Sequence[tuple[Any, ...]]
) -> tuple[int, int]:
    """The row and column of a panel."""
    if len(plot.panels) == 2:
        row, column = (
            list(dict.fromkeys(one[i] for one in panels)).index(panel[i]) for i in (0, 1)
        )
        return row, column
    index = list(panels).index(panel)
    rows = math.ceil(len(panels) / _MOST_ACROSS)
    return divmod(index, math.ceil(len(panels) / rows))


def _y_label(plot: Plot, panel: tuple[Any, ...]) -> str:
    """The statistic of a panel with its unit, or the metric that several statistics have in common."""
    named = dict(zip(plot.panels, panel, strict=True))
    shown = [named[STATISTIC]] if STATISTIC in named else plot.y
    if len(shown) == 1:
        return with_unit(shown[0], plot.labels)
    metrics = {metric.name if metric else "" for metric in map(metric_of, shown)}
    name = metrics.pop() if len(metrics) == 1 else ""
    return f"{plot.labels.get(name, name)} ({unit(shown[0])})".strip() if unit(shown[0]) else name


def distributions_figure(
    panels: Mapping[str, Mapping[str, NDArray]], bin_width: float, *, title: str = ""
) -> Figure:
    """Draw a panel for each quantity and in it a curve for each map: percent of the map's values by bin.

    Parameters
    ----------
    panels : mapping of str to mapping of str to ndarray
        By the quantity with its unit, such as ``"error (px)"``, and by the name of the curve. Arrays may have any shape; values that are not finite are left out.
    bin_width : float
        Width of the bins in the unit of the quantity. Bins are centred on its multiples.
    title : str

    Raises
    ------
    ParameterError
        No map has a value.

    Notes
    -----
    As the histograms in Figure 15 of Scharstein & Szeliski (2002).
    """
    drawn = [
        Panel(
            0,
            i,
            "",
            quantity,
            "pixels (%)",
            tuple(Line((name,), _marks(values, bin_width)) for name, values in maps.items()),
        )
        for i, (quantity, maps) in enumerate(panels.items())
    ]
    if not any(curve.points for panel in drawn for curve in panel.curves):
        raise ParameterError("distributions: no map has a value to draw")
    names = dict.fromkeys(name for maps in panels.values() for name in maps)
    return curves_figure(
        drawn, {(name,): name for name in names}, title=title, footnote=f"bins of {bin_width:g}"
    )


def _marks(values: NDArray, width: float) -> tuple[Mark, ...]:
    bins = np.rint(values[np.isfinite(values)] / width).astype(int)
    if not bins.size:
        return ()
    counts = np.bincount(bins - bins.min())
    return tuple(
        Mark((bins.min() + i) * width, 100 * count / bins.size)
        for i, count in enumerate(counts.tolist())
    )
