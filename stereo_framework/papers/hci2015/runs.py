"""The results that all items show: our methods, and OpenCV's as an outside one, on the scenes that are available."""

from __future__ import annotations

from collections.abc import Sequence

from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.papers.paper import Context
from stereo_framework.sweep import Result

FOLDER = "middlebury-v3/trainingQ/"

_DENSE = 0.99
"""Smallest share of estimated pixels at which a map counts as dense: after filling, only rows without any estimate stay empty."""

BAND = 7
"""Width in pixels of the bands beside discontinuities: 0.01 of the width of quarter-size images, which is about 700 pixels."""

COLUMNS = {
    "RMS": "rms_error_nonocc",
    "Bad1.0": "bad1_nonocc",
    "Bad4.0": "bad4_nonocc",
    **{metric.symbol: name for name, metric in HCI_METRICS.items()},
}
"""The paper's names of the measures, with our statistics."""


GEOMETRIC = tuple(metric.symbol for metric in HCI_METRICS.values())
"""The paper's names of the nine metrics."""


def results(context: Context) -> list[Result]:
    """All results except failed ones; a quick reproduction has one scene and leaves out the methods that take minutes."""
    return [r for r in context.run("short" if context.quick else "all", maps=True) if r.error is None]


def dense(found: Sequence[Result]) -> list[Result]:
    """Results of the methods whose maps are dense everywhere, which is what the paper is about."""
    sparse = {r.method for r in found if r.statistics["fraction_matched"] < _DENSE}
    return [r for r in found if r.method not in sparse]


def on(found: Sequence[Result], scene: str) -> dict[str, Result]:
    """Results on a scene by method."""
    return {r.method: r for r in found if r.scene == FOLDER + scene}
