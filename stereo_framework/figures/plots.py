"""Plots of results, as the ``report`` of a script describes them, and of disparities."""

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
from stereo_framework.sweep.missing import MISSING
from stereo_framework.sweep.result import Result
from stereo_framework.sweep.result_set import ResultSet
from stereo_framework.sweep.value_text import key_value_text
from stereo_framework.tables.grouping import group_items
from stereo_framework.tables.means import Means, means
from stereo_framework.tables.summaries import in_order
from stereo_framework.tables.words import caption, short_names, unit, with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_MOST_ACROSS = 3
"""Largest number of panels side by side if one key makes the panels."""


_BAR_NOTES = {"deviation": "bars: standard deviation", "range": "bars: smallest to largest"}
"""Explanations of error bars, by the key ``spread`` of a plot."""

_NOT_POSITIVE = "without values that are not above 0, which a logarithmic axis has not"

_KeyValues = tuple[Any, ...]
"""Values of the keys of a panel or of a series."""


def plot_figure(plot: Plot, results: ResultSet) -> Figure:
    """Draw a plot of a script's report.

    Results are averaged over all keys that are neither axis, series nor panel of the
    plot, and the footnote describes this average.

    Parameters
    ----------
    plot : Plot
        Keys and options of the plot.
    results : ResultSet
        Results of one protocol. Results without a value for the plot are left out.

    Returns
    -------
    Figure

    Raises
    ------
    ParameterError
        No result has a value for the plot, or `means` refuses the results.
    """
    curves = _Curves(plot)
    results_of_x = group_items(results, lambda result: _x_key(plot, result))
    results_of_x.pop(None, None)
    if not results_of_x:
        raise ParameterError(f"no result has {' or '.join(map(one_line, plot.x))}")
    short_scenes = short_names(
        {result.scene for drawn_results in results_of_x.values() for result in drawn_results}
    )
    for x in plot.x:
        if x in results_of_x:
            curves.add(x, ResultSet(results_of_x[x]), short_scenes)

    points_of_panel = curves.with_points()
    if not points_of_panel:
        reasons = filter(None, curves.remarks)
        raise ParameterError("; ".join(dict.fromkeys(["no value to draw", *reasons])))
    series_in_order = in_order(series for panel in points_of_panel.values() for series in panel)
    remarks = [*curves.remarks, _BAR_NOTES.get(plot.spread, ""), f"protocol {results[0].protocol}"]
    return curves_figure(
        [
            _panel(plot, panel, list(points_of_panel), list(curves.x_keys[panel]), points_of_series)
            for panel, points_of_series in points_of_panel.items()
        ],
        {series: caption(plot.series, series, plot.labels) for series in series_in_order},
        legend_title=_legend_title(plot, series_in_order),
        x_scale=plot.x_scale,
        y_scale=plot.y_scale,
        title=plot.title,
        footnote="; ".join(dict.fromkeys(filter(None, remarks))),
        labels=plot.labels,
    )


class _Curves:
    """The points of all curves of a plot, and the remarks for its footnote.

    Parameters
    ----------
    plot : Plot
        Keys and options of the plot.

    Attributes
    ----------
    x_keys : dict of tuple to dict of str
        Keys of the horizontal axis, by the values of the panel.
    remarks : list of str
        Remarks about averages and missing values.
    """

    def __init__(self, plot: Plot) -> None:
        self._plot = plot
        self._points: dict[_KeyValues, dict[_KeyValues, list[Mark]]] = {}
        self.x_keys: dict[_KeyValues, dict[str, None]] = {}
        self.remarks: list[str] = []

    def add(self, x: str, results: ResultSet, short_scenes: Mapping[str, str]) -> None:
        """Add the means of results over the values of a key of the horizontal axis.

        Parameters
        ----------
        x : str
            Key of the horizontal axis.
        results : ResultSet
            Results with a value of this key.
        short_scenes : mapping of str to str
            Short names of the scenes.
        """
        plot = self._plot
        keys = list(dict.fromkeys((x, *plot.panels, *plot.series, STATISTIC)))
        table_means: Means = means(results, keys, plot.y)
        self.remarks += [table_means.averaged, *table_means.notes]
        for values, mean in table_means.cells.items():
            value_of_key = dict(zip(keys, values, strict=True))
            if "scene" in value_of_key:
                value_of_key["scene"] = short_scenes[value_of_key["scene"]]
            panel = tuple(value_of_key[key] for key in plot.panels)
            series = tuple(value_of_key[key] for key in plot.series)
            points = self._points.setdefault(panel, {}).setdefault(series, [])
            self.x_keys.setdefault(panel, {})[x] = None
            y = mean.value
            if y is not None and y <= 0 and plot.y_scale == "log":
                self.remarks.append(_NOT_POSITIVE)
            elif y is not None and math.isfinite(y):
                points.append(Mark(value_of_key[x], y, mean.spread(plot.spread)))

    def with_points(self) -> dict[_KeyValues, dict[_KeyValues, list[Mark]]]:
        """Return the points by panel and series, without empty series and panels."""
        points_of_panel: dict[_KeyValues, dict[_KeyValues, list[Mark]]] = {}
        for panel, points_of_series in self._points.items():
            nonempty = {series: points for series, points in points_of_series.items() if points}
            if nonempty:
                points_of_panel[panel] = nonempty
        return points_of_panel


def _panel(
    plot: Plot,
    panel: _KeyValues,
    panels: Sequence[_KeyValues],
    x_keys: Sequence[str],
    points_of_series: Mapping[_KeyValues, Sequence[Mark]],
) -> Panel:
    """Return a panel of a plot with its labels and curves.

    Parameters
    ----------
    plot : Plot
        Keys and options of the plot.
    panel : tuple
        Values of the keys of this panel.
    panels : sequence of tuple
        Values of the keys of all panels.
    x_keys : sequence of str
        Keys of the horizontal axis of this panel.
    points_of_series : mapping of tuple to sequence of Mark
        Points of each curve, by the values of the keys of the series.
    """
    row, column = _place(plot, panel, panels)
    pairs = zip(plot.panels, panel, strict=True)
    title_parts = [key_value_text(key, value, plot.labels) for key, value in pairs]
    curves = [Line(series, tuple(points)) for series, points in points_of_series.items()]
    return Panel(
        row=row,
        column=column,
        title=", ".join(filter(None, title_parts)),
        x_label=" or ".join(with_unit(x, plot.labels) for x in x_keys),
        y_label=_y_label(plot, panel),
        curves=tuple(curves),
    )


def _legend_title(plot: Plot, series: Sequence[_KeyValues]) -> str:
    """Return the title of the legend, the key of a series with numbers, or no text."""
    if len(plot.series) != 1:
        return ""
    are_texts = all(isinstance(value, str) or value is MISSING for (value,) in series)
    return "" if are_texts else with_unit(plot.series[0], plot.labels)


def _x_key(plot: Plot, result: Result) -> str | None:
    """Return the key that the horizontal axis shows for a result, or None.

    It is the first key that was swept or, if none was, the first one that the result
    has.
    """
    for key in plot.x:
        # An axis without effect on a setting has no value in its result.
        if result.axis_value(key) is not MISSING:
            return key
    for key in plot.x:
        if key == STATISTIC or result.value(key) is not MISSING:
            return key
    return None


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
        Width of the bins in the unit of the quantity. Bins are centred on its
        multiples.
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
