"""Tables 1 and 2: efficiencies and expected improvements, and the seconds that the methods took."""

from __future__ import annotations

import itertools
import os
import statistics
from collections.abc import Sequence

from stereo_framework.page.page import Cell, PageTable, Text
from stereo_framework.papers.boundary2007.sweeps import METHODS, SCENES, measured, results
from stereo_framework.papers.claim import Verdict, claims
from stereo_framework.papers.comparison import Comparison, comparison_table
from stereo_framework.papers.paper import Context, Outcome, results_details, short
from stereo_framework.papers.published import PublishedTable, published_table
from stereo_framework.sweep import Result
from stereo_framework.tables.environment import environment_text

_OTHER_METHOD = "another implementation"
_OTHER_SCENE = "another implementation, a scene of our own"
_IN_ITS_MANNER = "another method in its manner"

_ROUNDING = 0.002
"""Rounding error of a sum of four numbers printed with three digits: half a unit of the last digit each."""


def table1(context: Context) -> Outcome:
    """Efficiency E of every method on every scene, and that of its mean curve."""
    published, found = published_table("boundary2007", "table1"), measured(context)
    ours = {METHODS[name]: row for name, row in found.efficiencies().items()}
    columns = {**{label: name for name, label in SCENES.items()}, "Expected": "Expected"}
    comparisons = []
    for method, printed in published.rows.items():
        for label, value in printed.items():
            reason = _OTHER_SCENE if label in ("Stripes", "Slits", "Expected") else _OTHER_METHOD
            if method == "SDM":
                reason = _IN_ITS_MANNER
            comparisons.append(Comparison(method, label, value, ours.get(method, {}).get(columns[label]), None, None, reason))
    text = (
        "E is what a method gains over the zero-algorithm, 0..1, higher is better: 1 for a perfect result, (1 - SR - ER)^2 for a curve of a single "
        "point. Expected: of the mean curve over the scenes that are there, not the mean of the row."
    )
    everything, table = results(context), comparison_table("Efficiency, published and ours", comparisons, 3)
    return Outcome([Text(text), table, _seconds(context, everything), results_details(everything)], comparisons)


def _seconds(context: Context, everything: Sequence[Result]) -> PageTable:
    """Seconds per setting, as the median over the settings."""
    rows = []
    for method, label in METHODS.items():
        own = [r for r in everything if r.method == method and r.error is None]
        row = [Cell(f"{method} ({label})"), Cell(str(len({str(r.axes) for r in own})))]
        for scene in SCENES:
            taken = [s for r in own if short(r.scene) == scene and (s := r.matching_seconds) is not None]
            row.append(Cell.number(statistics.median(taken) if taken else None))
        rows.append(row)
    machine = environment_text().partition("\n")[0]
    note = (
        f"Wall-clock seconds, without evaluation, of a setting among {context.workers} at a time on {os.cpu_count()} cores, one thread each; {machine}. "
        "What settings share is computed once and told by each."
    )
    return PageTable("Seconds for a setting (median)", ["method", "settings", *SCENES], rows, note)


def table2(context: Context) -> Outcome:
    """Expected improvement I(A|B) of every method over every other, and whether the printed tables agree with each other."""
    published, expected = published_table("boundary2007", "table2"), published_table("boundary2007", "table1")
    found = measured(context)
    ours = {METHODS[a]: {METHODS[b]: value for b, value in row.items()} for a, row in found.improvements().items()}
    comparisons = [
        Comparison(a, b, value, ours.get(a, {}).get(b), None, None, _IN_ITS_MANNER if "SDM" in (a, b) else _OTHER_SCENE)
        for a, printed in published.rows.items()
        for b, value in printed.items()
    ]
    text = (
        "I(row | column) is what the row's mean curve gains over the column's where it is better, 0..1. It takes the scenes that are there together, two "
        "of them our own."
    )
    table = comparison_table("Expected improvement, published and ours", comparisons, 3)
    return Outcome([Text(text), table], comparisons, [IDENTITY.asked(expected, published)])


def _identity(efficiencies: PublishedTable, improvements: PublishedTable) -> Verdict:
    """E(A) - E(B) = I(A|B) - I(B|A), for all pairs, from the printed numbers."""
    e, gain = {name: row["Expected"] for name, row in efficiencies.rows.items()}, improvements.rows
    gaps = [abs(e[a] - e[b] - (gain[a][b] - gain[b][a])) for a, b in itertools.combinations(e, 2)]
    close = sum(gap <= _ROUNDING for gap in gaps)
    return Verdict(close == len(gaps), f"{close} of {len(gaps)} pairs; at most {max(gaps):.4f} apart")


(IDENTITY,) = claims("boundary2007", {"identity": _identity})
