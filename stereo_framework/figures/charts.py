"""The charts for choosing among methods, by name, and as the ``report`` of a script asks for them."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stereo_framework.evaluation.metrics import spelled_out
from stereo_framework.figures.correlation import correlation_figure
from stereo_framework.figures.histogram import histogram_figure
from stereo_framework.figures.parallel_coordinates import parallel_coordinates_figure
from stereo_framework.figures.plots import save_figure
from stereo_framework.figures.radar import radar_figure
from stereo_framework.figures.stacked_bars import stacked_bars_figure
from stereo_framework.script.report import Chart
from stereo_framework.tables.results import of_each_protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stereo_framework.sweep import Result

_Draw = Callable[[Chart, Sequence["Result"]], "Figure"]

CHARTS: Mapping[str, _Draw] = types.MappingProxyType(
    {
        "stacked_bars": lambda c, r: stacked_bars_figure(r, c.measures, weights=c.weights, title=c.title, labels=c.labels),
        "radar": lambda c, r: radar_figure(r, c.measures, title=c.title, labels=c.labels),
        "parallel_coordinates": lambda c, r: parallel_coordinates_figure(r, c.measures, title=c.title, labels=c.labels),
        "correlation": lambda c, r: correlation_figure(r, c.measures, title=c.title, labels=c.labels),
        "histogram": lambda c, r: histogram_figure(r, c.measures, method=c.method, title=c.title, labels=c.labels),
    }
)
"""How each kind of `script.report.CHARTS` is drawn."""


def write_charts(chart: Chart, results: Sequence[Result], stem: Path) -> list[Path]:
    """Write the charts of one name, each as ``STEM_KIND.svg`` and ``.png``; of several protocols each gets its own.

    Parameters
    ----------
    chart : Chart
    results : sequence of Result
        Of which it chooses.
    stem : Path
        Folder and beginning of the names; the folder is made.

    Returns
    -------
    list of Path

    Raises
    ------
    ParameterError
        No result has what is to be shown, or as the chart's own function.
    DataError
        A file cannot be written.
    """
    written = []
    for ending, same in of_each_protocol(results, chart.where, spelled_out(chart.measures)):
        for kind in chart.kinds:
            figure = CHARTS[kind](chart, same)
            written += save_figure(figure, stem.with_name(f"{stem.name}_{kind}{ending}"), same[0].protocol_text)
    return written
