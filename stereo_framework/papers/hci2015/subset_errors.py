"""Section 4.4: the RMS error on each metric's own pixels, and how much it says about the metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stereo_framework.evaluation.disparity_error import rms_error
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.regions import hci_subsets
from stereo_framework.io import read_disparity
from stereo_framework.page.page import Cell, PageTable, Text
from stereo_framework.papers.hci2015.runs import COLUMNS, GEOMETRIC, dense, results
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.scene import Scene
from stereo_framework.sweep import Result
from stereo_framework.tables.ranking import r_squared

_SUBSET = {metric.symbol: metric.subset for metric in HCI_METRICS.values()}


def subset_errors(context: Context) -> Outcome:
    """r^2 of each metric with the RMS of the whole image and with that of its own subset, over all maps."""
    found = dense(results(context))
    scenes = {s.name: s for s in context.scenes(list(dict.fromkeys(r.scene for r in found)))}
    measured = [(r, _by_subset(r, scenes[r.scene])) for r in found if r.scene in scenes and r.map is not None]
    if not measured:
        return Outcome([Text("No maps to measure.")])
    rows = []
    for symbol in GEOMETRIC:
        metric = [r.statistics[COLUMNS[symbol]] for r, _ in measured]
        whole = [r.statistics[COLUMNS["RMS"]] for r, _ in measured]
        own = [errors[_SUBSET[symbol]] for _, errors in measured]
        rows.append([Cell(symbol), Cell(_SUBSET[symbol]), Cell.number(_r2(metric, whole)), Cell.number(_r2(metric, own))])
    note = (
        f"Over {len(measured)} maps of dense methods. RMS in pixels, of all pixels that are not occluded and of the evaluated pixels of the subset alone; a pixel "
        "without an estimate is left out. What the paper's r^2 on the subsets are is not printed in what we have of it."
    )
    header = ["metric", "its subset", "r^2 with RMS of the image", "r^2 with RMS of the subset"]
    return Outcome([PageTable("How much the RMS tells of each metric", header, rows, note)])


def _by_subset(result: Result, scene: Scene) -> dict[str, float]:
    """RMS errors of a map by the paper's symbol of the subset."""
    assert result.map is not None
    assert scene.truth is not None
    disparity, subsets = read_disparity(result.map), hci_subsets(scene)
    masks = {
        "M_b": subsets.background,
        "M_f": subsets.foreground,
        "M_e": subsets.edges | subsets.foreground | subsets.background,
        "M_p": subsets.planes > 0,
        "M_s": subsets.structures > 0,
        "M_n": subsets.neighbourhood,
    }
    return {name: rms_error(disparity, scene.truth, mask & subsets.evaluated) for name, mask in masks.items()}


def _r2(a: Sequence[float], b: Sequence[float]) -> float:
    return float(r_squared(np.array([a, b]).T)[0][0, 1])
