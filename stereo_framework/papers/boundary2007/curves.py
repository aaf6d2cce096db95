"""The figures: ROC curves of all methods on each scene and in the mean, with the feasibility boundary, and who is on it where."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from stereo_framework.evaluation.roc import Curve, Point, dominant_intervals, roc_curve
from stereo_framework.papers.boundary2007.sweeps import HALVED, METHODS, SCENES, measured
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.report.page import Block, Cell, Figure, Table, Text
from stereo_framework.report.roc_plot import roc_plot


def curves(context: Context) -> Outcome:
    """ROC plots of the scenes and of the mean over them, axes log(x + 0.001) as in the paper."""
    found = measured(context)
    text = (
        "Pale: a setting that another one of the same method is better than. Bold, on the curve: the others. Grey band: the feasibility boundary, "
        "what all methods reach together. Towards the left a method leaves fewer pixels out, towards the bottom fewer are wrong."
    )
    blocks: list[Block] = [Text(text)]
    files: dict[str, str | bytes] = {}
    plots = {scene: (found.points[scene], found.feasible(scene)) for scene in SCENES if scene in found.points}
    everything: Mapping[str, tuple[Mapping[str, Sequence[Point]], Sequence[Point] | Curve]] = {
        **plots,
        f"mean of {len(plots)} scenes": (found.mean, found.cases()["mean"]),
    }
    for title, (methods, boundary) in everything.items():
        note = " (gc at half size)" if title in HALVED and not context.full else ""
        name = f"roc_{title.partition(' ')[0]}.svg"
        files[name] = drawn = _drawn(methods, boundary, title + note)
        blocks.append(Figure(drawn, f"error rate against sparsity rate of {', '.join(methods)}: {title}", title + note))
    blocks.append(_best({title: methods for title, (methods, _) in everything.items()}))
    return Outcome(blocks, files=files)


def _drawn(methods: Mapping[str, Sequence[Point]], boundary: Sequence[Point] | Curve, title: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        roc_plot(Path(folder) / "plot.svg", methods, boundary=boundary, title=title)
        return (Path(folder) / "plot.svg").read_text()


def _best(scenes: Mapping[str, Mapping[str, Sequence[Point]]]) -> Table:
    """At which sparsity rates each method has the lowest error rate."""
    rows = []
    for scene, methods in scenes.items():
        best = dominant_intervals({name: roc_curve(points) for name, points in methods.items()})
        told = {name: ", ".join(f"{low:.3f}-{high:.3f}" for low, high in intervals) for name, intervals in best.items()}
        rows.append([Cell(scene), *(Cell(told.get(name) or "-") for name in METHODS)])
    return Table("Sparsity rates at which a method has the lowest error rate", ["scene", *METHODS], rows)
