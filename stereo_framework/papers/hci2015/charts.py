"""Figures 7 and 9 to 12: charts for choosing among methods, drawn from our own scores."""

from __future__ import annotations

from stereo_framework.page.choosing_charts import choosing_blocks
from stereo_framework.page.page import Charts
from stereo_framework.papers.hci2015.runs import dense, results
from stereo_framework.papers.paper import Context, Outcome


def charts(context: Context) -> Outcome:
    """Stacked bars, radar charts, parallel coordinates and histograms of the dense methods' scores."""
    blocks = choosing_blocks(dense(results(context)))
    files: dict[str, str | bytes] = {}
    for block in blocks:
        if isinstance(block, Charts):
            files |= {f"{kind}.svg": figure.content for kind, figure in block.pictures.items()}
    return Outcome(blocks, files=files)
