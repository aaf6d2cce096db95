"""The section of a page for choosing among methods: charts with weights to move and methods to choose, and the table of r^2."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stereo_framework.errors import ParameterError
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.figures._looks import PARTS, styles
from stereo_framework.figures.charts import CHART_FIGURES
from stereo_framework.figures.correlation import told_counts
from stereo_framework.figures.histogram import bin_edges
from stereo_framework.figures.saving import svg_text
from stereo_framework.page.page import Block, Cell, Charts, PageTable, Picture, Text
from stereo_framework.script.report import Chart
from stereo_framework.tables.results import Results
from stereo_framework.tables.standings import Standings, standings, weights_of
from stereo_framework.tables.values import better, is_number, value
from stereo_framework.tables.words import measure_name, measure_symbol, setting_names, short_names, unit

if TYPE_CHECKING:
    from stereo_framework.sweep import Result

_MOST_METHODS = 20
"""Methods in the charts of a page."""

_MOST_LINES = 4
"""Methods whose lines the radar charts show at first: more hide each other."""

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
"""What stands above the charts that a browser draws, and what their pictures show. The table of r^2 needs no script."""


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
        if any(_scored(r, name) for r in same for name in chart.measures):
            try:
                blocks += _of_protocol(same, chart)
            except ParameterError as error:
                blocks.append(Text(f"{same[0].protocol}: no charts: {error}"))
    return blocks


def _scored(result: Result, name: str) -> bool:
    found = value(result, name)
    return is_number(found) and math.isfinite(found)


def _of_protocol(results: Sequence[Result], chart: Chart) -> list[Block]:
    # A page shows what there is: measures that have no score on any scene are left out.
    scored = [name for name in chart.measures if any(_scored(r, name) for r in results)]
    absent = [measure_name(name, chart.labels) for name in chart.measures if name not in scored]
    weights = {
        name: weight
        for name, weight in zip(chart.measures, weights_of(chart.measures, chart.weights), strict=True)
        if name in scored
    }
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
    pictures = {
        kind: Picture(svg_text(CHART_FIGURES[kind](shown, found)), text, caption) for kind, (caption, text) in _CAPTIONS.items()
    }
    remarks.append(
        "Each score is a share of the worst method's among these: 0 is perfect. A score that is missing where other methods have one counts as the worst and is hatched."
    )
    told = found.footnote("Means over", "ranks are means of those on each scene")
    lead = Text(f"{': '.join(filter(None, (chart.title or chart.name, told)))}. {' '.join(remarks)}")
    return [lead, Charts(_data(found, shown, list(weights.values())), pictures), _r2_table(found, shown)]


def _data(found: Standings, chart: Chart, weights: Sequence[float]) -> dict[str, Any]:
    """What the script draws; numbers with the digits that can be seen."""
    labels, first = chart.labels, found.best(_MOST_LINES, weights)
    looks = styles([(method,) for method in found.methods], joined=True).values()
    measures = []
    for j, name in enumerate(found.measures):
        there = found.scores[..., j][np.isfinite(found.scores[..., j])]
        edges = bin_edges(there)
        measures.append(
            {
                "label": measure_name(name, labels),
                "symbol": measure_symbol(name, labels),
                "unit": unit(name),
                "colour": PARTS[j % len(PARTS)],
                "weight": weights[j],
                "lower": better(name) == "lower",
                "perfect": _short(found.ends[0, j]),
                "worst": _short(found.ends[1, j]),
                "edges": edges,
                "counts": np.histogram(there, edges)[0].tolist(),
            }
        )
    methods = [
        {
            "name": labels.get(method, method),
            "first": i in first,
            "marked": method == chart.method,
            "colour": look["color"],
            "dash": "" if look["linestyle"] == "-" else " ".join(f"{2 * length:g}" for length in look["linestyle"][1]),
            "scores": [_short(v) for v in found.means[i]],
            "shares": [_short(v) for v in found.normalized[i]],
            "ranks": [_short(v) for v in found.ranks[i]],
            "raw": [[_short(v) for v in found.scores[i, :, j]] for j in range(len(found.measures))],
        }
        for i, (method, look) in enumerate(zip(found.methods, looks, strict=True))
    ]
    short = short_names(found.scenes)
    return {"measures": measures, "methods": methods, "scenes": [short[scene] for scene in found.scenes]}


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
