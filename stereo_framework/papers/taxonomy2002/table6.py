"""Table 6: fixed parameters against the best of everything that was run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stereo_framework.papers.comparison import Comparison, comparison_table
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.papers.published import published_table
from stereo_framework.papers.taxonomy2002.table5 import SCENES, compared, measured
from stereo_framework.sweep import Result

_RUNS = ("table6", "table5", *(f"experiment{i}" for i in range(1, 7)), "experiment6_map", "experiment6_scanlines")
_NAMES = {"ssd": "SSD", "dp": "DP", "so": "SO", "gc": "GC", "bayesian": "Bay"}
_KINDS: dict[str, Callable[[Any], bool]] = {
    "ssd": lambda p: p["optimization.use"] == "winner_take_all" and p.get("aggregation.use") == "box > min_filter",
    "dp": lambda p: p["optimization.use"] == "dynamic_programming",
    "so": lambda p: p["optimization.use"] == "scanline_optimization",
    "gc": lambda p: p["optimization.use"] == "graph_cut",
    "bayesian": lambda p: p.get("aggregation.use") == "bayesian_diffusion",
}
"""Which runs belong to which method, by their parameters."""

_WELCOME = "lower is welcome, for the experiments may try more settings"


def table6(context: Context) -> Outcome:
    """Percentages of bad pixels with Table 4's parameters and with the best seen in all experiments."""
    published = published_table("taxonomy2002", "table6")
    everything = [r for name in _RUNS for r in context.run(name, maps=name == "table5") if r.error is None]
    comparisons = []
    for method, row in _NAMES.items():
        fixed = measured(context, method)
        for scene in SCENES:
            cell = compared(method, f"{scene}_nonocc", published.rows[row][f"{scene}_fixed"], fixed.get(f"{scene}_nonocc", ()))
            best = _best(everything, method, scene)
            setting = "" if best is None else ", ".join(f"{k}={v}" for k, v in best.axes.items())
            lowest = None if best is None else best.statistics["bad_pixels_nonocc"]
            printed, reason = (
                published.rows[row][f"{scene}_best"],
                f"{cell.reason}; {_WELCOME}; ours: {setting or 'the fixed ones'}",
            )
            comparisons += [
                Comparison(row, f"{scene}_fixed", cell.published, cell.ours, None, None, "judged in Table 5"),
                Comparison(row, f"{scene}_best", printed, lowest, None, cell.above, reason),
            ]
    return Outcome([comparison_table("Non-occluded bad pixels in percent, fixed and best parameters", comparisons)], comparisons)


def _best(results: Sequence[Result], method: str, scene: str) -> Result | None:
    found = [r for r in results if r.scene.endswith(f"/{scene}") and _KINDS[method](r.parameters)]
    return min(found, key=lambda r: r.statistics["bad_pixels_nonocc"], default=None)
