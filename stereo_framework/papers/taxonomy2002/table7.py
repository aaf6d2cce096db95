"""Table 7: running times."""

from __future__ import annotations

import os

from stereo_framework.page.page import Text
from stereo_framework.papers.comparison import Comparison, comparison_table
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.papers.published import published_table
from stereo_framework.papers.taxonomy2002.table5 import SCENES
from stereo_framework.tables.environment import environment_text

_ROWS = {"ssd": "1-SSD + MF", "dp": "2-DP", "so": "3-SO", "gc": "4-GC", "bayesian": "5-Bay"}


def table7(context: Context) -> Outcome:
    """Seconds of the five methods, without evaluation, beside those of 2002. Nothing is judged: the machines differ."""
    published = published_table("taxonomy2002", "table7")
    results = context.run("table5", maps=True)
    comparisons = []
    for method, row in _ROWS.items():
        for scene in SCENES:
            found = [r for r in results if r.method == method and r.scene.endswith(f"/{scene}") and r.error is None]
            ours = min((s for r in found if (s := r.matching_seconds) is not None), default=None)
            comparisons.append(Comparison(row, scene, published.rows[row][scene], ours, None, None, "another machine"))
    machine = environment_text().partition("\n")[0]
    text = f"Seconds of a run as it was computed among {context.workers} at a time on {os.cpu_count()} cores, one thread each; {machine}. Of graph cuts the fastest of seven orders of moves."
    return Outcome([Text(text), comparison_table("Seconds, 2002 and now", comparisons)], comparisons)
