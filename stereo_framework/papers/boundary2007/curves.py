"""The figures: ROC curves of all methods on each scene and in the mean, the feasibility boundary, and which method lies on it where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stereo_framework.evaluation.roc import Curve, Point, dominant_intervals, efficiency, roc_curve
from stereo_framework.figures.roc_plot import roc_figure
from stereo_framework.figures.saving import svg_text
from stereo_framework.page.page import Block, Cell, PageTable, Picture, Text
from stereo_framework.papers.boundary2007.sweeps import SCENES, measured
from stereo_framework.papers.paper import Context, Outcome

_NARROW = 0.005
"""Of sparsity rates."""


def curves(context: Context) -> Outcome:
    """ROC plots of the scenes, of all their boundaries (Figure 7) and of the mean (Figure 8), axes log(x + 0.001) as in the paper."""
    found = measured(context)
    text = (
        "Pale: a setting that another one of the same method is better than. Bold, on the curve: the others. Grey band: the feasibility boundary, "
        "what all methods reach together; in the mean over the scenes it is M. Towards the left a method leaves fewer pixels out, towards the bottom "
        "fewer are wrong."
    )
    blocks: list[Block] = [Text(text)]
    files: dict[str, str | bytes] = {}
    plots = {scene: (found.points[scene], found.feasible(scene)) for scene in SCENES if scene in found.points}
    everything: Mapping[str, tuple[Mapping[str, Sequence[Point]], Sequence[Point] | Curve]] = {
        **plots,
        f"mean of {len(plots)} scenes": (found.mean, found.cases()["mean"]),
    }
    for title, (methods, boundary) in everything.items():
        name = f"roc_{title.partition(' ')[0]}.svg"
        files[name] = drawn = svg_text(roc_figure(methods, boundary=boundary, title=title))
        blocks.append(Picture(drawn, f"error rate against sparsity rate of {', '.join(methods)}: {title}", _told(title, methods)))
    boundaries, cases = {scene: boundary for scene, (_, boundary) in plots.items()}, found.cases()
    extremes = {"W, worst case": cases["worst case"], "B, best case": cases["best case"]}
    files["figure7.svg"] = drawn = svg_text(roc_figure(boundaries, cases=extremes, title="Boundaries of all scenes"))
    caption = "Figure 7: the feasibility boundary of every scene, and the worst (W, equation 13) and the best case (B, equation 14) over them."
    blocks.append(Picture(drawn, f"feasibility boundaries of {', '.join(boundaries)}, worst and best case", caption))
    blocks.append(_best({title: methods for title, (methods, _) in everything.items()}))
    return Outcome(blocks, files=files)


def _told(title: str, methods: Mapping[str, Sequence[Point]]) -> str:
    """The caption: the figure's number in the paper, if it has one, and the efficiencies."""
    figure = "Figure 8: the mean curves (equations 15 and 16), the band is M. " if title.startswith("mean") else ""
    return f"{figure}Efficiency: {', '.join(f'{name} {efficiency(roc_curve(points)):.3f}' for name, points in methods.items())}"


def _best(scenes: Mapping[str, Mapping[str, Sequence[Point]]]) -> PageTable:
    """Which method has the lowest error rate in which range of sparsity rates, from dense to sparse."""
    rows = []
    for scene, methods in scenes.items():
        best = dominant_intervals({name: roc_curve(points) for name, points in methods.items()})
        wide = [(low, high, name) for name, some in best.items() for low, high in some if high - low >= _NARROW]
        rows.append([Cell(scene), Cell(", ".join(f"{name} {low:.3f}-{high:.3f}" for low, high, name in sorted(wide)))])
    caption = "Methods of the lowest error rate, by sparsity rate"
    return PageTable(caption, ["scene", "method and sparsity rates"], rows, f"Intervals narrower than {_NARROW} are left out.")
