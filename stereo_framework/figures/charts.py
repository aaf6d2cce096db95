"""The charts that help to choose among methods, by the names that the ``report`` of a script uses for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from stereo_framework.figures.correlation import correlation_figure
from stereo_framework.figures.histogram import histogram_figure
from stereo_framework.figures.parallel_coordinates import parallel_coordinates_figure
from stereo_framework.figures.radar import radar_figure
from stereo_framework.figures.stacked_bars import stacked_bars_figure
from stereo_framework.script.report import Chart
from stereo_framework.tables.standings import Standings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHART_FIGURES: Mapping[str, Callable[[Chart, Standings], Figure]] = {
    "stacked_bars": stacked_bars_figure,
    "radar": radar_figure,
    "parallel_coordinates": parallel_coordinates_figure,
    "correlation": correlation_figure,
    "histogram": histogram_figure,
}
"""The function that draws each kind of `script.report.CHARTS`.

Each function takes a `Chart`, of which it uses the parts that concern it, and the standings in its measures; `saving.save_figure` writes the result.
"""
