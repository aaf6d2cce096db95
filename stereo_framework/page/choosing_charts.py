"""The section of a page for choosing among methods: charts with weights to move and methods to choose, and the table of r^2."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stereo_framework.core.errors import ParameterError
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.figures._looks import PARTS, styles
from stereo_framework.figures.charts import CHART_FIGURES
from stereo_framework.figures.correlation import told_counts
from stereo_framework.figures.histogram import histogram_figure
from stereo_framework.figures.saving import svg_text
from stereo_framework.figures.stacked_bars import stacked_bars_figure
from stereo_framework.page.page import Block, Cell, Charts, PageTable, Picture, Text
from stereo_framework.script.report import Chart
from stereo_framework.tables.results import Results
from stereo_framework.tables.standings import Standings, standings, weights_of
from stereo_framework.tables.values import is_number, value
from stereo_framework.tables.words import measure_name, measure_symbol, setting_names, unit

if TYPE_CHECKING:
    from stereo_framework.sweep import Result

_MOST_METHODS = 20
"""Methods in the charts of a page."""

_MOST_LINES = 4
"""Methods whose lines the radar charts show at first: more hide each other."""

_ENLARGED = 1.8
"""Pixels of a page for each point of a chart, where there is room."""

_CAPTIONS: Mapping[str, tuple[str, str]] = {
    "stacked_bars": (
        "Weighted scores: move the weights to what matters to you",
        "stacked bars of the weighted scores of every method",
    ),
    "radar": ("Profiles: the further in, the better", "radar charts of the ranks and the scores of every method"),
    "parallel_coordinates": (
        "All methods in all measures: the lower, the better",
        "a line for every method over an axis for every measure",
    ),
    "histogram": ("All scores, and those of one method among them", "histograms of the scores of all methods in every measure"),
}
"""What stands above the charts, and what they show. The table of r^2 needs no script."""


def choosing_blocks(results: Sequence[Result], chart: Chart | None = None) -> list[Block]:
    """Charts and the table of r^2 of results, for each protocol that measured what they show.

    Parameters
    ----------
    results : sequence of Result
    chart : Chart, optional
        What to compare by and how: all but its kinds counts. Default: the nine HCI metrics.

    Returns
    -------
    list of Block
        Empty where no result has a score in any of the measures. What cannot be compared is told in a line of text.

    Notes
    -----
    Honauer et al. 2015, Figures 7 and 9 to 12. Of many methods and settings the best ones are shown, by the weighted mean of their scores.
    """
    chart = chart or Chart("")
    blocks: list[Block] = []
    try:
        chosen = Results(results).where(**{key: list(values) for key, values in chart.where.items()})
    except ParameterError as error:
        return [Text(f"{chart.name}: no charts: {error}")]
    for text in dict.fromkeys(r.protocol_text for r in chosen):
        same = [r for r in chosen if r.protocol_text == text]
        if any(is_scored(r, name) for r in same for name in chart.measures):
            try:
                blocks += _of_protocol(same, chart)
            except ParameterError as error:
                blocks.append(Text(f"{same[0].protocol}: no charts: {error}"))
    return blocks


def is_scored(result: Result, name: str) -> bool:
    """Whether a result has a number for a measure."""
    found = value(result, name)
    return is_number(found) and math.isfinite(found)


def _of_protocol(results: Sequence[Result], chart: Chart) -> list[Block]:
    # A page shows what there is: measures that have no score on any scene are left out.
    scored = [name for name in chart.measures if any(is_scored(r, name) for r in results)]
    absent = [measure_name(name, chart.labels) for name in chart.measures if name not in scored]
    given = dict(zip(chart.measures, weights_of(chart.measures, chart.weights), strict=True))
    weights = {name: given[name] for name in scored}
    found, remarks, marked = standings(results, scored), [], chart.method
    if absent:
        remarks.append(f"Without {', '.join(absent)}: no scene has what they are measured on.")
    if len(found.methods) > _MOST_METHODS:
        kept = {chart.method, *(found.methods[i] for i in found.best(_MOST_METHODS, list(weights.values())))}
        remarks.append(f"The best {_MOST_METHODS} of {len(found.methods)} methods and settings, by their weighted mean scores.")
        before = {id(r): name for r, name in zip(results, setting_names(results), strict=True)}
        results = [r for r in results if before[id(r)] in kept]
        found = standings(results, scored)
        # Names are shorter where an axis varies no longer.
        marked = next((name for r, name in zip(results, setting_names(results), strict=True) if before[id(r)] == marked), marked)
    shown = Chart(chart.name, measures=tuple(scored), weights=weights, labels=chart.labels, method=marked or found.methods[0])
    pictures = {kind: Picture(_drawing(kind, shown, found), text, caption) for kind, (caption, text) in _CAPTIONS.items()}
    remarks.append(
        "Each score is a share of the worst method's among these: 0 is perfect. A score that is missing where other methods have one counts as the worst and is hatched."
    )
    told = found.footnote("Means over", "ranks are means of those on each scene")
    lead = Text(f"{': '.join(filter(None, (chart.title or chart.name, told)))}. {' '.join(remarks)}")
    return [lead, Charts(_data(found, shown, list(weights.values())), pictures), _r2_table(found, shown)]


def _drawing(kind: str, chart: Chart, found: Standings) -> str:
    """A chart as SVG for a page, whose script finds its parts by ``data-part``."""
    if kind == "histogram":
        figure = histogram_figure(chart, found, every=True)
    elif kind == "stacked_bars":
        # The weights are applied by the script, which can change them.
        figure = stacked_bars_figure(replace(chart, weights={}), found)
    else:
        figure = CHART_FIGURES[kind](chart, found)
    text = svg_text(figure, letters=True)
    # Several drawings on a page may not have the same identifiers. Those of clip paths, hatches and markers are digests of what they stand for.
    text = re.sub(r' id="((?:method|bar|total|name)-[\d-]+|frame)"', r' data-part="\1"', text)
    text = re.sub(r' id="[a-z0-9.]+_\d+"', "", text[text.index("<svg") :])

    def widest(size: re.Match[str]) -> str:
        return f'style="max-width: {_ENLARGED * float(size[1]):.0f}px"'

    # Letters of all charts are of one size, whatever their width.
    return re.sub(r'width="([\d.]+)pt" height="[\d.]+pt"', widest, text, count=1)


def _data(found: Standings, chart: Chart, weights: Sequence[float]) -> dict[str, Any]:
    """What the script moves and tells; numbers with the digits that can be seen."""
    labels, first = chart.labels, found.best(_MOST_LINES, weights)
    looks = styles([(method,) for method in found.methods], joined=True).values()
    measures = [
        {
            "label": measure_name(name, labels),
            "symbol": measure_symbol(name, labels),
            "unit": unit(name),
            "colour": PARTS[j % len(PARTS)],
            "weight": weights[j],
        }
        for j, name in enumerate(found.measures)
    ]
    methods = [
        {
            "name": labels.get(method, method),
            "first": i in first,
            "marked": method == chart.method,
            "colour": look["color"],
            "dash": "" if look["linestyle"] == "-" else " ".join(f"{2 * length:g}" for length in look["linestyle"][1]),
            "scores": [_short(v) for v in found.means[i]],
            "shares": [_short(v) for v in found.normalized[i]],
        }
        for i, (method, look) in enumerate(zip(found.methods, looks, strict=True))
    ]
    return {"measures": measures, "methods": methods}


def _short(value: float) -> float | None:
    """Six digits; JSON has neither NaN nor infinity."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _r2_table(found: Standings, chart: Chart) -> PageTable:
    names, (r2, counts) = found.measures, found.correlations
    symbols = [measure_symbol(name, chart.labels) for name in names]
    rows = [
        [Cell(s), *(Cell.number(v, hint=f"{n} pairs") for v, n in zip(*row, strict=True))]
        for s, *row in zip(symbols, r2.tolist(), counts, strict=True)
    ]
    for i, row in enumerate(rows):
        row[1 + i] = Cell("")
    words = ", ".join(f"{m.symbol} {m.title}" for name, m in HCI_METRICS.items() if name in names and name not in chart.labels)
    note = f"r² of linear fits over {told_counts(counts)}; 1: the one measure follows from the other. {words}"
    return PageTable("How far two measures say the same (r²)", ["", *symbols], rows, note)
